"""The short examples of the gallery: their gradients are right, and what they find is what they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.examples.loading import example

pytest.importorskip("matplotlib")

rng = np.random.default_rng(0)


def heat(one: Any) -> tuple[Any, ...]:
    return rng.uniform(0, 60, one.STEPS), one.temperatures(one.truth())


def seismic(one: Any) -> tuple[Any, ...]:
    one.STEPS, one.WAVELET = 30, one.WAVELET[50:80]
    return one.truth() + rng.normal(size=one.truth().shape), one.records(one.truth()) * 0


def photograph(one: Any) -> tuple[Any, ...]:
    image = rng.uniform(size=(16, 12))
    return image, rng.uniform(size=(16, 12)), one.kernel(image.shape)


def weights(one: Any) -> tuple[Any, ...]:
    x, side = one.spirals(20)
    return one.train(x, side, steps=2)[0], x, side


LOSSES: dict[str, tuple[str, Callable[[Any], tuple[Any, ...]]]] = {
    "argon": ("energy", lambda one: (3 * rng.normal(size=3 * one.ATOMS),)),
    "cart_pole": ("loss", lambda one: (rng.normal(size=8),)),
    "coating": ("loss", lambda one: (rng.uniform(40, 250, len(one.INDEX)),)),
    "deblur": ("loss", photograph),
    "greeks": ("price", lambda one: (101.0, 0.25, 0.04, 1.0)),
    "heat_flux": ("loss", heat),
    "kalman": ("loss", lambda one: (np.log([2e4, 1e3]),)),
    "lens": ("loss", lambda one: (np.array([1.5, -1.5, 0.1, 6.0, 3.0, 97.0]),)),
    "low_thrust": ("fuel", lambda one: (0.01 * rng.normal(size=2 * one.LEGS),)),
    "seismic": ("loss", seismic),
    "spirals": ("loss", weights),
    "truss": ("compliance", lambda one: (rng.uniform(0.5, 1, len(one.BARS)),)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_of_an_example_is_right(name: str) -> None:
    one = example(name)
    attribute, arguments = LOSSES[name]
    f, (x, *others) = getattr(one, attribute), arguments(one)
    along = wg.tree.map(lambda leaf: rng.normal(size=np.shape(leaf)), x)
    at = lambda h: f(wg.tree.map(lambda leaf, d: leaf + h * d, x, along), *others)
    h = 1e-6 * max(1.0, float(np.max(np.abs(wg.tree.leaves(x)[0]))))
    slope = sum(np.sum(g * d) for g, d in zip(*map(wg.tree.leaves, (wg.grad(f)(x, *others), along)), strict=True))
    assert slope == pytest.approx((at(h) - at(-h)) / (2 * h), rel=2e-4, abs=1e-9)


def drawn(figure: Any, folder: Path) -> None:
    figure.savefig(folder / "drawn.png")
    assert (folder / "drawn.png").stat().st_size > 5_000


@pytest.mark.deep("seconds each, of searches")
def test_what_the_examples_find(tmp_path: Path) -> None:
    """Beside what their docstrings say, which is known from elsewhere where it can be."""
    argon = example("argon")
    places, energies = argon.search(tries=40)
    assert energies.min() == pytest.approx(-44.326801, abs=1e-6)
    assert np.all(argon.frequencies(places) > 0)
    drawn(argon.draw(places, energies), tmp_path)

    kalman = example("kalman")
    q, deviation = kalman.fit()
    np.testing.assert_allclose(np.exp(q), [15099, 1469], rtol=1e-3)
    assert np.all(deviation > 0)
    drawn(kalman.draw(q), tmp_path)

    lens = example("lens")
    start, found = lens.design()
    assert lens.spot(found) < 3.5 < 100 < lens.spot(start)
    drawn(lens.draw(start, found), tmp_path)

    truss = example("truss")
    areas, values = truss.optimise(40)
    assert values[-1] < 0.25 * values[0] and np.mean(areas < 0.01) > 0.5
    drawn(truss.draw(areas, values), tmp_path)

    cart = example("cart_pole")
    states = cart.run()
    assert np.abs(states[100] - cart.GOAL).max() < 0.05 and np.abs(states[-1, 1] - np.pi) < 0.1
    drawn(cart.draw(states), tmp_path)

    greeks = example("greeks")
    found = greeks.greeks(np.array([90.0, 100.0, 110.0]))
    assert found["price"][1] == pytest.approx(8.3, abs=0.2)  # of the European one: 7.93
    assert np.all(found["gamma"] > 0) and np.all(found["delta"] < 0)

    spirals = example("spirals")
    x, side = spirals.spirals()
    params, losses = spirals.train(x, side, steps=800)
    assert losses[-1] < 0.05
    drawn(spirals.draw(params, x, side, losses), tmp_path)


@pytest.mark.deep("half a minute, of searches")
def test_what_the_longer_examples_find(tmp_path: Path) -> None:
    coating = example("coating")
    thickness = coating.design(tries=3)
    assert coating.loss(thickness) < 0.05
    drawn(coating.draw(thickness), tmp_path)

    orbit = example("low_thrust")
    u = orbit.optimise()
    assert np.abs(orbit.missed(u)).max() < 1e-5 and orbit.fuel(u) < 0.02
    drawn(orbit.draw(u), tmp_path)

    heat = example("heat_flux")
    flux, measured, found = heat.solve()
    assert np.sqrt(np.mean((found - flux) ** 2)) < 5
    drawn(heat.draw(flux, measured, found), tmp_path)

    seismic = example("seismic")
    truth, start, found = seismic.invert(10)
    assert np.sum((found - truth) ** 2) < 0.7 * np.sum((start - truth) ** 2)
    drawn(seismic.draw(truth, start, found), tmp_path)

    deblur = example("deblur")
    image = deblur.photograph()[:64, :64]
    seen, found = deblur.restore(image, 60)
    assert np.sum((found - image) ** 2) < 0.6 * np.sum((seen - image) ** 2)
    drawn(deblur.draw(image, seen, found), tmp_path)


@pytest.mark.parametrize("name", LOSSES)
def test_an_example_of_the_gallery_is_short_and_has_a_picture(name: str) -> None:
    root = Path(__file__).parents[2]
    assert len((root / "examples" / f"{name}.py").read_text().splitlines()) <= 80
    assert (root / "docs/gallery" / f"{name}.png").stat().st_size < 100_000
    assert f"{name}.png" in (root / "docs/gallery/index.md").read_text()

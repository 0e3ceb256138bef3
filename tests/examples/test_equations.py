"""The examples on differential equations, a few steps of them: they learn, and draw what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.examples.loading import example

pytest.importorskip("matplotlib")
rich = pytest.importorskip("rich.console")


@pytest.mark.deep("more than a second")
def test_a_network_learns_an_equation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    neural = example("neural_ode")
    monkeypatch.setattr(neural, "STAGES", [5, 8])
    params, losses = neural.fit(neural.network(), 60, rich.Console(quiet=True))
    assert losses[59] < 0.3 * losses[0]
    assert neural.solution(params, neural.YEARS[:8]).shape == (8, 2)
    neural.draw(params, losses).savefig(tmp_path / "neural.png")
    assert (tmp_path / "neural.png").stat().st_size > 10_000


def test_the_gradient_of_the_pelts() -> None:
    """Beside central differences of SciPy's solutions."""
    import wengert as wg

    pelts = example("lotka_volterra")
    theta = np.log(pelts.first_guess())
    found = wg.jit(wg.grad(pelts.loss))(theta)
    np.testing.assert_allclose(found, pelts.central_differences(pelts.loss, theta), rtol=1e-3)


@pytest.mark.deep("more than a second")
def test_a_network_solves_burgers_equation(tmp_path: Path) -> None:
    pinn = example("pinn")
    inside, edge = pinn.points(inside=60, edge=10)
    theta = pinn.network()
    x = np.linspace(-0.9, 0.9, 5)
    np.testing.assert_allclose(pinn.exact([0.0], x)[0], -np.sin(np.pi * x), atol=1e-6)
    t, h = 0.3, 1e-4  # the known solution satisfies the equation
    u = lambda t, x: pinn.exact([t], x)[0]
    u_t, u_x = (u(t + h, x) - u(t - h, x)) / (2 * h), (u(t, x + h) - u(t, x - h)) / (2 * h)
    u_xx = (u(t, x + h) - 2 * u(t, x) + u(t, x - h)) / h**2
    np.testing.assert_allclose(u_t + u(t, x) * u_x, pinn.NU * u_xx, atol=1e-4)
    before = pinn.loss(theta, inside, edge)
    after = pinn.fit(10, rich.Console(quiet=True))
    assert pinn.loss(after, inside, edge) < before
    pinn.draw(*pinn.compare(after)[:4]).savefig(tmp_path / "pinn.png")
    assert (tmp_path / "pinn.png").stat().st_size > 10_000

"""Shifted reads and writes of regions: how many kernels they are, and that they are right."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import wengert as wg
from tests.differences import check, same


def diffused(u):
    u = u.copy()
    u[1:-1, 1:-1] += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


def squares(f):
    return lambda *args: 0.5 * np.sum(f(*args) ** 2)


def kernels_of(f, *args):
    return [k.name for k in wg.jit(f).program(*args).kernels]


def rolled(u):
    return u * np.roll(u, 1, 0) - np.roll(u, (2, -1), (0, 1))


def padded(u):
    p = np.pad(u, ((1, 2), (2, 1)))
    return p[2:-1, 1:-2] * u + p[:-3, 3:]


def with_edges(u):
    v = np.sin(u)
    v[:, -1] = v[:, -2]
    v[0, :] = v[1, :]
    v[:, 0] = 3 * v[:, 1]
    v[-1, :] = 0
    return v * u


def of_bands(x):
    dy = np.empty_like(x)
    dy[0] = x[0] * 2
    dy[1:] = x[1:] * x[:-1]
    return dy


def differences(u):
    lap = 4 * u[1:-1, 1:-1] - (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    flux = lap[1:] - lap[:-1]
    flux = np.where(flux * (u[2:-1, 1:-1] - u[1:-2, 1:-1]) > 0, 0, flux)
    return u[2:-2, 2:-2] - flux[1:, 1:-1] + flux[:-1, 1:-1]


def joined(u):
    return np.concatenate([u[1:] * u[:-1], u[-1:]]) * np.concatenate([u[:1], np.cos(u[:-1])])


def backwards(u):
    v = np.zeros((u.shape[0] + 3, u.shape[1]))
    v[2:-1] = np.exp(u)[::-1]
    return v[1:-2] * u[:, ::-1]


CASES = [diffused, rolled, padded, with_edges, of_bands, differences, joined, backwards]


@pytest.mark.parametrize("f", CASES)
def test_values_and_derivatives(f):
    check(f, np.random.default_rng(0).standard_normal((7, 21)))


@pytest.mark.parametrize("f", CASES)
@pytest.mark.parametrize("how", ["", *[pytest.param(h, marks=pytest.mark.deep("each is compiled")) for h in "sfr"]])
def test_compiled_gradients_are_those_of_the_references(f, how):
    u = np.random.default_rng(0).standard_normal((33, 45))
    for x in [{"": u, "s": u.astype(np.float32), "f": np.asfortranarray(u), "r": u[::-1]}[how]]:
        same(wg.jit(wg.grad(squares(f)))(x), wg.grad(squares(f))(x), rtol=1e-4 if x.dtype == np.float32 else 1e-12)


@pytest.mark.deep("each is compiled")
@pytest.mark.parametrize("f", CASES)
def test_second_order(f):
    u = np.random.default_rng(0).standard_normal((6, 7))
    direction = np.cos(np.arange(42.0)).reshape(6, 7)
    expected = wg.jvp(wg.grad(squares(f)), (u,), (direction,))[1]
    same(wg.jit(lambda u: wg.hvp(squares(f), (u,), (direction,)))(u), expected, rtol=1e-11)


@pytest.mark.parametrize("f", [diffused, rolled, padded, of_bands, joined])
def test_one_kernel(f):
    u = np.ones((40, 50))
    assert len(kernels_of(f, u)) == 1


@pytest.mark.parametrize(("f", "most"), [(diffused, 2), (rolled, 3), (padded, 3), (of_bands, 2), (differences, 8)])
def test_few_kernels_with_the_gradient(f, most):
    u = np.ones((40, 50))
    assert len(kernels_of(wg.grad(squares(f)), u)) <= most


def test_no_array_is_copied():
    u = np.ones((40, 50))
    for f in [f for f in CASES if f is not with_edges]:  # whose rows and columns are written in place
        assert "copy" not in kernels_of(wg.grad(squares(f)), u), f


def test_steps_of_a_loop():
    def steps(u, n):
        for _ in range(n):
            u = diffused(u) + 0.01 * u * (1 - u)
        return u

    check(partial(steps, n=3), np.random.default_rng(0).standard_normal((5, 6)))
    u = np.random.default_rng(0).standard_normal((20, 30))
    program = wg.jit(wg.grad(squares(partial(steps, n=5)))).program(u)
    assert len(program.kernels) <= 11
    assert program.arena_bytes < 8 * u.nbytes  # one state a step


def test_what_is_not_a_number_stays_where_it_is():
    u = np.ones((12, 20))
    u[0, 3], u[5, 5], u[11, 19] = np.nan, np.inf, -0.0
    for f in CASES:
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(wg.jit(f)(u), f(u), f.__name__)


def test_signs_of_zeros():
    def f(u):
        u = u.copy()
        u[1:-1] += u[2:]
        return u

    u = np.full((30, 5), -0.0)
    assert np.all(np.signbit(wg.jit(f)(u)) == np.signbit(f(u)))


def test_a_small_write_stays_in_place():
    def f(x):
        x = np.cumsum(x)
        x[3] = 0.0
        x[7] = x[8]
        return x

    x = np.arange(1000.0)
    same(wg.jit(f)(x), f(x))
    assert not any("set_slice" in name for name in kernels_of(f, x))


def test_empty_regions():
    def f(u):
        v = u * 2
        v[5:5] = u[5:5]
        v[1:, 40:] = 1
        return v

    check(f, np.random.default_rng(0).standard_normal((6, 7)))


def test_beside_sums_and_products():
    def f(u, a):
        v = u[1:, :] - u[:-1, :]
        w = np.zeros_like(u)
        w[1:-1] = v[1:] * v[:-1]
        return np.sum(w, axis=1) + (w @ a) * np.sum(v**2)

    rng = np.random.default_rng(0)
    check(f, rng.standard_normal((9, 8)), rng.standard_normal(8))


def test_of_booleans_and_integers():
    def f(n):
        out = np.zeros(n.shape, bool)
        out[1:] = n[1:] > n[:-1]
        total = np.zeros_like(n)
        total[:-1] = n[1:] + n[:-1]
        return out, np.where(out, total, -n)

    n = np.random.default_rng(0).integers(-9, 9, (31,))
    same(wg.jit(f)(n), f(n))


def test_in_a_batch():
    u = np.random.default_rng(0).standard_normal((3, 7, 8))
    for f in (diffused, padded, of_bands):
        same(wg.jit(wg.vmap(f))(u), np.stack([f(x) for x in u]))


@pytest.mark.parametrize("seed", range(3))
def test_random_programs(seed):
    random_program(seed)


@pytest.mark.deep("forty more random programs")
@pytest.mark.parametrize("seed", range(3, 43))
def test_many_random_programs(seed):
    random_program(seed)


def random_program(seed):
    """A chain of writes into regions, shifted reads, rolls, pads and joins, at random."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(6, 14, int(rng.integers(1, 4))))

    def index_of(length, own):
        start = int(rng.integers(0, own - length + 1))
        return slice(start, start + length)

    plan = []
    for _ in range(int(rng.integers(2, 7))):
        kind = str(rng.choice(["write", "add", "roll", "pad", "join", "flip", "edge", "map"]))
        lengths = [int(rng.integers(n // 2, n + 1)) for n in shape]
        to, at = [tuple(index_of(k, n) for k, n in zip(lengths, shape, strict=True)) for _ in range(2)]
        plan.append((kind, to, at, int(rng.integers(len(shape))), int(rng.integers(-3, 4))))

    def f(u):
        x = u * 1.5
        for kind, to, at, axis, by in plan:
            if kind == "write":
                y = x.copy()
                y[to] = np.sin(x[at]) * u[to]
                x = y
            elif kind == "add":
                x = x.copy()
                x[to] += 0.5 * x[at]
            elif kind == "roll":
                x = x + 0.3 * np.roll(x, by, axis)
            elif kind == "pad":
                p = np.pad(x, abs(by))
                x = x * p[tuple(slice(0, n) for n in shape)]
            elif kind == "join":
                front, back = np.split(x, [2], axis)
                x = np.concatenate([np.cos(back), front], axis)
            elif kind == "flip":
                x = x - np.flip(u, axis)
            elif kind == "edge":
                x = x.copy()
                x[(*[slice(None)] * axis, 0)] = x[(*[slice(None)] * axis, by)]
            else:
                x = np.where(x > 0, x, 0.1 * x) + u
        return x

    u = rng.standard_normal(shape)
    same(wg.jit(f)(u), f(u))
    expected = wg.grad(squares(f))(u)
    same(wg.jit(wg.grad(squares(f)))(u), expected, rtol=1e-11)
    rng = np.random.default_rng(seed)
    check(f, u, rtol=1e-6)

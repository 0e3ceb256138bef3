"""Batches in lanes: one kernel in place of many, with the values of the steps one by one."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.codegen.threads import same_bits
from wengert import passes
from wengert.codegen import nested
from wengert.tree import flatten

LANES = sys.modules["wengert.passes.lanes"]  # the package has the name of its pass
RNG = np.random.default_rng(0)


def kernels(f: Any, *args: Any) -> list[str]:
    return [k.name for k in wg.jit(f).program(*args).kernels]


def check_lanes(monkeypatch: Any, f: Any, *args: Any, rtol: float = 1e-12, are_lanes: bool = True) -> Any:
    """Compare the program of ``f`` with the one without lanes, and return its results."""
    monkeypatch.setattr(LANES, "LARGE", 0)
    monkeypatch.setattr(LANES, "HANDED_ON", 0)
    assert ("in_lanes" in kernels(f, *args)) == are_lanes
    found, form = flatten(wg.jit(f)(*args))
    with monkeypatch.context() as without:
        without.setattr(passes, "BEFORE_KERNELS", passes.WITHOUT_LANES)
        assert "in_lanes" not in kernels(f, *args)
        wanted, other = flatten(wg.jit(f)(*args))
    assert form == other
    for x, y in zip(found, wanted, strict=True):
        assert x.shape == y.shape
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)
    return wg.tree.unflatten(form, found)


def kepler(M, e):
    def goes_on(s):
        return np.logical_and(abs(s[1]) > 1e-12, s[2] < 30)

    def newton(s):
        E, _, k = s
        d = (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
        return E - d, d, k + 1

    E, _, _ = wg.while_loop(goes_on, newton, (M + 0.0, M * 0 + 1.0, 0))
    return wg.cond(np.pi < E, lambda E: np.sin(E) * E, lambda E: E * E, E)


def orbit(n: int, dtype: type = float) -> tuple[Any, Any]:
    return RNG.uniform(0.1, 5, n).astype(dtype), RNG.uniform(0, 0.9, n).astype(dtype)


@pytest.mark.parametrize("n", [256, 257, 1001])
def test_a_loop_of_unknown_length_runs_in_lanes(monkeypatch, n):
    M, e = orbit(n)
    y = check_lanes(monkeypatch, wg.vmap(kepler), M, e, rtol=0)
    assert kernels(wg.vmap(kepler), M, e) == ["in_lanes"]
    for k in (0, 7, n - 1):
        np.testing.assert_allclose(y[k], kepler(M[k], e[k]), rtol=1e-14)


def test_its_derivatives_run_in_lanes(monkeypatch):
    M, e = orbit(300)
    gradient = wg.grad(kepler, argnums=(0, 1))
    dM, de = check_lanes(monkeypatch, wg.vmap(gradient), M, e)
    assert kernels(wg.vmap(gradient), M, e) == ["in_lanes"]
    h = 1e-6
    np.testing.assert_allclose(dM, (wg.vmap(kepler)(M + h, e) - wg.vmap(kepler)(M - h, e)) / (2 * h), rtol=1e-5)
    np.testing.assert_allclose(
        de, (wg.vmap(kepler)(M, e + h) - wg.vmap(kepler)(M, e - h)) / (2 * h), rtol=1e-4, atol=1e-6
    )
    forward = wg.vmap(wg.jacobian(kepler, argnums=(0, 1), mode="forward"))
    for x, y in zip(check_lanes(monkeypatch, forward, M, e), (dM, de), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10)
    total = wg.grad(lambda M, e: np.sum(wg.vmap(kepler)(M, e)), argnums=(0, 1))
    for x, y in zip(check_lanes(monkeypatch, total, M, e), (dM, de), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


@pytest.mark.deep("second derivatives of a loop in lanes: compiled for seconds")
def test_second_derivatives_run_in_lanes(monkeypatch):
    M, e = orbit(300)
    check_lanes(monkeypatch, wg.vmap(wg.grad(wg.grad(kepler))), M, e, rtol=1e-9)
    check_lanes(monkeypatch, wg.vmap(wg.hessian(kepler)), M, e, rtol=1e-9)


def test_single_precision_stays(monkeypatch):
    M, e = orbit(300, np.float32)
    f = wg.vmap(lambda M, e: wg.fori_loop(0, 3, lambda k, y: np.sin(y) * np.exp(e) / (1 + M), M))
    y = check_lanes(monkeypatch, f, M, e, rtol=1e-6)
    assert y.dtype == np.float32


def test_a_shared_parameter_gets_the_sum_over_the_lanes(monkeypatch):
    M, _ = orbit(500)

    def loss(c):
        return np.sum(wg.vmap(lambda M: kepler(M, c))(M))

    def steps(c):
        return np.sum(wg.fori_loop(0, 20, lambda k, y: y + 0.1 * np.sin(c[0] * y + c[1]), M))

    check_lanes(monkeypatch, wg.value_and_grad(loss), 0.3, rtol=1e-11)
    check_lanes(monkeypatch, wg.value_and_grad(steps), np.array([0.3, 0.7]), rtol=1e-11)


def test_lanes_with_nan_and_infinity_do_not_touch_others(monkeypatch):
    M, e = orbit(300)
    M[3], M[40], e[70] = np.nan, np.inf, 1.0
    check_lanes(monkeypatch, wg.vmap(kepler), M, e, rtol=0)
    check_lanes(monkeypatch, wg.vmap(wg.grad(kepler)), M, e)


def lotka(y, p):
    return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])


def solved(y, p, steps=30, h=0.05):
    def step(y, _):
        k1 = lotka(y, p)
        k2 = lotka(y + h / 2 * k1, p)
        return y + h * k2, y[0] * p[1]

    return wg.scan(step, y, None, length=steps)


def populations(n):
    return RNG.uniform(0.5, 1.5, (n, 2)), np.array([1.5, 1, 1, 3]) * RNG.uniform(0.8, 1.2, (n, 4))


def test_a_scan_runs_in_lanes_with_what_it_stacks(monkeypatch):
    y, p = populations(300)
    last, rows = check_lanes(monkeypatch, wg.vmap(solved), y, p)
    assert (last.shape, rows.shape) == ((300, 2), (300, 30))
    np.testing.assert_allclose(rows[5], solved(y[5], p[5])[1], rtol=1e-12)
    outside = wg.vmap(solved, out_axes=1)
    np.testing.assert_allclose(check_lanes(monkeypatch, outside, y, p)[1], rows.T, rtol=1e-12)


def test_sensitivities_of_a_scan_run_in_lanes(monkeypatch):
    y, p = populations(300)

    def loss(y, p):
        last, rows = solved(y, p)
        return np.sum(last**2) + np.sum(rows)

    gradient = wg.grad(loss, argnums=(0, 1))
    found = check_lanes(monkeypatch, wg.vmap(gradient), y, p)
    for x, z in zip(found, gradient(y[9], p[9]), strict=True):
        np.testing.assert_allclose(x[9], z, rtol=1e-10)
    wide = wg.jacobian(lambda y, p: solved(y, p)[0], argnums=(0, 1))
    for x, z in zip(check_lanes(monkeypatch, wg.vmap(wide), y, p), wide(y[9], p[9]), strict=True):
        np.testing.assert_allclose(x[9], z, rtol=1e-10)


def test_a_scan_over_rows_of_each_lane(monkeypatch):
    z = RNG.normal(size=(300, 40))

    def path(z):
        def step(s, x):
            s = s * np.exp(0.1 * x)
            return s, s

        last, rows = wg.scan(step, 1.0, z)
        return last + np.max(rows) + np.cumsum(rows)[3]

    check_lanes(monkeypatch, wg.vmap(path), z)
    check_lanes(monkeypatch, wg.vmap(path, in_axes=1), np.ascontiguousarray(z.T))
    check_lanes(monkeypatch, wg.vmap(wg.grad(path)), z)


def projected(camera, X):
    angle = np.sqrt(np.dot(camera[:3], camera[:3]))
    axis = camera[:3] / angle
    X = X - camera[3:6]
    X = X * np.cos(angle) + np.cross(axis, X) * np.sin(angle) + axis * (np.dot(axis, X) * (1 - np.cos(angle)))
    p = X[:2] / X[2]
    r = np.dot(p, p)
    return p * (1 + camera[6] * r + camera[7] * r * r) * camera[8]


def test_jacobians_of_small_functions_are_one_kernel(monkeypatch):
    camera, X = RNG.normal(size=(300, 9)), RNG.normal(size=(300, 3)) + [0, 0, 10]
    jacobian = wg.jacobian(projected, argnums=(0, 1))
    found = check_lanes(monkeypatch, wg.vmap(jacobian), camera, X, rtol=1e-10)
    assert kernels(wg.vmap(jacobian), camera, X) == ["in_lanes"]
    for x, z in zip(found, jacobian(camera[2], X[2]), strict=True):
        np.testing.assert_allclose(x[2], z, rtol=1e-10)


def test_moves_of_small_axes_are_no_steps(monkeypatch):
    x, y = RNG.normal(size=(300, 2, 3)), RNG.normal(size=(300, 3))

    def f(x, y):
        a = x.T.reshape(2, 3)[::-1] + np.broadcast_to(y, (2, 3))
        b = np.zeros((3, 3))
        b[1:, :] = a
        b[0, 0] += y[1]
        c = np.concatenate([b, np.outer(y, y)], axis=1)
        return c @ np.arange(6.0), np.prod(a, axis=1), np.max(c), np.cumsum(y), a > 0, np.sum(a > 0)

    check_lanes(monkeypatch, wg.vmap(f), x, y)


def option(s, sigma, z):
    paths, total = s * np.ones(z.shape[1]), np.zeros(z.shape[1])
    for k in range(len(z)):
        paths = paths * np.exp(sigma * z[k] - 0.01)
        total = total + paths
    return np.mean(np.maximum(total / len(z) - 100.0, 0))


def test_vectors_of_plain_code_are_lanes(monkeypatch):
    z = 0.1 * RNG.normal(size=(100, 4100))
    price = check_lanes(monkeypatch, wg.value_and_grad(option, argnums=(0, 1)), 100.0, 0.2, z)
    np.testing.assert_allclose(price[0], option(100.0, 0.2, z), rtol=1e-12)
    h = 1e-5
    np.testing.assert_allclose(
        price[1][1], (option(100.0, 0.2 + h, z) - option(100.0, 0.2 - h, z)) / (2 * h), rtol=1e-6
    )


def test_what_all_lanes_decide_together_stays_outside(monkeypatch):
    x = RNG.normal(size=400)

    def softmax(x):
        e = np.exp(x - np.max(x))
        return wg.fori_loop(0, 5, lambda k, y: y * 0.5 + np.sin(y), e / np.sum(e))

    check_lanes(monkeypatch, softmax, x)
    check_lanes(monkeypatch, wg.grad(lambda x: np.sum(softmax(x) ** 2)), x)

    def until_all_are_done(x):  # each lane goes on while any does
        return wg.while_loop(lambda y: np.any(y > 1), lambda y: y * 0.9, x)

    check_lanes(monkeypatch, until_all_are_done, x * 10, are_lanes=False)

    def half_kept(x):  # lanes that are done are kept by another condition than the loop's
        return wg.while_loop(lambda y: np.any(y > 1), lambda y: np.where(y > 0.5, y * 0.9, y), x)

    check_lanes(monkeypatch, half_kept, x * 10, are_lanes=False)


def test_lanes_that_are_coupled_are_not_taken_apart(monkeypatch):
    x = RNG.normal(size=300)
    loop = lambda f: lambda x: wg.fori_loop(0, 4, lambda k, y: f(y), x)
    for f in (lambda y: y[::-1] * 0.5, lambda y: np.roll(y, 1) + y, lambda y: y / np.sum(y), np.cumsum, np.sort):
        check_lanes(monkeypatch, loop(f), x, are_lanes=False)
    check_lanes(monkeypatch, loop(lambda y: y @ np.full((300, 300), 1e-3)), x, are_lanes=False)


def test_iterations_of_a_loop_are_no_lanes_of_what_it_stacks(monkeypatch):
    """They were taken for lanes, and failed, where the values of all iterations are the most bytes of a program."""

    def loss(x):
        for _ in range(300):
            x = np.sin(x[::-1] + x)
        return np.sum(x * x)

    check_lanes(monkeypatch, wg.grad(loss), np.linspace(-1.0, 1.0, 600).reshape(20, 30), are_lanes=False)


def test_what_is_one_kernel_already_stays_so(monkeypatch):
    M, e = orbit(300)
    check_lanes(monkeypatch, lambda M, e: np.sum(np.sin(M) * np.exp(e)), M, e, are_lanes=False)


def test_guards_stay_before_what_they_guard(monkeypatch):
    x = RNG.uniform(1, 2, 300)

    def f(x, n):
        y = wg.fori_loop(0, 3, lambda k, y: y * np.sin(y), x)
        if n > 0:
            y = wg.fori_loop(0, 3, lambda k, y: y + np.cos(y), y)
        return np.sum(y) + y

    check_lanes(monkeypatch, f, x, 1.0)
    monkeypatch.setattr(LANES, "LARGE", 0)
    monkeypatch.setattr(LANES, "HANDED_ON", 0)
    compiled = wg.jit(f)
    for n in (1.0, -1.0, 2.0):
        np.testing.assert_allclose(compiled(x, n), f(x, n), rtol=1e-12)


def test_a_block_that_is_too_long_runs_step_by_step(monkeypatch):
    y, p = populations(300)
    small = nested.OF_A_BLOCK._replace(steps=3)
    monkeypatch.setattr(nested, "OF_A_BLOCK", small)
    check_lanes(monkeypatch, wg.vmap(solved), y, p)
    total = wg.grad(lambda p: np.sum(wg.vmap(lambda y: solved(y, p)[0])(y)))
    check_lanes(monkeypatch, total, p[0])


def test_operands_in_any_order_of_memory(monkeypatch):
    x = np.asfortranarray(RNG.normal(size=(300, 5)))
    f = wg.vmap(lambda x: wg.fori_loop(0, 5, lambda k, y: y + 0.1 * np.sin(y) * x[0], x))
    wanted = check_lanes(monkeypatch, f, np.ascontiguousarray(x))
    for given in (x, RNG.normal(size=(600, 10))[::2, ::2]):
        given[...] = x
        np.testing.assert_array_equal(wg.jit(f)(given), wanted)
    negative = np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]
    np.testing.assert_array_equal(wg.jit(f)(negative), wanted)


def test_results_do_not_depend_on_threads(monkeypatch):
    M, e = orbit(20_011)
    same_bits(wg.vmap(kepler), M, e)
    same_bits(wg.vmap(wg.grad(kepler)), M, e)


def test_a_result_may_be_written_over_an_argument(monkeypatch):
    M, e = orbit(300)
    f = wg.vmap(kepler)
    wanted = wg.jit(f)(M, e)
    given = M.copy()
    np.testing.assert_array_equal(wg.jit(f)(given, e, out=given), wanted)
    donated = wg.jit(f, donate=lambda args: args[0])
    np.testing.assert_array_equal(donated(M.copy(), e), wanted)


def test_constants_of_a_derivative_stay_constants(monkeypatch: Any) -> None:
    """A gradient that the body of a loop stops is stopped in lanes, too."""

    def last(x: Any, a: Any) -> Any:
        step = lambda z: 0.5 * z + 0.001 * wg.stop_gradient(z * x) * z + 0.1 * a * z
        return wg.while_loop(lambda z: z > 1.0, step, x)

    x, a = RNG.uniform(0.5, 9, 300), np.float64(0.7)
    total = lambda x, a: np.sum(wg.vmap(last, (0, None))(x, a) ** 2)
    by_x, by_a = check_lanes(monkeypatch, wg.grad(total, (0, 1)), x, a)
    ones = [wg.grad(lambda x, a: last(x, a) ** 2, (0, 1))(t, a) for t in x[:9]]
    np.testing.assert_allclose(by_x[:9], [g[0] for g in ones], rtol=1e-12)
    assert by_a.shape == ()


def test_what_a_condition_and_a_body_share_has_one_cotangent(monkeypatch: Any) -> None:
    """An array that is two arguments has one, too. The cotangent came out once for each place of the array."""

    def root(a: Any) -> Any:
        return wg.while_loop(lambda x: np.abs(x * x - a) > 1e-12 * np.abs(a), lambda x: (x + a / x) / 2, a)

    def shrunk(a: Any, b: Any) -> Any:
        return wg.while_loop(lambda x: x * x - a > 1e-3, lambda x: (x + b) * 0.3, a)

    x = np.linspace(1.1, 5, 300)
    roots = lambda x: np.sum(wg.vmap(root)(x) ** 2)
    np.testing.assert_allclose(check_lanes(monkeypatch, wg.grad(roots), x), 1, rtol=1e-9)
    twice = check_lanes(monkeypatch, wg.grad(lambda x: np.sum(wg.vmap(shrunk)(x, x))), x)
    np.testing.assert_allclose(twice, [wg.grad(lambda t: shrunk(t, t))(t) for t in x], rtol=1e-12)


def test_a_short_step_takes_a_wide_block() -> None:
    """It waits for itself; one of many steps does not."""

    def sizes(step: Any) -> list[int]:
        x = np.linspace(1.0, 9.0, 9999 * 20)
        halves = wg.vmap(lambda x: wg.while_loop(lambda z: z > 1.0, step, x))
        tape = passes.run(wg.jit(halves).program(x).tape, (passes.expand, LANES.lanes))
        return [i.params["block"].outputs[0].aval.shape[0] for i in tape.instrs if "block" in i.params]

    def long(z: Any) -> Any:
        for k in range(40):
            z = z - 0.001 * np.sin(z + k)
        return 0.5 * z

    assert sizes(lambda z: 0.5 * z) == [LANES.WIDE_BLOCK]
    assert sizes(long) == [LANES.BLOCK]


def test_constants_in_branches_are_computed_before_the_loop(monkeypatch: Any) -> None:
    def last(x: Any) -> Any:
        step = lambda z: wg.cond(z > 2, lambda: 0.5 * z + 0.1 * np.sin(x), lambda: 0.9 * z)
        return wg.while_loop(lambda z: z > 1.0, step, x)

    x = RNG.uniform(0.5, 50, 300)
    check_lanes(monkeypatch, wg.vmap(wg.jacobian(lambda x: last(x) * np.ones(3))), x)
    check_lanes(monkeypatch, wg.grad(lambda x: np.sum(wg.vmap(last)(x) ** 2)), x)
    tape = passes.run(wg.jit(wg.vmap(last)).program(x).tape, (passes.expand, LANES.lanes))
    (block,) = [i.params["block"] for i in tape.instrs if "block" in i.params]
    (loop,) = [i.params["loop"] for i in block.instrs if "loop" in i.params]
    assert "sin" not in {i.op.name for i in loop.body.instrs}

"""What is compiled works plainly too: a run that ends because something was not traced begins again with all traced."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.tracing import ways

G = np.arange(9.0).reshape(3, 3)
G_FORTRAN = np.asfortranarray(G)
TABLE = np.array([1.0, 4.0, 9.0, 16.0])
MODEL = SimpleNamespace(start=np.ones(3), nested={"a": [np.full(3, 2.0)]})


def copies_an_argument(p: Any, u0: Any) -> Any:
    u = u0.copy()
    u[0] = p[0]
    u[1:] += p[1]
    return np.sum(u**2 * p[2])


def writes_an_argument(p: Any, u0: Any) -> Any:
    u0[1] = p[0] * u0[1]
    u0 *= p[1]
    return np.sum(u0**2)


def copies_a_captured_array(p: Any, u0: Any) -> Any:
    a = G.copy()
    a[:, 0] = a[:, 0] + p
    a[1] *= p
    return np.sum(a * a)


def computes_with_a_captured_array(p: Any, u0: Any) -> Any:
    a = 2.0 * G_FORTRAN
    a[:, 0] = a[:, 0] + p
    a.T[1] *= p[0]
    return np.sum(a.ravel() * np.arange(9.0))


def of_an_object(p: Any, u0: Any) -> Any:
    start = MODEL.start * 3.0
    start += p
    deep = MODEL.nested["a"][0].copy()
    deep[:2] = p[1:]
    return start @ deep


def in_a_helper(p: Any, u0: Any) -> Any:
    def step(u: Any) -> Any:
        new = u.copy()
        new[1:-1] += p[0] * (u[2:] - 2 * u[1:-1] + u[:-2])
        return new

    u = u0
    for _ in range(3):
        u = step(u)
    return np.sum(u * p)


def through_a_view(p: Any, u0: Any) -> Any:
    square = np.outer(u0, u0)
    square.diagonal()  # a view that is read alone
    square[np.diag_indices(3)] += p
    return np.linalg.det(square + np.eye(3))


WRITERS = [
    copies_an_argument,
    writes_an_argument,
    copies_a_captured_array,
    computes_with_a_captured_array,
    of_an_object,
    in_a_helper,
    through_a_view,
]

P, U0 = np.array([0.5, 2.0, -1.5]), np.array([1.0, -2.0, 3.0])


def difference(f: Callable[..., Any], p: Any, u0: Any) -> Any:
    """The gradient of NumPy's own function by central differences."""
    return np.array([(f(p + h, u0.copy()) - f(p - h, u0.copy())) / 2e-6 for h in 1e-6 * np.eye(3)])


@pytest.mark.parametrize("f", WRITERS)
def test_traced_values_are_written_into_what_is_made_of_data(f: Callable[..., Any]) -> None:
    """An array of data, copied or computed with, was NumPy's own, so that a plain gradient could not write it."""
    want, u0 = difference(f, P, U0), U0.copy()
    plain = wg.grad(f)
    for _ in range(2):  # the second begins in the way that ended well
        np.testing.assert_allclose(plain(P, u0), want, rtol=1e-6)
    np.testing.assert_allclose(wg.jit(plain)(P, u0), want, rtol=1e-6)
    np.testing.assert_allclose(wg.jvp(lambda p: f(p, u0.copy()), (P,), (np.ones(3),))[1], want.sum(), rtol=1e-6)
    np.testing.assert_allclose(wg.vjp(lambda p: f(p, u0.copy()), P)[1](1.0)[0], want, rtol=1e-6)
    np.testing.assert_allclose(wg.jacobian(f)(P, u0), want, rtol=1e-6)
    rows = wg.vmap(f, in_axes=(0, None))(np.stack([P, 2 * P]), u0)
    np.testing.assert_allclose(rows, [f(P, u0.copy()), f(2 * P, u0.copy())], rtol=1e-12)
    np.testing.assert_array_equal(u0, U0)  # the caller's
    assert u0.flags.writeable


def test_data_by_name_and_by_wrt() -> None:
    gradient = wg.grad(lambda p, *, u0: copies_an_argument(p, u0))
    np.testing.assert_allclose(gradient(P, u0=U0), difference(copies_an_argument, P, U0), rtol=1e-6)
    of_leaf = wg.grad(lambda tree: copies_an_argument(tree["p"], tree["u0"]), wrt=lambda args: args[0]["p"])
    np.testing.assert_allclose(of_leaf({"p": P, "u0": U0}), difference(copies_an_argument, P, U0), rtol=1e-6)


def test_auxiliary_values_come_from_the_run_that_ended_well() -> None:
    def f(p: Any, u0: Any) -> Any:
        u = u0.copy()
        u[0] = p[0]
        return np.sum(u**2), {"u": u, "name": "last"}

    (value, aux), gradient = wg.value_and_grad(f, has_aux=True)(P, U0)
    assert value == 13.25 and aux["name"] == "last"
    np.testing.assert_array_equal(aux["u"], [0.5, -2.0, 3.0])
    np.testing.assert_array_equal(gradient, [1.0, 0.0, 0.0])


def test_a_function_is_known_by_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    def f(p: Any, u0: Any) -> Any:
        print("a run")
        u = u0.copy()
        u[0] = p[0]
        return np.sum(u)

    for runs in (2, 1, 1):  # begun again once, and then in the right way at once
        wg.grad(f)(P, U0)
        assert capsys.readouterr().out == "a run\n" * runs
    assert f.__code__ in ways._traced


def test_what_neither_way_can_record_raises_as_the_first_did() -> None:
    def f(p: Any, u0: Any) -> Any:
        u = u0.copy()
        u[0] = p[0]
        MODEL.count = 1  # a run with everything traced may not write what it captured
        return np.sum(u)

    with pytest.raises(wg.errors.MutationError, match=r"test_ways\.py(.|\n)*try"):
        wg.grad(f)(P, U0)
    assert not hasattr(MODEL, "count")


def test_an_argument_that_is_written_and_known_by_another_name_is_refused() -> None:
    def f(p: Any, a: Any, b: Any) -> Any:
        a[0] = p[0]
        return np.sum(a * b)

    both = np.ones(3)
    with pytest.raises(wg.errors.MutationError):
        wg.grad(f)(P, both, both[::-1])
    np.testing.assert_array_equal(wg.grad(f)(P, both, both.copy()), [1.0, 0.0, 0.0])


@pytest.mark.parametrize("compiled", [False, True])
def test_an_index_or_mask_that_was_computed_picks_from_data(compiled: bool) -> None:
    """``t[i]`` and ``t[mask]``, where t is NumPy's own array, asked the traced index for an array of NumPy's."""
    cases: list[tuple[Callable[..., Any], Any]] = [
        (lambda x, t: t[np.argmax(x)] * x[0], [4.0, 0.0, 0.0, 0.0]),
        (lambda x, t: np.sum(t[np.argsort(x)] * x), [1.0, 9.0, 16.0, 4.0]),
        (lambda x, t: np.sum(t[x > 0.3]) * x[0], [29.0, 0.0, 0.0, 0.0]),
        (lambda x, t: np.sum(t[(x > 0.3) & (t > 5)]) * x[1], [0.0, 25.0, 0.0, 0.0]),
        (lambda x, t: np.sum(TABLE[np.searchsorted(t, 10 * x)] * x), [4.0, 9.0, 4.0, 4.0]),
        (lambda x, t: np.array(np.triu_indices(4, 1))[0][np.arange(6) < np.argmax(x)].sum() * x[0], [0.0] * 4),
    ]
    x = np.array([0.15, 0.9, 0.31, 0.4])
    for f, want in cases:
        gradient = wg.jit(wg.grad(f), strict=True) if compiled else wg.grad(f)
        np.testing.assert_array_equal(gradient(x, TABLE), want)
        other = np.array([0.33, 0.15, 0.95, 0.45])
        eps = 1e-7 * np.eye(4)
        want = [(f(other + h, TABLE) - f(other - h, TABLE)) / 2e-7 for h in eps]
        np.testing.assert_allclose(gradient(other, TABLE), want, rtol=1e-6, atol=1e-6)


def test_a_function_that_was_begun_again_drew_twice() -> None:
    """The second run took the second number of the generator, and the second item of the iterator."""
    fixed, generator, steps = np.arange(3.0), np.random.default_rng(0), iter(range(10))

    def written(p: Any, k: Any) -> Any:
        u = fixed.copy()
        u[0] = p * k
        return u.sum()

    for draw in (lambda: generator.normal(), lambda: next(steps)):
        f = wg.grad(lambda p, draw=draw: written(p, draw()))
        for _ in range(2):
            with pytest.raises(wg.errors.MutationError, match="made outside"):
                f(2.0)
    seeded = wg.grad(lambda p: written(p, np.random.default_rng(0).normal()))
    assert seeded(2.0) == seeded(2.0) == np.random.default_rng(0).normal()


@pytest.mark.parametrize("draw", ["iterator", "generator", "random", "attribute", "nothing"])
def test_what_is_known_to_need_everything_traced_draws_once(draw: str) -> None:
    """The run with everything traced was given up, since the function counts its calls, and the next one went on in the
    iterator where that had ended."""

    def made() -> Callable[..., Any]:
        numbers, rng, python = iter([0.5, 0.25, -1.5] * 9), np.random.default_rng(3), random.Random(3)
        state, calls = SimpleNamespace(rate=0.5), 0

        def attribute() -> float:
            state.rate += 0.25
            return state.rate

        draws: dict[str, Callable[[], float]] = dict(
            iterator=lambda: next(numbers), generator=rng.random, random=python.random, nothing=lambda: 1.0
        )
        drawn = {**draws, "attribute": attribute}[draw]

        def f(x: Any) -> Any:
            nonlocal calls
            calls += 1
            return np.sum(np.sin(x) * drawn()) + calls

        return f

    x = np.array([0.5, 1.0])
    f, g = made(), made()
    ways._traced.add(g.__code__)
    of_g = wg.value_and_grad(g)
    for _ in range(3):
        assert of_g(x)[0] == pytest.approx(f(x))


FIRST = {"is": True}
STATE = SimpleNamespace(is_first=True)


def test_what_only_the_first_run_did_is_not_taken_for_done() -> None:
    """The first run, which was given up, put out a flag; the second took it as Python's next call would."""
    is_first = True

    def by_name(p: Any, u: Any) -> Any:
        nonlocal is_first
        factor, is_first = 2.0 if is_first else 1.0, False
        return factor * copies_an_argument(p, u)

    def by_attribute(p: Any, u: Any) -> Any:
        factor, STATE.is_first = 2.0 if STATE.is_first else 1.0, False
        return factor * copies_an_argument(p, u)

    def by_item(p: Any, u: Any) -> Any:
        factor = 2.0 if FIRST["is"] else 1.0
        FIRST["is"] = False
        return factor * copies_an_argument(p, u)

    for f in (by_name, by_attribute, by_item):
        with pytest.raises(wg.errors.MutationError, match="made outside"):
            wg.grad(f)(np.array([0.5, 1.0, 2.0]), np.ones(3))


def test_attributes_that_a_constructor_sets_are_no_writes_of_the_function() -> None:
    class Model:
        def __init__(self) -> None:
            self.rate = 2.0

    model = Model()

    def f(p: Any, u: Any) -> Any:
        return model.rate * copies_an_argument(p, u)

    p, u = np.array([0.5, 1.0, 2.0]), np.ones(3)
    np.testing.assert_allclose(wg.grad(f)(p, u), 2.0 * wg.grad(copies_an_argument)(p, u))

"""Un-jitted calls take the steps of earlier calls again: what they give is what a call for the first time gives."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from benchmarks.plain_programs import PROGRAMS
from wengert.tape import Builder
from wengert.tracing._steps import Steps
from wengert.tracing.record import Recording, input_of, record_call


def same(a: Any, b: Any) -> None:
    for x, y in zip(wg.tree.flatten(a)[0], wg.tree.flatten(b)[0], strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)


def again_and_again(make: Callable[[Any], Callable[..., Any]], settings: Any, *args: Any) -> None:
    """Call one gradient with each setting in turn, several times, and compare with one made for that call."""
    holder: list[Any] = [None]
    kept = wg.value_and_grad(lambda *given: make(holder[0])(*given))
    for setting in [*settings, *settings, *reversed(settings)]:
        holder[0] = setting
        same(kept(*args), wg.value_and_grad(make(setting))(*args))


X = np.linspace(0.3, 1.7, 6)


@pytest.mark.sampled(3, "a seventh of a second each")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_called_again_with_other_values(name: str) -> None:
    f, args = PROGRAMS[name](np)
    kept = wg.grad(f)
    leaves, tree = wg.tree.flatten(args[0])
    for scale in (1.0, 1.01, 1.0, 0.99):
        given = wg.tree.unflatten(tree, [x * scale for x in leaves])
        same(kept(given, *args[1:]), wg.grad(f)(given, *args[1:]))


WITH_SETTINGS: dict[str, tuple[Callable[[Any], Callable[..., Any]], list[Any]]] = {
    "a float": (lambda c: lambda x: np.sum(np.sin(x) * c + c), [0.5, 2.0, -0.0, 0.0, 3]),
    "an integer": (lambda n: lambda x: np.sum(x**n) * n, [1, 2, 3, 0]),
    "a number of NumPy's": (lambda c: lambda x: np.sum(x * c), [np.float64(2.0), np.float32(0.1), np.int64(3), 2.0]),
    "a captured array": (lambda c: lambda x: np.sum(np.dot(x, c)), [np.ones(6), np.arange(6.0), np.ones((6, 2))]),
    "an array of integers": (lambda c: lambda x: np.sum(x * c), [np.arange(6), np.arange(6) > 2, np.arange(6.0)]),
    "an array in Fortran's order": (
        lambda c: lambda x: np.sum((x[:, None] * c).reshape(-1) * np.arange(36.0)),
        [np.asfortranarray(np.arange(36.0).reshape(6, 6)), np.arange(36.0).reshape(6, 6)],
    ),
    "an index": (lambda k: lambda x: x[k] * 2.0, [0, 5, -1, np.int64(2)]),
    "a slice": (lambda k: lambda x: np.sum(x[k] * 2.0), [slice(1, 4), slice(None), slice(0, 6, 2), slice(5, 0, -1)]),
    "an index array": (lambda k: lambda x: np.sum(x[k] ** 2), [np.array([0, 0, 5]), np.array([1, 2, 3]), [1, 1, 1]]),
    "a mask": (lambda k: lambda x: np.sum(x[k] ** 2), [np.arange(6) > 3, np.arange(6) > 1]),
    "a condition": (
        lambda c: lambda x: np.sum(np.where(c, x, 2 * x)),
        [np.arange(6) > 3, np.arange(6) > 1, True, False],
    ),
    "an axis": (lambda k: lambda x: np.sum(np.sum(x.reshape(2, 3), axis=k) ** 2), [0, 1, None, (0, 1), -1]),
    "a dtype": (lambda t: lambda x: np.sum(x.astype(t) ** 2), [np.float32, np.float64, "float32", np.dtype("f8")]),
    "a keyword": (lambda k: lambda x: np.sum(np.sum(x.reshape(2, 3), axis=0, keepdims=k) ** 2), [True, False]),
    "a branch": (lambda c: lambda x: np.sum(x) if x[0] > c else np.sum(x**2), [0.0, 1.0]),
    "a branch asked twice": (
        lambda c: lambda x: sum([(x[k] if x[0] > c else x[k] ** 2) * (1 + (x[0] > c)) for k in range(6)]),
        [0.0, 1.0],
    ),
    "an operand that is repeated": (lambda n: lambda x: np.sum(sum([np.sin(x) for _ in range(n)])), [1, 3, 2, 5]),
    "another order": (lambda o: lambda x: np.sum([np.sin, np.cos, np.exp][o](x)) + np.sum(np.sin(x)), [0, 1, 2]),
    "a transpose": (
        lambda o: lambda x: np.sum(np.ravel(x.reshape(2, 3).T, order=o) * np.arange(6.0)),
        ["C", "F"],
    ),
    "a copy in another order": (
        lambda o: lambda x: np.sum(x) * (2.0 + np.copy(x.reshape(2, 3).T, order=o).flags.c_contiguous),
        ["C", "F", "K"],
    ),
    "an operator": (lambda f: lambda x: np.sum(f(x, 2.0)), [np.add, np.multiply, np.power, np.maximum, np.arctan2]),
    "a ufunc of Python's": (
        lambda c: lambda x: np.sum(np.sin(x) * c[0]) if c else np.sum(x),
        [[2.0], [3.0], []],
    ),
    "a large integer": (lambda n: lambda x: np.sum(x * n), [2**70, 2**62, -(2**63), 2**53 + 1]),
    "no number": (lambda c: lambda x: np.sum(np.where(np.isnan(x * c), x, x * 2)), [float("nan"), float("inf"), 1.0]),
}


@pytest.mark.parametrize("name", WITH_SETTINGS)
def test_what_a_step_is_given_is_seen_to_change(name: str) -> None:
    make, settings = WITH_SETTINGS[name]
    with np.errstate(all="ignore"):
        again_and_again(make, settings, X)


def writes(kind: str) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = np.zeros((2, 3))
        part = y[:, 1:]
        if kind == "before the view is read":
            y[:] = x.reshape(2, 3)
            return np.sum(part**2)
        if kind == "between two reads":
            part += x[:4].reshape(2, 2)
            first = np.sum(part**2)
            y *= 2.0
            return first + np.sum(part**3)
        z = np.sin(x)
        same_again = np.sin(x)
        z[0] = 3.0
        view = z[1:4]
        view[0] *= 2.0
        if kind == "through a view of a copy":
            w = z.copy()
            w[1:][::2] = x[0]
            return np.sum(w * z) + np.sum(same_again)
        return np.sum(z**2) + same_again[0] * view[0]

    return f


@pytest.mark.parametrize(
    "kind", ["before the view is read", "between two reads", "through a view of a copy", "of a result"]
)
def test_writes_are_seen_by_views_and_by_nobody_else(kind: str) -> None:
    again_and_again(lambda scale: lambda x: writes(kind)(x) * scale, [1.0, 2.0], X)


def test_one_argument_twice_is_no_other_one() -> None:
    kept = wg.grad(lambda x, y: np.sum(np.outer(x, y) * np.arange(36.0).reshape(6, 6)))
    for x, y in ((X, X), (X, X + 1.0), (X + 1.0, X), (X, X.copy())):
        same(kept(x, y), np.arange(36.0).reshape(6, 6) @ y)


def test_shapes_and_dtypes_in_turns() -> None:
    kept = wg.grad(lambda x: np.sum(np.tanh(x) * 2.0 + x[..., :1]))
    for x in (X, X.reshape(2, 3), X.astype(np.float32), X.reshape(2, 3).T, X, X[::2], np.ones((2, 0))):
        got = kept(x)
        same(got, wg.grad(lambda x: np.sum(np.tanh(x) * 2.0 + x[..., :1]))(x))
        assert got.dtype == x.dtype


def test_numbers_of_pythons_stay_weak() -> None:
    kept = wg.grad(lambda x, y: np.sum(y * x + x) + x * 2)
    for x in (0.5, np.float64(0.5), np.float32(0.5), 0.25):
        got = kept(x, np.ones(3, np.float32))
        assert float(got) == 8.0 and np.asarray(got).dtype == np.asarray(x).dtype


def test_a_call_within_the_call_takes_no_steps_of_it() -> None:
    inner = wg.grad(lambda x: np.sum(np.sin(x) * x))

    def f(x: Any, depth: int) -> Any:
        return np.sum(x**2) if depth == 0 else np.sum(np.sin(inner(x))) + kept(x, depth - 1)[0] * 0.5

    kept = wg.grad(f)
    for scale in (1.0, 1.1, 0.9):
        x = X * scale
        step = 1e-6 * np.eye(6)
        rough = [(f(x + h, 2) - f(x - h, 2)) / 2e-6 for h in step]
        np.testing.assert_allclose(kept(x, 2), rough, rtol=1e-5)


def test_an_error_in_the_middle_leaves_nothing_behind() -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        if fails[0]:
            raise RuntimeError("in the middle")
        return np.sum(y * y)

    fails = [False]
    kept = wg.grad(f)
    for fails[0] in (False, True, False, True, False):
        if fails[0]:
            with pytest.raises(RuntimeError, match="in the middle"):
                kept(X)
        else:
            same(kept(X), 2 * np.sin(X) * np.cos(X))


def test_threads_that_call_at_once_get_their_own() -> None:
    kept = wg.grad(lambda x, c: np.sum(np.sin(x * c) * x))
    wrong: list[Any] = []

    def call(c: float) -> None:
        expected = np.cos(X * c) * c * X + np.sin(X * c)
        wrong.extend(c for _ in range(60) if not np.allclose(kept(X, c), expected))

    threads = [threading.Thread(target=call, args=(float(c),)) for c in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_no_array_is_kept() -> None:
    class Owner(np.ndarray):
        pass

    kept = wg.grad(lambda x: np.sum(x * np.asarray(holder[0]) + np.sin(x)))
    holder = [np.ones(100_000).view(Owner)]
    x = np.ones(100_000)
    for _ in range(3):
        kept(x)
    gone = weakref.ref(holder[0])
    holder[0] = np.ones(100_000)
    kept(x)
    gc.collect()
    assert gone() is None


def steps_of(f: Callable[..., Any], steps: Steps, *args: Any) -> Recording:
    return record_call(f, [input_of(x) for x in args], name="f", steps=steps)


@pytest.mark.needs_extension("the steps of earlier runs are not remembered")
def test_the_same_steps_again_are_the_recording_of_before() -> None:
    """With the captured arrays of this run: programs that were made of the tape serve both."""
    holder: list[Any] = [np.ones(3)]
    steps = Steps()

    def f(x: Any) -> Any:
        return np.sin(x) * holder[0]

    before = steps_of(f, steps, np.ones(3))
    holder[0] = np.zeros(3)
    again = steps_of(f, steps, np.ones(3))
    assert again.programs is before.programs
    assert again.captured[0].tolist() == [0, 0, 0]
    assert steps_of(np.cos, steps, np.ones(3)).programs is not before.programs
    assert steps_of(lambda x: np.sin(x) * 2, steps, np.ones(3)).programs is not before.programs
    assert steps_of(f, steps, np.ones(3)).programs is before.programs


@pytest.mark.needs_extension("the steps of earlier runs are not remembered")
def test_nothing_is_recorded_anew_in_a_call_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """No step of such a call is emitted by Python, be it of an operator, a function, a method, an index or a view."""

    def f(w: Any, x: Any) -> Any:
        h = np.tanh(np.dot(x, w) + 0.5) * x[0] - x[1:2].sum() / 2
        return np.sum(h**2) + np.mean(np.exp(-h)) + abs(h[0]) + np.where(h > 0.0, h, 0.0).max()

    emitted: list[str] = []
    emit = Builder.emit
    monkeypatch.setattr(Builder, "emit", lambda self, op, *rest: (emitted.append(op.name), emit(self, op, *rest))[1])
    w, x, steps = np.ones((3, 3)), np.arange(3.0), Steps()
    first = steps_of(f, steps, w, x)
    assert len(emitted) >= len(first.tape.instrs)
    emitted.clear()
    assert steps_of(f, steps, w, x).programs is first.programs
    assert emitted == []


def test_the_tables_are_bounded() -> None:
    holder, steps = [0.0], Steps()
    for k in range(3000):
        holder[0] = float(k)
        steps_of(lambda x: np.sum(x * holder[0] + holder[0]) * holder[0], steps, X)
    instructions, keys, recordings = steps.sizes()
    assert instructions < 25_000 and keys < 25_000 and recordings <= 64


NESTED: dict[str, Callable[[Any], Any]] = {
    "hessian": lambda f: wg.hessian(f),
    "jacobian of the gradient": lambda f: wg.jacobian(wg.grad(f)),
    "product with the Hessian": lambda f: lambda x: wg.hvp(f, (x,), (np.cos(x),)),
    "gradient of a sum of gradients": lambda f: wg.grad(lambda x: np.sum(wg.grad(f)(x) ** 2)),
    "batch of gradients": lambda f: lambda x: wg.vmap(wg.grad(f))(np.stack([x, 2 * x])),
    "gradient of a batch": lambda f: wg.grad(lambda x: np.sum(wg.vmap(f)(np.stack([x, 2 * x])))),
    "pullback": lambda f: lambda x: wg.vjp(wg.grad(f), x)[1](np.cos(x))[0],
    "direction": lambda f: lambda x: wg.jvp(f, (x,), (np.cos(x),)),
    "linear function": lambda f: lambda x: wg.linearize(f, x)[1](np.cos(x)),
    "third derivative": lambda f: wg.grad(lambda x: np.sum(wg.hessian(f)(x))),
}


@pytest.mark.parametrize("name", NESTED)
def test_transforms_of_transforms_called_again(name: str) -> None:
    """With another captured array, and another captured number, at each call."""
    holder: list[Any] = [np.arange(6.0), 1.0]

    def f(x: Any) -> Any:
        y = np.sin(x * holder[1]) * x[::-1] + np.dot(x, holder[0]) * x
        return np.sum(y * y[0])

    kept = NESTED[name](f)
    for array, number in ((X, 1.0), (X + 1.0, 1.0), (X, 2.0), (X, 1.0), (np.arange(6.0), 0.5)):
        holder[:] = [array, number]
        expected = NESTED[name](lambda x, a=array, n=number: f_of(x, a, n))(X)
        same(kept(X), expected)


def f_of(x: Any, array: Any, number: float) -> Any:
    y = np.sin(x * number) * x[::-1] + np.dot(x, array) * x
    return np.sum(y * y[0])


@pytest.mark.needs_extension("the steps of earlier runs are not remembered")
def test_a_gradient_of_a_gradient_is_known_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = wg.grad(lambda x: np.sum(np.sin(x) ** 2 * x[0]))
    steps = Steps()
    first = steps_of(lambda x: np.sum(inner(x) ** 2), steps, X)
    emitted: list[str] = []
    append = Builder.append
    monkeypatch.setattr(Builder, "append", lambda self, instr: (emitted.append(instr.op.name), append(self, instr))[1])
    assert steps_of(lambda x: np.sum(inner(x) ** 2), steps, X).programs is first.programs
    assert emitted == []


ONCE: dict[str, Callable[[Any], Any]] = {
    "product of arrays": lambda x: np.dot(A, x) + np.dot(x, A) + x @ A + A @ x,
    "selection": lambda x: np.where(A[0] > 0, x, 0.0) + np.where(x > 1, A[0], x),
    "joined": lambda x: np.concatenate([x, A[0]]) + np.stack([x, x]).reshape(-1),
    "outer product": lambda x: np.outer(x, A[0]) + np.einsum("i,j->ij", A[1], x),
    "constant made inside": lambda x: np.dot(np.ones((6, 6)), x) + np.zeros(6) * x,
    "solution": lambda x: np.linalg.solve(A + 9 * np.eye(6), x),
}
A = np.random.default_rng(1).normal(size=(6, 6))


@pytest.mark.parametrize("name", ONCE)
@pytest.mark.needs_extension("the steps of earlier runs are not remembered")
def test_functions_take_arrays_as_operands(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, emitted = Steps(), list[str]()
    emit = Builder.emit
    monkeypatch.setattr(Builder, "emit", lambda self, op, *rest: (emitted.append(op.name), emit(self, op, *rest))[1])
    first = steps_of(lambda x: np.sum(ONCE[name](x) ** 2), steps, X)
    emitted.clear()
    again = steps_of(lambda x: np.sum(ONCE[name](x) ** 2), steps, X)
    assert again.programs is first.programs and emitted == []


def test_arguments_that_no_step_reads_tell_two_runs_apart() -> None:
    def f(x: Any, y: Any = 1.0) -> Any:
        return np.sum(np.sin(x))

    for _ in range(3):
        same(wg.grad(f)(X, 0.5), np.cos(X))
        same(wg.grad(f, argnums=(0, 1))(X, 0.5), (np.cos(X), 0.0))
        same(wg.grad(f, argnums=(1, 0))(X, 0.5), (0.0, np.cos(X)))


def test_assignments_with_an_operator() -> None:
    """A number is a new one; an array is written, and whoever shares it sees that."""

    def f(x: Any) -> Any:
        total = x[0]
        first = total
        total += x[1] * 2.0
        total **= 2
        y = x * 1.0
        view = y[1:3]
        y += x
        y *= scale[0]
        y **= 2
        y /= y[0] + 3.0
        kept = np.zeros(6)
        kept += y
        kept -= 1.0
        return np.sum(view) * total + first + np.sum(kept**2)

    scale = [1.0]
    kept = wg.value_and_grad(f)
    for scale[0] in (1.0, 2.0, 1.0, np.float64(3.0)):
        same(kept(X), wg.value_and_grad(lambda x: f(x))(X))
        assert wg.check_derivatives(f, X) is None

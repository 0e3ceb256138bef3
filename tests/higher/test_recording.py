"""Bodies that look at the truth of what they compute: both sides are recorded, and joined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import errors
from wengert.tape import Tape, tapes_in

X = np.array([1.0, 2.0, -1.0, 0.5, 4.0, 3.2, -2.5, 7.0])


def ops_of(tape: Tape) -> list[str]:
    """Of the tape and its bodies, however deep."""
    names = []
    for i in tape.instrs:
        names.append(i.op.name)
        for body in tapes_in(tuple(i.params.values())):
            names += ops_of(body)
    return names


# Each is written once with wg.scan and run twice: traced, with its ifs on traced values, and by Python's own loop.


def branches(x: Any, a: Any) -> Any:
    def step(c: Any, t: Any) -> Any:
        y = c * t
        if y > 0 and t < 3:
            y = y * a
        elif not t <= 3.5:
            y = np.sin(y)
        return max(y, -2.0), min(y, t)

    c, ys = wg.scan(step, 1.0, x)
    return c + np.sum(ys)


def nested(x: Any, a: Any) -> Any:
    """The inner body looks at what the outer one carries, and at its own."""

    def outer(c: Any, t: Any) -> Any:
        def inner(d: Any, k: Any) -> Any:
            if c > 1:
                d = d * 0.9
            if d > t:
                d = d - k
            return d, None

        d, _ = wg.scan(inner, c, np.arange(3.0))
        if t > 0:
            d = d + a * t
        return d, d

    c, ys = wg.scan(outer, 0.5, x)
    return c + np.sum(ys**2)


def arrays(x: Any, a: Any) -> Any:
    """Sides that do much, and meet again."""

    def step(c: Any, t: Any) -> Any:
        if np.sum(c) > 2:
            c = np.sin(c) * t
        else:
            c = np.exp(-c) @ np.ones((2, 2)) + a
        if any(c > 10):
            return c / 10, c[0]
        return c * 1.5, np.cos(t)

    c, ys = wg.scan(step, np.array([0.1, 0.2]), x)
    return np.sum(c) + np.sum(ys)


def derivative(x: Any, a: Any) -> Any:
    """A derivative in a body, of a function with branches."""

    def loss(y: Any) -> Any:
        return y**2 if y > 1 else abs(y) * a

    return wg.scan(lambda y, t: (y - 0.1 * t * wg.grad(loss)(y), None), 3.0 * a, x)[0]


def whiles(x: Any, a: Any) -> Any:
    """A condition with branches, of a loop whose number of iterations depends on them."""

    def goes_on(state: Any) -> Any:
        y, k = state
        return k < 8 and (y < 9 or y > 100)

    def step(state: Any) -> Any:
        y, k = state
        return (y * 1.3 if y < 4 else y + a), k + 1

    return wg.while_loop(goes_on, step, (x[0] + 0.0, np.int64(0)))[0] * x[1]


def checkpoints(x: Any, a: Any) -> Any:
    layer = wg.checkpoint(lambda x: np.sin(x) if x[0] * a > 0 else np.cos(x) * a)
    return np.sum(layer(layer(x)))


PROGRAMS = [branches, nested, arrays, derivative, whiles, checkpoints]


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("a", [0.7, -1.3])
def test_both_sides_are_traced(f: Callable[..., Any], a: float) -> None:
    compiled = wg.jit(f, strict=True)
    for x in (X, X[::-1].copy(), -X, 0.3 * X):
        np.testing.assert_allclose(compiled(x, a), f(x, a), rtol=1e-12)
    assert compiled.stats()["traces"] == 1


@pytest.mark.sampled(3, "a quarter of a second each")
@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives(f: Callable[..., Any]) -> None:
    gradient = wg.jit(wg.grad(f, (0, 1)), strict=True)
    twice = wg.jit(lambda x, a, v: wg.hvp(lambda x: f(x, a), (x,), (v,)), strict=True)
    v, eps = np.cos(X), 1e-6
    for x, a in ((X, 0.7), (0.3 * X, -1.3), (-X, 0.4)):
        dx, da = gradient(x, a)
        assert wg.grad(f, 1)(x, a) == pytest.approx(da, rel=1e-12)
        slope = (f(x + eps * v, a) - f(x - eps * v, a)) / (2 * eps)
        assert dx @ v == pytest.approx(slope, rel=1e-6, abs=1e-7)
        assert da == pytest.approx((f(x, a + eps) - f(x, a - eps)) / (2 * eps), rel=1e-6, abs=1e-7)
        assert wg.jvp(f, (x, a), (v, 0.0))[1] == pytest.approx(slope, rel=1e-6, abs=1e-7)
        change = (gradient(x + eps * v, a)[0] - gradient(x - eps * v, a)[0]) / (2 * eps)
        np.testing.assert_allclose(twice(x, a, v), change, rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(2, "a tenth of a second each")
@pytest.mark.parametrize("f", PROGRAMS)
def test_batches(f: Callable[..., Any]) -> None:
    xs, a = np.stack([X, -X, 0.3 * X]), np.array([0.7, -1.3, 0.4])
    np.testing.assert_allclose(wg.jit(wg.vmap(f), strict=True)(xs, a), [f(*one) for one in zip(xs, a, strict=True)])
    if f is not derivative:  # a look in a derivative of a batch has no value there
        expected = [wg.grad(f)(*one) for one in zip(xs, a, strict=True)]
        np.testing.assert_allclose(wg.jit(wg.vmap(wg.grad(f)), strict=True)(xs, a), expected, rtol=1e-10)


def test_what_has_a_value_is_guarded_before_the_loop() -> None:
    def f(x: Any, a: Any) -> Any:
        return wg.scan(lambda c, t: (c * t if a > 0 else c + t, None), 1.0, x)[0]

    for transform in (wg.jit, lambda f: wg.jit(wg.grad(f))):
        compiled = transform(f)
        plain = f if transform is wg.jit else wg.grad(f)
        for a in (1.0, -1.0, 2.0, -3.0):
            np.testing.assert_allclose(compiled(X, a), plain(X, a))
        assert compiled.stats()["traces"] == 2
        names = ops_of(compiled.program(X, 1.0).tape)
        assert "guard" not in names[names.index("scan") :]


def test_a_derivative_of_what_has_a_value_is_guarded_before_the_loop() -> None:
    def f(x: Any, a: Any) -> Any:
        loss = lambda y: y**2 if y > 1 else abs(y)
        return wg.scan(lambda c, t: (c + t * wg.grad(loss)(a), None), 0.0, x)[0]

    compiled = wg.jit(f)
    assert [compiled(X, a) for a in (2.0, -0.5, 3.0)] == pytest.approx([4 * sum(X), -sum(X), 6 * sum(X)])
    assert compiled.stats()["traces"] == 2


def test_a_truth_is_decided_once() -> None:
    def step(c: Any, t: Any) -> Any:
        for _ in range(40):
            if t > 0:
                c = c + 1
        return c, t > 0 and t > 0

    tape = wg.trace(lambda x: wg.scan(step, 0.0, x))(X)
    assert ops_of(tape).count("cond") == 1


def test_sides_that_meet_go_on_as_one() -> None:
    """Sixteen paths; the tape has four branches and one of what follows each."""

    def step(c: Any, t: Any) -> Any:
        for k in range(4):
            c = np.sin(c) if c > k else c * t
            c = np.exp(-c)
        return c, None

    names = ops_of(wg.trace(lambda x: wg.scan(step, 0.0, x)[0])(X))
    assert names.count("cond") == names.count("exp") == names.count("sin") == 4


def test_a_choice_between_scalars_is_no_branch() -> None:
    names = ops_of(wg.trace(lambda x: wg.scan(lambda c, t: (max(c, t), min(c, 2.0)), 0.0, x))(X))
    assert names == ["scan", "greater", "select", "greater", "select"]


def test_a_number_takes_the_dtype_of_the_other_side() -> None:
    x = X.astype(np.float32)
    for f in (lambda c, t: (c + t if t > 0 else 0, None), lambda c, t: (0.5 if t > 0 else c, None)):
        found = wg.jit(lambda x, f=f: wg.scan(f, x[0], x)[0], strict=True)(x)
        assert found.dtype == np.float32 and found == wg.scan(f, x[0], x)[0]
    assert wg.jit(lambda x: wg.scan(lambda c, t: (1 if t > 0 else 0.5, None), 0.0, x)[0])(X) == 1.0
    assert wg.jit(lambda x: wg.scan(lambda c, t: (c, t > 0 or t < -2), 0.0, x)[1])(X).tolist() == [
        *[True] * 2, False, *[True] * 5,
    ]  # fmt: skip


def too_often(c: Any, t: Any) -> Any:
    while c > 1:
        c = c / 2
    return c, None


def raising(c: Any, t: Any) -> Any:
    if not t < 1e3:
        raise ValueError("too large")
    return c, None


def counting(c: Any, t: Any) -> Any:
    CALLS[0] += 1
    c = c * CALLS[0]
    return (c if t > 0 else -c), None


CALLS = [0]
REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "a while": (too_often, errors.ConcretizationError, "(?s)more than 32 paths.*while c > 1.*wg.while_loop"),
    "a raise": (raising, errors.ConcretizationError, "(?s)if this is False it raises ValueError.*too large"),
    "a counter": (counting, errors.CaptureError, "other steps"),
    "an int": (lambda c, t: (c + int(t), None), errors.ConcretizationError, "needs the value of int64"),
    "a list": (lambda c, t: (c + [1.0, 2.0][np.sum(t > 0)], None), errors.ConcretizationError, "index needs the value"),
    "two dtypes": (lambda c, t: (t > 0 if t > 0 else t, None), errors.DTypeError,
                   r"returns bool\[\] if this is true, and float64\[\] if it is false, at result\[0\]"),
    "two shapes": (lambda c, t: (c if t > 0 else np.stack([c, c]), None), errors.ShapeError,
                   r"returns float64\[\] if this is true, and float64\[2\]"),
    "two structures": (lambda c, t: (c if t > 0 else (c, c), None), errors.StructureError, "another structure"),
    "none": (lambda c, t: (c, None) if t > 0 else None, errors.StructureError, "another structure"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_line(name: str) -> None:
    body, error, text = REFUSED[name]
    with pytest.raises(error, match=text) as caught:
        wg.jit(lambda x: wg.scan(body, 9.0, x)[0], strict=True)(X)
    assert "test_recording.py" in str(caught.value)


def test_what_may_be_raised_is_raised_by_python() -> None:
    f = wg.jit(lambda x: wg.scan(raising, 2.0, x)[0])
    with pytest.warns(errors.PerformanceWarning, match="raises ValueError"):
        assert f(X) == 2.0
    with pytest.raises(ValueError, match="too large"):
        f(X * 1e3)


def test_the_domain_of_a_function_of_pythons_is_no_look() -> None:
    import math

    f = wg.jit(lambda x: wg.scan(lambda c, t: (c + math.sqrt(t), None), 0.0, x)[0], strict=True)
    assert f(np.abs(X)) == pytest.approx(np.sum(np.sqrt(np.abs(X))))


# ----------------------------------------------------------------------------------------------------------- joined


def test_joined_paths_are_one_program() -> None:
    ramp = wg.joined(lambda x, low: low if x < low else x * x if x < 2 else 4 * x - 4)
    f = wg.jit(lambda x: sum(ramp(v, 0.5) for v in x), strict=True)
    plain = lambda x: sum(0.5 if v < 0.5 else v * v if v < 2 else 4 * v - 4 for v in x)
    for x in (X, -X, X * 0.3):
        assert f(x) == pytest.approx(plain(x), rel=1e-12)
        np.testing.assert_allclose(wg.jit(wg.grad(f))(x), wg.grad(plain)(x), rtol=1e-12)
        np.testing.assert_allclose(wg.vmap(lambda v: ramp(v, 0.5))(x), [plain([v]) for v in x])
    assert f.stats()["traces"] == 1
    assert ramp(0.1, 0.5) == 0.5


def test_joined_paths_do_not_multiply() -> None:
    relu = wg.joined(lambda v: v if v > 0 else 0.1 * v)

    def step(c: Any, t: Any) -> Any:
        for _ in range(12):
            c = relu(np.sin(c) - 0.1 * t)
        return c, None

    f = lambda x: wg.scan(step, 0.3, x)[0]
    assert wg.jit(f, strict=True)(X) == pytest.approx(f(X), rel=1e-12)
    np.testing.assert_allclose(wg.jit(wg.grad(f), strict=True)(X), wg.grad(f)(X), rtol=1e-9)


def test_a_joined_function_without_looks_is_its_steps() -> None:
    f = lambda x: np.sin(x) * 2 + 1
    assert str(wg.trace(lambda x: f(x))(X)) == str(wg.trace(lambda x: wg.joined(f)(x))(X))


def test_a_joined_function_writes_no_argument() -> None:
    def f(x: Any) -> Any:
        x[0] = 1.0
        return x

    with pytest.raises(errors.MutationError, match="f writes an argument"):
        wg.jit(lambda x: wg.joined(f)(x * 2), strict=True)(X)

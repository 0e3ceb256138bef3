"""Programs on which other systems have returned zeros, the numbers of an earlier call, or those of another branch.

Each stands for a mistake that users of a tape or a tracer have reported. Its gradient, plain and compiled, is that of
differences of the function itself, at each of several points, between which what it reads may change; or an error of
ours says at which line it cannot be.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg

Array = Any


class Case(NamedTuple):
    f: Callable[..., Any]
    points: Sequence[float | Sequence[float]]
    between: Callable[[], Any] = lambda: None
    """Done before each point but the first."""


WEIGHTS = np.array([1.0, 2.0, 3.0])
TABLE = {"a": 2.0, "b": 3.0}
STATE: dict[str, Any] = {"scale": 1.0, "list": [1.0, 2.0], "rule": np.sin, "sum": 0.0}
FACTORS = [1.0, 2.0]


class Spring:
    stiffness = 2.0

    def __init__(self) -> None:
        self.rest = 0.5

    def force(self, x: Array) -> Array:
        return self.stiffness * (x - self.rest)


SPRING = Spring()


@dataclasses.dataclass(frozen=True)
class Model:
    c: Any
    d: float = 2.0


# Branches and loops: the path of the recording is not that of the call.


def relu_by_hand(x: Array) -> Array:
    return 0.0 * x if x < 0 else x


def cubic_on_one_side(x: Array) -> Array:
    return x[0] if x.sum() > 0 else -(x[0] ** 3)


def constant_on_one_side(x: Array) -> Array:
    return x**2 if x <= 1 else 1.0 + 0.0 * x


def flat_on_one_side(x: Array) -> Array:
    if x > 1:
        return 1.0
    return x**2


def equality(x: Array) -> Array:
    return 3.0 * x if x == 2.0 else x**2


def several_returns(x: Array) -> Array:
    for k in range(5):
        if x * k > 3.0:
            return x**k
    return -x


def counted_by_the_value(x: Array) -> Array:
    y = x
    while y < 10.0:
        y = y * y
    return y


def counted_by_an_integer(x: Array) -> Array:
    total = 0.0 * x
    for _ in range(int(x) + 1):
        total = total + x**2
    return total


def broken_out_of(x: Array) -> Array:
    y = 1.0
    for k in range(1, 9):
        y = y * x / k
        if abs(y) < 0.3:
            break
    return y


def swapped_in_a_loop(x: Array) -> Array:
    a, b = x, 2.0 * x**2
    for _ in range(3):
        a, b = b, a
    return a * 3.0 + b


def after_a_return(x: Array) -> Array:
    def inner(y: Array) -> Array:
        if y > 0:
            return y
        y = y * 100.0
        return y

    return inner(x) ** 2


def caught(x: Array) -> Array:
    try:
        if x < 0:
            raise ValueError
        return np.sqrt(x)
    except ValueError:
        return x**2


def finally_written(x: Array) -> Array:
    y = np.zeros(2)
    try:
        y[0] = x
    finally:
        y[1] = x**2
    return y.sum()


def by_the_length(x: Array) -> Array:
    return np.sum(x**2) / len(x) + (x[-1] if len(x) > 2 else 0.0)


def ternary_of_an_element(x: Array) -> Array:
    return sum(v**2 if v > 0 else -v for v in x)


def any_of(x: Array) -> Array:
    return np.sum(x**2) if np.any(x > 0.7) else np.sum(x)


def sign_by_comparison(x: Array) -> Array:
    return ((x > 0) * 2.0 - 1.0) * x**2


def by_position(x: Array) -> Array:
    return x[np.argmax(x)] ** 2


def in_sorted_order(x: Array) -> Array:
    return sorted(x, key=lambda v: -v)[0] ** 3


# Arrays that are written.


def written_by_element(x: Array) -> Array:
    v = np.array([0.0, 0.0])
    v[1] = x[1]
    return v.sum() * x[0]


def filled_column(x: Array) -> Array:
    a = np.ones((2, 2))
    a[:, 1] = x
    return np.sum(a**3)


def through_a_view(x: Array) -> Array:
    a = np.zeros((3, 3))
    diagonal = a.reshape(-1)[::4]
    diagonal[:2] = x**2
    return a.trace()


def accumulated(x: Array) -> Array:
    total = np.zeros(2)
    for k in range(3):
        total += x * k
    return np.sum(total**2)


def added_at_an_index_twice(x: Array) -> Array:
    a = np.zeros(3)
    np.add.at(a, [0, 0], x)
    return a[0] ** 2


def by_out(x: Array) -> Array:
    y = np.empty(2)
    np.multiply(x, x, out=y)
    return y.sum()


def overwritten(x: Array) -> Array:
    y = x.copy()
    z = y * y
    y[:] = 0.0
    return z.sum() + y.sum()


def an_argument_written(x: Array) -> Array:
    y = 2.0 * x
    y[0] = y[1] ** 2
    return y.sum()


# What is captured, and changes.


def captured_array(x: Array) -> Array:
    return np.sum(WEIGHTS[: len(x)] * x**2)


def captured_dict(x: Array) -> Array:
    return TABLE["a"] * x**2


def captured_attribute(x: Array) -> Array:
    return SPRING.force(x) ** 2


def captured_class(x: Array) -> Array:
    return Spring.stiffness * x**2


def captured_function(x: Array) -> Array:
    return STATE["rule"](x)


def captured_list(x: Array) -> Array:
    return sum(c * x**k for k, c in enumerate(STATE["list"]))


def default_argument(x: Array, factors: list[float] = FACTORS) -> Array:
    return factors[0] * x**2


def accumulated_outside(x: Array) -> Array:
    STATE["sum"] = x**2
    return STATE["sum"] * 2.0


# Values that leave and come back.


def by_float(x: Array) -> Array:
    return float(x) ** 2


def by_math(x: Array) -> Array:
    return math.exp(x) * x


def by_item(x: Array) -> Array:
    return x.item() ** 2


def by_text(x: Array) -> Array:
    return float(f"{x}") ** 2


def by_json(x: Array) -> Array:
    return json.loads(json.dumps({"x": float(x)}))["x"] ** 2


def by_asarray(x: Array) -> Array:
    return np.asarray(x, dtype=np.float64) ** 2


def by_list(x: Array) -> Array:
    return sum(v**2 for v in x.tolist())


def by_object_array(x: Array) -> Array:
    return np.sum(np.array([x[0], x[1]]) ** 2)


@functools.lru_cache
def remembered(x: Array) -> Array:
    return x**2


def by_a_cache(x: Array) -> Array:
    return remembered(x) * 3.0


def by_rounding(x: Array) -> Array:
    return round(x, 1) * x


def by_replacing(x: Array) -> Array:
    model = dataclasses.replace(Model(1.0), c=x)
    return model.c**2 * model.d


def nested(x: Array) -> Array:
    return x * wg.grad(lambda y: x + y)(1.0)


def nested_twice(x: Array) -> Array:
    return wg.grad(lambda y: y * wg.grad(lambda z: x * y * z**2)(2.0))(x)


def _scale_weights() -> None:
    WEIGHTS[:] = WEIGHTS * 2.0


def _change(where: Any, key: Any, values: Sequence[Any]) -> Callable[[], None]:
    """Return a function that sets ``where[key]``, or the attribute, to the next of ``values`` at each call."""
    left = iter([*values] * 8)

    def change() -> None:
        if isinstance(where, dict | list):
            where[key] = next(left)
        else:
            setattr(where, key, next(left))

    return change


PAIRS = ([1.0, 2.0], [-3.0, 1.0], [0.5, -0.25])

CASES = [
    Case(relu_by_hand, [-1.3, 1.34, -2.0]),
    Case(cubic_on_one_side, PAIRS),
    Case(constant_on_one_side, [0.5, 2.0, -1.0]),
    Case(flat_on_one_side, [0.5, 2.0, -1.0]),
    Case(several_returns, [0.9, 1.7, 3.5, -1.0]),
    Case(counted_by_the_value, [3.5, 1.5, 2.5, 12.0]),
    Case(counted_by_an_integer, [1.5, 3.5, 0.5]),
    Case(broken_out_of, [0.5, 2.0, 1.0, 4.0]),
    Case(swapped_in_a_loop, [0.5, -1.0]),
    Case(after_a_return, [0.5, -1.0, 2.0]),
    Case(caught, [2.0, -1.0, 3.0]),
    Case(finally_written, [2.0, -1.0]),
    Case(by_the_length, [[1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0], [1.0, 2.0], [3.0, 1.0, 2.0]]),
    Case(ternary_of_an_element, PAIRS),
    Case(any_of, PAIRS),
    Case(sign_by_comparison, [2.0, -1.5]),
    Case(by_position, PAIRS),
    Case(in_sorted_order, PAIRS),
    Case(written_by_element, PAIRS),
    Case(filled_column, PAIRS),
    Case(through_a_view, PAIRS),
    Case(accumulated, PAIRS),
    Case(added_at_an_index_twice, PAIRS),
    Case(by_out, PAIRS),
    Case(overwritten, PAIRS),
    Case(an_argument_written, PAIRS),
    Case(captured_array, PAIRS, _scale_weights),
    Case(captured_dict, [1.5, 1.5, 2.0], _change(TABLE, "a", [5.0, 7.0])),
    Case(captured_attribute, [1.5, 1.5, 2.0], _change(SPRING, "rest", [5.0, 7.0])),
    Case(captured_class, [1.5, 1.5, 2.0], _change(Spring, "stiffness", [5.0, 7.0])),
    Case(captured_function, [1.5, 1.5, 0.5], _change(STATE, "rule", [np.cos, np.exp])),
    Case(captured_list, [1.5, 1.5, 2.0], lambda: STATE["list"].append(0.5)),
    Case(default_argument, [1.5, 1.5, 2.0], _change(FACTORS, 0, [5.0, 7.0])),
    Case(accumulated_outside, [1.5, 2.0]),
    Case(by_float, [1.5, 2.0]),
    Case(by_math, [1.5, 2.0]),
    Case(by_item, [1.5, 2.0]),
    Case(by_text, [1.5, 2.0]),
    Case(by_json, [1.5, 2.0]),
    Case(by_asarray, [1.5, 2.0]),
    Case(by_list, PAIRS),
    Case(by_object_array, PAIRS),
    Case(by_a_cache, [1.5, 2.0]),
    Case(by_rounding, [1.52, 2.07]),
    Case(by_replacing, [1.5, 2.0]),
    Case(nested, [1.5, 2.0]),
    Case(nested_twice, [1.5, 2.0]),
]


def test_there_are_forty_of_them() -> None:
    assert len({case.f for case in CASES}) >= 40


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.f.__name__)
def test_the_gradient_is_right_or_raises(case: Case) -> None:
    compiled = wg.jit(wg.grad(case.f))
    for k, point in enumerate(case.points):
        if k:
            case.between()
        x = np.asarray(point) if isinstance(point, list) else point
        for gradient in (wg.grad(case.f), compiled, compiled):
            refusal, found = "", None
            try:
                found = gradient(x)
            except wg.errors.WengertError as error:
                refusal = str(error)
            if refusal:
                assert f"{__file__}:" in refusal
            else:
                np.testing.assert_allclose(found, _differences(case.f, x), rtol=1e-5, atol=1e-7)


def _differences(f: Callable[..., Any], x: Any, h: float = 1e-6) -> Array:
    """Return central differences of ``f`` at ``x``, computed by Python and NumPy alone."""
    if isinstance(x, float):
        return (f(np.float64(x + h)) - f(np.float64(x - h))) / (2 * h)
    steps = h * np.eye(len(x))
    return np.array([(f(x + step) - f(x - step)) / (2 * h) for step in steps])

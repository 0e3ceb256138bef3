"""``wg.smooth``: each kind of switch is found, with its line, its distance and what jumps there."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.report.smoothness import SwitchPoint

X = np.array([3.0, 1.0, 2.0, 5.0])
TABLE = np.array([0.0, 1.0, 2.5, 4.5, 6.0])


def branch(x: Any) -> Any:
    return x[0] if x[1] > 0.5 else x[2]


def repeated(x: Any) -> Any:
    while x[0] < 4:
        x = x * 1.2
    return np.sum(x)


CASES: list[tuple[Callable[..., Any], Any, str, float, float, str]] = [
    # function, argument, op, distance, step, what jumps there
    (lambda x: np.sum(np.abs(x)), X, "absolute", 1, 1, "derivative"),
    (lambda x: np.sum(np.fabs(x)), X, "fabs", 1, 1, "derivative"),
    (lambda z: np.abs(z - 1j), 3 + 1j, "absolute", 3, 3, "derivative"),
    (lambda x: np.sum(np.clip(x, 0, 1.5)), X, "minimum", 0.5, 0.5, "derivative"),
    (lambda x: np.sum(np.maximum(x, 0.75)), X, "maximum", 0.25, 0.25, "derivative"),
    (lambda x: np.sum(np.sign(x - 0.75)), X, "sign", 0.25, 0.25, "value"),
    (lambda x: np.sum(np.heaviside(x - 0.75, 0.5)), X, "heaviside", 0.25, 0.25, "value"),
    (lambda x: np.floor(x), 2.25, "floor", 0.25, 0.25, "value"),
    (lambda x: np.ceil(x), 2.75, "ceil", 0.25, 0.25, "value"),
    (lambda x: np.trunc(x), 0.25, "trunc", 0.75, 0.75, "value"),
    (lambda x: np.round(x, 1), 2.33, "rint", 0.2, 0.02, "value"),
    (lambda x: x % 1, 2.25, "remainder", 0.25, 0.25, "value"),
    (lambda x: x // 2, 2.25, "floor_divide", 0.25, 0.25, "value"),
    (lambda x: np.copysign(2.0, x), 0.25, "copysign", 0.25, 0.25, "value"),
    (lambda x: np.sum(np.where(x > 4.75, x**2, 0)), X, "greater", 0.25, 0.25, "value"),
    (branch, X, "greater", 0.5, 0.5, "value"),
    (lambda x: x[int(x[1] * 1.25)], X, "trunc", 0.25, 0.2, "value"),
    (lambda x: nn.relu(x - 0.75), X, "less_equal", 0.25, 0.25, "derivative"),
    (lambda x: nn.hard_tanh(x), 0.75, "greater_equal", 0.25, 0.25, "derivative"),
    (lambda x: np.max(x), X, "max", 2, 2**0.5, "derivative"),
    (lambda x: np.min(np.stack([x, 2 * x])), X, "min", 1, 0.5**0.5, "derivative"),
    (lambda x: x[np.argmax(x)], X, "argmax", 2, 2**0.5, "derivative"),
    (lambda x: np.sort(x)[0], X, "sort", 1, 0.5**0.5, "derivative"),
    (lambda x: np.median(x), X, "argselect", 1, 0.5**0.5, "derivative"),
    (lambda x: x[np.argsort(x)][3], X, "argsort", 2, 2**0.5, "derivative"),
    (lambda x: np.sum(np.maximum.accumulate(x)), X, "cummax", 1, 0.5**0.5, "derivative"),
    (lambda x: np.interp(x, TABLE, TABLE**2), 2.25, "searchsorted", 0.25, 0.25, "derivative"),
    (lambda x: TABLE[np.searchsorted(TABLE, x)], 2.25, "searchsorted", 0.25, 0.25, "value"),
    (lambda x: TABLE[(x * 2).astype(int)], 1.1, "convert", 0.2, 0.1, "value"),
    (lambda x: np.sqrt(x), 0.25, "sqrt", 0.25, 0.25, "undefined"),
    (lambda x: np.linalg.norm(x - 1), X, "equal, sqrt", 21, 21**0.5, "derivative"),
    (lambda x: np.hypot(x, 0.0), 0.25, "hypot", 0.25, 0.25, "derivative"),
    (lambda x: np.arctan2(x, -1.0), 0.25, "arctan2", 0.25, 0.25, "value"),
    (lambda x: np.linalg.eigvalsh(np.diag(x))[0], X, "eigh", 1, 0.5**0.5, "derivative"),
    (lambda x: wg.cond(x > 1, lambda x: x * x, lambda x: x, x), 1.25, "greater", 0.25, 0.25, "derivative"),
    (lambda x: wg.switch((x * 2).astype(int), [np.sin, np.cos], x), 0.3, "convert", 0.4, 0.2, "value"),
    (lambda x: wg.while_loop(lambda c: c < 9, lambda c: c * 2, x), 2.0, "less", 1, 0.25, "value"),
    (lambda x: wg.fori_loop(0, 3, lambda i, c: np.abs(c - 0.5), x), 1.25, "absolute", 0.25, 0.25, "derivative"),
    (lambda x: wg.scan(lambda c, x: (c, np.maximum(x, 0.75)), 0.0, x)[1], X, "maximum", 0.25, 0.25, "derivative"),
    (lambda x: np.sum(wg.broadcast(lambda a: np.abs(a - 0.75), x)), X, "absolute", 0.25, 0.25, "derivative"),
    (wg.grad(lambda x: np.abs(x) * x), 0.25, "absolute, sign", 0.25, 0.25, "derivative"),
    (wg.grad(lambda x: np.abs(x)), 0.25, "sign", 0.25, 0.25, "value"),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{k}-{case[2]}" for k, case in enumerate(CASES)])
def test_the_nearest_switch_is_found(case: Any) -> None:
    f, x, op, distance, step, jumps = case
    found = next(s for s in wg.smooth(f)(x).switches if s.jumps != "nothing")
    assert (found.op, found.jumps) == (op, jumps)
    np.testing.assert_allclose([found.distance, found.step], [distance, step], rtol=1e-9)


def test_a_smooth_function_says_so() -> None:
    report = wg.smooth(lambda x, n: np.sum(np.tanh(x) ** 2) * n)(X, 3)
    assert report.switches == ()
    assert str(report) == "<lambda> is smooth here: none of its 5 steps switches between smooth pieces"


def test_what_the_result_does_not_hang_on_is_left_out() -> None:
    """A maximum of constants, one that no result reads, and one of whole numbers."""

    def f(x: Any, n: Any) -> Any:
        np.maximum(x, 0)
        return x * np.maximum(TABLE[1], 0.5) * np.maximum(n, 2)

    assert wg.smooth(f)(2.0, np.array(3)).switches == ()


def test_it_names_the_line_the_element_and_both_slopes() -> None:
    report = wg.smooth(repeated)(X)
    line = inspect.getsourcelines(repeated)[1] + 1
    assert {s.line for s in report.switches} == {line}
    assert [s.function for s in report.switches] == ["repeated"] * 3
    assert f"test_smoothness.py:{line}, in repeated:   while x[0] < 4:" in str(report)
    (s,) = wg.smooth(lambda x: np.sum(np.maximum(x, 2 * x - 2.5)))(X).switches
    assert (s.op, s.index, s.operands, s.before, s.after) == ("maximum", (0,), (3.0, 3.5), -2.0, -1.0)


def test_at_a_kink_it_says_what_wengert_takes() -> None:
    """The mean of both sides, or of a rectifier the flatter one: docs/kinks.md."""

    def at_zero(f: Callable[..., Any]) -> SwitchPoint:
        (s,) = wg.smooth(f)(np.array([0.0, 1.0]))[1]
        assert s.distance == s.step == 0 and s.ties == 1 and s.index == (0,)
        return s

    s = at_zero(lambda x: np.sum(np.abs(x)))
    assert (s.before, s.after, s.taken) == (-1, 1, 0)
    s = at_zero(lambda x: np.sum(np.maximum(x, 0)))
    assert (s.before, s.after, s.taken) == (0, 1, 0.5)
    s = at_zero(lambda x: np.sum(nn.relu(x)))
    assert (s.before, s.after, s.taken) == (0, 1, 0)
    assert "wengert takes 0" in str(s) and "switches here" in str(s)
    (s,) = wg.smooth(np.linalg.norm)(np.zeros(3)).switches
    assert s.before is not None and s.before == -(s.after or 0) != 0 and s.taken == 0


def test_a_smooth_function_of_a_kink_shows_no_jump() -> None:
    (s,) = wg.smooth(lambda x: np.abs(x) ** 3)(0.0).switches
    assert s.jumps == "nothing"


def test_rows_are_ordered_and_a_margin_that_does_not_move_comes_last() -> None:
    def f(x: Any) -> Any:
        return np.abs(x) + np.abs(x - 3) + np.abs(wg.stop_gradient(x) - 0.5)

    steps = [s.step for s in wg.smooth(f)(1.0).switches]
    assert steps == [1.0, 2.0, np.inf]


def test_float32_and_trees_are_taken() -> None:
    (s,) = wg.smooth(lambda p: np.sum(np.abs(p["x"])) * p["k"])({"x": X.astype(np.float32) - 0.5, "k": 2}).switches
    assert (s.op, s.step, s.jumps) == ("absolute", 0.5, "derivative")


def test_rich_prints_a_table() -> None:
    pytest.importorskip("rich", reason="rich is an extra")
    from rich.console import Console

    out = io.StringIO()
    console = Console(width=120, file=out)
    console.print(wg.smooth(np.abs)(0.25))
    console.print(wg.smooth(np.sin)(0.25))
    text = out.getvalue()
    assert "absolute" in text and "derivative" in text and "sin is smooth here" in text

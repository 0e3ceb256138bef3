"""The text of a traced value is that of NumPy's, and is looked at where it may decide something."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ConcretizationError, EscapedTracerError

X = np.array([1.5, -2.0, 0.25])


def test_text_is_that_of_the_value_of_this_call() -> None:
    seen = []

    def texts(x: Any) -> list[str]:
        return [repr(x), f"{x}", str(x[0]), f"{x[0]:.3f}", repr(x[0]), "%s" % x, "%.2f" % x[0], repr(np.zeros(2))]  # noqa: UP031

    wg.jvp(lambda x: (seen.extend(texts(x)), x)[1], (X,), (X,))
    assert seen == texts(X)


def test_a_text_that_decides_is_guarded_and_minus_zero_is_told_from_zero() -> None:
    names = {"0.0": 1.0, "-0.0": 2.0}
    f = wg.jit(lambda x: x + names.get(f"{x}", 3.0), strict=True)
    assert [f(v) for v in (0.0, -0.0, 5.0, 0.0, -0.0)] == [1.0, 2.0, 8.0, 1.0, 2.0]


def test_a_number_that_is_read_from_a_text_is_refused() -> None:
    with pytest.raises(ConcretizationError, match=r"float\(\) of the text of a traced float64"):
        wg.jit(lambda x: x * float(f"{x:.3f}"), strict=True)(math.pi)


def test_the_text_of_a_value_of_an_ended_trace_does_not_decide_without_a_guard() -> None:
    """What an inner function has printed was later read without a guard: another branch was silently wrong."""

    def f(x: Any) -> Any:
        kept: list[Any] = []

        def inner(y: Any) -> Any:
            z = y * y
            print(z)
            kept.append(z)
            return z

        slope = wg.grad(inner)(x)
        return slope * 10 if str(kept[0]).startswith("4") else slope

    jitted = wg.jit(f)
    with pytest.warns(wg.PerformanceWarning, match="used after the function that made it has been traced"):
        found = [float(jitted(x)) for x in (2.0, 3.0, 2.0)]
    assert found == [40.0, 6.0, 40.0]
    with pytest.raises(EscapedTracerError):
        wg.jit(f, strict=True)(2.0)


def test_in_an_un_jitted_call_such_a_text_is_that_of_the_call_and_an_array_has_none() -> None:
    def f(x: Any, is_printed: bool) -> Any:
        kept: list[Any] = []

        def inner(y: Any) -> Any:
            kept.append(y * y)
            if is_printed:
                print(kept[0])
            return kept[0]

        slope = wg.grad(inner)(x)
        return slope * x * 10 if str(kept[0]).startswith("4") else slope * x

    gradient = wg.grad(f)
    assert gradient(2.0, True) == 80.0 and gradient(3.0, True) == 12.0
    with pytest.raises(EscapedTracerError):
        gradient(2.0, False)


def test_a_value_of_an_ended_trace_is_shown_to_people(capsys: pytest.CaptureFixture[str]) -> None:
    kept: list[Any] = []
    assert wg.grad(lambda y: (kept.append(y * y), print(kept[0]), kept[0])[-1])(3.0) == 6.0
    print(kept[0])
    assert capsys.readouterr().out == "9.0\n9.0\n"

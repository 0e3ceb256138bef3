"""What compiled code cannot do is refused where it is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import as_numpy


def test_errors_of_arithmetic_cannot_be_asked_for() -> None:
    """``np.errstate`` said nothing to compiled code, which went on with an infinity."""

    def f(x: Any) -> Any:
        try:
            with np.errstate(divide="raise"):
                return np.log(x)
        except FloatingPointError:
            return -x

    with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"errstate: divide='raise'(.|\n)*test_refused\.py"):
        wg.jit(f, strict=True)(np.zeros(2))

    def quiet(x: Any) -> Any:
        with np.errstate(divide="ignore", invalid="warn"):
            return np.log(x)

    with np.errstate(divide="ignore"):
        as_numpy(quiet, np.zeros(2))


def test_switches_of_arithmetic_are_set_as_ever() -> None:
    def f(x: Any) -> Any:
        before = np.seterr(over="ignore")
        assert np.geterr()["over"] == "ignore"
        np.seterr(**before)
        with pytest.raises(wg.errors.UnsupportedFunctionError, match="seterr: all='raise'"):
            np.seterr("raise")
        assert np.geterr() == {**before}
        return x

    wg.jvp(f, (1.0,), (1.0,))

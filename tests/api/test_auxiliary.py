"""What a function returns beside the value that is differentiated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import close
from wengert.errors import StructureError

X = np.array([0.5, -1.0, 2.0])


def test_aux_is_any_structure_of_any_thing() -> None:
    marker = object()

    def f(x: Any) -> Any:
        y = np.sin(x)
        return np.sum(y), {"y": y, "name": "sin", "marker": marker, "n": 3, "none": None, "flag": x[0] > 0}

    (value, aux), gradient = wg.value_and_grad(f, has_aux=True)(X)
    close(value, np.sin(X).sum())
    close(gradient, np.cos(X))
    close(aux["y"], np.sin(X))
    assert aux["name"] == "sin" and aux["marker"] is marker and aux["n"] == 3 and aux["none"] is None
    assert aux["flag"] == np.True_
    gradient, aux = wg.grad(f, has_aux=True)(X)
    close(gradient, np.cos(X))
    assert aux["marker"] is marker


def test_aux_takes_no_part_in_the_derivative() -> None:
    gradient, aux = wg.grad(lambda x: (x * 2, x**5), has_aux=True)(3.0)
    assert (gradient, aux) == (2, 243)


def test_aux_at_every_call_is_that_calls() -> None:
    """Text is no part of the tape, so that equal tapes must not give each other's."""
    names = iter(["first", "second"])
    f = wg.grad(lambda x: (x * x, next(names)), has_aux=True)
    assert [f(1.0)[1], f(1.0)[1]] == ["first", "second"]


@pytest.mark.parametrize("result", [3.0, (1.0, 2.0, 3.0), [1.0, 2.0]])
def test_has_aux_without_aux(result: Any) -> None:
    with pytest.raises(StructureError, match="has_aux=True"):
        wg.grad(lambda x: result, has_aux=True)(1.0)

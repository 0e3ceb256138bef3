"""Vector spaces of arrays, numbers and containers: sizes, bases, products."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from wengert.autograd.core import vspace

VALUES = [1.0, np.zeros((2, 3)), np.zeros(2, complex), [1.0, np.ones(2)], (1.0, {"a": 1j}), {"x": [0.0], "y": ()}]
Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize("value", VALUES)
def test_a_space_has_a_basis(value: Any) -> None:
    vs = vspace(value)
    basis = list(vs.standard_basis())
    assert len(basis) == vs.size
    products = [[float(vs.inner_prod(x, y)) for x in basis] for y in basis]
    assert products == np.eye(vs.size).tolist()
    total = vs.zeros()
    for x in basis:
        total = vs.add(total, x)
    assert vs.inner_prod(total, total) == vs.inner_prod(vs.ones(), vs.ones()) == vs.size
    assert vspace(vs.randn()) == vspace(vs.ones()) == vs
    assert vs.inner_prod(vs.scalar_mul(basis[0], 3.0), basis[0]) == 3.0 if basis else True


def test_spaces_are_equal_by_shape_and_dtype() -> None:
    assert vspace(np.zeros(3)) == vspace(np.ones(3)) != vspace(np.ones(2))
    assert vspace(np.zeros(3)) != vspace(np.zeros(3, complex))
    assert vspace(1.0).iscomplex is False and vspace([1j]).iscomplex is True
    assert vspace(Pair(1.0, 2.0)).zeros() == Pair(0.0, 0.0)
    assert "ArrayVSpace" in repr(vspace(1.0))


def test_what_is_no_vector_is_refused() -> None:
    with pytest.raises(TypeError, match="Can't find vector space for value text of type <class 'str'>"):
        vspace("text")

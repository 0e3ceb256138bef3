"""What the rules of linear algebra share, against NumPy on stacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.ops.check_op import evaluate, formula
from wengert.errors import ShapeError
from wengert.ops.linalg.matrices import (
    batch_all,
    cubic,
    number_type,
    same_type,
    square,
    swap,
    times_matrix,
    trace_of_product,
    triangle,
)
from wengert.tape import Aval

F64 = np.dtype(float)
RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((2, 3, 3)), RNG.standard_normal((2, 3, 3))


def value(f: Callable[..., Any], *xs: Any) -> Any:
    return evaluate(formula(f, *[Aval(x.shape, x.dtype) for x in xs]), xs)[0]


def test_products_and_traces() -> None:
    np.testing.assert_array_equal(value(swap, A), A.swapaxes(-1, -2))
    np.testing.assert_allclose(value(trace_of_product, A, B), np.trace(A.swapaxes(-1, -2) @ B, axis1=-2, axis2=-1))
    np.testing.assert_array_equal(value(times_matrix, np.array([2.0, 3.0]), A), A * [[[2.0]], [[3.0]]])


@pytest.mark.parametrize(("lower", "numpy"), [(True, np.tril), (False, np.triu)])
def test_triangles(lower: bool, numpy: Callable[..., Any]) -> None:
    np.testing.assert_array_equal(value(lambda a: triangle(a, lower), A), numpy(A))
    halved = numpy(A) * np.where(np.eye(3), 0.5, 1)
    np.testing.assert_array_equal(value(lambda a: triangle(a, lower, diagonal=0.5), A), halved)


def test_a_triangle_is_selected() -> None:
    """Of what is not finite on the other side nothing leaks."""
    a = np.array([[1.0, np.nan], [2.0, 3.0]])
    np.testing.assert_array_equal(value(lambda a: triangle(a, True), a), [[1, 0], [2, 3]])


def test_types_of_square_matrices() -> None:
    stack = Aval((5, 3, 3), F64)
    assert square("f", stack) == 3
    assert same_type("f")(stack, axis=0) is stack
    assert number_type("f")(stack) is Aval((5,), F64)
    for rule in (same_type("f"), number_type("f")):
        with pytest.raises(ShapeError, match="f: the last two axes are not square"):
            rule(Aval((3, 2), F64))


def test_costs() -> None:
    a, b = Aval((7, 10, 10), F64), Aval((7, 10, 4), F64)
    assert cubic(2)(a) == 7 * 2 * 10**3
    assert cubic(2, per_column=3)(a, b) == 7 * (2 * 10**3 + 3 * 10**2 * 4)
    assert cubic(2)(Aval((0, 0), F64)) == 0


def test_operands_that_all_examples_share_are_repeated() -> None:
    tape = formula(lambda a, b: tuple(batch_all((a, b), (True, False), 2)), Aval((2, 3, 3), F64), Aval((3, 3), F64))
    a, b = evaluate(tape, [A, B[0]])
    np.testing.assert_array_equal(a, A)
    np.testing.assert_array_equal(b, np.stack([B[0], B[0]]))

"""``wengert.autograd.numpy``: NumPy's own functions, and what autograd adds to them."""

from __future__ import annotations

import numpy as np
import pytest

import wengert.autograd as ag
import wengert.autograd.numpy as anp
from wengert.autograd.numpy import numpy_vjps, numpy_vspaces, numpy_wrapper

X = np.array([1.0, 2.0, 3.0])


def test_the_functions_are_those_of_numpy() -> None:
    others = ("where", "concatenate", "stack", "vstack", "hstack", "column_stack", "fft", "linalg", "random")
    for name in np.__all__:
        if name not in others and not name.startswith("_"):
            assert getattr(anp, name) is getattr(np, name), name
    assert anp.linalg.solve is np.linalg.solve and anp.random.randn is np.random.randn and anp.fft.fft is np.fft.fft
    assert anp.linalg.T(np.ones((4, 2, 3))).shape == (4, 3, 2)


def test_where_keeps_numbers_of_python() -> None:
    assert anp.where(True, 1, 2) == 1 and type(anp.where(True, 1, 2)) is int
    assert anp.where([True, False], [1, 2], [3, 4]) == [1, 4]
    assert anp.where(X > 1.5, X, 0.0).tolist() == [0.0, 2.0, 3.0]
    assert anp.where(X > 1.5)[0].tolist() == [1, 2]
    assert ag.grad(lambda x: np.sum(anp.where(condition=[True, False, True], x=x, y=0.0)))(X).tolist() == [
        1.0,
        0.0,
        1.0,
    ]
    with pytest.raises(ValueError, match="both or neither"):
        anp.where(True, 1)


def test_arrays_are_joined_from_any_iterable() -> None:
    assert anp.stack(map(np.sin, [X, X]), axis=1).shape == (3, 2)
    joined = lambda x: np.sum(anp.concatenate(x * k for k in (1.0, 2.0)) ** 2)
    assert ag.grad(joined)(X).tolist() == (10 * X).tolist()
    assert anp.vstack.__name__ == "vstack"


def test_helpers_for_rules() -> None:
    meta = anp.metadata(np.ones((1, 3)))
    assert meta == ((1, 3), 2, np.dtype(float), False)
    assert numpy_vjps.unbroadcast(np.ones((4, 2, 3)), meta).tolist() == [[8.0, 8.0, 8.0]]
    assert numpy_vjps.unbroadcast_f(1.0, lambda g: g * 1j)(np.ones(3)) == 0.0
    assert numpy_vjps.match_complex(1.0, 2 + 1j) == 2.0 and np.iscomplexobj(numpy_vjps.match_complex(1j, 2.0))
    repeated, count = numpy_vjps.repeat_to_match_shape(np.array([1.0, 2.0]), (2, 3), float, 1, False)
    assert repeated.tolist() == [[1.0] * 3, [2.0] * 3] and count == 3
    assert numpy_vjps.repeat_to_match_shape(2.0, (), float, None, False)[1] == 1
    assert numpy_vjps.balanced_eq(X, X, X).tolist() == [0.5] * 3
    assert numpy_vjps.replace_zero(np.array([0.0, 2.0]), 1.0).tolist() == [1.0, 2.0]
    assert numpy_wrapper.make_diagonal(X, axis1=-1, axis2=-2).tolist() == np.diag(X).tolist()
    with pytest.raises(NotImplementedError):
        numpy_wrapper.make_diagonal(X)
    assert numpy_wrapper.concatenate_args(0, X, X).shape == (6,)
    assert numpy_wrapper.array_from_args((), {"dtype": float}, 1, 2).tolist() == [1.0, 2.0]
    assert numpy_wrapper.parse_einsum_input("ij,j->i", np.eye(2), np.ones(2))[:2] == ("ij,j", "i")
    names: dict[str, object] = {}
    numpy_wrapper.wrap_namespace(vars(np.random), names)
    assert names["randn"] is np.random.randn
    assert numpy_vspaces.ArrayVSpace(X).size == 3

"""The class of a traced value, compared or looked up where no exchanged ``type()`` sees it: by NumPy it may be."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ConcretizationError, MutationError

TABLE = np.arange(3.0)
imported_asarray = np.asarray


def _written_into_numpys(x: Any) -> Any:
    a = LIBRARY.zeros(3)  # NumPy's own: nothing tells who calls
    a[:] = np.ones(3)
    a[1] = np.ones(2)[0]
    a[np.array([2])] = np.ones(1)
    return a[0] * x


@pytest.mark.parametrize(
    "f",
    [
        _written_into_numpys,
        lambda x: imported_asarray(np.ones(3))[0] * x,
        lambda x: TABLE[np.array([1, 0])].sum() * x,
        lambda x: np.sum(TABLE[np.nonzero(np.ones(3))]) * x,
    ],
)
def test_numpy_that_looked_up_the_class_of_a_constant_was_taken_for_a_function_that_asks_for_type(f: Any) -> None:
    """As of Python 3.12 it passes on what the class's hash raises."""
    expected = f(2.0)
    assert wg.jit(f, strict=True)(2.0) == expected
    assert wg.grad(f)(2.0) == expected / 2


LIBRARY = types.ModuleType("scipy.made_up")  # it gets NumPy's own arrays
exec("import numpy as np\ndef zeros(n): return np.zeros(n)\n", vars(LIBRARY))


def _filled(x: Any) -> Any:
    a = LIBRARY.zeros(3)
    a.fill(x)
    return a[0]


def _item(x: Any) -> Any:
    a = LIBRARY.zeros(3)
    a[0] = x
    return a[0]


def _items(x: Any) -> Any:
    a = LIBRARY.zeros(3)
    a[:] = [x, x, x]
    return a[0]


@pytest.mark.parametrize("f", [_filled, _item, _items])
def test_numpy_that_looks_up_the_class_of_a_traced_value_is_refused_in_words_of_arrays(f: Any) -> None:
    with pytest.raises((MutationError, ConcretizationError), match=r"(made outside|concrete array)[\s\S]*test_tracer"):
        wg.grad(f)(2.0)


def test_a_class_that_is_looked_up_in_a_table_is_refused_beside_numpys_arrays() -> None:
    kinds = {float: 1.0}
    ask = type  # by another name: its calls are not exchanged
    with pytest.raises(ConcretizationError, match="looked up"):
        wg.grad(lambda x: kinds.get(ask(x), 2.0) * x)(3.0)
    with pytest.raises((ConcretizationError, KeyError)):
        wg.grad(lambda x: kinds[ask(x)] * x)(3.0)

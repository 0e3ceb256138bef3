"""``float(x)``, ``np.float64(x)`` of traced values, and what Python's questions about classes and attributes answer."""

from __future__ import annotations

import collections.abc
import contextlib
import copy
import numbers
import typing
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import same
from wengert.errors import UnsupportedFunctionError, WengertError
from wengert.tracing.tracer import Tracer

VALUES = [2.5, 3, True, np.float64(2.5), np.float32(1.5), np.int64(3), np.bool_(True), np.array(2.5)]
VALUES += [np.array([1.0, 2.0]), np.array([[1, 2], [3, 4]])]


@pytest.mark.needs_extension("a function that was kept elsewhere than in a module is called as it is")
def test_float_of_a_traced_value_is_a_step() -> None:
    for f in (lambda x: float(x) ** 2, lambda x: sum(map(float, [x, 1, x])) * x / 2, lambda x: float(x * x).real):
        assert wg.grad(f)(3.0) == pytest.approx((f(3 + 1e-6) - f(3 - 1e-6)) / 2e-6)
        assert wg.jit(wg.grad(f))(3.0) == wg.grad(f)(3.0)
    assert [i.op.name for i in wg.trace(lambda x: float(x) * 2)(3.0).instrs] == ["multiply"]  # and no guard
    assert wg.jit(lambda x: float(x) * np.float32(2))(np.float64(0.1)).dtype == np.float32
    assert wg.jit(lambda x: float(x))(np.float32(0.1)).dtype == np.float64
    assert wg.grad(lambda x: float(x[:1].sum()) * x[1])(np.array([2.0, 3.0])).tolist() == [3, 2]
    assert wg.vmap(lambda x: float(x) * 2)(np.arange(3.0)).tolist() == [0, 2, 4]
    assert wg.jit(lambda n: float(n) / 2)(3) == 1.5
    with pytest.raises(TypeError, match="one element"):
        wg.jit(float, strict=True)(np.ones(2))


CLASSES = [np.float64, np.float32, np.float16, np.int64, np.int32, np.uint8, np.bool_, np.complex128, np.intc]


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.needs_extension("NumPy's classes of numbers are called as they are, and refuse traced values")
def test_numpys_classes_convert(cls: Any, value: Any) -> None:
    f = lambda x: cls(x) if cls is not np.float16 else cls(x).astype(float)
    same(wg.jit(f)(value), np.asarray(f(value))[()])
    same(wg.jit(lambda x: cls([x, x]) * cls(1))(value), cls([value, value]) * cls(1))


@pytest.mark.needs_extension("NumPy's classes of numbers are called as they are, and refuse traced values")
def test_numpys_classes_keep_the_derivative() -> None:
    f = lambda x: np.float64(x) * x + np.float64([x, 2 * x]).sum()
    assert wg.grad(f)(2.0) == 7.0 == wg.jit(wg.grad(f))(2.0)
    assert wg.grad(lambda x: np.int64(2.7 * x) * x)(1.0) == 2.0
    assert wg.grad(lambda x: (x.dtype.type(x) * x).sum())(np.ones(2)).tolist() == [2, 2]


ABSTRACT = [
    *[collections.abc.Iterable, collections.abc.Sized, collections.abc.Sequence, collections.abc.Container],
    *[collections.abc.Iterator, collections.abc.Mapping, collections.abc.Callable, contextlib.AbstractContextManager],
    *[numbers.Number, numbers.Real, numbers.Integral, numbers.Complex, typing.SupportsFloat, typing.SupportsInt],
]


@pytest.mark.parametrize("cls", ABSTRACT, ids=str)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_abstract_classes_take_a_scalar_for_a_number(cls: Any, value: Any) -> None:
    assert wg.jit(lambda x: 1 if isinstance(x, cls) else 0)(value) == isinstance(value, cls)


NAMES = [
    "__len__",
    "__iter__",
    "shape",
    "dtype",
    "is_integer",
    "hex",
    "aval",
    "constant",
    "foo",
    "bit_length",
    "tolist",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_attributes_are_those_of_the_value(name: str, value: Any) -> None:
    assert wg.jit(lambda x: 1 if hasattr(x, name) else 0)(value) == hasattr(value, name)
    assert wg.jit(lambda x: 1 if getattr(x, name, None) is None else 0)(value) == (getattr(value, name, None) is None)


def test_what_is_not_traced_is_no_attribute_that_is_missing() -> None:
    """The default would be taken without a word."""
    with pytest.raises(UnsupportedFunctionError, match="__array_interface__"):
        wg.jit(lambda x: 1.0 if getattr(x, "__array_interface__", None) is None else x, strict=True)(np.ones(2))


def test_a_function_of_number_or_list() -> None:
    def total(x: Any) -> Any:
        return sum(x) if isinstance(x, collections.abc.Iterable) else x * x

    def length(x: Any) -> Any:
        return len(x) if hasattr(x, "__len__") else 1

    for g in (wg.grad, lambda f: wg.jit(wg.grad(f))):
        assert g(total)(3.0) == 6.0 and g(total)(np.array([1.0, 2.0])).tolist() == [1, 1]
        assert g(lambda x: x * length(x))(np.float64(3)) == 1.0


def test_libraries_see_what_a_traced_value_is() -> None:
    namespace: dict[str, Any] = {"__name__": "scipy.made_up"}
    exec("def f(x): return hasattr(x, 'aval'), getattr(x, 'aval', None), getattr(x, 'foo', 7)", namespace)
    seen: list[Any] = []
    wg.grad(lambda x: (seen.append(namespace["f"](x)), x)[1])(1.0)
    assert seen[0][0] is True and seen[0][1] is not None and seen[0][2] == 7


def test_what_is_asked_of_the_class_of_traced_values_itself() -> None:
    assert isinstance(Tracer, type) and not isinstance(Tracer, collections.abc.Iterable)
    assert issubclass(WengertError, Exception)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_copies_of_what_has_no_method_to_copy_itself(value: Any) -> None:
    """``copy`` asks by getattr with a default, and a float has no ``__deepcopy__``."""
    same(wg.jit(lambda x: copy.deepcopy({"a": [x]})["a"][0] * copy.copy(x))(value), np.asarray(value * value)[()])


@typing.runtime_checkable
class HasShape(typing.Protocol):
    """A protocol with a data member beside a method."""

    shape: tuple[int, ...]

    def sum(self) -> Any: ...


def test_a_runtime_protocol_with_data_members() -> None:
    """isinstance(x, P) raised TypeError, as issubclass does: xarray asks so for arrays."""
    assert isinstance(np.ones(2), HasShape) and not isinstance(3, HasShape)
    for t in (wg.grad, lambda f: wg.jit(wg.grad(f))):
        assert t(lambda x: np.sum(x * (2 if isinstance(x, HasShape) else 3)))(np.ones(2)).tolist() == [2, 2]

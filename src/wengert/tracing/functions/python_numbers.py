"""Classes of numbers on traced values, which are intercepted: ``float(x)``, ``np.float64(x)``. And what ``isinstance``
of an abstract class, ``hasattr`` and ``getattr`` with a default say of them.

The conversions are steps of the tape, so that they keep the derivative. What Python is told of a traced value's class
and attributes is what it would be told of NumPy's value, or of its own number: ``np.ndarray``, ``np.float64``,
``float``, as ``__class__`` says. Libraries, which get the traced value for what it is, go by its own attributes.
"""

from __future__ import annotations

import _abc  # type: ignore[import]  # the C functions behind abc.ABCMeta
from types import FrameType, FunctionType
from typing import Any

import numpy as np

from wengert.ops.elementwise import convert
from wengert.tracing.arguments import array, unsupported
from wengert.tracing.callers import is_library
from wengert.tracing.emit import record
from wengert.tracing.interception.asking import AT_DEFAULT, INTO_LISTS
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.operators import python_number
from wengert.tracing.python.bytecode import code_of
from wengert.tracing.python.frames import calling_frame
from wengert.tracing.tracer import Tracer

_FLOAT64 = np.dtype(np.float64)


@intercepts(float)
def python_float(x: Tracer) -> Any:
    """The traced number as a Python float, with its derivative; of a constant the float that it is."""
    if x.aval.shape:
        x._only_one("float")
        x = x.reshape(())
    constant = x.constant()
    if constant is not None:
        return float(constant)
    if x.weak is float:
        return x
    if x.aval.dtype.kind == "c":
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    return python_number(x if x.aval.dtype == _FLOAT64 else record(convert, (x,), {"dtype": _FLOAT64}))


def _converts(cls: type[np.generic]) -> None:
    @intercepts(cls, INTO_LISTS)
    def converted(x: Tracer) -> Any:
        """Return what NumPy's class gives: a scalar of one, an array of an array or a list."""
        out = array(x).astype(cls)
        out.is_scalar = not out.aval.shape
        return out


for _class in (
    *[np.float64, np.float32, np.float16, np.complex128, np.complex64, np.bool_],
    *[np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8, np.longlong, np.ulonglong],
):
    _converts(_class)


# ------------------------------------------------------------------------------------------ what Python is told


def _sees_tracer(frame: FrameType) -> bool:
    """Whether who asks gets the traced value's own attributes: a library, and the module that copies with them."""
    return is_library(frame) or frame.f_globals.get("__name__") == "copy"


def _has(cls: type, name: str) -> bool:
    return any(name in vars(base) for base in cls.__mro__)


@intercepts(hasattr)
def has_attribute(x: Tracer, name: str) -> bool:
    if _sees_tracer(calling_frame(1)):
        try:
            getattr(x, name)
        except AttributeError:
            return False
        return True
    return _has(x.seen_class(), name)


@intercepts(getattr, AT_DEFAULT)
def attribute(x: Tracer, name: str, default: object) -> Any:
    """Python's ``getattr`` gives the default only where NumPy's value, or Python's number, has no such attribute."""
    if _sees_tracer(calling_frame(1)):
        try:
            return getattr(x, name)
        except AttributeError:
            return default
    if not _has(x.seen_class(), name):
        return default
    try:
        return getattr(x, name)
    except AttributeError:
        raise unsupported(f"{x.seen_class().__name__}.{name} is not traced by wengert") from None


@intercepts(_abc._abc_instancecheck)
def is_instance(cls: type, x: object) -> bool:
    """``isinstance(x, Iterable)`` and the like, by the class that the user's code sees."""
    return _ask(x.seen_class() if type(x) is Tracer else type(x), cls)


# A protocol with data members answers ``issubclass`` to the code of isinstance alone, which it knows by its module.
_ask: Any = FunctionType(code_of(lambda a, b: issubclass(a, b)), {"__name__": "abc", "issubclass": issubclass})

"""A copy of a function has everything that the function has."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

import numpy as np

import wengert as wg
from wengert.tracing.copying import copied


def made() -> FunctionType:
    scale = 3.0

    def f(x: float, /, y: float = 2.0, *rest: float, z: float = 5.0, **others: float) -> float:
        """A function with all there is."""
        return scale * x + y + z

    f.unit = "m"
    assert isinstance(f, FunctionType)
    return f


def test_a_copy_lacks_nothing_that_a_function_has() -> None:
    """Asked of everything that a function has in this Python, so that what a Python to come adds is missed here."""
    f = made()
    new = copied(f, f.__code__, f.__globals__, f.__closure__)
    assert new is not f and new(1.0) == f(1.0) == 10.0
    bound = {"__call__", "__get__", "__repr__", "__str__", "__hash__", "__reduce__", "__reduce_ex__", "__dir__"}
    bound |= {name for name in dir(object) if name != "__doc__"}  # methods, which are of each function by itself
    for name in set(dir(f)) - bound:
        assert getattr(new, name) == getattr(f, name), name
    assert inspect.signature(new) == inspect.signature(f)
    vars(new)["unit"] = "km"
    assert vars(f) == {"unit": "m"}


def test_a_generic_function_keeps_its_parameters() -> None:
    namespace: dict[str, Any] = {}
    try:
        exec("def f[T](x: T, *, n: int = 1) -> T: return x", namespace)
    except SyntaxError:  # Python 3.11 has none
        return
    f = namespace["f"]
    assert copied(f, f.__code__, f.__globals__, None).__type_params__ == f.__type_params__ != ()


def test_a_compiled_function_reads_its_own_annotations() -> None:
    """The copy that is traced in its place has them."""

    def scaled(x: Any, factor: 2.0) -> Any:  # type: ignore[valid-type]
        return x * len(scaled.__annotations__)

    assert wg.jit(scaled)(np.ones(2), 1.0)[0] == 3.0

"""Errors name a function of a library by its full public name, as the user's code would write it.

The frame that fails is often a private one (a decorator's, a helper's), and compiled code has none. So the name is the
one that the user's line calls, looked up where the line looks it up; where the line is not to be had, or says
``table["f"](x)``, it is the outermost frame of the library with a name that is public.
"""

from __future__ import annotations

import inspect
import itertools
import struct
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.attributes import held
from wengert.tracing import hooks
from wengert.tracing.callers import is_of_library, is_ours, module_of
from wengert.tracing.python.bytecode import CodePlace
from wengert.tracing.python.calls import called_names
from wengert.tracing.python.frames import behind_error, function_name, place_of, qualified_name, value_of

UNNAMED = "what this line calls"
"""This stands for a function whose name is not known."""


def library_function(frame: types.FrameType | None) -> str | None:
    """The function of a library, ``scipy.linalg.expm``, that the user's code called and ``frame`` is part of."""
    inside: list[types.FrameType] = []
    while frame is not None and is_of_library(frame):
        if not is_ours(frame):
            inside.insert(0, frame)
        frame = frame.f_back
    line = None if frame is None else (frame, place_of(frame))
    if inside:
        return _name(line, inside)
    return None if line is None else _compiled(_called(*line))


def called(frame: types.FrameType) -> str | None:
    """The public name, ``pickle.dumps``, of what the line that ``frame`` is at calls, if it has one."""
    found = _called(frame, place_of(frame))
    return None if found is None else found[0]


def refused_function(error: BaseException, traced: Callable[[Any], bool] | None = None) -> str | None:
    """Return the public name of the library's function through which an error came up, from something that it called.

    ``traced``: only if what it was called with, or made of that, holds something ``traced``.
    """
    stack = behind_error(error)
    last = max((k for k, (frame, _) in enumerate(stack) if not is_of_library(frame)), default=-1)
    inside = [*itertools.dropwhile(_only_calls, [frame for frame, _ in stack[last + 1 :]])]
    if not inside:  # compiled code, or the user's own error
        if last < 0 or not ("Tracer" in str(error) or isinstance(error, struct.error) or is_of_ctypes(error)):
            return None
        return (_called(*stack[last]) or (None, None))[0] or UNNAMED
    if is_ours(inside[0]) or _is_rerouted(inside):
        return None
    if traced is not None and "Tracer" not in str(error):  # frames of Cython's show no variables
        if not any(traced(x) for frame in inside for x in frame.f_locals.values()):
            return None
    return _name(stack[last] if last >= 0 else None, [frame for frame in inside if not is_ours(frame)])


def is_of_ctypes(error: BaseException) -> bool:
    """Whether a function of ctypes wants an ndarray and was given something else: it says no more. ctypes is imported
    by whoever calls such a function."""
    return type(error).__module__ == "ctypes" and "must be an ndarray" in str(error)


def _only_calls(frame: types.FrameType) -> bool:
    """Whether a frame is of a transform's, which calls the user's function and does nothing with what it computes."""
    return str(frame.f_globals.get("__name__")).startswith("wengert.api.")


def _is_rerouted(inside: Sequence[types.FrameType]) -> bool:
    """Whether it is a function that is traced, whose code is exchanged for a call of ours: see python_functions.py."""
    return len(inside) > 0 and hooks.asks_who_answers(inside[0])


def instead_of(library_function: str) -> list[str]:
    """Return what to write instead of a function that takes no traced array, if there is something of the kind."""
    if library_function in _INSTEAD:
        return [_INSTEAD[library_function]]
    module = library_function.rpartition(".")[0]
    if library_function.startswith("np.ma."):
        return ["np.where(mask, 0.0, x) and where=~mask in np.sum, np.mean, of an array and its mask"]
    if module.startswith("np.random"):
        return ["numbers drawn without traced parameters, and scaled after: mean + sigma * np.random.normal(size=n)"]
    if module.partition(".")[0] in ("pandas", "xarray"):
        return ["x.to_numpy(), whose numbers are traced"]
    return []


_INSTEAD = {
    "scipy.spatial.distance.cdist": "np.linalg.norm(a[:, None] - b, axis=-1)",
    "scipy.spatial.distance.pdist": "np.linalg.norm(a[:, None] - a, axis=-1)[np.triu_indices(n, 1)]",
    "scipy.integrate.trapezoid": "np.trapezoid",
    "np.asarray_chkfinite": "np.asarray",
    "np.asmatrix": "np.asarray",
    "np.require": "np.asarray",
    "statistics.mean": "np.mean(np.array([...]))",
    "statistics.stdev": "np.std(np.array([...]), ddof=1)",
    "statistics.variance": "np.var(np.array([...]), ddof=1)",
    "statistics.pstdev": "np.std(np.array([...]))",
    "statistics.pvariance": "np.var(np.array([...]))",
    "fractions.Fraction": "p / q, in floats",
    "decimal.Decimal": "the value as it is, a float",
}


# ------------------------------------------------------------------------------------------------------- names


def _name(line: tuple[types.FrameType, CodePlace] | None, inside: Sequence[types.FrameType]) -> str:
    called = None if line is None else _called(*line)
    others = [frame for frame in inside if _package(frame) != "numpy"]
    if called is not None and called[0] is not None and not (called[0].startswith("np.") and others):
        if not called[0].startswith("wengert."):  # a transform's closure, of the library's function itself
            return called[0]
    for frame in others or inside:  # np.sum of a Series is what pandas does
        qualname = qualified_name(frame).partition(".<locals>")[0]
        path = _of_method(frame) or _public_path(str(frame.f_globals.get("__name__")), qualname)
        if path is not None:
            return path
    private = function_name(inside[0]).rpartition(".")[2].lstrip("_")
    return f"{_public_module(str(inside[0].f_globals.get('__name__')))}.{private}"


def _package(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def _of_method(frame: types.FrameType) -> str | None:
    """``pandas.Series.__mul__``, of an object whose class is found in its package, though it has the method of a
    base."""
    cls, package = type(frame.f_locals.get("self")), _package(frame)
    if module_of(cls).partition(".")[0] != package or getattr(sys.modules.get(package), cls.__name__, None) is not cls:
        return None
    method = function_name(frame)
    return f"{package}.{cls.__name__}" + (f".{method}" if hasattr(cls, method) and method != "__init__" else "")


def _compiled(called: tuple[str | None, Any] | None) -> str | None:
    """The name of a function of compiled code, which has no frame; None of one that turns its argument into an array,
    which are NumPy's own, and of code of the user's."""
    if called is None or called[0] is None or isinstance(called[1], types.FunctionType | np.ufunc | type):
        return None
    name = called[0]
    if name.partition(".")[0] not in ("np", "scipy") or (name.startswith("np.") and name.count(".") == 1):
        return None
    return name


def _called(frame: types.FrameType, place: CodePlace) -> tuple[str | None, Any] | None:
    """The public name of what a line calls, and the object; None if its text is not to be had, or is no plain name."""
    names = called_names(frame, place)
    return None if names is None else _followed(value_of(frame, names[0]), names[1:])


def _followed(found: Any, names: Sequence[str]) -> tuple[str | None, Any]:
    """The public name of ``found.names``: attributes of modules as they are written, of an object with its class."""
    path = found.__name__ if isinstance(found, types.ModuleType) else None
    for name in names:
        if path is None:
            if not _is_of_library(type(found)):
                return None, None
            path = _of_object(found if isinstance(found, type) else type(found))
        if path is None:
            return None, None
        is_module = isinstance(found, types.ModuleType)
        found = getattr(found, name, None) if is_module else inspect.getattr_static(found, name, None)
        path = f"{path}.{name}"
    if not names or isinstance(found, types.FunctionType | np.ufunc):
        own = _of_object(found)
        path = own if own is not None and (path is None or not names) else path
    return (None if path is None else _short(path)), found


def _is_of_library(cls: type) -> bool:
    return module_of(cls).partition(".")[0] in ("numpy", "scipy")


def _of_object(found: Any) -> str | None:
    """The public path of a function or a class, or of the class of an object that is called."""
    if held(found, "__qualname__") is None:
        found = type(found)
    if held(found, "__self__") is not None and getattr(np.random, found.__name__, None) == found:
        return f"np.random.{found.__name__}"  # a method of the one generator that the module has
    if not isinstance(held(found, "__module__"), str):
        return None
    return _public_path(found.__module__, found.__qualname__)


def _public_module(module: str) -> str:
    return ".".join(itertools.takewhile(lambda part: not part.startswith("_"), module.split(".")))


def _public_path(module: str, qualname: str) -> str | None:
    """``np.name`` or ``scipy.linalg.name``, if there is such a thing; of a method, what its class is found by."""
    name = qualname.partition(".")[0]
    public = _public_module(module)
    if name.startswith(("_", "<")) or "<locals>" in qualname:
        return None
    if public.partition(".")[0] == "numpy" and public.count(".") <= 1 and hasattr(np, name):
        return f"np.{qualname}"
    public = next((m for m in _outer(public) if _has_the_same(m, public, name)), public)
    return _short(f"{public}.{qualname}") if hasattr(sys.modules.get(public), name) else None


def _outer(module: str) -> list[str]:
    """``numpy.ma`` of ``numpy.ma.core``: the packages that a module is in, but for the first."""
    parts = module.split(".")
    return [".".join(parts[:k]) for k in range(2, len(parts))]


def _has_the_same(package: str, module: str, name: str) -> bool:
    found = getattr(sys.modules.get(package), name, None)
    return found is not None and found is getattr(sys.modules.get(module), name, None)


def _short(path: str) -> str:
    return f"np.{path.removeprefix('numpy.')}" if path.startswith("numpy.") else path

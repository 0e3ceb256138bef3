"""Arrays of other libraries: taken where they are numbers in memory, refused with what to write otherwise.

A tensor of PyTorch, an array of JAX, an index of pandas, ``array.array`` or a memoryview is what NumPy makes of it:
``__array__``, DLPack on the processor, or a buffer. The function sees a traced ndarray in its place, without the
methods of the library, and what comes back, a gradient too, is an ndarray. Arrays with labels or units are none of
these: they are nodes (:mod:`wengert.labelled`).
"""

from __future__ import annotations

import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert import tree
from wengert.errors import DTypeError, UnsupportedFunctionError, message
from wengert.tracing import hooks
from wengert.tracing.callers import module_of
from wengert.tracing.lifting import check_dtype
from wengert.tracing.stack import current_trace

_IN_MEMORY = (1, 3)  # DLPack's numbers for the memory of the processor, and what of that is pinned for a GPU
_BUFFERS = (array.array, memoryview)
_PROTOCOLS = ("__array__", "__dlpack__", "__array_interface__", "__cuda_array_interface__")
_OWN = frozenset([np.ndarray, float, int, complex, bool, str, bytes, type(None)])


def flatten(args: Any) -> tuple[list[Any], Any]:
    """The leaves of arguments, arrays of other libraries as NumPy's, and their structure."""
    leaves, treedef = tree.flatten(args)
    return [x if type(x) in _OWN else taken(x) for x in leaves], treedef


def numbers(leaves: Sequence[Any]) -> list[Any]:
    """Return such leaves taken over as numbers that have a derivative."""
    return [x if type(x) in _OWN else taken(x, is_number_wanted=True) for x in leaves]


def is_foreign(x: Any) -> bool:
    """Whether ``x`` is an array of another library's: by what its class has, for nothing of it is called."""
    cls = type(x)
    if cls in _OWN or isinstance(x, np.ndarray | np.generic | type) or cls is hooks.Tracer or cls is hooks.Flat:
        return False
    return cls in _BUFFERS or any(hasattr(cls, name) for name in _PROTOCOLS)


def taken(x: Any, is_number_wanted: bool = False) -> Any:
    """``x`` as an ndarray that shares its memory if possible, if it is an array of another library's; else itself.

    An object of a class with ``__array__`` and a hash, but no dtype and no DLPack, stays itself unless
    ``is_number_wanted``: it may be a setting of the function's.
    """
    if not is_foreign(x):
        if isinstance(x, np.ndarray) and type(x) is not np.ndarray and isinstance(x, np.matrix | np.ma.MaskedArray):
            check_dtype(x)  # which refuses them
        return x
    if is_number_wanted or type(x) in _BUFFERS or _is_no_setting(x):
        return as_ndarray(x)
    return x


def _is_no_setting(x: Any) -> bool:
    return type(x).__hash__ is None or hasattr(type(x), "__dlpack__") or hasattr(type(x), "dtype")


def as_ndarray(x: Any) -> np.ndarray[Any, Any]:
    """An array of another library's as NumPy's."""
    _check_memory(x)
    try:
        found = np.from_dlpack(x) if not hasattr(type(x), "__array__") and hasattr(x, "__dlpack__") else np.asarray(x)
    except Exception as error:  # whatever another library raises
        raise UnsupportedFunctionError(
            message(f"{_name(x)} gives no array: {str(error).partition(chr(10))[0]}", _line(), tries=_instead(x))
        ) from error
    if found.dtype.kind not in "fiubc":
        raise DTypeError(
            message(
                f"{_name(x)} becomes an array of dtype {found.dtype}, which cannot be traced",
                _line(),
                tries=["np.asarray(x).astype(np.int64), the ticks of the dates"]
                if found.dtype.kind in "mM"
                else ["x.to_numpy(float)" if hasattr(x, "to_numpy") else "np.asarray(x, dtype=float)"],
            )
        )
    check_dtype(found)
    return found


def _check_memory(x: Any) -> None:
    """Raise if the numbers are not in the processor's memory."""
    on = "__cuda_array_interface__" if hasattr(type(x), "__cuda_array_interface__") and _is_on_gpu(x) else ""
    if hasattr(type(x), "__dlpack_device__"):
        device = int(x.__dlpack_device__()[0])
        on = "" if device in _IN_MEMORY else f"a device of DLPack's kind {device}"
    elif on:
        on = "a GPU"
    if on:
        raise UnsupportedFunctionError(
            message(f"{_name(x)} lies on {on}, and wengert runs on the processor", _line(), tries=_instead(x))
        )


def _is_on_gpu(x: Any) -> bool:
    try:
        return x.__cuda_array_interface__ is not None
    except (AttributeError, TypeError, RuntimeError):  # of a tensor in memory, which PyTorch says so
        return False


def _instead(x: Any) -> Sequence[str]:
    package = module_of(type(x)).partition(".")[0]
    if package == "torch" or hasattr(type(x), "detach"):
        return ["t.detach().cpu().numpy()"]
    if package == "cupy" or hasattr(type(x), "get"):
        return ["x.get(), which copies it into memory"]
    if package in ("jax", "jaxlib"):
        return ["jax.device_get(x)"]
    return ["x.to_numpy()" if hasattr(type(x), "to_numpy") else "np.asarray(x), made outside of the traced function"]


def _name(x: Any) -> str:
    cls = type(x)
    package = module_of(cls).partition(".")[0]
    return f"a {cls.__qualname__}" if package in ("builtins", "__main__") else f"a {package} {cls.__qualname__}"


def _line() -> Any:
    trace = current_trace()
    return trace.locate() if trace is not None else None

"""The runtime's own kernels. Those that call BLAS and LAPACK call SciPy's, by address, so that nothing is linked and
nothing is shipped twice."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from wengert.errors import InternalError
from wengert.runtime import _native

BLAS, LAPACK = "cython_blas", "cython_lapack"
NAMES = {
    BLAS: [*[kind + name for name in ("gemm", "gemv", "syrk") for kind in "ds"], *[kind + "trsm" for kind in "dszc"]],
    LAPACK: [
        *[kind + name for name in ("potrf", "getrf") for kind in "dszc"],
        *["dsyevd", "dgeqrf", "dorgqr", "zgeqrf", "zungqr"],
    ],
}


def address(name: str) -> int:
    """The address of a kernel of the runtime by name: "copy", one that calls BLAS or LAPACK, such as "gemm_f64", or
    one that transforms 2ⁿ complex numbers, "fft_f64:n"."""
    name, _, logarithm = name.partition(":")
    if logarithm:
        _native.prepare_fourier(int(logarithm))
    elif name.partition("_")[0] not in (
        "copy",
        "scan",
        "while",
        "sort",
        "argsort",
        "argselect",
        "elements",
        "stacks",
        "transforms",
    ):
        _connect(BLAS)
        if not name.startswith("gemm_"):
            _connect(LAPACK)
    return _native.kernel_address(name)


def loop(of: tuple[Any, int] | None) -> tuple[int, ...]:
    """The addresses of a compiled loop and of its data; () for no loop."""
    if of is None:
        return ()
    source, number = of
    found = _native.ufunc_loop(source, number)
    if found is None:
        raise InternalError(f"{source}: its loop number {number} has no address")
    return found


@cache
def _connect(module: str) -> None:
    """Give the runtime the routines of a module of scipy.linalg, the first time that any of them is needed."""
    _native.set_routines(_linked(module) or _exported(module))


def _linked(module: str) -> dict[str, int]:
    """The routines in the library that the module is linked with; {} if they cannot be found under their usual names.

    Loading the library takes 3 ms; importing the module, which imports SciPy, takes 13.
    """
    scipy = find_spec("scipy")
    for folder in (scipy.submodule_search_locations or []) if scipy is not None else []:
        for suffix in EXTENSION_SUFFIXES:
            path = Path(folder) / "linalg" / (module + suffix)
            for symbol in ("scipy_{}_", "{}_"):
                try:
                    library = ctypes.CDLL(str(path))
                    routines = {name: getattr(library, symbol.format(name)) for name in NAMES[module]}
                except (OSError, AttributeError):
                    continue
                return {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in routines.items()}
    return {}


def _exported(module: str) -> dict[str, int]:
    """The routines as the module exports them to Cython."""
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = import_module(f"scipy.linalg.{module}").__pyx_capi__
    return {name: get_pointer(table[name], get_name(table[name])) for name in NAMES[module]}

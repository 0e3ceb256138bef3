"""BLAS and LAPACK: SciPy's own, by address, so that nothing is linked and nothing is shipped twice."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from wengert.runtime import _native

NAMES = {"cython_blas": ("gemm", "gemv", "trsm"), "cython_lapack": ("potrf", "gesv", "getrf")}


def address(name: str) -> int:
    """The address of a kernel that calls BLAS or LAPACK, such as "gemm_f64"."""
    _connect()
    return _native.kernel_address(name)


@cache
def _connect() -> None:
    """Hand the runtime the routines, the first time that any is wanted: importing them takes a while."""
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found: dict[str, int] = {}
    for module, names in NAMES.items():
        table = _extension(module).__pyx_capi__
        for name in names:
            for kind in "ds":
                capsule = table[kind + name]
                found[kind + name] = get_pointer(capsule, get_name(capsule))
    _native.set_routines(found)


def _extension(module: str) -> Any:
    """An extension module of scipy.linalg without the package around it, which takes longer to import."""
    scipy = find_spec("scipy")
    for folder in (scipy.submodule_search_locations or []) if scipy is not None else []:
        for suffix in EXTENSION_SUFFIXES:
            path = Path(folder) / "linalg" / (module + suffix)
            spec = spec_from_file_location(f"scipy.linalg.{module}", path) if path.exists() else None
            if spec is not None and spec.loader is not None:
                found = module_from_spec(spec)
                spec.loader.exec_module(found)
                return found
    return import_module(f"scipy.linalg.{module}")

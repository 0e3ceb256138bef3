"""BLAS and LAPACK: SciPy's own, by address, so that nothing is linked and nothing is shipped twice."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module

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
        for name in names:
            for kind in "ds":
                capsule = import_module(f"scipy.linalg.{module}").__pyx_capi__[kind + name]
                found[kind + name] = get_pointer(capsule, get_name(capsule))
    _native.set_routines(found)

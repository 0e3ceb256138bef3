"""Whether a function can get another number from one call to the next, its arguments and surroundings being equal.

A NumPy scalar that appears while tracing, the ``np.sqrt(d)`` of a Python number, say, comes from somewhere that no
trace has followed. If all that the function can reach is its arguments, what is looked at before every call
(:mod:`~wengert.tracing.captures`), its own code, and what is listed here, then it is a constant of this program.
"""

from __future__ import annotations

import abc
import builtins
import collections
import enum
import functools
import sys
import types
from array import array
from contextlib import suppress
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

import numpy as np

from wengert.tracing import names
from wengert.tracing.tracer import HANDLED_FUNCTIONS

MODULES = (
    *("math", "cmath", "operator", "_operator", "functools", "_functools", "itertools", "collections", "dataclasses"),
    *("abc", "copy", "enum", "numbers", "types", "typing"),
)
"""Whatever is in them depends on its operands alone."""

ARRAYS = (
    *("numpy", "numpy.lib", "numpy.lib.stride_tricks", "numpy.linalg"),
    *("scipy", "scipy.linalg", "scipy.special"),
)
"""Of these the ufuncs, the types, the numbers, the functions that are traced, and those that follow."""

# fmt: off
OF_NUMPY = {
    np: (
        "bartlett", "base_repr", "binary_repr", "blackman", "broadcast_shapes", "c_", "diag_indices", "einsum_path",
        "hamming", "hanning", "histogram2d", "histogram_bin_edges", "histogramdd", "index_exp", "intersect1d",
        "isdtype", "isscalar", "issubdtype", "iterable", "ix_", "kaiser", "mask_indices", "mgrid", "ndenumerate",
        "ndindex", "ogrid", "poly", "polydiv", "polyfit", "promote_types", "r_", "ravel_multi_index", "roots", "s_",
        "setdiff1d", "setxor1d", "tril_indices", "trim_zeros", "triu_indices", "union1d", "unique_all",
        "unique_counts", "unique_inverse", "vectorize",
    ),
    np.linalg: ("LinAlgError", "eig", "eigh", "eigvals", "eigvalsh", "lstsq", "matrix_rank", "pinv", "qr", "svd"),
}
"""Functions and the like that no trace sees when their operands are plain numbers."""
BUILTINS = frozenset({
    "abs", "all", "any", "bool", "callable", "complex", "dict", "divmod", "enumerate", "filter", "float", "format",
    "frozenset", "hasattr", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next",
    "object", "pow", "print", "property", "range", "repr", "reversed", "round", "set", "slice", "sorted",
    "staticmethod", "classmethod", "str", "sum", "super", "tuple", "type", "zip", "Ellipsis", "NotImplemented",
    "__name__", "__build_class__",
})
# fmt: on

_OF_NUMPY = frozenset({id(getattr(module, name)) for module, known in OF_NUMPY.items() for name in known})
_PLAIN = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis), slice, range)
_WITH_ITEMS = (list, tuple, collections.deque, bytearray, memoryview, array)
_WITH_KEYS = (dict, collections.OrderedDict, collections.defaultdict, set, frozenset)
_WITH_PARTS = (
    *(types.MethodType, property, staticmethod, classmethod, types.SimpleNamespace),
    *(types.GetSetDescriptorType, types.MemberDescriptorType),
)
_METACLASSES = (type, abc.ABCMeta, enum.EnumMeta)
"""Those that lend their classes no attributes of the user's."""
_NUMPY_TYPES = (np.generic, np.dtype, np.ufunc, np.errstate, np.finfo, np.iinfo)


def is_pure(value: Any, is_foreign: bool) -> bool:
    """Whether ``value`` is none through which numbers come in; its items, attributes, code are looked at apart.

    ``is_foreign``: they are not, as it belongs to a library.
    """
    cls = type(value)
    if id(value) in _OF_NUMPY:
        return True
    if cls in (*_PLAIN, *_WITH_ITEMS, *_WITH_PARTS) or isinstance(value, np.ufunc | np.dtype):
        return True
    if cls in _WITH_KEYS:
        return all(_is_plain(key) for key in value)
    if isinstance(value, enum.Enum):
        return all(_is_plain(part) or isinstance(part, type) for part in vars(value).values())
    if isinstance(value, np.ndarray | np.generic):
        return _is_plain(value) or (cls is np.ndarray and value.dtype.kind in "fiubc")
    if cls is functools.partial:
        return not vars(value)
    if isinstance(value, types.ModuleType):
        if is_foreign:
            return value.__name__ in (*MODULES, *ARRAYS) or value.__name__ == "wengert"
        return "__getattr__" not in vars(value) and _is_written_in_python(value.__name__)
    if isinstance(value, type):
        if value.__module__ == "numpy":
            return issubclass(value, _NUMPY_TYPES) or value is np.ndarray
        is_own = not is_foreign and _is_written_in_python(value.__module__) and cls in _METACLASSES
        return is_own or value.__module__ in ("builtins", *MODULES)
    if isinstance(value, types.FunctionType) and not is_foreign:
        return not vars(value).keys() - {"__wrapped__"}  # what hangs on a function is not looked at
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType | type(np.sum)):
        module = value.__module__ or ""
        if module == "builtins":
            return value.__name__ in BUILTINS
        is_traced = value in HANDLED_FUNCTIONS or getattr(value, "__wrapped__", None) in HANDLED_FUNCTIONS
        return is_traced or module in MODULES or module.partition(".")[0] == "wengert"
    if hasattr(cls, "__wengert_transparent__") or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return True
    # The user's own object. Its attributes are all there is to it, if none of its bases is a dict or the like.
    return not is_foreign and all(c is object or _is_written_in_python(c.__module__) for c in cls.__mro__)


def _is_plain(value: Any) -> bool:
    """Whether it is a value that cannot change."""
    if isinstance(value, np.generic):
        return value.dtype.kind in "fiubc"
    return type(value) in _PLAIN or (type(value) is tuple and all(map(_is_plain, value)))


def _is_written_in_python(module: str) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return module not in sys.builtin_module_names and not file.endswith(tuple(EXTENSION_SUFFIXES))


def takes_in_only_pure(f: types.FunctionType) -> bool:
    """Whether what a function's code takes from NumPy, from builtins and by import is listed here."""
    code = f.__code__
    imported = names.imported(code)
    if not imported <= {*MODULES, *ARRAYS} & sys.modules.keys():
        return False
    for name in names.loaded(code):
        if name not in f.__globals__ and hasattr(builtins, name):
            value = getattr(builtins, name)
            if name not in BUILTINS and not (isinstance(value, type) and issubclass(value, BaseException)):
                return False
    named = frozenset(names.named(code))
    found = (*map(f.__globals__.get, named), *_cells(f), *map(sys.modules.get, imported))
    modules = [x for x in found if isinstance(x, types.ModuleType)]
    for module in modules:  # it grows
        if module.__name__ in ARRAYS:
            for value in map(vars(module).__getitem__, vars(module).keys() & named):
                if isinstance(value, types.ModuleType) and value not in modules:
                    modules.append(value)
                is_put_there = isinstance(value, np.ndarray | np.generic) and not isinstance(value, np.bool)
                if is_put_there or not is_pure(value, True):
                    return False
    return True


def _cells(f: types.FunctionType) -> list[Any]:
    found = []
    for cell in f.__closure__ or ():
        with suppress(ValueError):  # not yet assigned
            found.append(cell.cell_contents)
    return found

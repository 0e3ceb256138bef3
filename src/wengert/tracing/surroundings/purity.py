"""Whether a function can get another number from one call to the next, its arguments and surroundings being equal.

A NumPy scalar that appears while tracing, the ``np.sqrt(d)`` of a Python number, say, comes from somewhere that no
trace has followed. It is a constant of the program if whatever the function reaches is looked at before every call
(:mod:`~wengert.tracing.surroundings.environment`) or listed here. One thing that is neither, and it counts as unknown:
the function is traced again at every call. So what is not listed costs time, and nothing else.
"""

from __future__ import annotations

import builtins
import cmath
import collections
import functools
import itertools
import math
import operator
import sys
import types
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

import numpy as np

from wengert.tracing.surroundings import names
from wengert.tracing.tracer import HANDLED_FUNCTIONS

_IMMUTABLE = frozenset({int, float, complex, bool, str, bytes, type(None), type(Ellipsis), range})
_NUMPY_TYPES = (np.generic, np.dtype, np.ufunc, np.errstate, np.finfo, np.iinfo)
# fmt: off
_BUILTINS = (
    "abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "filter", "float", "frozenset", "int",
    "isinstance", "len", "list", "map", "max", "min", "pow", "print", "range", "reversed", "round", "set", "slice",
    "sorted", "str", "sum", "tuple", "zip", "ArithmeticError", "AssertionError", "IndexError", "KeyError",
    "NotImplementedError", "RuntimeError", "TypeError", "ValueError",
)
_OF_NUMPY = (
    "bartlett", "base_repr", "binary_repr", "blackman", "broadcast_shapes", "c_", "diag_indices", "einsum_path",
    "hamming", "hanning", "histogram2d", "histogram_bin_edges", "histogramdd", "index_exp", "intersect1d", "isdtype",
    "isscalar", "issubdtype", "iterable", "ix_", "kaiser", "mask_indices", "mgrid", "ndindex", "ogrid", "poly",
    "polydiv", "polyfit", "promote_types", "r_", "ravel_multi_index", "roots", "s_", "setdiff1d", "setxor1d",
    "tril_indices", "trim_zeros", "triu_indices", "union1d",
)
_OF_LINALG = ("eig", "eigh", "eigvals", "eigvalsh", "lstsq", "matrix_rank", "pinv", "qr", "svd")
_CLASS_METADATA = frozenset({
    "__abstractmethods__", "__annotate__", "__annotate_func__", "__annotations__", "__annotations_cache__",
    "__dataclass_fields__", "__dataclass_params__", "__dict__", "__doc__", "__firstlineno__", "__hash__",
    "__match_args__", "__module__", "__qualname__", "__static_attributes__", "__weakref__",
})
_HOOKS = frozenset({
    "__class_getitem__", "__del__", "__delete__", "__get__", "__getattr__", "__getattribute__", "__init_subclass__",
    "__prepare__", "__set__", "__set_name__",
})
"""Methods by which a class does something else than what the code says."""
_LOOKS_BEHIND = frozenset({
    "ag_frame", "cr_frame", "f_back", "f_builtins", "f_globals", "f_locals", "format", "format_map", "gi_frame", "mro",
    "register", "tb_frame",
})
"""Attributes, beside those with two underscores, by which code gets at what it does not name."""
# fmt: on


@functools.cache
def _listed() -> dict[int, Any]:
    """Functions, types and the like that depend on their operands alone, by identity."""
    found = [getattr(builtins, name) for name in _BUILTINS]
    found += [x for module in (math, cmath, itertools) for x in vars(module).values() if callable(x)]
    getters = (operator.attrgetter, operator.methodcaller)
    found += [x for name, x in vars(operator).items() if not name.startswith("_") and callable(x) and x not in getters]
    found += [functools.reduce, functools.partial, np.ndarray, np.linalg.LinAlgError]
    for x in vars(np).values():
        if isinstance(x, np.ufunc) or (isinstance(x, type) and issubclass(x, _NUMPY_TYPES)):
            found.append(x)
    found += [getattr(np, name) for name in _OF_NUMPY] + [getattr(np.linalg, name) for name in _OF_LINALG]
    found += list(HANDLED_FUNCTIONS)
    return {id(x): x for x in found}


def is_pure(value: Any, is_foreign: bool) -> bool:
    """Whether no number can come in through ``value`` itself; its items, attributes and code are looked at apart.

    ``is_foreign``: they are not, as it belongs to a library.
    """
    cls = type(value)
    if is_immutable(value) or id(value) in _listed() or cls in (list, tuple, collections.deque, types.MethodType):
        return True
    if cls is dict:
        return all(map(is_immutable, value))
    if cls is np.ndarray:
        return value.dtype.kind in "fiubc"
    if isinstance(value, np.ufunc):  # not one that was made of a Python function
        return getattr(sys.modules.get("scipy.special"), value.__name__, None) is value
    if isinstance(value, np.dtype):
        return value.metadata is None
    if cls is functools.partial or (cls is types.FunctionType and not is_foreign):
        return not vars(value)  # what hangs on a function is not looked at
    if cls is types.FunctionType:  # also what a transform of ours has made: its cells are looked at apart
        return value.__globals__.get("__name__", "").partition(".")[0] == "wengert"
    if cls in (property, staticmethod) or any(hasattr(cls, f"__wengert_{kind}__") for kind in _OURS):
        return True
    return not is_foreign and not isinstance(value, type | types.ModuleType) and is_plain_class(cls)


_OURS = ("transparent", "function", "cache")
"""Marks of classes of ours: what a jit and the other transforms make, and what these remember."""


def is_immutable(value: Any) -> bool:
    """Whether it is a value that cannot change."""
    cls = type(value)
    if cls is tuple:
        return all(map(is_immutable, value))
    return cls in _IMMUTABLE or (isinstance(value, np.generic) and value.dtype.kind in "fiubc")


def is_plain_class(cls: type) -> bool:
    """Whether a class and its bases are of the user's, and made of functions, properties and immutable values alone."""
    for c in cls.__mro__[:-1]:
        module = sys.modules.get(c.__module__)
        file = getattr(module, "__file__", None) or ""
        if type(c) is not type or module is None or c.__module__ in sys.builtin_module_names:
            return False
        if c.__module__ in ("abc", "enum", "types") or file.endswith(tuple(EXTENSION_SUFFIXES)):
            return False
        for name, value in vars(c).items():
            if name in _CLASS_METADATA or is_immutable(value):
                continue
            if name in _HOOKS:
                return False
            if type(value) is types.FunctionType and not vars(value):
                continue
            if name.startswith("__") or type(value) not in (property, staticmethod):
                return False
    return cls.__mro__[-1] is object


def is_pure_module(module: Any) -> bool:
    """Whether code may name a module: what it takes from it is for :func:`takes_in_only_pure` to judge."""
    return module in (math, cmath, itertools, operator, functools, np) or (
        type(module) is types.ModuleType and module.__name__ in ("wengert", "scipy.special")
    )


def takes_in_only_pure(f: types.FunctionType) -> bool:
    """Whether what a function's code takes from builtins and modules is listed, and how it takes it is plain."""
    code = f.__code__
    named = names.named(code)
    if f.__builtins__ is not vars(builtins) or names.imported(code) or names.matches_classes(code):
        return False
    if any(name.startswith("__") for name in named) or not _LOOKS_BEHIND.isdisjoint(named):
        return False
    modules = []
    for name in names.loaded(code):
        value = f.__globals__.get(name, vars(builtins).get(name))
        if isinstance(value, types.ModuleType):
            modules.append(value)
        if name not in f.__globals__ and id(value) not in _listed():
            return False
    return all(_members_are_pure(module, frozenset(named)) for module in modules)


def _members_are_pure(module: types.ModuleType, named: frozenset[str]) -> bool:
    if _would_import(module) & named - vars(module).keys():
        return False
    for value in map(vars(module).__getitem__, vars(module).keys() & named):
        if any(value is m for m in (np.linalg, np.lib, np.lib.stride_tricks)):
            if not _members_are_pure(value, named):
                return False
        elif isinstance(value, np.generic) and not isinstance(value, np.bool):
            return False  # somebody has put it there
        elif not is_pure(value, True) or _own_attributes(value) & named:
            return False
    return True


def _own_attributes(value: Any) -> frozenset[str]:
    """What somebody may have hung on a function of NumPy's."""
    return frozenset(getattr(value, "__dict__", ())) if callable(value) and not isinstance(value, type) else frozenset()


@functools.cache
def _would_import(module: types.ModuleType) -> frozenset[str]:
    """What it imports when it is first asked for, and may have imported."""
    return frozenset(dir(module)) - vars(module).keys() if hasattr(module, "__getattr__") else frozenset()

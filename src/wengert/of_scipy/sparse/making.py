"""Sparse matrices are made: of triplets, of arrays, of other matrices, of blocks, of diagonals.

The answers here and in the files beside are asked at each call in a thread that traces, since a traced matrix is not
seen from outside; where nothing in a call is traced, SciPy's own code goes on.
"""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, DTypeLike

from wengert.errors import MutationError, message
from wengert.of_scipy.refusing import REASONS
from wengert.of_scipy.sparse.values import (
    BY_ELEMENT,
    Numbered,
    Operand,
    Sparse,
    assembly,
    become,
    class_of,
    elements,
    gathered,
    indices,
    is_sparse,
    is_traced,
    moved,
    paired,
    plain,
    settled,
    with_elements,
)
from wengert.tracing.arguments import array, as_dtype, concrete, unsupported
from wengert.tracing.interception.asking import AT_OBJECT
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.interception.python_functions import original
from wengert.tracing.stack import current_trace
from wengert.tracing.tracer import Tracer

Answer = Callable[..., Any]

CLASSES = [
    getattr(scipy.sparse, f"{name}_{kind}")
    for name in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
    for kind in ("array", "matrix")
]

_BASES = list(dict.fromkeys([base for cls in CLASSES for base in cls.__mro__ if base.__module__.startswith("scipy.")]))


_REFUSED_BY_SCIPY = [f"{name}.__{verb}item__" for name in ("_bsr_base", "coo_matrix") for verb in ("get", "set")]
"""Methods that only raise."""


def _name_of(f: FunctionType) -> str:
    return f"{f.__module__}.{f.__qualname__}"


def methods(*names: str) -> Callable[[Answer], Answer]:
    """Let the decorated function answer for methods of all classes of sparse matrices where something is traced. It
    gets the name of the method, the matrix, and the arguments."""

    def register(answer: Answer) -> Answer:
        for name in names:
            for f in dict.fromkeys([getattr(cls, name, None) for cls in CLASSES]):
                if type(f) is FunctionType and f.__qualname__ not in _REFUSED_BY_SCIPY:
                    intercepts(f, AT_OBJECT, _name_of(f))(partial(_answered, answer, name))
        return answer

    return register


def _answered(answer: Answer, name: str, a: object, *args: Any, **kwargs: Any) -> Any:
    if not (is_traced(a) or any(map(is_traced, args)) or any(map(is_traced, kwargs.values()))) or not is_sparse(a):
        return NotImplemented
    return answer(name, a, *args, **kwargs)


def function(place: str) -> Callable[[Answer], Answer]:
    """Let the decorated function answer for a function of SciPy's where something is traced. It gets that function,
    with its own code, and the arguments."""

    def register(answer: Answer) -> Answer:
        module, _, name = place.partition(":")

        def answered(*args: Any, **kwargs: Any) -> Any:
            if not (any(map(is_traced, args)) or any(map(is_traced, kwargs.values()))):
                return NotImplemented
            f = getattr(importlib.import_module(module), name)
            if type(f) is FunctionType:
                return answer(original(f), *args, **kwargs)
            return answer(f, *args[1:], **kwargs)  # a compiled one comes first, as an object does before its method

        intercepts(place, AT_OBJECT)(answered)
        return answer

    return register


def refused(place: str, why: str, *tries: str) -> None:
    """Refuse a function of SciPy's where something is traced, as :func:`wengert.of_scipy.refusing.refuses` does."""
    name = place.replace(":", ".")
    REASONS[name] = why

    @function(place)
    def answer(*args: Any, **kwargs: Any) -> Any:
        raise unsupported(f"{name}: {why}", *tries)


# ------------------------------------------------------------------------------------------------- what is made here

_made: dict[int, weakref.ref[Any]] = {}
"""The matrices that were made while a trace was open, by their ids: these may be written."""


def note_made(a: Sparse) -> None:
    key = id(a)
    _made[key] = weakref.ref(a, lambda _: _made.pop(key, None))


def check_made_here(a: Sparse) -> None:
    """Raise if a traced value would be written into a matrix that was made outside of the traced function."""
    if is_traced(a) or id(a) in _made:
        return
    trace = current_trace()
    raise MutationError(
        message(
            f"a {type(a).__name__} made outside of the traced function would be written",
            trace.locate() if trace else None,
            tries=["A.copy(), made inside"],
        )
    )


# ------------------------------------------------------------------------------------------------------ constructors


def _constructor(cls: type) -> None:
    f = vars(cls)["__init__"]

    @intercepts(f, AT_OBJECT, _name_of(f))
    def init(
        a: Sparse,
        arg1: object,
        shape: Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        copy: bool = False,
        **kwargs: Any,
    ) -> Any:
        note_made(a)
        if not (is_traced(arg1) or is_traced(shape)):
            return NotImplemented
        if shape is not None:
            shape = tuple([int(n) for n in shape])
        arg1 = plain(arg1)
        if not is_traced(arg1):
            original(f)(a, arg1, shape=shape, dtype=dtype, copy=copy, **kwargs)
        else:
            _fill(original(f), a, arg1, shape, dtype, kwargs)
        return None


for _cls in _BASES:
    if _cls.__name__.startswith(("_cs_", "_coo_", "_bsr_", "_dia_", "_lil_", "_dok_")) and "__init__" in vars(_cls):
        _constructor(_cls)


def _fill(
    init: Callable[..., Any],
    a: Sparse,
    arg1: Any,
    shape: tuple[int, ...] | None,
    dtype: DTypeLike | None,
    kwargs: dict[str, Any],
) -> None:
    """Make ``a`` of what is traced, as SciPy's own code, ``init``, makes it of numbers."""
    is_matrix = is_sparse(arg1)
    if not is_matrix and (a.format in BY_ELEMENT or _has_places(a, arg1)):
        arg1, is_matrix = _by_triplets(a, arg1, shape, kwargs), True
    if is_matrix:
        found = arg1.asformat(a.format) if arg1.format != a.format else arg1
        if a.format in BY_ELEMENT:
            init(a, found.shape, dtype=np.int64)
            found = with_elements(found, elements(found))
            if a.format == "dok" and not hasattr(a, "_dict"):
                become(a, found)
        own = {name: value for name, value in vars(found).items() if name != "maxprint"}
        vars(a).update(own)
    else:
        numbered = Numbered()
        if isinstance(arg1, tuple):
            init(a, (numbered.numbers(array(arg1[0])), *map(_places, arg1[1:])), shape=shape, **kwargs)
        else:
            init(a, numbered.numbers(array(arg1)), shape=shape, **kwargs)
        a.data = numbered.filled(a.data)
    if dtype is not None and a.format not in BY_ELEMENT:
        a.data = as_dtype(a.data, dtype)


def _places(x: ArrayLike) -> Any:
    return tuple(map(indices, x)) if isinstance(x, tuple | list) and len(x) <= 2 else indices(x)


def _has_places(a: Sparse, arg1: object) -> bool:
    """Whether a compressed matrix is made of triplets."""
    return a.format in ("csr", "csc", "bsr") and isinstance(arg1, tuple) and len(arg1) == 2


def _by_triplets(a: Sparse, arg1: object, shape: tuple[int, ...] | None, kwargs: dict[str, Any]) -> Sparse:
    """A csr or csc matrix of triplets, of which those at one place are added up, as finite elements are assembled; for
    a format that SciPy makes of it."""
    coo = a._coo_container(arg1, shape=shape)
    if a.format in BY_ELEMENT:
        return coo
    if len(coo.shape) == 1 or a.format == "bsr":
        found = coo.tocsr()
        return found if a.format != "bsr" else found.tobsr(kwargs.get("blocksize"))
    rows, columns = (coo.row, coo.col) if a.format == "csr" else (coo.col, coo.row)
    found = assembly(rows, columns, coo.shape if a.format == "csr" else coo.shape[::-1])
    new = class_of(a)((np.zeros(found.indices.size), found.indices, found.indptr), shape=coo.shape)
    new.data = settled(found.data(array(coo.data)))
    return new


# ------------------------------------------------------------------------------------------------------- of matrices


def _moving(place: str) -> None:
    @function(place)
    def answer(f: Answer, source: object, *args: Any, **kwargs: Any) -> Any:
        if "dtype" not in kwargs:
            return moved(f, source, *args, **kwargs)
        dtype = kwargs.pop("dtype")
        return moved(f, source, *args, dtype=dtype, **kwargs)


for _function in ("hstack", "vstack", "block_diag", "bmat", "block_array", "tril", "triu", "swapaxes", "permute_dims",
                  "expand_dims"):  # fmt: skip
    if hasattr(scipy.sparse, _function):
        _moving(f"scipy.sparse:{_function}")


def _of_diagonals(place: str) -> None:
    @function(place)
    def answer(f: Answer, diagonals: object, *args: Any, dtype: DTypeLike | None = None, **kwargs: Any) -> Any:
        numbered = Numbered()
        if isinstance(diagonals, np.ndarray | Tracer):
            diagonals = array(diagonals)
        found = f(numbered.of(diagonals), *args, dtype=np.int64, **kwargs)
        values = numbered.values()
        return numbered.filled(found, values if dtype is None else as_dtype(values, dtype))


for _function in ("diags", "diags_array"):
    if hasattr(scipy.sparse, _function):
        _of_diagonals(f"scipy.sparse:{_function}")


@function("scipy.sparse:find")
def find(f: Answer, A: Sparse) -> Any:
    """The triplets whose elements are not zero, now: that is guarded."""
    coo = A.tocoo()
    coo.sum_duplicates()
    kept = np.flatnonzero(concrete(coo.data != 0, "a truth"))
    return coo.row[kept], coo.col[kept], gathered(array(coo.data), kept + 1)


@function("scipy.sparse:kron")
def kron(f: Answer, A: Operand, B: Operand, format: str | None = None) -> Any:
    def of(x: Operand) -> Any:
        return x if is_sparse(x) else array(x)

    return paired(lambda a, b: f(a, b, format), of(A), of(B), lambda x, y: x * y)

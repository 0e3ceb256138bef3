"""Sparse matrices whose elements are traced: objects of SciPy's own classes, with a traced array as their ``data``.

Where the elements are, is known while a function is traced: SciPy's index arrays are NumPy's own. So whatever only
moves elements is left to SciPy, which does it with numbers in the place of the elements (:class:`Numbered`): the
numbers that come out say where each element has gone. Elements at one place are added up before
(:func:`without_duplicates`), since sums of such numbers would mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.sparse import _sparsetools as tools
from scipy.sparse import issparse

from wengert.ops.index import scatter_add
from wengert.ops.linalg.sparse import Pattern
from wengert.tracing.arguments import Traced, array, as_dtype, concrete, constant, promote, trace_near
from wengert.tracing.emit import record
from wengert.tracing.tracer import Tracer

Array = np.ndarray[Any, Any]


class Sparse(Protocol):
    """An object of one of SciPy's classes of sparse matrices and arrays. SciPy has no types."""

    shape: Any
    format: str

    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: object) -> None: ...
    def __neg__(self) -> Any: ...
    def __add__(self, other: object) -> Any: ...
    def __call__(self, *args: object, **kwargs: object) -> Any: ...


Operand = Any
"""A sparse matrix, an array or a number, traced or not."""


def class_of(a: Sparse) -> Any:
    """The class of a matrix, which makes others."""
    return type(a)


def is_sparse(x: object) -> TypeGuard[Sparse]:
    return bool(issparse(x))


BY_ELEMENT = ("lil", "dok")
"""The formats that keep their elements as Python's objects, one by one."""


# ------------------------------------------------------------------------------------------------------- elements


def elements(a: Sparse) -> Any:
    """The stored elements of a sparse matrix, as its format has them: traced, or NumPy's."""
    if a.format not in BY_ELEMENT:
        return a.data
    found = [v for row in a.data for v in row] if a.format == "lil" else [*a.values()]
    return array(found) if any(type(v) is Tracer for v in found) else np.array(found, a.dtype)


def is_traced(x: object) -> bool:
    """Whether a value is traced, or a sparse matrix that holds something traced, or a list or tuple of such."""
    if type(x) is Tracer:
        return True
    if type(x) is list or type(x) is tuple:
        return any(map(is_traced, x))
    if not is_sparse(x):
        return False
    if x.format == "lil":
        return any(type(v) is Tracer for row in x.data for v in row)
    if x.format == "dok":
        return any(type(v) is Tracer for v in x.values())
    return type(getattr(x, "data", None)) is Tracer


def settled(data: Traced) -> Any:
    """``data`` as NumPy's array if nothing traced has gone into it."""
    found = data.constant() if type(data) is Tracer else data
    return data if found is None else np.array(found)


def plain(x: Any) -> Any:
    """``x`` with NumPy's arrays in the place of traced arrays that are constants, also in lists and tuples."""
    if type(x) is Tracer:
        return settled(x)
    return type(x)(map(plain, x)) if type(x) is list or type(x) is tuple else x


def indices(x: ArrayLike) -> Array:
    """Return the values of index arrays; traced ones, and those of the user's, are guarded."""
    return np.asarray(concrete(x, "the place of an element"))


def with_elements(a: Sparse, data: Traced) -> Sparse:
    """Return a matrix of the class and the pattern of ``a`` with these elements, and index arrays of its own."""
    cls: Any = type(a)
    if a.format in BY_ELEMENT:
        new = cls(a.shape, dtype=np.float64)
        new.dtype = data.dtype
        values = iter(data if type(data) is Tracer else [*data])
        if a.format == "lil":
            for i, row in enumerate(a.rows):
                new.rows[i], new.data[i] = list(row), [next(values) for _ in row]
        else:
            getattr(new, "_dict", new).update(zip(a.keys(), values, strict=True))
        return new
    new = cls.__new__(cls)
    vars(new).update({name: _copied(value) for name, value in vars(a).items() if name != "data"})
    new.data = data
    return new


def _copied(value: object) -> Any:
    if type(value) is tuple:
        return tuple(map(_copied, value))
    return value.copy() if isinstance(value, np.ndarray) else value


def become(a: Sparse, other: Sparse) -> None:
    """Let ``a`` have all that ``other`` has, whose class is the same."""
    if a.format == "dok" and not hasattr(a, "_dict"):
        own: Any = a
        dict.clear(own)
        dict.update(own, dict(other.items()))
    vars(a).update(vars(other))


# ------------------------------------------------------------------------------------------------------- numbering


class Numbered:
    """The elements of some matrices and arrays, numbered from 1 on; 0 stands for the number zero."""

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self.count = 0

    def of(self, x: Any) -> Any:
        """Return ``x`` with numbers in the place of its elements: a matrix, an array, a list or a tuple of them. All
        else is left as it is."""
        if is_sparse(x):
            x = without_duplicates(x)
            return with_elements(x, self.numbers(elements(x)))
        if type(x) is list or type(x) is tuple:
            return type(x)(map(self.of, x))
        if isinstance(x, Tracer | np.ndarray | np.generic | int | float | complex):
            return self.numbers(x)
        return x

    def numbers(self, x: ArrayLike) -> Array:
        shape = np.shape(x)
        n = int(np.prod(shape, dtype=int))
        self._parts.append(x)
        self.count += n
        return np.arange(self.count - n + 1, self.count + 1, dtype=np.int64).reshape(shape)

    def values(self) -> Any:
        """All elements, one after the other, in one dtype."""
        parts = promote(*[array(x, self._parts) for x in self._parts])
        flat = [np.reshape(x, (-1,)) for x in parts]
        return flat[0] if len(flat) == 1 else np.concatenate(flat)

    def filled(self, found: object, values: Traced | None = None) -> Any:
        """Return what was made of numbers, with the elements in their place, and zero for 0."""
        every: Any = self.values() if values is None else values
        if is_sparse(found):
            return with_elements(found, settled(gathered(every, elements(found))))
        if isinstance(found, np.ndarray | np.integer):
            return gathered(every, np.asarray(found))
        return type(found)([self.filled(x, every) for x in found]) if isinstance(found, list | tuple) else found


def gathered(values: Traced, numbers: Array) -> Any:
    """``values[number - 1]``, and zero for the number 0."""
    flat = np.asarray(numbers, np.intp).ravel()
    n = values.shape[0]
    if not flat.size or (flat.size == n and flat[0] == 1 and flat[-1] == n and bool((np.diff(flat) == 1).all())):
        return np.reshape(values[: flat.size], numbers.shape)
    trace = trace_near((values,))
    if not flat.all():
        values = np.concatenate([constant(trace, np.zeros(1, values.dtype)), values])
        return np.reshape(values[constant(trace, flat)], numbers.shape)
    return np.reshape(values[constant(trace, flat - 1)], numbers.shape)


def moved(f: Callable[..., Any], source: object, *args: Any, dtype: DTypeLike | None = None, **kwargs: Any) -> Any:
    """``f(source, *args, **kwargs)`` for a function of SciPy's that only moves the elements of ``source``."""
    numbered = Numbered()
    found = f(numbered.of(source), *args, **kwargs)
    values = numbered.values()
    return numbered.filled(found, values if dtype is None else as_dtype(values, dtype))


def paired(f: Callable[..., Any], a: Operand, b: Operand, combine: Callable[[Any, Any], Any], **kwargs: Any) -> Any:
    """``f(a, b)`` for a function of SciPy's each of whose elements is ``combine`` of one of ``a`` and one of ``b``, or
    zero: a product element by element, a product of Kronecker's."""
    of_a, of_b = Numbered(), Numbered()
    numbers_a, numbers_b = of_a.of(a), of_b.of(b)
    left, right = f(numbers_a, _ones(numbers_b), **kwargs), f(_ones(numbers_a), numbers_b, **kwargs)
    if not is_sparse(left):
        return combine(of_a.filled(left), of_b.filled(right))
    factors = [of_a.filled(left), of_b.filled(right)]
    return with_elements(left, settled(combine(*promote(*[array(elements(x)) for x in factors]))))


def _ones(x: Any) -> Any:
    return with_elements(x, np.ones_like(elements(x))) if is_sparse(x) else np.ones_like(x)


# --------------------------------------------------------------------------------------------------------- patterns


class Assembly(NamedTuple):
    """How elements at given places become those of a csr matrix, with sorted rows and no place twice."""

    indptr: Array
    indices: Array
    places: Array
    """The number of the place of each element that was given."""
    has_sums: bool
    """Whether some elements are at one place."""

    def data(self, values: Traced) -> Any:
        """The data of the csr matrix, of the elements that were given: those at one place are added up."""
        if not self.has_sums:
            order = np.empty_like(self.places)
            order[self.places] = np.arange(order.size)
            return gathered(values, order + 1)
        trace = trace_near((values,))
        start = constant(trace, np.zeros(self.indices.size, values.dtype))
        return record(scatter_add, (start, values, constant(trace, self.places)), {})

    def pattern(self, shape: tuple[int, int]) -> Pattern:
        return Pattern(shape, self.indices, self.indptr)


def assembly(rows: Array, columns: Array, shape: Sequence[int]) -> Assembly:
    """Sort places by rows and columns, in linear time but for long rows."""
    n = len(rows)
    kind = np.int32 if max(n, *shape, 1) < 2**31 else np.int64
    indptr, found, order = np.empty(shape[0] + 1, kind), np.empty(n, kind), np.empty(n, np.int64)
    rows, columns = np.ascontiguousarray(rows, kind), np.ascontiguousarray(columns, kind)
    tools.coo_tocsr(*shape, n, rows, columns, np.arange(n, dtype=np.int64), indptr, found, order)
    tools.csr_sort_indices(shape[0], indptr, found, order)
    is_new = np.ones(n, bool)
    is_new[1:] = found[1:] != found[:-1]
    is_new[indptr[:-1][np.diff(indptr) > 0]] = True
    places = np.empty(n, np.intp)
    places[order] = np.cumsum(is_new) - 1
    if is_new.all():
        return Assembly(indptr, found, places, False)
    before = np.zeros(n + 1, kind)
    np.cumsum(is_new, out=before[1:])
    return Assembly(before[indptr], found[is_new], places, True)


def shape_of(a: Sparse) -> tuple[Any, Any]:
    """The shape of a matrix; of an array with one axis that of a row."""
    return (1, *a.shape) if len(a.shape) == 1 else a.shape


def triplets(a: Sparse) -> tuple[Array, Array, Any]:
    """The row and the column of each element, and the elements, in one array."""
    if a.format in ("csr", "csc"):
        major = np.repeat(np.arange(a.indptr.size - 1), np.diff(a.indptr))
        n = major.size
        return (major, a.indices[:n], a.data[:n]) if a.format == "csr" else (a.indices[:n], major, a.data[:n])
    if a.format == "coo":
        coords = a.coords if hasattr(a, "coords") else (a.row, a.col)
        return coords[0] if len(coords) == 2 else np.zeros_like(coords[0]), coords[-1], a.data
    numbered = Numbered()
    if not is_traced(a):
        return triplets(a.tocoo())
    numbers = with_elements(a, numbered.numbers(elements(a))).tocoo()
    return numbers.row, numbers.col, gathered(numbered.values(), numbers.data)


def csr(a: Sparse) -> tuple[Pattern, Any]:
    """The pattern, sorted and without a place twice, and the elements there."""
    if a.format == "csr" and a.has_canonical_format:
        return Pattern(shape_of(a), a.indices, a.indptr), a.data
    rows, columns, data = triplets(a)
    found = assembly(rows, columns, shape_of(a))
    return found.pattern(shape_of(a)), found.data(array(data))


def compressed(a: Sparse) -> tuple[Pattern, Any, bool]:
    """The pattern and the elements, and whether they are those of the transpose: so it is for csc."""
    if a.format == "csc" and a.has_canonical_format:
        return Pattern(a.shape[::-1], a.indices, a.indptr), a.data, True
    return (*csr(a), False)


def without_duplicates(a: Sparse) -> Sparse:
    """``a``, with elements at one place added up: as it is if there are none."""
    if a.format in (*BY_ELEMENT, "dia"):
        return a
    if len(a.shape) != 2 and a.format == "coo":
        return _flat_without_duplicates(a)
    if a.format in ("csr", "csc") and a.has_canonical_format:
        return a
    if a.format == "bsr" and _has_blocks_once(a):
        return a
    rows, columns, data = triplets(a)
    by_columns = a.format == "csc"
    found = assembly(columns, rows, a.shape[::-1]) if by_columns else assembly(rows, columns, a.shape)
    if not found.has_sums:
        return a
    data = settled(found.data(array(data)))
    if a.format == "bsr":
        return moved(lambda x: x.tobsr(a.blocksize), from_csr(a._csr_container, found, a.shape, data))
    if a.format == "coo":
        rows = np.repeat(np.arange(a.shape[0]), np.diff(found.indptr))
        new = class_of(a)((np.zeros(found.indices.size), (rows, found.indices)), shape=a.shape)
        new.data, new.has_canonical_format = data, True
        return new
    return from_csr(class_of(a), found, a.shape, data)


def _flat_without_duplicates(a: Sparse) -> Sparse:
    """Add up elements at one place, in an array with another number of axes than two."""
    size = int(np.prod(a.shape, dtype=int))
    places = np.ravel_multi_index(a.coords, a.shape)
    found = assembly(np.zeros_like(places), places, (1, size))
    if not found.has_sums:
        return a
    new = class_of(a)((np.zeros(found.indices.size), np.unravel_index(found.indices, a.shape)), shape=a.shape)
    new.data, new.has_canonical_format = settled(found.data(array(a.data))), True
    return new


def _has_blocks_once(a: Sparse) -> bool:
    major = np.repeat(np.arange(a.indptr.size - 1), np.diff(a.indptr))
    return not assembly(major, a.indices, (a.indptr.size - 1, a.shape[1])).has_sums


def from_csr(cls: Callable[..., Any], found: Assembly, shape: Sequence[int], data: Traced) -> Sparse:
    """A csr or csc matrix of a class, of its index arrays and data."""
    new = cls((np.zeros(found.indices.size), np.array(found.indices), np.array(found.indptr)), shape=shape)
    new.data = settled(data)
    return new

"""Methods of sparse matrices on traced elements: conversions, indexing, arithmetic, products, sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import DTypeLike

from wengert.of_scipy.sparse.making import check_made_here, methods
from wengert.of_scipy.sparse.values import (
    Array,
    Numbered,
    Operand,
    Sparse,
    assembly,
    become,
    compressed,
    csr,
    elements,
    from_csr,
    gathered,
    is_sparse,
    is_traced,
    moved,
    paired,
    settled,
    shape_of,
    triplets,
    with_elements,
    without_duplicates,
)
from wengert.ops.index import scatter_set
from wengert.ops.linalg.sparse import sparse_matmul
from wengert.tracing.arguments import (
    Axis,
    Out,
    Traced,
    array,
    as_dtype,
    concrete,
    constant,
    into,
    promote,
    trace_near,
    unsupported,
)
from wengert.tracing.emit import record
from wengert.tracing.tracer import Tracer

# -------------------------------------------------------------------------------------------------- what moves elements


def looked(x: object) -> Any:
    """An index, with the values of what is traced in it; they are guarded."""
    if type(x) is Tracer:
        found = concrete(x, "an index")
        return int(found) if found.ndim == 0 and found.dtype.kind in "iu" else found
    if type(x) is slice:
        return slice(looked(x.start), looked(x.stop), looked(x.step))
    return type(x)(map(looked, x)) if type(x) is list or type(x) is tuple else x


@methods(
    "transpose", "tocsr", "tocsc", "tocoo", "tobsr", "todia", "tolil", "todok", "copy", "__getitem__", "diagonal",
    "reshape", "sorted_indices", "_getrow", "_getcol", "_broadcast_to",
)  # fmt: skip
def _moved(name: str, a: Sparse, *args: Any, **kwargs: Any) -> Any:
    if name == "copy" or (name == f"to{a.format}" and not kwargs and a.format != "bsr"):
        return with_elements(a, elements(a)) if name == "copy" or (args and args[0]) else a
    if name in ("tocsr", "tocsc") and a.format == "coo" and len(a.shape) == 2:
        return _built(a._csr_container if name == "tocsr" else a._csc_container, *triplets(a), a.shape)
    return moved(lambda numbers: getattr(numbers, name)(*map(looked, args), **kwargs), a)


@methods("toarray", "todense")
def _to_array(name: str, a: Sparse, order: str | None = None, out: Out = None) -> Any:
    return into(out, moved(lambda numbers: numbers.toarray(order), a))


@methods("sort_indices", "sum_duplicates", "eliminate_zeros", "prune", "resize", "setdiag", "__setitem__")
def _in_place(name: str, a: Sparse, *args: Any, **kwargs: Any) -> None:
    """Change a matrix as SciPy changes its numbers. Elements that are zero stay: they have a derivative."""
    if not is_traced(a):
        check_made_here(a)
    if name in ("eliminate_zeros", "prune") or (name == "sum_duplicates" and a.format in ("csr", "csc")):
        if a.format in ("csr", "csc") and a.has_canonical_format:
            return
    numbered = Numbered()
    numbers = numbered.of(a)
    if name == "__setitem__":
        key, value = args
        numbers[looked(key)] = numbered.of(array(value) if isinstance(value, list) else value)
    elif name == "setdiag":
        values = args[0] if args else kwargs.pop("values")
        getattr(numbers, name)(numbered.of(array(values)), *args[1:], **kwargs)
    else:
        getattr(numbers, name)(*map(looked, args), **kwargs)
    become(a, numbered.filled(numbers))


@methods("_with_data")
def _with_data(name: str, a: Sparse, data: Traced, copy: bool = True) -> Sparse:
    return with_elements(a, settled(data))


@methods("nonzero", "count_nonzero")
def _nonzero(name: str, a: Sparse, *args: Any) -> Any:
    """Where the elements are not zero, now: that is guarded."""
    a = without_duplicates(a)
    return getattr(with_elements(a, np.asarray(concrete(elements(a) != 0, "a truth")).astype(int)), name)(*args)


# ----------------------------------------------------------------------------------------------------------- arithmetic


def is_number(x: Operand) -> TypeGuard[float]:
    return not is_sparse(x) and np.ndim(x) == 0


@lru_cache(maxsize=256)
def _class_of(f: str, a: type, b: type) -> Any:
    """The class that SciPy gives the result of an operator."""
    return type(getattr(a(np.eye(2)), f)(b(np.eye(2))))


def _built(cls: Callable[..., Any], rows: Array, columns: Array, data: Traced, shape: Sequence[int]) -> Sparse:
    """A matrix of triplets, of which those at one place are added up."""
    kind = cls((1, 1)).format
    if kind == "csc":
        found = assembly(columns, rows, shape[::-1])
    else:
        found = assembly(rows, columns, shape)
    container = cls if kind in ("csr", "csc") else cls((1, 1))._csr_container
    made = from_csr(container, found, shape, found.data(array(data)))
    return made if kind in ("csr", "csc") else made.asformat(kind)


def _together(a: Sparse, b: Sparse) -> tuple[Any, Any, Any, Any]:
    """The triplets of two matrices, one after the other: rows, columns, and the elements of each, in one dtype."""
    if a.shape != b.shape:
        raise ValueError("inconsistent shapes")
    (i, j, x), (k, m, y) = triplets(a), triplets(b)
    x, y = promote(array(x, (x, y)), array(y, (x, y)))
    return np.concatenate([i, k]), np.concatenate([j, m]), x, y


@methods("__add__", "__radd__", "__sub__", "__rsub__")
def _sum(name: str, a: Sparse, other: Operand) -> Any:
    is_left, is_minus = name in ("__add__", "__sub__"), "sub" in name
    if is_number(other):
        if (type(other) is Tracer and other.constant() is None) or other != 0:
            what = ("subtracting a nonzero scalar from a sparse array" if is_left else
                    "subtracting a sparse array from a nonzero scalar") if is_minus else (
                    "adding a nonzero scalar to a sparse array")  # fmt: skip
            raise NotImplementedError(f"{what} is not supported")
        return a.copy() if is_left or not is_minus else -a
    if not is_sparse(other):
        dense, other = a.toarray(), array(other)
        if np.broadcast_shapes(dense.shape, other.shape) != dense.shape:
            raise ValueError(f"operands could not be broadcast: {other.shape} to {dense.shape}")
        if is_minus:
            return dense - other if is_left else other - dense
        return dense + other
    if len(a.shape) == 1:
        return _sum(name, a.reshape(1, -1), other.reshape(1, -1)).reshape(a.shape)
    rows, columns, x, y = _together(a, other)
    cls = _class_of(name, type(a), type(other))
    return _built(cls, rows, columns, np.concatenate([x, -y if is_minus else y]), a.shape)


@methods("_mul_scalar")
def _scaled(name: str, a: Sparse, other: Operand) -> Sparse:
    return with_elements(a, settled(array(elements(a), (other,)) * other))


@methods("multiply", "__mul__", "__rmul__")
def _multiply(name: str, a: Sparse, other: Operand) -> Any:
    if name != "multiply" and not hasattr(a, "__array_priority__"):
        return NotImplemented
    if is_number(other):
        return _scaled(name, a, other)
    if name != "multiply" and is_spmatrix(a):
        return product(a, other) if name == "__mul__" else product_from_left(a, other)
    return paired(lambda x, y: x.multiply(y), a, other if is_sparse(other) else array(other), lambda x, y: x * y)


def is_spmatrix(a: Sparse) -> bool:
    """Whether ``*`` is the product of matrices."""
    from scipy.sparse import isspmatrix

    return bool(isspmatrix(a))


@methods("_divide")
def _divide(name: str, a: Sparse, other: Operand, *, rdivide: bool = False, true_divide: bool = False) -> Any:
    if is_sparse(other):
        raise unsupported("the quotient of two sparse matrices is not traced", "A.toarray() / B.toarray()")
    if rdivide:
        return other / a.toarray()
    if is_number(other):
        a = a.astype(np.float64) if np.can_cast(a.dtype, np.float64) else a
        return _scaled(name, a, 1 / other)
    return a.multiply(1 / array(other))


@methods("__truediv__", "__div__")
def _true_divide(name: str, a: Sparse, other: Operand) -> Any:
    return _divide(name, a, other)


@methods("power")
def _power(name: str, a: Sparse, n: Operand, dtype: DTypeLike | None = None) -> Sparse:
    if not is_number(n):
        raise NotImplementedError("input is not scalar")
    if type(n) is not Tracer and not n:
        raise NotImplementedError("zero power is not supported as it would densify the matrix.\nUse `np.ones(A.shape)`")
    a = without_duplicates(a)
    data = array(elements(a), (n,))
    return with_elements(a, settled((data if dtype is None else as_dtype(data, dtype)) ** n))


@methods("maximum", "minimum")
def _extreme(name: str, a: Sparse, other: Operand) -> Any:
    choose: Callable[..., Any] = np.maximum if name == "maximum" else np.minimum
    if not is_sparse(other):
        if is_number(other) and type(other) is not Tracer and (other <= 0 if name == "maximum" else other >= 0):
            a = without_duplicates(a)
            return with_elements(a, settled(choose(elements(a), other)))
        return choose(a.toarray(), other)
    a, other = without_duplicates(a), without_duplicates(other)
    rows, columns, x, y = _together(a, other)
    found = assembly(rows, columns, a.shape)
    trace = trace_near((x, y))
    zeros = constant(trace, np.zeros(found.indices.size, x.dtype))
    parts = np.split(found.places, [x.shape[0]])
    both = [record(scatter_set, (zeros, v, constant(trace, p)), {}) for v, p in zip((x, y), parts, strict=True)]
    made = from_csr(a._csr_container, found, a.shape, choose(*both))
    return made.asformat(_class_of(name, type(a), type(other))((1, 1)).format)


@methods("_comparison", "__eq__", "__ne__", "__lt__", "__gt__", "__le__", "__ge__")
def _comparison(name: str, a: Sparse, *args: Any) -> Any:
    raise unsupported("a comparison of traced sparse matrices is not traced", "a comparison of A.data, or A.toarray()")


# ------------------------------------------------------------------------------------------------------------- products


def product(a: Sparse, x: Operand) -> Any:
    """a @ x."""
    if is_sparse(x):
        return _of_sparse(a, x)
    if is_number(x):
        raise ValueError("Scalar operands are not allowed, use '*' instead")
    pattern, data, is_transposed = compressed(a)
    data, x = promote(array(data, (data, x)), array(x, (data, x)))
    m, n = shape_of(a)
    if x.ndim > 2:
        raise ValueError("could not interpret dimensions")
    if x.shape[0] != n:
        raise ValueError(f"matmul: dimension mismatch with signature (n,k={n}),(k={x.shape[0]},1?)->(n,1?)")
    columns = np.reshape(x, (n, 1)) if x.ndim == 1 else x
    y = record(sparse_matmul, (data, columns), {"pattern": pattern, "transpose": is_transposed})
    shape = (() if len(a.shape) == 1 else (m,)) + x.shape[1:]
    return np.reshape(y, shape)


def product_from_left(a: Sparse, x: Operand) -> Any:
    """x @ a, = (aᵀ xᵀ)ᵀ."""
    if is_sparse(x):
        return _of_sparse(x, a)
    x = array(x, (elements(a), x))
    return np.transpose(product(a.transpose(), np.transpose(x)))


def _of_sparse(a: Sparse, b: Sparse) -> Sparse:
    """The product of two sparse matrices: each element of one times a row of the other, added up at their places."""
    (m, n), (k, p) = shape_of(a), b.shape if len(b.shape) == 2 else (*b.shape, 1)
    if n != k:
        raise ValueError(f"matmul: dimension mismatch with signature (n,k={n}),(k={k},m)->(n,m)")
    cls = _class_of("__matmul__", type(a), type(b))
    if len(a.shape) == 1 or len(b.shape) == 1:
        flat = _of_sparse(a.reshape(m, n).tocsr(), b.reshape(k, p).tocsr())
        shape = a.shape[:-1] + b.shape[1:]
        return flat.reshape(shape) if shape else flat.toarray()[0, 0]
    left, x = csr(a)
    right, y = csr(b)
    lengths = np.diff(right.indptr)[left.indices]
    of_x = np.repeat(np.arange(left.size), lengths)
    first = np.cumsum(lengths) - lengths
    of_y = np.arange(of_x.size) + np.repeat(right.indptr[left.indices] - first, lengths)
    x, y = promote(array(x, (x, y)), array(y, (x, y)))
    terms = gathered(x, of_x + 1) * gathered(y, of_y + 1)
    return _built(cls, left.rows[of_x], right.indices[of_y], terms, (m, p))


@methods("__matmul__", "dot", "_matmul_dispatch", "_mul_dispatch")
def _product(name: str, a: Sparse, other: Operand) -> Any:
    if name == "dot" and is_number(other):
        return _scaled(name, a, other)
    return product(a, other)


@methods("__rmatmul__", "_rmatmul_dispatch", "_rmul_dispatch")
def _product_from_left(name: str, a: Sparse, other: Operand) -> Any:
    return product_from_left(a, other)


# ----------------------------------------------------------------------------------------------------------- reductions


@methods("sum")
def _total(name: str, a: Sparse, axis: Axis = None, dtype: DTypeLike | None = None, out: Out = None) -> Any:
    if isinstance(axis, tuple) and len(axis) < len(a.shape):
        (axis,) = axis
    if axis is None or isinstance(axis, tuple) or len(a.shape) == 1:
        return into(out, np.sum(array(csr(a)[1]), dtype=dtype))
    if axis not in (0, 1, -1, -2):
        raise ValueError("axis out of range")
    axis %= 2
    pattern, data, is_transposed = compressed(a)
    data = array(data)
    data = as_dtype(data, np.sum(np.zeros(1, data.dtype), dtype=dtype).dtype)
    ones = constant(trace_near((data,)), np.ones((a.shape[axis], 1), data.dtype))
    params = {"pattern": pattern, "transpose": is_transposed != (axis == 0)}
    y = record(sparse_matmul, (data, ones), params)
    shape = (1, -1) if axis == 0 else (-1, 1)
    return into(out, np.reshape(y, shape if is_spmatrix(a) else (-1,)))


@methods("max", "min")
def _largest(name: str, a: Sparse, axis: Axis = None, out: Out = None, *, explicit: bool = False) -> Any:
    if axis is not None:
        raise unsupported(
            f"A.{name}(axis=...) of a traced sparse matrix is not traced", f"A.toarray().{name}(axis=...)"
        )
    data = array(csr(a)[1])
    if not data.size:
        return np.zeros((), data.dtype)[()]
    found = getattr(data, name)()
    if explicit or data.size == int(np.prod(a.shape)):
        return found
    return (np.maximum if name == "max" else np.minimum)(found, 0)


@methods("argmax", "argmin", "nanmax", "nanmin", "tensordot")
def _refused(name: str, a: Sparse, *args: Any, **kwargs: Any) -> Any:
    raise unsupported(f"A.{name}() of a traced sparse matrix is not traced", f"np.{name}(A.toarray())")

"""A few eigenvalues and singular values of sparse matrices: ``eigsh``, ``eigs``, ``svds``.

SciPy's iteration runs as one step. Of an eigenvalue λ that is simple, with its vector v and the left one u, uᵀ v = 1,

    λ̇ = uᵀ Ȧ v,     v̇ of   (λ M − A) v̇ + M v μ = Ȧ v,   (M v)ᴴ v̇ = 0

is one sparse solution with a border of a row and a column. Where λ is not simple v has no derivative, and it is NaN.
Source: Nelson (1976), Simplified calculation of eigenvector derivatives, AIAA Journal 14:9.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import wengert as wg
from wengert.of_scipy.sparse.iterating import ByIdentity, arguments, matrix, matrix_of, solver
from wengert.of_scipy.sparse.making import Answer, function
from wengert.of_scipy.sparse.solving import floating
from wengert.of_scipy.sparse.values import Array, Operand, csr
from wengert.ops.linalg.sparse import Pattern, sparse_sampled
from wengert.tracing.arguments import array, unsupported
from wengert.tracing.emit import record


class SpectralCall(NamedTuple):
    """A call of a solver, without the elements of the matrix."""

    solver: str
    pattern: Pattern
    options: tuple[tuple[str, Any], ...]
    has_vectors: bool = True

    def option(self, name: str) -> Any:
        value = dict(self.options).get(name)
        return value.value if isinstance(value, ByIdentity) else value


def _types(data: Array, *, call: SpectralCall) -> tuple[Array, ...]:
    """Arrays of the types of the results: SciPy is not called for them, since it draws a random start."""
    (m, n), k = call.pattern.shape, call.option("k") or 6
    real = np.zeros(0, data.dtype).real.dtype
    if call.solver == "svds":
        return np.empty((m, k), data.dtype), np.empty(k, real), np.empty((k, n), data.dtype)
    kind = np.result_type(data.dtype, np.complex64) if call.solver == "eigs" else data.dtype
    return np.empty(k, kind if call.solver == "eigs" else real), np.empty((n, k), kind)


@wg.primitive(type=_types)
def _found(data: Array, *, call: SpectralCall) -> Any:
    options = {name: call.option(name) for name, _ in call.options}
    a, solve = matrix(call.pattern, data), solver(call.solver)
    if call.has_vectors:
        return solve(a, **options)
    alone = solve(a, **options, return_eigenvectors=False)  # these SciPy gives in another order
    values, vectors = solve(a, **options)
    return alone, vectors[:, [np.argmin(np.abs(values - value)) for value in alone]]


def _bordered(data: Operand, value: Operand, v: Operand, call: SpectralCall) -> Any:
    """[[λ M − A, M v], [(M v)ᴴ, 0]]."""
    m = call.option("M")
    a = matrix(call.pattern, data)
    n = a.shape[0]
    mass = sp.eye_array(n, format="csr") if m is None else sp.csr_array(m)
    column = np.reshape(mass @ v, (n, 1))
    return sp.bmat([[mass * value - a, sp.csr_array(column)], [sp.csr_array(np.conj(column.T)), None]], format="csc")


def _sampled(u: Operand, v: Operand, like: Operand, call: SpectralCall) -> Any:
    columns = tuple([np.reshape(x, (-1, 1)) for x in np.broadcast_arrays(u, v)])
    found = record(sparse_sampled, columns, {"pattern": call.pattern})
    return found if like.dtype.kind == "c" else np.real(found)


@wg.primitive(type=lambda value, v, data, *, call: np.empty((), value.dtype))
def _value(value: Array, v: Array, data: Array, *, call: SpectralCall) -> Any:
    return value


@_value.def_pullback
def _(ct: Any, y: Any, value: Operand, v: Operand, data: Operand, *, call: SpectralCall) -> Any:
    spsolve = solver("spsolve", False)
    if call.solver == "eigs":
        last = np.append(np.zeros(v.shape[0]), 1.0)
        u = spsolve(_bordered(data, y, v, call).T.tocsc(), last)[:-1]
    else:
        m = call.option("M")
        u = np.conj(v) / np.real(np.sum(np.conj(v) * (v if m is None else sp.csr_array(m) @ v)))
    return None, None, _sampled(ct * u, v, data, call)


@wg.primitive(type=lambda v, value, data, *, call: np.empty(v.shape, v.dtype))
def _vector(v: Array, value: Array, data: Array, *, call: SpectralCall) -> Any:
    return v


@_vector.def_pullback
def _(ct: Any, y: Any, v: Operand, value: Operand, data: Operand, *, call: SpectralCall) -> Any:
    """The eigenvalue in the rule is again one with a derivative, that of ``y``."""
    spsolve = solver("spsolve", False)
    exact = _value(value, y, data, call=call)
    z = spsolve(_bordered(data, exact, y, call).T.tocsc(), np.append(ct, 0.0))[:-1]
    unit = np.finfo(data.dtype).eps
    is_multiple = np.max(np.abs(z)) * np.max(np.abs(data)) * unit * 1e4 > np.max(np.abs(ct))
    z = np.where(is_multiple, np.nan, z)
    return None, None, _sampled(z, y, data, call)


def _with_derivatives(values: Operand, vectors: Operand, data: Operand, call: SpectralCall) -> tuple[Any, Any]:
    """The values and vectors that were found, each with its derivative."""
    found = [(values[k], vectors[:, k]) for k in range(values.shape[0])]
    columns = [_vector(v, value, data, call=call) for value, v in found]
    exact = [_value(value, v, data, call=call) for (value, _), v in zip(found, columns, strict=True)]
    return np.stack(exact), np.stack(columns, axis=1)


def _eigenvalues(name: str) -> None:
    @function(f"scipy.sparse.linalg:{name}")
    def answer(f: Answer, *args: Any, **kwargs: Any) -> Any:
        (A, mode, wants_vectors), options = arguments(f, ("A", "mode", "return_eigenvectors"), args, kwargs)
        if mode not in (None, "normal"):
            raise unsupported(f"scipy.sparse.linalg.{name}: mode={mode!r} is not traced", "mode='normal'")
        pattern, data = csr(matrix_of(name, A, None))
        data = floating(array(data))
        has_vectors = wants_vectors in (None, True)
        call = SpectralCall(name, pattern, options, has_vectors)
        values, vectors = _found(wg.stop_gradient(data), call=call)
        values, vectors = _with_derivatives(values, vectors, data, call)
        return (values, vectors) if has_vectors else values


for _name in ("eigsh", "eigs"):
    _eigenvalues(_name)


@function("scipy.sparse.linalg:svds")
def svds(f: Answer, *args: Any, **kwargs: Any) -> Any:
    """The singular values are eigenvalues of [[0, A], [Aᴴ, 0]], with the vectors [u, v]."""
    (A, wants), options = arguments(f, ("A", "return_singular_vectors"), args, kwargs)
    a = matrix_of("svds", A, None)
    m = a.shape[0]
    pattern, data = csr(a)
    data = floating(array(data))
    u, s, vh = _found(wg.stop_gradient(data), call=SpectralCall("svds", pattern, options))
    own: Any = matrix(pattern, data)
    symmetric: Any = sp.bmat([[None, own], [own.conj().T, None]], format="csr")
    both, of_both = csr(symmetric)
    vectors = np.concatenate([u, np.conj(vh).T])
    s, vectors = _with_derivatives(s, vectors, of_both, SpectralCall("symmetric", both, ()))
    u, vh = vectors[:m], np.conj(vectors[m:]).T
    if wants in ("u", "vh"):
        return (u, s, None) if wants == "u" else (None, s, vh)
    return (u, s, vh) if wants in (None, True) else s

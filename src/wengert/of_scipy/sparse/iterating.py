"""Sparse equations solved by iteration: ``cg``, ``gmres``, ``bicgstab``, ``minres``, ``lsqr``, ``lsmr`` and their kin.

SciPy's solver runs as one step. How it found the solution has no derivative; the solution has that of the equation:
of A x = b it is found by the same solver, with the transposed matrix in reverse mode, to the same tolerance.
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, eye_array, issparse

import wengert as wg
from wengert.of_scipy.sparse.making import Answer, function
from wengert.of_scipy.sparse.solving import floating
from wengert.of_scipy.sparse.values import Array, Operand, Sparse, csr, is_sparse, is_traced, plain
from wengert.ops.linalg.sparse import Pattern, sparse_sampled
from wengert.tracing.arguments import array, concrete, promote, unsupported
from wengert.tracing.emit import record
from wengert.tracing.interception.python_functions import original
from wengert.tracing.tracer import Tracer


class ByIdentity:
    """An object without a hash, as a setting: it is equal to itself alone."""

    def __init__(self, value: Operand) -> None:
        self.value = value


class SolverCall(NamedTuple):
    """A call of a solver, without the elements of the matrix and the right-hand side."""

    solver: str
    pattern: Pattern
    options: tuple[tuple[str, Any], ...]
    is_transposed: bool = False
    is_derivative: bool = False


def solver(name: str, is_original: bool = True) -> Callable[..., Any]:
    """Return SciPy's own function, or the one that takes traced values too."""
    found = getattr(importlib.import_module("scipy.sparse.linalg"), name)
    return original(found) if is_original else found


def matrix(pattern: Pattern, data: Operand) -> Sparse:
    found: Any = csr_array((np.zeros(pattern.size), pattern.indices.copy(), pattern.indptr.copy()), shape=pattern.shape)
    found.data = data
    return found


def _transposed(m: Operand) -> Any:
    """A preconditioner's transpose; None if it does not say how it is transposed."""
    if m is None or issparse(m) or isinstance(m, np.ndarray):
        return None if m is None else m.T
    try:
        m.rmatvec(np.zeros(m.shape[0]))
    except (NotImplementedError, AttributeError):
        return None
    return m.T


@wg.primitive(type=lambda data, b, x0, *, call: (np.empty(b.shape, data.dtype), np.empty((), np.int64)))
def _iterated(data: Array, b: Array, x0: Array, *, call: SolverCall) -> Any:
    a: Any = matrix(call.pattern, data)
    options = {name: value.value if isinstance(value, ByIdentity) else value for name, value in call.options}
    if call.is_transposed:
        a = a.T.tocsr()
    if call.is_derivative:
        options.pop("callback", None)
        for name in [name for name in options if name in ("M", "M1", "M2")]:
            options[name] = _transposed(options[name]) if call.is_transposed else options[name]
    x, info = solver(call.solver)(a, b, x0=x0 if x0.any() else None, **options)
    if call.is_derivative and info != 0:
        what = f"{call.solver} has not converged to the derivative of its solution: info is {info}"
        warnings.warn(what, RuntimeWarning, stacklevel=2)
    return np.asarray(x, data.dtype), np.int64(info)


@_iterated.def_pullback
def _(ct: Any, y: Any, data: Operand, b: Operand, x0: Operand, *, call: SolverCall) -> Any:
    """b̄ = A⁻ᵀ x̄, d̄[e] = −b̄[i_e] x[j_e]."""
    back = call._replace(is_transposed=not call.is_transposed, is_derivative=True)
    ct_b, _ = _iterated(data, ct[0], np.zeros(b.shape, data.dtype), call=back)
    factors = (y[0], ct_b) if call.is_transposed else (ct_b, y[0])
    columns = tuple([np.reshape(x, (-1, 1)) for x in factors])
    return -record(sparse_sampled, columns, {"pattern": call.pattern}), ct_b, None


def _answer(name: str) -> None:
    @function(f"scipy.sparse.linalg:{name}")
    def answer(f: Answer, *args: Any, **kwargs: Any) -> Any:
        (A, b, x0), options = arguments(f, ("A", "b", "x0"), args, kwargs)
        a = matrix_of(name, A, b)
        if a.shape[0] != a.shape[1]:
            raise ValueError(f"expected square matrix, but got shape={a.shape}")
        pattern, data = csr(a)
        data, b = promote(floating(array(data, (data, b))), array(b, (data, b)))
        if b.size != a.shape[0]:
            raise ValueError(f"shapes of A {a.shape} and b {b.shape} are incompatible")
        start = np.zeros(b.size, data.dtype) if x0 is None else wg.stop_gradient(array(x0, (b,)))
        x, info = _iterated(data, np.reshape(b, (-1,)), start, call=SolverCall(name, pattern, options))
        return x, info


def _looked(value: Operand) -> Any:
    """Look at an array that is captured, and has no derivative: it is guarded."""
    return concrete(value, "an option") if type(value) is Tracer and value.is_settled() else value


def arguments(
    f: Answer, named: Sequence[str], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[list[Any], tuple[tuple[str, Any], ...]]:
    """The ``named`` arguments of a call of SciPy's function, None where it is not given, and all others as settings,
    which are constants."""
    given = inspect.signature(f).bind(*args, **kwargs).arguments
    first = [given.pop(name, None) for name in named]
    settings = [(key, _looked(plain(value))) for key, value in sorted(given.items())]
    for key, value in settings:
        if is_traced(value):
            raise unsupported(f"scipy.sparse.linalg.{f.__name__}: {key}= is traced", "a constant")
    return first, tuple([(key, setting(value)) for key, value in settings])


def matrix_of(name: str, A: Operand, b: Operand) -> Sparse:
    if is_sparse(A):
        return A
    if np.ndim(A) == 2:
        found: Any = csr_array(array(A, (A, b)))
        return found
    what = f"scipy.sparse.linalg.{name} of a {type(A).__name__} with traced values is not traced"
    raise unsupported(what, "a sparse matrix", "wg.known_root, of a solution that SciPy has found")


def setting(value: Operand) -> Any:
    try:
        hash(value)
    except TypeError:
        return ByIdentity(value)
    return value


for _name in ("bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "tfqmr"):
    _answer(_name)


# ------------------------------------------------------------------------------------------------------- least squares


@wg.primitive
def _least_squares(data: Array, b: Array, damp: Array, *, call: SolverCall) -> Any:
    options = {name: value.value if isinstance(value, ByIdentity) else value for name, value in call.options}
    found = solver(call.solver)(matrix(call.pattern, data), b, damp=float(damp), **options)
    return tuple([np.asarray(x) for x in found])


@_least_squares.def_pullback
def _(ct: Any, y: Any, data: Operand, b: Operand, damp: Operand, *, call: SolverCall) -> Any:
    """The solution alone has a derivative; norms are computed of it.

    With N = AᵀA + d², z = N⁻¹ x̄, r = b − A x:  b̄ = A z,  Ā = r zᵀ − b̄ xᵀ,  d̄ = −2 d zᵀ x. Where there are more
    unknowns than equations, N = AAᵀ + d², w = N⁻¹ b, x = Aᵀ w, b̄ = N⁻¹ A x̄, Ā = w (x̄ − Aᵀ b̄)ᵀ − b̄ xᵀ, d̄ = −2 d wᵀ b̄.
    """
    spsolve: Any = solver("spsolve", False)
    a: Any = matrix(call.pattern, data)
    m, n = a.shape
    x = y[0]
    if m >= n:
        z = spsolve((a.T @ a + eye_array(n) * damp**2).tocsc(), ct[0])
        ct_b = a @ z
        left, right, ct_damp = b - a @ x, z, -2 * damp * np.sum(z * x)
    else:
        normal = (a @ a.T + eye_array(m) * damp**2).tocsc()
        left, ct_b = spsolve(normal, b), spsolve(normal, a @ ct[0])
        right, ct_damp = ct[0] - a.T @ ct_b, -2 * damp * np.sum(left * ct_b)
    pairs = (left, right), (ct_b, x)
    first, second = (
        record(sparse_sampled, tuple([np.reshape(v, (-1, 1)) for v in pair]), {"pattern": call.pattern})
        for pair in pairs
    )
    return first - second, ct_b, ct_damp


def _least_squares_answer(name: str) -> None:
    @function(f"scipy.sparse.linalg:{name}")
    def answer(f: Answer, *args: Any, **kwargs: Any) -> Any:
        (A, b, damp), options = arguments(f, ("A", "b", "damp"), args, kwargs)
        damp = 0.0 if damp is None else damp
        a = matrix_of(name, A, b)
        pattern, data = csr(a)
        data, b = promote(floating(array(data, (data, b))), array(b, (data, b)))
        if data.dtype.kind == "c":
            raise unsupported(f"scipy.sparse.linalg.{name} of complex numbers is not traced", "spsolve(AᴴA, Aᴴ b)")
        b = np.reshape(b, (-1,))
        call = SolverCall(name, pattern, options)
        x, *rest = _least_squares(data, b, array(damp, (data, b)) * 1.0, call=call)
        return (x, *_norms(name, matrix(pattern, data), b, x, damp, rest))


def _norms(name: str, a: Sparse, b: Operand, x: Operand, damp: Operand, rest: list[Any]) -> list[Any]:
    """The further results: norms have derivatives; estimates, counts and reasons are as SciPy gives them."""
    residual: Any = b - a @ x
    rest = [*map(wg.stop_gradient, rest)]
    norm, size = np.linalg.norm(residual), np.linalg.norm(x)
    normal = a.T @ residual - damp**2 * x
    of_all = np.sqrt(norm**2 + damp**2 * size**2)
    exact = {2: norm, 3: of_all, 6: np.linalg.norm(normal), 7: size} if name == "lsqr" else {
        2: of_all, 3: np.linalg.norm(normal), 6: size}  # fmt: skip
    return [_like(found, exact[k]) if k in exact else found for k, found in enumerate(rest)]


def _like(value: Operand, exact: Operand) -> Any:
    """``value``, with the derivative of ``exact``: they differ by how far the solver has gone."""
    return value + (exact - wg.stop_gradient(exact))


for _name in ("lsqr", "lsmr"):
    _least_squares_answer(_name)

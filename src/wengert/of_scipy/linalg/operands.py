"""Small things that functions of ``scipy.linalg`` share: operands in SciPy's dtypes, stacks, triangles."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.ops import linalg as ops
from wengert.ops.op import Op
from wengert.tracing.arguments import Traced, arrays, as_dtype, holds
from wengert.tracing.emit import record
from wengert.tracing.tracer import Tracer

Function = Callable[..., Any]

SINGLE = {"f": np.dtype(np.float64), "F": np.dtype(np.complex128)}
"""The dtypes of double precision, by the characters of those of single precision."""


def inexact(*xs: ArrayLike) -> list[Tracer]:
    """Operands in the one dtype that LAPACK computes in: integers as float64, half precision as single."""
    made = arrays(*xs)
    for x in made:
        if x.dtype.kind not in "biufc":
            raise ValueError("object arrays are not supported")
    dtype = np.result_type(*[x.dtype for x in made])
    if dtype.kind not in "fc":
        dtype = np.dtype(np.float64)
    elif dtype.char not in "fdFD":
        if dtype.itemsize > 8:
            raise TypeError(f"array type {dtype.name} is unsupported in linalg")
        dtype = np.dtype(np.float32)
    return [as_dtype(x, dtype) for x in made]


def double(*xs: ArrayLike) -> list[Tracer]:
    """Operands in the one dtype of double precision that some of SciPy's functions always compute in."""
    made = inexact(*xs)
    dtype = SINGLE.get(made[0].dtype.char, made[0].dtype)
    return [as_dtype(x, dtype) for x in made]


NOT_CHECKED = ("subset_by_value", "select_range", "cond", "rcond", "atol", "rtol", "tol")
"""The parameters whose values may be infinite."""


def checks_finite(f: Function) -> Function:
    """Decorate what answers for a function that raises a ValueError for matrices with NaN or infinity in them, unless
    ``check_finite=False``: a look, guarded, where values can be looked at."""
    signature = inspect.signature(f)

    @functools.wraps(f)
    def checked(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        if given.get("check_finite", True):
            for name, value in given.items():
                for x in value if isinstance(value, tuple | list) else [value]:
                    is_of_floats = isinstance(x, Tracer | np.ndarray) and x.dtype.kind in "fc"
                    if is_of_floats and name not in NOT_CHECKED and holds(np.all(np.isfinite(x))) is False:
                        raise ValueError("array must not contain infs or NaNs")
        return f(*args, **kwargs)

    return checked


def check_square(x: Traced, wrong: str = "expected square matrix") -> None:
    """Raise the ValueError with SciPy's words if the matrices are not square."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(wrong)


def square(x: ArrayLike, wrong: str = "expected square matrix") -> Tracer:
    """One operand, of square matrices."""
    (found,) = inexact(x)
    check_square(found, wrong)
    return found


def adjoint(x: Traced) -> Any:
    """Each matrix transposed and conjugated."""
    x = np.swapaxes(x, -1, -2)
    return np.conj(x) if x.dtype.kind == "c" else x


def conj(x: Traced) -> Any:
    return np.conj(x) if x.dtype.kind == "c" else x


def real(x: Any) -> Any:
    return x.real if x.dtype.kind == "c" else x


def common_lead(cores: Sequence[int], *xs: Traced) -> list[Any]:
    """Operands broadcast over one stack; operand k has ``cores[k]`` axes for each example."""
    leads = [x.shape[: x.ndim - core] for x, core in zip(xs, cores, strict=True)]
    lead = np.broadcast_shapes(*leads)
    return [
        x if own == lead else np.broadcast_to(x, (*lead, *x.shape[x.ndim - core :]))
        for x, own, core in zip(xs, leads, cores, strict=True)
    ]


def with_columns(op: Op, params: dict[str, Any], a: Traced, b: Traced, core: int = 2) -> Any:
    """The op on matrices ``a`` and right-hand sides ``b``, which are vectors if ``b`` has one axis."""
    columns = b[:, None] if b.ndim == 1 else b
    x = record(op, tuple(common_lead((core, 2), a, columns)), params)
    return x[..., 0] if b.ndim == 1 else x


def symmetric(a: Traced, lower: bool, hermitian: bool) -> Any:
    """The matrices of which one triangle is read: of Hermitian ones, only real parts of the diagonal."""
    one = np.tril(a, -1) if lower else np.triu(a, 1)
    other = adjoint(one) if hermitian else np.swapaxes(one, -1, -2)
    diagonal = np.where(np.eye(a.shape[-1], dtype=bool), a, 0)
    if hermitian:
        diagonal = as_dtype(real(diagonal), a.dtype)
    return one + diagonal + other


def triangular_solve(a: Traced, b: Traced, lower: bool, transpose: bool = False) -> Any:
    """a⁻¹ b, or a⁻ᵀ b, for b[..., n, k]; only one triangle of a is read."""
    return record(
        ops.triangular_solve, tuple(common_lead((2, 2), a, b)), {"lower": bool(lower), "transpose": transpose}
    )

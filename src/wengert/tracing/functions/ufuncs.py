"""Ufuncs do more than one op on its operands: options, methods, and those that are compositions of ops.

``Tracer.__array_ufunc__`` takes the short way for ``ufunc(x, y)``; all else comes to :func:`call_ufunc`. Where nothing
traced takes part, NumPy itself does it. Otherwise

* ``out=``, ``where=``, ``dtype=`` and ``casting=`` are told in conversions, a selection and a write;
* ``reduce`` and ``accumulate`` are NumPy's functions of other names (``np.add.reduce`` is ``np.sum``). Further
  ufuncs that are associative and commutative are folded in halves: O(n) work in O(log n) steps of the tape;
* ``outer`` is broadcasting, ``at`` is a scatter, ``reduceat`` one reduction a segment.

An option or a ufunc that is not traced raises UnsupportedFunctionError; none is ignored.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import ArrayLike, DTypeLike

from wengert.errors import DTypeError, MutationError, UnsupportedFunctionError, message
from wengert.ops.elementwise import select
from wengert.ops.index import INTP, scatter_add, set_slice, slice_
from wengert.ops.op import UFUNCS, Op
from wengert.ops.reduce import cummax, cummin
from wengert.ops.shape import broadcast_to, inverse_permutation, reshape, transpose
from wengert.tape import Atom
from wengert.tracing import hooks
from wengert.tracing.arguments import (
    BOOL,
    MISSING,
    Axis,
    Casting,
    Mask,
    Number,
    Out,
    Traced,
    along,
    array,
    as_dtype,
    axes_of,
    constant,
    holds_traced,
    scalar,
    trace_near,
    unsupported,
)
from wengert.tracing.emit import new_constant, record, unwrap
from wengert.tracing.functions import products
from wengert.tracing.functions.creation import ones_like, plain
from wengert.tracing.indexing import (
    base_lift,
    fit,
    front_order,
    lead_order,
    parse,
    region_shape,
    shaped,
)
from wengert.tracing.inplace import write
from wengert.tracing.layouts import UNKNOWN_ORDER, has_c_order
from wengert.tracing.operators import PYTHON_NUMBERS, apply_ufunc, as_operand, kind_of
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer


def call_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """``getattr(ufunc, method)(*inputs, **kwargs)`` with a tracer among the inputs or in ``out``."""
    if method == "at":
        operands = [inputs[0], inputs[1], *[as_operand(x) for x in inputs[2:]]]
    else:
        operands = [as_operand(x) for x in inputs]
    options = {k: as_operand(v) if k == "where" else v for k, v in kwargs.items()}
    if not holds_traced(operands) and not holds_traced(list(options.values())):
        return _on_constants(ufunc, method, operands, options)
    return _METHODS[method](ufunc, operands, **options)


hooks.call_ufunc = call_ufunc


# --------------------------------------------------------------------------------------------------- constants


def _on_constants(ufunc: np.ufunc, method: str, inputs: list[Any], options: dict[str, Any]) -> Any:
    """Nothing traced takes part: NumPy does it, and writes into the private arrays behind constants."""
    trace = trace_near([x for x in (*inputs, *_targets(options.get("out"))) if type(x) is Tracer])
    if method == "at":
        target, key, *values = inputs
        operands = [plain(key), *[unwrap(v, trace) for v in values]]
        return ufunc.at(_writable(target, trace), *operands)
    values = [unwrap(x, trace) for x in inputs]
    out = options.pop("out", None)
    options = {k: unwrap(v, trace) for k, v in options.items()}
    if out is not None:
        options["out"] = tuple([None if t is None else _writable(t, trace) for t in _targets(out)])
    result = getattr(ufunc, method)(*values, **options)
    if out is None:
        if isinstance(result, tuple):
            return tuple([new_constant(trace, r, True) for r in result])
        return new_constant(trace, result, True)
    results = result if isinstance(result, tuple) else (result,)
    given = _padded(out, ufunc)
    both = tuple(new_constant(trace, r, True) if t is None else t for t, r in zip(given, results, strict=True))
    return both[0] if len(both) == 1 else both


def _targets(out: Out) -> tuple[Any, ...]:
    return () if out is None else out if isinstance(out, tuple) else (out,)


def _padded(out: Any, ufunc: np.ufunc) -> tuple[Any, ...]:
    targets = _targets(out)
    return (*targets, *[None] * (ufunc.nout - len(targets)))


def _writable(target: Traced, trace: Trace) -> Any:
    """The ndarray that a write of concrete values goes to."""
    if type(target) is not Tracer:
        return unwrap(target, trace)
    _check_array(target)
    target.check_writable()
    return target.writable_constant()


def _check_array(target: Traced) -> None:
    if type(target) is Tracer and target.is_scalar:
        raise TypeError("return arrays must be of ArrayType")


# -------------------------------------------------------------------------------------------------- ufunc(...)


def _call(
    ufunc: np.ufunc,
    inputs: Sequence[Any],
    *,
    out: tuple[Traced | None, ...] | None = None,
    where: Mask = True,
    dtype: DTypeLike | None = None,
    casting: Casting = "same_kind",
    order: str = "K",  # of the result's memory, which a traced value does not have
    subok: bool = True,  # there are no subclasses among traced values
    **options: Any,
) -> Any:
    targets = _padded(out, ufunc)
    for target in targets:
        _check_target(ufunc, target, inputs)
    is_written = any(target is not None for target in targets)
    if where is not True and not is_written:
        raise unsupported(
            f"{_name(ufunc)}: where= without out= leaves elements undefined",
            f"out=np.zeros(...), or another array that has the other elements: {_name(ufunc)}(..., out=y, where=mask)",
            f"np.where(mask, {_name(ufunc)}(...), other)",
        )
    inputs = _with_tracer(inputs, targets)
    for name, value in options.items():
        if not (name == "axis" and ufunc is np.vecdot):
            raise unsupported(f"{_name(ufunc)}: {name}={value!r} is not traced")
    if dtype is not None or casting != "same_kind":
        inputs = _cast(ufunc, inputs, dtype, casting)
    result = _apply(ufunc, inputs, options)
    if not is_written:
        return result
    results = result if isinstance(result, tuple) else (result,)
    both = [
        r if target is None else _write(ufunc, target, r, where, casting)
        for target, r in zip(targets, results, strict=True)
    ]
    return tuple(both) if len(both) > 1 else both[0]


def _check_target(ufunc: np.ufunc, target: Traced, inputs: Sequence[Any]) -> None:
    if target is None or type(target) is Tracer:
        _check_array(target)
        return
    raise MutationError(
        message(
            f"{_name(ufunc)}: out= is a concrete {type(target).__name__}, which cannot hold traced values",
            trace_near(inputs).locate(),
            tries=[
                "an array made inside the traced function, by np.empty or np.zeros",
                "np.array(u) or np.copy(u), which can hold them, instead of u.copy()",
                "the result, without out=",
            ],
        )
    )


def _with_tracer(inputs: Sequence[Any], targets: Sequence[Any]) -> list[Any]:
    """Operands among which is a tracer, although perhaps only ``out=`` was one. Python's numbers stay weak."""
    if any(type(x) is Tracer for x in inputs):
        return list(inputs)
    near = [t for t in targets if t is not None]
    if any(isinstance(x, np.ndarray | np.generic) for x in inputs):
        # np.float64 is a float, too, and not weak
        return [
            x if isinstance(x, PYTHON_NUMBERS) and not isinstance(x, np.generic) else array(x, near) for x in inputs
        ]
    return [array(x, near) for x in inputs]


def _cast(ufunc: np.ufunc, inputs: Sequence[Any], dtype: DTypeLike | None, casting: Casting) -> list[Any]:
    """Operands in the dtypes of the loop that ``dtype=`` and ``casting=`` choose."""
    kinds = [kind_of(x) for x in inputs]
    if all(k in PYTHON_NUMBERS for k in kinds):
        kinds = [np.dtype(k) for k in kinds]
    asked = [np.dtype(bool) if k is bool else k for k in kinds]
    outs = [None if dtype is None else np.dtype(dtype)] * ufunc.nout
    try:
        loop = ufunc.resolve_dtypes(
            (*asked, *[None] * ufunc.nout), signature=(*[None] * ufunc.nin, *outs), casting=casting
        )
    except TypeError as error:
        raise DTypeError(message(f"{_name(ufunc)}: {error}", trace_near(inputs).locate())) from error
    return [as_dtype(x, d, inputs) for x, d in zip(inputs, loop, strict=False)]


def _apply(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    op = find_op(ufunc)
    if op is not None:
        return apply_ufunc(ufunc, op, inputs)
    composed = COMPOSED.get(ufunc) or _of_several(ufunc)
    if composed is None:
        raise UnsupportedFunctionError(
            message(
                f"{_name(ufunc)} is not traced by wengert",
                trace_near(inputs).locate(),
                tries=["np.vectorize(f)(x), which gives numbers and no objects", "wg.broadcast(f, x)"]
                if ufunc.__name__.endswith(_OF_PYTHON)
                else ["a formula in functions that are (docs/coverage.md)", "wg.primitive around it"],
            )
        )
    return composed(*inputs, **options)


def _write(ufunc: np.ufunc, target: Tracer, value: Traced, where: Mask, casting: Casting) -> Tracer:
    if not np.can_cast(value.dtype, target.dtype, casting):
        raise DTypeError(
            message(
                f"{_name(ufunc)}: cannot cast the result from {value.dtype} to {target.dtype}, the dtype of out=, "
                f"with casting={casting!r}",
                trace_near((value, target)).locate(),
                tries=["casting='unsafe'", f"an out= of dtype {value.dtype}"],
            )
        )
    if where is not True:
        mask = array(where, (value, target))
        if mask.dtype != BOOL:
            raise TypeError(f"where= must be boolean, and is {mask.dtype}")
        value = record(select, (mask, as_dtype(value, target.dtype), target), {})
    if np.broadcast_shapes(value.shape, target.shape) != target.shape:
        raise ValueError(
            message(
                f"{_name(ufunc)}: the result has shape {value.shape}, out= has {target.shape}",
                trace_near((value, target)).locate(),
            )
        )
    target.assign(value)
    return target


def find_op(ufunc: np.ufunc) -> Op | None:
    """The op of a ufunc. The ops of scipy.special are imported when the first of its ufuncs asks for one."""
    op = UFUNCS.get(ufunc)
    if op is None and is_special(ufunc):
        import wengert.ops.special  # noqa: F401  # which registers them

        op = UFUNCS.get(ufunc)
    return op


def _of_several(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """A ufunc of scipy.special with several results, each of which is an op."""
    if not is_special(ufunc):
        return None
    from wengert.ops.special import SEVERAL

    ops = SEVERAL.get(ufunc)
    if ops is None:
        return None

    def several(*inputs: Any) -> Any:
        operands = _as_loop(ufunc, *inputs)
        return tuple([record(op, operands, {}) for op in ops])

    return several


def is_special(ufunc: np.ufunc) -> bool:
    """Whether a ufunc is one of scipy.special; only asks where that has been imported."""
    modules = [sys.modules.get(name) for name in ("scipy.special", "scipy.special._ufuncs")]
    return any(getattr(module, ufunc.__name__, None) is ufunc for module in modules if module is not None)


def _name(ufunc: np.ufunc) -> str:
    """The full public name."""
    name = ufunc.__name__
    if name.endswith(_OF_PYTHON):
        return f"np.frompyfunc of {name.removesuffix(_OF_PYTHON)}"
    if is_special(ufunc):
        return f"scipy.special.{name}"
    return f"np.strings.{name}" if getattr(np, name, None) is not ufunc and hasattr(np.strings, name) else f"np.{name}"


_OF_PYTHON = " (vectorized)"  # at the end of the name that NumPy gives to what np.frompyfunc makes


# ------------------------------------------------------------------------------------------- compositions of ops


def divmod_(x: Traced, y: Traced) -> Any:
    return np.floor_divide(x, y), np.remainder(x, y)


def _as_loop(ufunc: np.ufunc, *inputs: Any) -> list[Any]:
    """Operands converted to the dtypes of the loop that NumPy runs."""
    return _cast(ufunc, inputs, None, "same_kind")


def modf(x: Traced) -> Any:
    """The part after the point and the part before it, both with the sign of x; of ±inf, ±0 and ±inf."""
    (x,) = _as_loop(np.modf, x)
    finite = _where(np.isinf(x), np.copysign(0, x), x)
    return np.fmod(finite, 1), np.trunc(x)


def frexp(x: Traced) -> Any:
    """m and n with x = m 2ⁿ and ½ ≤ |m| < 1; m = x and n = 0 where x is 0 or not finite.

    ⌊log₂|x|⌋ + 1 may be wrong by one next to a power of two; m, which is exact, tells.
    """
    (x,) = _as_loop(np.frexp, x)
    is_regular = np.logical_and(np.isfinite(x), np.not_equal(x, 0))
    magnitude = np.absolute(_where(is_regular, x, 1))
    n = np.floor(np.log2(magnitude)).astype(np.int32) + 1
    m = np.ldexp(magnitude, np.negative(n))
    n = n + np.greater_equal(m, 1).astype(np.int32) - np.less(m, 0.5).astype(np.int32)
    n = _where(is_regular, n, 0)
    return np.ldexp(x, np.negative(n)), n


def _where(mask: Traced, x: Traced, y: Any) -> Any:
    """np.where of two values, the dtype being that of the one that is an array."""
    dtype = (x if type(x) is Tracer else y).dtype
    return record(select, (mask, as_dtype(x, dtype, (mask,)), as_dtype(y, dtype, (mask,))), {})


def clip(x: Traced, low: ArrayLike, high: ArrayLike) -> Any:
    """min(max(x, low), high), as NumPy has it also where low > high."""
    x, low, high = _as_loop(_CLIP, x, low, high)
    return np.minimum(np.maximum(x, low), high)


def isnat(x: Traced) -> Any:
    raise DTypeError(
        message("ufunc 'isnat' is only defined for np.datetime64 and np.timedelta64.", trace_near((x,)).locate())
    )


def vecdot(x: Any, y: Any, axis: int = -1) -> Any:
    if axis != -1:
        x, y = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
    return products.vecdot(x, y)


# Ufuncs that only NumPy itself names: what ndarray.clip calls (np.clip is a function), and one for arrays of objects.
_CLIP: np.ufunc = np._core.umath.clip  # type: ignore[attr-defined]  # private: not in the stubs
_ONES_LIKE: np.ufunc = np._core.umath._ones_like  # type: ignore[attr-defined]  # likewise

COMPOSED: dict[np.ufunc, Callable[..., Any]] = {
    np.divmod: divmod_,
    np.modf: modf,
    np.frexp: frexp,
    np.isnat: isnat,
    _CLIP: clip,
    _ONES_LIKE: ones_like,
    np.matmul: products.matmul,
    np.vecdot: vecdot,
}
"""Ufuncs that are more than one op."""

if hasattr(np, "matvec"):  # since NumPy 2.2
    COMPOSED |= {np.matvec: products.matvec, np.vecmat: products.vecmat}


# ------------------------------------------------------------------------------------------------------- reduce

_REDUCTIONS: dict[np.ufunc, Any] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_or: np.any,
    np.logical_and: np.all,
}

_COMMUTATIVE = frozenset(
    [np.fmax, np.fmin, np.logaddexp, np.logaddexp2, np.hypot, np.gcd, np.lcm]
    + [np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_xor]
)
"""Further ufuncs that may be applied to the elements in any order: associative as well as commutative."""

_INVERSES: dict[np.ufunc, tuple[np.ufunc, int]] = {np.subtract: (np.add, 0), np.divide: (np.multiply, 1)}
"""x₀ − x₁ − x₂ ... = x₀ − (x₁ + x₂ + ...), and its like: the other ufunc, and its identity."""


def _binary_only(ufunc: np.ufunc, method: str) -> None:
    if ufunc.nin != 2 or ufunc.nout != 1:
        raise ValueError(f"{method} only supported for binary functions")
    if ufunc.signature is not None:
        raise RuntimeError(f"Reduction not defined on ufunc with signature: {ufunc.__name__}.{method}")


def _refused(ufunc: np.ufunc, method: str, *tries: str) -> UnsupportedFunctionError:
    return unsupported(f"{_name(ufunc)}.{method} is not traced by wengert", *tries)


def _loop_of_reduction(ufunc: np.ufunc, x: Tracer, dtype: Any, target: Traced) -> np.dtype[Any]:
    """The dtype in which NumPy reduces ``x``, in which ``out=`` has its say."""
    return _reduction_dtype(ufunc, x.dtype, dtype, None if target is None else target.dtype)


@functools.lru_cache(maxsize=1024)
def _reduction_dtype(
    ufunc: np.ufunc, x: np.dtype[Any], dtype: DTypeLike | None, target: np.dtype[Any] | None
) -> np.dtype[Any]:
    """Asked of NumPy, on one element."""
    if dtype is None and target is not None:
        return ufunc.resolve_dtypes((target, x, None))[-1]
    return ufunc.reduce(np.ones(1, x), dtype=dtype).dtype


def _reduce(
    ufunc: np.ufunc,
    inputs: Sequence[Any],
    *,
    axis: Axis = 0,
    dtype: DTypeLike | None = None,
    out: tuple[Traced | None, ...] | None = None,
    keepdims: bool = False,
    initial: Number = MISSING,
    where: Mask = True,
) -> Any:
    _binary_only(ufunc, "reduce")
    (target,) = _padded(out, ufunc)
    _check_target(ufunc, target, inputs)
    x = array(inputs[0], (target,))
    axes = axes_of(axis, x.ndim)
    if initial is None:
        initial = MISSING
        if not all(x.shape[k] for k in axes):
            raise _no_identity(ufunc)
    if type(initial) is list or type(initial) is tuple:
        raise TypeError("initial= must be a number")
    loop = _loop_of_reduction(ufunc, x, dtype, target)
    masked = {} if where is True else {"where": where}
    started = {} if initial is MISSING else {"initial": initial}
    if ufunc in (np.add, np.multiply):
        result = _REDUCTIONS[ufunc](x, axis=axes, dtype=loop, keepdims=keepdims, **started, **masked)
    elif ufunc in (np.maximum, np.minimum):
        result = _REDUCTIONS[ufunc](as_dtype(x, loop), axis=axes, keepdims=keepdims, **started, **masked)
    elif ufunc in _REDUCTIONS:
        result = _REDUCTIONS[ufunc](x, axis=axes, keepdims=keepdims, **masked)
        if started:
            result = ufunc(initial, result)
    else:
        x = as_dtype(x, loop)
        result = _fold(ufunc, x, axes, initial, where)
        if result is x:  # of no axes
            result = scalar(x.copy())
        if keepdims:
            shape = tuple([1 if k in axes else n for k, n in enumerate(x.shape)])
            result = record(reshape, (result,), {"shape": shape})
    return result if target is None else _write(ufunc, target, result, True, "unsafe")


def _no_identity(ufunc: np.ufunc) -> ValueError:
    return ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")


def _fold(ufunc: np.ufunc, x: Traced, axes: tuple[int, ...], initial: Number, where: Mask) -> Any:
    """Reduce by a ufunc that has no op of its own for it."""
    has_initial = initial is not MISSING
    inverse, identity = _INVERSES.get(ufunc, (None, ufunc.identity))
    if inverse is None and ufunc not in _COMMUTATIVE:
        raise _refused(ufunc, "reduce", "a loop over the axis")
    if len(axes) > 1 and (inverse is not None or ufunc is np.lcm):
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified"
        )
    if identity is not None:
        identity = np.asarray(identity).astype(x.dtype).item()  # -1, all bits, is 255 for uint8
    if where is not True:
        if not has_initial and (inverse is not None or identity is None):
            raise ValueError(
                f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where mask one has "
                "to specify 'initial'"
            )
        mask = array(where, (x,))
        shape = np.broadcast_shapes(mask.shape, x.shape)
        x = record(broadcast_to, (x,), {"shape": shape}) if shape != x.shape else x
        x = _where(mask, x, initial if identity is None else identity)
    if inverse is not None:
        return _fold_by_inverse(ufunc, inverse, x, axes, initial)
    order = front_order(x.ndim, axes)
    shape = tuple([x.shape[k] for k in order[len(axes) :]])
    n = 1
    for k in axes:
        n *= x.shape[k]
    if n == 0:
        if identity is None and not has_initial:
            raise _no_identity(ufunc)
        value = initial if has_initial else identity
        return record(broadcast_to, (as_dtype(value, x.dtype, (x,)),), {"shape": shape})
    if n == 1 and identity is not None and not has_initial:
        has_initial, initial = True, identity  # NumPy starts with it: the hypotenuse of one -3 is 3
    x = record(reshape, (record(transpose, (x,), {"axes": order}),), {"shape": (n, *shape)})
    while n > 1:
        half = n // 2
        folded = ufunc(x[:half], x[half : 2 * half])
        x = folded if n % 2 == 0 else np.concatenate([folded, x[2 * half :]])
        n -= half
    x = record(reshape, (x,), {"shape": shape})
    return ufunc(initial, x) if has_initial else x


def _fold_by_inverse(ufunc: np.ufunc, inverse: np.ufunc, x: Traced, axes: Sequence[int], initial: Number) -> Any:
    """x₀ − (x₁ + x₂ + ...), along one axis or none."""
    if initial is not MISSING:
        return ufunc(initial, inverse.reduce(x, axis=tuple(axes)))
    if not axes:
        return x
    if not x.shape[axes[0]]:
        raise _no_identity(ufunc)
    rest = inverse.reduce(x[along(axes[0], slice(1, None))], axis=axes[0])
    return ufunc(x[along(axes[0], 0)], rest)


# --------------------------------------------------------------------------------------------------- accumulate


def _accumulate(
    ufunc: np.ufunc,
    inputs: Sequence[Any],
    *,
    axis: Any = 0,
    dtype: DTypeLike | None = None,
    out: tuple[Traced | None, ...] | None = None,
) -> Any:
    _binary_only(ufunc, "accumulate")
    (target,) = _padded(out, ufunc)
    _check_target(ufunc, target, inputs)
    x = array(inputs[0], (target,))
    if x.ndim == 0:
        raise TypeError("cannot accumulate on a scalar")
    if axis is None or isinstance(axis, tuple):
        axes = axes_of(axis, x.ndim)
        if len(axes) != 1:
            raise ValueError("accumulate does not allow multiple axes")
        (axis,) = axes
    axis = normalize_axis_index(axis, x.ndim)
    x = as_dtype(x, _loop_of_reduction(ufunc, x, dtype, target))
    result = _running(ufunc, x, axis)
    return result if target is None else _write(ufunc, target, result, True, "unsafe")


def _running(ufunc: np.ufunc, x: Traced, axis: int) -> Any:
    if ufunc is np.add:
        return np.cumsum(x, axis, x.dtype)
    if ufunc is np.multiply:
        return np.cumprod(x, axis, x.dtype)
    if ufunc in (np.maximum, np.logical_or):
        return record(cummax, (x,), {"axis": axis})
    if ufunc in (np.minimum, np.logical_and):
        return record(cummin, (x,), {"axis": axis})
    n = x.shape[axis]
    if n < 2:
        return x.copy()
    if ufunc in _INVERSES:
        inverse, _ = _INVERSES[ufunc]
        first = x[along(axis, slice(0, 1))]
        rest = inverse.accumulate(x[along(axis, slice(1, None))], axis=axis, dtype=x.dtype)
        return np.concatenate([first, ufunc(first, rest)], axis)
    if ufunc not in _COMMUTATIVE:
        raise _refused(ufunc, "accumulate", "a loop over the axis")
    step = 1
    while step < n:  # after each round every element holds the last 2·step up to itself
        head = x[along(axis, slice(0, step))]
        tail = ufunc(x[along(axis, slice(0, n - step))], x[along(axis, slice(step, n))])
        x = np.concatenate([head, tail], axis)
        step *= 2
    return x


# -------------------------------------------------------------------------------------------------------- outer


def _outer(ufunc: np.ufunc, inputs: Sequence[Any], **options: Any) -> Any:
    """ufunc over all pairs: the axes of the first operand before those of the second."""
    _binary_only(ufunc, "outer product")
    near = [*inputs, *_targets(options.get("out"))]
    x, y = [_strong(array(one, near)) for one in inputs]
    if y.ndim:
        x = record(reshape, (x,), {"shape": (*x.shape, *[1] * y.ndim)})
    return _call(ufunc, (x, y), **options)


def _strong(x: Tracer) -> Tracer:
    """A Python number as the array that ``outer`` makes of it, which is not weak."""
    return x.copy() if x.weak else x


# ----------------------------------------------------------------------------------------------------------- at


def _at(ufunc: np.ufunc, inputs: Sequence[Any]) -> None:
    """``x[key] = ufunc(x[key], value)``, once for every time that an element is named by the key."""
    x, key, *values = inputs
    if len(values) != ufunc.nin - 1:
        raise ValueError(f"{ufunc.__name__}.at takes {ufunc.nin - 1} operands beside the array and its index")
    if ufunc.nout != 1 or ufunc.signature is not None:
        raise ValueError("Only single output ufuncs supported at this time")
    _check_target(ufunc, x, [key, *values])
    x.check_writable()
    kinds = [x.dtype, *[kind_of(v) for v in values]]
    *_, dtype = ufunc.resolve_dtypes((*[np.dtype(bool) if k is bool else k for k in kinds], None))
    if not np.can_cast(dtype, x.dtype, "same_kind"):
        raise DTypeError(
            message(
                f"{_name(ufunc)}.at: cannot cast the result from {dtype} to {x.dtype}",
                trace_near((x, *values)).locate(),
            )
        )
    if not parse(x, key).arrays:
        x[key] = ufunc(x[key], *values)
    elif ufunc is np.add:
        _add_at(x, key, as_dtype(values[0], x.dtype, (x,)))
    elif ufunc is np.subtract:
        _add_at(x, key, np.negative(as_dtype(values[0], x.dtype, (x,))))
    else:
        _at_in_rounds(ufunc, x, key, values)


def _add_at(x: Tracer, key: object, value: Traced) -> None:
    """Add at index arrays, of which some may be traced; a scatter adds up what falls on one element."""
    basic, arrays, axes, lead = parse(x, key)
    region = region_shape(basic.index)
    index_shape = np.broadcast_shapes(*[a.shape for a in arrays])
    rest = [n for k, n in enumerate(basic.shape) if k not in axes]
    result_shape = (*rest[:lead], *index_shape, *rest[lead:])
    value = fit(value, result_shape, x)
    front = front_order(len(basic.shape), axes)
    back = lead_order(len(index_shape), len(result_shape), lead)

    def added(base: Atom) -> Atom:
        part = transpose(reshape(slice_(base, index=basic.index), shape=basic.shape), axes=front)
        v = base_lift(x, value)
        if v.aval.shape != ():
            v = transpose(broadcast_to(v, shape=result_shape), axes=inverse_permutation(back))
        done = scatter_add(part, v, *[base_lift(x, a) for a in arrays])
        done = transpose(done, axes=inverse_permutation(front))
        return set_slice(base, shaped(done, basic.shape, region), index=basic.index)

    write(x, added, value, *arrays)


def _at_in_rounds(ufunc: np.ufunc, x: Tracer, key: object, values: Sequence[Any]) -> None:
    """Round r does what is named for the r-th time, so no round names an element twice."""
    if holds_traced(key if isinstance(key, tuple) else (key,)):
        raise unsupported(
            f"{_name(ufunc)}.at with a traced index is not traced by wengert",
            "np.add.at and np.subtract.at, which are",
            "an index that is made inside of the function, of numbers",
        )
    trace = trace_near((x,))
    places = np.arange(x.size).reshape(x.shape)[plain(key)]
    values = [np.reshape(np.broadcast_to(array(v, (x,)), places.shape), (-1,)).copy() for v in values]
    places = places.ravel()
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    counts = np.diff(np.concatenate([starts, [places.size]]))
    turn = np.empty(places.size, INTP)
    turn[order] = np.arange(places.size) - np.repeat(starts, counts)
    for r in range(int(counts.max(initial=0))):
        mine = np.flatnonzero(turn == r)
        where = tuple([constant(trace, i) for i in np.unravel_index(places[mine], x.shape)])
        x[where] = ufunc(x[where], *[v[constant(trace, mine)] for v in values])


# ----------------------------------------------------------------------------------------------------- reduceat


def _reduceat(
    ufunc: np.ufunc, inputs: Sequence[Any], *, axis: Any = 0, dtype: DTypeLike | None = None, out: Any = None
) -> Any:
    """One reduction a segment, from each index to the next; a single element where that lies before it."""
    _binary_only(ufunc, "reduceat")
    (target,) = _padded(out, ufunc)
    _check_target(ufunc, target, inputs)
    x, indices = inputs
    if holds_traced(indices):
        raise unsupported(
            f"{_name(ufunc)}.reduceat with traced indices is not traced by wengert",
            "np.add.at with the number of its segment for each element",
        )
    trace = trace_near([*inputs, *_targets(out)])
    starts = np.asarray(unwrap(indices, trace)).astype(INTP)
    x = array(x, (target,))
    axis = normalize_axis_index(axis, x.ndim)
    n = x.shape[axis]
    for k in starts:
        if not 0 <= k < n:
            raise IndexError(f"index {k} out-of-bounds in {ufunc.__name__}.reduceat [0, {n})")
    x = as_dtype(x, _loop_of_reduction(ufunc, x, dtype, target))
    stops = [int(k) for k in (*starts[1:], n)]
    segments = [
        range(int(k), stop) if k < stop else range(int(k), int(k) + 1) for k, stop in zip(starts, stops, strict=False)
    ]
    if ufunc is np.add:
        result = _segment_sums(trace, x, segments, axis)
    else:
        parts = [ufunc.reduce(x[along(axis, slice(s.start, s.stop))], axis=axis, keepdims=True) for s in segments]
        empty = x[along(axis, slice(0, 0))]
        result = np.concatenate(parts, axis) if parts else empty
    if target is not None:
        return _write(ufunc, target, result, True, "unsafe")
    out = result.copy()
    if out.ndim > 1 and not has_c_order(x):
        out.reorder(UNKNOWN_ORDER)
    return out


def _segment_sums(trace: Trace, x: Any, segments: Sequence[range], axis: int) -> Any:
    """All sums by one scatter: segments may be many, and differences of running sums would cancel."""
    elements = np.concatenate([np.arange(s.start, s.stop) for s in segments] or [np.arange(0)])
    number = np.repeat(np.arange(len(segments)), [len(s) for s in segments])
    rows = np.moveaxis(x, axis, 0)[constant(trace, elements)]
    sums: Any = new_constant(trace, np.zeros((len(segments), *rows.shape[1:]), x.dtype), False)
    np.add.at(sums, constant(trace, number), rows)
    return np.moveaxis(sums, 0, axis)


_METHODS: dict[str, Callable[..., Any]] = {
    "__call__": _call,
    "reduce": _reduce,
    "accumulate": _accumulate,
    "outer": _outer,
    "at": _at,
    "reduceat": _reduceat,
}

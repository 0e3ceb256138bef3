"""``np.vectorize`` of a Python function: called for one element after another, as NumPy does, each call recorded.

The function is Python code that may branch, count its calls or draw numbers, so it is called as often as NumPy calls
it. A function that does none of that is one instruction by ``wengert.broadcast``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.tracing import hooks
from wengert.tracing.arguments import array, scalar
from wengert.tracing.functions.creation import NUMBER_KINDS, constant
from wengert.tracing.interception.asking import AT_FUNCTIONS
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.interception.python_functions import original
from wengert.tracing.tracer import Tracer


@intercepts("numpy:vectorize.__call__", AT_FUNCTIONS)
def vectorize(vectorized: np.vectorize, *args: Any, **kwargs: Any) -> Any:
    """``vectorized(*args, **kwargs)``, ``vectorized`` being ``np.vectorize(pyfunc, ...)``."""
    if vectorized.pyfunc is np._NoValue:  # it is given its function, as a decorator
        return original(np.vectorize.__call__)(vectorized, *args, **kwargs)
    names = [name for name in kwargs if name not in vectorized.excluded]
    places = [k for k in range(len(args)) if k not in vectorized.excluded]

    def call(*elements: Any) -> Any:
        new_args, new_kwargs = list(args), dict(kwargs)
        for k, x in zip(places, elements, strict=False):
            new_args[k] = x
        new_kwargs.update(zip(names, elements[len(places) :], strict=True))
        return vectorized.pyfunc(*new_args, **new_kwargs)

    operands = [_operand(x) for x in (*[args[k] for k in places], *[kwargs[name] for name in names])]
    if not operands and vectorized.signature is None:
        return call()
    if vectorized.signature is None:
        return _elementwise(vectorized, call, operands)
    return _of_core(vectorized, call, operands)


def _operand(x: ArrayLike) -> Any:
    """A traced array; NumPy's own of text or objects."""
    given: Any = x if isinstance(x, Tracer | np.ndarray | np.generic) else hooks.array(x)
    return array(given) if given.dtype.kind in NUMBER_KINDS else np.asarray(given)


def _elementwise(vectorized: np.vectorize, call: Callable[..., Any], operands: Sequence[Any]) -> Any:
    shape = np.broadcast_shapes(*[x.shape for x in operands])
    operands = [np.broadcast_to(x, shape) for x in operands]
    first: list[Any] = []
    if vectorized.otypes is None:  # NumPy asks the first element for the dtypes, and then begins
        if not operands[0].size:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        first = [call(*[x[(0,) * x.ndim] for x in operands])]
    kept = len(first) if vectorized.cache else 0
    results = [*first[:kept], *[call(*[x[i] for x in operands]) for i in list(np.ndindex(shape))[kept:]]]
    like = (first or results or [()])[0]
    count = len(vectorized.otypes) if vectorized.otypes is not None else len(like) if isinstance(like, tuple) else 1
    is_many = count > 1
    rows = [r if is_many or (isinstance(r, tuple) and vectorized.otypes is None) else (r,) for r in results]
    dtypes = vectorized.otypes or [_dtype(y) for y in (like if isinstance(like, tuple) else (like,))]
    outs = [_filled([row[k] for row in rows], shape, (), np.dtype(dtypes[k])) for k in range(count)]
    return tuple(outs) if is_many else outs[0]


def _dtype(y: ArrayLike) -> Any:
    return y.dtype if isinstance(y, Tracer) else np.asarray(y).dtype


def _filled(results: Sequence[Any], shape: Sequence[int], core: Sequence[int], dtype: np.dtype[Any]) -> Any:
    """The results of all calls, in one array; cast to the dtype of the first, as NumPy does."""
    if not results:
        return constant(np.empty((*shape, *core), dtype))
    stacked = hooks.array(list(results))
    if type(stacked) is not Tracer:  # of text or objects
        return np.reshape(stacked.astype(dtype), (*shape, *core))
    return scalar(np.reshape(stacked.astype(dtype), (*shape, *core)))


# ----------------------------------------------------------------------------------------------------- signature=


def _core_dimensions(signature: str) -> tuple[list[list[str]], list[list[str]]]:
    """``"(m,n),(n)->(m)"`` as the names of both sides. NumPy has checked it."""

    def names(side: str) -> list[list[str]]:
        groups = "".join(side.split())[1:-1].split("),(")
        return [[name for name in group.split(",") if name] for group in groups]

    before, after = signature.split("->")
    return names(before), names(after)


def _of_core(vectorized: Any, call: Callable[..., Any], operands: Sequence[Any]) -> Any:
    inputs, outputs = _core_dimensions(vectorized.signature)
    if len(operands) != len(inputs):
        raise TypeError(f"wrong number of positional arguments: expected {len(inputs)!r}, got {len(operands)!r}")
    sizes: dict[str, int] = {}
    for x, names in zip(operands, inputs, strict=True):
        if x.ndim < len(names):
            raise ValueError(f"{x.ndim}-dimensional argument does not have enough dimensions for all core dimensions")
        _check_core(sizes, names, x.shape[x.ndim - len(names) :])
    loops = [x.shape[: x.ndim - len(names)] for x, names in zip(operands, inputs, strict=True)]
    shape = np.broadcast_shapes(*loops)
    spread = [np.broadcast_to(x, shape + x.shape[len(loop) :]) for x, loop in zip(operands, loops, strict=True)]
    rows: list[tuple[Any, ...]] = []
    for i in np.ndindex(shape):
        results = call(*[x[i] for x in spread])
        count = len(results) if isinstance(results, tuple) else 1
        if count != len(outputs):
            raise ValueError(f"wrong number of outputs from pyfunc: expected {len(outputs)!r}, got {count!r}")
        rows.append((results,) if len(outputs) == 1 else results)
        if len(rows) == 1:
            for y, names in zip(rows[0], outputs, strict=True):
                _check_core(sizes, names, np.shape(y)[len(np.shape(y)) - len(names) :])
    if not rows and vectorized.otypes is None:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    outs = []
    for k, names in enumerate(outputs):
        if any(name not in sizes for name in names):
            raise ValueError(
                "cannot call `vectorize` with a signature including new output dimensions on size 0 inputs"
            )
        core = tuple([sizes[name] for name in names])
        dtype = np.dtype(vectorized.otypes[k] if vectorized.otypes is not None else _dtype(rows[0][k]))
        outs.append(_filled([np.broadcast_to(row[k], core) for row in rows], shape, core, dtype))
    return outs[0] if len(outputs) == 1 else tuple(outs)


def _check_core(sizes: dict[str, int], names: Sequence[str], shape: Sequence[int]) -> None:
    for name, n in zip(names, shape, strict=True):
        if sizes.setdefault(name, n) != n:
            raise ValueError(f"inconsistent size for core dimension {name!r}: {n} vs {sizes[name]}")

"""Elementwise ops whose values SciPy computes, and whose derivatives are formulas in NumPy.

What SciPy computes in C, by a loop or by numerical integration is one step on the tape: SciPy's own method runs, so the
value is SciPy's bit for bit. A *slope* is the partial derivative in one argument, a function of the arguments and the
value that is written in NumPy and traced where it is needed; so it may be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.errors import MissingRuleError
from wengert.higher.primitive import traced_rule
from wengert.ops.kernels import Callback, flops
from wengert.ops.op import Op, broadcast_shapes, elementwise_batch
from wengert.tape import Atom, Aval
from wengert.tracing.arguments import Traced, as_dtype
from wengert.tracing.emit import record

Slope = Callable[..., Any] | str
"""``slope(*xs, y)``, in NumPy; or why there is none."""

_ops: dict[Any, Op] = {}


def known(key: Any, name: str, value: Callable[..., Any], slopes: Sequence[Slope], xs: Sequence[Any]) -> Any:
    """``value(*xs)``, which is float64, as one step; ``key`` says which function it is."""
    op = _ops.get(key)
    if op is None:
        op = _ops[key] = _declared(name, value, slopes)
    return record(op, [as_dtype(x, np.float64, xs) for x in xs], {})


def _declared(name: str, value: Callable[..., Any], slopes: Sequence[Slope]) -> Op:
    def reference(*xs: Traced) -> Any:
        xs = tuple(np.broadcast_arrays(*xs))
        if xs[0].size == 0:
            return np.zeros(xs[0].shape)
        found = np.asarray(value(*[x.ravel() for x in xs]), dtype=np.float64)
        return np.array(np.broadcast_to(found, xs[0].size)).reshape(xs[0].shape)

    def kind(*avals: Aval) -> Aval:
        return Aval(broadcast_shapes(name, *avals), np.dtype(np.float64))

    op = Op(
        name=name,
        reference=reference,
        type=kind,
        kernel=Callback("a function of SciPy's"),
        cost=flops(1000),
        partials=tuple([_partial(name, slope) for slope in slopes]),
    )
    object.__setattr__(op, "batch", elementwise_batch(op))  # the rule needs the op that it belongs to
    return op


def _partial(name: str, slope: Slope) -> Callable[..., Any]:
    def partial(*xs_y: Atom) -> Any:
        if isinstance(slope, str):
            raise MissingRuleError(f"{name}: {slope}")
        return traced_rule(name, slope, *xs_y)

    return partial


def slope_of(f: Callable[..., Any], k: int, *xs: Traced) -> Any:
    """∂f/∂x_k of a function that computes element by element."""
    one = np.where(xs[k] == xs[k], 1.0, 1.0)  # a step, and not an array: the rule may be used in the body of a loop
    return wg.jvp(lambda x: f(*xs[:k], x, *xs[k + 1 :]), (xs[k],), (one,))[1]


def slopes_of(f: Callable[..., Any], count: int) -> list[Slope]:
    """The slopes of ``f``, written in NumPy, in each of its ``count`` arguments."""
    return [lambda *xs_y, k=k: slope_of(f, k, *xs_y[:-1]) for k in range(count)]

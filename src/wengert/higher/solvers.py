"""``solver``: a routine that is run on functions, each of them a tape, such as one of SciPy's.

What the routine computes is a constant to derivatives: it finds a solution, and :mod:`wengert.higher.implicit` says how
that moves. The functions are recorded once; their captured values are operands of the op, so the routine is run with
those of each call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import ShapeError, message
from wengert.ops.kernels import Callback, flops
from wengert.ops.op import ZERO, Op, named
from wengert.tape import Aval, Tape
from wengert.tracing.stack import suspended

Routine = Callable[[Sequence[tuple[Tape, Sequence[Any]]], Sequence[Any]], tuple[Any, ...]]
"""A routine, hashable: it takes a tape and the values of its constants for each function, and arrays."""


class SolvedFunction(NamedTuple):
    """A function of the routine's: its first inputs are constants, which are operands of the op."""

    tape: Tape
    constants: int


def _run(
    *xs: Any, routine: Routine, functions: Sequence[SolvedFunction], out: Sequence[Aval], maps: Sequence[Any]
) -> Any:
    if maps:
        (size, flags), rest = maps[0], maps[1:]
        inner = [Aval(a.shape[1:], a.dtype) for a in out]
        rows = []
        for i in range(size):
            row = _run(
                *[x[i] if is_batched else x for x, is_batched in zip(xs, flags, strict=True)],
                routine=routine, functions=functions, out=inner, maps=rest,
            )  # fmt: skip
            rows.append(row)
        return tuple([
            np.stack([row[k] for row in rows]) if rows else np.zeros(a.shape, a.dtype) for k, a in enumerate(out)
        ])  # fmt: skip
    given, first = [], 0
    for f in functions:
        given.append((f.tape, xs[first : first + f.constants]))
        first += f.constants
    with suspended():
        found = routine(given, xs[first:])
    arrays = tuple([np.array(y, a.dtype) for y, a in zip(found, out, strict=True)])
    for y, a in zip(arrays, out, strict=True):
        if y.shape != a.shape:
            what = f"{routine} returned an array of shape {y.shape}; expected {a.shape}"
            raise ShapeError(message(what, tries=["results whose shapes depend on the arguments' shapes alone"]))
    return arrays


def _batch(
    xs: Sequence[Any],
    flags: Sequence[bool],
    size: int,
    *,
    routine: Routine,
    functions: Sequence[SolvedFunction],
    out: Sequence[Aval],
    maps: tuple[Any, ...],
) -> Any:
    wide = tuple([Aval((size, *a.shape), a.dtype) for a in out])
    maps = ((size, tuple(flags)), *maps)
    return solver(*xs, routine=routine, functions=functions, out=wide, maps=maps)


solver = named(
    Op(  # the constants of each function, arrays -> arrays, two at least
        name="solver",
        reference=_run,
        type=lambda *avals, routine, functions, out, maps: out,
        kernel=Callback("a solver, which calls functions"),
        cost=flops(1000),
        pushforward=ZERO,
        pullback=(ZERO,),
        batch=_batch,
        is_variadic=True,
    )
)

"""A function recorded once with its arguments, and run again step by step: the ground of ``smooth`` and ``digits``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from wengert import Tape


class StraightCall(NamedTuple):
    """One call of a function, as straight-line steps."""

    name: str
    call: Callable[..., Any]
    """The function of the arrays that are traced; all other arguments are as they were given."""
    tape: Tape
    """The steps that this call takes, iterations and branches taken included."""
    inputs: tuple[Any, ...]
    """The arrays and numbers that are traced, in the order of ``tape.inputs``."""


def recorded(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> StraightCall:
    """Record ``f(*args, **kwargs)`` and unroll what was recorded."""
    tape = wg.trace(f)(*args, **kwargs)
    leaves, treedef = wg.tree.flatten((tuple(args), kwargs))
    fixed = {k for k, _ in tape.in_static}
    traced = [k for k in range(len(leaves)) if k not in fixed]
    inputs = tuple([np.asarray(leaves[k], v.aval.dtype)[()] for k, v in zip(traced, tape.inputs, strict=True)])

    def call(*xs: Any) -> Any:
        new = list(leaves)
        for k, x in zip(traced, xs, strict=True):
            new[k] = x
        given, by_keyword = wg.tree.unflatten(treedef, new)
        return f(*given, **by_keyword)

    return StraightCall(getattr(f, "__name__", tape.name), call, wg.edit.unroll(tape, *inputs), inputs)


def without_effects(tape: Tape) -> Tape:
    """Return the tape without guards: it can then be played with other inputs, along the same path."""
    return tape.replace(instrs=tuple([i for i in tape.instrs if not i.op.effects]))


def replayed(tape: Tape, *xs: Any) -> list[Any]:
    """Run a tape without effects on arrays, or on values of a function that is being traced; return its outputs."""
    values: dict[Any, Any] = dict(zip(tape.inputs, xs, strict=True))
    values.update([(c.var, c.array) for c in tape.captures])
    for op, ins, outs, params, _ in tape.instrs:
        result = op(*[value_of(a, values) for a in ins], **params)
        values.update(zip(outs, (result,) if len(outs) == 1 else result, strict=True))
    return [value_of(a, values) for a in tape.outputs]


def value_of(a: Any, values: dict[Any, Any]) -> Any:
    """Return the value of a variable, or of a literal its own."""
    return values[a] if a in values else a.value

"""Arrays that are assembled of pieces: by one step, by a step of a loop, or in all iterations at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.batching import batch
from wengert.ops.index import everything, scatter_set, set_slice
from wengert.ops.shape import concatenate, reshape
from wengert.passes.reroll.columns import Places
from wengert.passes.reroll.iteration import Iteration
from wengert.passes.reroll.pieces import IterationStep, as_piece
from wengert.passes.reroll.reads import Reads
from wengert.tape import Atom, Aval, Builder, Tape, Var, building, current_builder, splice


def assembled(step: IterationStep, atoms: Sequence[Atom], places: Sequence[Any]) -> Atom:
    """Return the array that ``step`` assembles of ``atoms``. ``places`` are counted in pieces: numbers, or values that
    are known when the program runs."""
    aval = step.outs[0].aval
    n = len(places)
    unit = atoms[-1].aval.shape
    rows_shape = (aval.size // Aval(unit, aval.dtype).size, *unit)
    if step.is_covered:
        rows = [reshape(a, shape=(1, *unit)) for a in atoms]
        return reshape(concatenate(*rows, axis=0), shape=aval.shape)
    made = reshape(atoms[0], shape=rows_shape)
    for value, at in zip(atoms[-n:], places, strict=True):
        if type(at) is int:
            made = set_slice(made, value, index=(at, *everything(unit)))
        else:
            made = scatter_set(made, value, at)
    return reshape(made, shape=aval.shape)


def assembled_at_once(it: Iteration, j: int, atoms: Sequence[Atom], is_stacked: Sequence[bool]) -> Any:
    """Return the arrays that step ``j`` assembles in all iterations, stacked; None if the places of the pieces differ.

    ``atoms`` are its operands, stacked over the iterations or one for all of them. If all are one for all iterations,
    so is the result, which is not stacked then.
    """
    count, step = it.run.count, it.step(j)
    if any(it.step(j, k).places != step.places for k in range(count)):
        return None
    size = as_piece(step.refs[-1]).aval.size
    places = [p // size for p in step.places]
    if not any(is_stacked):
        return (assembled(step, atoms, places),)
    inputs = [Var(as_piece(r).aval) for r in step.refs]
    builder = Builder()
    with building(builder):
        out = assembled(step, inputs, places)
    one = Tape(inputs=tuple(inputs), captures=(), instrs=builder.instrs, outputs=(out,))
    return tuple(splice(current_builder(), batch(one, is_stacked, count), atoms, ()))


def assembled_alone(step: IterationStep, reads: Reads, places: Places) -> Atom:
    """Return the array that a step assembles which is in no loop."""
    aval, n = step.outs[0].aval, len(step.places)
    values = places.stacked(reads.column(step.refs[-n:]))
    if step.is_covered:
        return reshape(values, shape=aval.shape)
    unit = values.aval.shape[1:]
    size = Aval(unit, aval.dtype).size
    rows = reshape(places.atom(step.refs[0]), shape=(aval.size // size, *unit))
    at = np.array(step.places) // size
    steps = np.unique(np.diff(at))
    if len(steps) <= 1:
        index = ((int(at[0]), n, int(steps[0]) if len(steps) else 1), *[(0, m, 1) for m in unit])
        made = set_slice(rows, values, index=index)
    else:
        made = scatter_set(rows, values, places.constant(at))
    return reshape(made, shape=aval.shape)

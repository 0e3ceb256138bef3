"""Which elements of a function's results depend on which elements of its arguments, whatever the values are.

The tape is run with another meaning: a value is zero where nothing is passed on, and any positive number elsewhere. A
step that works element by element passes on what any operand has at that place, and a linear step what it moves and
adds, of numbers drawn at random, so that none cancel. Of any other step all results depend on all operands. So the
pattern may have more entries than the Jacobian ever has, and never fewer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

MOST_BYTES = 500_000_000
"""A function is taken for dense if all its values take more, for all elements of its arguments at once."""


class JacobianPattern(NamedTuple):
    """The elements of a Jacobian that can be other than zero."""

    blocks: list[list[Array]]
    """bool[*y, *x] for each result y and each argument x."""
    indices: list[tuple[Array, Array]]
    """The captured arrays of indices by which elements were moved, and copies of them: with others it does not hold."""

    def holds(self) -> bool:
        """Return whether the captured indices are what they were."""
        return all(np.array_equal(now, then) for now, then in self.indices)


def pattern(f: Callable[..., Any], shapes: Sequence[Shape]) -> JacobianPattern | None:
    """Return the pattern of ``f``, which takes float64 of ``shapes``.

    None where nothing is known: ``f`` branches on values, or is too large.
    """
    rng = np.random.default_rng(0)
    try:
        with np.errstate(all="ignore"):  # the values are of no interest
            tape = wg.trace(f)(*[rng.uniform(0.5, 1, shape) for shape in shapes])
    except wg.errors.WengertError:  # it cannot be traced: then nothing is known of all values
        return None
    n = sum(map(math.prod, shapes))
    has_guards = any(i.op.effects for i in tape.instrs)
    if has_guards or n * sum(v.aval.nbytes for i in tape.instrs for v in i.outs) > MOST_BYTES:
        return None
    seeds = np.split(np.eye(n), np.cumsum([math.prod(s) for s in shapes])[:-1], axis=1)
    found = wg.vmap(_passed_on(tape))(*[x.reshape(n, *s) for x, s in zip(seeds, shapes, strict=True)])
    ends = np.cumsum([0, *map(math.prod, shapes)])
    blocks = [
        [
            np.moveaxis(y[a:b] != 0, 0, -1).reshape(*y.shape[1:], *s)
            for a, b, s in zip(ends, ends[1:], shapes, strict=False)
        ]
        for y in found
    ]
    return JacobianPattern(blocks, [(c.array, c.array.copy()) for c in tape.captures if not c.var.aval.is_inexact])


def _passed_on(tape: wg.Tape) -> Callable[..., tuple[Array, ...]]:
    """The function of the tape's inputs that says what each output is passed on of them."""

    def passed_on(*inputs: Array) -> tuple[Array, ...]:
        rng = np.random.default_rng(0)
        known: dict[Any, Any] = dict(zip(tape.inputs, inputs, strict=True))
        constants: dict[Any, Any] = {c.var: c.array for c in tape.captures if not c.var.aval.is_inexact}
        for instr in tape.instrs:
            constants |= {a: value for a in instr.ins if (value := getattr(a, "value", None)) is not None}
            if any(a in known for a in instr.ins):
                given, fixed = [[of.get(a) for a in instr.ins] for of in (known, constants)]
                for v, y in zip(instr.outs, _step(instr, given, fixed, rng), strict=True):
                    if v.aval.is_inexact:  # integers and conditions have no derivative
                        # Numbers that nothing was computed from: so they stay moderate, and none cancel.
                        known[v] = np.where(y != 0, rng.uniform(1, 2, v.aval.shape), 0.0)
            elif all(a in constants for a in instr.ins) and len(instr.outs) == 1 and not instr.op.may_vary:
                constants[instr.outs[0]] = instr.op(*[np.asarray(constants[a]) for a in instr.ins], **instr.params)
        return tuple([known.get(a, np.zeros(a.aval.shape)) for a in tape.outputs])

    return passed_on


def _step(
    instr: wg.edit.Instr, given: Sequence[Any], constants: Sequence[Any], rng: np.random.Generator
) -> Sequence[Any]:
    """Return what each result of a step is passed on; ``given`` says it of each operand, None where that is nothing."""
    op, shapes = instr.op, [v.aval.shape for v in instr.outs]
    reached = [k for k, x in enumerate(given) if x is not None]
    if op.is_elementwise:
        return [sum([np.broadcast_to(given[k], shape) for k in reached]) for shape in shapes]
    settings = [k for k, a in enumerate(instr.ins) if not a.aval.is_inexact]
    if op.is_linear and all(constants[k] is not None for k in settings):

        def run(among: Sequence[int], others: Callable[[Shape], Array]) -> Any:
            operands = [
                given[k] if k in among else np.asarray(constants[k]) if k in settings else others(a.aval.shape)
                for k, a in enumerate(instr.ins)
            ]
            return op(*[x.astype(a.aval.dtype) for x, a in zip(operands, instr.ins, strict=True)], **instr.params)

        if op.is_multilinear:
            found = [run([k], lambda shape: rng.uniform(1, 2, shape)) for k in reached]
        else:
            found = [run(reached, np.zeros)]
        return [sum([np.where(y != 0, 1.0, 0.0) for y in found])]
    everything = sum([np.sum(given[k]) for k in reached])
    return [np.broadcast_to(everything, shape) for shape in shapes]

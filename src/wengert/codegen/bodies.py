"""Turn the plan of a small loop body into the data from which :mod:`wengert.codegen.loops` writes code.

Sizes beyond the smallest are given at run time: the same loop over longer arrays is the same code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from wengert.codegen.calls import Call, KernelCall
from wengert.codegen.loops import COPY, FEW_BYTES, LoweredBody, Segment
from wengert.codegen.nests.nest import Nest
from wengert.passes.plan.places import Place, Plan

KNOWN = 64  # sizes up to this are written into the code


class Most(NamedTuple):
    """How large a body may be."""

    calls: int
    steps: int
    """Steps of all nests of the body together."""
    flops: float
    """Flops of an iteration, beyond which the calls of kernels cost next to nothing."""
    memory: int
    """Bytes of values that a function keeps on its stack for a body."""


OF_A_LOOP = Most(160, 1000, 20_000, 1 << 14)
OF_A_BLOCK = Most(1000, 8000, math.inf, 1 << 20)
"""The most for a body that is run on blocks of lanes, and for those of its loops: what a block runs as a program of its
own, all lanes run as one, step by step."""


def body_of(
    made: Plan,
    calls: Sequence[Call],
    flops: float,
    pairs: Sequence[tuple[int, int]],
    zeroed: Sequence[int],
    most: Most,
) -> tuple[LoweredBody, tuple[int, ...]] | None:
    """Return the calls of a plan as a body, and the sizes to run it with; None if the body is not small, or if not all
    calls are kernels. ``pairs``: outputs, and the inputs that they are written over; ``zeroed``: outputs that begin as
    zeros."""
    literals = tuple([a.value.tobytes() for a in made.literals])
    inputs, outputs = [[a.aval.nbytes for a in atoms] for atoms in (made.tape.inputs, made.tape.outputs)]
    over = dict(pairs)
    memory = made.arena_bytes + sum(map(len, literals)) + sum([n for k, n in enumerate(outputs) if k not in over])
    if made.tape.captures or flops > most.flops or memory > most.memory:
        return None
    parts = list[KernelCall]()
    for call in calls:
        if not isinstance(call, KernelCall):
            return None
        parts += parts_of(call)
    if any(isinstance(part.kernel, str) and part.kernel != COPY for part in parts):
        return None
    steps = sum([len(part.kernel.steps) if isinstance(part.kernel, Nest) else 1 for part in parts])
    if len(parts) > most.calls or steps > most.steps:
        return None
    few = [n if n <= FEW_BYTES else None for n in inputs]
    beside = [n if k not in over or n <= FEW_BYTES else None for k, n in enumerate(outputs)]
    sizes = [n for n, known in zip((*inputs, *outputs), (*few, *beside), strict=True) if known is None]
    segments = list[Segment]()
    for part in parts:
        numbers = (*part.sizes, part.extent)
        known = [n if part.kernel == COPY or abs(n) <= KNOWN else None for n in numbers]
        sizes += [n for n, k in zip(numbers, known, strict=True) if k is None]
        segments.append(Segment(part.kernel, tuple(map(_where, part.places)), tuple(known[:-1]), known[-1]))
    order = tuple([over.get(k, -1) for k in range(len(outputs))])
    body = LoweredBody(tuple(segments), made.arena_bytes, literals, tuple(few), tuple(beside), order, tuple(zeroed))
    return body, tuple(sizes)


def _where(place: Place) -> tuple[str, int, int]:
    buffer = place.buffer
    if buffer.kind == "arena":
        return buffer.kind, 0, buffer.offset + place.offset
    return buffer.kind, buffer.number, place.offset


def parts_of(call: Call) -> list[KernelCall]:
    """The kernels of a call, in order."""
    parts, part = [], call if isinstance(call, KernelCall) else None
    while part is not None:
        parts.append(part)
        part = part.then
    return parts

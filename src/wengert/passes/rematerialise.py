"""Rematerialise: cheap elementwise values are computed again where they are read, rather than written and read back.

It works on a fused tape. Let B be a later fused instruction over the same space as A. Each value of A that B reads is
either stored, or computed again in B from stored values. The cheapest choice is a minimum cut in the expression of A,
between the operands of A (and values that are expensive to compute, as an exponential) and the values that B needs:

    a value that is cut costs its write (unless it is written for others anyway) and its read,
    an operand of A that is cut costs its read (unless B reads it anyway).

Source: the maximum flow gives the cut (Ford and Fulkerson 1956), along shortest paths (Edmonds and Karp 1972). Linear
in the tape, but for the flows, which are each within one instruction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from wengert.ops.fused import fused
from wengert.passes.fuse import IsNative, kind_of
from wengert.tape import Instr, Tape, Var

MIN_BYTES = 16384  # values that fit the innermost cache are read back for next to nothing
CHEAP_FLOPS = 6.0  # an operation of at most this many flops is computed again rather than read from memory
DEAR_BYTES = 1 << 17  # expensive operations on arrays this large are repeated too: a layer keeps two and not three ...
DEAR_FLOPS = 48.0  # ... as long as a chain of them costs at most this many flops together
READ, WRITE = 2, 2  # the cost of moving an array once; a cost of 1 breaks ties, so that fewer values are stored
FREE = 1


def rematerialise(tape: Tape, is_native: IsNative) -> Tape:
    """Compute values again where that saves arrays between the fused instructions of ``tape``."""
    instrs: list[Instr | None] = list(tape.instrs)
    maker: dict[Any, int] = {v: k for k, instr in enumerate(tape.instrs) for v in instr.outs}
    readers: dict[Any, set[int]] = defaultdict(set)
    for k, instr in enumerate(tape.instrs):
        for a in instr.ins:
            readers[a].add(k)
    for a in tape.outputs:
        readers[a].add(len(tape.instrs))
    has_changed = False
    for b, later in enumerate(tape.instrs):
        if not _is_native_expression(later, is_native):
            continue
        by_maker: dict[int, list[Var]] = defaultdict(list)
        for v in later.ins:
            a = maker.get(v)
            if a is not None and type(v) is Var and v.aval.nbytes >= MIN_BYTES and v.aval.shape == space_of(later):
                if not any(i.op.kernel.reads_beside and v in i.ins for i in body_of(later).instrs):
                    by_maker[a].append(v)
        for a, needed in by_maker.items():
            earlier = instrs[a]
            if earlier is None or not _is_native_expression(earlier, is_native):
                continue
            if space_of(earlier) != space_of(later):
                continue
            cut = _minimum_cut(earlier, instrs[b], needed, b, readers)
            if cut is None:
                continue
            instrs[a], instrs[b] = _moved(earlier, instrs[b], needed, cut, a, b, readers, maker)
            has_changed = True
    if not has_changed:
        return tape
    return tape.replace(instrs=tuple([i for i in instrs if i is not None]))


def body_of(instr: Instr) -> Tape:
    """The steps of an instruction, whether it is fused or a single map."""
    if instr.op.kernel.is_fused:
        return instr.params["body"]
    return Tape(tuple(dict.fromkeys(a for a in instr.ins if type(a) is Var)), (), (instr,), instr.outs)


def is_expression(instr: Instr) -> bool:
    """Whether an instruction consists of maps over one space and reductions of them."""
    if instr.op.kernel.function:
        return bool(instr.outs[0].aval.shape)
    return instr.op.kernel.is_fused and not any(i.op.kernel.is_contraction for i in instr.params["body"].instrs)


def _is_native_expression(instr: Instr, is_native: IsNative) -> bool:
    """Whether an instruction is an expression, and a kernel fused with it can be native code."""
    return is_expression(instr) and (instr.op.kernel.is_fused or kind_of(instr, is_native) == "map")


def space_of(instr: Instr) -> tuple[int, ...]:
    first = body_of(instr).instrs[0]
    return first.ins[0].aval.shape if first.op.kernel.is_fold else first.outs[0].aval.shape


def flops_an_element(instr: Instr) -> float:
    """The flops of computing one element of an elementwise result again from the operands of ``instr``."""
    return instr.op.cost(*[a.aval for a in instr.ins], **instr.params) / max(1, instr.outs[0].aval.size)


def _minimum_cut(
    earlier: Instr, later: Instr | None, needed: Sequence[Var], b: int, readers: dict[Any, set[int]]
) -> set[Var] | None:
    """The values to store, or None if it is as good to store the values that are needed."""
    assert later is not None
    space = space_of(earlier)
    made = {i.outs[0]: i for i in body_of(earlier).instrs if i.op.kernel.function and i.outs[0].aval.shape == space}
    if any(v not in made for v in needed):
        return None
    read_anyway = set(later.ins)

    dear: dict[Var, float] = {}
    for v, i in made.items():  # flops of the expensive operations on the costliest way to each value
        own = flops_an_element(i)
        dear[v] = (own if own > CHEAP_FLOPS else 0) + max([dear.get(a, 0.0) for a in i.ins], default=0.0)  # type: ignore[call-overload]

    def is_recomputed(v: Var) -> bool:
        i = made.get(v)
        if i is None:
            return False
        if flops_an_element(i) > CHEAP_FLOPS and (v.aval.nbytes < DEAR_BYTES or dear[v] > DEAR_FLOPS):
            return False
        return all(type(a) is not Var or a in made or a in earlier.ins for a in i.ins)

    def price(v: Var) -> int:
        if v in made:
            return READ + FREE + (0 if readers[v] - {b} else WRITE)
        if v in read_anyway or v.aval.size < made[needed[0]].outs[0].aval.size:
            return FREE
        return READ + FREE

    # Nodes 2k and 2k + 1 are value k before and behind its price; 0 and 1 the source and the sink.
    number: dict[Var, int] = {}
    edges: list[tuple[int, int, int]] = []
    endless = 1 << 20
    todo = list(needed)
    while todo:
        v = todo.pop()
        if v in number:
            continue
        number[v] = len(number) + 1
        k = number[v]
        edges.append((2 * k, 2 * k + 1, price(v)))
        if is_recomputed(v):
            todo += [a for a in made[v].ins if type(a) is Var]
        else:
            edges.append((0, 2 * k, endless))
    for v, k in number.items():
        if is_recomputed(v):
            edges += [(2 * number[a] + 1, 2 * k, endless) for a in set(made[v].ins) if type(a) is Var]
            if not any(type(a) is Var for a in made[v].ins):
                edges.append((0, 2 * k, 1))
    edges += [(2 * number[v] + 1, 1, endless) for v in needed]
    before = sum([price(v) for v in needed])
    flow, reached = _flow(edges, 2 * len(number) + 2)
    if flow >= before:
        return None
    return {v for v, k in number.items() if 2 * k in reached and 2 * k + 1 not in reached}


def _flow(edges: Sequence[tuple[int, int, int]], n: int) -> tuple[int, set[int]]:
    """The maximum flow from node 0 to node 1, and the nodes that the source still reaches.

    Each path adds to a flow of a few units a value. SciPy's ``maximum_flow`` takes 0.3 s to import, a hundred times
    what is computed here.
    """
    room: list[dict[int, int]] = [{} for _ in range(n)]
    for a, b, capacity in edges:
        room[a][b] = room[a].get(b, 0) + capacity
        room[b].setdefault(a, 0)
    flow = 0
    while True:
        came_from, reached = {0: 0}, [0]
        for a in reached:  # it grows: breadth first
            for b, capacity in room[a].items():
                if capacity and b not in came_from:
                    came_from[b] = a
                    reached.append(b)
        if 1 not in came_from:
            return flow, set(reached)
        path, b = list[tuple[int, int]](), 1
        while b:
            path.append((came_from[b], b))
            b = came_from[b]
        least = min([room[a][b] for a, b in path])
        for a, b in path:
            room[a][b] -= least
            room[b][a] += least
        flow += least


def _moved(
    earlier: Instr,
    later: Instr | None,
    needed: Sequence[Var],
    cut: set[Var],
    a: int,
    b: int,
    readers: dict[Any, set[int]],
    maker: dict[Var, int],
) -> tuple[Instr | None, Instr]:
    """Return both instructions; the later one computes the values between ``cut`` and ``needed`` again."""
    assert later is not None
    first, second = body_of(earlier), body_of(later)
    made = {i.outs[0]: i for i in first.instrs}
    again: set[Var] = set()
    todo = [v for v in needed if v not in cut]
    while todo:
        v = todo.pop()
        if v not in again:
            again.add(v)
            todo += [x for x in made[v].ins if type(x) is Var and x not in cut and x in made]
    instrs = (*[i for i in first.instrs if i.outs[0] in again], *second.instrs)
    own = {v for i in instrs for v in i.outs}
    inputs = tuple(dict.fromkeys(x for i in instrs for x in i.ins if type(x) is Var and x not in own))
    new_later = _as_fused(instrs, inputs, later.outs, later)
    for v in later.ins:
        readers[v].discard(b)
    for v in inputs:
        readers[v].add(b)
    outputs = tuple(v for i in first.instrs for v in i.outs if readers[v] - {a})
    for v in outputs:
        maker[v] = a
    if not outputs:
        for v in earlier.ins:
            readers[v].discard(a)
        return None, new_later
    return _as_fused(first.instrs, first.inputs, outputs, earlier), new_later


def _as_fused(instrs: Sequence[Instr], inputs: tuple[Var, ...], outputs: tuple[Var, ...], like: Instr) -> Instr:
    """Make one fused instruction of these steps, without those that are not needed for ``outputs``."""
    needed: set[Any] = set(outputs)
    kept: list[Instr] = []
    for i in reversed(instrs):
        if not needed.isdisjoint(i.outs):
            needed.update(i.ins)
            kept.append(i)
    inputs = tuple(v for v in inputs if v in needed)
    if len(kept) == 1:
        return kept[0]
    body = Tape(inputs, (), tuple(reversed(kept)), outputs, name="fused")
    return Instr(fused, inputs, outputs, {"body": body}, like.source)

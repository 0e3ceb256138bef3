"""Schedule: a value that is only needed later is computed later, so that it does not take memory meanwhile.

An instruction that makes more bytes than it frees moves to just before the first instruction that reads its result. The
others stay: they free memory, the sooner the better. An instruction also keeps its operands in memory until it runs, so
it does not move if it is their last reader: the derivative of weights stays near the steps that make its operands.
Instructions with effects keep their order. Linear.
"""

from __future__ import annotations

from typing import Any

from wengert.tape import Instr, Tape, Var, has_effects

MIN_BYTES = 4096  # a step that makes less stays where it is, since its neighbours may be fused with it


def schedule(tape: Tape) -> Tape:
    """Reorder ``tape`` so that large values live shorter."""
    if all(sum([v.aval.nbytes for v in instr.outs]) < MIN_BYTES for instr in tape.instrs):
        return tape
    n = len(tape.instrs)
    base: dict[Any, Any] = {v: i.ins[0] for i in tape.instrs if i.op.kernel.is_view for v in i.outs}
    for v, a in base.items():  # the base of a view of a view
        base[v] = base.get(a, a)
    last_read = {base.get(a, a): k for k, instr in enumerate(tape.instrs) for a in instr.ins}
    last_read.update({base.get(a, a): n for a in tape.outputs})
    not_ours = {*tape.inputs, *[c.var for c in tape.captures]}  # memory that a run never frees
    first_reader: dict[Var, int] = {}  # for each value, its first reader in the new order
    # For each instruction, itself if it stays, else the one that stays before which it will stand; n is the end.
    places = [*range(n + 1)]
    goes_before = [*range(n + 1)]  # for each instruction: the one just before which it will stand, which may move too
    before: list[list[int]] = [[] for _ in range(n)]  # for each: those that move to just before it, latest first
    moves = [False] * n
    for k in range(n - 1, -1, -1):
        instr = tape.instrs[k]
        reader = n
        for v in instr.outs:
            reader = _earlier(reader, first_reader.get(v, n), places, goes_before)
        where = places[reader]
        if not has_effects(instr) and where < n and reader != k + 1:
            made = 0 if instr.op.kernel.is_view else sum([v.aval.nbytes for v in instr.outs])
            if made >= MIN_BYTES:
                read = {base.get(a, a) for a in instr.ins} - not_ours
                let_go = sum([a.aval.nbytes for a in read if last_read[a] < where])
                if made - let_go >= MIN_BYTES:
                    moves[k] = True
                    before[reader].append(k)
                    places[k], goes_before[k] = where, reader
        for a in instr.ins:
            if type(a) is Var:
                first_reader[a] = _earlier(k, first_reader.get(a, n), places, goes_before)
    if not any(moves):
        return tape
    order: list[Instr] = []
    for k in range(n):
        if not moves[k]:
            stack = [(k, reversed(before[k]))]
            while stack:  # depth first, without recursion: instructions before those that go before k, and so on
                at, rest = stack[-1]
                deeper = next(rest, None)
                if deeper is None:
                    order.append(tape.instrs[at])
                    stack.pop()
                else:
                    stack.append((deeper, reversed(before[deeper])))
    return tape.replace(instrs=tuple(order))


def _earlier(a: int, b: int, places: list[int], goes_before: list[int]) -> int:
    """The one of two instructions that comes first in the new order.

    Those that move to one place are a tree, each a child of the one that it goes before, and children come in the old
    order, each after its own children."""
    if places[a] != places[b]:
        return a if places[a] < places[b] else b
    paths = []
    for k in (a, b):
        path = [len(places)]  # behind all children
        while places[k] != k:
            path.append(k)
            k = goes_before[k]
        paths.append(path[::-1])
    return a if paths[0] <= paths[1] else b

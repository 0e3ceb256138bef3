"""Schedule: what is only needed later is computed later, so that it does not take memory meanwhile.

An instruction that makes more bytes than it lets go of moves to just before the first instruction that reads it. The
others stay: they free memory, the sooner the better. What nobody else reads so late, it would keep until then: the
derivative of weights stays where the values that it is made of are at hand. Instructions with effects keep their order.
Linear.
"""

from __future__ import annotations

from typing import Any

from wengert.ops.kernels import View
from wengert.tape import Instr, Tape, Var

MIN_BYTES = 4096  # what takes less stays where it is: its neighbours may be of its cluster


def schedule(tape: Tape) -> Tape:
    """``tape`` in an order with shorter lives of values."""
    if all(sum([v.aval.nbytes for v in instr.outs]) < MIN_BYTES for instr in tape.instrs):
        return tape
    n = len(tape.instrs)
    base: dict[Any, Any] = {v: i.ins[0] for i in tape.instrs if isinstance(i.op.kernel, View) for v in i.outs}
    for v, a in base.items():  # of a view of a view
        base[v] = base.get(a, a)
    last_read = {base.get(a, a): k for k, instr in enumerate(tape.instrs) for a in instr.ins}
    last_read.update({base.get(a, a): n for a in tape.outputs})
    not_ours = {*tape.inputs, *[c.var for c in tape.captures]}  # whose memory is never let go of
    first_reader: dict[Var, tuple[int, int]] = {}  # where it comes to stand, and its number
    before: list[list[int]] = [[] for _ in range(n)]  # by instruction: what moves to just before it, latest first
    moves = [False] * n
    for k in range(n - 1, -1, -1):
        instr = tape.instrs[k]
        place = k
        where, reader = min([first_reader.get(v, (n, n)) for v in instr.outs], default=(n, n))
        if not instr.op.effects and where < n and reader != k + 1:
            made = 0 if isinstance(instr.op.kernel, View) else sum([v.aval.nbytes for v in instr.outs])
            if made >= MIN_BYTES:
                read = {base.get(a, a) for a in instr.ins} - not_ours
                let_go = sum([a.aval.nbytes for a in read if last_read[a] < where])
                if made - let_go >= MIN_BYTES:
                    moves[k] = True
                    before[reader].append(k)
                    place = where
        for a in instr.ins:
            if type(a) is Var:
                first_reader[a] = min(first_reader.get(a, (n, n)), (place, k))
    if not any(moves):
        return tape
    order: list[Instr] = []
    for k in range(n):
        if not moves[k]:
            stack = [(k, reversed(before[k]))]
            while stack:  # depth first, without recursion: what goes before what goes before k
                at, rest = stack[-1]
                deeper = next(rest, None)
                if deeper is None:
                    order.append(tape.instrs[at])
                    stack.pop()
                else:
                    stack.append((deeper, reversed(before[deeper])))
    return tape.replace(instrs=tuple(order))

"""Transpose products: a product that is read by one transpose alone is written in the transposed order.

The cotangent of ``w`` in ``x @ w.T`` is a transposed product: a view whose memory runs the other way, through which
every reader would have to stride, and from which a result would have to be copied. But a contraction can write its
result in any order of axes: its labels say what is summed, and in which order the result is written. Linear.
"""

from __future__ import annotations

from collections import Counter

from wengert.ops.shape import transpose
from wengert.tape import Atom, Instr, Tape


def transpose_products(tape: Tape) -> Tape:
    """Write each product that is read by one transpose alone in the order of axes which that transpose gives."""
    if not any(instr.op is transpose for instr in tape.instrs):
        return tape
    reads: Counter[Atom] = Counter(a for instr in tape.instrs for a in instr.ins)
    reads.update(tape.outputs)
    written: dict[Atom, int] = {}  # for each product, the number in ``kept`` of its instruction
    kept: list[Instr] = []
    for instr in tape.instrs:
        (x, *_) = instr.ins or (None,)
        at = written.get(x) if instr.op is transpose and x is not None and reads[x] == 1 else None
        if at is not None:
            product = kept[at]
            out = tuple([product.params["out"][axis] for axis in instr.params["axes"]])
            kept[at] = Instr(product.op, product.ins, instr.outs, {**product.params, "out": out}, product.source)
            written[instr.outs[0]] = at
            continue
        if instr.op.kernel.is_contraction:
            written[instr.outs[0]] = len(kept)
        kept.append(instr)
    return tape.replace(instrs=tuple(kept))

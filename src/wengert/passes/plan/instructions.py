"""Questions about instructions that a plan asks: what they read from memory, and which values may share memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.ops.kernels import NATIVE_DTYPES, Interleave
from wengert.passes.plan.places import Place, planes_of
from wengert.tape import Atom, Aval, Instr, Lit, Tape, Var

PIECE = 65536  # elements that a long reduction folds to one number; fixed, so that its bits do not depend on threads
MIN_PIECES = 4
IN_CODE = frozenset([0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0])
"""Numbers that kernels have in their code, where they may matter to how a function is computed. Others are read from
memory, so that steps that differ in a coefficient share a kernel."""


def operands(instr: Instr) -> list[Atom]:
    """Return the atoms that an instruction reads from memory: its operands, then the literals of a fused one's body."""
    kernel = instr.op.kernel
    if not (kernel.is_fused or kernel.reads_beside):
        return list(instr.ins)
    found = {a.key: a for a in _literals(instr.params["body"]) if not is_in_code(a)}
    return [*instr.ins, *found.values()]


def _literals(body: Tape) -> list[Lit]:
    """The literals of the body of a fused instruction, also of the stencils in it."""
    found = list[Lit]()
    for i in body.instrs:
        found += [a for a in i.ins if type(a) is Lit]
        if i.op.kernel.reads_beside:
            found += _literals(i.params["body"])
    return found


def is_in_code(a: Lit) -> bool:
    return a.aval.dtype.kind != "f" or bool(np.isnan(a.value)) or float(a.value) in IN_CODE


def first_carry(instr: Instr, k: int) -> int | None:
    """Return the operand of a loop with which its result number ``k`` begins."""
    first = instr.op.kernel.first_carry(instr.params)
    return None if first is None or k >= instr.params["loop"].carries else first + k


def is_joining(instr: Instr) -> bool:
    """Whether the operands are the parts of the result, each to be written into its place."""
    kernel = instr.op.kernel
    return kernel.joins and (kernel.takes_any_dtype or has_native_dtypes(instr))


def can_be_written_in_part(instr: Instr) -> bool:
    """Whether the result can lie in a part of another array, under that one's strides."""
    return instr.op.kernel.writes_anywhere or instr.op.kernel.is_view


def parts_of(goal: Place, instr: Instr) -> list[Place]:
    """Return the region of the result of a joining instruction that each operand goes to."""
    ins = instr.ins
    if isinstance(instr.op.kernel, Interleave):
        return list(planes_of(goal))
    axis, parts, offset = instr.params["axis"], [], goal.offset
    for a in ins:
        parts.append(Place(goal.buffer, offset, goal.strides, Aval(a.aval.shape, goal.aval.dtype)))
        offset += a.aval.shape[axis] * goal.strides[axis]
    return parts


def may_share_memory(instr: Instr, a: Atom, v: Var) -> bool:
    """Whether the result ``v`` at an index is written after everything that reads ``a`` there has read it, and reads
    ``a`` at no other index: then both may share memory. They have one shape."""
    kernel = instr.op.kernel
    if kernel.is_in_step:
        return True
    if not kernel.is_fused:
        return False
    body = instr.params["body"]
    if any(i.op.kernel.reads_beside and a in i.ins for i in body.instrs):
        return False
    has_contraction = any(i.op.kernel.is_contraction for i in body.instrs)
    late: set[Any] = set()  # values that are made after the reduction: of a contraction, all
    for i in body.instrs:
        if has_contraction or i.op.kernel.is_fold or not late.isdisjoint(i.ins):
            late.update(i.outs)
    if v in late:  # written once all has been folded: fine if `a` too is read only then
        return all(a not in i.ins or (i.outs[0] in late and i.op.kernel.is_pointwise) for i in body.instrs)
    return True


def has_native_dtypes(instr: Instr) -> bool:
    """Whether all operands and results have dtypes that generated code knows."""
    return NATIVE_DTYPES.issuperset([a.aval.dtype for a in (*instr.ins, *instr.outs)])

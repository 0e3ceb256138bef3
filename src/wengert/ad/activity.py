"""Which values matter to which derivatives.

A value is *active* if it depends on a differentiated input through steps that have a derivative there, and reaches
a differentiated output the same way. Only active values get tangents or cotangents; everything else is a constant
to the derivative, whatever its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from wengert.ops.op import CONJUGATION, NONE, ZERO, Op, partials_of, rule_for
from wengert.tape import Atom, Instr, Tape, Var


def has_derivative(op: Op, k: int, params: Mapping[str, Any]) -> bool:
    """Whether the output of ``op`` changes with operand ``k``."""
    return bool(_with_derivative(op, [k], params))


def active_operands(instr: Instr, active: Set[Atom]) -> list[int]:
    """The operands of ``instr`` through which its output depends on active values."""
    op, ins, _, params, _ = instr
    operands = [k for k, a in enumerate(ins) if type(a) is Var and a in active]
    return _with_derivative(op, operands, params) if operands else operands


def _with_derivative(op: Op, operands: list[int], params: Mapping[str, Any]) -> list[int]:
    """Those of ``operands`` whose rule is neither ZERO nor NONE."""
    if op.partials is not None:
        rules = partials_of(op, params)
    elif op.transpose is not None:
        rules = op.transpose
    elif op.pullback is not None:
        rules = op.pullback
    else:
        return operands if op.pushforward is not None and op.pushforward is not ZERO else []
    return [k for k in operands if (rule := rule_for(rules, k)) is not ZERO and rule is not NONE]


def dependent(tape: Tape, wrt: Iterable[Var]) -> set[Var]:
    """The values that depend on ``wrt``: what forward mode has to carry."""
    active = {v for v in wrt if v.aval.is_inexact}
    for instr in tape.instrs:
        outs = [v for v in instr.outs if v.aval.is_inexact]
        if outs and not active.isdisjoint(instr.ins) and active_operands(instr, active):
            active.update(outs)
    return active


def first_not_holomorphic(tape: Tape, wrt: Iterable[Var]) -> Instr | None:
    """The first instruction that makes of complex values that depend on ``wrt`` something without a complex derivative:
    a conjugate, or a real number. None: the tape is holomorphic."""
    active = {v for v in wrt if v.aval.dtype.kind == "c"}
    for instr in tape.instrs:
        if active.isdisjoint(instr.ins) or not active_operands(instr, active):
            continue
        op, _, outs, params, _ = instr
        inexact = [v for v in outs if v.aval.is_inexact]
        is_conjugate = op.partials is not None and CONJUGATION in partials_of(op, params)
        if is_conjugate or not op.is_holomorphic or any(v.aval.dtype.kind != "c" for v in inexact):
            return instr
        active.update(inexact)
    return None


def active_values(tape: Tape, wrt: Iterable[Var], outputs: Iterable[object]) -> set[Atom]:
    """The values that depend on ``wrt`` and that ``outputs`` depend on: what reverse mode has to carry."""
    forward = dependent(tape, wrt)
    needed: set[Atom] = {a for a in outputs if type(a) is Var and a in forward}
    for instr in reversed(tape.instrs):
        if needed.isdisjoint(instr.outs):
            continue
        for k in active_operands(instr, forward):
            needed.add(instr.ins[k])
    return needed

"""Which values matter to which derivatives.

A value is *active* if it depends on a differentiated input through steps that have a derivative there, and reaches
a differentiated output the same way. Only active values get tangents or cotangents; everything else is a constant
to the derivative, whatever its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from wengert.errors import MissingRuleError, message
from wengert.ops.op import NONE, ZERO, Op, partials_of, rule_for
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
            if any(v.aval.dtype.kind == "c" for v in outs):
                raise MissingRuleError(
                    message(
                        f"{instr.op.name}: derivatives of complex numbers are not there yet",
                        instr.source,
                        tries=["the real and the imaginary part as two real arrays"],
                    )
                )
            active.update(outs)
    return active


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

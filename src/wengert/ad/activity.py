"""Activity: which values matter to which derivatives.

A value is *active* if it depends on a differentiated input through steps that have a derivative there, and reaches
a differentiated output the same way. Only active values get tangents or cotangents; everything else is a constant
to the derivative, whatever its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

from wengert.ops.op import CONJUGATION, NONE, ZERO, Body, Op, partials_of, rule_for
from wengert.tape import Atom, Instr, Tape, Var, tapes_in


def has_derivative(op: Op, k: int, params: Mapping[str, Any]) -> bool:
    """Whether the output of ``op`` changes with operand ``k``."""
    return bool(_with_derivative(op, [k], params))


def active_operands(instr: Instr, active: Set[Atom]) -> list[int]:
    """The operands of ``instr`` through which its output depends on active values."""
    op, ins, _, params, _ = instr
    operands = [k for k, a in enumerate(ins) if a in active]
    return operands if op.is_smooth or not operands else _with_derivative(op, operands, params)


def _with_derivative(op: Op, operands: list[int], params: Mapping[str, Any]) -> list[int]:
    """Return those of ``operands`` whose rule is neither ZERO nor NONE."""
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
    """The values that depend on ``wrt``, for which forward mode carries tangents."""
    active = {v for v in wrt if v.aval.is_inexact}
    for instr in tape.instrs:
        if active_operands(instr, active):
            active.update([v for v in instr.outs if v.aval.is_inexact])
    return active


def first_not_holomorphic(tape: Tape, wrt: Sequence[Var]) -> Instr | None:
    """The first instruction, in the tape or in a body, whose result has no complex derivative with respect to ``wrt``:
    it makes a conjugate or a real number of complex values. None if the tape is holomorphic."""
    return _followed(tape, {v for v in wrt if v.aval.dtype.kind == "c"}, active_values(tape, wrt, tape.outputs))[0]


def _followed(tape: Tape, active: set[Atom], needed: Set[Atom] | None = None) -> tuple[Instr | None, set[Atom]]:
    """Return the first instruction that is not holomorphic in the complex values ``active``, or None, and the values
    that depend on them. If ``needed`` is given, instructions that compute none of these are skipped."""
    for instr in tape.instrs:
        op, _, outs, params, _ = instr
        if not active_operands(instr, active):
            continue
        if needed is not None and needed.isdisjoint(outs):
            continue
        found, inexact = None, [v for v in outs if v.aval.is_inexact]
        if op.bodies is not None:
            found, inexact = _followed_within(instr, op.bodies(**params), active)
        else:  # an op that does not say how its operands enter its tapes: take all their complex inputs as active
            for body in [body for p in params.values() for body in tapes_in(p)]:
                found = found or _followed(body, {v for v in body.inputs if v.aval.dtype.kind == "c"})[0]
        if found is not None:
            return found, active
        is_conjugate = op.partials is not None and CONJUGATION in partials_of(op, params)
        if is_conjugate or not op.is_holomorphic or any(v.aval.dtype.kind != "c" for v in inexact):
            return instr, active
        active.update(inexact)
    return None, active


def _followed_within(instr: Instr, bodies: Sequence[Body], active: Set[Atom]) -> tuple[Instr | None, list[Var]]:
    """Do as ``_followed`` for the bodies of an instruction; return the results of it that depend on ``active``."""
    reached: set[Var] = set()
    for tape, first_operand, first_carry, carries in bodies:
        operands = instr.ins[first_operand : first_operand + len(tape.inputs)]
        begin = {v for v, a in zip(tape.inputs, operands, strict=True) if a in active}
        while True:
            found, inside = _followed(tape, set(begin))
            if found is not None:
                return found, []
            carried = {tape.inputs[first_carry + k] for k in range(carries) if tape.outputs[k] in inside}
            if carried <= begin:
                break
            begin |= carried
        reached.update([v for v, a in zip(instr.outs, tape.outputs, strict=True) if a in inside])
    return None, [v for v in instr.outs if v in reached]


def active_values(tape: Tape, wrt: Iterable[Var], outputs: Iterable[object]) -> set[Atom]:
    """The values that depend on ``wrt`` and that ``outputs`` depend on: reverse mode carries their cotangents."""
    forward = dependent(tape, wrt)
    needed: set[Atom] = {a for a in outputs if type(a) is Var and a in forward}
    for instr in reversed(tape.instrs):
        if needed.isdisjoint(instr.outs):
            continue
        for k in active_operands(instr, forward):
            needed.add(instr.ins[k])
    return needed


def before_saturation(tape: Tape) -> set[Atom]:
    """The values that reach an op that saturates, by elementwise steps and sums alone. Where such a value is infinite,
    its cotangent may be zero because the result does not depend on it there."""
    found: set[Atom] = set()
    if any(instr.op.saturates for instr in tape.instrs):
        for op, ins, outs, _, _ in reversed(tape.instrs):
            if op.saturates or (not found.isdisjoint(outs) and (op.is_elementwise or op.only_adds)):
                found.update(ins)
    return found


class Activity(NamedTuple):
    """Why a value is active, or why it is not."""

    is_active: bool
    inputs: tuple[int, ...]
    """The numbers of the differentiated inputs that it depends on, by steps that have a derivative."""
    is_discrete: bool = False
    """Whether it is of a type that has no derivatives: integers and booleans."""
    by: Instr | None = None
    """The step that no derivative passes: the first on the way from the differentiated inputs to it, if it depends on
    them by such steps alone."""


def reasons(tape: Tape, wrt: Iterable[int], outputs: Iterable[object]) -> dict[Var, Activity]:
    """Return for each value why it is active, or not, to the derivative of ``outputs`` in the inputs ``wrt``. Linear,
    but for the sets of inputs."""
    numbers = list(wrt)
    bits: dict[Atom, int] = {}  # the inputs that a value depends on, as bits
    blocked: dict[Atom, Instr | None] = {}  # for a value that depends on them otherwise: the step that stopped it
    for bit, k in enumerate(numbers):
        v = tape.inputs[k]
        if v.aval.is_inexact:
            bits[v] = 1 << bit
        else:
            blocked[v] = None
    for instr in tape.instrs:
        operands = active_operands(instr, bits.keys())
        mask = 0
        for k in operands:
            mask |= bits[instr.ins[k]]
        if mask:
            bits.update({v: mask for v in instr.outs if v.aval.is_inexact})
            blocked.update({v: instr for v in instr.outs if not v.aval.is_inexact})
        elif any(a in bits for a in instr.ins):
            blocked.update(dict.fromkeys(instr.outs, instr))
        else:
            stops = [blocked[a] for a in instr.ins if a in blocked]
            if stops:
                stop = next((s for s in stops if s is not None), instr)
                blocked.update(dict.fromkeys(instr.outs, stop))
    needed: set[Any] = {a for a in outputs if a in bits}
    for instr in reversed(tape.instrs):
        if not needed.isdisjoint(instr.outs):
            needed.update([instr.ins[k] for k in active_operands(instr, bits.keys())])
    sets: dict[int, tuple[int, ...]] = {0: ()}

    def inputs_of(mask: int) -> tuple[int, ...]:
        found = sets.get(mask)
        if found is None:
            found = sets[mask] = tuple([k for bit, k in enumerate(numbers) if mask >> bit & 1])
        return found

    values = [*tape.inputs, *[c.var for c in tape.captures], *[v for i in tape.instrs for v in i.outs]]
    return {v: Activity(v in needed, inputs_of(bits.get(v, 0)), not v.aval.is_inexact, blocked.get(v)) for v in values}

"""Forward mode: ``jvp: Tape -> Tape``.

Each instruction is followed by those that carry its tangent. Elementwise ops use their partials, linear ops act on
the tangent as on the primal, the few others have a pushforward. A tangent that is zero is None and costs nothing;
one that counts only where a mask holds stays :class:`Masked` through elementwise ops and views.
Source: Griewank and Walther (2008), Evaluating Derivatives, section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert import config
from wengert.ad.activity import active_operands, before_saturation, dependent, has_derivative
from wengert.ad.cotangents import add, apply_partial, densify, is_atom, project
from wengert.ad.rules import fixed_at, no_rule, partial_of
from wengert.notes import current as current_notes
from wengert.ops.elementwise import select
from wengert.ops.shape import broadcast_to, zeros
from wengert.ops.structured import Masked
from wengert.source import Source
from wengert.tape import Atom, Builder, Instr, Lit, Tape, Var, building, check


def jvp(
    tape: Tape,
    wrt: Sequence[int],
    outputs: Sequence[int] | None = None,
    nan_safe: bool = False,
    seed: str = "given",
) -> Tape:
    """The tape that computes the outputs of ``tape`` and, behind them, their tangents.

    The joint tape has one further input, a tangent, for each input number in ``wrt``; the tangents returned are
    those of the outputs number ``outputs`` (all by default), each of the type of its output. With ``seed`` "one" there
    are no further inputs: the tangent is 1, of inputs that are numbers.
    """
    wrt_vars = [tape.inputs[i] for i in wrt]
    active, saturating = dependent(tape, wrt_vars), before_saturation(tape)
    notes = current_notes()
    if notes is not None:
        notes.differentiated.append((tuple(wrt_vars), tape.outputs))
        notes.active |= active
    tangent_inputs = [Var(v.aval) for v in wrt_vars] if seed == "given" else []
    seeds = tangent_inputs or [Lit(1, v.aval.dtype) for v in wrt_vars]
    tangents: dict[Atom, Any] = {v: dv for v, dv in zip(wrt_vars, seeds, strict=True) if v.aval.is_inexact}
    builder = Builder()
    with building(builder):
        for instr in tape.instrs:
            builder.append(instr)
            if active.isdisjoint(instr.outs):
                continue
            builder.source = tangent_source(instr)
            operands = [k for k in active_operands(instr, active) if instr.ins[k] in tangents]
            if not operands:  # the tangents of all their operands are zero: the sign of a determinant
                continue
            dys = push(instr, operands, tangents, nan_safe, instr.outs[0] in saturating)
            for v, dy in zip(instr.outs, dys, strict=True):
                if dy is not None and v in active:  # projected onto the primal's space
                    tangents[v] = project(dy, v.aval) if isinstance(dy, Masked) else densify(dy, v.aval)
        builder.source = None
        chosen = range(len(tape.outputs)) if outputs is None else outputs
        results = [densify(tangents.get(tape.outputs[k]), tape.outputs[k].aval) for k in chosen]
    joint = tape.replace(
        inputs=(*tape.inputs, *tangent_inputs),
        captures=(*tape.captures, *builder.captures),
        instrs=builder.instrs,
        outputs=(*tape.outputs, *results),
        in_tree=None,
        out_tree=None,
        name=f"jvp of {tape.name}",
    )
    return check(joint, after="jvp") if config.check else joint


def tangent_source(instr: Instr) -> Source | None:
    """The source of the steps that push tangents over ``instr``."""
    return None if instr.source is None else instr.source.derived("tangent", instr.op.name)


def push(
    instr: Instr,
    operands: Sequence[int],
    tangents: dict[Atom, Any],
    nan_safe: bool = False,
    is_before_saturation: bool = False,
) -> list[Any]:
    """The tangents of the outputs of ``instr``; ``operands`` are the active ones."""
    op, ins, outs, params, _ = instr
    dxs = [tangents.get(a) if k in operands else None for k, a in enumerate(ins)]
    if op.is_elementwise:
        return [_push_elementwise(instr, operands, dxs, nan_safe, is_before_saturation)]
    if op.is_view and op.is_linear and isinstance(dxs[0], Masked):
        wide = [broadcast_to(a, shape=ins[0].aval.shape) for a in (dxs[0].mask, dxs[0].value)]
        mask, value = [op(a, **params) for a in wide]
        return [dxs[0]._replace(mask=mask, value=value)]
    dxs = [dx if dx is None else densify(dx, a.aval) for dx, a in zip(dxs, ins, strict=True)]
    y: Any = outs[0] if len(outs) == 1 else outs
    if op.pushforward is not None:
        dy = op.pushforward(ins, dxs, y, **params)
        return [dy] if len(outs) == 1 else list(dy)
    if op.transpose is None:
        raise no_rule(instr, "pushforward")
    if op.is_multilinear:
        total = None
        for k in operands:
            term = op(*[dxs[k] if j == k else a for j, a in enumerate(ins)], **params)
            total = term if total is None else total + term
        return [total]
    # linear in all of its operands together: those that do not vary have the tangent zero
    linear = [
        dx if dx is not None else (zeros(a.aval) if has_derivative(op, k, params) else a)
        for k, (a, dx) in enumerate(zip(ins, dxs, strict=True))
    ]
    return [op(*linear, **params)]


def _push_elementwise(
    instr: Instr, operands: Sequence[int], dxs: Sequence[Any], nan_safe: bool, is_before_saturation: bool
) -> Any:
    total: Any = None
    y = instr.outs[0].aval
    for k in operands:
        partial = partial_of(instr, k, nan_safe)
        fixed = fixed_at(instr, k) if is_before_saturation and is_atom(partial) else None
        if fixed is not None:  # q / T for q = −∞, of which exp will be taken, does not move with T
            partial = select(fixed, Lit(0, partial.aval.dtype), partial)
        term = apply_partial(dxs[k], partial, y, nan_safe)
        if not (term is None or isinstance(term, Masked)):
            term = densify(term, y) if len(operands) > 1 else term
        total = add(total, term, y)
    return total

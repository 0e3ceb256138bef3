"""Reverse mode: ``vjp: Tape -> Tape``.

The result is one *joint* tape: the instructions of the forward part, as they are, then the backward part, which
carries cotangents from the outputs to the inputs asked for. Every value of the forward part that the backward
part reads is a residual; nothing else is kept, because nothing else is named.

One pass over the tape in reverse. A pullback is built for active operands only: the cotangent of a constant is
never computed, stored or zeroed. Cotangents keep their structure for as long as they can: see
:mod:`wengert.ad.cotangents`.
Source: Griewank and Walther (2008), Evaluating Derivatives, chapter 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert import config
from wengert.ad.activity import active_operands, active_values, before_saturation
from wengert.ad.cotangents import add, apply_partial, densify, is_atom, project, support, written
from wengert.ad.rules import fixed_at, name_missing, no_rule, partial_of
from wengert.collector import undisturbed
from wengert.errors import MissingRuleError
from wengert.notes import current as current_notes
from wengert.ops.elementwise import convert, equal, not_equal, select
from wengert.ops.index import are_disjoint
from wengert.ops.op import rule_for
from wengert.ops.shape import broadcast_to
from wengert.ops.structured import Cotangent, Diagonal, Fill, Hole, Marks, Masked, ScatteredSum, ScatteredTerm, marks_of
from wengert.source import Source
from wengert.tape import Atom, Aval, Builder, Instr, Lit, Tape, Var, building, check, current_builder


@undisturbed
def vjp(
    tape: Tape,
    wrt: Sequence[int],
    outputs: Sequence[int],
    seed: str = "given",
    runs_once: bool = False,
    nan_safe: bool = False,
) -> Tape:
    """The joint tape of ``tape`` and its pullback.

    Parameters
    ----------
    tape : the function, differentiable in its inputs number ``wrt``.
    wrt : numbers of inputs. The joint tape returns their cotangents behind the outputs of ``tape``, each of the
        type of its input.
    outputs : numbers of the outputs that have a cotangent; the others are constants to the derivative.
    seed : "given": one further input an output in ``outputs``, its cotangent. "one": the cotangent is 1, for ``grad``.
    runs_once : the pullback runs exactly once for each forward run; written on the tape.
    nan_safe : a cotangent that is exactly zero stays zero, whatever partial it meets (0 · ∞ = 0).
    """
    wrt_vars = [tape.inputs[i] for i in wrt]
    out_atoms = [tape.outputs[k] for k in outputs]
    tape = with_residuals(tape, wrt_vars, out_atoms)
    builder = Builder(start=tape.instrs)
    seeds: list[Var] = []
    with building(builder):
        cts: list[Any]
        if seed == "one":
            ones = [Lit(1, a.aval.dtype) for a in out_atoms]
            cts = [Fill(one, a.aval) if a.aval.shape else one for one, a in zip(ones, out_atoms, strict=True)]
        else:
            cts = seeds = [Var(a.aval) for a in out_atoms]
        found = cotangents(tape, wrt_vars, out_atoms, cts, nan_safe)
        results = [densify(ct, v.aval) for ct, v in zip(found, wrt_vars, strict=True)]
    notes = current_notes()
    if notes is not None:
        notes.cotangents.update(zip(wrt_vars, results, strict=True))
    joint = tape.replace(
        inputs=(*tape.inputs, *seeds),
        captures=(*tape.captures, *builder.captures),
        instrs=builder.instrs,
        outputs=(*tape.outputs, *results),
        runs_once=runs_once,
        in_tree=None if seeds else tape.in_tree,
        out_tree=None,
        name=f"vjp of {tape.name}",
    )
    return check(joint, after="vjp") if config.check else joint


def with_residuals(tape: Tape, wrt: Sequence[Var], outputs: Sequence[Atom]) -> Tape:
    """Return ``tape`` with steps that keep what their pullbacks will read beyond their operands and results."""
    if not any(instr.op.keep for instr in tape.instrs):
        return tape
    active = active_values(tape, wrt, outputs)
    kept = [
        instr if instr.op.keep is None or active.isdisjoint(instr.outs) else instr.op.keep(instr, active)
        for instr in tape.instrs
    ]
    return tape.replace(instrs=tuple(kept))


def cotangents(
    tape: Tape, wrt: Sequence[Var], outputs: Sequence[Atom], seeds: Sequence[Any], nan_safe: bool = False
) -> list[Any]:
    """The cotangents of ``wrt``, structured as they come (None: zero), for those of ``outputs``, which are ``seeds``.

    Emitted on the current builder, which has the instructions of ``tape``.
    """
    active = active_values(tape, wrt, outputs)
    saturating = before_saturation(tape)
    builder = current_builder()
    known: dict[Atom, Any] = {}
    ends = set(wrt)
    notes = current_notes()
    if notes is not None:
        notes.differentiated.append((tuple(wrt), tuple(outputs)))
        notes.active |= active
    for a, ct in zip(outputs, seeds, strict=True):
        if a in active:
            known[a] = add(known.get(a), ct, a.aval)
    for instr in reversed(tape.instrs):
        cts = [known.pop(v, None) for v in instr.outs]  # only what is active has one
        if all(ct is None for ct in cts):
            continue
        if notes is not None:
            notes.cotangents.update(zip(instr.outs, cts, strict=True))
        builder.source = cotangent_source(instr)
        operands = active_operands(instr, active)
        if len(operands) > 1 and not instr.op.is_elementwise:  # weights first: the other pullback frees more memory
            operands.sort(key=lambda k: instr.ins[k] not in ends)
        if instr.op.in_place is not None:  # steps that read the cotangent before those that write over it
            operands.reverse()
        for k in operands:
            ct = pull(instr, k, cts, nan_safe, instr.outs[0] in saturating)
            if ct is not None:
                a = instr.ins[k]
                known[a] = add(known.get(a), project(ct, a.aval), a.aval)
    builder.source = None
    found = [known.get(v) for v in wrt]
    if notes is not None:
        notes.cotangents.update(zip(wrt, found, strict=True))
    return found


def cotangent_source(instr: Instr) -> Source | None:
    """The source of the steps that pull back over ``instr``."""
    return None if instr.source is None else instr.source.derived("cotangent", instr.op.name)


def pull(instr: Instr, k: int, cts: Sequence[Any], nan_safe: bool = False, is_before_saturation: bool = False) -> Any:
    """The cotangent of operand ``k`` of ``instr``, before projection; None if it is zero.

    ``cts`` has one cotangent an output, None where nothing has reached it. What is known of its structure is kept if
    the op can keep it; else it becomes dense here.
    """
    op, _, outs, _, _ = instr
    if op.is_elementwise:
        return _pull_elementwise(instr, k, cts[0], nan_safe, is_before_saturation)
    if len(outs) > 1:
        if op.structured is not None:
            known = [None if ct is None else _counting(ct, v.aval) for ct, v in zip(cts, outs, strict=True)]
            answer = op.structured(known, k, *instr.ins, outs, **instr.params)
            if answer is not None:
                return answer
        return _pull_dense(instr, k, tuple([densify(ct, v.aval) for ct, v in zip(cts, outs, strict=True)]))
    ct, y = cts[0], outs[0].aval
    if op.overwrites is not None:
        return _pull_overwriting(instr, k, ct)
    if is_atom(ct):
        return _pull_dense(instr, k, densify(ct, y))
    answer = _pull_structured(instr, k, ct)
    if answer is not None:
        return answer
    # A mask a step would make a loop that writes in place quadratic: there zero becomes a value.
    counts = support(ct, y) if op.in_place is None else None
    if counts is not None:
        return _pull_supported(instr, k, counts)
    return _pull_dense(instr, k, densify(ct, y))


def _counting(ct: Cotangent, aval: Aval) -> Any:
    """Return ``ct`` as a dense cotangent, or as a masked and clean one if it counts in part only."""
    counts = support(ct, aval)
    if counts is None:
        return densify(ct, aval)
    return Masked(broadcast_to(counts.mask, shape=aval.shape), counts.value, is_clean=True)


def _pull_structured(instr: Instr, k: int, ct: Cotangent) -> Any:
    """The cotangent of operand ``k`` by the structure of ``ct`` alone; None where the op has no rule for that."""
    op, ins, (y,), params, _ = instr
    if op.structured is not None:
        answer = op.structured(ct, k, *ins, y, **params)
        if answer is not None:
            return answer
    if op.rearranges and isinstance(ct, Masked) and op.transpose is not None:  # the mask moves as the value does
        mask = ct.mask if is_atom(ct.mask) else written(ct.mask)
        wide = [broadcast_to(a, shape=y.aval.shape) for a in (mask, ct.value)]
        mask, value = [op.transpose[0](a, *ins, **params) for a in wide]
        return ct._replace(mask=mask, value=value)
    return None


def _pull_dense(instr: Instr, k: int, ct: Any) -> Any:
    """The cotangent of operand ``k`` by the transpose or the pullback that the op has."""
    op, ins, outs, params, _ = instr
    y = outs[0] if len(outs) == 1 else outs
    keywords = dict(params, operand=k) if op.is_variadic else params
    try:
        if op.transpose is not None:
            return rule_for(op.transpose, k)(ct, *ins, **keywords)
        if op.pullback is not None:
            return rule_for(op.pullback, k)(ct, *ins, y, **keywords)
    except MissingRuleError as error:
        name_missing(error, instr, k)
    raise no_rule(instr, "pullback")


def _pull_supported(instr: Instr, k: int, counts: Masked) -> Any:
    """The cotangent of operand ``k`` for a cotangent that is structurally zero somewhere, and stays so if possible.

    An op that only adds elements up pulls the mask back as it does the value. A mask that is one boolean (a branch that
    is not taken at all) holds for any operand of any op. Any other op takes the zeros as numbers.
    """
    op, ins, outs, _, _ = instr
    operand, y_is_array = ins[k].aval, outs[0].aval.ndim > 0
    pulled = pull(instr, k, [counts.value])
    if pulled is None:
        return None
    pulled = project(pulled, operand)
    if isinstance(pulled, ScatteredSum) and not y_is_array and any(p.index is None for p in pulled.parts):
        return pulled  # one element at a place that moves, in a loop: a mask of all of them would make it quadratic
    if counts.mask.aval.shape == ():
        return Masked(counts.mask, densify(pulled, operand), is_clean=True)
    return _masked_alike(instr, k, counts, pulled) if op.only_adds else pulled


def _masked_alike(instr: Instr, k: int, counts: Masked, pulled: Cotangent) -> Masked:
    """Mask ``pulled``, the cotangent of operand ``k`` for the value of ``counts``: it counts where the mask, pulled
    back as the numbers 0 and 1, is not zero. Such numbers cannot cancel in a sum."""
    operand = instr.ins[k].aval
    mask = broadcast_to(counts.mask, shape=counts.value.aval.shape)
    reached = pull(instr, k, [convert(mask, dtype=counts.value.aval.dtype)])
    reached = densify(project(reached, operand), operand)
    return Masked(not_equal(reached, 0), densify(pulled, operand), is_clean=True)


MANY_MARKS = 8
"""Only this many marks, the latest, are compared with a write, so that n writes into one array do not look at n marks
each. Where an older mark would say that there is no cotangent, the cotangent is then the number zero."""


def _pull_overwriting(instr: Instr, k: int, ct: Cotangent) -> Any:
    """The cotangent of operand ``k`` of an op that writes operand 1 into operand 0. Overwritten elements have none."""
    op, ins, (y,), params, _ = instr
    answer = None if is_atom(ct) else _pull_structured(instr, k, ct)
    if answer is not None:
        return answer
    assert op.overwrites is not None
    hole = op.overwrites(*ins, **params)
    marks = marks_of(ct, y.aval) or Marks(Lit(True), (), y.aval)
    if k == 0:
        value = densify(_pull_dense(instr, k, densify(ct, y.aval)), y.aval)
        return Masked(marks._replace(joined=(marks.joined, hole)), value, is_clean=True)
    counts = _counts_at(marks, hole)
    if counts is False:
        return None
    dense = densify(ct, y.aval)
    pulled = _pull_dense(instr, k, dense)
    if counts is True or pulled is None:
        return pulled
    return _masked_alike(instr, k, Masked(written(marks), dense), project(pulled, ins[k].aval))


def _counts_at(marks: Marks, hole: Hole) -> bool | None:
    """Whether a cotangent counts in the region ``hole`` that was written; None if its mask must say where.

    The latest mark there decides. If that is a part, most of the region counts, and no mask is made for the rest.
    """
    for n, mark in enumerate(marks.newest_first()):
        if n == MANY_MARKS:
            return True
        if hole.index is not None and mark.index is not None:
            is_same = mark.index == hole.index
            if not is_same and are_disjoint(mark.index, hole.index):
                continue
        else:
            is_same = mark.index is hole.index and mark.indices == hole.indices
        if is_same or isinstance(mark, ScatteredTerm):
            return isinstance(mark, ScatteredTerm)
        return None
    return bool(marks.rest.value) if isinstance(marks.rest, Lit) else None


def _pull_elementwise(instr: Instr, k: int, ct: Any, nan_safe: bool, is_before_saturation: bool) -> Any:
    partial = partial_of(instr, k, nan_safe)
    if is_before_saturation and is_atom(partial) and not isinstance(ct, ScatteredSum | Diagonal):
        value = ct if is_atom(ct) else ct.value
        fixed = None if isinstance(value, Lit) else fixed_at(instr, k)
        if fixed is not None:  # exp(q / T) for q = −∞: its cotangent is 0, and q / T is −∞ for every T
            is_nothing = equal(value, 0) & fixed
            if value is ct:
                ct = Masked(is_nothing, ct, holds=False)
            else:
                partial = select(is_nothing, Lit(0, partial.aval.dtype), partial)
    return apply_partial(ct, partial, instr.outs[0].aval, nan_safe)

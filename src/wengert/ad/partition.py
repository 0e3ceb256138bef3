"""Cut a joint tape in two: the part that runs now, and the part that runs when the cotangent (or tangent) is there.

The values that the first part hands to the second are the *residuals*. Captured arrays that the second part reads
are residuals too: they are kept as they were when the first part ran.
"""

from __future__ import annotations

from wengert.tape import Atom, Instr, Tape, Var


def partition(tape: Tape, n_inputs: int, n_outputs: int) -> tuple[Tape, Tape]:
    """Cut ``tape`` into the part that depends on its first ``n_inputs`` inputs alone, and the rest.

    The first tape returns the first ``n_outputs`` outputs, then the residuals; the second takes the residuals, then
    the other inputs, and returns the other outputs.
    """
    late: set[Atom] = set(tape.inputs[n_inputs:])
    first: list[Instr] = []
    second: list[Instr] = []
    for instr in tape.instrs:
        if late.isdisjoint(instr.ins):
            first.append(instr)
        else:
            late.update(instr.outs)
            second.append(instr)
    residuals: dict[Var, None] = {}  # ordered by first use
    for atoms in (*[i.ins for i in second], tape.outputs[n_outputs:]):
        for a in atoms:
            if type(a) is Var and a not in late:
                residuals[a] = None
    kept = tuple(residuals)
    now = tape.replace(
        in_tree=None,
        out_tree=None,
        inputs=tape.inputs[:n_inputs],
        instrs=tuple(first),
        outputs=(*tape.outputs[:n_outputs], *kept),
    )
    fresh: dict[Atom, Var] = {v: Var(v.aval) for v in kept}  # an input of the second tape is not a value of the first
    later = tape.replace(
        in_tree=None,
        out_tree=None,
        inputs=(*fresh.values(), *tape.inputs[n_inputs:]),
        captures=(),
        instrs=tuple(i._replace(ins=tuple([fresh.get(a, a) for a in i.ins])) for i in second),
        outputs=tuple([fresh.get(a, a) for a in tape.outputs[n_outputs:]]),
    )
    return now, later


def first_part(tape: Tape, n_inputs: int, n_outputs: int) -> Tape:
    return partition(tape, n_inputs, n_outputs)[0]


def second_part(tape: Tape, n_inputs: int, n_outputs: int) -> Tape:
    return partition(tape, n_inputs, n_outputs)[1]


def keep_outputs(tape: Tape, first: int) -> Tape:
    """Return ``tape`` without its outputs before number ``first``."""
    return tape.replace(outputs=tape.outputs[first:], out_tree=None)

"""Join windows of an array with the contraction that reads them, before a derivative is taken.

The derivatives of ``contract_windows`` are contractions of windows again, and write no windows out. Those of a
contraction of a view would scatter into every window.
"""

from __future__ import annotations

from wengert.ops.contract import contract
from wengert.ops.index import slice_
from wengert.ops.shape import transpose
from wengert.ops.windows import Windows, contract_windows, whole, windows
from wengert.tape import Atom, Instr, Tape


def join_windows(tape: Tape) -> Tape:
    """Replace each contraction of a view made of windows by ``contract_windows``, whose derivatives make no copy."""
    if not any(instr.op is windows for instr in tape.instrs):
        return tape
    made: dict[Atom, Instr] = {v: instr for instr in tape.instrs for v in instr.outs}
    instrs = [_with_windows(instr, made) if instr.op is contract else instr for instr in tape.instrs]
    return tape.replace(instrs=tuple(instrs))


def _with_windows(instr: Instr, made: dict[Atom, Instr]) -> Instr:
    first, second = instr.ins
    params = instr.params
    for x, y, a, b in ((first, second, "a", "b"), (second, first, "b", "a")):
        base, w, is_of_windows = _followed(x, made)
        if is_of_windows and all(len(w.along(d)) <= 2 for d in range(base.aval.ndim)):
            labels = dict(a=params[a], b=params[b], out=params["out"])
            return instr._replace(op=contract_windows, ins=(base, y), params={**labels, **w._asdict()})
    return instr


def _followed(x: Atom, made: dict[Atom, Instr]) -> tuple[Atom, Windows, bool]:
    """Return the array of which ``x`` is a view, that view as windows, and whether a step to it is a ``windows``."""
    w, is_of_windows = whole(x.aval.shape), False
    while (instr := made.get(x)) is not None:
        inner = _as_windows(instr)
        if inner is None:
            break
        w, x = w.of(inner), instr.ins[0]
        is_of_windows = is_of_windows or instr.op is windows
    return x, w, is_of_windows


def _as_windows(instr: Instr) -> Windows | None:
    """Return a view as windows if it is affine, else None."""
    shape = instr.outs[0].aval.shape
    if instr.op is windows:
        return Windows(**instr.params)
    if instr.op is transpose:
        axes = instr.params["axes"]
        return Windows(shape, axes, (1,) * len(axes), (0,) * len(axes))
    if instr.op is slice_:
        index = instr.params["index"]
        kept = [(d, entry) for d, entry in enumerate(index) if type(entry) is not int]
        start = tuple([entry if type(entry) is int else entry[0] for entry in index])
        return Windows(shape, tuple([d for d, _ in kept]), tuple([entry[2] for _, entry in kept]), start)
    return None

"""Constants are computed once, before the program is made: all that depends on literals and unchanging captures alone.

The bytes that are kept for them are bounded: a value that is much larger than what it is made of (an outer product, a
table of all pairs) is rather computed at each call, if that is cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert._contexts import silent
from wengert.tape import Atom, Capture, Instr, Lit, Tape, Var, has_effects, key_of

LEAST_BYTES = 1 << 24
"""Constants of so many bytes are kept in any case."""
TIMES = 2
"""They may have so many times the bytes of the inputs, the outputs and the captures."""
SMALL = 1 / 8
"""An operand of a value that is computed at each call is a constant all the same, if it has this share of its bytes."""
DEAR, MOST_STEPS = 4, 64
"""A value is kept, however large, if computing it costs more flops a byte, or more steps."""


def fold_constants(tape: Tape) -> Tape:
    """Compute now all steps that depend only on constants: literals and captures that never change. Linear.

    It is worth its time only for a tape that runs more than once. Results of shape () become literals. The value of a
    view is a view in NumPy too, so a large constant is not copied.
    """
    constants = [c for c in tape.captures if c.is_constant]
    if not constants and all(any(type(a) is Var for a in i.ins) for i in tape.instrs):
        return tape
    return _Folding(tape, constants, _too_large(tape, constants)).tape()


class _Folding:
    """Folds the constants of a tape, but for those that are too large. A value lives until its last reader is done."""

    def __init__(self, tape: Tape, constants: Sequence[Capture], too_large: set[Atom]) -> None:
        self.whole, self.too_large = tape, too_large
        self.values: dict[Atom, Any] = {c.var: c.array for c in constants}
        """The constants that are known, as long as they may be read."""
        self.folded: dict[Atom, Atom] = {c.var: Lit(c.array, c.array.dtype) for c in constants if c.array.ndim == 0}
        """The literal, or the equal constant, in place of a constant."""
        self.seen: dict[Any, Var] = {}  # equal constants are one, else equal steps that read them would not be merged
        self.captures = list(tape.captures)
        self.captured: set[Atom] = {c.var for c in constants}
        self.memory = {id(_memory(c.array)) for c in constants}
        self.last: dict[Atom, int] = {a: k for k, i in enumerate(tape.instrs) for a in i.ins}
        """The last step that reads a value."""
        self.last.update(dict.fromkeys(tape.outputs, len(tape.instrs)))
        self.dying: dict[int, list[Atom]] = {}

    def tape(self) -> Tape:
        kept: list[Instr] = []
        for k, instr in enumerate(self.whole.instrs):
            if instr.ins and self.values.keys().isdisjoint(instr.ins) and any(type(a) is Var for a in instr.ins):
                kept.append(instr)  # most are of this kind
                continue
            varies = any(type(a) is Var and a not in self.values for a in instr.ins)
            if varies or not _may_be_folded(instr) or instr.outs[0] in self.too_large or not self._fold(k, instr):
                kept.append(instr._replace(ins=tuple([self._read(a) for a in instr.ins])))
            self._let_go(k)
        outputs = tuple([self._read(a) for a in self.whole.outputs])
        return self.whole.replace(instrs=tuple(kept), captures=tuple(self.captures), outputs=outputs)

    def _fold(self, k: int, instr: Instr) -> bool:
        """Compute a step on constants, and return whether it does not fail."""
        op, ins, (out,), params, _ = instr
        key = (op, *[key_of(self.folded.get(a, a)) for a in ins], *params.items())
        known = self.seen.get(key)
        if known is not None and known in self.values:
            self.values[out] = self.values[known]
            self.folded[out] = self.folded.get(known, known)
            self.last[known] = max(self.last.get(known, k), self.last.get(out, k))
        else:
            with silent():
                try:
                    value = op.reference(*[a.value if type(a) is Lit else self.values[a] for a in ins], **params)
                except Exception:  # a step that fails now will fail, or not be reached, when the program runs
                    return False
            self.values[out] = np.asarray(value)
            first = self.seen.setdefault(key, out)
            if out.aval.shape == ():
                self.folded[out] = Lit(value, out.aval.dtype)
            elif first is not out:  # its value was let go, but steps that are left may read it
                self.folded[out] = self.folded.get(first, first)
        self.dying.setdefault(self.last.get(out, k), []).append(out)
        return True

    def _let_go(self, k: int) -> None:
        """Let go of the values whose last reader is step ``k``."""
        for v in self.dying.pop(k, ()):
            last = self.last.get(v, k)
            if last > k:  # an equal one is read later
                self.dying.setdefault(last, []).append(v)
            else:
                del self.values[v]

    def _read(self, a: Atom) -> Atom:
        """Return what a step that is left reads in place of ``a``. A constant that is no number becomes a capture."""
        if a not in self.values:
            return a
        found = self.folded.get(a, a)
        if type(found) is Var and found not in self.captured:
            self.captured.add(found)
            self.captures.append(Capture(found, self._apart(self.values[a]), "constant", True))
        return found

    def _apart(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return ``x``, or a copy if it is a small part of memory that would live on for it alone."""
        memory = _memory(x)
        return x if id(memory) in self.memory or memory.nbytes * SMALL <= x.nbytes else x.copy()


def _may_be_folded(instr: Instr) -> bool:
    return not has_effects(instr) and not instr.op.may_vary and len(instr.outs) == 1


def _memory(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array that has the memory of which ``x`` is a view."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


# ---------------------------------------------------------------------------------------------- what is too large


def _too_large(tape: Tape, constants: Sequence[Capture]) -> set[Atom]:
    """Return the constants that are better computed at each call, so that the others do not take too many bytes."""
    sizes: dict[Atom, int] = {c.var: 0 for c in constants}  # the bytes that keeping a constant takes
    made: dict[Atom, Instr] = {}
    read: dict[Atom, None] = {}  # the constants that must be kept for steps that are left
    for i in tape.instrs:
        variables = [a for a in i.ins if type(a) is Var]
        if any(a not in sizes for a in variables) or not _may_be_folded(i):
            read.update([(a, None) for a in variables if a in sizes])
            continue
        (v,) = i.outs
        made[v] = i
        sizes[v] = min([v.aval.nbytes, *[sizes[a] for a in variables]]) if i.op.is_view else v.aval.nbytes
        if v.aval.shape == () or (i.op.is_view and not variables):
            sizes[v] = 0
    read.update([(a, None) for a in tape.outputs if a in sizes])
    given = sum([a.aval.nbytes for a in (*tape.inputs, *tape.outputs, *[c.var for c in tape.captures])])
    most = max(LEAST_BYTES, TIMES * given)
    if sum([sizes[v] for v in read]) <= most:
        return set()
    names = _names(made)
    read = dict.fromkeys([names.get(v, v) for v in read])
    total = sum([sizes[v] for v in read])
    found = set[Atom]()
    for v in sorted(read, key=lambda v: -sizes[v]):
        if total <= most:
            break
        again, parts = _again(v, made, sizes, found)
        now = total - sizes[v] + sum([sizes[a] for a in parts if a not in read])
        if again and now < total:
            found |= again
            read.update(dict.fromkeys(parts))
            total = now
    return found | {v for v in made if names[v] in found}


def _names(made: dict[Atom, Instr]) -> dict[Atom, Atom]:
    """Return for each constant the first one that is made of equal ones by an equal step."""
    names: dict[Atom, Atom] = {}
    seen: dict[Any, Atom] = {}
    for v, i in made.items():
        names[v] = seen.setdefault((i.op, *[key_of(names.get(a, a)) for a in i.ins], *i.params.items()), v)
    return names


def _again(
    v: Atom, made: dict[Atom, Instr], sizes: dict[Atom, int], found: set[Atom]
) -> tuple[set[Atom], dict[Atom, None]]:
    """Return the constants that are computed at each call if ``v`` is, none if that is dear; and those they read."""
    again, parts, flops = set[Atom](), dict[Atom, None](), 0.0
    todo = [v]
    while todo:
        a = todo.pop()
        if a in again or a in found or a not in made:
            continue
        again.add(a)
        instr = made[a]
        flops += instr.op.cost(*[x.aval for x in instr.ins], **instr.params)
        if flops > DEAR * sizes[v] or len(again) > MOST_STEPS:
            return set(), {}
        for x in instr.ins:
            if type(x) is Var and sizes[x] <= SMALL * sizes[v]:
                parts[x] = None
            elif type(x) is Var:
                todo.append(x)
    return again, parts

"""The function that is traced may look at a value: in a condition, as an index, by ``int(n)``.

Values are evaluated on demand, and a *guard* records what was seen: the tape is valid for inputs that look the same.
A text for people, and an example for a batch, are evaluated without a guard.

Within the body of a loop or a branch, which is recorded once for any number of runs, the truth of a value is *decided*:
the body is run once for each outcome (:mod:`wengert.tracing.decisions`). A guard inside of a body would run in every
iteration, so a value that comes from outside of the body is guarded before the loop.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert._contexts import silent
from wengert.errors import ConcretizationError, message
from wengert.ops import OPS
from wengert.ops.control import Expected, guard
from wengert.ops.printing import quietly
from wengert.source import Source
from wengert.tape import Atom, Capture, Instr, Lit, Var, has_effects
from wengert.tracing import hooks
from wengert.tracing._steps import looked
from wengert.tracing.counted import note_iteration
from wengert.tracing.decisions import ValueNumbers, number
from wengert.tracing.lifting import capture_again, lift
from wengert.tracing.stack import bodies, current_trace, open_traces

if TYPE_CHECKING:
    from wengert.tracing.trace import Trace
    from wengert.tracing.tracer import Tracer

OF_NUMBERS = ["np.array(a)[i], for an element of a list", "np.floor(x) or x.astype(int), for int(x)"]
TEXT_INSTEAD = ['wg.print("{}", x), which prints at every run']
LOOKS_INSTEAD = ["np.where(condition, a, b) instead of if", "a loop outside of the mapped function"]


MOST_BYTES = 1 << 26
"""Values of so many bytes are kept of what was evaluated, or as many as some of the largest of them have."""
SOME = 16


class Looking:
    """The values of one trace that have been looked at, and what was needed for that."""

    __slots__ = ("_again", "_bytes", "_defined", "_forgotten", "_largest", "_n_defined", "numbers", "refusal", "values")

    def __init__(self) -> None:
        self.values: dict[Var, Any] = {}
        """The variables that have been evaluated and whose values are kept, those used longest ago first."""
        self.numbers: ValueNumbers | None = None
        """The numbers of equal values, once a body has decided something: see decisions.py."""
        self.refusal: tuple[str, Source | None] | None = None
        """The last refusal of a number to a library, and where: its code may make another error of it, or lose it."""
        self._defined: dict[Var, Instr] = {}
        self._n_defined = 0
        self._bytes = self._largest = 0
        self._forgotten = set[Var]()
        """The variables whose values have been forgotten once: if they are needed again, they are kept for good."""
        self._again = set[Var]()

    def keep(self, instr: Instr, results: Sequence[Any]) -> None:
        """Keep what a step has given, and let go of what was used long ago if that is much.

        A loop that looks at a value in each iteration would keep the values of all. Each is computed at most twice, and
        once alone if Python code of the user's computes it.
        """
        values, is_known = self.values, OPS.get(instr.op.name) is instr.op and not instr.op.kernel.has_bodies
        for v, result in zip(instr.outs, results, strict=True):
            values[v] = result
            if not is_known or v in self._forgotten:
                self._again.add(v)
            elif not instr.op.is_view:
                self._bytes += v.aval.nbytes
                self._largest = max(self._largest, v.aval.nbytes)
        if self._bytes > max(MOST_BYTES, SOME * self._largest):
            self._forget()

    def _forget(self) -> None:
        """Let go of the values that were used longest ago, and keep about half of what may be kept."""
        enough = max(MOST_BYTES, SOME * self._largest) // 2
        for v in list(self.values):
            if self._bytes <= enough:
                break
            instr = self._defined.get(v)
            if instr is None or v in self._again:
                continue
            del self.values[v]
            self._forgotten.add(v)
            if not instr.op.is_view:
                self._bytes -= v.aval.nbytes

    def definitions(self, trace: Trace) -> dict[Var, Instr]:
        """Return the instruction that made each variable so far."""
        new = trace.builder.since(self._n_defined)
        for instr in new:
            for v in instr.outs:
                self._defined[v] = instr
        self._n_defined += len(new)
        return self._defined

    def end(self) -> None:
        """Let go of the values, so that they go when the call ends."""
        self.values.clear()
        self._forgotten.clear()
        self._again.clear()
        self._defined.clear()
        self.numbers = None


# ------------------------------------------------------------------------------------------------------- looks


def has_values(trace: Trace) -> bool:
    """Whether the values of ``trace`` are known: it is neither a batch nor within a body."""
    around = bodies()
    return trace.concrete and (not around or around[0].level > trace.level)


def look(trace: Trace, atom: Atom, kind: str, owner: Tracer, loop: int | None = None) -> Any:
    """Return the value of ``atom``, guarded where it is known. Within the body of a loop or a branch, return the
    outcome that is decided for a truth which is not known. A value from outside of a body is looked at there. Raise
    ConcretizationError for any other, such as one of a batch. ``loop``: see IterationNote."""
    if type(atom) is Lit:
        return atom.value
    looked()
    around = bodies()
    if has_values(trace) and not (around and _is_of_batch(trace, atom)):
        return _guarded(trace, atom, kind, owner, loop)
    if around and kind == "bool" and around[-1].level >= trace.level:
        return _decided(around[-1], owner)
    if trace.concrete or (kind != "bool" and _comes_from_outside(trace, atom)):  # it is looked at where it comes from
        moved = _moved_out(trace, atom, _around_bodies())
        return look(moved._trace, moved.atom(), kind, moved)
    where = trace.locate()
    what = f"{kind} needs the value of {owner.aval}, which has none: {trace.why_abstract}"
    tries = LOOKS_INSTEAD if trace.decisions is None else OF_NUMBERS
    error = ConcretizationError(message(what, where, tries=TEXT_INSTEAD if kind == "text" else tries))
    (current_trace() or trace).looking.refusal = (str(error), where)
    raise error


def _guarded(trace: Trace, atom: Atom, kind: str, owner: Tracer, loop: int | None) -> Any:
    value = evaluate(trace, atom)
    # The innermost trace records the guard, whoever the value belongs to: guards stay in the order of the looks,
    # on which the tree of tapes rests. But no body does: what is looked at there does not change while it runs.
    around = bodies()
    innermost = open_traces()[around[0].level - 2] if around else current_trace() or trace
    inner_atom = atom if innermost is trace else lift(innermost, owner)
    expected = Expected(value)
    if not around and kind in ("iteration", "bool") and (counts := innermost.run.counts) is not None:
        made = trace.looking.definitions(trace).get(atom) if type(atom) is Var else None
        note = note_iteration(innermost, "" if made is None else made.op.name, loop)
        if note is not None:
            counts.note_guard(expected, note)
    innermost.builder.emit(guard, (inner_atom,), {"expected": expected, "position": -1, "kind": kind})
    for t in open_traces():
        t.noting.look(len(t.builder))
    return value


def _decided(body: Trace, condition: Tracer) -> bool:
    """Return the outcome of ``condition`` in this run of a body."""
    atom = lift(body, condition)
    if type(atom) is Lit:
        return bool(atom.value)
    assert body.decisions is not None
    outcome = body.decisions.outcome(number(body, atom), len(body.builder), atom, body.locate())
    body.own_all()  # what comes now is of this path
    return outcome


# --------------------------------------------------------------------------------------------- where a value is from


def _comes_from_outside(trace: Trace, atom: Atom) -> bool:
    return trace.owns and type(atom) is Var and all(v not in trace.lifted.inputs for v in _ancestors(trace, atom)[1])


def _is_of_batch(trace: Trace, atom: Atom) -> bool:
    """Whether a value of an enclosing trace without values has gone into ``atom``."""
    if type(atom) is Lit or all(t.concrete for t in open_traces()[: trace.level]):
        return False
    outer = [trace.lifted.from_outside(v) for v in _ancestors(trace, atom)[1]]
    traced = [x for x in outer if type(x) is hooks.Tracer and x.constant() is None]
    return any(not x._trace.concrete or _is_of_batch(x._trace, x.atom()) for x in traced)


def is_of_captures(trace: Trace, atom: Atom) -> bool:
    """Whether captured arrays alone have gone into ``atom``: no input of this trace, nor of an enclosing one."""
    lifted = trace.lifted
    defined, captured = trace.looking.definitions(trace), {c.var for c in lifted.captures.values()}
    stack, seen = [atom], set[Atom]()
    while stack:
        at = stack.pop()
        if type(at) is Lit or at in captured or at in seen:
            continue
        seen.add(at)
        if at in defined:
            stack.extend(defined[at].ins)
            continue
        outer = lifted.outer(at)
        if outer is None or not is_of_captures(outer._trace, outer.atom()):
            return False
    return True


def _ancestors(trace: Trace, atom: Var) -> tuple[list[Instr], list[Var]]:
    """Return the steps that ``atom`` comes from, in their order, and the variables that no step gives them."""
    defined = trace.looking.definitions(trace)
    leaves: list[Var] = []
    steps: set[int] = set()
    seen, todo = set[Var](), [atom]
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        if at in defined:
            steps.add(id(defined[at]))
            todo.extend([a for a in defined[at].ins if type(a) is Var])
        else:
            leaves.append(at)
    return [i for i in trace.builder.since(0) if id(i) in steps], leaves


def _around_bodies() -> Trace:
    """Return the innermost trace with values around the outermost body; the outermost of all if there is none."""
    around = open_traces()[: bodies()[0].level - 1]
    return next((t for t in reversed(around) if t.concrete), around[0])


def _moved_out(inner: Trace, atom: Var, around: Trace) -> Tracer:
    """Compute the value ``atom`` of ``inner``, a derivative within a body, once more: as a value of the innermost trace
    that it depends on, or else of ``around``."""
    steps, leaves = _ancestors(inner, atom)
    given = [inner.lifted.from_outside(v) for v in leaves]
    traces = [x._trace for x in given if type(x) is hooks.Tracer and x.constant() is None]
    home = max([around, *traces], key=lambda t: t.level)
    moved: dict[Atom, Atom] = {
        v: capture_again(home, x) if type(x) is Capture else lift(home, x) for v, x in zip(leaves, given, strict=True)
    }
    for op, ins, outs, params, _ in steps:
        moved.update(zip(outs, home.builder.emit(op, tuple([moved.get(a, a) for a in ins]), {**params}), strict=True))
    return hooks.Tracer(home, moved[atom], atom.aval)


def without_own_derivative(x: Tracer) -> Any:
    """Return the value of ``x`` as the enclosing traces know it: a constant to the trace that it belongs to, and to the
    others traced, if they have gone into it. In the outermost trace it is looked at."""
    around = [t for t in open_traces() if t.level < x._trace.level and t.concrete]
    atom = x.atom()
    if not around or type(atom) is Lit or x.constant() is not None:
        return x.as_python(x.look("_value"))
    moved = _moved_out(x._trace, atom, around[-1])
    moved.is_scalar, moved.weak = x.is_scalar, x.weak
    return moved if moved._trace is not x._trace else x.as_python(x.look("_value"))


# ---------------------------------------------------------------------------------------------------- evaluation


def evaluate(trace: Trace, atom: Atom, is_example: bool = False) -> Any:
    """Return the concrete value of an atom: its ancestors are run through their references; see Looking.keep.

    ``is_example``: where a trace has no values, those of its first example will do.
    """
    if type(atom) is Lit:
        return atom.value
    looked()
    generators = trace.run.generators
    if generators is not None and generators.has_drawn and not is_example:
        raise generators.need()
    defined = trace.looking.definitions(trace)
    looking, known = trace.looking, trace.looking.values
    values = ChainMap({}, known) if is_example else known  # nobody takes an example for the value
    stack: list[Var] = [atom]
    while stack:
        var = stack[-1]
        if var in values:
            stack.pop()
            continue
        instr = defined.get(var)
        if instr is None:
            values[var] = _leaf_value(trace, var, is_example)
            stack.pop()
            continue
        missing = [a for a in instr.ins if type(a) is Var and a not in values]
        if missing:
            stack.extend(missing)
            continue
        args = [a.value if type(a) is Lit else values[a] for a in instr.ins]
        with silent():  # a loop that prints will do so when the program runs
            run = partial(quietly, instr.op.reference) if has_effects(instr) else instr.op.reference
            out = run(*args, **instr.params)
        results = (out,) if len(instr.outs) == 1 else out
        if is_example:
            values.update(zip(instr.outs, results, strict=True))
        else:
            for a in instr.ins:
                if a in known:  # it is used now: it moves behind all others
                    known[a] = known.pop(a)
            looking.keep(instr, results)
        stack.pop()
    return values[atom]


def _leaf_value(trace: Trace, var: Var, is_example: bool) -> Any:
    """Return the value of a variable that no step has made."""
    lifted = trace.lifted
    given = lifted.given.get(var)
    if isinstance(given, np.ndarray | np.generic):
        return given
    if type(given) is partial:  # an example, put off until it is asked for
        return given()
    for c in lifted.captures.values():
        if c.var is var:
            return c.array
    outer = given if given is not None else lifted.outer(var)
    if outer is None:
        what = f"{var.aval} has no value here: {trace.why_abstract or 'it is abstract'}"
        raise ConcretizationError(message(what, trace.locate()))
    if outer._trace.concrete or is_example:
        return evaluate(outer._trace, outer.atom(), is_example)
    what = f"the value of {outer.aval} is needed, which has none: {outer._trace.why_abstract}"
    raise ConcretizationError(message(what, trace.locate(), tries=LOOKS_INSTEAD))

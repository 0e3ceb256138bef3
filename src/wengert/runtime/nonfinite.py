"""Find the operation that made a NaN or an infinity, by running a tape again through the references of its ops.

A compiled program says that something it has written is not finite; it cannot say which of the user's operations made
it, since a kernel does many. So the tape, on which each step has its line, runs once more on the same values:

* An operation *makes* a NaN where no operand has one, and an infinity where all operands are finite. Literals,
  arguments and captured arrays that are not finite are data, and nobody made them.
* What a selection leaves out counts as little as in the result: ``np.where(x > 0, np.log(x), 0)`` at 0 is 0. So does
  what is only asked whether it is finite (``np.isnan``).
* The first operation that is left, in the order of the tape, is the one that is named. In loops and branches the search
  goes on in the body, iteration by iteration.
* An argument with a NaN is named where it reaches a result and no operation made one.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert import tree
from wengert._contexts import silent
from wengert.edit import played
from wengert.errors import NonFiniteError, message
from wengert.higher.loops import one_iteration_back
from wengert.ops.elementwise import select
from wengert.ops.kernels import Alternatives, Loop, MapTape, RepeatWhile, RepeatWhileBack
from wengert.ops.printing import quietly
from wengert.runtime.remedies import Made, headline, remedies
from wengert.source import Source
from wengert.tape import Atom, Instr, Lit, Tape, Var, tapes_in

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
"""A call of the user's: the function, its arguments and those given by name."""


class _Calling(threading.local):
    """The un-jitted call that this thread runs, by which errors name arguments."""

    call: tuple[Call, Sequence[Any], dict[Var, Any]] | None = None
    """The call, its arrays that are the first inputs of the tape, and the captured arrays."""


calling = _Calling()

ASK = frozenset({np.isnan, np.isfinite, np.isinf})
"""The functions that ask whether a number is finite, and so expect that some are not."""

MOST = 100
"""So many operations are noted of those that made something. The first of them is the one that is wanted."""


class Replay(NamedTuple):
    """The finds of a run of a tape."""

    made: Made | None
    outputs: list[Any]
    argument: tuple[int, tuple[int, ...]] | None
    """The number of the input, or behind these of the captured array, of which a NaN reaches a result, and where."""
    has_any: bool
    """Whether anything was not finite, made or given."""


def look(tape: Tape, inputs: Sequence[Any], captures: Any, function: Callable[..., Any] | None = None) -> None:
    """Raise NonFiniteError if a run of the tape on these values makes something that this thread looks for."""
    from wengert.runtime._native import finding  # read where it is needed: the mode is that of the thread

    captures = [c.array for c in tape.captures] if captures is None else captures
    raise_if_made(tape, inputs, captures, finding.mode == 2, function)


def raise_if_made(
    tape: Tape,
    inputs: Sequence[Any],
    captures: Sequence[Any],
    infinities: bool,
    function: Callable[..., Any] | None = None,
    step: Instr | None = None,
) -> None:
    """Raise NonFiniteError if an operation of the tape makes a NaN, or an infinity if these count, on these values, or
    if an argument has a NaN that reaches a result.

    ``function`` is the user's, whose names of arguments are used. ``step`` is one of a program that wrote something
    which is not finite; it is named if the references make nothing of the kind.
    """
    replay = quietly(replayed, tape, inputs, captures, infinities)
    if replay.made is not None:
        raise _error_of(replay.made, _names(tape, function))
    if replay.argument is not None:
        raise _error_of_argument(tape, (*inputs, *captures), *replay.argument, function)
    if step is not None and not replay.has_any:
        raise _error_of_kernel(step)


# ------------------------------------------------------------------------------------------------------- the replay


def replayed(tape: Tape, inputs: Sequence[Any], captures: Sequence[Any] = (), infinities: bool = True) -> Replay:
    """Run a tape through the references of its ops, and find what made something that is not finite."""
    with silent():
        return _Running(tape, infinities).run(inputs, captures)


class _Step(NamedTuple):
    """A step that read or wrote something not finite."""

    outs: tuple[Var, ...]
    passed: list[Atom]
    """The operands from which results have it."""
    lost: list[Atom]
    """The operands of which it is gone from the results by arithmetic, as of 1 / inf."""
    made: Made | None


class _Running:
    """One run. The values of a step are let go of after their last use, as in any other run by the references."""

    def __init__(self, tape: Tape, infinities: bool) -> None:
        self.tape = tape
        self.infinities = infinities
        self.flagged: set[Atom] = set()
        self.steps: list[_Step] = []
        self.count = 0

    def run(self, inputs: Sequence[Any], captures: Sequence[Any]) -> Replay:
        tape = self.tape
        given = (*tape.inputs, *[c.var for c in tape.captures])
        values: dict[Atom, Any] = dict(zip(given, (*inputs, *captures), strict=True))
        self.flagged.update([v for v, x in values.items() if self._has(x)])
        last = {a: k for k, instr in enumerate(tape.instrs) for a in (*instr.outs, *instr.ins)}
        last.update(dict.fromkeys([*given, *tape.outputs], len(tape.instrs)))
        has_ended = False
        for k, instr in enumerate(tape.instrs):
            if not instr.outs:  # guards and prints: nothing is computed
                continue
            operands = [a.value if type(a) is Lit else values[a] for a in instr.ins]
            try:
                result = instr.op.reference(*operands, **instr.params)
            except Exception:  # whatever the user's code or NumPy raises: the program itself will raise it
                has_ended = True
                break
            results = (result,) if len(instr.outs) == 1 else result
            values.update(zip(instr.outs, results, strict=True))
            self._note(instr, operands, results)
            for a in (*instr.ins, *instr.outs):
                if type(a) is Var and last[a] <= k:
                    values.pop(a, None)
        outputs = [] if has_ended else [a.value if type(a) is Lit else values[a] for a in tape.outputs]
        ends = self.flagged if has_ended else self.flagged.intersection(tape.outputs)
        counting = self._counting(ends, with_lost=True)
        made = next((s.made for s in self.steps if s.made is not None and not counting.isdisjoint(s.outs)), None)
        argument = None
        if made is None and not has_ended:
            reaching = self._counting(ends, with_lost=False)
            argument = next(
                ((k, at) for k, v in enumerate(given) if v in reaching and (at := _nan_at(values[v]))), None
            )
        return Replay(made, outputs, argument, bool(self.flagged))

    def _bad(self, x: Any) -> Any:
        """Where ``x`` has what is looked for; None if it has no floats."""
        x = np.asarray(x)
        if x.dtype.kind not in "fc":
            return None
        return ~np.isfinite(x) if self.infinities else np.isnan(x)

    def _has(self, x: Any) -> bool:
        bad = self._bad(x)
        return bad is not None and bool(bad.any())

    def _note(self, instr: Instr, operands: Sequence[Any], results: Sequence[Any]) -> None:
        """Note what a step makes, hands on or loses of what is not finite."""
        wrong = [v for v, y in zip(instr.outs, results, strict=True) if self._has(y)]
        self.flagged.update(wrong)
        read = [k for k, a in enumerate(instr.ins) if a in self.flagged or (type(a) is Lit and self._has(a.value))]
        if not wrong and not read:
            return
        if instr.op.is_elementwise and len(instr.outs) == 1:
            passed, lost, made = self._of_elements(instr, operands, results[0], read)
        else:
            moves = instr.op.kernel.only_reads or instr.op.kernel.joins or instr.op.kernel.is_update
            passed, lost = (read, []) if wrong else ([], [] if moves else read)
            made = None if moves or not wrong else self._made_in(instr, operands, results)
        self.count += made is not None
        ins = instr.ins
        self.steps.append(_Step(instr.outs, [ins[k] for k in passed], [ins[k] for k in lost], made))

    def _of_elements(
        self, instr: Instr, operands: Sequence[Any], y: Any, read: Sequence[int]
    ) -> tuple[list[int], list[int], Made | None]:
        """Return the operands from which an elementwise step hands on what is not finite, those of which it loses it,
        and what it makes itself."""
        bad = self._bad(y)
        if bad is None:
            return [], [] if instr.op.reference in ASK else list(read), None
        passed, lost = list[int](), list[int]()
        for k in read:
            there = np.asarray(self._bad(operands[k]))
            if instr.op is select and k > 0:
                chosen = np.asarray(operands[0]).astype(bool)
                there = there & (chosen if k == 1 else ~chosen)
            if np.any(bad & there):
                passed.append(k)
            elif instr.op is not select:
                lost.append(k)
        if self.count >= MOST or not bad.any():
            return passed, lost, None
        if instr.op is select:
            made = self._by_rule(instr, operands, bad)
            return passed, lost, None if made is None else self._first(instr, operands, y, made)
        made = np.isnan(y) & ~_any_of(np.isnan, operands)
        if self.infinities:
            made = made | (np.isinf(y) & ~_any_of(lambda x: ~np.isfinite(x), operands))
        if not made.any():
            return passed, lost, None
        found = self._first(instr, operands, y, made)
        there, index = found.operands, found.index
        if type(instr.op.kernel) is MapTape:
            inner = replayed(instr.params["body"], there, (), self.infinities).made
            found = found if inner is None else inner._replace(index=index, shape=np.shape(y), source=instr.source)
        return passed, lost, found

    def _first(self, instr: Instr, operands: Sequence[Any], y: Any, made: Any) -> Made:
        """The first element of ``y`` where ``made`` says so."""
        index = tuple(map(int, np.unravel_index(int(np.argmax(made)), np.shape(made))))
        there = [np.broadcast_to(x, np.shape(y))[index] for x in operands]
        return Made(instr, there, np.asarray(y)[index], index, np.shape(y))

    def _by_rule(self, instr: Instr, operands: Sequence[Any], bad: Any) -> Any:
        """Where the rule of a derivative chooses a NaN or an infinity that is written in it: the derivative does not
        exist. None if it does not. In a step of the user's, such a number is data."""
        if instr.source is None or not instr.source.of:
            return None
        written = [type(a) is Lit and self._has(a.value) for a in instr.ins]
        chosen = np.asarray(operands[0]).astype(bool)
        made = bad & ((chosen & written[1]) | (~chosen & written[2]))
        return made if made.any() else None

    def _made_in(self, instr: Instr, operands: Sequence[Any], results: Sequence[Any]) -> Made | None:
        """Return the find in a step that is not elementwise, or None."""
        if self.count >= MOST:
            return None
        if type(instr.op.kernel) in _INSIDE:
            for tape, values, words in _INSIDE[type(instr.op.kernel)](instr, operands):
                inner = replayed(tape, values, (), self.infinities).made
                if inner is not None:
                    return inner._replace(within=(words, *inner.within) if words else inner.within)
        floats = [np.asarray(x) for x in operands if np.asarray(x).dtype.kind in "fc"]
        has_nan, is_finite = any(map(_has_nan, floats)), all(bool(np.isfinite(x).all()) for x in floats)
        for y in map(np.asarray, results):
            if y.dtype.kind not in "fc":
                continue
            where = np.isnan(y) if not has_nan else np.zeros(y.shape, bool)
            if self.infinities and is_finite:
                where = where | np.isinf(y)
            if where.any():
                index = tuple(map(int, np.unravel_index(int(np.argmax(where)), y.shape)))
                return Made(instr, list(operands), y[index], index, y.shape)
        return None

    def _counting(self, ends: set[Atom], with_lost: bool) -> set[Atom]:
        """The values in which something not finite counts: it gets into ``ends`` or, ``with_lost``, something is
        computed with it."""
        counting = set(ends)
        for step in reversed(self.steps):
            if not counting.isdisjoint(step.outs):
                counting.update(step.passed)
            if with_lost:
                counting.update(step.lost)
        return counting


def _any_of(is_wrong: Callable[[Any], Any], operands: Sequence[Any]) -> Any:
    """Where an operand of an elementwise step is wrong."""
    found: Any = False
    for x in map(np.asarray, operands):
        if x.dtype.kind in "fc":
            found = found | is_wrong(x)
    return found if found is not False else np.False_


def _has_nan(x: Any) -> bool:
    return bool(np.isnan(x).any())


def _nan_at(x: Any) -> tuple[int, ...] | None:
    x = np.asarray(x)
    if x.dtype.kind not in "fc" or not _has_nan(x):
        return None
    return tuple(map(int, np.unravel_index(int(np.argmax(np.isnan(x))), x.shape)))


# --------------------------------------------------------------------------------------------- in loops and branches

Inside = Iterator[tuple[Tape, Sequence[Any], str]]
"""The runs of a body: the tape, the values of its inputs, and words that say which run it is."""


def _results(body: Tape, values: Sequence[Any]) -> list[Any]:
    found = played(body, *values)
    return [found[a] for a in body.outputs]


def _in_scan(instr: Instr, operands: Sequence[Any]) -> Inside:
    loop = instr.params["loop"]
    n, first = loop.constants, loop.constants + loop.carries
    constants, carry, stacks = operands[:n], list(operands[n:first]), operands[first:]
    for step in range(loop.length):
        k = loop.length - 1 - step if loop.is_reversed else step
        values = [*constants, *carry, *[x[k] for x in stacks]]
        yield loop.body, values, f"iteration {k} of {loop.length}"
        carry = _results(loop.body, values)[: loop.carries]


def _in_while(instr: Instr, operands: Sequence[Any]) -> Inside:
    loop = instr.params["loop"]
    tests, constants = operands[: loop.of_condition], operands[loop.of_condition : loop.first]
    carry, count = list(operands[loop.first : loop.first + loop.carries]), 0
    while played(loop.condition, *tests, *carry)[loop.condition.outputs[0]]:
        yield loop.body, [*constants, *carry], f"iteration {count}"
        carry, count = _results(loop.body, [*constants, *carry]), count + 1


def _in_while_back(instr: Instr, operands: Sequence[Any]) -> Inside:
    loop, wrt = instr.params["loop"], instr.params.get("wrt")
    if wrt is None:
        back, sums = instr.params["back"], instr.params["sums"]
    else:
        back, sums = one_iteration_back(loop, wrt), sum(k < loop.constants for k in wrt)
    count = loop.first + loop.carries
    trail = [values[loop.constants :] for _, values, _ in _in_while(instr, operands[:count])]
    constants, cts = operands[loop.of_condition : loop.first], list(operands[count:])
    totals: list[Any] = [np.zeros(a.shape, a.dtype) for a in back.out_avals[:sums]]
    for k in reversed(range(len(trail))):
        values = [*constants, *trail[k], *cts, *totals]
        yield back, values, f"iteration {k}"
        results = _results(back, values)
        totals, cts = results[:sums], results[sums:]


def _in_branch(instr: Instr, operands: Sequence[Any]) -> Inside:
    branches = instr.params["branches"]
    number = min(max(int(operands[0]), 0), len(branches) - 1)
    yield branches[number], operands[1:], f"branch {number}" if len(branches) > 1 else ""


_INSIDE: dict[Any, Callable[[Instr, Sequence[Any]], Inside]] = {
    Loop: _in_scan,
    RepeatWhile: _in_while,
    RepeatWhileBack: _in_while_back,
    Alternatives: _in_branch,
}
"""The runs of the bodies of a step, by the kind of its kernel."""


# ------------------------------------------------------------------------------------------------------------- errors


def _error_of(made: Made, names: dict[Atom, str]) -> NonFiniteError:
    source = made.source or made.instr.source
    notes: list[tuple[str, str]] = []
    if source is not None and source.of:
        way = "backward" if source.of.startswith("cotangent") else "forward"
        notes.append(("pass", f"{way}, the {source.of}"))
    else:
        notes.append(("pass", "forward"))
    notes += [("loop" if w.startswith("iteration") else "within", w) for w in made.within]
    for a, x in dict(zip(made.instr.ins, made.operands, strict=False)).items():
        if a in names:
            notes.append((names[a], in_words(x)))
        elif np.ndim(x):
            notes.append(("reads", in_words(x)))
    error = NonFiniteError(message(headline(made), source, notes, remedies(made)))
    error.op, error.index, error.source = made.instr.op.name, made.index, source
    error.operands, error.is_backward = tuple(made.operands), source is not None and source.of.startswith("cotangent")
    return error


def in_words(x: Any) -> str:
    """A number as it is, or an array by its type and range.

    >>> in_words(np.array([1.0, 3.0])), in_words(np.float64(2.0))
    ('float64[2], from 1.0 to 3.0', '2.0')
    """
    x = np.asarray(x)
    if x.ndim == 0:
        return str(x[()])
    kind = f"{x.dtype.name}[{', '.join(map(str, x.shape))}]"
    if x.size == 0 or x.dtype.kind not in "fiu":
        return kind
    with silent():
        return f"{kind}, from {x.min()!s} to {x.max()!s}"


def _error_of_argument(
    tape: Tape, values: Sequence[Any], number: int, index: tuple[int, ...], function: Callable[..., Any] | None
) -> NonFiniteError:
    names = _names(tape, function)
    if number < len(tape.inputs):
        name = names[tape.inputs[number]]
    else:
        captured = tape.captures[number - len(tape.inputs)]
        name = captured.name or names.get(captured.var) or "a captured array"
    place = f"[{', '.join(map(str, index))}]" if index else ""
    error = NonFiniteError(
        message(
            f"{tape.name}: {name}{place} is NaN, and makes a result NaN",
            tries=["np.nansum, np.nanmean and their like, or np.where(np.isnan(x), 0.0, x), for data with gaps"],
        )
    )
    error.index = index
    return error


def _error_of_kernel(step: Instr) -> NonFiniteError:
    sources = list(dict.fromkeys(_sources_in(step)))
    if step.op.is_stable:
        why = (
            "machine code made a NaN or an infinity that NumPy does not make of the same operands: it is at the edge "
            "of what the floats hold"
        )
    else:
        why = "made a NaN or an infinity in this run, but not when it was run again on the same operands"
    error = NonFiniteError(
        message(
            f"{step.op.name}: {why}",
            sources[0] if sources else None,
            notes=[("or at", s.where) for s in sources[1:5]],
        )
    )
    error.op, error.source = step.op.name, sources[0] if sources else None
    return error


def _sources_in(step: Instr) -> Iterator[Source]:
    inner = [i for tape in tapes_in(tuple(step.params.values())) for i in tape.instrs]
    for instr in inner:
        yield from _sources_in(instr)
    if not inner and step.source is not None:
        yield step.source


def _names(tape: Tape, function: Callable[..., Any] | None) -> dict[Atom, str]:
    """The names of the inputs in the user's words, as far as they are known: ``params["W"]``."""
    if tape.in_tree is None:
        return {v: f"input {k}" for k, v in enumerate(tape.inputs)} | _names_in_call(tape)
    static = {k for k, _ in tape.in_static}
    paths = [tree.path(tape.in_tree, k) for k in range(len(tape.inputs) + len(static)) if k not in static]
    names = [] if function is None else _parameters(function)
    return {v: _named(path, names) for v, path in zip(tape.inputs, paths, strict=True)}


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # it has no signature that Python knows
        return []


def _names_in_call(tape: Tape) -> dict[Atom, str]:
    """The names of the inputs and captured arrays that are arguments of the un-jitted call."""
    if calling.call is None:
        return {}
    (function, args, kwargs), given, captured = calling.call
    names, leaves = _parameters(function), list[tuple[str, Any]]()
    found, treedef = tree.flatten(args)
    leaves += [(_named(tree.path(treedef, k), names), x) for k, x in enumerate(found)]
    for key, value in kwargs.items():
        found, treedef = tree.flatten(value)
        leaves += [(f"{key}{tree.path(treedef, k)}", x) for k, x in enumerate(found)]
    # Behind the inputs that are given, transforms have their own. An argument that is not differentiated is captured,
    # if it is small as a copy. What is captured from elsewhere has a name of its own.
    values = [*zip(tape.inputs, given, strict=False), *captured.items()]
    return {v: name for v, x in values for name, leaf in leaves[::-1] if _is_same(x, leaf, v in captured)}


def _is_same(x: Any, leaf: Any, may_be_copy: bool) -> bool:
    """Whether a leaf of the arguments is an array or number, the same memory seen with another shape, or like a copy
    of it."""
    if x is leaf or not (isinstance(x, np.ndarray) and isinstance(leaf, np.ndarray)):
        return x is leaf
    if x.dtype != leaf.dtype or x.size != leaf.size:
        return False
    is_equal = may_be_copy and x.shape == leaf.shape and x.tobytes() == leaf.tobytes()
    return is_equal or x.ctypes.data == leaf.ctypes.data


def _named(path: str, names: Sequence[str]) -> str:
    """A path from the tuple of the arguments, with the name of the argument in front.

    >>> _named('[1]["W"]', ["x", "params"]), _named("[0]", [])
    ('params["W"]', 'argument[0]')
    """
    number, _, rest = path.removeprefix("[").partition("]")
    if number.isdigit() and int(number) < len(names):
        return f"{names[int(number)]}{rest}"
    return f"argument{path}"

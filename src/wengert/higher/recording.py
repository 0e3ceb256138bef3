"""Functions as bodies of loops and branches: each is recorded once, and all that it reads from outside is an operand.

A body that asks whether a traced value is true is run once for each outcome, and the recorded paths are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert import tree
from wengert.attributes import held
from wengert.errors import ConcretizationError, WengertError, message
from wengert.higher.bodies import alive
from wengert.higher.joining import Path, join
from wengert.source import Source
from wengert.tape import Aval, Capture, Tape, Var
from wengert.tracing.decisions import MOST_PATHS, Decisions, number_of, too_many_paths
from wengert.tracing.emit import wrap
from wengert.tracing.functions.drawing import undrawn
from wengert.tracing.generators import WalkAgain
from wengert.tracing.lifting import capture_again, check_dtype, same_bytes
from wengert.tracing.python.bytecode import code_of
from wengert.tracing.python.lines import first_line
from wengert.tracing.record import Input, Recording, check_integer, record_call
from wengert.tracing.stack import current_trace, recorder_of_none
from wengert.tracing.tracer import Tracer

Transform = Callable[[Tape], Tape]

NO_VALUE = "the body of a loop or a branch is recorded once, and not for each value"


class RecordedBody(NamedTuple):
    """A function as a tape whose first inputs are the values that it read from outside."""

    tape: Tape
    constants: list[Any]
    treedef: Any
    """The structure of the value that the function returned."""
    source: Source
    written: tuple[int, ...]
    """The numbers of the arguments that the function writes."""


def leaves_of(x: Any) -> tuple[list[Any], Any]:
    leaves, treedef = tree.flatten(x)
    return [_leaf(leaf) for leaf in leaves], treedef


def _leaf(x: Any) -> Any:
    if isinstance(x, _AS_THEY_ARE):
        check_integer(x)
        return x
    array = np.asarray(x)
    check_dtype(array)
    return array


def source_of(name: str, f: Callable[..., Any]) -> Source:
    """The source line of the user's function that ``f`` wraps, or of ``f`` itself."""
    while held(f, "__wrapped__") is not None:
        f = f.__wrapped__
    code = code_of(f)
    return Source("?", 0, name) if code is None else first_line(code)


def calling(f: Callable[..., Any], caller: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``caller``, a function of ours that calls the user's ``f``; errors will name the line of ``f``."""
    caller.__wrapped__ = f
    return caller


_AS_THEY_ARE = (Tracer, bool, int, float, complex)
_NUMBERS = (bool, int, float, complex)


def aval_of(x: Any) -> Aval:
    if not isinstance(x, (Tracer, np.ndarray, *_AS_THEY_ARE)):
        x = _leaf(x)
    return x.aval if type(x) is Tracer else Aval(np.shape(x), np.asarray(x).dtype)


def record_body(
    name: str,
    f: Callable[..., Any],
    avals: Sequence[Aval],
    treedef: Any,
    *,
    prepare: Transform,
    is_certain: bool = False,
) -> RecordedBody:
    """Record ``f`` with arguments of the structure ``treedef`` and the types ``avals``.

    ``prepare`` is done to the tape, with all that it reads as inputs, before anything is derived from it.

    ``is_certain`` says that the body will run at least once. Then steps that read nothing but its surroundings may be
    done before the loop or branch."""
    run = lambda decisions: _run(name, f, avals, treedef, decisions, is_certain)
    with undrawn(f):
        first, around = run(Decisions()), _Surroundings()
    tape, inputs, written = first.recording.tape, first.recording.tape.inputs[: len(avals)], first.recording.written
    if not first.decisions.made:
        constants = [*[c.var for c in tape.captures], *tape.inputs[len(avals) :]]
        given = [*around.captured(tape.captures), *first.recording.implicit]
    else:
        paths = []
        for one in _runs(first, run):  # arrays that one run captures are locked before the next
            paths.append(_path(one, inputs, around))
            written = tuple({*written, *one.recording.written})
        joined = join(name, paths)
        tape = tape.replace(instrs=joined.instrs, outputs=joined.outputs)
        constants, given = list(around.known), list(around.known.values())
    closed = alive(prepare(tape.replace(inputs=(*constants, *inputs), captures=())))
    return RecordedBody(closed, given, first.recording.out_treedef, source_of(name, f), written)


# ------------------------------------------------------------------------------------------------- runs of one body


class _Run(NamedTuple):
    recording: Recording
    decisions: Decisions
    weak: tuple[type | None, ...]
    """The class of each leaf of the result that is a Python number (a weak type); None for other leaves."""


def _runs(run: _Run, again: Callable[[Decisions], _Run]) -> Iterator[_Run]:
    """Yield ``run``, in which every decision was True, and then one run for each other choice of outcomes."""
    todo: list[tuple[bool, ...]] = []
    count = 0
    while True:
        yield run
        count += 1
        outcomes = run.decisions.outcomes
        todo += [(*outcomes[:k], False) for k in range(len(run.decisions.given), len(outcomes))]
        if count + len(todo) > MOST_PATHS:
            raise too_many_paths(run.decisions.made[-1].source)
        if not todo:
            return
        run = again(Decisions(todo.pop()))


def _run(
    name: str, f: Callable[..., Any], avals: Sequence[Aval], treedef: Any, decisions: Decisions, is_certain: bool
) -> _Run:
    weak: list[type | None] = []

    def call(*tracers: Any) -> Any:
        trace = current_trace()
        assert trace is not None
        trace.decisions = decisions
        if not is_certain:
            trace.own_all()
        result = f(*tree.unflatten(treedef, list(tracers)))
        if decisions.made:
            weak.extend([_number_class(x) for x in tree.flatten(result)[0]])
        return result

    inputs = [Input(a, is_scalar=a.shape == ()) for a in avals]
    try:
        recording = record_call(call, inputs, name=name, concrete=False, why_abstract=NO_VALUE)
    except (WengertError, WalkAgain):
        raise
    except Exception as error:  # any: it is the user's body that raises
        if not decisions.made:
            raise
        raise _of_one_path(name, decisions, error) from error
    return _Run(recording, decisions, tuple(weak))


def _number_class(x: Any) -> type | None:
    return x.weak if type(x) is Tracer else type(x) if type(x) in _NUMBERS else None


def _of_one_path(name: str, decisions: Decisions, error: Exception) -> ConcretizationError:
    """The error for an exception that was raised on one path of the body, which a real run might never take."""
    last = decisions.made[-1]
    what = f"{name}: the body is recorded for both outcomes, and if this is {last.outcome} it raises"
    what += f" {type(error).__name__}"
    notes = [("says", str(error).partition("\n")[0])] if str(error) else []
    tries = ["np.nan as the result there, looked at after the loop", "the check before the loop"]
    return ConcretizationError(message(what, last.source, notes=notes, tries=tries))


# ------------------------------------------------------------------------------------- values read from outside


class _Surroundings:
    """The values that all runs of a body read from outside: each once, by the variable that stands for it."""

    def __init__(self) -> None:
        self.known: dict[Var, Any] = {}
        self._captures: dict[Var, Capture] = {}
        self._implicit: dict[Any, Var] = {}
        self._around = recorder_of_none()

    def captured(self, captures: Sequence[Capture]) -> list[Any]:
        """Capture each of these arrays in the trace that encloses the body, and return the tracers."""
        return [wrap(self._around, capture_again(self._around, c)) for c in captures]

    def of_capture(self, capture: Capture) -> Var:
        for var, known in self._captures.items():
            if _is_same(known, capture):
                return var
        (self.known[capture.var],) = self.captured([capture])
        self._captures[capture.var] = capture
        return capture.var

    def of_implicit(self, var: Var, outer: Tracer) -> Var:
        known = self._implicit.setdefault(number_of(outer), var)
        if known is var:
            self.known[var] = outer
        return known


def _is_same(a: Capture, b: Capture) -> bool:
    """Whether two runs captured the same array, or each made an array with the same bytes."""
    if a.array is b.array or a.name or b.name or a.is_constant != b.is_constant:
        return a.array is b.array
    return same_bytes(a.array, b.array)


def _path(run: _Run, inputs: Sequence[Var], around: _Surroundings) -> Path:
    """Return a run as a path that reads the variables of ``around`` and ``inputs`` in the place of its own."""
    tape = run.recording.tape
    env: dict[Any, Any] = dict(zip(tape.inputs, inputs, strict=False))
    env |= {c.var: around.of_capture(c) for c in tape.captures}
    outer = zip(tape.inputs[len(inputs) :], run.recording.implicit, strict=True)
    env |= {var: around.of_implicit(var, x) for var, x in outer}
    moved = [i._replace(ins=tuple([env.get(a, a) for a in i.ins])) for i in tape.instrs]
    outputs = tuple([env.get(a, a) for a in tape.outputs])
    decisions = [d._replace(condition=env.get(d.condition, d.condition)) for d in run.decisions.made]
    return Path(tuple(moved), outputs, run.weak, tuple(decisions), run.recording.out_treedef)

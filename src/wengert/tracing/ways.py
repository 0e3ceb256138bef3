"""The two ways in which an un-jitted transform records a function.

In the first way, values that are not differentiated go into the function *as they are*: NumPy computes with them, and
the tape holds only the steps that are active. But no traced value can be written into an array of NumPy's
(``u = u0.copy(); u[0] = p``). If a run ends for such a reason, the function is run again in the second way, *with
everything traced*, its other arguments and the arrays it captured too, as ``jit`` does; and from then on that way is
tried first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from wengert import tree
from wengert.attributes import held
from wengert.errors import (
    CaptureError,
    ConcretizationError,
    MutationError,
    WengertError,
    WrittenError,
    WrittenMeanwhileError,
)
from wengert.tracing._steps import Steps
from wengert.tracing.emit import wrap
from wengert.tracing.generators import WalkAgain
from wengert.tracing.layouts import strides_alone
from wengert.tracing.lifting import capture
from wengert.tracing.python.bytecode import code_of
from wengert.tracing.record import Input, Recording, record_call, same_memory, shares_memory
from wengert.tracing.stack import current_trace
from wengert.tracing.surroundings.environment import Environment, walked
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer

F = Callable[..., Any]
Way = Callable[[F, Sequence[Any], dict[str, Any]], tuple[F, Sequence[Any], dict[str, Any]]]
"""``way(f, others, by_keyword)`` returns the function to call and its arguments. ``others`` and ``by_keyword`` are the
arguments that are not differentiated; the way decides whether those are traced."""


def record_in_either_way(
    f: F, call: Callable[[Way], F], inputs: Sequence[Input], name: str, **options: Any
) -> Recording:
    """Record ``call(way)`` in the first of the two ways that works. ``f`` is the user's function, called ``name`` in
    errors, and ``options`` are those of ``record_call``.

    Raises the error of the first way if the other fails too.
    """
    is_known = _traced and _code_of(f) in _traced
    try:
        if not is_known:
            return record_call(call(_as_they_are), inputs, name=name, **options)
        return _everything_traced(call, inputs, name, options, None)
    except _Draws:
        return record_call(call(_as_they_are), inputs, name=name, **options)
    except _FINAL:
        raise
    except _REFUSALS as error:
        refusal = error
    try:
        if is_known:
            return record_call(call(_as_they_are), inputs, name=name, **options)
        recording = _everything_traced(call, inputs, name, options, refusal)
    except WengertError:
        raise refusal from None
    if (code := _code_of(f)) is not None:
        if len(_traced) > 1000:  # bounded: code may be made up at run time
            _traced.clear()
        _traced.add(code)
    return recording


MOST_FUNCTIONS = 500


def steps_of(f: Any) -> Steps:
    """Return the steps that earlier runs of ``f``, or of another function of the same code, have taken.

    They may be another function's: a step is taken again only if all that it was given is the same.
    """
    code = _code_of(f)
    if code is None:
        return Steps()
    found = _steps.get(id(code))
    if found is None:
        if len(_steps) >= MOST_FUNCTIONS:
            _steps.clear()
        found = _steps[id(code)] = code, Steps()  # the code is kept, so that its id is no other's
    return found[1]


def forget_steps() -> None:
    """Let go of the steps of all functions; a transform that was made before keeps those of its own."""
    _steps.clear()


_steps = dict[int, tuple[CodeType, Steps]]()

_REFUSALS = (ConcretizationError, MutationError, CaptureError)
_FINAL = (WrittenMeanwhileError, WrittenError)  # another run would read what was written

_traced = set[CodeType]()  # the code of functions that need everything traced


def _code_of(f: Any) -> CodeType | None:
    """The code object of the user's function, inside the functions that transforms have made of it."""
    while held(f, "__wrapped__") is not None:
        f = f.__wrapped__
    return code_of(f)


def _as_they_are(f: F, others: Sequence[Any], by_keyword: dict[str, Any]) -> tuple[F, Sequence[Any], dict[str, Any]]:
    """Pass the other arguments on untraced. They are still the caller's: nothing may write them while tracing."""
    if by_keyword:
        by_keyword = {name: _lent(x) for name, x in by_keyword.items()}
    return f, [x if x is None or type(x) in _NUMBERS else _lent(x) for x in others], by_keyword


def _lent(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return _trace().read_only.locked_view(x)
    for leaf in tree.flatten(x)[0]:
        if isinstance(leaf, np.ndarray):
            _trace().read_only.lock(leaf)
    return x


_NUMBERS = frozenset({float, int, bool, complex})


def _everything_traced(
    call: Callable[[Way], F], inputs: Sequence[Input], name: str, options: dict[str, Any], refusal: WengertError | None
) -> Recording:
    def record(environment: Environment) -> Recording:
        way = _EverythingTraced(environment, refusal)
        try:
            recording = record_call(call(way), inputs, name=name, **options)
            environment.check_computed()
            way.check(name)
        except (WalkAgain, *_FINAL):  # raised before the function ran, or because of a write that cannot be undone
            raise
        except KeyboardInterrupt:
            environment.end_interrupted()
            raise
        except Exception as error:  # whatever ended the run, its effects on the surroundings may have to be undone
            environment.end_early(error, isinstance(error, _REFUSALS))
            raise
        return recording

    return walked(record)


class _Draws(Exception):
    """The function draws from a generator that it captured, so that a second run would find the generator advanced."""


class _EverythingTraced:
    """The way in which the other arguments, and the arrays that the function captured, are traced as captures.

    ``refusal`` is the error that ended a run before this one. That run may have drawn from a captured generator, or
    written a captured variable; then this one raises it again.
    """

    def __init__(self, environment: Environment, refusal: WengertError | None) -> None:
        self._environment = environment
        self._refusal = refusal
        self._given: list[tuple[np.ndarray[Any, Any], Tracer]] = []

    def __call__(
        self, f: F, others: Sequence[Any], by_keyword: dict[str, Any]
    ) -> tuple[F, Sequence[Any], dict[str, Any]]:
        copy = self._environment.copy_for(f, _trace())
        leaves, treedef = tree.flatten((others, by_keyword))
        given = [self._argument(x, f"argument{tree.path(treedef, k)}") for k, x in enumerate(leaves)]
        environment = self._environment
        if self._refusal is not None and (environment.is_drawn_from or environment.is_bound_anew()):
            raise self._refusal
        if environment.is_drawn_from:
            raise _Draws
        return copy, *tree.unflatten(treedef, given)

    def _argument(self, x: Any, name: str) -> Any:
        if type(x) is Tracer:
            return x.copy("K")  # of this trace, so that it may be written
        if type(x) is not np.ndarray or x.dtype.kind not in "fiubc":
            return self._environment.copy_argument(x, name)
        trace = _trace()
        tracer = wrap(trace, capture(trace, x), is_scalar=False)
        if x.ndim > 1 and not x.flags.c_contiguous:
            tracer.reorder(strides_alone(x))
        self._given.append((x, tracer))
        return tracer

    def check(self, name: str) -> None:
        """Raise if the function wrote a captured array, or an argument whose memory another argument or a captured
        array shares."""
        self._environment.check_unwritten()
        known = [array for array, _, _ in self._environment.known.values()]
        for x, tracer in self._given:
            others = [*known, *[y for y, other in self._given if other is not tracer]]
            if tracer._version and any(shares_memory(x, y) for y in others):
                raise same_memory(name)


def _trace() -> Trace:
    trace = current_trace()
    assert trace is not None  # a way is taken while the function is recorded
    return trace

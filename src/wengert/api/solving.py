"""Routines that call functions, such as SciPy's, as one step: functions recorded, and solutions that move.

A user's function is recorded once (:func:`record_function`). Its derivatives are derived from that tape, and the user's
code is not run for them. :func:`run_routine` records the op that runs a routine: at run time it gets the functions as
:class:`RunFunction`, with the values that they capture in that call. :func:`solution` gives what the routine has found
the derivatives of a solution.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert import tree
from wengert.api.recording import record_body
from wengert.errors import DTypeError, message
from wengert.higher.bodies import alive, batched, pulled, pushed, select_outputs
from wengert.higher.implicit import Equation, root
from wengert.higher.integrals import Integrand, integral
from wengert.higher.recording import calling
from wengert.higher.solvers import SolvedFunction, solver
from wengert.locks import lock
from wengert.ops.shape import embed_diagonal, full, transpose
from wengert.runtime.tiered import TieredProgram
from wengert.tape import Atom, Aval, Builder, Lit, Tape, Var, building, splice
from wengert.tracing.arguments import array, as_dtype, holds_unsettled
from wengert.tracing.emit import inlined, record
from wengert.tracing.stack import current_trace

Array = np.ndarray[Any, Any]
FLOAT = np.dtype(np.float64)
INT = np.dtype(np.int64)

# ----------------------------------------------------------------------------------------- tapes derived from a tape


def _closed(body: Tape, joint: Tape, further: Callable[[Sequence[Var]], Sequence[Atom]]) -> Tape:
    """The tape that takes the inputs of ``body``, and runs ``joint`` on them and ``further`` values."""
    inputs = tuple([Var(v.aval) for v in body.inputs])
    builder = Builder()
    with building(builder):
        outs = splice(builder, joint, [*inputs, *further(inputs)], ())
    return alive(body.replace(inputs=inputs, instrs=builder.instrs, outputs=tuple(outs)))


@lru_cache(maxsize=4096)
def value_and_gradient(body: Tape, k: int) -> Tape:
    """The tape of f and ∂f/∂x, for the tape of a real number f, whose input ``k`` is x."""
    return _closed(body, pulled(body, (k,), (0,)), lambda inputs: [Lit(1.0, body.outputs[0].aval.dtype)])


@lru_cache(maxsize=4096)
def gradient(body: Tape, k: int) -> Tape:
    return select_outputs(value_and_gradient(body, k), [1])


@lru_cache(maxsize=4096)
def jacobian(body: Tape, k: int) -> Tape:
    """The tape of ∂f/∂x, [*shape of f, n], for a tape whose input ``k`` is a vector x of n elements: by forward mode,
    or by reverse mode where f has far fewer elements. Of a number x it is [*shape of f]."""
    x, f = body.inputs[k].aval, body.outputs[0].aval
    if not x.ndim:
        tangent = select_outputs(pushed(body, (k,), (0,)), [1])
        return _closed(body, tangent, lambda inputs: [Lit(1.0, x.dtype)])
    if f.ndim == 1 and 2 * f.size < x.size:
        rows = select_outputs(pulled(body, (k,), (0,)), [1])
        every = batched(rows, (*[False] * len(body.inputs), True), f.size)
        return _closed(body, every, lambda inputs: [embed_diagonal(full(1, Aval((f.size,), f.dtype)))])
    tangent = select_outputs(pushed(body, (k,), (0,)), [1])
    columns = batched(tangent, (*[False] * len(body.inputs), True), x.size)
    found = _closed(body, columns, lambda inputs: [embed_diagonal(full(1, Aval((x.size,), x.dtype)))])
    builder = Builder(start=found.instrs)
    with building(builder):
        turned = transpose(found.outputs[0], axes=(*range(1, f.ndim + 1), 0))
    return alive(found.replace(instrs=builder.instrs, outputs=(turned,)))


@lru_cache(maxsize=4096)
def hessian(body: Tape, k: int) -> Tape:
    return jacobian(gradient(body, k), k)


@lru_cache(maxsize=4096)
def hessian_product(body: Tape, k: int) -> Tape:
    """The tape of the product of the Hessian with a further input."""
    return select_outputs(pushed(gradient(body, k), (k,), (0,)), [1])


# --------------------------------------------------------------------------------------------- functions, traced


class Recorded:
    """A function that was recorded: a tape whose first inputs are the values ``constants`` that it read."""

    def __init__(self, tape: Tape, constants: Sequence[Any]) -> None:
        self.tape, self.constants = tape, list(constants)

    @property
    def out(self) -> Aval:
        return self.tape.outputs[0].aval

    @property
    def is_traced(self) -> bool:
        """Whether it reads something that varies: a traced value that cannot be looked at as it is."""
        return any(map(holds_unsettled, self.constants))

    def of(self, derive: Callable[[Tape, int], Tape]) -> Recorded:
        """A function of the same constants, by one of the rules above."""
        return Recorded(derive(self.tape, len(self.constants)), self.constants)

    def __call__(self, *xs: Any) -> Any:
        """The value, recorded step by step in the trace at hand."""
        found = inlined(self.tape, [*self.constants, *xs])
        return found[0] if len(found) == 1 else found


def record_function(name: str, f: Callable[..., Any], *avals: Aval) -> Recorded:
    """Record ``f``, a function of arrays and numbers of these types that returns an array of real numbers, or lists of
    them; it gives float64."""

    def call(*xs: Any) -> Any:
        result = array(f(*xs), xs)
        if result.dtype.kind not in "fiub":
            what = f"{name}: the function returned {result.aval}; expected real numbers"
            raise DTypeError(message(what, tries=["the real and the imaginary part, as two numbers"]))
        return as_dtype(result, FLOAT, xs)

    one = tree.flatten(tuple([0.0 for _ in avals]))[1]
    body = record_body(name, calling(f, call), list(avals), one, is_certain=True)
    return Recorded(body.tape, body.constants)


# ------------------------------------------------------------------------------------------ functions, at run time

MOST_PROGRAMS = 1000
_programs: OrderedDict[int, TieredProgram] = OrderedDict()
_lock = lock()


def _program(tape: Tape) -> TieredProgram:
    """The program of a tape, which is kept: bodies of one structure are one object."""
    with _lock:
        found = _programs.get(id(tape))
        if found is None:
            found = _programs[id(tape)] = TieredProgram(tape)
            while len(_programs) > MOST_PROGRAMS:
                _programs.popitem(last=False)
        else:
            _programs.move_to_end(id(tape))
    return found


class RunFunction:
    """A function as a routine gets it at run time, with the values that it captures, and its exact derivatives."""

    def __init__(self, tape: Tape, constants: Sequence[Any]) -> None:
        self._tape, self._constants = tape, [np.asarray(c) for c in constants]

    @property
    def inputs(self) -> list[Aval]:
        return [v.aval for v in self._tape.inputs[len(self._constants) :]]

    @property
    def shape(self) -> tuple[int, ...]:
        return self._tape.outputs[0].aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._tape.outputs[0].aval.dtype

    def _run(self, tape: Tape, xs: Sequence[Any]) -> list[Any]:
        types = [v.aval for v in tape.inputs[len(self._constants) :]]
        given = [np.array(x, a.dtype, order="C").reshape(a.shape) for x, a in zip(xs, types, strict=True)]
        return _program(tape).run_recorded([*self._constants, *given], ())

    def __call__(self, *xs: Any) -> Any:
        return self._run(self._tape, xs)[0]

    def many(self, xs: ArrayLike) -> Any:
        """The values at many points, along a new first axis."""
        points = np.asarray(xs)
        flags = (*[False] * len(self._constants), True)
        return self._run(batched(self._tape, flags, len(points)), [points])[0]

    def mapped(self, *xs: Array, shared: Sequence[Array] = ()) -> Any:
        """The values for each row of ``xs``, along a new first axis; ``shared`` are the last arguments, of all rows."""
        flags = (*[False] * len(self._constants), *[True] * len(xs), *[False] * len(shared))
        return self._run(batched(self._tape, flags, len(xs[0])), [*xs, *shared])[0]

    def value_and_gradient(self, x: ArrayLike) -> tuple[Any, Any]:
        value, slope = self._run(value_and_gradient(self._tape, len(self._constants)), [x])
        return value, slope

    def gradient(self, x: ArrayLike) -> Any:
        return self._run(gradient(self._tape, len(self._constants)), [x])[0]

    def jacobian(self, x: ArrayLike) -> Any:
        return self._run(jacobian(self._tape, len(self._constants)), [x])[0]

    def hessian(self, x: ArrayLike) -> Any:
        return self._run(hessian(self._tape, len(self._constants)), [x])[0]

    def hessian_product(self, x: ArrayLike, v: ArrayLike) -> Any:
        return self._run(hessian_product(self._tape, len(self._constants)), [x, v])[0]


# ------------------------------------------------------------------------------------------------------- routines


class _Same:
    """Something that is equal to itself alone."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _key(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict, tuple([(k, _key(v)) for k, v in value.items()])
    if isinstance(value, list | tuple):
        return type(value), tuple(map(_key, value))
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.shape, value.dtype, value.tobytes()
    try:
        hash(value)
    except TypeError:
        return _Same(value)
    return tree.exact_key(value)


class SolverRoutine:
    """A function of ours that runs someone else's solver, with its settings; equal to one with equal settings."""

    def __init__(self, run: Callable[..., tuple[Any, ...]], settings: Mapping[str, Any]) -> None:
        self._run, self._settings = run, dict(settings)
        self._known = (run, _key(settings))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SolverRoutine) and self._known == other._known

    def __hash__(self) -> int:
        return hash(self._known)

    def __repr__(self) -> str:
        return self._run.__name__.strip("_")

    def __call__(self, given: Sequence[tuple[Tape, Sequence[Any]]], numbers: Sequence[Any]) -> tuple[Any, ...]:
        return self._run(*[RunFunction(tape, values) for tape, values in given], *numbers, **self._settings)


def run_routine(
    run: Callable[..., tuple[Any, ...]],
    functions: Sequence[Recorded],
    numbers: Sequence[Any],
    out: Sequence[Aval],
    **settings: Any,
) -> tuple[Any, ...]:
    """Record a step that calls ``run(*functions, *numbers, **settings)``, whose results have the types ``out``.

    They are constants to derivatives. ``run`` stands at the level of a module; it gets the functions as
    :class:`RunFunction`, and ``numbers`` as arrays."""
    operands = [*[c for f in functions for c in f.constants], *numbers]
    params = {
        "routine": SolverRoutine(run, settings),
        "functions": tuple([SolvedFunction(f.tape, len(f.constants)) for f in functions]),
        "out": tuple(out),
        "maps": (),
    }
    return tuple(record(solver, [array(x, operands) for x in operands], params))


def told(name: str) -> str:
    """Who solves, and where, for a warning."""
    trace = current_trace()
    where = None if trace is None else trace.locate()
    return name if where is None else f"{name} at {where.where}"


def solution(name: str, equation: Recorded, y: ArrayLike, verdict: ArrayLike, axes: int = 0) -> Any:
    """``y``, which a routine found, with the derivatives of the solution of ``equation``.

    ``verdict`` is the routine's, a number of :data:`wengert.higher.implicit.VERDICTS`, for each of the examples that
    the first ``axes`` axes of y count. ``name`` says who solved it, in a warning."""
    params = {"equation": Equation(equation.tape, len(equation.constants), None, axes, told(name)), "wrt": None}
    return record(root, [array(y), *equation.constants, array(verdict, (y,))], params)


def integrated(
    run: Callable[..., tuple[Any, ...]],
    f: Recorded,
    numbers: Sequence[Any],
    has_limits: bool = True,
    is_jump: bool = False,
    name: str | None = None,
    **settings: Any,
) -> tuple[Any, Any]:
    """The integral of f, a function of one number, and the estimate of its error. ``numbers`` are a, b, and arrays that
    are constants to derivatives. ``run`` is called with f and these, for the derivatives of f too, and gives two arrays
    of the shape that f returns. ``is_jump``: see Integrand. ``name`` says who integrates, in a warning."""
    operands = [*f.constants, *numbers]
    traced = [array(x, operands) for x in operands]
    value, error = run_routine(run, [f], numbers, [f.out, f.out], **settings)
    routine, others = SolverRoutine(run, settings), len(numbers) - 2
    who = told(name or f"scipy.integrate.{routine}")
    integrand = Integrand(f.tape, len(f.constants), routine, others, has_limits, is_jump, who)
    return record(integral, [value, *traced], {"integrand": integrand, "maps": ()}), error


def is_traced(*xs: Any) -> bool:
    return any(x.is_traced if isinstance(x, Recorded) else holds_unsettled(x) for x in xs)

"""Tapes and programs: ``trace``, ``compile`` and ``jit``; ``spec`` and ``spec_of``, which need shapes alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, overload

import numpy as np

from wengert import extension, passes, tree
from wengert.api.named import F, P, R, function_name, made_by, title
from wengert.errors import CaptureError, NotDifferentiableError, ShapeError, StructureError, message
from wengert.expect import checked, given
from wengert.passes.number_guards import number_guards
from wengert.runtime.jit import Jit
from wengert.runtime.look import Look, look_at, of_program
from wengert.runtime.program import Program
from wengert.tape import Aval, Tape
from wengert.tracebacks import fold
from wengert.tracing import foreign
from wengert.tracing.record import Input, Recording, record_call
from wengert.tracing.signature import signature_of
from wengert.tracing.tracer import Tracer
from wengert.tracing.whole import trace_whole

DType = Any
"""A dtype, by any of its names."""


class Traced(Protocol[P]):
    """The function that :func:`trace` returns; its arguments are those of the function, or specs of them."""

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Tape: ...
    @overload
    def __call__(self, *args: Any, **kwargs: Any) -> Tape: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Tape: ...


class Jits(Protocol):
    """The decorator that :func:`jit` returns where it is given options alone."""

    def __call__(self, f: Callable[P, R], /) -> Jit[P, R]: ...


@checked
def trace(f: Callable[P, Any]) -> Traced[P]:
    """Return the function that records ``f`` for given arguments, and returns the tape: ``print(wg.trace(f)(*args))``.

    Arguments may be :func:`specs <spec>`; then no array is needed, and none is read.

    Raises
    ------
    ConcretizationError : at a call, ``f`` looks at a value that a spec has not.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(lambda x: np.sum(np.exp(x)))(np.ones(3))
    >>> len(tape)
    2
    """

    @made_by(trace, f)
    def tape_of(*args: Any, **kwargs: Any) -> Tape:
        try:
            leaves, treedef = foreign.flatten((args, kwargs) if kwargs else args)
            if any(type(x) is Aval for x in leaves):
                return _recorded_abstractly(f, args, kwargs).tape
            whole = trace_whole(f, function_name(f), leaves, signature_of(leaves, treedef, bool(kwargs)))
            if whole.environment.drew and not extension.is_compiled("_c_functions"):
                raise drawn_once(function_name(f), whole.environment.drew)
            return number_guards(whole.tape)
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    return tape_of


def drawn_once(f: str, drew: str) -> CaptureError:
    """Return the error for a tape that would have the numbers of one run, where draws are not recorded."""
    what = f"{f} draws random numbers ({drew}), which cannot be recorded without wengert's extension: a program of it "
    tries = ["the numbers as an argument", "wg.jit, which calls the function itself, and draws at every call"]
    return CaptureError(message(f"{what}would have the same ones at every call", tries=tries))


@checked
def spec(shape: int | Sequence[int], dtype: DType = "float64") -> Aval:
    """Return a description of an array by its shape and dtype alone, for :func:`trace` and :func:`spec_of`.

    It has ``shape``, ``dtype``, ``ndim``, ``size`` and ``nbytes``, is a leaf of trees, and equal specs are one object.

    Parameters
    ----------
    shape : an integer, or several.
    dtype : of numbers, by any of its names; by default float64, as NumPy has it.

    Raises
    ------
    ShapeError : a length is negative.
    ArgumentError : ``dtype`` is none of numbers.

    Examples
    --------
    >>> import wengert as wg
    >>> wg.spec((32, 1, 8, 8))
    float64[32, 1, 8, 8]
    """
    lengths = (shape,) if isinstance(shape, int | np.integer) else shape
    if any(n < 0 for n in lengths):
        raise ShapeError(message(f"spec: a shape has no negative lengths: {tuple(lengths)}"))
    return Aval(tuple([int(n) for n in lengths]), np.dtype(dtype))


@checked
def spec_of(f: Callable[P, Any]) -> Callable[..., Any]:
    """Return the function that gives the :func:`spec` of each array that ``f`` returns, in their tree.

    Nothing is computed. Arrays among the arguments are looked at for shape and dtype alone, so specs will do; numbers
    and flags are passed on as they are.

    Raises
    ------
    ConcretizationError : at a call, ``f`` looks at an array's values.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> wg.spec_of(lambda x, w: {"h": np.tanh(x @ w)})(wg.spec((32, 5)), wg.spec((5, 7)))
    {'h': float64[32, 7]}
    """

    @made_by(spec_of, f)
    def specs(*args: Any, **kwargs: Any) -> Any:
        try:
            recording = _recorded_abstractly(f, args, kwargs)
            return tree.unflatten(recording.out_treedef, [a.aval for a in recording.tape.outputs])
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    return specs


def _recorded_abstractly(f: F, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Recording:
    """Record ``f`` with arrays of the shapes and dtypes of its arguments; their elements are not read."""
    leaves, treedef = foreign.flatten((args, kwargs))
    inputs = {
        k: Input(x.aval if isinstance(x, Tracer) else Aval(x.shape, x.dtype))
        for k, x in enumerate(leaves)
        if isinstance(x, Aval | np.ndarray | Tracer)
    }

    def call(*tracers: Any) -> Any:
        traced = dict(zip(inputs, tracers, strict=True))
        given, by_keyword = tree.unflatten(treedef, [traced.get(k, x) for k, x in enumerate(leaves)])
        return f(*given, **by_keyword)

    why = "it is given shapes and dtypes alone"
    recording = record_call(call, list(inputs.values()), name=function_name(f), concrete=False, why_abstract=why)
    in_static = tuple([(k, x) for k, x in enumerate(leaves) if k not in inputs])
    tape = recording.tape.replace(in_tree=treedef, in_static=in_static, out_tree=recording.out_treedef)
    return recording._replace(tape=tape)


def compile(tape: Tape) -> Program:
    """Optimise ``tape`` and compile it to a program, ``program(*args)``, which runs this one path.

    Captured arrays are read at every call, except those that the tape calls constant, the read-only ones: steps that
    depend on these alone are done now.

    Raises
    ------
    StructureError : ``tape`` is no tape, but a function, say.
    GuardError : at a call, whose arguments would take another path; or after an array that was read-only has been made
        writable.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(lambda x: np.exp(x) + 1)(np.zeros(2))
    >>> program = wg.compile(tape)
    >>> program(np.zeros(2))
    array([2., 2.])
    """
    try:
        if not isinstance(tape, Tape):
            tries = ["wg.compile(wg.trace(f)(*args)), the one path that these arguments take", "wg.jit(f), all of them"]
            what = f"compile: tape is {given(tape)}; expected a Tape"
            raise StructureError(message(what, tries=tries if callable(tape) else tries[:1]))
        promised = [c for c in tape.captures if c.is_constant]
        return Program(passes.run(tape, (*passes.ONCE, *passes.PIPELINE)), promised=promised)
    except Exception as error:  # any: it goes on, with a shorter traceback
        fold(error)
        raise


@checked
def look(f: Any) -> F:
    """Return the function that says what a call of ``f`` would run, and why: what :func:`wengert.explain` reads.

    Parameters
    ----------
    f : a function, or what ``wg.jit``, ``wg.grad`` and the like return, which is traced and compiled; or a tape or a
        program. The programs and counts of a jit stay as they are, and nothing is run but one trace.

    Returns
    -------
    A function of the arguments of ``f``, or of none for a tape or a program. It returns a
    :class:`~wengert.runtime.look.Look`.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> found = wg.look(wg.grad(lambda x: np.sum(np.exp(x))))(np.ones(3))
    >>> [kernel.name for kernel in found.program.kernels], found.wrt
    (['exp'], (0,))
    """
    if isinstance(f, Program):
        return lambda: of_program(f)
    if isinstance(f, Tape):
        return lambda: of_program(compile(f))
    jitted = f if isinstance(f, Jit) else Jit(f)

    def found(*args: Any, **kwargs: Any) -> Look:
        try:
            return look_at(jitted, args, kwargs)._replace(title=title(f))
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    return found


@overload
def jit(
    f: Callable[P, R],
    *,
    strict: bool = False,
    donate: F | None = None,
    reroll: bool = True,
    find_nans: bool = False,
    tiered: bool = False,
) -> Jit[P, R]: ...
@overload
def jit(
    *,
    strict: bool = False,
    donate: F | None = None,
    reroll: bool = True,
    find_nans: bool = False,
    tiered: bool = False,
) -> Jits: ...
@checked
def jit(
    f: F | None = None,
    *,
    strict: bool = False,
    donate: F | None = None,
    reroll: bool = True,
    find_nans: bool = False,
    tiered: bool = False,
) -> Any:
    """Trace ``f`` once for each signature and path, and run it as compiled programs from then on.

    Branches on values are guards, captured arrays are read at every call; see :class:`~wengert.runtime.jit.Jit` for
    ``stats()``, ``program(*args)`` and ``clear()``. Calls take ``out=``, arrays to write the results into.

    What cannot be compiled (a function that writes what it captured, takes more than ``wg.config.max_paths`` paths,
    hands a traced value to code that takes none, or reads the clock) is answered by ``f`` itself, as without
    ``wg.jit``, with one :class:`~wengert.PerformanceWarning` a function, which names the line and what to write.

    Parameters
    ----------
    f : a function of pytrees of arrays and numbers. Without it the result is a decorator: ``@wg.jit(strict=True)``.
    strict : raise where ``f`` cannot be compiled, instead of answering plainly.
    donate : ``lambda args: args[0]`` gives arguments away: results of the same shape and dtype may be written into
        their memory, and then *are* those arrays, so that a step of training needs no second set of parameters. Look at
        the results alone after a call. Arrays that are read-only, not in C order or share memory with other arguments
        are kept, and nothing is written before the last step at which a guard may miss or an error be raised.
    reroll : whether loops that were unrolled become array steps, sums and scans; otherwise every iteration is left on
        the tape.
    find_nans : every call looks for the operation that makes a NaN or an infinity, as in :func:`find_nans`.
    tiered : do not wait for a compiler: NumPy runs the recorded steps at first, and machine code once they have been
        run so often that it pays, at the same call in every run. For a function of which nobody knows how often it
        will be called.

    Raises
    ------
    CaptureError, and others : at a call with ``strict``, ``f`` cannot be compiled; the message says why, and where.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> @wg.jit
    ... def f(x):
    ...     return x if x > 0 else -(x**3)
    >>> f(2.0), f(-2.0)
    (np.float64(2.0), np.float64(8.0))
    """
    options = {
        "is_strict": strict, "donate": donate, "is_rolled": reroll, "finds_nans": find_nans, "is_tiered": tiered,
    }  # fmt: skip
    return partial(Jit, **options) if f is None else Jit(f, **options)


@overload
def fastmath(f: Callable[P, R]) -> Jit[P, R]: ...
@overload
def fastmath() -> Jits: ...
@checked
def fastmath(f: F | None = None) -> Any:
    """Compile ``f`` as :func:`jit` does, to programs that may compute some functions faster and less exactly.

    ``exp`` and ``expit`` are then within 2 units in the last place, ``tanh`` within 3 (float64) or 5 (float32),
    ``log_expit`` and ``logaddexp`` within 2; results that would be subnormal are 0. Everything else is as ever.
    ``@wg.fastmath`` and ``@wg.fastmath()`` are the same.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> step = wg.fastmath(wg.grad(lambda x: np.sum(np.tanh(x))))
    >>> step(np.array([0.0, 1.0]))
    array([1.        , 0.41997434])
    """
    return partial(fastmath) if f is None else Jit(f, is_fast=True)


@checked
def constant(value: Any) -> Any:
    """Return a read-only copy of an array, or of each array of a pytree: steps that depend on it alone run once.

    >>> import numpy as np, wengert as wg
    >>> wg.constant(np.ones(3)).flags.writeable
    False
    """

    def freeze(leaf: Any) -> Any:
        if type(leaf) is Tracer and leaf.constant() is None:
            raise NotDifferentiableError(
                message(
                    f"constant: a traced {leaf.aval} may have another value in the next call",
                    leaf._trace.locate(),
                    tries=[
                        "wg.stop_gradient(x), for no derivative through x",
                        "wg.constant(x) outside of the traced function, for an array that it captures",
                    ],
                )
            )
        if not isinstance(leaf, np.ndarray):
            return leaf
        copy = leaf.copy()
        copy.flags.writeable = False
        return copy

    return tree.map(freeze, value)

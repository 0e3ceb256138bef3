"""The common part of SciPy's solvers as steps: when SciPy's own code answers, and what a result is."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, OptimizeResult

from wengert.api.solving import FLOAT, INT, is_traced
from wengert.errors import message
from wengert.tape import Aval
from wengert.tracing.arguments import array, as_dtype, holds_unsettled, unsupported
from wengert.tracing.interception.asking import AT_FUNCTIONS
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.interception.python_functions import original
from wengert.tracing.stack import current_trace
from wengert.tracing.tracer import Tracer

Limits = Sequence[Any] | Bounds | None
"""``bounds=``: a pair for each variable, a pair of arrays, or SciPy's object."""

Options = Mapping[str, Any] | None
Callback = Callable[..., Any] | None
Settings = Mapping[str, Any]
Array = np.ndarray[Any, Any]
"""An array at run time."""

Answer = TypeVar("Answer", bound=Callable[..., Any])

NUMBER, COUNT, TRUTH = Aval((), FLOAT), Aval((), INT), Aval((), np.dtype(bool))


class NothingTraced(Exception):
    """Nothing varies in what is solved, so SciPy's own code answers."""


def need_traced(*xs: Any) -> None:
    """Leave the call to SciPy's own code unless one of the functions, numbers or arrays is traced."""
    if not is_traced(*xs):
        raise NothingTraced


def scipys(name: str) -> Callable[..., Any]:
    """SciPy's function ``"optimize.root"``, with its own code."""
    module, _, function = name.rpartition(".")
    return original(getattr(import_module(f"scipy.{module}"), function))


def answers(name: str, looks: int = AT_FUNCTIONS) -> Callable[[Answer], Answer]:
    """Make the decorated function what ``scipy.<name>`` does with traced values; SciPy's own code is run if nothing
    traced goes in. What a function reads is known when it was recorded: where it cannot be, and the arguments are
    not traced, SciPy's own code is tried."""

    def register(ours: Answer) -> Answer:
        module, _, function = name.rpartition(".")
        first = next(iter(inspect.signature(ours).parameters.values()))
        takes_function = "Callable" in str(first.annotation)

        @functools.wraps(ours)
        def answer(*args: Any, **kwargs: Any) -> Any:
            trace = current_trace()
            if takes_function and args and type(args[0]) is Tracer:
                what = f"scipy.{name}: {first.name} is {args[0].aval}; expected a function"
                raise TypeError(message(what, None if trace is None else trace.locate()))
            try:
                return ours(*args, **kwargs)
            except NothingTraced:
                return scipys(name)(*args, **kwargs)
            except Exception:  # of recording: whether SciPy can do it is tried below, and else this is raised
                if trace is None or holds_unsettled([*args, *kwargs.values()]):
                    raise
                looking = trace.looking
                refusal, looking.refusal = looking.refusal, None
                try:
                    result = scipys(name)(*args, **kwargs)
                except Exception:  # of SciPy's or the user's, unless a traced value was refused meanwhile
                    if looking.refusal is None:
                        raise  # of SciPy's own, or of the user's
                else:
                    if looking.refusal is None:
                        return result
                looking.refusal = refusal
                raise

        intercepts(f"scipy.{module}:{function}", looks)(answer)
        return ours

    return register


def with_args(f: Callable[..., Any], args: Any, is_wrapped: bool = True) -> Callable[..., Any]:
    """``f`` of its first argument alone."""
    rest = args if isinstance(args, tuple) else (args,) if is_wrapped else tuple(args)
    return f if not rest else lambda x, *more: f(x, *more, *rest)


def vector(x: ArrayLike) -> Any:
    """A starting point, as an array of float64; traced or not."""
    point = array(x)
    if point.dtype.kind == "c":
        raise unsupported("a starting point of complex numbers is not traced", "the real and the imaginary part")
    return as_dtype(point, FLOAT)


def row(x: ArrayLike) -> Any:
    """A starting point with one axis at least."""
    point = vector(x)
    return point if point.ndim else point.reshape(1)


def number(x: ArrayLike) -> Any:
    return as_dtype(array(x), FLOAT)


def settled(x: Any) -> Any:
    """A setting (a tolerance, an option), as a plain value; a look at it, guarded, where it is traced."""
    if type(x) is Tracer:
        return x.look("a setting of a solver")[()]
    if isinstance(x, dict):
        return {k: settled(v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return tuple(map(settled, x)) if isinstance(x, tuple) else [settled(v) for v in x]
    return x


def refuse_callback(name: str, callback: Callback) -> None:
    if callback is not None:
        raise unsupported(
            f"scipy.{name}: a callback is not called in a traced function", "callback=None, and the result's fields"
        )


class Result(OptimizeResult):
    """SciPy's result with traced fields; those that are texts or objects of a run are not there, and say so."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        if name.startswith("__"):
            raise AttributeError(name)
        raise unsupported(
            f"the field {name!r} of a traced function's {type(self).__name__} is not traced",
            f"one of {', '.join(self)}",
        )


def result(**fields: Any) -> Any:
    return Result(fields)


def counts(found: Settings, names: Iterable[str]) -> list[int]:
    """Counters of SciPy's result; -1 for one that this version has not."""
    return [int(found.get(name, -1)) for name in names]

"""Every exception that wengert raises, each with the mistake and its repair.

A message has three parts: what went wrong, where in the *user's* code, what to do instead.
The first line stands alone. :func:`message` lays the parts out; nothing else formats errors.
"""

from __future__ import annotations

import linecache as _linecache
import math as _math
from collections.abc import Iterable
from contextlib import suppress as _suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wengert.source import Source


class WengertError(Exception):
    """Base class of everything wengert raises on purpose."""


class UnknownNameError(WengertError, AttributeError):
    """A name that a module or a traced array does not have: another library's, or a misspelt one.

    ``wg.jacfwd`` fails; the message says what to write: ``wg.jacobian(f, mode="forward")``.
    """


class UnknownImportError(WengertError, ImportError):
    """An import of a name that a module does not have, and another library has.

    ``from wengert import jacfwd`` fails; the message says what to write: ``wg.jacobian(f, mode="forward")``.
    """


class ShapeError(WengertError, ValueError):
    """Shapes that do not fit together.

    ``np.ones((3, 4)) @ np.ones((2, 4))`` fails; write ``W @ x.T``.
    """


class DTypeError(WengertError, TypeError):
    """A dtype that the operation does not take, or that has no derivative.

    ``wg.grad(f)(3)`` fails because an integer has no neighbourhood; write ``wg.grad(f)(3.0)``.
    """


class RangeError(WengertError, OverflowError):
    """A Python integer that the dtype it is to have cannot hold.

    ``n + 2**63`` of a traced int64 fails; write ``n + 2.0**63``, or compute with the integer outside.
    """


class ArgumentError(WengertError, TypeError):
    """An argument of another kind than the function takes: the message names it, what was given and what is taken.

    ``nn.relu("x")`` fails; pass an array of numbers.
    """


class OptionError(WengertError, ValueError):
    """An argument of the right kind that is none of the values the function takes.

    ``nn.squared_error(y, t, reduction="all")`` fails; write one of the names in the message.
    """


class StructureError(WengertError, TypeError):
    """A container of another structure than the one expected, or one that cannot be flattened."""


class ScalarOutputError(ShapeError):
    """``grad`` of a function that does not return one real number.

    ``wg.grad(lambda x: x**2)(np.ones(3))`` fails; return a sum, or use ``wg.jacobian`` or ``wg.vjp``.
    """


class ConcretizationError(WengertError, TypeError):
    """A traced value was asked for a concrete number, which would cut its derivative or go stale.

    ``complex(x)`` and ``x.hex()`` fail; write ``x + 0j``, or keep ``x`` as it is.
    """


class EscapedTracerError(WengertError, RuntimeError):
    """A traced value was used after its trace had ended.

    Storing ``x`` in a global inside a differentiated function fails later; return it instead
    (``has_aux=True`` returns values beside the one that is differentiated).
    """


class MutationError(WengertError, ValueError):
    """A write that cannot be recorded: into a caller's array, a captured array, a read-only view.

    ``buffer = np.zeros(3)`` made *outside* and ``buffer[0] = x`` inside fails; make it inside.
    """


class SharedMemoryError(MutationError):
    """A compiled function writes an argument whose memory another argument, or an array that it captured, shares.

    ``f(x, x)`` fails where ``f`` writes ``x``; pass ``np.array(x)`` for one of them.
    """


class WrittenMeanwhileError(SharedMemoryError):
    """An array that a function reads was written while the function was traced: by another thread, or by the function
    while there are other threads, of which none may be kept from writing its arrays.

    Give the function a copy: ``x.copy()``.
    """


class LayoutError(WengertError, ValueError):
    """An array to be read or written where it lies is not contiguous, not aligned, read-only, or shared."""


class UnsupportedFunctionError(WengertError, TypeError):
    """A NumPy or SciPy function, or an option of one, that wengert does not trace.

    See ``docs/coverage.md`` for the table, and ``wg.primitive`` to add one of your own.
    """


class MissingRuleError(WengertError, NotImplementedError):
    """A derivative that exists but has not been written yet, or that the rule declares unwritten."""


class NotDifferentiableError(WengertError, TypeError):
    """A derivative that cannot exist was needed."""


class TooManyIterationsError(WengertError, RuntimeError):
    """A loop over a range whose size is traced would be recorded iteration by iteration, and has too many of them.

    ``wg.fori_loop`` records one iteration, whatever their number.
    """


class TooLongError(WengertError, RuntimeError):
    """A function takes so many steps that recording them would take longer than it could save.

    It is raised, and met, inside :func:`wengert.exact`, where finite differences then go on.
    """


class TooManyPathsError(WengertError, RuntimeError):
    """A compiled function took more paths through its branches than ``config.max_paths``.

    A loop whose count depends on a traced value gives one path for each count, of which a quarter as many are kept. Use
    a fixed number of iterations, or only traced values in such a loop (a counter that begins as ``n = 0 * x``),
    ``np.where`` for a branch, or raise ``wg.config.max_paths``.
    """


class GuardError(WengertError, RuntimeError):
    """A tape was run on inputs that take another branch than the one it recorded.

    ``wg.compile(tape)`` runs one path; ``wg.jit(f)`` keeps one tape a path and picks the right one.
    """


class CaptureError(WengertError, RuntimeError):
    """A compiled function wrote a captured variable, which a later call would not repeat."""


class WrittenError(CaptureError):
    """A compiled function wrote, while it was traced, an object that could not be copied for it: the write is done.

    A set that the function adds to fails, or an object with ``__slots__`` of which ``setattr`` counts calls; return the
    count, or call ``f`` itself.
    """


class FirstUseError(CaptureError):
    """A function computed, while it was traced, a cached property that Python keeps from the first use on.

    The call is Python's, where that is allowed; ask for the property before where it is not, as with ``strict=True``.
    """


class InterpreterError(WengertError, ImportError):
    """A Python whose bytecode wengert reads wrongly: the message names it, and those that are supported.

    ``import wengert`` fails; run it with one of those, or install a newer wengert.
    """


class ConfigError(WengertError, ValueError):
    """A switch of ``wengert.config`` whose value is not one of its own, or asks for what this machine cannot do.

    ``WENGERT_TARGET=x86-64-v4`` fails where there is no AVX-512; write the level that the message names.
    """


class NonFiniteError(WengertError, FloatingPointError):
    """A loss became infinite or NaN, or an operation made a NaN or an infinity: see :func:`wengert.find_nans`.

    The message says where that arose. For a loss, smaller steps, or clipped ones, may help.
    """

    op: str = ""
    """The operation's name, where one is known."""
    source: Source | None = None
    """The user's line."""
    index: tuple[int, ...] | None = None
    """The index of the element that is not finite, in the operation's result."""
    operands: tuple[Any, ...] = ()
    """The operands: of an elementwise operation, the numbers at that index."""
    is_backward: bool = False
    """Whether it was in the backward pass."""


class StorageError(WengertError, ValueError):
    """A file of arrays that is damaged, cut off, of another kind or from something else. Nothing was changed by it."""


class WorkerError(WengertError, RuntimeError):
    """A task that was given to another process or machine failed there, or the worker ended; its error is the cause."""


class PerformanceWarning(UserWarning):
    """A compiled function is right and slow: it is answered without machine code, or often traced again.

    It is said once a function, with the line, why, and what to write instead; ``stats()`` keeps the whole story, and
    ``wg.jit(f, strict=True)`` raises instead.

    Where it is known and meant, the warning is silenced as any other:

    >>> import warnings
    >>> import wengert as wg
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", wg.PerformanceWarning)
    ...     wg.jit(lambda x: 2 * x)(3.0)
    np.float64(6.0)
    """


class FiniteDifferencesWarning(PerformanceWarning):
    """A solver inside :func:`wengert.exact` goes on with finite differences: the function is not differentiated.

    It is said once a function, with its line and the reason. Results are those of the plain call.

    >>> import warnings
    >>> import scipy.optimize
    >>> import wengert as wg
    >>> def noted(x, seen=[]):
    ...     seen.append(x)
    ...     return (x[0] - 3) ** 2
    >>> with warnings.catch_warnings(), wg.exact(quiet=True, eager=True):
    ...     warnings.simplefilter("ignore", wg.FiniteDifferencesWarning)
    ...     scipy.optimize.minimize(noted, [0.0]).x.round(5)
    array([3.])
    """


class SolverWarning(UserWarning):
    """A solution was differentiated that has no derivative, or none that can be told; the derivative is NaN.

    The solver did not converge, the Jacobian of its equations is singular (x² = p at p = 0), or a bound is neither
    active nor free. The message says which, and where.

    >>> import warnings
    >>> import scipy.optimize
    >>> import wengert as wg
    >>> root = wg.implicit(lambda x, p: x * x - p, lambda f, x: scipy.optimize.newton(f, x))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", wg.SolverWarning)
    ...     wg.grad(root, 1)(0.5, 0.0)
    np.float64(nan)
    """


class GraphError(WengertError, ValueError):
    """A vertex or an edge that a graph does not have, or cannot have: a name that is unknown, or one that is taken.

    ``g.insert("h", np.tanh, "x")`` fails where ``g`` has an ``h``; write another name.
    """


class CycleError(GraphError):
    """A vertex that would read its own result, by way of others."""


class WidthError(ShapeError):
    """Widths of a graph's vertices that cannot be had together. The message names the couplings that conflict."""


class InternalError(WengertError, AssertionError):
    """A bug in wengert. Please report it with the message and, if you can, the function traced."""


class CacheWarning(UserWarning):
    """Machine code on disk is not used, since another user may have written it. Kernels are compiled anew.

    Give the folder to yourself alone (``chmod 700``), or name another one by ``WENGERT_CACHE_DIR``.
    """


def message(
    what: str,
    source: Source | None = None,
    notes: Iterable[tuple[str, str]] = (),
    tries: Iterable[str] = (),
) -> str:
    """Lay out the three parts of an error: what, where in the user's code, what to do.

    ``notes`` are (name, text) pairs.

    >>> print(message("sin: no", notes=[("x", "float64[3]")], tries=["cos", "tan"]))
    sin: no
      x      float64[3]
      try    cos
      or     tan
    """
    lines = [what]
    if source is not None:
        lines.append(_at(source))
    lines += [f"  {name:<6} {text}" for name, text in notes]
    lines += [f"  {'or' if k else 'try':<6} {text}" for k, text in enumerate(tries)]
    return "\n".join(lines)


def in_short(x: Any, limit: int = 60) -> str:
    """``repr(x)``, of at most ``limit`` characters, whatever ``x`` is.

    >>> in_short(10**400)
    'an integer of 401 digits'
    """
    if isinstance(x, int) and x.bit_length() > 3 * limit:
        digits = int(x.bit_length() * _math.log10(2)) + 1
        return f"an integer of {digits} digits"
    try:
        text = repr(x)
    except Exception as error:  # of the user's class, for a message about something else
        text = f"<{type(x).__name__}, whose repr raises {type(error).__name__}>"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _at(source: Source) -> str:
    code = _linecache.getline(source.file, source.line).strip()
    return f"  at     {source.file}:{source.line}, in {source.function}:   {code}"


def say_where(error: Exception, source: Source | None) -> None:
    """Note on an error that a running step raised, NumPy's or the user's own, the line that the step comes from.

    The first to be asked, which is the innermost step, is heard.
    """
    if source is None or (isinstance(error, WengertError) and "\n  at " in str(error)):
        return
    notes = getattr(error, "__notes__", None)
    if not isinstance(notes, list) or not any(str(note).startswith("  at ") for note in notes):
        with _suppress(Exception):  # the user's own error must be shown, even if it takes no note
            error.add_note(_at(source))


__all__ = [
    # errors
    "WengertError",
    "UnknownNameError",
    "UnknownImportError",
    "ShapeError",
    "DTypeError",
    "RangeError",
    "ArgumentError",
    "OptionError",
    "StructureError",
    "ScalarOutputError",
    "ConcretizationError",
    "EscapedTracerError",
    "MutationError",
    "SharedMemoryError",
    "WrittenMeanwhileError",
    "LayoutError",
    "UnsupportedFunctionError",
    "MissingRuleError",
    "NotDifferentiableError",
    "TooLongError",
    "TooManyIterationsError",
    "TooManyPathsError",
    "GuardError",
    "CaptureError",
    "WrittenError",
    "FirstUseError",
    "InterpreterError",
    "ConfigError",
    "NonFiniteError",
    "StorageError",
    "WorkerError",
    "GraphError",
    "CycleError",
    "WidthError",
    "InternalError",
    # warnings
    "PerformanceWarning",
    "FiniteDifferencesWarning",
    "SolverWarning",
    "CacheWarning",
    # texts
    "message",
]


def __dir__() -> list[str]:
    return list(__all__)

"""One derivative of one function of the user's, as a solver that had none is given it.

It is recorded for the point where the solver begins, before the solver runs: what cannot be recorded is said once, and
the solver's call stays as it was written, with its own finite differences. The values that the solver sees are those of
the function itself, called by Python; its value there is compared with the recorded one, so that nothing is taken for
the derivative of a function which it is not of.
"""

from __future__ import annotations

import inspect
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.errors import FiniteDifferencesWarning, TooLongError
from wengert.higher.loops import while_
from wengert.ops.control import guard
from wengert.solvers.kinds import DerivativeKind
from wengert.solvers.slots import as_floats
from wengert.solvers.tally import A_STEP, FEWEST, Tally
from wengert.tape import at_most, has_effects
from wengert.tracing.python.bytecode import code_of
from wengert.tracing.python.lines import first_line

F = Callable[..., Any]
OFTEN = 8
"""Recorded again in more than one of so many calls, a function takes a new path at nearly every point."""


A_FEW, A_VARIABLE = 100, 60
"""Steps that a function may have for its recording to pay in one call of a solver, and more for each variable."""

OF_DIFFERENCES = 5e-5  # s, that SciPy takes for one derivative by differences, beside the evaluations
A_LOSS = 0.005  # s, that a derivative may take longer than twice what it saves

_spent: dict[Any, float] = {}


def _code_of(f: Any) -> Any:
    """The code of a function, which all functions have that are made at one place; else its type."""
    return code_of(getattr(f, "__func__", f)) or type(f)


def spent_on(f: Any) -> float:
    """Return the seconds that solvers have spent on functions of this code without a derivative."""
    return _spent.get(_code_of(f), 0.0)


def note_spent(f: Any, seconds: float) -> None:
    """Note that a solver has spent so long on a function without a derivative."""
    if len(_spent) > 10_000:  # bounded: code may be made up at run time
        _spent.clear()
    code = _code_of(f)
    _spent[code] = _spent.get(code, 0.0) + seconds


class Supplied:
    """A derivative, which a solver calls."""

    def __init__(self, f: F, kind: DerivativeKind) -> None:
        self.f, self.kind = f, kind
        self.run: Any = wg.jit(kind.of(f), strict=True, tiered=True)
        self.why = ""
        """Why finite differences stay; empty as long as there is no reason."""
        self._is_ready = False
        self._calls = 0
        self._seconds = 0.0
        self._of_value_s = 0.0
        self._too_few = 0  # steps that were not enough

    def is_ready(self, tally: Tally, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
        """Whether the derivative can be had; if nobody knows yet it is recorded for these arguments."""
        if self.why or self._is_ready:
            if self.why:
                self._say(tally)
            return self._is_ready and not self.why
        steps = self._steps_to_spend(tally, args)
        if steps is not None and (steps < FEWEST or steps < 2 * self._too_few):
            tally.put_off += 1
            return False
        start = time.thread_time()
        try:
            with at_most(steps):
                self.why = self._recorded(args, kwargs)
        except TooLongError:
            self._too_few = steps or 0
            tally.put_off += 1
            return False
        finally:
            spent = time.thread_time() - start
            tally.seconds += spent
            tally.recording_s += spent
        self._is_ready = not self.why
        if self.why:
            self._say(tally)
        return self._is_ready

    def _steps_to_spend(self, tally: Tally, args: Sequence[Any]) -> int | None:
        """How many steps the function may have, for its recording to pay. A derivative saves as many evaluations as
        there are variables, and most solvers ask for some ten; what solvers have spent on the function says more."""
        steps = tally.steps_to_spend()
        if steps is None:
            return None
        worth = A_FEW + A_VARIABLE * self.kind.evaluations(*args)
        return min(steps, max(worth, int(spent_on(self.f) / (2 * A_STEP))))

    def _recorded(self, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        """Record the function, and return why it cannot be, or nothing."""
        why = ""
        for _ in range(2):
            modules = len(sys.modules)
            try:
                return self._refusal(args, kwargs)
            except TooLongError:
                raise
            except Exception as error:  # any: what the function does with traced values is its affair, not the solver's
                why = _in_a_line(error)
            if len(sys.modules) == modules:
                break
            self.run.clear()  # the first evaluation imported a module, whose own code is nothing of the function's
        return why

    def _refusal(self, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        """Record the function, and return why its derivative may not be used all the same, or nothing."""
        instrs = self.run.program(*args, **kwargs).tape.instrs
        if any(i.op is guard and i.params["kind"] == "text" for i in instrs):
            return "it writes text of values, at every evaluation"
        if any(i.op is not guard and has_effects(i) for i in instrs):
            return "it draws random numbers, or shows something, at every evaluation"
        recorded = self.run(*args, **kwargs)[0]
        start = time.thread_time()
        value = self.kind.value(self.f)(*args, **kwargs)  # one more evaluation
        self._of_value_s = time.thread_time() - start
        rtol, atol = 1e-6, 1e-10
        if any(i.op is while_ for i in instrs):  # a solver within, as of SciPy's: ours ends beside it by its tolerance
            rtol = 1e-4
            atol += rtol * np.max(np.abs(value), initial=0.0, where=np.isfinite(value))
        if not np.allclose(value, recorded, rtol=rtol, atol=atol, equal_nan=True):
            return "its value is not that of the recorded steps, or another one at every evaluation"
        return ""

    def _say(self, tally: Tally) -> None:
        where = place(self.f)
        if where not in tally.kept:
            tally.kept[where] = self.why
            warnings.warn(
                f"finite differences stay for {where}: {self.why}", FiniteDifferencesWarning, stacklevel=_depth()
            )

    def given(self, tally: Tally, *args: Any, **kwargs: Any) -> Any:
        """Return the derivative for the arguments, as the solver asks for it."""
        args = as_floats(args, range(len(args)) if self.kind.vector is None else (self.kind.vector,))
        if not self.why:
            start = time.thread_time()
            try:
                value, found = self.run(*args, **kwargs)
            except Exception as error:  # any, as above; if it is the function's own the differences raise it again
                self.why = _in_a_line(error)
                self._say(tally)
            else:
                if np.isfinite(found).all() and np.isfinite(value).all():
                    tally.derivatives += 1
                    saved = self.kind.evaluations(*args)
                    tally.evaluations_saved += saved
                    spent = time.thread_time() - start
                    tally.seconds += spent
                    self._look_back(tally, spent, saved)
                    return found
            tally.seconds += time.thread_time() - start
        tally.differences += 1
        return self.kind.differences(self.f, *args, **kwargs)

    def _look_back(self, tally: Tally, spent: float, saved: int) -> None:
        """Give up a derivative that is recorded again and again, or takes longer than what it saves."""
        self._calls += 1
        self._seconds += spent
        if self._calls % (4 * OFTEN) == 0 and self.run.stats()["traces"] > self._calls // OFTEN + 2:
            self.why = "it takes a new path at nearly every point"
        elif self._calls >= 4 and not tally.eager:
            differences = self._calls * (saved * self._of_value_s + OF_DIFFERENCES)
            if self._seconds > 2 * differences + A_LOSS:
                self.why = "they are faster: its derivative takes many steps, and its value few"
        if self.why:
            self._say(tally)


def place(f: Any) -> str:
    """Return the name of a function, and the file and line where it is defined."""
    while hasattr(f, "func") and hasattr(f, "keywords"):  # of functools.partial
        f = f.func
    of_python = getattr(f, "__func__", f)
    if code_of(of_python) is None:
        of_python = type(f).__call__
    name = getattr(f, "__qualname__", type(f).__qualname__)
    code = code_of(inspect.unwrap(of_python))
    if code is None:
        return name
    defined = first_line(code)
    return f"{name} ({defined.file}:{defined.line})"


def _in_a_line(error: Exception) -> str:
    """Return the first line of an error, and the line of the user's where it arose."""
    lines = str(error).splitlines() or [type(error).__name__]
    places = [line.split(":   ")[0].split(",")[0][len("  at") :].strip() for line in lines if line.startswith("  at ")]
    what = lines[0] if isinstance(error, wg.errors.WengertError) else f"{type(error).__name__}: {lines[0]}"
    return what + (f", at {places[0]}" if places else "")


def _depth() -> int:
    """The stack level of the user's line that called the solver, as seen by who calls this."""
    depth, frame = 2, sys._getframe(2)
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in ("wengert", "scipy"):
        depth, frame = depth + 1, frame.f_back
    return depth

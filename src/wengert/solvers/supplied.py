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
from wengert.ops.control import guard
from wengert.solvers.kinds import DerivativeKind
from wengert.solvers.tally import FEWEST, Tally
from wengert.tape import at_most, has_effects

F = Callable[..., Any]
OFTEN = 8
"""Recorded again in more than one of so many calls, a function takes a new path at nearly every point."""


class Supplied:
    """A derivative, which a solver calls."""

    def __init__(self, f: F, kind: DerivativeKind) -> None:
        self.f, self.kind = f, kind
        self.run = wg.jit(kind.of(f), strict=True, tiered=True)
        self.why = ""
        """Why finite differences stay; empty as long as there is no reason."""
        self._is_ready = False
        self._calls = 0
        self._too_few = 0  # steps that were not enough

    def is_ready(self, tally: Tally, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
        """Whether the derivative can be had; if nobody knows yet it is recorded for these arguments."""
        if self.why or self._is_ready:
            if self.why:
                self._say(tally)
            return self._is_ready and not self.why
        steps = tally.steps_to_spend()
        if steps is not None and (steps < FEWEST or steps < 2 * self._too_few):
            tally.put_off += 1
            return False
        start = time.perf_counter()
        try:
            with at_most(steps):
                self.why = self._recorded(args, kwargs)
        except TooLongError:
            self._too_few = steps or 0
            tally.put_off += 1
            return False
        finally:
            spent = time.perf_counter() - start
            tally.seconds += spent
            tally.recording_s += spent
        self._is_ready = not self.why
        if self.why:
            self._say(tally)
        return self._is_ready

    def _recorded(self, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        """Record the function, and return why it cannot be, or nothing."""
        modules = len(sys.modules)
        try:
            return self._refusal(args, kwargs)
        except TooLongError:
            raise
        except Exception as error:  # any: what the function does with traced values is its affair, and not the solver's
            why = _in_a_line(error)
        if len(sys.modules) == modules:
            return why
        self.run.clear()  # the first evaluation imports a module, whose own code is nothing of the function's
        return self._recorded(args, kwargs)

    def _refusal(self, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        """Record the function, and return why its derivative may not be used all the same, or nothing."""
        instrs = self.run.program(*args, **kwargs).tape.instrs
        if any(i.op is guard and i.params["kind"] == "text" for i in instrs):
            return "it writes text of values, at every evaluation"
        if any(i.op is not guard and has_effects(i) for i in instrs):
            return "it draws random numbers, or shows something, at every evaluation"
        recorded = self.run(*args, **kwargs)[0]
        value = self.kind.value(self.f)(*args, **kwargs)  # one more evaluation
        if not np.allclose(value, recorded, rtol=1e-6, atol=1e-10, equal_nan=True):
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
        x = args[self.kind.vector]
        if getattr(x, "dtype", np.float64) != np.float64:  # `leastsq` passes on what it was given: an array of integers
            args = (*args[: self.kind.vector], np.asarray(x, float)[()], *args[self.kind.vector + 1 :])
        if not self.why:
            start = time.perf_counter()
            try:
                value, found = self.run(*args, **kwargs)
            except Exception as error:  # any, as above; if it is the function's own the differences raise it again
                self.why = _in_a_line(error)
                self._say(tally)
            else:
                if np.isfinite(found).all() and np.isfinite(value).all():
                    tally.derivatives += 1
                    tally.evaluations_saved += self.kind.evaluations(*args)
                    self._look_at_paths(tally)
                    tally.seconds += time.perf_counter() - start
                    return found
            tally.seconds += time.perf_counter() - start
        tally.differences += 1
        return self.kind.differences(self.f, *args, **kwargs)

    def _look_at_paths(self, tally: Tally) -> None:
        self._calls += 1
        if self._calls % (4 * OFTEN) == 0 and self.run.stats()["traces"] > self._calls // OFTEN + 2:
            self.why = "it takes a new path at nearly every point"
            self._say(tally)


def place(f: Any) -> str:
    """Return the name of a function, and the file and line where it is defined."""
    while hasattr(f, "func") and hasattr(f, "keywords"):  # of functools.partial
        f = f.func
    of_python = getattr(f, "__func__", f)
    if not hasattr(of_python, "__code__"):
        of_python = type(f).__call__
    name = getattr(f, "__qualname__", type(f).__qualname__)
    code = getattr(inspect.unwrap(of_python), "__code__", None)
    return name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"


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

"""Counts for a context of :func:`wengert.exact`: calls, derivatives, evaluations saved, and what was refused."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

SHARE = 1 / 30
"""The share of the process's time that may go into recording functions. What wengert takes once, to be imported and to
open the first trace, is not in it."""
A_STEP = 5e-5  # s, to record, differentiate and plan one step
FEWEST = 50  # steps: not worth a try with less


@dataclass
class Tally:
    """Counts of what was done in a context. Times are in seconds.

    Attributes
    ----------
    calls : calls of solvers, without those that solvers make themselves.
    filled : derivatives that were put into empty slots of calls.
    derivatives : how often one was asked for, and given.
    differences : how often finite differences stood in for one, at a point where it is not finite, say.
    evaluations_saved : evaluations that finite differences would have taken for the same.
    seconds : the time that recording and derivatives took.
    kept : why finite differences stay, by the functions whose they do, ``"loss (model.py:12)"``.
    put_off : slots that were left as they were, since recording the function would have taken too long so far.
    """

    calls: int = 0
    filled: int = 0
    derivatives: int = 0
    differences: int = 0
    evaluations_saved: int = 0
    seconds: float = 0.0
    kept: dict[str, str] = field(default_factory=dict)
    put_off: int = 0
    eager: bool = False
    recording_s: float = 0.0
    """The part of ``seconds`` in which functions were recorded."""
    supplied: dict[Any, Any] = field(default_factory=dict, repr=False)
    """The derivatives that were made in the context, by function and kind."""

    def steps_to_spend(self) -> int | None:
        """How many steps a function may have that is recorded now; None: any number."""
        if self.eager:
            return None
        return max(0, int((SHARE * time.process_time() - self.recording_s) / A_STEP))

    def add(self, inner: Tally) -> None:
        """Add what was done in a context within this one."""
        for name in ("calls", "filled", "derivatives", "differences", "evaluations_saved", "seconds", "put_off",
                     "recording_s"):  # fmt: skip
            setattr(self, name, getattr(self, name) + getattr(inner, name))
        self.kept |= inner.kept

    def summary(self) -> str:
        """Return the few lines that are printed at the end of the context."""
        lines = [
            f"wengert: {_many(self.calls, 'call')} of solvers, {_many(self.filled, 'slot')} filled: "
            f"{_many(self.derivatives, 'derivative')} in {self.seconds:.3g} s, "
            f"{_many(self.evaluations_saved, 'evaluation')} saved"
        ]
        if self.differences:
            lines.append(f"  finite differences stood in at {_many(self.differences, 'point')}")
        if self.put_off:
            lines.append(f"  {_many(self.put_off, 'slot')} left empty so far: recording would take too long")
        lines += [f"  finite differences stay for {where}: {why}" for where, why in self.kept.items()]
        return "\n".join(lines)


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"

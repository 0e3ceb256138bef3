"""The body of a loop or a branch decides where it looks at the truth of a value that has none.

A body is recorded once, for any number of runs, so ``if x > 0`` in it has no outcome. It is run once for each instead:
in a run the first looks have the outcomes that are given, and those that come are true. Each run is a straight tape, on
which it is noted where it decided what; higher/joining.py makes one tape of them, with branches in it.

The same truth is decided once a run: values are told apart by their numbers, equal for equal steps on equal values
(value numbering), since what a body reads of an enclosing trace is recorded there anew in each run.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

from wengert.errors import ConcretizationError, message
from wengert.source import Source
from wengert.tape import Atom, Lit, Var, affects

if TYPE_CHECKING:
    from wengert.tracing.trace import Trace
    from wengert.tracing.tracer import Tracer

MOST_PATHS = 32
"""The most runs of one body."""


class Decision(NamedTuple):
    """``condition`` was looked at when so many steps, ``position``, had been recorded."""

    position: int
    condition: Atom
    outcome: bool
    source: Source | None


class Decisions:
    """The decisions of one run of a body: ``given`` are the outcomes of the first."""

    def __init__(self, given: tuple[bool, ...] = ()) -> None:
        self.given = given
        self.made: list[Decision] = []
        self._known: dict[Hashable, bool] = {}

    def outcome(self, number: Hashable, position: int, condition: Var, source: Source | None) -> bool:
        known = self._known.get(number)
        if known is not None:
            return known
        k = len(self.made)
        if k == MOST_PATHS - 1:  # each has another side
            raise too_many_paths(source)
        outcome = self.given[k] if k < len(self.given) else True
        self.made.append(Decision(position, condition, outcome, source))
        self._known[number] = outcome
        return outcome

    @property
    def outcomes(self) -> tuple[bool, ...]:
        return tuple([d.outcome for d in self.made])


def too_many_paths(source: Source | None) -> ConcretizationError:
    what = f"more than {MOST_PATHS} paths through a body that is recorded once: it looks at traced values again here"
    tries = [
        "wg.while_loop instead of while",
        "wg.cond or np.where instead of if",
        "wg.joined around a function with some of the branches",
    ]
    return ConcretizationError(message(what, source, tries=tries))


class ValueNumbers:
    """The numbers of the values of a trace, equal for equal values: of one step, of operands with equal numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Var, Hashable] = {}
        self._known: dict[Hashable, int] = {}
        self._seen = 0

    def of(self, atom: Atom, trace: Trace) -> Hashable:
        new = trace.builder.since(self._seen)
        self._seen += len(new)
        for op, ins, outs, params, _ in new:
            key: Any = outs
            if op.is_stable and not affects(op, params):
                key = (op, *[self._of(a, trace) for a in ins], *params.items())
            number = self._known.setdefault(key, len(self._known))
            self._numbers.update({v: (number, m) for m, v in enumerate(outs)})
        return self._of(atom, trace)

    def _of(self, atom: Atom, trace: Trace) -> Hashable:
        if type(atom) is Lit:
            return atom.key
        known = self._numbers.get(atom)
        if known is None:
            outer = trace.lifted.outer(atom)
            known = self._numbers[atom] = atom if outer is None else number_of(outer)
        return known


def number(trace: Trace, atom: Atom) -> Hashable:
    """Return a number that is equal for values of ``trace`` that are made in one way, and so are equal."""
    if trace.looking.numbers is None:
        trace.looking.numbers = ValueNumbers()
    return trace.looking.numbers.of(atom, trace)


def number_of(x: Tracer) -> Hashable:
    """Return the number of a traced value, in its own trace."""
    return x._trace.level, number(x._trace, x.atom())

"""A space says what a candidate of a search may be: named entries, each a choice or a range, some by others.

Candidates are plain dicts, of values that JSON knows. A space draws them at random and changes one a little, which is
all that an evolution of one's own needs; ``with_optuna`` lets Optuna choose instead.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg

Candidate = Any


@wg.expect.checked_class
@dataclass(frozen=True)
class Choice:
    """One of several values."""

    options: tuple[Any, ...]

    def __init__(self, *options: Any) -> None:
        if not options:
            raise wg.errors.StructureError(
                wg.errors.message("Choice: there are no options to choose from", tries=["Choice(8, 16, 32)"])
            )
        try:
            plain = json.loads(json.dumps(options))  # as files of studies give them back: tuples are lists
        except (TypeError, ValueError, RecursionError) as error:
            raise wg.errors.StructureError(
                wg.errors.message(
                    f"Choice: its options must be values that JSON knows: {error}",
                    tries=["names or numbers, from which evaluate makes what it needs"],
                )
            ) from None
        object.__setattr__(self, "options", tuple(plain))

    def sample(self, rng: np.random.Generator, chosen: Mapping[str, Any]) -> Any:
        return self.options[int(rng.integers(len(self.options)))]

    def near(self, value: Any, rng: np.random.Generator, chosen: Mapping[str, Any]) -> Any:
        others = [x for x in self.options if x != value]
        return others[int(rng.integers(len(others)))] if others else value


def _check_range(part: Any) -> None:
    if not part.low <= part.high or (part.log and part.low <= 0):
        raise wg.errors.StructureError(
            wg.errors.message(
                f"{part} is no range",
                notes=[("want", "low <= high" + ", and both greater than 0, as log=True takes logarithms" * part.log)],
            )
        )


@wg.expect.checked_class
@dataclass(frozen=True)
class Integer:
    """A whole number from ``low`` to ``high``, both included; with ``log`` each octave is as likely as the others."""

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        _check_range(self)

    def sample(self, rng: np.random.Generator, chosen: Mapping[str, Any]) -> int:
        if self.log:
            drawn = math.exp(rng.uniform(math.log(self.low), math.log(self.high + 1)))
            return min(self.high, int(drawn))
        return int(rng.integers(self.low, self.high + 1))

    def near(self, value: int, rng: np.random.Generator, chosen: Mapping[str, Any]) -> int:
        """Return another value within a quarter of the range, or of the value itself; the same if there is no other."""
        if self.low == self.high:
            return value
        reach = max(1, round((value if self.log else self.high - self.low) / 4))
        low, high = max(self.low, value - reach), min(self.high, value + reach)
        drawn = int(rng.integers(low, high))
        return drawn + (drawn >= value)


@wg.expect.checked_class
@dataclass(frozen=True)
class Float:
    """A number between ``low`` and ``high``; with ``log`` each octave is as likely as the others."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        _check_range(self)

    def _ends(self) -> tuple[float, float]:
        return (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)

    def sample(self, rng: np.random.Generator, chosen: Mapping[str, Any]) -> float:
        return self._at(rng.uniform(*self._ends()))

    def near(self, value: float, rng: np.random.Generator, chosen: Mapping[str, Any]) -> float:
        low, high = self._ends()
        here = math.log(value) if self.log else value
        return self._at(here + 0.2 * (high - low) * rng.standard_normal())

    def _at(self, place: float) -> float:
        return min(self.high, max(self.low, math.exp(place) if self.log else float(place)))


@wg.expect.checked_class
@dataclass(frozen=True)
class Each:
    """A list of values of ``part``; the entry called ``count`` says how many."""

    count: str
    part: Any

    def sample(self, rng: np.random.Generator, chosen: Mapping[str, Any]) -> list[Any]:
        return [self.part.sample(rng, chosen) for _ in range(chosen[self.count])]

    def near(self, value: list[Any], rng: np.random.Generator, chosen: Mapping[str, Any]) -> list[Any]:
        if not value:
            return value
        k = int(rng.integers(len(value)))
        return [self.part.near(x, rng, chosen) if j == k else x for j, x in enumerate(value)]


@wg.expect.checked_class
@dataclass(frozen=True)
class When:
    """A value of ``part`` where another entry has this value, and None elsewhere."""

    entry: str
    value: Any
    part: Any

    def sample(self, rng: np.random.Generator, chosen: Mapping[str, Any]) -> Any:
        return self.part.sample(rng, chosen) if chosen[self.entry] == self.value else None

    def near(self, value: Any, rng: np.random.Generator, chosen: Mapping[str, Any]) -> Any:
        return value if value is None else self.part.near(value, rng, chosen)


@wg.expect.checked_class
class Space:
    """Entries by name. Those that come later may depend on those before them.

    >>> import numpy as np
    >>> from wengert.graph import search
    >>> space = search.Space({"depth": search.Integer(1, 3), "widths": search.Each("depth", search.Choice(8, 16, 32))})
    >>> candidate = space.sample(np.random.default_rng(0))
    >>> candidate
    {'depth': 3, 'widths': [16, 16, 8]}
    >>> space.mutate(candidate, np.random.default_rng(0))
    {'depth': 3, 'widths': [16, 32, 8]}
    """

    def __init__(self, entries: Mapping[str, Any]) -> None:
        self.entries = dict(entries)

    def sample(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw each entry at random."""
        chosen: dict[str, Any] = {}
        for name, part in self.entries.items():
            chosen[name] = part.sample(rng, chosen)
        return chosen

    def mutate(self, candidate: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        """Return a candidate with one entry moved to a value near it; entries that depend on it follow."""
        movable = [name for name, value in candidate.items() if value is not None and value != []]
        if not movable:
            return dict(candidate)
        chosen = movable[int(rng.integers(len(movable)))]
        new: dict[str, Any] = {}
        for name, part in self.entries.items():
            value = candidate[name]
            new[name] = part.near(value, rng, new) if name == chosen else _fitting(part, value, rng, new)
        return new


def _fitting(part: Any, value: Any, rng: np.random.Generator, chosen: Mapping[str, Any]) -> Any:
    """Fit the value of an entry that was not moved to the entries that it depends on."""
    if isinstance(part, Each):
        more = [part.part.sample(rng, chosen) for _ in range(chosen[part.count] - len(value))]
        return [*value[: chosen[part.count]], *more]
    if isinstance(part, When):
        if chosen[part.entry] != part.value:
            return None
        return part.sample(rng, chosen) if value is None else _fitting(part.part, value, rng, chosen)
    return value

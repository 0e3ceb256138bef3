"""Spaces of candidates: what may be chosen, drawn at random, changed a little, and written as JSON.

A space is anything with ``sample(rng) -> candidate``, ``mutate(candidate, rng) -> candidate`` and ``describe()``, which
tells it from others. Candidates are what JSON knows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
            raise wg.errors.StructureError(wg.errors.message("Choice: of nothing"))
        try:
            plain = json.loads(json.dumps(options))  # as journals give them back: tuples are lists
        except (TypeError, ValueError, RecursionError) as error:
            raise wg.errors.StructureError(
                wg.errors.message(f"Choice: {error}", tries=["names or numbers, of which evaluate makes what it needs"])
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
                f"{part}: no range",
                notes=[
                    ("want", "low <= high" + (", and both greater than 0, of which there are logarithms" * part.log))
                ],
            )
        )


@wg.expect.checked_class
@dataclass(frozen=True)
class Integer:
    """A whole number from ``low`` to ``high``, both of them too; ``log``: each octave as often."""

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
        """Within a quarter of the range, or of itself, and another one if there is one."""
        if self.low == self.high:
            return value
        reach = max(1, round((value if self.log else self.high - self.low) / 4))
        low, high = max(self.low, value - reach), min(self.high, value + reach)
        drawn = int(rng.integers(low, high))
        return drawn + (drawn >= value)


@wg.expect.checked_class
@dataclass(frozen=True)
class Float:
    """A number between ``low`` and ``high``; ``log``: each octave as often."""

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
    """A list: of this part, as many as another entry says."""

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
    """This part where another entry has this value; elsewhere None."""

    entry: str
    value: Any
    part: Any

    def sample(self, rng: np.random.Generator, chosen: Mapping[str, Any]) -> Any:
        return self.part.sample(rng, chosen) if chosen[self.entry] == self.value else None

    def near(self, value: Any, rng: np.random.Generator, chosen: Mapping[str, Any]) -> Any:
        return value if value is None else self.part.near(value, rng, chosen)


@wg.expect.checked_class
class Space:
    """Entries by name, each a part: what comes later may depend on what came before.

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
        """Each entry at random."""
        chosen: dict[str, Any] = {}
        for name, part in self.entries.items():
            chosen[name] = part.sample(rng, chosen)
        return chosen

    def mutate(self, candidate: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        """One entry moved to a value near it; those that depend on it follow."""
        movable = [name for name, value in candidate.items() if value is not None and value != []]
        if not movable:
            return dict(candidate)
        chosen = movable[int(rng.integers(len(movable)))]
        new: dict[str, Any] = {}
        for name, part in self.entries.items():
            value = candidate[name]
            new[name] = part.near(value, rng, new) if name == chosen else _fitting(part, value, rng, new)
        return new

    def describe(self) -> Any:
        """What tells it from other spaces."""
        return {name: _described(part) for name, part in self.entries.items()}


def _fitting(part: Any, value: Any, rng: np.random.Generator, chosen: Mapping[str, Any]) -> Any:
    """The value of an entry that was not moved, after those that it depends on."""
    if isinstance(part, Each):
        more = [part.part.sample(rng, chosen) for _ in range(chosen[part.count] - len(value))]
        return [*value[: chosen[part.count]], *more]
    if isinstance(part, When):
        if chosen[part.entry] != part.value:
            return None
        return part.sample(rng, chosen) if value is None else _fitting(part.part, value, rng, chosen)
    return value


def _described(part: Any) -> Any:
    if hasattr(part, "part"):
        return [type(part).__name__, {k: v for k, v in vars(part).items() if k != "part"}, _described(part.part)]
    return [type(part).__name__, asdict(part)]

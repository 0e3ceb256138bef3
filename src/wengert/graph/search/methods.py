"""What is tried next. A method proposes trial number k from results that do not depend on who was ready first: those of
trials that are so many before it, or of a whole rung. So a seed gives the same search whatever the number of workers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg
from wengert.graph.search.spaces import Candidate

Results = Mapping[int, Mapping[str, float] | None]
"""Of the trials that have ended, by number; None: it failed."""


@dataclass(frozen=True)
class Proposal:
    """What to try, with which part of the whole budget (None: the method has none)."""

    candidate: Candidate
    budget: float | None = None


def _loss(result: Mapping[str, float] | None) -> float:
    """Failed trials, and those that are no number, come last."""
    loss = math.inf if result is None else result["loss"]
    return math.inf if math.isnan(loss) else loss


@wg.expect.checked_class
@dataclass(frozen=True)
class Random:
    """Each at random."""

    lag: int = 1 << 30
    """How many trials may be under way at once."""

    def propose(
        self, k: int, space: Any, seed: int, candidates: Mapping[int, Candidate], results: Results
    ) -> Proposal | None:
        """Trial number ``k``; None while results are missing. Raises StopIteration if there are no more."""
        return Proposal(space.sample(np.random.default_rng([seed, k])))


@wg.expect.checked_class
@dataclass(frozen=True)
class Evolution:
    """Regularised evolution: the best of a few of the last ``population``, changed a little (Real et al. 2019,
    arXiv:1802.01548). Trial k looks at those up to k − ``lag``, which as many workers as that keep busy."""

    population: int = 20
    tournament: int = 5
    lag: int = 16

    def propose(
        self, k: int, space: Any, seed: int, candidates: Mapping[int, Candidate], results: Results
    ) -> Proposal | None:
        rng = np.random.default_rng([seed, k])
        known = range(max(0, k - self.lag + 1))
        if len(known) < min(self.population, self.tournament) or k < self.population:
            return Proposal(space.sample(rng))
        if any(j not in results for j in known):
            return None
        living = known[-self.population :]
        chosen = rng.choice(len(living), min(self.tournament, len(living)), replace=False)
        best = min([living[int(j)] for j in chosen], key=lambda j: (_loss(results[j]), j))
        return Proposal(space.mutate(candidates[best], rng))


@wg.expect.checked_class
@dataclass(frozen=True)
class Halving:
    """Successive halving: many with a small part of the budget, and the best of them with ``factor`` times as much, up
    to all of it (Jamieson & Talwalkar 2016, arXiv:1502.07943)."""

    first: int = 27
    """Candidates that begin."""
    factor: int = 3
    lag: int = 1 << 30

    def rungs(self) -> list[int]:
        """How many candidates each rung has."""
        found = [self.first]
        while found[-1] >= self.factor:
            found.append(found[-1] // self.factor)
        return found

    @property
    def fewest(self) -> int:
        """Trials, for a result of the whole budget."""
        return sum(self.rungs()[:-1]) + 1

    def propose(
        self, k: int, space: Any, seed: int, candidates: Mapping[int, Candidate], results: Results
    ) -> Proposal | None:
        rungs, start = self.rungs(), 0
        for number, count in enumerate(rungs):
            budget = float(self.factor) ** (number - len(rungs) + 1)
            if k < start + count:
                if number == 0:
                    return Proposal(space.sample(np.random.default_rng([seed, k])), budget)
                below = range(start - rungs[number - 1], start)
                if any(j not in results for j in below):
                    return None
                order = sorted(below, key=lambda j: (_loss(results[j]), j))
                return Proposal(candidates[order[k - start]], budget)
            start += count
        raise StopIteration


METHODS = {"random": Random, "evolution": Evolution, "halving": Halving}

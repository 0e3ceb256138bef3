"""Methods: what they look at, and what they leave alone until it is known."""

from __future__ import annotations

from typing import Any

import pytest

from tests.graph.search.evaluations import SPACE, bowl
from wengert.graph import search


def tried(method: Any, most: int) -> dict[int, Any]:
    candidates: dict[int, Any] = {}
    results: dict[int, Any] = {}
    for k in range(most):
        try:
            proposal = method.propose(k, SPACE, 5, candidates, results)
        except StopIteration:
            break
        assert proposal is not None
        candidates[k], results[k] = proposal.candidate, bowl(proposal.candidate, 0)
    return {k: (candidates[k], results[k]["loss"]) for k in candidates}


def test_random() -> None:
    found = tried(search.Random(), 50)
    assert found == tried(search.Random(), 50) and len({str(c) for c, _ in found.values()}) == 50


def test_evolution_gets_better_and_waits_for_what_it_looks_at() -> None:
    method = search.Evolution(population=10, tournament=4, lag=3)
    found = tried(method, 120)
    losses = [loss for _, loss in found.values()]
    assert sum(losses[-20:]) < 0.6 * sum(losses[:20])
    candidates = {k: c for k, (c, _) in found.items()}
    results = {k: {"loss": loss} for k, (_, loss) in found.items() if k < 40}
    assert method.propose(42, SPACE, 5, candidates, results).candidate == candidates[42]
    assert method.propose(43, SPACE, 5, candidates, results) is None
    assert method.propose(42, SPACE, 5, candidates, dict.fromkeys(range(40))) is not None  # all have failed


def test_halving_gives_more_to_the_better_half() -> None:
    method = search.Halving(first=9, factor=3)
    assert method.rungs() == [9, 3, 1]
    found = tried(method, 100)
    assert len(found) == 13
    order = sorted(range(9), key=lambda k: found[k][1])
    assert [found[9 + j][0] for j in range(3)] == [found[k][0] for k in order[:3]]
    assert found[12][0] == found[order[0]][0]
    candidates, results = {k: c for k, (c, _) in found.items()}, {k: {"loss": loss} for k, (_, loss) in found.items()}
    budgets = [method.propose(k, SPACE, 5, candidates, results).budget for k in (0, 9, 12)]
    assert budgets == pytest.approx([1 / 9, 1 / 3, 1])
    assert method.propose(9, SPACE, 5, {}, {k: {"loss": 1.0} for k in range(8)}) is None
    with pytest.raises(StopIteration):
        method.propose(13, SPACE, 5, {}, {})

"""Finds where a sequence repeats: stretches of it that are some period over and over again.

The kinds of the steps are a string, and a loop that was unrolled is a repetition in it. Candidates for a period are the
distances at which windows of 1, 4, 16, ... steps occur again; that of the longest window that occurs but once in an
iteration is the period of the loop. What a candidate covers is seen by laying the string over itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Kinds = np.ndarray[Any, np.dtype[np.int64]]

FEWEST = 8  # fewer iterations are not worth a loop
ROUNDS = 8
CANDIDATES = 4  # so many distances are tried for each length of window


class Run(NamedTuple):
    start: int
    period: int
    count: int

    @property
    def stop(self) -> int:
        return self.start + self.period * self.count

    @property
    def saved(self) -> int:
        """The number of steps that a loop saves."""
        return self.period * (self.count - 1)


def repeats(kinds: Kinds, share: float = 1.0) -> list[Run]:
    """Return the runs of ``kinds``, disjoint and in order. Those of the period that leaves the fewest steps are found
    first, or of the shortest that saves this ``share`` of what the best one saves. Log-linear."""
    left = kinds.astype(np.int64)
    found: list[Run] = []
    lone = min(int(left.min(initial=0)), 0)
    for _ in range(ROUNDS):
        options = [_runs(left, p) for p in sorted(_periods(left))]
        saved = [sum([r.saved for r in runs]) for runs in options]
        enough = share * max(saved, default=0)
        best = next((runs for runs, n in zip(options, saved, strict=True) if n >= enough), [])  # the shortest period
        if not best:
            break
        for r in best:
            left[r.start : r.stop] = np.arange(lone - (r.stop - r.start), lone)  # equal to no other
            lone -= r.stop - r.start
        found += best
    return sorted(found)


def _periods(kinds: Kinds) -> list[int]:
    found: dict[int, None] = {1: None}
    hashes, width = kinds.astype(np.uint64), 1
    while width <= len(kinds) // FEWEST:
        order = np.argsort(hashes, kind="stable")
        again = hashes[order[1:]] == hashes[order[:-1]]
        distances, counts = np.unique(np.diff(order)[again], return_counts=True)
        found.update(dict.fromkeys(distances[np.argsort(-counts, kind="stable")[:CANDIDATES]].tolist()))
        for _ in range(2):  # windows of four times the width
            if width < len(hashes):
                mixed = (hashes[:-width] ^ (hashes[:-width] >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
                hashes = mixed + hashes[width:] * np.uint64(0xBF58476D1CE4E5B9)
            width *= 2
    return [p for p in found if p <= len(kinds) // FEWEST]


def _runs(kinds: Kinds, period: int) -> list[Run]:
    same = np.concatenate([[False], kinds[period:] == kinds[:-period], [False]])
    edges = np.flatnonzero(same[1:] != same[:-1])
    starts, lengths = edges[::2], edges[1::2] - edges[::2]
    enough = lengths >= period * (FEWEST - 1)
    runs = [Run(int(s), period, int(n) // period + 1) for s, n in zip(starts[enough], lengths[enough], strict=True)]
    apart: list[Run] = []
    for r in runs:  # two stretches may share less than a period
        if not apart or r.start >= apart[-1].stop:
            apart.append(r)
    return apart

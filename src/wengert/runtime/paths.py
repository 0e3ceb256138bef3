"""The tree of tapes: one program a path through the branches of a function.

A path is the sequence of values that its guards saw. Functions are deterministic, so two paths that begin with the
same values have the same guards so far: a tree, with a program at each leaf. A call runs the path that was right
last time; a guard that misses says where to branch off, and only a branch never seen has to be traced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from wengert import config
from wengert.errors import TooManyPathsError, message
from wengert.locks import lock_of_object
from wengert.ops.control import Expected, GuardMiss
from wengert.source import Source

P = TypeVar("P")
Path = tuple[Expected, ...]

FEWEST_COUNTS = 8
"""Numbers of turns of one loop that are kept in any case, each a path."""


class _Node:
    __slots__ = ("children", "leaf", "recent")

    def __init__(self) -> None:
        self.children: dict[Expected, _Node] = {}
        self.leaf: Any = None
        self.recent: Any = None  # a leaf at or below this node: where to begin when a call branches off here


class Paths(Generic[P]):
    """The programs of one signature, by path. Safe under several threads."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self._last: Source | None = None
        self._turns: dict[Any, set[int]] = {}
        """By its line, how often a guard was met on each path."""
        self._most = 0
        """The most numbers of turns of one loop."""
        self._root = _Node()
        self._lock = lock_of_object()

    @property
    def recent(self) -> tuple[Path, P] | None:
        """The path that was right last time."""
        return self._root.recent

    def is_full(self) -> bool:
        """Whether there are as many as there may be. Of paths that the number of turns of a loop tells apart there is
        no end, so a quarter of ``config.max_paths`` is enough to see that more will come."""
        return self.count >= config.max_paths or self._most >= max(FEWEST_COUNTS, config.max_paths // 4)

    def too_many(self) -> TooManyPathsError:
        """The error for one more path."""
        return TooManyPathsError(
            message(
                f"{self.name} has taken {self.count} different paths through its branches",
                self._last,
                tries=[
                    "np.where for a branch",
                    "for a loop whose count depends on a traced value: a fixed number of turns, or traced values alone "
                    "that differ from turn to turn (a counter that begins as n = 0 * x, not n = 0)",
                    "wg.config.max_paths, if so many paths are meant",
                ],
            )
        )

    def add(self, path: Path, program: P, sources: Sequence[Source] = ()) -> None:
        """Keep a program; ``sources`` are the lines of its guards. Raises TooManyPathsError if there are too many."""
        with self._lock:
            self._last = sources[-1] if sources else self._last
            if self.is_full():
                raise self.too_many()
            for line, count in Counter([source[:2] for source in sources]).items():
                turns = self._turns.setdefault(line, set())
                turns.add(count)
                self._most = max(self._most, len(turns))
            leaf = (path, program)
            node = self._root
            node.recent = leaf
            for value in path:
                node = node.children.setdefault(value, _Node())
                node.recent = leaf
            if node.leaf is None:
                self.count += 1
            node.leaf = leaf

    def after(self, path: Path, miss: GuardMiss) -> tuple[Path, P] | None:
        """A path that agrees with ``path`` up to the guard that missed and with the value seen there."""
        node: _Node | None = self._root
        for value in (*path[: miss.position], miss.value):
            node = node.children.get(value) if node is not None else None
        return None if node is None else node.recent

    def used(self, leaf: tuple[Path, P]) -> None:
        """Begin with this one next time. A plain store: whichever thread is last wins, and any is right."""
        self._root.recent = leaf
        node = self._root
        for value in leaf[0]:
            node = node.children[value]
            node.recent = leaf

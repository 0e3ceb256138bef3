"""The tree of tapes: one program for each path through the branches of a function.

A path is the sequence of values that its guards saw. Functions are deterministic, so two paths that begin with the
same values have the same guards up to there: they form a tree, with a program at each leaf. A call runs the path that
was right last time; a guard that misses says where to branch off, and only a branch never seen has to be traced.
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
"""Different numbers of iterations of one loop that are kept in any case, each as a path."""


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
        self._counts: dict[Any, set[int]] = {}
        """The different numbers of times that paths met the guards of a line, by line: the iterations of a loop."""
        self._most = 0
        """The size of the largest of these sets."""
        self._root = _Node()
        self._lock = lock_of_object()

    @property
    def recent(self) -> tuple[Path, P] | None:
        """The path that was right last time, with its program."""
        return self._root.recent

    def is_full(self) -> bool:
        """Whether there are as many paths as there may be. There is no end of paths that differ in the number of
        iterations of a loop, so a quarter of ``config.max_paths`` of them is enough to see that more will come."""
        return self.count >= config.max_paths or self._most >= max(FEWEST_COUNTS, config.max_paths // 4)

    def too_many(self) -> TooManyPathsError:
        """The error for one more path."""
        return TooManyPathsError(
            message(
                f"{self.name} has taken {self.count} different paths through its branches",
                self._last,
                tries=[
                    "np.where for a branch",
                    "for a loop whose count depends on a traced value: a fixed number of iterations, or only traced "
                    "values that differ between iterations (a counter that begins as n = 0 * x, not n = 0)",
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
                counts = self._counts.setdefault(line, set())
                counts.add(count)
                self._most = max(self._most, len(counts))
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
        """A path that agrees with ``path`` up to the guard that missed, and has the value seen there; else None."""
        node: _Node | None = self._root
        for value in (*path[: miss.position], miss.value):
            node = node.children.get(value) if node is not None else None
        return None if node is None else node.recent

    def all(self) -> list[tuple[Path, P]]:
        """Return every path with its program."""
        found: list[tuple[Path, P]] = []
        nodes = [self._root]
        while nodes:
            node = nodes.pop()
            found += [node.leaf] if node.leaf is not None else []
            nodes += reversed(list(node.children.values()))
        return found

    def used(self, leaf: tuple[Path, P]) -> None:
        """Begin with this path next time. It is a plain store: the last of several threads wins, and any is right."""
        self._root.recent = leaf
        node = self._root
        for value in leaf[0]:
            node = node.children[value]
            node.recent = leaf

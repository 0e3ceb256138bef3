"""The arena: where in one block of memory each buffer is, so that those that do not live at one time share bytes."""

from __future__ import annotations

import bisect
from collections.abc import Iterable

from wengert.passes.plan.places import Buffer

ALIGNMENT = 64  # bytes: a cache line, and the widest vector


def assign_offsets(buffers: Iterable[Buffer]) -> int:
    """Give each buffer of the arena its offset, and return how many bytes the arena has.

    First fit, best size: buffers in the order of their births, bytes of the dead handed out again.
    """
    arena = sorted([b for b in buffers if b.kind == "arena" and b.first >= 0], key=lambda b: b.first)
    deaths: list[tuple[int, int, Buffer]] = []
    free = FreeList()
    for k, buffer in enumerate(arena):
        while deaths and deaths[0][0] < buffer.first:
            _, _, dead = deaths.pop(0)
            free.give(dead.offset, aligned(dead.nbytes))
        buffer.offset = free.take(aligned(buffer.nbytes))
        bisect.insort(deaths, (buffer.last, k, buffer))
    return free.top


class FreeList:
    """Free stretches of the arena, by where they begin."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.sizes: dict[int, int] = {}
        self.by_size: list[tuple[int, int]] = []
        self.top = 0

    def take(self, size: int) -> int:
        k = bisect.bisect_left(self.by_size, (size, -1))
        if k == len(self.by_size):
            start = self.top
            if self.starts and self.starts[-1] + self.sizes[self.starts[-1]] == self.top:  # the last one, and some more
                start = self.starts[-1]
                self._remove(start)
            self.top = start + size
            return start
        found, start = self.by_size.pop(k)
        self._drop(start)
        if found > size:
            self._add(start + size, found - size)
        return start

    def give(self, start: int, size: int) -> None:
        k = bisect.bisect_left(self.starts, start)
        if k < len(self.starts) and self.starts[k] == start + size:
            size += self._remove(self.starts[k])
        if k > 0 and self.starts[k - 1] + self.sizes[self.starts[k - 1]] == start:
            start = self.starts[k - 1]
            size += self._remove(start)
        self._add(start, size)

    def _add(self, start: int, size: int) -> None:
        bisect.insort(self.starts, start)
        self.sizes[start] = size
        bisect.insort(self.by_size, (size, start))

    def _remove(self, start: int) -> int:
        """Take a stretch off the list, and say its size."""
        size = self.sizes[start]
        self.by_size.pop(bisect.bisect_left(self.by_size, (size, start)))
        self._drop(start)
        return size

    def _drop(self, start: int) -> None:
        self.starts.pop(bisect.bisect_left(self.starts, start))
        del self.sizes[start]


def aligned(nbytes: int) -> int:
    return max(1, -(-nbytes // ALIGNMENT)) * ALIGNMENT

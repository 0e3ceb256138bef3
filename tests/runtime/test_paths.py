"""The tree of paths: where a call begins, where it branches off, and what is bounded."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import config
from wengert.errors import TooManyPathsError
from wengert.ops.control import Expected, GuardMiss
from wengert.runtime.paths import Paths
from wengert.source import Source


def path(*values: Any) -> tuple[Expected, ...]:
    return tuple(Expected(v) for v in values)


def miss(position: int, value: Any) -> GuardMiss:
    return GuardMiss(position, Expected(value))


def test_an_empty_tree() -> None:
    paths: Paths[str] = Paths("f")
    assert paths.recent is None and paths.count == 0
    assert paths.after(path(True), miss(0, False)) is None


def test_a_tree_without_branches() -> None:
    paths: Paths[str] = Paths("f")
    paths.add((), "only")
    assert paths.recent == ((), "only") and paths.count == 1


def test_a_miss_leads_to_a_path_that_agrees_so_far() -> None:
    paths: Paths[str] = Paths("f")
    first, second, third = path(True, 1), path(True, 2, 5), path(False)
    for p, program in ((first, "first"), (second, "second"), (third, "third")):
        paths.add(p, program)
    assert paths.count == 3
    assert paths.recent == (third, "third")
    assert paths.after(third, miss(0, True)) == (second, "second")  # the later one of two
    assert paths.after(second, miss(1, 1)) == (first, "first")
    assert paths.after(second, miss(0, False)) == (third, "third")
    assert paths.after(second, miss(1, 3)) is None
    assert paths.after(second, miss(2, 6)) is None
    assert paths.after(first, miss(0, np.nan)) is None


def test_what_was_right_is_where_the_next_call_begins() -> None:
    paths: Paths[str] = Paths("f")
    first, second, third = path(True, 1), path(True, 2), path(False)
    for p in (first, second, third):
        paths.add(p, str(p))
    paths.used((first, str(first)))
    assert paths.recent == (first, str(first))
    assert paths.after(third, miss(0, True)) == (first, str(first))


def test_a_path_added_again_replaces_its_program() -> None:
    """Two threads may have traced it at once."""
    paths: Paths[str] = Paths("f")
    paths.add(path(True), "one")
    paths.add(path(True), "other")
    assert paths.count == 1 and paths.recent == (path(True), "other")


def test_paths_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "max_paths", 2)
    paths: Paths[str] = Paths("f")
    for k in range(2):
        paths.add(path(k), str(k))
    with pytest.raises(TooManyPathsError, match=r"f has taken 2 different paths(.|\n)*np\.where"):
        paths.add(path(2), "2")
    assert paths.count == 2 and paths.recent == (path(1), "1")


def test_paths_that_the_iterations_of_a_loop_tell_apart_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "max_paths", 40)
    loop, branch = Source("f.py", 2, "f"), Source("f.py", 5, "f")
    paths: Paths[int] = Paths("f")
    for k in range(9):
        for last in (True, False):
            paths.add(path(*[True] * k, last), k, [loop] * (k + 1) + [branch] * (k % 3))
    assert not paths.is_full()
    paths.add(path(*[True] * 10), 9, [loop] * 10)
    assert paths.is_full()
    monkeypatch.setattr(config, "max_paths", 400)
    assert not paths.is_full()


def test_threads_add_and_look_at_once() -> None:
    paths: Paths[int] = Paths("f")
    start = threading.Barrier(8)

    def work(k: int) -> None:
        start.wait()
        for j in range(8):
            leaf = (path(k, j), 8 * k + j)
            paths.add(*leaf)
            paths.used(leaf)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert paths.count == 64
    for k in range(8):
        found = paths.after(path(k, 99), miss(0, k))
        assert found is not None and found[0][0] == Expected(k)


def test_a_call_walks_down_the_tree() -> None:
    """Three guards deep: a call that begins on the wrong path finds its own without a trace."""

    def f(x: Any) -> Any:
        total = x.sum() * 0
        for v in x:
            total = total + (v if v > 0 else 2 * v)
        return total

    compiled = wg.jit(f)
    signs = [np.array([(-1.0) ** (k >> j & 1) for j in range(3)]) * (k + 1) for k in range(8)]
    for _ in range(3):
        for x in signs:
            assert compiled(x) == f(x)
    stats = compiled.stats()
    assert stats["traces"] == stats["specialisations"] == 8
    assert stats["calls"] == 24 and stats["guard_misses"] >= 16

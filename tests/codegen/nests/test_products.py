"""Products of sizes that are given at run time: right at every edge, with the bits of those whose code has its sizes,
and few kernels for many of them."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest

from tests.codegen.nests.loops import TARGETS, Array, Guarded, Loops, at_the_edge, compiled, facts, numbers, product
from wengert.codegen.memory import size_of
from wengert.codegen.nests.emit import emit
from wengert.codegen.nests.facts import Facts
from wengert.codegen.nests.nest import Tiling
from wengert.codegen.nests.panels import MAX_PANEL
from wengert.codegen.nests.products import FEWEST, opened, tiling_of
from wengert.codegen.nests.tiles import LONGEST_PANEL, MOST
from wengert.codegen.target import Target, level

every_float = pytest.mark.parametrize("dtype", ["f8", "f4"])
every_target = pytest.mark.parametrize("where", TARGETS.values(), ids=TARGETS.keys())


def run(loops: Loops, tiling: Tiling, where: Target) -> None:
    nest, sizes = opened(loops.nest(True)[0], tiling)
    arrays = [*loops.loads, *[x for _, x in loops.post_stores]]
    pointers = (ctypes.c_void_p * len(arrays))(*[x.__array_interface__["data"][0] for x in arrays])
    assert compiled(nest, where)(pointers, (ctypes.c_int64 * len(sizes))(*sizes), 0, loops.extents[0]) == 0


def of(m: int, n: int, k: int, dtype: str, is_transposed: bool, at_end: bool = True) -> tuple[Array, Array]:
    x, y = at_the_edge(numbers((m, k), dtype), at_end), numbers((k, n), dtype, 1)
    return x, at_the_edge(y.T.copy(), at_end).T if is_transposed else at_the_edge(y, at_end)


@pytest.mark.sampled(3, "a tenth of a second each")
@every_target
@every_float
@pytest.mark.parametrize("is_transposed", [False, True])
def test_every_remainder_of_rows_and_lanes(is_transposed: bool, dtype: str, where: Any) -> None:
    """With as few as a tile of each has, and one vector of lanes: nothing beyond the edge is read or written."""
    width = where.lanes(size_of(dtype))
    tiling = Tiling(4, 3, (1,) if is_transposed else ())
    for m, n, at_end in itertools.product((4, 5, 7, 8, 11), range(width, 4 * width + 2), (True, False)):
        x, y = of(m, n, 6, dtype, is_transposed, at_end)
        goal = Guarded(np.empty((m, n), dtype))
        run(product(x, y, goal.array), tiling, where)
        np.testing.assert_array_equal(goal.array, x @ y)
        goal.check()


@every_float
def test_as_many_terms_as_a_panel_holds(dtype: str) -> None:
    where = TARGETS["32 bytes"]
    for k in (2, 3, 5, LONGEST_PANEL - 1, LONGEST_PANEL):
        x, y = of(5, 19, k, dtype, True)
        goal = Guarded(np.empty((5, 19), dtype))
        run(product(x, y, goal.array), Tiling(3, 2, (1,)), where)
        np.testing.assert_array_equal(goal.array, x @ y)
        goal.check()


@every_float
@pytest.mark.parametrize("is_transposed", [False, True])
def test_the_bits_are_those_of_a_product_of_known_size(is_transposed: bool, dtype: str) -> None:
    where, random = TARGETS["32 bytes"], np.random.default_rng(0)
    x, y = random.standard_normal((24, 40)).astype(dtype), random.standard_normal((40, 47)).astype(dtype)
    y = y.T.copy().T if is_transposed else y
    goal, want = np.empty((24, 47), dtype), np.empty((24, 47), dtype)
    loops = product(x, y, goal)
    tiling = tiling_of(Facts(loops.nest(True)[0], where))
    assert tiling is not None and bool(tiling.copied) == is_transposed
    run(loops, tiling, where)
    product(x, y, want).run(where)
    np.testing.assert_array_equal(goal, want)


def test_what_keeps_its_sizes() -> None:
    """Small products, and those with lanes that fill no vector, few rows, or much that is left over."""
    assert tiling_of(facts(40, 40, 40, "x86-64-v3")) is not None
    assert FEWEST > 20**3 and tiling_of(facts(20, 20, 20, "x86-64-v3")) is None
    assert tiling_of(facts(200, 3, 40, "x86-64-v3")) is None
    assert tiling_of(facts(2, 100, 100, "x86-64-v3")) is None
    assert tiling_of(facts(64, 64, 64, "x86-64-v2")) is None
    assert tiling_of(facts(128, 128, 128, "x86-64-v3")) is None  # threads share it


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
def test_many_sizes_have_few_kernels(name: str) -> None:
    kernels, count = set[Any](), 0
    for m, n, k in itertools.product((32, 64), range(20, 100, 3), range(20, 100, 7)):
        found = facts(m, n, k, name, "f4")
        tiling = tiling_of(found)
        if tiling is not None:
            kernels.add(opened(found.nest, tiling)[0])
            count += 1
    assert count > 400 and len(kernels) < count / 30, (count, len(kernels))
    assert all(level(name).lanes(4) * nest.tiling.vectors < 400 for nest in kernels)


def test_panels_are_no_longer_than_a_thread_has_stack() -> None:
    for vectors in range(1, MOST + 1):
        nest = opened(facts(40, 97, 50, "x86-64-v4").nest, Tiling(3, vectors, (1,)))[0]
        [room] = [line for line in emit(nest, "k", level("x86-64-v4")).splitlines() if "alloca" in line]
        assert 8 * int(room.split("i64 ")[1].split(",")[0]) <= 2 * MAX_PANEL

"""Tiles of products: every shape of what is left over, on every processor, with operands at the edge of what may be
read; results that lie in an operand; panels; and which tile is chosen."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.codegen.nests.loops import TARGETS, Array, Guarded, Loops, at_the_edge, facts, numbers, product
from wengert.codegen.nests.emit import emit
from wengert.codegen.nests.loops import parts
from wengert.codegen.nests.panels import MAX_PANEL, is_crowded, is_transposed
from wengert.codegen.nests.tiles import LATENCY, MOST, best_tile
from wengert.codegen.target import level

every_target = pytest.mark.parametrize("where", TARGETS.values(), ids=TARGETS.keys())
every_float = pytest.mark.parametrize("dtype", ["f8", "f4"])
EDGES = (1, 3, 4, 5, 8, 9, 15, 16, 17, 24, 31, 33, 50)


def guarded(x: Array) -> Guarded:
    out = Guarded(x)
    out.array[...] = x
    return out


@pytest.mark.sampled(13, "every remainder on every processor")
@every_target
@every_float
@pytest.mark.parametrize("n", EDGES)
def test_what_is_left_over_of_a_product(n: int, dtype: str, where: Any) -> None:
    for (m, k), at_end, is_column_major in zip(
        [(2, 7), (5, 17), (9, 2), (13, 5), (8, 16)],
        itertools.cycle((True, False)),
        itertools.cycle((False, False, True)),
    ):
        x, y = at_the_edge(numbers((m, k), dtype), at_end), numbers((k, n), dtype, 1)
        y = at_the_edge(y.T.copy(), at_end).T if is_column_major else at_the_edge(y, at_end)
        goal = Guarded(np.empty((m, n), dtype))
        product(x, y, goal.array).check(where)
        goal.check()


@pytest.mark.sampled(7, "every remainder on every processor")
@every_target
@every_float
@pytest.mark.parametrize("n", EDGES)
def test_a_result_may_lie_in_an_operand_of_what_follows(n: int, dtype: str, where: Any) -> None:
    """Lanes that are computed twice are stored once: what is read the second time is no longer the operand."""
    for m in (2, 7):
        x, y, z = numbers((m, 6), dtype), numbers((6, n), dtype, 1), guarded(numbers((m, n), dtype, 2))
        want = x @ y + z.array
        product(x, y, z.array, z.array).run(where)
        np.testing.assert_array_equal(z.array, want)
        z.check()


@every_target
@pytest.mark.parametrize("n", [5, 9, 13, 50])
def test_what_is_stored_on_the_way_may_lie_in_what_is_read(n: int, where: Any) -> None:
    """x = x * x at every point, and the sum of it along the middle axis."""
    x, total = guarded(numbers((3, 6, n), "f8")), Guarded(np.empty((3, n)))
    moved, room = x.array.transpose(0, 2, 1), total.array[:, :, None]
    Loops(
        moved.shape, 2, 1, [moved], [("multiply", (0, 0), "f8")], [(1, moved)], [("add", 1, "f8")], (), [(2, room)]
    ).check(where)
    x.check()
    total.check()


@every_target
@pytest.mark.parametrize("n", [13, 32])
def test_an_operand_that_lies_like_the_result_is_read_before_it_is_overwritten(n: int, where: Any) -> None:
    """y[i, j] = Σ x[i, k, j] · y[i, j]"""
    x, y = numbers((5, 4, n), "f8"), guarded(numbers((5, n), "f8", 1))
    room = y.array[:, :, None]
    steps, folds = [("multiply", (0, 1), "f8")], [("add", 2, "f8")]
    Loops((5, n, 4), 2, 1, [x.transpose(0, 2, 1), room], steps, (), folds, (), [(3, room)]).check(where)
    y.check()


# ------------------------------------------------------------------------------------------------------------ panels


def in_wide_rows(x: Array, bytes_apart: int) -> Array:
    """``x`` as the first columns of a matrix whose rows are so many bytes long."""
    wide = np.full((x.shape[0], bytes_apart // x.itemsize), 77, x.dtype)
    wide[:, : x.shape[1]] = x
    return wide[:, : x.shape[1]]


@pytest.mark.sampled(5, "a tenth of a second each")
@every_target
@every_float
@pytest.mark.parametrize(("n", "k"), [(9, 100), (32, 100), (50, 70), (50, 200), (97, 250)])
def test_operands_that_are_copied_first(n: int, k: int, dtype: str, where: Any) -> None:
    """All at once, or for the columns of each tile; transposed, or because they would push each other out of the
    cache. At the edge of what may be read."""
    x, y = numbers((17, k), dtype), numbers((k, n), dtype, 1)
    for copied in (at_the_edge(y.T.copy(), True).T, in_wide_rows(y, 1024)):
        goal = Guarded(np.empty((17, n), dtype))
        loops = product(x, copied, goal.array)
        loops.check(where)
        goal.check()
        is_copied = copied.strides[0] == copied.itemsize or n * y.itemsize > where.vector_bytes
        assert ("alloca" in emit(loops.nest(True)[0], "k", where)) == is_copied


def test_which_operands_are_copied() -> None:
    assert is_transposed(0, 100, 1) and not is_transposed(1, 100, 1) and not is_transposed(0, 1, 100)
    assert is_crowded(0, 1, 128, 64, 8) and is_crowded(0, 1, -128, 64, 8)
    assert not is_crowded(0, 1, 100, 100, 8)  # rows of 800 bytes
    assert not is_crowded(0, 1, 64, 64, 8)  # 32 KiB, which the first cache holds
    assert not is_crowded(1, 1, 128, 64, 8) and not is_crowded(0, 2, 128, 64, 8)


def test_panels_are_no_longer_than_a_thread_has_stack() -> None:
    for n, k in ((97, 250), (300, 256), (64, 128), (16, 256)):
        y = np.ones((n, k)).T
        text = emit(product(np.ones((40, k)), y, np.empty((40, n))).nest(True)[0], "k", level("x86-64-v4"))
        allocas = [line for line in text.splitlines() if "alloca" in line]
        assert sum([8 * int(line.split("i64 ")[1].split(",")[0]) for line in allocas]) <= 4 * MAX_PANEL


# ------------------------------------------------------------------------------------------------------------- shape


def test_parts_are_nearly_as_long_as_each_other() -> None:
    for n, most in itertools.product(range(1, 60), range(1, 13)):
        found = parts(n, most)
        assert sum([length * many for length, many in found]) == n
        lengths = [length for length, _ in found]
        assert max(lengths) <= most and max(lengths) - min(lengths) <= 1
        assert sum([many for _, many in found]) == -(-n // most)


@pytest.mark.parametrize("name", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_registers_hold_a_tile(name: str) -> None:
    """Its sums, what the fewer of rows and vectors read, and one of what the others do."""
    for m, n in itertools.product((2, 3, 4, 7, 16, 31, 100), (2, 8, 12, 16, 24, 33, 100)):
        found = facts(m, n, 16, name)
        rows, vectors = best_tile(found)
        assert 1 <= rows <= MOST and 1 <= vectors <= MOST
        assert rows * vectors + min(rows, vectors) + 1 <= found.registers


def test_tiles_keep_a_processor_busy() -> None:
    """With enough rows and columns a tile has on average nearly as many sums as are begun before the first is done."""
    for name, dtype in itertools.product(("x86-64-v3", "x86-64-v4"), ("f8", "f4")):
        for m, n in itertools.product((12, 16, 24, 32, 48, 64, 100), (48, 64, 100)):
            found = facts(m, n, 16, name, dtype)
            rows, vectors = best_tile(found)
            n_vectors = -(-n // found.width)
            sums = m * n_vectors / (-(-m // rows) * -(-n_vectors // vectors))
            assert sums > LATENCY - 2, (name, dtype, m, n)


def test_tiles_that_are_known_to_be_fast() -> None:
    assert best_tile(facts(100, 100, 100, "x86-64-v3", "f4")) == (4, 3)
    assert best_tile(facts(32, 32, 32, "x86-64-v3")) == (6, 2)
    assert best_tile(facts(64, 64, 64, "x86-64-v4")) in ((4, 4), (8, 2))
    assert best_tile(facts(2, 100, 100, "x86-64-v3"))[0] == 2

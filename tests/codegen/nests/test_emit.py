"""The generated loops against NumPy: every dtype, shapes with all kinds of remainders, strides, ways to reduce, and
processors; that nothing outside of an array is touched; that sums are as accurate as NumPy's; and that parts of a loop
make the same bits as the whole."""

from __future__ import annotations

import itertools
import math
import re
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.codegen import kernel
from tests.codegen.nests.loops import TARGETS, Array, Guarded, Loops, _alive, at_the_edge, strides_of
from wengert.codegen.nests import channels, facts, tiles
from wengert.codegen.nests.chunks import CHUNK
from wengert.codegen.nests.emit import emit
from wengert.codegen.nests.sums import grid_of
from wengert.codegen.target import Target, level, target

DTYPES = ("f8", "f4", "i8", "i4", "i2", "u1", "b1")
EXTENTS = (1, 2, 3, 7, 8, 9, 17, 100)
SHAPES = [
    (),
    *[(n,) for n in EXTENTS],
    (3, 7),
    (2, 17),
    (9, 1),
    (1, 8),
    (17, 9),
    (2, 3, 7),
    (3, 1, 17),
    (2, 9, 8),
    (1, 1, 1),
]
LAYOUTS = ("C", "F", "reversed", "gaps")
HOST = target()
every_target = pytest.mark.parametrize("where", TARGETS.values(), ids=TARGETS.keys())
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0, layout: str = "C") -> Array:
    """Small whole numbers, so that every order of adding them gives the same bits."""
    x = np.random.default_rng(seed).integers(0 if dtype in ("u1", "b1") else -4, 2 if dtype == "b1" else 5, shape)
    x = x.astype(np.dtype(dtype))
    goal = Guarded(x, layout).array
    goal[...] = x
    return goal


def expression(dtype: str) -> list[tuple[str, tuple[int, ...], str]]:
    """Of loads 0 and 1: two steps, numbers 2 and 3."""
    if dtype == "b1":
        return [("logical_and", (0, 1), "b1"), ("logical_not", (2,), "b1")]
    return [("multiply", (0, 1), dtype), ("subtract", (2, 0), dtype)]


def lanes_of(shape: tuple[int, ...]) -> int:
    return len(shape) - 1


# ------------------------------------------------------------------------------------------------------ elementwise


@pytest.mark.sampled(11, "every dtype on every processor")
@every_target
@every_dtype
@pytest.mark.parametrize("is_static", [True, False], ids=["static", "dynamic"])
def test_an_expression(dtype: str, is_static: bool, where: Any) -> None:
    for shape in SHAPES if not is_static or dtype == "f8" else SHAPES[1::4]:
        x, y = numbers(shape, dtype), numbers(shape, dtype, 1)
        goal = Guarded(x)
        Loops(shape, len(shape), lanes_of(shape), [x, y], expression(dtype), [(3, goal.array)]).check(where, is_static)
        goal.check()


@pytest.mark.parametrize("is_static", [True, False], ids=["static", "dynamic"])
def test_what_lies_backwards_is_read_and_written_in_order(is_static: bool) -> None:
    x, goal = numbers((100,), "f8", 0, "reversed"), numbers((100,), "f8", 1, "reversed")
    text = emit(Loops((100,), 1, 0, [x], [("negative", (0,), "f8")], [(1, goal)]).nest(is_static)[0], "k", HOST)
    assert "shufflevector" in text and "gather" not in text and "scatter" not in text


@pytest.mark.sampled(23, "every dtype on every processor")
@every_dtype
@pytest.mark.parametrize("is_static", [True, False], ids=["static", "dynamic"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_strides(dtype: str, is_static: bool, layout: str) -> None:
    """Operands and result in every order, reversed, with gaps; a value for each row, for each column, and for all."""
    for shape in [(7,), (17,), (3, 9), (2, 3, 17)]:
        x, y = numbers(shape, dtype, 0, layout), numbers(shape, dtype, 1)
        for a, b, result in [(x, y, "C"), (y, x, layout)]:
            goal = Guarded(x, result)
            loops = Loops(shape, len(shape), lanes_of(shape), [a, b], expression(dtype), [(3, goal.array)])
            loops.check(is_static=is_static)
            goal.check()
    shape = (5, 17)
    for narrow in [(1, 17), (5, 1), (1, 1)]:
        x, y = numbers(shape, dtype, 0, layout), numbers(narrow, dtype, 1)
        goal = Guarded(x)
        Loops(shape, 2, 1, [x, y], expression(dtype), [(3, goal.array)]).check(is_static=is_static)
        goal.check()


@pytest.mark.sampled(19, "every shape of remainder on every processor")
@every_target
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "b1"])
@pytest.mark.parametrize("shape", [(2, 3), (64, 64), (65, 33), (130, 70), (2, 67, 40), (3, 2, 300)])
def test_operands_that_lie_crosswise(shape: tuple[int, ...], dtype: str, where: Any) -> None:
    """x.T beside x: transposed in blocks, whole ones and what is left of them, at the edge of what may be read, and
    in parts."""
    transposed = (*shape[:-2], shape[-1], shape[-2])
    for at_end, step, dear in itertools.product((True, False), (1, 3), (True, False)):
        wide = at_the_edge(numbers((*transposed[:-2], step * transposed[-2], transposed[-1]), dtype, 1), at_end)
        x, y = np.swapaxes(wide[..., ::step, :], -1, -2), numbers(shape, dtype)
        steps = (
            expression(dtype) if not dear or dtype[0] != "f" else [("sin", (0,), dtype), ("multiply", (2, 1), dtype)]
        )
        for parts in (None, [(0, 1), (1, shape[0])]):
            goal = Guarded(np.empty(shape, dtype))
            loops = Loops(shape, len(shape), len(shape) - 1, [x, y], steps, [(3, goal.array)])
            loops.run(where, False, parts)
            np.testing.assert_allclose(goal.array, loops.expected()[0], rtol=1e-6)
            goal.check()
        assert "alloca" in emit(loops.nest(False)[0], "crosswise", where)


@every_target
def test_dtypes_that_are_mixed(where: Any) -> None:
    """A float32 and an int16 make a float64, a comparison chooses between them, and there are three results."""
    for n in EXTENTS:
        x, y = numbers((n,), "f4"), numbers((n,), "i2", 1)
        goals = [Guarded(np.empty(n, d)) for d in ("f8", "b1", "i8")]
        steps = [
            ("convert", (0,), "f8"),
            ("convert", (1,), "f8"),
            ("multiply", (2, 3), "f8"),
            ("less", (2, 3), "b1"),
            ("select", (5, 2, 3), "f8"),
            ("convert", (6,), "i8"),
        ]
        stores = [(4, goals[0].array), (5, goals[1].array), (7, goals[2].array)]
        for is_static in (True, False):
            Loops((n,), 1, 0, [x, y], steps, stores).check(where, is_static)
            for goal in goals:
                goal.check()


def test_a_literal_is_an_operand() -> None:
    x, goal = numbers((9,), "f8"), Guarded(np.empty(9))
    Loops((9,), 1, 0, [x], [("add", (0, 1), "f8")], [(2, goal.array)], literals=[np.float64(0.1)]).check()


def test_a_result_may_overwrite_its_operand() -> None:
    for n in (1, 7, 100):
        x, y = numbers((n,), "f8"), numbers((n,), "f8", 1)
        Loops((n,), 1, 0, [x, y], expression("f8"), [(3, x)]).check(is_static=False)


def chain(length: int) -> list[tuple[str, tuple[int, ...], str]]:
    """So many light steps on loads 0 and 1, each waiting for the one before."""
    functions = ("multiply", "subtract", "maximum", "add", "minimum", "negative")
    return [
        (name, (k + 1,) if name == "negative" else (k + 1, 0), "f8")
        for k, name in zip(range(length), itertools.cycle(functions), strict=False)
    ]


@pytest.mark.sampled(5, "long kernels on every processor")
@every_target
@pytest.mark.parametrize("is_static", [True, False], ids=["static", "dynamic"])
@pytest.mark.parametrize("length", [9, 31, 63])
def test_a_long_chain_of_light_steps(length: int, is_static: bool, where: Any) -> None:
    """Several vectors side by side: whole ones, what is left of them, in place, and under a sum."""
    for n in (1, 8, 31, 64, 65, 135) if is_static else range(1, 140, 3):
        rng = np.random.default_rng(n)
        x, y, goal = Guarded(rng.standard_normal(n)), Guarded(rng.standard_normal(n)), Guarded(np.empty(n))
        Loops((n,), 1, 0, [x.array, y.array], chain(length), [(length + 1, goal.array)]).check(where, is_static)
        Loops((n,), 1, 0, [x.array, y.array], chain(length), [(length + 1, x.array)]).check(where, is_static)
        whole, total = numbers((n,), "f8", n), np.empty(1)
        steps = [*chain(length), ("maximum", (length + 1, 0), "f8"), ("minimum", (length + 2, 0), "f8")]
        fold = [("add", length + 3, "f8")]
        post = [(length + 4, total)]
        Loops((n,), 0, 0, [whole, whole], steps, folds=fold, post_stores=post).check(where, is_static)
        for guarded in (x, y, goal):
            guarded.check()


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_what_is_read_later_is_asked_for(dtype: str) -> None:
    """Where an iteration of a long loop takes its time, and nowhere else: once for each line of the cache."""

    def count(steps: list[tuple[str, tuple[int, ...], str]], is_static: bool = False, stride: int = 1) -> int:
        x, y = np.ones(5000 * stride, dtype)[::stride], np.ones(5000, dtype)
        nest, _ = Loops((5000,), 1, 0, [x, x], steps, [(1 + len(steps), y)]).nest(is_static)
        return emit(nest, "k", level("x86-64-v3")).count("call void @llvm.prefetch")

    long = [(name, operands, dtype) for name, operands, _ in chain(20)]
    assert count(long) == 8  # of two operands eight vectors of 32 bytes, in lines of 64
    assert count([("exp", (0,), dtype)]) == 2  # of two operands one vector
    assert count([("sin", (0,), dtype)]) == 4  # of two operands four vectors of 32 bytes, in lines of 64
    assert [count(long[:8]), count(long, is_static=True), count(long, stride=2)] == [0, 0, 0]


def test_how_many_vectors_stand_side_by_side() -> None:
    """Twelve of a chain that keeps one value, fewer of one that keeps many, or has constants: what registers hold. Of a
    long one a fixed number."""

    def products(steps: list[tuple[str, tuple[int, ...], str]], where: Target, n_constants: int = 0) -> int:
        """Of the one step that is a product: in the loop, and in the one for what is left over, up to four at once."""
        x = np.zeros(1000)
        literals = [float(k) for k in range(n_constants)]
        value = 2 + n_constants + len(steps) - 1
        nest, _ = Loops((1000,), 1, 0, [x, x], steps, [(value, x)], literals=literals).nest(False)
        return emit(nest, "k", where).count(" fmul ")

    def adds(length: int) -> list[tuple[str, tuple[int, ...], str]]:
        return [("multiply", (1, 0), "f8"), *[("add", (k + 1, 0), "f8") for k in range(1, length)]]

    wide, narrow = level("x86-64-v4"), level("x86-64-v3")
    assert (products(adds(12), wide), products(adds(12), narrow)) == (12 + 4, 7 + 1)
    assert (products(adds(25), wide), products(adds(25), narrow)) == (6 + 4, 4 + 1)
    made = [("add", (k + 1, 0), "f8") for k in range(7)]
    read = [("add", (8 - k, 8 + k), "f8") for k in range(6)]
    many = [*made, *read, ("multiply", (14, 0), "f8")]
    assert (products(many, wide), products(many, narrow)) == (4 + 4, 2 + 1)
    with_constants = [("multiply", (0, 1), "f8"), *[("add", (9 + k, 2 + k % 8), "f8") for k in range(1, 12)]]
    assert (products(with_constants, wide, 8), products(with_constants, narrow, 8)) == (11 + 4, 3 + 1)


def test_scalar_code() -> None:
    """Without lanes: one element at a time."""
    x, goal = numbers((3, 5), "f8", 0, "F"), Guarded(np.empty((3, 5)))
    for is_static in (True, False):
        Loops((3, 5), 2, -1, [x, x], expression("f8"), [(3, goal.array)]).check(is_static=is_static)
        goal.check()


# ------------------------------------------------------------------------------------------------------- reductions


def combines_of(dtype: str) -> list[str]:
    return ["logical_or", "logical_and"] if dtype == "b1" else ["add", "multiply", "maximum", "minimum"]


def splits(ndim: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every choice of axes to keep and to reduce, at least one of these."""
    axes = range(ndim)
    chosen = [c for k in range(1, ndim + 1) for c in itertools.combinations(axes, k)]
    return [(tuple(k for k in axes if k not in reduced), reduced) for reduced in chosen]


def reduction(
    x: Array, kept: tuple[int, ...], reduced: tuple[int, ...], lanes: int, combine: str, dtype: str
) -> tuple[Loops, Guarded]:
    """The fold of 2-operand products (or of ``x``) along ``reduced``, then a step on what is left."""
    moved = x.transpose(*kept, *reduced)
    goal = Guarded(np.empty([moved.shape[k] for k in range(len(kept))], dtype))
    room = goal.array.reshape(goal.array.shape + (1,) * len(reduced))
    steps = [("logical_not", (0,), "b1")] if dtype == "b1" else [("add", (0, 0), dtype)]
    if combine == "multiply":
        steps = [("negative", (0,), dtype)]
    after = [("logical_not", (2,), "b1")] if dtype == "b1" else [("multiply", (2, 2), dtype)]
    return Loops(moved.shape, len(kept), lanes, [moved], steps, (), [(combine, 1, dtype)], after, [(3, room)]), goal


def signs(shape: tuple[int, ...], dtype: str, layout: str = "C") -> Array:
    """Of size 1 or 2 and mostly 1, so that a product stays exact."""
    rng = np.random.default_rng(3)
    x = rng.choice([1, 1, 1, 1, 1, 1, 2], shape) * (1 if dtype == "u1" else rng.choice([-1, 1], shape))
    goal = Guarded(x.astype(dtype), layout).array
    goal[...] = x
    return goal


@pytest.mark.sampled(39, "every dtype on every processor")
@every_target
@every_dtype
def test_every_reduction_along_every_axis(dtype: str, where: Any) -> None:
    """Lanes along the last kept dimension, or along the last of all; sizes in the code, or given at run time."""
    is_full = dtype == "f8" or (dtype == "b1" and where.vector_bytes == 32)
    for shape in [(9,), (100,), (3, 17), (17, 3), (2, 9, 8), (3, 2, 17)] if is_full else [(100,), (3, 17)]:
        for (kept, reduced), combine in itertools.product(splits(len(shape)), combines_of(dtype)):
            x = signs(shape, dtype) if combine == "multiply" else numbers(shape, dtype)
            choices = {len(shape) - 1} | ({len(kept) - 1} if kept else set())
            for lanes in choices:
                for is_static in (True, False) if len(shape) < 3 else (False,):
                    loops, goal = reduction(x, kept, reduced, lanes, combine, dtype)
                    loops.check(where, is_static)
                    goal.check()


@pytest.mark.sampled(11, "every dtype on every processor")
@pytest.mark.parametrize("n", EXTENTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_reductions_of_strided_operands(n: int, layout: str) -> None:
    for shape in [(n,), (3, n), (n, 9)]:
        x = numbers(shape, "f8", 0, layout)
        for kept, reduced in splits(len(shape)):
            for is_static in (True, False):
                loops, goal = reduction(x, kept, reduced, len(shape) - 1, "add", "f8")
                loops.check(is_static=is_static)
                goal.check()


@pytest.mark.parametrize("is_static", [True, False], ids=["static", "dynamic"])
def test_a_map_and_several_sums_in_one_pass(is_static: bool) -> None:
    """Stored at every point, folded twice, and one more result of both folds."""
    for shape in [(9,), (1000,), (3, 17), (17, 9), (2, 3, 17)]:
        for n_kept in range(len(shape)):
            x, y = numbers(shape, "f8"), numbers(shape, "f8", 1)
            whole = Guarded(np.empty(shape))
            kept = shape[:n_kept] + (1,) * (len(shape) - n_kept)
            left = [Guarded(np.empty(kept)) for _ in range(3)]
            loops = Loops(
                shape,
                n_kept,
                len(shape) - 1,
                [x, y],
                [("multiply", (0, 1), "f8"), ("maximum", (0, 2), "f8")],
                [(3, whole.array)],
                [("add", 2, "f8"), ("minimum", 3, "f8")],
                [("subtract", (4, 5), "f8")],
                [(4, left[0].array), (5, left[1].array), (6, left[2].array)],
            )
            loops.check(is_static=is_static)
            for goal in (whole, *left):
                goal.check()


@pytest.mark.sampled(2, "a tenth of a second each")
@pytest.mark.parametrize("combine", ["maximum", "minimum"])
@every_target
def test_extremes_of_special_numbers(combine: str, where: Any) -> None:
    """NaN wins, infinities count, and the masked lanes of a remainder add nothing."""
    for n in EXTENTS:
        for special in (np.nan, np.inf, -np.inf):
            for at in {0, n // 2, n - 1}:
                x = np.full(n, 3.0)
                x[at] = special
                goal = np.empty((1,))
                loops = Loops((n,), 0, 0, [x], (), (), [(combine, 0, "f8")], (), [(1, goal)])
                for is_static in (True, False):
                    loops.check(where, is_static)
    for n in EXTENTS:  # all of one sign: no lane that is not there gives the other
        for x in (np.full(n, -np.inf), np.full(n, np.inf)):
            Loops((n,), 0, 0, [x], (), (), [(combine, 0, "f8")], (), [(1, np.empty(1))]).check(where)


def test_the_sum_of_negative_zeros() -> None:
    """-0.0 + -0.0 is -0.0; the identity with which a sum begins does not show."""
    for n in EXTENTS:
        goal = np.empty(1)
        for is_static in (True, False):
            Loops((n,), 0, 0, [np.full(n, -0.0)], (), (), [("add", 0, "f8")], (), [(1, goal)]).run(is_static=is_static)
            assert math.copysign(1.0, goal[0]) == math.copysign(1.0, np.sum(np.full(n, -0.0), initial=-0.0))


@pytest.mark.parametrize(("dtype", "wide"), [("u1", "i8"), ("b1", "i8"), ("i2", "i8"), ("f4", "f8")])
def test_a_sum_in_a_wider_dtype(dtype: str, wide: str) -> None:
    x = np.full(1000, 100 if dtype != "b1" else 1).astype(dtype)
    goal = np.empty(1, wide)
    loops = Loops((1000,), 0, 0, [x], [("convert", (0,), wide)], (), [("add", 1, wide)], (), [(2, goal)])
    loops.run(is_static=False)
    assert goal[0] == (1000 if dtype == "b1" else 100_000)


# ----------------------------------------------------------------------------------------------------- what is read


@pytest.mark.sampled(15, "every dtype on every processor")
@pytest.mark.skipif(sys.platform == "win32", reason="mprotect")
@every_target
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "b1"])
def test_nothing_beyond_an_operand_is_read(dtype: str, where: Any) -> None:
    """The operand lies at the edge of what may be read: one byte more would end the process."""
    for n, at_end in itertools.product(EXTENTS, (True, False)):
        x = at_the_edge(numbers((n,), dtype), at_end)
        for layout in (x, x[::-1], x[::2]):
            goal = Guarded(layout)
            shape = layout.shape
            Loops(shape, 1, 0, [layout, layout], expression(dtype), [(3, goal.array)]).check(where, False)
            combine = "logical_or" if dtype == "b1" else "add"
            total = np.empty(1, dtype)
            Loops(shape, 0, 0, [layout], (), (), [(combine, 0, dtype)], (), [(1, total)]).check(where, False)
        y = at_the_edge(numbers((n, 3), dtype), at_end)
        loops, goal = reduction(y, (0,), (1,), 1, "logical_or" if dtype == "b1" else "add", dtype)
        loops.check(where, False)
        loops, goal = reduction(y, (1,), (0,), 0, "logical_or" if dtype == "b1" else "add", dtype)
        loops.check(where, False)
        goal.check()


@pytest.mark.sampled(15, "every shape of remainder on every processor")
@every_target
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1"])
@pytest.mark.parametrize("shape", [(3, 5), (200, 2), (1030, 3), (2, 70, 3), (520, 2, 3)])
def test_sums_of_many_lanes(shape: tuple[int, ...], dtype: str, where: Any) -> None:
    """Accumulators lie in memory: runs of them, two folds, what is stored on the way, and all of it in parts; the bits
    are those of registers."""
    lanes = 1 if shape[0] == 2 else 0
    n_kept = lanes + 1
    own = shape[:n_kept] + (1,) * (len(shape) - n_kept)
    x, y = numbers(shape, dtype), numbers(own, dtype, 1)
    order = sorted(range(len(shape)), key=lambda d: (d == lanes, -d))
    x = np.transpose(np.ascontiguousarray(np.transpose(x, order)), np.argsort(order))  # lanes side by side
    steps = [("maximum", (0, 1)), ("minimum", (2, 0)), ("subtract", (3, 1)), ("multiply", (4, 4)), ("add", (5, 0))]
    steps = [(name, operands, dtype) for name, operands in steps]
    folds = [("add", 6, dtype), ("maximum", 5, dtype)]
    for parts, is_wide in itertools.product((None, [(0, 1), (1, shape[0])]), (True, False)):
        goal, total = Guarded(np.empty_like(x)), Guarded(np.empty(own, dtype))
        stores, post_stores = [(6, goal.array)], [(9, total.array)]
        loops = Loops(shape, n_kept, lanes, [x, y], steps, stores, folds, [("add", (7, 8), dtype)], post_stores)
        loops = loops._replace(is_wide=is_wide)
        wanted = loops.expected()
        loops.run(where, is_static=False, parts=parts)
        np.testing.assert_array_equal(goal.array, wanted[0])
        np.testing.assert_array_equal(total.array, wanted[1])
        goal.check()
        total.check()
        assert ("alloca" in emit(loops.nest(False)[0], "sums", where)) == is_wide


@pytest.mark.sampled(15, "every shape of remainder on every processor")
@every_target
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1"])
@pytest.mark.parametrize(
    "shape", [(4, 8, 5), (7, 9, 4), (2, 17, 3), (5, 33, 18), (9, 100, 2), (6, 70, 256), (3, 130, 255)]
)
def test_operands_of_a_product_that_are_transposed(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int], dtype: str, where: Any
) -> None:
    """a @ b.T with lanes along the columns: whole squares and what is left of them, one panel and several, at the edge
    of what may be read."""
    m, n, k = shape
    a = numbers((m, 1, k), dtype)
    for at_end, step in itertools.product((True, False), (1, 2)):
        b = at_the_edge(numbers((1, step * n, k), dtype, 1), at_end)[:, ::step]
        goal = Guarded(np.empty((m, n, 1), dtype))
        steps = [("multiply", (0, 1), dtype)]
        fold, post = [("add", 2, dtype)], [("add", (3, 3), dtype)]
        product = Loops(shape, 2, 1, [a, b], steps, (), fold, post, [(4, goal.array)])
        product.check(where)
        goal.check()
        assert "alloca" in emit(product.nest(True)[0], "product", where)  # the panel
        monkeypatch.setattr(tiles, "MAX_TRANSPOSED", k - 1)  # a sum that is too long for one
        assert "alloca" not in emit(product.nest(True)[0], "product", where)
        monkeypatch.undo()


# --------------------------------------------------------------------------------------------------------- accuracy


def sum_of(x: Array, factor: Array | None = None) -> float:
    goal = np.empty(1, x.dtype)
    dtype = x.dtype.str[1:]
    loads = [x] if factor is None else [x, factor]
    steps = [] if factor is None else [("multiply", (0, 1), dtype)]
    loops = Loops(
        x.shape,
        0,
        0,
        loads,
        steps,
        (),
        [("add", len(loads) + len(steps) - 1, dtype)],
        (),
        [(len(loads) + len(steps), goal)],
    )
    loops.run(is_static=False)
    return float(goal[0])


DATA: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "uniform": lambda rng, n: rng.uniform(0, 1, n),
    "normal": lambda rng, n: rng.standard_normal(n),
    "a tenth": lambda rng, n: np.full(n, 0.1),
    "one large": lambda rng, n: np.where(np.arange(n) == n // 3, 1e8, rng.uniform(0, 1, n)),
    "of all sizes": lambda rng, n: 10.0 ** rng.uniform(-8, 8, n),
    "cancelling": lambda rng, n: np.sort(rng.standard_normal(n)) * 1e6 + rng.uniform(0, 1, n),
    "growing": lambda rng, n: np.arange(n, dtype=float) ** 2 * 1.1,
}


@pytest.mark.sampled(15, "long sums on every processor")
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("data", DATA)
def test_sums_are_as_accurate_as_those_of_numpy(data: str, dtype: str) -> None:
    """Root mean square errors over several draws, for lengths up to a million; and the bound of pairwise summation."""
    eps = float(np.finfo(dtype).eps)
    for n in (100, 1000, 10_000, 100_000, 1_000_000):
        ours, theirs = [], []
        for seed in range(20 if n < 1e5 else 4):
            x = DATA[data](np.random.default_rng(seed), n).astype(dtype)
            exact, size = math.fsum(x.tolist()), math.fsum(np.abs(x).tolist())
            ours.append(abs(sum_of(x) - exact) / (eps * size))
            theirs.append(abs(float(np.sum(x)) - exact) / (eps * size))
            assert ours[-1] <= 16 + math.log2(n)
        ours_rms, theirs_rms = (math.sqrt(sum(e * e for e in errors) / len(errors)) for errors in (ours, theirs))
        assert ours_rms <= 2 * theirs_rms + 1, (n, ours_rms, theirs_rms)


def test_a_sum_of_products_rounds_like_a_sum() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, y = rng.standard_normal(50_000), rng.standard_normal(50_000)
        exact = math.fsum([math.fsum([a * b]) for a, b in zip(x.tolist(), y.tolist(), strict=True)])
        size = float(np.sum(np.abs(x * y)))
        assert abs(sum_of(x, y) - exact) <= 4 * np.finfo(float).eps * size


# ------------------------------------------------------------------------------------------------------------ parts


def parts_of(n: int, grain: int) -> list[tuple[int, int]]:
    return [(k, min(n, k + grain)) for k in range(0, n, grain)]


@pytest.mark.sampled(11, "every way to reduce, in every way to cut")
@pytest.mark.parametrize("n", [1, 63, 64, 65, 200, 1000])
@pytest.mark.parametrize("grain", [64, 192])
@every_target
def test_parts_make_the_bits_of_the_whole(n: int, grain: int, where: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(n)
    whole, apart = np.empty(n), np.full(n, np.nan)
    for goal, parts in ((whole, None), (apart, parts_of(n, grain))):
        steps = [("exp", (0,), "f8"), ("tanh", (0,), "f8"), ("multiply", (1, 2), "f8")]
        Loops((n,), 1, 0, [x], steps, [(3, goal)]).run(where, False, parts)
    np.testing.assert_array_equal(whole, apart)
    for columns in (1, 3, 17, 1300):  # the last one longer than a chunk
        y = np.tile(rng.standard_normal(columns), (n, 1))  # so that equal rows have equal sums, too
        for lanes in (0, 1):  # along the rows, and across them
            whole, apart = np.empty((n, 1)), np.full((n, 1), np.nan)
            for goal, parts in ((whole, None), (apart, parts_of(n, grain))):
                Loops((n, columns), 1, lanes, [y], (), (), [("add", 0, "f8")], (), [(1, goal)]).run(where, False, parts)
            np.testing.assert_array_equal(whole, apart)
            np.testing.assert_array_equal(whole, whole[:1].repeat(n, 0))
    z = np.tile(rng.standard_normal((33, 33)), (n, 1, 1))
    whole = np.empty((n, 1, 1))
    Loops((n, 33, 33), 1, 2, [z], (), (), [("add", 0, "f8")], (), [(1, whole)]).run(where, False, parts_of(n, grain))
    np.testing.assert_array_equal(whole, whole[:1].repeat(n, 0))


def test_a_part_writes_nothing_of_the_others() -> None:
    n = 200
    x, goal = numbers((n,), "f8"), np.full(n, np.nan)
    Loops((n,), 1, 0, [x, x], expression("f8"), [(3, goal)]).run(is_static=False, parts=[(64, 128)])
    assert np.isnan(goal[:64]).all() and np.isnan(goal[128:]).all()
    assert not np.isnan(goal[64:128]).any()


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("shape", [(3,), (200,), (40, 3), (40, 33), (200, 40)])
@every_target
def test_a_dear_function_after_a_sum(shape: tuple[int, ...], where: Any) -> None:
    """Its kind of loop is not that of the sum."""
    x = np.random.default_rng(0).integers(-4, 5, shape).astype(float)  # sums are exact, in any order
    kept = (*shape[:-1], 1)
    for lanes in range(len(shape)):
        goal = np.empty(kept)
        doubled, sine = [("add", (0, 0), "f8")], [("sin", (2,), "f8")]
        loops = Loops(shape, len(shape) - 1, lanes, [x], doubled, (), [("add", 1, "f8")], sine, [(3, goal)])
        for is_static in (True, False):
            loops.run(where, is_static)
            np.testing.assert_allclose(goal, np.sin(2 * x.sum(-1, keepdims=True)), rtol=1e-14, atol=1e-15)


@pytest.mark.sampled(5, "the text of long kernels")
@pytest.mark.parametrize(("shape", "n_kept"), [((96,), 1), ((40, 16), 1), ((12, 12, 40), 1), ((3, 4, 5), 0)])
@pytest.mark.parametrize("length", [4, 90, 300])
@pytest.mark.parametrize("function", ["negative", "exp", "sin"])
def test_code_is_not_repeated_without_bound(function: str, length: int, shape: tuple[int, ...], n_kept: int) -> None:
    """Only short code is written several times: what takes long to compile stands once for whole vectors, once for the
    rest."""
    x = np.ones(shape)
    steps = [(function, (k,), "f8") for k in range(length)]
    for lanes in range(len(shape)):
        total = np.ones(shape[:n_kept] + (1,) * (len(shape) - n_kept))
        loops = Loops(shape, n_kept, lanes, [x], steps)
        if n_kept < len(shape):
            loops = loops._replace(folds=[("add", length, "f8")], post_stores=[(length + 1, total)])
        else:
            loops = loops._replace(stores=[(length, total)])
        lines, least = [
            emit(each.nest(True)[0], "k", target()).count("\n")
            for each in (loops, Loops((8,), 1, 0, [x.reshape(-1)[:8]], steps, [(length, np.ones(8))]))
        ]
        assert lines < 3 * least + 1500


def test_huge_angles_share_their_memory() -> None:
    """However many functions of angles a kernel has, its frame has room for one call of the routine behind them."""
    steps = [(function, (k,), "f8") for k, function in enumerate(("sin", "cos", "tan"))]
    steps += [("add", (3, 4), "f8"), ("add", (5, 6), "f8")]
    loops = Loops((100,), 1, 0, [np.ones(100)] * 3, steps, [(7, np.ones(100))])
    text = emit(loops.nest(True)[0], "k", target())
    assert text.count("alloca") == 1 and text.count("call void @wengert_reduce_huge") == 3


# -------------------------------------------------------------------------------------------- functions that are called


def calls_in(*functions: tuple[str, tuple[int, ...]], n: int = 100, is_static: bool = True) -> dict[str, int]:
    """The callees that a kernel of these functions of two arrays calls, and how often."""
    steps = [(function, operands, "f8") for function, operands in functions]
    loops = Loops((n,), 1, 0, [np.ones(n)] * 2, steps, [(k + 2, np.ones(n)) for k in range(len(steps))])
    text = emit(loops.nest(is_static)[0], "k", target())
    return Counter(re.findall(r"= call .* @wengert\.(\w+)\.", text))


def test_functions_are_called_where_there_are_many_or_one_waits_for_another() -> None:
    assert calls_in(("exp", (0,))) == {}
    assert calls_in(("exp", (0,)), ("log", (1,)), ("tanh", (0,))) == {}
    assert calls_in(("exp", (0,)), ("log", (1,)), ("tanh", (0,)), ("log", (0,))).keys() == {"exp", "log", "tanh"}
    assert calls_in(("exp", (0,)), ("log", (2,))).keys() == {"exp", "log"}
    assert calls_in(("multiply", (0, 1)), ("exp", (2,)), ("add", (0, 3)), ("log", (4,))).keys() == {"exp", "log"}


def test_a_long_one_is_called_in_a_loop_of_unknown_length() -> None:
    assert calls_in(("sin", (0,))) == {}
    assert calls_in(("sin", (0,)), is_static=False).keys() == {"sin"}
    assert calls_in(("exp", (0,)), is_static=False) == {}


def test_sine_and_cosine_of_one_operand_are_one_call() -> None:
    both = calls_in(("sin", (0,)), ("cos", (0,)), ("exp", (2,)))
    assert both.keys() == {"sin_cos", "exp"} and both["sin_cos"] == both["exp"]
    assert calls_in(("sin", (0,)), ("cos", (1,)), ("exp", (2,))).keys() == {"sin", "cos", "exp"}
    once_more = calls_in(("sin", (0,)), ("cos", (0,)), ("cos", (2,)))  # which needs no callee of its own
    assert once_more.keys() == {"sin_cos"}


def test_integers_and_what_is_short_are_not_called() -> None:
    assert calls_in(*[("sqrt", (k,)) for k in range(10)]) == {}
    n = 10
    steps = [("floor_divide", (k, 0), "i8") for k in range(n)]
    loops = Loops((n,), 1, 0, [np.ones(n, "i8")], steps, [(n, np.ones(n, "i8"))])
    assert "wengert." not in emit(loops.nest(True)[0], "k", target())


@pytest.mark.sampled(15, "every length is compiled twice")
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("n", [0, 1, 7, 64, 65, 1003])
def test_called_functions_give_the_bits_of_inlined_ones(n: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=(2, n)).astype(dtype) * 3
    steps = [("sin", (0,)), ("cos", (0,)), ("exp", (2,)), ("arctan2", (3, 1)), ("tanh", (4,)), ("add", (5, 6))]
    results = []
    for is_called in (True, False):
        monkeypatch.setattr(facts.Facts, "_is_better_called", lambda self, is_called=is_called: is_called)
        for where in TARGETS.values():
            out = np.zeros(n, dtype)
            typed = [(function, operands, dtype) for function, operands in steps]
            for is_static in (True, False):
                Loops((n,), 1, 0, [x, y], typed, [(7, out)]).run(where, is_static)
                results.append(out.copy())
        _alive.clear()
    half = len(results) // 2
    for called, inlined in zip(results[:half], results[half:], strict=True):
        np.testing.assert_array_equal(called.view(f"u{called.itemsize}"), inlined.view(f"u{called.itemsize}"))


# -------------------------------------------------------------------------------------------------------- one kernel


def test_one_kernel_serves_every_length() -> None:
    nests = {Loops((n,), 1, 0, [np.ones(n)] * 2, expression("f8"), [(3, np.ones(n))]).nest(False)[0] for n in (9, 99)}
    assert len(nests) == 1
    assert len({repr(nest) for nest in nests}) == 1


def test_the_harness_notices() -> None:
    """Strides and guards of the tests are what they say."""
    for layout in LAYOUTS:
        goal = Guarded(np.zeros((3, 5)), layout)
        goal.array[...] = 1.0
        goal.check()
        assert goal.array.strides == strides_of(np.zeros((3, 5)), layout)
    goal.bytes[3] ^= 1
    with pytest.raises(AssertionError):
        goal.check()
    x = numbers((9,), "f8")
    right = Loops((9,), 1, 0, [x, x], expression("f8"), [(3, np.empty(9))])
    right.check()
    wrong = right._replace(steps=[("multiply", (0, 1), "f8"), ("add", (2, 0), "f8")])
    assert np.any(wrong.expected()[0] != right.stores[0][1])


# ------------------------------------------------------------------------------------------------ convolutions


def small(*shape: int, dtype: str) -> Array:
    return numbers(shape, dtype, sum(shape))


def nest_forward(x: Array, w: Array) -> tuple[Loops, Guarded, Array]:
    """Of pictures [n, c, y, x] and weights [o, c, i, j], lanes along o; and what it gives."""
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    out = np.einsum("ncyxij,ocij->noyx", windows, w)
    goal = Guarded(out)
    loads = [windows.transpose(0, 2, 3, 1, 4, 5)[:, :, :, None], w[None, None, None]]
    extents = (len(x), *out.shape[2:], *w.shape)
    room = goal.array.transpose(0, 2, 3, 1)[..., None, None, None]
    dtype = x.dtype.str[1:]
    steps, folds = [("multiply", (0, 1), dtype)], [("add", 2, dtype)]
    return Loops(extents, 4, 3, loads, steps, (), folds, (), [(3, room)]), goal, out


def nest_of_weights(x: Array, w: Array) -> tuple[Loops, Guarded, Array]:
    """Of the cotangent in the weights, by the taps of the windows."""
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    ct = small(len(x), len(w), *windows.shape[2:4], dtype=x.dtype.str[1:])
    out = np.einsum("ncyxij,noyx->ocij", windows, ct)
    goal = Guarded(out)
    loads = [ct.transpose(1, 0, 2, 3)[None, None, None], windows.transpose(1, 4, 5, 0, 2, 3)[:, :, :, None]]
    extents = (*w.shape[1:], len(w), len(x), *windows.shape[2:4])
    room = goal.array.transpose(1, 2, 3, 0)[..., None, None, None]
    dtype = x.dtype.str[1:]
    steps, folds = [("multiply", (0, 1), dtype)], [("add", 2, dtype)]
    return Loops(extents, 4, 3, loads, steps, (), folds, (), [(3, room)]), goal, out


@pytest.mark.sampled(3, "a tenth of a second each")
@every_target
@pytest.mark.parametrize(
    ("make", "of_x", "of_w"),
    [
        (nest_forward, (2, 3, 7, 9), (17, 3, 3, 2)),
        (nest_forward, (1, 2, 4, 20), (24, 2, 1, 3)),
        (nest_of_weights, (12, 3, 11, 12), (17, 3, 3, 3)),  # a panel holds less than all pictures
        (nest_of_weights, (9, 2, 17, 13), (16, 2, 8, 2)),
    ],
)
def test_lanes_along_channels(make: Any, of_x: Any, of_w: Any, where: Any) -> None:
    """The operand that depends on the channels is copied, and read from its copy."""
    x, w = small(*of_x, dtype="f8"), small(*of_w, dtype="f8")
    loops, goal, want = make(x, w)
    found = facts.Facts(loops.nest(True)[0], where)
    is_forward = make is nest_forward
    assert (channels.channels_of(found) is not None) == (is_forward and where.has_fma)
    assert (channels.taps_of(found) is not None) == (not is_forward and where.has_fma)
    loops.run(where)
    np.testing.assert_array_equal(goal.array, want)
    goal.check()


def test_taps_of_more_channels_than_have_room_at_once() -> None:
    where = TARGETS["32 bytes"]
    count = channels.TOTAL_BYTES // (2 * where.vector_bytes * 16) + 1
    loops, goal, want = nest_of_weights(small(18, count, 11, 11, dtype="f8"), small(8, count, 4, 4, dtype="f8"))
    loops.run(where)
    np.testing.assert_array_equal(goal.array, want)
    goal.check()


# ------------------------------------------------------------------------------------- what is in a text, and where


def text_of(loops: Loops, is_static: bool = False) -> str:
    return emit(loops.nest(is_static)[0], "k", kernel.target(32))


def test_sums_longer_than_a_chunk_are_added_in_pairs() -> None:
    longest = CHUNK * kernel.target(32).lanes(8)
    for n in (longest, longest + 1, 8 * longest):
        loops = Loops((n,), 0, 0, [np.ones(n)], (), (), [("add", 0, "f8")], (), [(1, np.empty(1))])
        assert ("llvm.cttz" in text_of(loops, True)) == (n > longest)
        assert "llvm.cttz" in text_of(loops)


def test_what_is_the_same_for_all_lanes_is_read_before_them() -> None:
    """Of a wide sum: stores to its accumulators stand between the reads, so that LLVM does not move them."""
    x, w, total = np.ones((300, 200)), np.ones(300), np.empty(200)
    steps, folds = [("multiply", (0, 1), "f8")], [("add", 2, "f8")]
    loops = Loops((200, 300), 1, 0, [x.T, w[None]], steps, (), folds, (), [(3, total[:, None])], is_wide=True)
    assert len(re.findall(r"load double,", text_of(loops))) == 1


def test_the_sine_and_the_cosine_of_one_angle_count_as_one_function() -> None:
    """More than a few functions are called; so many are not."""
    x, y = np.ones(9), np.empty(9)

    def is_called(*names: str) -> bool:
        steps: list[tuple[str, tuple[int, ...], str]] = [(name, (0,), "f8") for name in names]
        steps += [("add", (k + 1, 1 if k == 1 else len(names) + k - 1), "f8") for k in range(1, len(names))]
        return "@wengert." in text_of(Loops((9,), 1, 0, [x], steps, [(len(steps), y)]), True)

    few = ("tanh", "arctan", "erf")[: facts.MAX_INLINED - 1]
    assert not is_called("sin", "cos", *few) and not is_called("sin", "exp", *few[:1])
    assert is_called("sin", "exp", *few) and is_called("sin", "cos", "exp", *few)


def test_which_nests_threads_share() -> None:
    """Those whose outermost extent is kept, and is not in their code."""
    x = np.ones((4, 5))
    kept = Loops((4, 5), 2, 1, [x], [("negative", (0,), "f8")], [(1, np.empty((4, 5)))])
    summed = Loops((4, 5), 0, 1, [x], (), (), [("add", 0, "f8")], (), [(1, np.empty((1, 1)))])
    assert [loops.nest(is_static)[0].is_splittable for loops in (kept, summed) for is_static in (True, False)] == [
        False,
        True,
        False,
        False,
    ]


def test_how_many_rows_and_columns_of_sums_registers_hold() -> None:
    """Columns are the last dimensions that one factor has, as many as there is room for; rows those of the other."""

    def grid(kept: tuple[int, ...], own: int, name: str) -> Any:
        """The sums along the lanes of x[rows, lanes] · y[the others, lanes]."""
        ones = (1,) * (len(kept) - own)
        x, y = np.ones((*kept[:own], *ones, 40)), np.ones((*(1,) * own, *kept[own:], 40))
        goal, steps = np.empty((*kept, 1)), [("multiply", (0, 1), "f8")]
        folds = [("add", 2, "f8")]
        loops = Loops((*kept, 40), len(kept), len(kept), [x, y], steps, (), folds, (), [(3, goal)])
        return grid_of(facts.Facts(loops.nest(True)[0], level(name)))

    wide, narrow = "x86-64-v4", "x86-64-v3"
    assert grid((5, 3, 3, 2), 1, wide) == (0, 30 // 7, 2) and grid((5, 3, 3, 2), 1, narrow) == (0, 14 // 7, 2)
    assert grid((5, 4, 3), 1, wide) == (0, 30 // 13, 1) and grid((5, 4, 3), 1, narrow) == (0, 14 // 13, 1)
    assert grid((5, 5, 3), 1, wide) == (0, 30 // 4, 2)
    assert grid((7, 5, 2), 2, wide) == (1, 30 // 3, 2)
    assert grid((5, 13), 1, wide) is None and grid((5, 1), 1, wide) is None

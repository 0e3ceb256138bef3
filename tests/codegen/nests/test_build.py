"""What nest a step becomes: its dimensions, its lanes, what is in its code; and long reductions, cut into pieces that
threads share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.codegen.threads import same_bits
from wengert.codegen.calls import KernelCall
from wengert.codegen.lower import lower
from wengert.codegen.nests.build import FEWEST_PLACES, FEWEST_TERMS, SHARED, STATIC_POINTS, WIDE
from wengert.codegen.nests.channels import FEWEST_AT_ONCE, MOST_TAPS, MOST_TERMS, PART
from wengert.codegen.nests.nest import Nest
from wengert.codegen.target import target
from wengert.passes.plan.instructions import MIN_PIECES, PIECE

LONG = MIN_PIECES * PIECE


def long(n: int = LONG + 4321, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(0).random(n).astype(dtype)


@pytest.mark.parametrize("n", [LONG - 1, LONG, LONG + 1, LONG + PIECE - 1, 1_000_003])
def test_sums_are_exact_to_a_few_bits(n: int) -> None:
    x = long(n)
    assert abs(same_bits(np.sum, x) - math.fsum(x)) <= 4 * np.spacing(math.fsum(x))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8])
def test_dtypes(dtype: Any) -> None:
    x = (100 * long(dtype=np.float64)).astype(dtype)
    assert np.allclose(
        same_bits(lambda x: (np.sum(x), np.max(x), np.any(x > 99)), x), (x.sum(), x.max(), np.any(x > 99))
    )


def test_all_that_is_fused_with_it() -> None:
    """Several folds, a map that is stored, scalars before and after, and an operand that both parts read."""
    x = long()

    def f(x: Any, c: Any) -> Any:
        y = np.exp(x) * c
        return y, np.sum(y) * c + x[0], np.sqrt(np.max(y) + np.sum(x * x))

    for got, want in zip(same_bits(f, x, 1.5), f(x, 1.5), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)
    assert len(wg.jit(lambda x: np.sqrt(np.sum(np.exp(x)))).program(x).kernels) == 1


@pytest.mark.parametrize(
    ("shape", "view"),
    [
        ((600, 1100), lambda x: x[:, ::2]),
        ((600, 1100), lambda x: x.T),
        ((600, 1100), lambda x: x[::-1, 3:]),
        ((3, 300_000), lambda x: x[:, 1:]),
    ],
)
def test_arrays_that_are_not_one_run_of_memory(shape: tuple[int, int], view: Any) -> None:
    x = np.random.default_rng(1).random(shape)
    np.testing.assert_allclose(same_bits(lambda x: np.sum(np.sin(view(x))), x), np.sum(np.sin(view(x))), rtol=1e-13)


def test_gradient() -> None:
    x = long()
    value, gradient = same_bits(wg.value_and_grad(lambda x: np.log(np.sum(np.exp(x)))), x)
    np.testing.assert_allclose(value, np.log(np.sum(np.exp(x))), rtol=1e-14)
    np.testing.assert_allclose(gradient, np.exp(x) / np.sum(np.exp(x)), rtol=1e-13)


def test_only_what_is_long_needs_room() -> None:
    assert wg.jit(np.sum).program(long(LONG - 1)).arena_bytes == 0
    assert 0 < wg.jit(np.sum).program(long(LONG)).arena_bytes <= 64
    assert wg.jit(lambda x: np.sum(x, axis=1)).program(long(LONG).reshape(4, -1)).arena_bytes == 0


# ------------------------------------------------------------------------------------------------- what nest it is


WIDTH = target().lanes(8)
needs_fma = pytest.mark.skipif(not target().has_fma, reason="sums of products are written another way")
needs_wide = pytest.mark.skipif(WIDTH < 8, reason="of shorter vectors a tile and a block hold other numbers of them")
needs_four = pytest.mark.skipif(WIDTH < 4, reason="with two numbers in a vector such a product is no nest, but BLAS's")


def ones(*shape: int, dtype: str = "f8") -> Any:
    return np.ones(shape, dtype)


def nests(f: Callable[..., Any], *args: Any) -> list[tuple[KernelCall, Nest]]:
    calls = [lower(step, target()) for step in wg.jit(f).program(*args).plan.steps]
    return [(c, c.kernel) for c in calls if isinstance(c, KernelCall) and isinstance(c.kernel, Nest)]


def strides_of(nest: Nest) -> tuple[Any, Any]:
    return [x.strides for x in nest.loads], [x.strides for x in (*nest.stores, *nest.post_stores)]


@pytest.mark.parametrize(
    ("f", "xs", "extents", "n_kept", "lanes", "loads", "stores"),
    [
        (lambda x: np.sin(x), (ones(5, 7),), (35,), 1, 0, [(1,)], [(1,)]),
        (lambda x: np.sin(x[:, ::2]), (ones(5, 7),), (5, 4), 2, 1, [(7, 2)], [(4, 1)]),
        (lambda x: np.sin(x[:, ::2]), (ones(5, 8),), (20,), 1, 0, [(2,)], [(1,)]),
        (lambda x: x[:, ::-1] + 1, (ones(5, 7),), (5, 7), 2, 1, [(7, -1)], [(7, 1)]),
        (lambda x: x[:, None] * np.ones((5, 1, 7)), (ones(5, 7),), (35,), 1, 0, [(1,), (1,)], [(1,)]),
        (lambda x: x[:, None] * ones(5, 7), (ones(5),), (5, 7), 2, 1, [(1, 0), (7, 1)], [(7, 1)]),
        (lambda x, y: x + y.T, (ones(5, 7), ones(7, 5)), (5, 7), 2, 1, [(7, 1), (1, 5)], [(7, 1)]),
        (lambda x, y: x.T + y.T, (ones(7, 5), ones(7, 5)), (7, 5), 2, 1, [(5, 1), (5, 1)], [(1, 7)]),
        (lambda x: np.sum(np.sin(x), axis=1), (ones(5, 9),), (5, 9), 1, 1, [(9, 1)], [(1, 0)]),
        (lambda x: np.sum(np.sin(x), axis=0), (ones(5, 9),), (9, 5), 1, 0, [(1, 9)], [(1, 0)]),
        (lambda x: np.sum(np.sin(x), axis=(1, 2)), (ones(5, 3, 9),), (5, 27), 1, 1, [(27, 1)], [(1, 0)]),
        (lambda x: np.sum(np.sin(x), axis=(0, 2)), (ones(4, 3, 9),), (3, 4, 9), 1, 2, [(9, 27, 1)], [(1, 0, 0)]),
        (lambda x, y: np.sum(x * y.T, axis=0), (ones(5, 7), ones(7, 5)), (7, 5), 1, 0, [(1, 7), (5, 1)], [(1, 0)]),
        (lambda x: np.sum(np.sin(x), axis=1) + 1, (ones(5, 1),), (5,), 1, 0, [(1,)], [(1,)]),
        pytest.param(
            *(lambda x, y: x @ y, (ones(64, 40), ones(40, 50)), (64, 50, 40), 2, 1),
            *([(40, 0, 1), (0, 1, 50)], [(50, 1, 0)]),
            marks=needs_wide,
        ),
        (lambda x, y: x.T @ y, (ones(4, 6), ones(4, 5)), (6, 5, 4), 2, 1, [(1, 0, 6), (0, 1, 5)], [(5, 1, 0)]),
        pytest.param(
            *(lambda x, y: x @ y.T, (ones(8, 40), ones(9, 40)), (8, 9, 40), 2, 1),
            *([(40, 0, 1), (0, 40, 1)], [(9, 1, 0)]),
            marks=needs_four,
        ),
        (lambda x: np.arange(3)[:, None] * x, (ones(1, 4),), (3, 4), 2, 1, [(1, 0), (0, 1)], [(4, 1)]),
    ],
)  # fmt: skip
def test_dimensions_lanes_and_strides(
    f: Any, xs: Any, extents: Any, n_kept: int, lanes: int, loads: Any, stores: Any
) -> None:
    """Dimensions of length 1 are gone, those that lie one within the other are one, lanes lie side by side, and a
    column is transposed where enough of a product reads it."""
    (_, nest), *_ = nests(f, *xs)
    assert (nest.extents, nest.n_kept, nest.lanes) == (extents, n_kept, lanes)
    assert strides_of(nest) == (loads, stores)
    np.testing.assert_allclose(wg.jit(f)(*xs), f(*xs))


def test_short_nests_have_their_sizes_in_their_code() -> None:
    for n in (STATIC_POINTS, STATIC_POINTS + 1):
        for f, x in ((np.sin, ones(n)), (lambda x: np.sum(np.sin(x), axis=1), ones(1, n))):
            ((call, nest),) = nests(f, x)
            is_long = n > STATIC_POINTS
            assert nest.extents == ((None,) if is_long else (n,)) and call.sizes == ((n,) if is_long else ())
    ((call, nest),) = nests(lambda x: np.sum(np.sin(x), axis=(0, 2)), ones(40, 50, 60))
    assert nest.extents == (None, None, None) and strides_of(nest) == ([(None, None, 1)], [(1, 0, 0)])
    assert call.sizes == (50, 40, 60, 60, 3000) and call.extent == 50


def test_long_sums_across_memory_are_wide() -> None:
    for n in (WIDE - 1, WIDE):
        ((_, nest),) = nests(lambda x: np.sum(np.sin(x), axis=0), ones(50, n))
        assert nest.lanes == 0 and nest.is_wide == (n >= WIDE)
    ((_, nest),) = nests(lambda x: np.sum(np.sin(x), axis=1), ones(50, WIDE))
    assert nest.lanes == 1 and not nest.is_wide


@needs_wide
def test_a_batch_of_products_and_a_large_one_are_shared_by_threads() -> None:
    """One kernel for any number of products, or of rows; parts of so much work, rows in whole blocks."""
    ((call, nest),) = nests(np.matmul, ones(30, 64, 40), ones(30, 40, 50))
    assert nest.extents == (None, 64, 50, 40) and call.sizes == (30,) and call.extent == 30
    assert call.grain == math.ceil(SHARED / (64 * 40 * 50))
    ((call, nest),) = nests(np.matmul, ones(150, 128), ones(128, 128))
    assert nest.extents == (None, 128, 128) and call.sizes == (150,) and call.grain == 64
    ((call, nest),) = nests(np.matmul, ones(1200, 40), ones(40, 40))
    assert nest.extents[0] is None and call.grain == 64 * math.ceil(math.ceil(SHARED / 1600) / 64)
    ((call, nest),) = nests(np.matmul, ones(5, 64, 40), ones(5, 40, 50))
    assert nest.extents == (5, 64, 50, 40) and call.sizes == () and call.grain == 0


@needs_wide
def test_a_product_of_some_size_is_opened() -> None:
    """Its code is for any size; it runs whole."""
    x, y = np.arange(2000.0).reshape(40, 50) % 7, np.arange(4850.0).reshape(50, 97) % 5
    ((call, nest),) = nests(np.matmul, x, y)
    assert nest.tiling is not None and call.extent == 40 and call.grain == 0 and call.sizes
    np.testing.assert_array_equal(wg.jit(np.matmul)(x, y), x @ y)


def test_what_follows_a_small_product_is_done_once_for_each_of_its_elements() -> None:
    """With operands of the shape of the result, of a row, and of a column, computed there or given."""
    rng = np.random.default_rng(0)
    x, y = rng.random((5, 6)), rng.random((6, 7))
    for b in (rng.random((5, 7)), rng.random(7), rng.random((5, 1))):
        for f in (
            lambda x, y, b: x @ y + b,
            lambda x, y, b: np.tanh(x @ y + b * 2),
            lambda x, y, b: (x @ y) * np.sin(b) + np.exp(b),
            lambda x, y, b: b * b - x @ y,
            lambda x, y, b: np.sum(x[:, :, None] * y[None], axis=1) * b + np.sin(b),
            lambda x, y, b: np.sum(x[:, :, None] * y[None], axis=1) - (b + np.ones((5, 7))) * 3,
        ):
            np.testing.assert_allclose(wg.jit(f)(x, y, b), f(x, y, b), rtol=1e-13)


@pytest.mark.parametrize("shape", [(LONG + PIECE // 2,), (3, LONG // 3 + 5), (70_000, 5), (5, 70_000)])
def test_pieces_are_of_the_outermost_dimension(shape: Any) -> None:
    x = long(math.prod(shape) * 2).reshape(*shape[:-1], -1)[..., : shape[-1]]
    ((call, nest),) = nests(lambda x: np.sum(np.sin(x[..., : shape[-1]])), np.repeat(x, 2, axis=-1))
    outer, inner = shape[0], math.prod(shape[1:])
    piece = math.ceil(PIECE / inner)
    count = math.ceil(outer / piece)
    if count < MIN_PIECES:
        assert not nest.has_pieces and call.then is None
        return
    assert nest.has_pieces and nest.n_kept == 1 and call.extent == count and call.sizes[: len(shape) + 2] == (
        (count, *shape, piece)
    )  # fmt: skip
    assert call.grain == 1 and call.then is not None and call.then.extent == count


def test_a_function_of_numbers_is_steps_of_the_nest_it_is_used_in() -> None:
    """Of its operand, of a number, and of what both make."""
    x = np.arange(9.0)
    for scalar in (lambda a: a * a + 3.0, lambda a: 3.0, lambda a: a, lambda a: (a + 1) * (a - 2) + a):
        for f in (
            lambda x, s=scalar: wg.broadcast(s, x),
            lambda x, s=scalar: np.sum(wg.broadcast(s, x * 2) * x),
            lambda x, s=scalar: wg.broadcast(s, np.sum(x)) + 1,
        ):
            np.testing.assert_allclose(wg.jit(f)(x), f(x), rtol=1e-13)
            assert len(nests(f, x)) == 1


# -------------------------------------------------------------------------------------------------- convolutions


def convolve(x: Any, w: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    return np.einsum("ncyxij,ocij->noyx", windows, w)


def by_places(x: Any, w: Any) -> Any:
    height, width = [n - m + 1 for n, m in zip(x.shape[2:], w.shape[2:], strict=True)]
    terms = [
        np.einsum("ncyx,oc->noyx", x[:, :, i : i + height, j : j + width], w[:, :, i, j])
        for i, j in np.ndindex(*w.shape[2:])
    ]
    return np.sum(terms, axis=0)


def pictures(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def lanes_of_convolution(f: Any, x: Any, w: Any) -> str:
    ((_, nest),) = nests(f, x, w)
    return "channels" if nest.loads[1].strides[nest.lanes] != 0 else "places"


ANY_LINES = "channels" if WIDTH > 2 else "places"  # vectors of two are filled by lines of any length
LONG_LINES = (
    "channels" if WIDTH > 4 else "places"
)  # shorter vectors are filled by lines of 4, and nearly by those of 33


@needs_fma
@pytest.mark.parametrize(
    ("of_x", "of_w", "lanes"),
    [
        ((16, 4, 12, 12), (32, 4, 3, 3), ANY_LINES),
        ((16, 4, 12, 12), (WIDTH - 1, 4, 3, 3), "places"),
        ((16, 4, 12, 12), (WIDTH, 4, 3, 3), ANY_LINES),
        ((16, FEWEST_TERMS // 6, 12, 12), (32, FEWEST_TERMS // 6, 2, 3), ANY_LINES),
        pytest.param(
            *((16, FEWEST_TERMS - 1, 10, 10), (32, FEWEST_TERMS - 1, 1, 1), "places"), marks=needs_four
        ),  # a product
        ((FEWEST_PLACES // 16, 8, 6, 7), (32, 8, 3, 4), LONG_LINES),  # 4 · 4 places of each picture
        ((FEWEST_PLACES // 16 - 1, 8, 6, 7), (32, 8, 3, 4), "places"),
        ((2, 8, 34, 34), (32, 8, 3, 3), "places"),  # lines of 32 places fill vectors as well
        ((2, 8, 34, 35), (32, 8, 3, 3), LONG_LINES),  # of 33 they do not
        ((2, 115, 19, 20), (32, 115, 3, 3), "places"),  # more terms than a panel holds
    ],
)  # fmt: skip
def test_whether_the_lanes_of_a_convolution_are_channels(of_x: Any, of_w: Any, lanes: str) -> None:
    assert MOST_TERMS < 115 * 9
    x, w = pictures(*of_x), pictures(*of_w)
    assert lanes_of_convolution(convolve, x, w) == lanes
    np.testing.assert_allclose(wg.jit(convolve)(x, w), by_places(x, w), rtol=1e-9, atol=1e-9)


@needs_fma
@pytest.mark.parametrize(
    ("of_x", "of_w", "is_by_taps"),
    [
        ((16, 4, 12, 12), (32, 4, 3, 3), True),
        ((80, 4, 12, 12), (32, 4, 9, 9), False),  # more taps than MOST_TAPS
        ((16, 1, 12, 12), (32, 1, 3, 3), False),  # fewer sums at once than FEWEST_AT_ONCE
        ((16, 4, 12, 12), (32, 4, 1, 3), True),
        ((16, 3, 12, 12), (32, 3, 1, 3), False),
        ((10, 4, 12, 12), (32, 4, 3, 3), False),  # 1000 places: no more than MOST_TERMS
    ],
)
def test_whether_the_lanes_of_a_cotangent_are_channels(of_x: Any, of_w: Any, is_by_taps: bool) -> None:
    assert MOST_TAPS < 81 and 9 < FEWEST_AT_ONCE <= 12 and MOST_TERMS >= 1000
    x, w = pictures(*of_x), pictures(*of_w)
    ct = pictures(*by_places(x, w).shape)
    pull = lambda x, ct: wg.vjp(lambda w: convolve(x, w), w)[1](ct)[0]
    ((call, nest),) = nests(pull, x, ct)
    read_for_a_channel = [load.strides[nest.lanes] == ct[0, 0].size for load in nest.loads]
    assert any(read_for_a_channel) == is_by_taps
    if nest.extents[0] is None:
        assert call.grain >= (PART if is_by_taps else 1)
    np.testing.assert_allclose(
        wg.jit(pull)(x, ct), by_places(x.swapaxes(0, 1), ct.swapaxes(0, 1)).swapaxes(0, 1), rtol=1e-9, atol=1e-9
    )


def test_rows_that_read_the_same_lie_next_to_the_lanes() -> None:
    """Channels, if there are enough of them for a tile, and not lines of the picture."""
    for channels, extents in ((6, (8, 18, 6, 32)), (3, (8, 3, 18, 32))):
        x, w = pictures(8, 4, 20, 34), pictures(channels, 4, 3, 3)
        ((_, nest),) = nests(convolve, x, w)
        assert nest.extents[:4] == extents and nest.lanes == 3
        np.testing.assert_allclose(wg.jit(convolve)(x, w), by_places(x, w), rtol=1e-9, atol=1e-9)

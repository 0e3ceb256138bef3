"""Products that BLAS computes in parts, which threads share."""

import itertools
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.codegen.kernel import tiled_as_with_vectors_of
from tests.codegen.threads import same_bits
from wengert import config
from wengert.codegen import contract
from wengert.codegen.calls import KernelCall
from wengert.codegen.contract import TILE, block
from wengert.codegen.nests.build import nest_call
from wengert.codegen.nests.nest import Nest
from wengert.codegen.target import LEVELS, lacking, target


@pytest.mark.parametrize("itemsize", [4, 8])
@pytest.mark.parametrize("m", [1, 300, 384, 768, 1000, 2001, 50_000])
def test_blocks_cover_a_product_in_an_even_number(m: int, itemsize: int) -> None:
    rows, columns = block(m, 1000, 100, 1, itemsize)
    assert columns == 1000 or rows == m
    for n, part in ((m, rows), (1000, columns)):
        if part != n:
            assert part % TILE == 0 and -(-n // part) % 2 == 0


@pytest.mark.parametrize("itemsize", [4, 8])
@pytest.mark.parametrize("batch", [1, 50])
@pytest.mark.parametrize(("m", "n", "k"), [(6000, 6000, 6000), (40_000, 1536, 9000), (100, 100_000, 6000)])
def test_a_product_could_not_be_interrupted(m: int, n: int, k: int, batch: int, itemsize: int) -> None:
    """Its blocks are no longer than a fraction of a second, though it takes many, and so are those of a batch."""
    rows, columns = block(m, n, k, batch, itemsize)
    assert rows * columns * k < 6 * contract.LONG
    for length, part in ((m, rows), (n, columns)):
        assert part == length or part % TILE == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_in_blocks_of_rows_and_columns(monkeypatch: pytest.MonkeyPatch, dtype: Any) -> None:
    monkeypatch.setattr(contract, "LONG", 1_000_000)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1601, 60)).astype(dtype), rng.normal(size=(60, 2500)).astype(dtype)
    rows, columns = block(1601, 2500, 60, 1, x.itemsize)
    assert rows < 1601 and columns < 2500
    assert np.allclose(same_bits(lambda x, y: x @ y, x, y), x @ y, rtol=0, atol=1e-3 if dtype == np.float32 else 1e-10)


def test_what_is_not_cut() -> None:
    assert block(100, 100, 100, 1, 8) == (100, 100)
    assert block(1000, 1000, 1000, 8, 8) == (1000, 1000)  # matrices are parts enough
    assert block(100, 100, 10_000, 1, 8) == (100, 100)


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((500, 300), (300, 410)),
        ((800, 70), (70, 90)),
        ((40, 90), (90, 1601)),
        ((2000, 1100), (1100,)),
        ((1100,), (1100, 2000)),
        ((9, 80, 90), (9, 90, 70)),
        ((3, 800, 60), (3, 60, 100)),
    ],
)
def test_products(a: tuple[int, ...], b: tuple[int, ...], dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=a).astype(dtype), rng.normal(size=b).astype(dtype)
    assert np.allclose(same_bits(lambda x, y: x @ y, x, y), x @ y, rtol=0, atol=1e-3 if dtype == np.float32 else 1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_matrix_by_its_own_transpose(dtype: Any) -> None:
    """BLAS computes one triangle, of a matrix as it lies, of its columns, and of a part that has strides."""
    x = np.random.default_rng(0).normal(size=(150, 210)).astype(dtype)
    for f in (lambda x: x @ x.T, lambda x: x.T @ x, lambda x: x[:, :100] @ x[:, :100].T, lambda x: np.dot(x.T, x)):
        got = same_bits(f, x)
        assert np.allclose(got, f(x.astype(float)), rtol=0, atol=1e-3 if dtype == np.float32 else 1e-10)
        assert np.array_equal(got, got.T)
        assert [k.name for k in wg.jit(f).program(x).kernels] == ["contract (BLAS)"]
    weights = np.random.default_rng(1).normal(size=(150, 150))
    slope = wg.jit(wg.grad(lambda x: np.sum(weights * (x @ x.T))))(x.astype(float))
    assert np.allclose(slope, (weights + weights.T) @ x, rtol=0, atol=1e-10)


def test_other_products_of_one_array_have_no_symmetry() -> None:
    x = np.random.default_rng(0).normal(size=(300, 150))
    for f in (lambda x: x[:150] @ x[150:].T, lambda x: x[:150] @ x[:150], lambda x: x[:150] @ x[:150][::-1].T):
        assert np.allclose(wg.jit(f)(x), f(x), rtol=0, atol=1e-10)
    stack = x.reshape(3, 100, 150)
    assert np.allclose(wg.jit(lambda x: x @ np.swapaxes(x, 1, 2))(stack), stack @ np.swapaxes(stack, 1, 2))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 40, 5000, 1_500_001])
def test_dot_products_are_sums(n: int, dtype: Any) -> None:
    """As accurate as sums are, whatever the strides; also each of a batch."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, n)).astype(dtype)
    exact = float(np.sum(x.astype(np.longdouble) * y.astype(np.longdouble)))
    scale = float(np.sum(np.abs(x * y))) * np.finfo(dtype).eps
    step = wg.jit(lambda x, y: x @ y)
    for a, b in ((x, y), (x[::-1], y[::-1])):
        assert abs(float(step(a, b)) - exact) <= 4 * scale
        assert [k.kind for k in step.program(a, b).kernels] == ["loops"]
    assert abs(float(same_bits(lambda x, y: x @ y, x, y)) - exact) <= 4 * scale
    both = wg.jit(lambda x, y: np.einsum("bi,bi->b", x, y))(np.stack([x, y]), np.stack([y, y]))
    assert abs(float(both[0]) - exact) <= 4 * scale


@pytest.mark.sampled(3, "every remainder of a tile")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("m", [3, 4, 9, 38])
def test_tiles_of_products(m: int, dtype: Any) -> None:
    """Rows and vectors that are left over, and operands that are read along either axis."""
    rng = np.random.default_rng(m)
    for n, k in itertools.product((7, 15, 33, 70), (1, 12, 40)):
        x, y = rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype)
        tolerance = {"rtol": 0, "atol": 1e-4 if dtype == np.float32 else 1e-12}
        np.testing.assert_allclose(same_bits(lambda x, y: x @ y, x, y), x @ y, **tolerance)
        np.testing.assert_allclose(wg.jit(lambda x, y: x.T @ y)(x.T.copy(), y), x @ y, **tolerance)
        np.testing.assert_allclose(same_bits(lambda x, y: x @ y.T, x, y.T.copy()), x @ y, **tolerance)
        np.testing.assert_allclose(wg.jit(lambda x, y: x @ y)(x[::-1], y[:, ::-1]), x[::-1] @ y[:, ::-1], **tolerance)


@pytest.mark.parametrize("vector_bytes", [32, 64])
def test_all_orders_of_operands_are_tiled(monkeypatch: pytest.MonkeyPatch, vector_bytes: int) -> None:
    """Kernels of our own, but where rows are too long for a panel; as processors with AVX2 and AVX-512 have them."""
    tiled_as_with_vectors_of(vector_bytes, monkeypatch)
    rng = np.random.default_rng(4)
    for k, kinds in ((100, {"loops"}), (300, {"loops"}), (1100, {"loops", "BLAS"})):
        x, y, z = rng.normal(size=(20, k)), rng.normal(size=(k, 30)), rng.normal(size=(40, k))
        step = wg.jit(lambda x, y, z: (x @ y, x.T @ (x @ y), x @ z.T))
        for got, want in zip(step(x, y, z), (x @ y, x.T @ (x @ y), x @ z.T), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-10)
        assert {kernel.kind for kernel in step.program(x, y, z).kernels} == kinds


@pytest.mark.parametrize(
    ("m", "n", "k", "dtype", "kinds"),
    [
        (128, 128, 128, np.float64, ("BLAS", "loops", "loops")),
        (129, 128, 128, np.float64, ("BLAS", "BLAS", "loops")),
        (200, 2000, 900, np.float32, ("BLAS", "BLAS", "loops")),
        (200, 200, 1100, np.float32, ("BLAS", "BLAS", "BLAS")),  # too many rows of the right matrix for a panel
        (600, 100, 900, np.float64, ("BLAS", "BLAS", "BLAS")),  # a left matrix that leaves the caches
        (12, 12, 12, np.float32, ("BLAS", "loops", "loops")),
        (13, 13, 13, np.float32, ("BLAS", "loops", "loops")),  # rows of less than a vector of AVX-512
        (50, 13, 50, np.float32, ("BLAS", "loops", "loops")),
        (50, 9, 50, np.float32, ("BLAS", "loops", "BLAS")),  # much less than a vector
        (100, 4, 100, np.float32, ("BLAS", "loops", "BLAS")),  # half a vector of AVX2
        (10, 3, 10, np.float32, ("loops", "loops", "loops")),
        (100, 2, 100, np.float32, ("BLAS", "BLAS", "BLAS")),
    ],
)
def test_which_products_are_tiled(
    monkeypatch: pytest.MonkeyPatch, m: int, n: int, k: int, dtype: Any, kinds: tuple[str, ...]
) -> None:
    """With SSE, AVX2 and AVX-512."""
    for name, kind in zip(LEVELS, kinds, strict=True):
        if not lacking(name):
            monkeypatch.setattr(config, "target", name)
            program = wg.jit(lambda x, y: x @ y).program(np.ones((m, k), dtype), np.ones((k, n), dtype))
            assert [kernel.kind for kernel in program.kernels] == [kind], name


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("m", "n", "k"), [(3, 5, 7), (8, 8, 8), (17, 33, 12), (1, 9, 9), (9, 1, 9), (64, 70, 80)])
def test_batches_of_products(m: int, n: int, k: int, dtype: Any) -> None:
    """A batch has the bits of its products one by one, also of transposed operands, and of one that all share."""
    rng = np.random.default_rng(m)
    for batch in (3, -(-(1 << 21) // (m * n * k)) + 1):
        if batch * max(m * k, k * n) > 1 << 20:
            continue
        x, y = rng.normal(size=(batch, m, k)).astype(dtype), rng.normal(size=(batch, k, n)).astype(dtype)
        tolerance = {"rtol": 0, "atol": 1e-4 if dtype == np.float32 else 1e-12}
        np.testing.assert_allclose(same_bits(lambda x, y: x @ y, x, y), x @ y, **tolerance)
        transposed = np.ascontiguousarray(np.swapaxes(y, 1, 2))
        np.testing.assert_allclose(same_bits(lambda x, y: x @ np.swapaxes(y, 1, 2), x, transposed), x @ y, **tolerance)
        np.testing.assert_allclose(wg.jit(lambda x, y: x @ y)(x, y[0]), x @ y[0], **tolerance)


def test_a_batch_of_products_is_cut_into_parts() -> None:
    """Which threads share, and between which Ctrl-C is looked for; and one kernel serves batches of every length."""
    x, y = np.ones((3000, 12, 12)), np.ones((3000, 12, 12))
    call = _call(x, y)
    assert isinstance(call.kernel, Nest) and call.kernel.extents == (None, 12, 12, 12)
    assert call.extent == 3000 and call.grain * 12**3 >= 1 << 20 > (call.grain - 1) * 12**3
    assert _call(x[:2000], y[:2000]).kernel == call.kernel
    short = _call(x[:10], y[:10])
    assert isinstance(short.kernel, Nest) and short.kernel.extents == (10, 12, 12, 12) and short.grain == 0


def test_a_large_product_is_cut_into_parts_by_rows() -> None:
    """One kernel serves every number of rows; each part copies what all of its rows read."""
    x, y = np.ones((1000, 200)), np.ones((200, 120))
    call = _call(x, y)
    assert isinstance(call.kernel, Nest) and call.kernel.extents == (None, 120, 200)
    assert call.extent == 1000 and call.grain == 64
    assert _call(x[:900], y).kernel == call.kernel
    short = _call(x[:30], y)
    assert isinstance(short.kernel, Nest) and short.kernel.tiling is not None and short.grain == 0  # no part of it


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        (203, 97, 130),  # one panel for all columns
        (131, 512, 100),  # vectors a power of two apart
        (97, 700, 150),  # on more pages than a processor knows at once
        (65, 130, 1024),  # the longest panel
    ],
)
def test_tiles_of_large_products(monkeypatch: pytest.MonkeyPatch, m: int, n: int, k: int, dtype: Any) -> None:
    """As processors with AVX-512 have them, in parts that threads share, in every order of the operands."""
    tiled_as_with_vectors_of(64, monkeypatch)
    rng = np.random.default_rng(n)
    x, y = rng.integers(-8, 9, (m, k)).astype(dtype), rng.integers(-8, 9, (k, n)).astype(dtype)
    for transposed_x, transposed_y in itertools.product((False, True), repeat=2):
        a, b = x.T.copy() if transposed_x else x, y.T.copy() if transposed_y else y

        def product(a: Any, b: Any, of_x: bool = transposed_x, of_y: bool = transposed_y) -> Any:
            return (a.T if of_x else a) @ (b.T if of_y else b)

        np.testing.assert_array_equal(same_bits(product, a, b), x @ y)  # whole numbers: every order of sums is right
        assert [kernel.kind for kernel in wg.jit(product).program(a, b).kernels] == ["loops"]


def _call(x: Any, y: Any) -> KernelCall:
    """How the product of these is computed, with tiles."""
    (step,) = wg.jit(lambda x, y: x @ y).program(x, y).plan.steps
    call = nest_call(step, target())
    assert isinstance(call, KernelCall)
    return call


def test_transposed_operands() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(300, 500)), rng.normal(size=(410, 300))
    assert np.allclose(same_bits(lambda x, y: x.T @ y.T, x, y), x.T @ y.T)


def test_gradient_of_a_dense_layer() -> None:
    rng = np.random.default_rng(2)
    x, w, b = rng.normal(size=(600, 600)), rng.normal(size=(600, 600)) / 25, rng.normal(size=600)
    gw, gb = same_bits(wg.grad(lambda p: np.sum(np.tanh(x @ p[0] + p[1]) ** 2)), (w, b))
    y = np.tanh(x @ w + b)
    ct = 2 * y * (1 - y**2)
    assert np.allclose(gw, x.T @ ct) and np.allclose(gb, ct.sum(0))


@pytest.mark.sampled(7, "a second each")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("tokens", "width", "name"), [(24, 16, "loops"), (1030, 20, "BLAS")])
def test_heads_of_attention_are_products_as_they_lie(tokens: int, width: int, name: str, dtype: Any) -> None:
    """Of q [samples, tokens, heads, width] the two axes of the batch are not one, neither are those of k."""
    rng = np.random.default_rng(0)
    q, k, ct = [
        rng.normal(size=shape).astype(dtype) for shape in [(2, tokens, 3, width)] * 2 + [(2, 3, tokens, tokens)]
    ]
    scores = lambda q, k: np.swapaxes(q, 1, 2) @ np.swapaxes(np.swapaxes(k, 1, 2), 2, 3)
    tolerance = {"rtol": 0, "atol": 1e-3 if dtype == np.float32 else 1e-11}
    np.testing.assert_allclose(same_bits(scores, q, k), np.einsum("bqhw,bkhw->bhqk", q, k), **tolerance)
    pullback = wg.grad(lambda q, k: np.sum(scores(q, k) * ct), (0, 1))
    expected = np.einsum("bhqk,bkhw->bqhw", ct, k), np.einsum("bhqk,bqhw->bkhw", ct, q)
    for found, wanted in zip(same_bits(pullback, q, k), expected, strict=True):
        np.testing.assert_allclose(found, wanted, **tolerance)
    kernels = wg.jit(pullback).program(q, k).kernels
    name = "BLAS" if target().lanes(np.dtype(dtype).itemsize) == 2 else name  # two numbers in a vector are too few
    assert {kernel.kind for kernel in kernels} <= {"loops", name}
    assert name in {kernel.kind for kernel in kernels}

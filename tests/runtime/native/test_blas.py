import itertools
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from tests.runtime.native.executables import executable
from wengert.runtime import routines
from wengert.runtime._native import get_threads, kernel_address, set_routines, set_threads, work_bytes

DTYPES = ["float64", "float32"]


@pytest.fixture(autouse=True, scope="module", params=[routines._linked, routines._exported])
def _routines(request):
    """As they are found in the library that SciPy is linked with, and as SciPy exports them."""
    for module in routines.NAMES:
        found = request.param(module)
        assert found
        set_routines(found)


def run(name: str, arrays: list[Any], out: list[Any], sizes: list[int], extent: int, grain=0, work=0) -> list[Any]:
    """The kernel over the arrays, wherever they lie, and fresh outputs filled with NaN."""
    dtype = np.dtype(arrays[0].dtype)
    pointers = [(1 + k, 0) for k in range(len(arrays) + len(out))] + ([(0, 0)] if work else [])
    address = kernel_address(f"{name}_f{8 * dtype.itemsize}")
    program = executable(
        arena_bytes=work,
        inputs=[],
        captures=arrays,
        outputs=[(dtype, shape) for shape in out],
        steps=[("kernel", address, pointers, sizes, extent, grain, None)],
    )
    filled = [np.full(shape, np.nan, dtype) for shape in out]
    return program.run([], out=filled)


def gemm(a: Any, b: Any, c: Any = None, block_rows=0, block_columns=0, grain=1) -> Any:
    """a @ b for matrices of any strides, stacks of them, or stacks of stacks; c + a @ b."""
    item = a.dtype.itemsize
    (outer, batch), m, n, k = (1, 1, *a.shape)[-4:-2], a.shape[-2], b.shape[-1], a.shape[-1]
    strides = [s // item for x in (a, b) for s in x.strides[-2:]]
    outers, batches = zip(*[[s // item for s in (0, 0, *x.strides)[-4:-2]] for x in (a, b)], strict=True)
    shape = (*a.shape[:-2], m, n)
    blocked = [int(c is not None), block_rows, block_columns]
    sizes = [m, n, k, *strides, n, batch, *batches, m * n, *blocked, *outers, batch * m * n]
    batch *= outer
    blocks = (-(-m // block_rows) if block_rows else 1) * (-(-n // block_columns) if block_columns else 1)
    if c is None:
        return run("gemm", [a, b], [shape], sizes, batch * blocks, grain)[0]
    c = c.copy()
    run("gemm", [a, b, c], [], sizes, batch * blocks, grain)
    return c


def close(x: Any, y: Any) -> bool:
    return np.allclose(
        x, y, rtol=1e-4 if y.dtype == np.float32 else 1e-11, atol=1e-4 if y.dtype == np.float32 else 1e-11
    )


def layouts(x: Any) -> list[Any]:
    """The same matrix with either stride 1, padded and not."""
    m, n = x.shape
    padded = np.zeros((m + 2, n + 3), x.dtype)
    padded[:m, :n] = x
    return [x, np.asfortranarray(x), padded[:m, :n], np.asfortranarray(padded)[:m, :n]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [(3, 4, 5), (1, 4, 5), (3, 4, 1), (1, 4, 1), (3, 1, 5), (1, 1, 5), (3, 1, 1), (1, 1, 1), (40, 30, 20)],
)
def test_products_of_all_layouts(m, k, n, accumulate, dtype):
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=s).astype(dtype) for s in ((m, k), (k, n), (m, n)))
    expected = c + a @ b if accumulate else a @ b
    for x, y in itertools.product(layouts(a), layouts(b)):
        assert close(gemm(x, y, c if accumulate else None), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_without_inner_elements(dtype):
    a, b = np.zeros((2, 0), dtype), np.zeros((0, 3), dtype)
    assert np.array_equal(gemm(a, b), np.zeros((2, 3)))
    assert np.array_equal(gemm(a, b, np.ones((2, 3), dtype)), np.ones((2, 3)))
    for m, k, n in ((0, 2, 3), (2, 2, 0), (0, 0, 0)):
        assert gemm(np.ones((m, k), dtype), np.ones((k, n), dtype)).shape == (m, n)


def test_batches():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(5, 3, 4)), rng.normal(size=(5, 4, 2))
    assert close(gemm(a, b), a @ b)
    assert close(gemm(a.transpose(0, 2, 1).copy().transpose(0, 2, 1), b), a @ b)
    assert close(gemm(np.broadcast_to(a[0], (5, 3, 4)), b), a[0] @ b)
    assert close(gemm(a, np.broadcast_to(b[0], (5, 4, 2)), block_rows=2), a @ b[0])
    assert close(gemm(a, b, block_rows=2, block_columns=1), a @ b)
    assert close(gemm(a[:, :1], b, block_columns=1), a[:, :1] @ b)
    assert close(gemm(a, b[:, :, :1]), a @ b[:, :, :1])


def test_batches_within_batches():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(5, 3, 2, 4)).transpose(0, 2, 1, 3), rng.normal(size=(2, 5, 4, 6)).transpose(1, 0, 2, 3)
    assert close(gemm(a, b), a @ b)
    assert close(gemm(a, b, block_rows=2, block_columns=3, grain=2), a @ b)
    assert close(gemm(np.broadcast_to(a[:1], a.shape), b), a[:1] @ b)


def test_blocks_give_the_same_bits_to_any_number_of_threads():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(103, 57)), rng.normal(size=(57, 41))
    before = get_threads()
    try:
        for block_rows, block_columns in ((16, 0), (100, 0), (103, 0), (0, 8), (0, 40), (16, 8), (103, 41)):
            results = []
            for n in (1, 2, 3):
                set_threads(n)
                results.append(gemm(a, b, block_rows=block_rows, block_columns=block_columns).tobytes())
            assert len(set(results)) == 1
            assert close(np.frombuffer(results[0]).reshape(103, 41), a @ b)
    finally:
        set_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "k"), [(1, 5), (2, 1), (15, 40), (16, 3), (33, 50), (64, 64)])
def test_a_matrix_by_its_own_transpose(m: int, k: int, dtype: str):
    """One triangle is computed, and the other is a copy of it; parts, sums and other operands are no such product."""
    x = np.random.default_rng(3).normal(size=(k, m + 4)).astype(dtype)[:, 1 : m + 1]
    for a in (x, x.T, x.copy()):
        product = gemm(a, a.T)
        assert close(product, a @ a.T) and np.array_equal(product, product.T)
        assert close(gemm(a, a.T, block_rows=7), a @ a.T)
        ones = np.ones((len(a), len(a)), dtype)
        assert close(gemm(a, a.T, ones), ones + a @ a.T)
    assert close(gemm(x.T[:, :m], x[:m]), x.T[:, :m] @ x[:m])
    square = np.random.default_rng(4).normal(size=(20, 20)).astype(dtype)
    assert close(gemm(square, square), square @ square)


def test_other_strides_and_lengths_are_refused():
    x = np.zeros((8, 8))
    with pytest.raises(RuntimeError, match="status -2"):
        gemm(x[::2, ::2], x[:4])
    with pytest.raises(RuntimeError, match="status -2"):
        gemm(np.broadcast_to(x[0], (8, 8)), x)
    for sizes in (
        [2**31, 2, 2, 2, 1, 2, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [2, 2**31, 2, 2, 1, 2**31, 1, 2**31, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ):
        with pytest.raises(RuntimeError, match="status -3"):
            run("gemm", [x, x, x], [], sizes, 1)
    for name, pointers, sizes in (("potrf", 2, [2**31, 1]), ("getrs", 4, [1, 2**31, 1, 0]), ("det", 3, [2**31, 1])):
        with pytest.raises(RuntimeError, match="status -3"):
            run(name, [x] * pointers, [], sizes, 1)


def positive(n, batch, dtype):
    x = np.random.default_rng(n).normal(size=(*batch, n, n))
    return (x @ np.swapaxes(x, -1, -2) + n * np.eye(n)).astype(dtype)


def factored(a: Any) -> list[Any]:
    """The factors and pivots, as the kernel has them: those of LAPACK."""
    n, count = a.shape[-1], int(np.prod(a.shape[:-2]))
    factors = np.full(a.shape, np.nan, a.dtype)
    pivots = np.zeros(a.shape[:-1], np.intc)
    pointers = [(k, 0) for k in (1, 2, 3)]
    step = ("kernel", kernel_address(f"getrf_f{8 * a.dtype.itemsize}"), pointers, [n, count], count, 0, None)
    executable(
        arena_bytes=0,
        inputs=[],
        captures=[a],
        outputs=[(a.dtype, a.shape), (pivots.dtype, pivots.shape)],
        steps=[step],
    ).run([], out=[factors, pivots])
    for k in np.ndindex(a.shape[:-2]) if n else ():
        lu, at, _ = scipy.linalg.get_lapack_funcs("getrf", dtype=a.dtype)(a[k])
        assert close(factors[k].T, lu) and np.array_equal(pivots[k] - 1, at)
    return [factors, pivots]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 33])
@pytest.mark.parametrize("batch", [(), (3,), (0,)])
class TestFactorisations:
    def test_cholesky(self, n, batch, dtype):
        a = positive(n, batch, dtype)
        expected = np.linalg.cholesky(a)
        count = int(np.prod(batch))
        a = np.tril(a) + np.triu(np.full_like(a, np.nan), 1)  # the upper triangle is not read
        assert close(run("potrf", [a], [a.shape], [n, count], count)[0], expected)

    @pytest.mark.parametrize("k", [0, 1, 4])
    def test_solve(self, n, batch, dtype, k):
        rng = np.random.default_rng(n)
        a = rng.normal(size=(*batch, n, n)).astype(dtype) + n * np.eye(n, dtype=dtype)
        b = rng.normal(size=(*batch, n, k)).astype(dtype)
        count = int(np.prod(batch))
        factors, pivots = factored(a)
        for transpose in (False, True):
            x = run("getrs", [factors, pivots, b], [b.shape], [n, k, count, int(transpose)], count)[0]
            assert close(x, np.linalg.solve(np.swapaxes(a, -1, -2) if transpose else a, b))

    def test_inverse_and_determinant(self, n, batch, dtype):
        a = np.random.default_rng(n).normal(size=(*batch, n, n)).astype(dtype) + np.eye(n, dtype=dtype) * 3
        count, bits = int(np.prod(batch)), 8 * a.dtype.itemsize
        x = run("getri", factored(a), [a.shape], [n, count], count)[0]
        assert close(x, np.linalg.inv(a))
        sign, log = run("slogdet", factored(a), [batch, batch], [n, count], count)
        expected = np.linalg.slogdet(a)
        assert np.array_equal(sign, expected.sign)
        assert close(log, np.asarray(expected.logabsdet))
        det = run("det", [a], [batch], [n, count], count, work=work_bytes(f"det_f{bits}", n))[0]
        assert np.allclose(det, np.linalg.det(a), rtol=1e-3 if bits == 32 else 1e-10)

    def test_cofactors(self, n, batch, dtype):
        """The signed determinants of what is left without a row and a column."""
        a = np.random.default_rng(n).normal(size=(*batch, n, n)).astype(dtype) * np.dtype(dtype).type(0.1)
        a += np.eye(n, dtype=dtype)
        count, work = int(np.prod(batch)), work_bytes(f"cofactor_f{8 * a.dtype.itemsize}", n)
        c = run("cofactor", [a], [a.shape], [n, count], count, work=work)[0]
        for index in np.ndindex(*batch):
            for i, j in [(0, 0), (n // 2, n - 1), (n - 1, 0)] if n else []:
                minor = np.delete(np.delete(a[index], i, 0), j, 1).astype("f8")
                expected = (-1) ** (i + j) * np.linalg.det(minor)
                eps = np.finfo(dtype).eps
                assert np.isclose(c[(*index, i, j)], expected, 0, 1e3 * eps * np.abs(c).max())

    @pytest.mark.parametrize("lower", [False, True])
    @pytest.mark.parametrize("transpose", [False, True])
    def test_triangular(self, n, batch, dtype, lower, transpose):
        rng = np.random.default_rng(n)
        a = (rng.normal(size=(*batch, n, n)) / max(n, 1) + 2 * np.eye(n)).astype(dtype)
        b = rng.normal(size=(*batch, n, 3)).astype(dtype)
        count = int(np.prod(batch))
        x = run("trsm", [a, b], [b.shape], [n, 3, count, int(lower), int(transpose)], count)[0]
        triangle = np.tril(a) if lower else np.triu(a)
        assert close((np.swapaxes(triangle, -1, -2) if transpose else triangle) @ x, b)
        if count == 1 and n:
            assert close(x, scipy.linalg.solve_triangular(a, b, lower=lower, trans=int(transpose)).astype(dtype))


def test_matrices_that_have_no_answer():
    with pytest.raises(RuntimeError, match="status 2"):
        run("potrf", [np.diag([1.0, -1.0, 1.0])], [(3, 3)], [3, 1], 1)
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(RuntimeError, match="status 2"):
        run("getrs", [*factored(singular), np.ones((2, 1))], [(2, 1)], [2, 1, 1, 0], 1)
    with pytest.raises(RuntimeError, match="status 2"):
        run("getri", factored(singular), [(2, 2)], [2, 1], 1)
    with pytest.raises(RuntimeError, match="status 2"):
        run("trsm", [np.diag([1.0, 0.0]), np.ones((2, 1))], [(2, 1)], [2, 1, 1, 1, 0], 1)
    sign, log = run("slogdet", factored(singular), [(), ()], [2, 1], 1)
    assert (sign, log) == (0, -np.inf)
    assert run("det", [singular], [()], [2, 1], 1, work=work_bytes("det_f64", 2))[0] == 0
    for bad in (np.ones((4, 4)), np.diag([1.0, 1.0, 1.0, 1e5]), np.full((4, 4), np.nan), np.diag([1e200] * 4)):
        with pytest.raises(RuntimeError, match="status -4"):
            run("cofactor", [bad], [(4, 4)], [4, 1], 1, work=work_bytes("cofactor_f64", 4))


def test_names():
    for stem in ("gemm", "potrf", "getrf", "getrs", "getri", "slogdet", "det", "cofactor", "trsm", "jacobi"):
        assert kernel_address(f"{stem}_f64") != kernel_address(f"{stem}_f32") != 0
        if stem not in ("gemm", "jacobi"):
            assert kernel_address(f"{stem}_c128") != kernel_address(f"{stem}_c64") != 0
    assert kernel_address("qr_f64") != kernel_address("qr_c128") != 0
    with pytest.raises(KeyError):
        kernel_address("gemm_f16")
    with pytest.raises(ValueError, match="dgeqp3"):
        set_routines({"dgeqp3": 1})
    assert work_bytes("gemm_f64", 10) == 0
    assert work_bytes("cofactor_f32", 3) == 4 * (9 + 9) + 12

"""Lists of traced scalars are taken where NumPy takes array-likes: value, dtype and derivative are NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import mean as imported_mean

import wengert as wg
from tests.tracing.numpy_cases import play, record
from wengert import tree
from wengert.tracing.tracer import HANDLED_FUNCTIONS, function_name

X = np.array([0.3, 0.7, 1.1, 1.9, 2.0, 0.4, 0.1, 0.2, 3.0, 0.5, 0.6, 0.8, 2.5])

# v, w: four numbers, w rising; A: three rows of three, B: two of them; each as lists, tuples, and with numbers.
CASES = """
np.all(v)  np.allclose(v, w)  np.amax(v)  np.amin(v)  np.angle(v)  np.any(v)  np.append(v, w)  np.append(A, B, 0)
np.apply_along_axis(lambda r: r[0] * r, 1, A)  np.apply_over_axes(np.sum, np.array(A), [0])  np.argmax(v)
np.argmin(A, 0)  np.argpartition(v, 1)  np.argsort(v)  np.argwhere(v)  np.around(v, 1)  np.array_equal(v, w)
np.array_equiv(v, w)  np.array_split(v, 3)  np.astype(np.array(v), float)  np.atleast_1d(v, w)  np.atleast_2d(v)
np.atleast_3d(A)  np.average(v, weights=w)  np.average(A, axis=0)  np.bincount([0, 1, 1, 3], v)
np.block([[v, w], [w, v]])  np.block([v, w])  np.broadcast_arrays(v, 2.0)  np.broadcast_to(v, (2, 4))
np.choose([0, 1, 1, 0], [v, w])  np.clip(v, 0.5, 1.0)  np.clip(1.0, v, w)  np.column_stack((v, w))
np.compress([True, False, True], v)  np.common_type(np.array(v))  np.can_cast(np.float32, float)
np.min_scalar_type(v[1])  np.result_type(*v)  np.concatenate([v, w])  np.concatenate([A, B])
np.concatenate((v, [1.0]))  np.convolve(v, w)  np.copy(v)  np.corrcoef(A)  np.correlate(v, w, "full")
np.count_nonzero(v)  np.cov(A)  np.cov(v, w)  np.cross(v[:3], w[:3])  np.cumprod(v)  np.cumsum(A, 1)
np.cumulative_prod(v)  np.cumulative_sum(v)  np.delete(v, 1)  np.diag(v)  np.diag(A)
np.diag_indices_from(np.array(A))  np.diagflat(v)  np.diagonal(A)  np.diff(v)  np.diff(A, axis=0)  np.digitize(v, w)
np.dot(v, w)  np.dot(A, v[:3])  np.dsplit(np.array([A, A]), 3)  np.dstack([v, w])  np.ediff1d(v)
np.einsum("i,i", v, w)  np.einsum("ij,j->i", A, v[:3])  np.expand_dims(v, 0)  np.extract([True, False, True, True], v)
np.empty_like(v).shape  np.fix(v)  np.flatnonzero(v)  np.flip(v)  np.fliplr(A)  np.flipud(A)  np.full(4, v)
np.full_like(A, v[:3])  np.fromiter(v, float)  np.geomspace(v[:2], w[:2], 4)  np.gradient(v)  np.gradient(v, w)
np.histogram(v, [0, 1, 3])  np.hsplit(np.array(A), 3)  np.hstack([v, w])  np.i0(v)  np.imag(v)  np.inner(v, w)
np.inner(A, v[:3])  np.insert(v, 1, w)  np.interp(v[1], w, v)  np.interp(v, w, w)  np.isclose(v, w)  np.iscomplex(v)
np.iscomplexobj(v)  np.isin(v, w)  np.isneginf(v)  np.isposinf(v)  np.isreal(v)  np.isrealobj(v)  np.ix_(v, w)
np.kron(v, w)  np.kron(A, B)  np.lexsort((v, w))  np.lib.stride_tricks.sliding_window_view(v, 2)
np.linalg.cholesky(S)  np.linalg.cond(A, "fro")  np.linalg.cross(v[:3], w[:3])  np.linalg.det(A)
np.linalg.diagonal(A)  np.linalg.inv(A)  np.linalg.matmul(A, A)  np.linalg.matrix_norm(A)
np.linalg.matrix_power(A, 2)  np.linalg.matrix_transpose(np.array(A))  np.linalg.multi_dot([B, A, A])
np.linalg.norm(v)  np.linalg.norm(A, axis=0)  np.linalg.outer(v, w)  np.linalg.slogdet(A)  np.linalg.solve(A, v[:3])
np.linalg.tensordot(A, A, axes=1)  np.linalg.tensorinv(A, 1)  np.linalg.tensorsolve(A, v[:3])  np.linalg.trace(A)
np.linalg.vecdot(v, w)  np.linalg.vector_norm(v)  np.linspace(v, w, 3)  np.logspace(v, w, 3)  np.matmul(A, v[:3])
np.matrix_transpose(np.array(A))  np.max(v)  np.max(A, axis=0)  np.mean(v)  np.mean(A, 1)  np.median(v)
np.meshgrid(v, w)  np.min(v)  np.moveaxis(A, 0, 1)  np.nan_to_num(v)  np.nanargmax(v)  np.nanargmin(v)
np.nancumprod(v)  np.nancumsum(v)  np.nanmax(v)  np.nanmean(v)  np.nanmedian(v)  np.nanmin(v)  np.nanpercentile(v, 30)
np.nanprod(v)  np.nanquantile(v, 0.3)  np.nanstd(v)  np.nansum(A, 0)  np.nanvar(v)  np.ndim(A)  np.nonzero(v)
np.ones_like(v)  np.outer(v, w)  np.pad(v, 1)  np.pad(v, 1, constant_values=v[1])  np.partition(v, 1)
np.percentile(v, 30)  np.percentile(v, [10.0, 20.0 * v[1]])  np.piecewise(np.array(v), [np.array(v) < 1], [v[1], 2.0])
np.polyadd(v, w)  np.polyder(v)  np.polyint(v)  np.polymul(v, w)  np.polysub(v, w)  np.polyval(v, 0.5)
np.polyval(v, w)  np.prod(v)  np.ptp(v)  np.quantile(v, 0.3)  np.ravel(A)  np.real(v)  np.real_if_close(v)
np.repeat(v, 2)  np.reshape(v, (2, 2))  np.resize(v, 6)  np.roll(v, 1)  np.rollaxis(np.array(A), 1)  np.rot90(A)
np.round(v, 1)  np.searchsorted(w, v)  np.select([[True, False, True, False]], [v], 1.0)  np.shape(A)  np.sinc(v)
np.size(A)  np.sort(v)  np.split(np.array(v), 2)  np.squeeze([v])  np.stack([v, w])  np.stack([A, A], -1)  np.std(v)
np.sum(v)  np.sum(A, axis=1, keepdims=True)  np.swapaxes(A, 0, 1)  np.take(v, [0, 2])
np.take_along_axis(np.array(v), np.array([1]), 0)  np.tensordot(A, A, 1)  np.tile(v, 2)  np.trace(A)  np.transpose(A)
np.trapezoid(v)  np.trapezoid(v, w)  np.tril(A)  np.tril_indices_from(np.array(A))  np.triu(A)
np.triu_indices_from(np.array(A))  np.unique(v)  np.unique_values(v)  np.unwrap(v)  np.unstack(np.array(A))
np.vander(v)  np.var(v)  np.vdot(v, w)  np.vsplit(np.array(A), 3)  np.vstack([v, w])
np.where([True, False, True, False], v, w)  np.where(v, v, 0.0)  np.zeros_like(v)  np.array(A)  np.asarray(v)
np.asanyarray(v)  np.ascontiguousarray(v)  np.asfortranarray(A)  np.may_share_memory(np.array(v), np.array(v))
np.square(v)  np.sin(A)  np.add(v, w)  np.multiply(A, v[:3])  np.maximum(v, 1.0)  np.hypot(*v[:2])  np.arctan2(v, w)
np.divmod(v, w)  np.modf(v)  np.less(v, w)  np.logical_and(v, w)  np.add.reduce(v)  np.add.reduce(A, 0)
np.multiply.reduce(v)  np.maximum.reduce(A)  np.add.accumulate(v)  np.add.reduceat(v, [0, 2])  np.multiply.outer(v, w)
np.subtract.outer(A, v)  np.max(v, initial=v[1])  np.linalg.norm([v[1], w[1]])  np.array(v) + w  w * np.array(v)
np.histogram_bin_edges(v, 4)  np.histogram2d(v, w, [0.0, 1.0, 3.0])
np.histogramdd([v, w], [[0.0, 1.0, 3.0], [0.0, 2.0, 3.0]])  np.intersect1d(v, w)
np.setdiff1d(v, [5.0])  np.setxor1d(v, [5.0, v[1]])  np.union1d(v, w)  np.unique_all(v).values
np.unique_counts(v).values  np.unique_inverse(v).values  np.poly(v)  np.polyfit(v, A[0] + v[:1], 1)
np.polynomial.polynomial.polyval2d(v, w, A)  np.polynomial.polynomial.polygrid2d(v, w, A)  np.linalg.eigvalsh(S)
np.fft.fft(v)  np.fft.ifft(v)  np.fft.rfft(v)  np.fft.irfft(v)  np.fft.hfft(v)  np.fft.ihfft(v)  np.fft.fft2(A)
np.fft.ifft2(A)  np.fft.rfft2(A)  np.fft.irfft2(A)  np.fft.fftn(A)  np.fft.ifftn(A)  np.fft.rfftn(A)  np.fft.irfftn(A)
np.fft.fftshift(v)  np.fft.ifftshift(v)  np.sort_complex(v)
np.lib.scimath.sqrt(v)  np.lib.scimath.log(v)  np.lib.scimath.log10(v)  np.lib.scimath.log2(v)
np.lib.scimath.logn(v, w)  np.lib.scimath.power(v, w)  np.lib.scimath.arccos(v)  np.lib.scimath.arcsin(v)
np.lib.scimath.arctanh(v)
np.linalg.eigh(S).eigenvalues  np.linalg.svd(A).S  np.linalg.svdvals(A)  np.linalg.qr(A).R  np.linalg.pinv(A)
np.trim_zeros([0.0, *v, 0.0])  np.polydiv(v, w[:2])  np.packbits(np.array(v) > 0.5)  np.require(A, float, "C")
np.unpackbits(np.array(v).astype(np.uint8))  len(np.einsum_path("i,i", v, w)[0])
np.linalg.lstsq(A, v[:3])[0]  np.linalg.matrix_rank(A)  np.linalg.eig(A).eigenvalues  np.linalg.eigvals(A)  np.roots(v)
np.array(A) @ v[:3]  v[:3] @ np.array(A)  np.dot(np.array(A), v[:3])  imported_mean(v)  np.sum(np.array(v)[[0, 1]])
"""
EXPRESSIONS = [e.strip() for line in CASES.strip().splitlines() for e in line.split("  ") if e.strip()]

NO_LISTS = {
    **dict.fromkeys(["np.arange", "np.empty", "np.eye", "np.fromfunction", "np.identity", "np.indices", "np.ones",
                     "np.tri", "np.zeros"], "makes an array of numbers that say its shape"),
    **dict.fromkeys(["np.copyto", "np.fill_diagonal", "np.place", "np.put", "np.put_along_axis", "np.putmask"],
                    "writes into its first argument, which is an array: below"),
    **dict.fromkeys(["np.shares_memory"], "asks for the memory of arrays"),
    **dict.fromkeys(["np.ravel_multi_index", "np.unravel_index"], "takes integers that say shapes"),
}  # fmt: skip

FORMS: dict[str, Callable[[Any], Any]] = {
    "lists": lambda x: x,
    "tuples": lambda x: tuple(map(FORMS["tuples"], x)) if isinstance(x, list) else x,
    "a number first": lambda x: [FORMS["a number first"](x[0]), *x[1:]] if isinstance(x, list) else 0.25,
}


def function_of(expression: str, form: str = "lists") -> Callable[[Any], Any]:
    """The expression as a function of thirteen numbers, its operands lists of them."""
    of_lists = eval(f"lambda v, w, A, B, S: {expression}", {"np": np, "imported_mean": imported_mean})

    def f(x: Any) -> Any:
        make = FORMS[form]
        v, w = [x[1], x[0], x[3], x[2]], [x[0], x[1], x[2], x[3]]
        A = [[x[4], x[5], x[6]], [x[7], x[8], x[9]], [x[10], x[11], x[12]]]
        S = [[x[8], x[0], x[6]], [x[0], x[12], x[5]], [x[6], x[5], x[8]]]
        return of_lists(make(v), w if form == "a number first" else make(w), make(A), make(A[:2]), S)

    return f


def floats_of(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The results that have derivatives, in one array."""

    def g(x: Any) -> Any:
        leaves = [np.asarray(y) for y in tree.flatten(f(x))[0] if not isinstance(y, str | type | np.dtype)]
        return np.concatenate([np.ravel(y) for y in leaves if y.dtype.kind == "f"] or [np.zeros(1)])

    return g


OF_UFUNC = pytest.mark.needs_extension("a ufunc is called as it is, and refuses a list of traced values")


def is_of_ufunc(expression: str) -> bool:
    """Whether a ufunc of NumPy's is called, or one of its methods."""
    return isinstance(getattr(np, expression.removeprefix("np.").partition("(")[0].partition(".")[0], None), np.ufunc)


@pytest.mark.sampled(43, "hundreds of functions, alike to those that call them")
@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")  # by NumPy 2.5, which still has it
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("expression", [pytest.param(e, marks=OF_UFUNC) if is_of_ufunc(e) else e for e in EXPRESSIONS])
def test_a_list_of_traced_scalars_was_refused(expression: str, form: str) -> None:
    if form == "tuples" and "np.block" in expression:
        return  # NumPy takes tuples there for nothing
    f = function_of(expression, form)
    try:
        expected, expected_tree = tree.flatten(f(X))
    except TypeError:  # a number where NumPy wants a sequence
        assert form == "a number first"
        return
    tape, out_tree, _ = record(lambda x: f(x), (X,)) if not _is_static(expected) else (None, expected_tree, [])
    assert out_tree == expected_tree
    if tape is not None:
        for y, e in zip(play(tape, (X,)), expected, strict=True):
            assert np.shape(y) == np.shape(e)
            assert np.asarray(y).dtype == np.asarray(e).dtype
            np.testing.assert_allclose(y, e, rtol=1e-12, atol=1e-12)
    if "argpartition" not in expression:
        wg.check_derivatives(floats_of(f), X, order=1)
        np.testing.assert_allclose(wg.jit(floats_of(f))(X), floats_of(f)(X), rtol=1e-12, atol=1e-12)


def _is_static(leaves: list[Any]) -> bool:
    return any(isinstance(y, type | np.dtype) for y in leaves)


def test_every_function_that_takes_an_array_is_in_the_table() -> None:
    text = CASES.replace("(", " ( ")
    named = {word for word in text.split() if word.startswith("np.")}
    # Up to NumPy 2.2, functions of np.emath name the private module that they stand in.
    known = {function_name(f).replace("._scimath_impl.", ".scimath.") for f in HANDLED_FUNCTIONS}
    assert not known - named - NO_LISTS.keys()
    assert not named & NO_LISTS.keys()


# ------------------------------------------------------------------------------------------------------ the mechanism


@pytest.mark.needs_extension("a ufunc is called as it is, and refuses a list of traced values")
def test_the_cases_of_the_report() -> None:
    """Each was a ConcretizationError that said to write np.array([...])."""
    t = np.linspace(0.0, 2.0, 5)
    for f in (
        lambda x: np.sum(np.square([x[0], x[1]])),
        lambda x: np.sum(np.outer([x[0], x[1]], [x[2], 2.0, x[0]])),
        lambda x: np.sum(np.interp(t, [0.0, x[1], x[3]], [x[0], x[1], 3.0])),
        lambda x: np.sum(np.sqrt((x[0], (x[1])))),
        lambda x: np.linalg.norm([[x[0], 1.0], [x[1], x[2]]]),
        lambda x: np.mean([x[:2], [x[2], 1.0], np.ones(2)]),
        lambda x: np.add.reduce([x[0], x[1]]),
        lambda x: np.where([x[0] > 0.5, x[1] > 0.5], [x[0], x[1]], 0.0)[1],
        lambda x: wg.grad(lambda y: np.max([y, y * x[0]]))(x[1]) * np.min((x[0], x[1])),
    ):
        wg.check_derivatives(f, X)
        np.testing.assert_allclose(wg.jit(f)(X), f(X), rtol=1e-14)
        np.testing.assert_allclose(wg.jit(wg.grad(f))(X), wg.grad(f)(X), rtol=1e-14)


def test_integers_in_a_list_keep_their_dtype() -> None:
    def f(n: Any) -> Any:
        return np.sum([n, n + 1]), np.square([n, 2]), np.cumsum([n, True])

    for n in (3, np.int32(3), np.uint8(3), True):
        for y, e in zip(wg.jit(f)(n), f(n), strict=True):
            assert np.asarray(y).dtype == np.asarray(e).dtype
            np.testing.assert_array_equal(y, e)


@pytest.mark.needs_extension("a ufunc is called as it is, and refuses a list of traced values")
def test_ufuncs_of_scipy_and_its_functions_take_lists() -> None:
    import scipy.special as sp

    f = lambda x: np.sum(sp.erf([x[0], x[1]])) + sp.logsumexp([x[0], x[2]]) + np.sum(sp.xlogy([x[0], 1.0], [2.0, x[1]]))
    wg.check_derivatives(f, X)


@pytest.mark.needs_extension("a ufunc is called as it is, and refuses a list of traced values")
def test_an_operand_in_a_list_beside_a_concrete_array() -> None:
    wg.check_derivatives(lambda x: np.sum(np.add(np.ones(2), [x[0], x[1]]) * np.dot(np.eye(2), [x[1], 1.0])), X)


@pytest.mark.needs_extension("a ufunc is called as it is, and refuses a list of traced values")
def test_a_list_under_vmap_and_in_nested_transforms() -> None:
    f = lambda x: np.sum(np.square([x[0], x[1] * x[0]]))
    xs = X[:12].reshape(4, 3)
    np.testing.assert_allclose(wg.vmap(wg.grad(f))(xs), [wg.grad(f)(x) for x in xs], rtol=1e-14)
    np.testing.assert_allclose(wg.jit(wg.vmap(f))(xs), [f(x) for x in xs], rtol=1e-14)
    np.testing.assert_allclose(wg.hessian(f)(xs[0]), wg.jit(wg.hessian(f))(xs[0]), rtol=1e-14)


def test_a_generator_is_what_it_is_to_numpy() -> None:
    """np.sum of one is Python's sum in older ones, deprecated, and refused in newer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            expected = np.sum(v * v for v in X[:2])
        except TypeError:
            with pytest.raises(TypeError, match="generator"):
                wg.grad(lambda x: np.sum(v * v for v in x))(X[:2])
        else:
            assert wg.value_and_grad(lambda x: np.sum(v * v for v in x))(X[:2])[0] == expected


def test_shapes_and_axes_of_traced_integers_are_still_looked_at() -> None:
    """A tuple of them is no array: NumPy asks for their integers, which are guarded."""
    table = np.arange(6.0)
    f = wg.jit(lambda n, x: np.reshape(table, (n, 6 // n)).shape[0] * x)
    assert f(2, 1.5) == 3.0 and f(3, 1.5) == 4.5
    g = wg.jit(lambda k, x: np.sum(np.add.reduce(np.ones((2, 3)), (k,))) * x)
    assert g(0, 1.0) == 6.0
    assert wg.jit(lambda k, x: np.transpose(np.ones((2, 3)), (k, 1 - k)).shape[0] * x)(1, 1.0) == 3.0


@pytest.mark.needs_extension("a ufunc is called as it is, and refuses a list of traced values")
def test_numpys_types_are_themselves_again_afterwards() -> None:
    calls = [type(np.sum).__call__, np.ufunc.__call__]
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append((isinstance(np.square, np.ufunc), type(np.sum), np.add.reduce([1, 2]), np.square([1, 2]).tolist()))
        return np.sum(np.square([x, 2.0]))

    wg.grad(f)(1.0)
    assert seen == [(True, type(np.sum), 3, [1, 4])]
    with pytest.raises(ZeroDivisionError):
        wg.grad(lambda x: 1 // 0)(1.0)
    assert [type(np.sum).__call__, np.ufunc.__call__] == calls
    assert np.square([1, 2]).tolist() == [1, 4] and np.sum([1, 2], axis=0) == 3 and np.add.outer([1], [2]) == [[3]]


def test_another_thread_goes_on_while_one_is_tracing() -> None:
    import threading

    found: list[Any] = []

    def f(x: Any) -> Any:
        thread = threading.Thread(target=lambda: found.append((np.square([2, 3]).tolist(), np.sum([[1, 2]], axis=1))))
        thread.start()
        thread.join()
        return np.max([x, 0.0])

    assert wg.grad(f)(2.0) == 1.0
    assert found[0][0] == [4, 9]


@pytest.mark.needs_extension("a ufunc is called as it is, and refuses a list of traced values")
def test_what_cannot_be_an_array_is_an_error_of_ours() -> None:
    with pytest.raises(wg.errors.ShapeError, match=r"inhomogeneous(.|\n)*test_array_functions\.py"):
        wg.grad(lambda x: np.sum([[x[0]], x[1]]))(X)
    with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"np\.savez(.|\n)*test_array_functions\.py"):
        wg.grad(lambda x: np.savez("nowhere", [x[0], x[1]]))(X)
    captured = np.zeros(2)
    with pytest.raises(wg.errors.MutationError, match="cannot hold traced values"):
        wg.grad(lambda x: np.add([x[0], 1.0], [1.0, x[1]], captured)[0])(X)
    endless: list[Any] = [1.0]
    endless.append(endless)
    with pytest.raises((ValueError, wg.errors.WengertError, RecursionError)):
        wg.grad(lambda x: np.sum([x[0], endless]))(X)


def test_a_class_with_array_functions_of_its_own_has_its_turn() -> None:
    class Mine:
        def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return args[1][0] * 3.0

    assert wg.grad(lambda x: np.dot(Mine(), [x, x]))(1.0) == 3.0


def test_libraries_keep_numpys_arrays_of_constants() -> None:
    """What holds constants of the trace alone is NumPy's own business there: it may go on in compiled code."""
    namespace = {"__name__": "scipy.made_up", "np": np}
    exec("def f(c): return np.sum([c[0], c[1]]), np.square([c[0], 1.0])", namespace)
    kinds: list[Any] = []

    def f(x: Any) -> Any:
        kinds.extend(map(type, namespace["f"](np.ones(2))))
        return x

    wg.grad(f)(1.0)
    assert kinds == [np.float64, np.ndarray]

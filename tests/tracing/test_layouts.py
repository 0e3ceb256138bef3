"""In which order an array lies in memory decides whether a reshape of it is a view or a copy, and so what a write
reaches: what is taken for known must be what NumPy makes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import as_numpy
from wengert import tree
from wengert.errors import MutationError
from wengert.tracing.layouts import layout
from wengert.tracing.record import input_of, record_call
from wengert.tracing.tracer import Tracer

# fmt: off
EXPRESSIONS = [
    "A[:,J]", "A[...,J]", "A[:,M]", "A[:,:,J]", "A[J,:,J]", "A[:,J,None]", "A[1:,J,J]", "A[0,J]", "A[:2,0,J]",
    "A[None,J]", "A[:,None,J]", "A[:,A[0]>.5]", "A[A>.5]", "A[:, [[0,1],[1,2]]]", "np.delete(A,1,1)",
    "np.delete(A,[0,1],2)", "np.insert(A,1,0.,1)", "np.compress(M,A,1)", "np.take(A,J,1)", "np.repeat(A,2,1)",
    "np.roll(A,1,1)", "np.flip(A,1)", "np.rot90(B)", "np.tile(A,(2,1,2))", "np.pad(A,1)", "np.append(A,A,1)",
    "np.sum(A,1)", "np.cumsum(A,0)", "np.sort(A,0)", "np.argsort(A,0)", "np.argmax(A,1)", "np.mean(A,0)",
    "np.var(A,1)", "np.median(A,1)", "np.quantile(A,.3,1)", "np.quantile(A,[.3,.5],1)", "np.diff(A,axis=0)",
    "np.gradient(A,axis=1)", "np.cross(A[:,:,:3],A[:,:,1:4],axis=2)", "np.cross(A[:,:3],A[:,1:4],axis=1)",
    "np.cross(A,A,axis=0)", "np.outer(V,V)", "np.kron(B,B)", "np.dot(A,A.transpose(0,2,1)[0])", "A@A[0].T",
    "np.matmul(A,np.swapaxes(A,1,2))", "np.tensordot(A,A,([0],[0]))", "np.inner(A,A)", "np.vdot(A,A)",
    "np.linalg.inv(P)", "np.linalg.solve(P,B)", "np.linalg.cholesky(P)", "np.linalg.matrix_power(B,3)",
    "np.linalg.multi_dot([B,B,B])", "np.cov(B)", "np.corrcoef(B)", "np.linalg.norm(A,axis=1)", "np.where(A>.5,A,0)",
    "np.select([A>.5],[A])", "np.choose((B>.5).astype(int),[B,B])", "np.tril(A)", "np.triu(B)", "np.diag(V)",
    "np.diagonal(A)", "np.vander(V)", "np.meshgrid(V,V)", "np.meshgrid(V,V,indexing='ij')",
    "np.ix_(V.argsort(),V.argsort())", "np.stack([A,A],1)", "np.stack([A,A],-1)", "np.concatenate([A,A],1)",
    "np.hstack([A,A])", "np.dstack([B,B])", "np.column_stack([V,V])", "np.vstack([B,B])", "np.block([[B,B],[B,B]])",
    "np.array_split(A,2,1)", "np.broadcast_to(V,(3,4))", "np.broadcast_arrays(V,B)", "np.expand_dims(A,1)",
    "np.moveaxis(A,0,-1)", "np.transpose(A)", "np.swapaxes(A,0,1)", "np.squeeze(A[:,:1])", "np.ravel(A)",
    "np.reshape(A,(4,15))", "np.reshape(A.T,(4,15))", "A.T.copy()", "np.array(A.T)", "A.T+1", "np.sin(A.T)",
    "A.T+A.T", "A.T.astype(np.float32)", "np.zeros_like(A.T)", "np.empty_like(A.T)*0", "np.copy(A.T)",
    "np.ascontiguousarray(A.T)", "np.asarray(A.T)", "np.multiply.outer(V,B)", "np.add.accumulate(A,1)",
    "np.add.reduce(A,0)", "np.maximum.accumulate(A,0)", "np.add.reduceat(A,[0,2],1)",
    "np.apply_along_axis(lambda v: v[:2]*2,0,A)", "np.apply_along_axis(lambda v: v[:2]*2,1,A)", "np.partition(A,1,0)",
    "np.argpartition(A,1,1)", "np.take_along_axis(A,np.argsort(A,0),0)", "np.nan_to_num(A)", "np.clip(A,0,.5)",
    "np.trapezoid(A,axis=0)", "np.convolve(V,V)", "np.unwrap(A,axis=0)", "np.interp(B,V.cumsum(),V)",
    "np.digitize(B,[.1,.5])", "np.searchsorted(V.cumsum(),B)", "np.nonzero(B>.5)", "np.argwhere(B>.5)",
    "np.indices((2,3))", "np.fromfunction(lambda i,j: i+j,(2,3))", "np.tri(3)", "np.mgrid[:2,:3]", "np.ogrid[:2,:3]",
    "np.nancumsum(A,1)", "np.nanmedian(A,1)", "np.average(A,1,V)", "np.ptp(A,1)", "np.resize(B,(3,5))",
    "np.ediff1d(B)", "np.fliplr(B)", "np.piecewise(B,[B>.5],[lambda x:x*2,0])", "np.extract(B>.5,B)",
    "np.atleast_3d(B)", "np.atleast_2d(V)", "np.linalg.outer(V,V)", "np.linalg.vecdot(A,A)",
    "np.cumulative_sum(A,axis=1)", "np.matrix_transpose(A)", "np.permute_dims(A,(2,0,1))", "np.unstack(A,axis=1)",
    "np.frexp(A)", "np.modf(A)", "np.divmod(A,.3)", "np.real(A)", "np.polyval(V,B)", "np.einsum('ij,jk->ki',B,B)",
    "np.einsum('ijk->kj',A)", "np.einsum('ijk,k->ji',A,A[0,0])", "np.lib.stride_tricks.sliding_window_view(A,2,1)",
    "np.diagflat(V)", "np.fill_diagonal(B,0) or B", "np.put_along_axis(A,np.argsort(A,1)[:,:1],0.,1) or A",
    "np.triu_indices(3)", "np.unravel_index(J,(3,4))", "np.correlate(V,V)", "np.bincount(J)", "np.logspace(V[0],V,5)",
    "np.linspace(V,V+1,5)", "np.linspace(V,V+1,5,axis=-1)", "np.geomspace(V,V+1,5)", "np.linspace(V,V+1,5,axis=1)",
    "np.zeros((3,4),order='F')", "np.zeros((3,4),order='F')+B[:3]", "np.zeros((3,4),order='F')+B.T[:,:3].T",
    "np.full((3,4),V[0],order='F')", "np.full_like(A.T,V[0])", "np.full_like(B.T,2.)", "np.ones_like(B.T,order='C')",
    "np.ones_like(A,order='F')", "np.zeros_like(np.broadcast_to(V,(3,4)))", "np.array(B,order='F')",
    "np.array(B.T,order='A')", "np.array([V,V],order='F')", "np.asfortranarray(B)", "np.zeros_like(A[:,J])",
    "np.zeros_like(A[:,J].swapaxes(0,1))", "A[:,J].copy()", "A[:,J]+1", "A[:,J].T", "A[:,J].reshape(9,5)",
    "A[:,J].ravel()", "np.delete(A,[1],1)", "np.delete(A,slice(0,2),1)", "np.delete(A,[],1)",
    "np.delete(A,np.array([True,False,False,False]),1)", "np.delete(A,J,1)",
    "np.delete(A,np.array([True,False,True,False]),1)", "np.split(A, 2, 1)",
    "np.einsum('bij,bjk->ikb',A,np.swapaxes(A,1,2))", "np.einsum('ij,jk->ki',B,B,optimize=True)",
    "np.nanquantile(A,[.3,.5],1)",
    "A.T.copy()", "A.T.copy('K')", "A.copy('F')", "A.T.astype(float)", "A.astype(int,order='F')", "copy.copy(A.T)",
    "(A+1).T.copy()", "np.copy(A.T,order='C')", "np.einsum('ij,jk->ki',B,B,order='C')",
    "np.einsum('ij,kj->ik',B,B,order='F')", "np.sort(A.T,0)", "np.roll(A.T,1,0)", "np.linalg.norm(A.T,axis=1)",
    "np.median(A.T,1)", "np.repeat(A.T,2,0)", "np.select([B>.5],[B.T])", "np.cross(A.T[:,:3],A.T[:,:3])",
    "np.einsum('i,j,k->kij',V,V,V)", "np.maximum.reduceat(A,[0,2],1)", "np.imag(A.T)*1", "A.T.clip(0,1)", "A.T.round()",
    "A.T.flatten()", "np.roll(a=A.T,shift=1,axis=0)", "np.zeros_like(A,shape=(2,3))", "np.full_like(A.T+1,2.)",
]
# fmt: on

KNOWN = [
    "A[:,J]", "A[:2,0,J]", "A[:,M]", "np.take(A,J,1)", "np.compress(M,A,1)", "A.T.copy()", "A.T.copy('K')",
    "A.T.astype(float)", "np.zeros_like(A.T)", "np.full_like(A.T,V[0])", "np.einsum('ij,jk->ki',B,B)", "np.vander(V)",
    "np.sin(A)", "A+A", "np.sum(A,1)", "np.stack([A,A],1)", "B@B.T", "np.linalg.inv(P)", "np.array([V,V],order='F')",
]  # fmt: skip
"""Those that must not be taken for unknown: programs write through their reshapes."""

A = np.random.default_rng(0).random((3, 4, 5))
B = np.random.default_rng(1).random((4, 4))
ROWS = np.arange(6.0).reshape(2, 3)
ARGUMENTS = {"A": A, "B": B, "V": B[0].copy(), "J": np.array([2, 0, 1]), "M": np.array([True, False, True, True])}
ARGUMENTS["P"] = B @ B.T + 4 * np.eye(4)
ORDERS: dict[str, Callable[[Any], Any]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "between": lambda x: np.ascontiguousarray(np.swapaxes(x, 0, x.ndim // 2)).swapaxes(0, x.ndim // 2),
}


def function(expression: str) -> Any:
    return eval(f"lambda {', '.join(ARGUMENTS)}: {expression}", {"np": np, "copy": copy})


def strides(x: Any, shape: tuple[int, ...]) -> list[int]:
    return [step // x.itemsize for step, n in zip(x.strides, shape, strict=True) if n != 1]


def orders(f: Any, args: Sequence[Any]) -> list[Any]:
    """How the results lie in memory, as the tracer sees it."""
    found: list[Any] = []

    def noted(*xs: Any) -> None:
        found.extend([layout(x) if type(x) is Tracer else x for x in tree.flatten(f(*xs))[0]])

    record_call(noted, [input_of(x) for x in args], name="f")
    return found


@pytest.mark.sampled(5, "all functions on all orders")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.filterwarnings("ignore")
def test_known_orders_are_those_of_numpy(expression: str, order: str) -> None:
    f, args = function(expression), [ORDERS[order](x) for x in ARGUMENTS.values()]
    for known, x in zip(orders(f, args), tree.flatten(f(*[x.copy("K") for x in args]))[0], strict=True):
        x = np.asarray(x)
        if isinstance(known, np.ndarray) and x.size and len(strides(x, x.shape)) > 1:
            assert strides(known, x.shape) == strides(x, x.shape)


@pytest.mark.parametrize("expression", KNOWN)
def test_the_usual_orders_are_known(expression: str) -> None:
    assert all(isinstance(x, np.ndarray) for x in orders(function(expression), list(ARGUMENTS.values())))


@pytest.mark.sampled(21, "all orders in memory")
@pytest.mark.parametrize("order", [*ORDERS, "constants"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.filterwarnings("ignore")
def test_a_write_through_a_reshape_goes_where_numpy_s_goes_or_is_refused(expression: str, order: str) -> None:
    """Also where all operands are made inside."""
    read, is_constant = function(expression), order == "constants"

    def f(*xs: Any) -> Any:
        xs = tuple([np.array(x.tolist()) for x in ARGUMENTS.values()]) if is_constant else xs
        made = tree.flatten(read(*xs))[0]
        for y in made:
            if np.ndim(y) > 1:
                y.reshape(-1)[:1] = 7
                y.T.reshape(-1)[1:2] = 9
        return made, xs[0], xs[1]

    args = [x.copy() if is_constant else ORDERS[order](x.copy()) for x in ARGUMENTS.values()]
    try:
        want = f(*[x.copy("K") for x in args])
    except ValueError:  # what NumPy does not let be written
        with pytest.raises((ValueError, MutationError), match=r"read-only|order of an array in memory"):
            wg.jit(f)(*args)
        return
    try:
        got = wg.jit(f)(*args)
    except MutationError:
        return
    for a, b in zip(tree.flatten(got)[0], tree.flatten(want)[0], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("fresh", [lambda x: x.T + 1.0, lambda x: np.sin(x.T), lambda x: x.T * x.T])
def test_a_result_in_another_order_is_not_written_through_its_reshape(fresh: Any) -> None:
    """NumPy keeps the order of a transposed operand, so the reshape is a copy; it was taken for a view."""

    def read_only(x: Any) -> Any:
        y = fresh(x)
        return y.reshape(-1) * 2.0 + np.sum(y)

    def written(x: Any) -> Any:
        y = fresh(x)
        u = y.reshape(-1)
        u[...] = 0.0
        return y

    def stale(x: Any) -> Any:
        y = fresh(x)
        u = y.reshape(-1)
        y[0] = 0.0
        return u + 0.0

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(wg.jit(read_only)(x), read_only(x), rtol=1e-15)
    for f in (written, stale):
        with pytest.raises(wg.errors.MutationError, match="order of an array in memory"):
            wg.jit(f, strict=True)(x)


def of_part(y: Any, s: Any) -> Any:
    u = y[:2].reshape(-1)
    u[...] += s
    return y


def of_part_again(y: Any, s: Any) -> Any:
    u = np.split(y, [2], 0)[0]
    u = u[::-1]
    u = np.ravel(u)
    u[1:] += s
    return y


def of_what_is_no_copy(y: Any, s: Any) -> Any:
    u = y[:2]
    u = np.asfortranarray(u)
    u[0] = s
    return y


@pytest.mark.parametrize("write", [of_part, of_part_again, of_what_is_no_copy])
def test_a_reshape_of_a_view_that_nobody_holds_is_not_taken_for_a_copy(write: Any) -> None:
    """The view is dropped, but what it shows a part of is not, and did not get what was written."""
    with pytest.raises(wg.errors.MutationError, match="order of an array in memory"):
        wg.jit(lambda x, s: write(x.T * 2.0, s), strict=True)(ROWS, 0.25)
    as_numpy(lambda x, s: write(np.array(x.T * 2.0, order="C"), s), ROWS, 0.25)


@pytest.mark.parametrize(
    "read",
    [
        lambda y: y[:1].view(),
        lambda y: y.view(),
        lambda y: y[:, :1].reshape(-1),
        lambda y: y[1].reshape(-1, 2),
        lambda y: y[:1, :1].reshape(()),
        lambda y: np.reshape(y, (1, 3, 2, 1)),
        lambda y: y[..., np.newaxis].reshape(3, 1, 2),
        lambda y: y[:0].reshape(5, 0),
    ],
)
def test_a_reshape_that_joins_no_axes_shares_memory_in_every_order(read: Any) -> None:
    """It was refused, or a copy where the array was at hand under another name: ``u = y[:1]; u = u.view()``."""

    def f(x: Any, s: Any) -> Any:
        y = x.T * 2.0
        u = read(y)
        u[...] += s
        y[0] *= 3.0
        return y, u

    as_numpy(f, ROWS, 0.25)


def test_a_reshape_of_an_array_in_unknown_order_that_holds_no_traced_value_is_not_read_after_a_write() -> None:
    """It was taken for a view; NumPy's is a copy here."""

    def f(s: Any) -> Any:
        y = np.cumsum(np.ones((2, 3)).T, 0)
        u = y.reshape(-1)
        y[0, 1] = 7.0
        return u * s

    def then_traced(s: Any) -> Any:
        y = np.cumsum(np.ones((2, 3)).T, 0)
        u = y.reshape(-1)
        y[0, 1] = s
        return u * s

    for g in (f, then_traced):
        with pytest.raises(wg.errors.MutationError, match="which was written since"):
            wg.jit(g, strict=True)(2.0)


def test_arguments_in_fortran_order_alias_as_numpy_says() -> None:
    """The order of an argument decides whether a reshape of it is a view, and was not looked at."""

    def f(x: Any) -> Any:
        y = x.view()
        z = x.reshape(-1)
        z[0] = 100.0
        return y, z

    jitted = wg.jit(f)
    for x in (np.ones((2, 3)), np.ones((3, 2)).T, np.asfortranarray(np.ones((2, 3)))):
        for got, wanted in zip(jitted(x), f(np.array(x, order="K")), strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_a_copy_that_may_be_none_is_not_written() -> None:
    """``np.asfortranarray`` of a result whose order is not known is the array itself, or a copy: here always a copy."""

    def f(x: Any) -> Any:
        y = np.clip(x.T, 0, 9)
        v = np.asfortranarray(y)
        v[0] = 55.0
        return y

    with pytest.raises(wg.errors.MutationError, match=r"order(.|\n)*np\.array"):
        wg.jit(f, strict=True)(ROWS)
    as_numpy(lambda x: np.ascontiguousarray(np.clip(x.T, 0, 9)) * 2, ROWS)


def test_a_copy_that_may_be_none_is_written_where_nobody_can_tell() -> None:
    def f(x: Any) -> Any:
        y = np.ascontiguousarray(np.clip(x.T, 0, 9))
        y[0] = 5.0
        z = np.clip(x.T, 0, 9).reshape(-1)
        z[1] = 7.0
        row = np.asfortranarray(np.cumsum(x.T, 0))[1]
        row *= 2.0
        return y, z, row

    as_numpy(f, ROWS)
    x = ROWS.copy()
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(f(x)[0] ** 2))(x), np.array([[0, 2, 4], [0, 8, 10.0]]))

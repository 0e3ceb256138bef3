"""np.nditer and np.broadcast of traced arrays, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import broadcast, nditer

import wengert as wg
from tests.comparisons import as_numpy
from tests.tracing.numpy_cases import floats
from wengert.errors import MutationError, UnsupportedFunctionError

pytestmark = pytest.mark.needs_extension("np.nditer and np.broadcast are called as the classes that they are")

X, A = floats(4), floats(3, 4)
LAYOUTS = {"C": A, "F": A.T, "parts": floats(3, 8)[:, ::2], "backwards": A[::-1, ::-1], "rows": floats(3, 6)[:, :4]}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "in C order": {"order": "C"},
    "in F order": {"order": "F"},
    "runs": {"flags": ["external_loop"]},
    "runs in F order": {"flags": ["external_loop"], "order": "F"},
    "buffered runs": {"flags": ["external_loop", "buffered"], "buffersize": 5},
}


def told(*arrays: Any, **options: Any) -> Any:
    """What an iterator gives, one after the other, each run weighted by where it begins."""
    rows = []
    for values in np.nditer(list(arrays) if len(arrays) > 1 else arrays[0], **options):
        for one in values if isinstance(values, tuple) else (values,):
            assert isinstance(one, np.ndarray)
            rows += [np.ravel(one) * (len(rows) + 1)]
    return np.concatenate(rows)


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("a", LAYOUTS)
def test_elements_come_in_numpys_order(a: str, options: str) -> None:
    """As memory has them: so a copy in another order would not do for the arguments."""
    for arrays in ([LAYOUTS[a]], [LAYOUTS[a], LAYOUTS[a][0]], [LAYOUTS[a], np.ascontiguousarray(LAYOUTS[a]) + 1]):
        f = lambda *xs: told(*xs, **OPTIONS[options])
        np.testing.assert_array_equal(wg.jit(f, strict=True)(*arrays), f(*arrays))
    wg.check_derivatives(lambda x: told(x, x[0], **OPTIONS[options]), A, order=1)


def test_a_vector_that_runs_backwards_is_iterated_as_it_lies() -> None:
    f = wg.jit(told, strict=True)
    for x in (X, X[::2], X[::-1], X[::-2], X, X[::-1]):
        np.testing.assert_array_equal(f(x), told(x))
    assert f.stats()["traces"] == 4


def test_scalars_numbers_and_lists() -> None:
    f = lambda x: np.stack([v * 2 + w for v, w in np.nditer([x, [1.0, 2.0]])])
    for x in (np.float64(2.0), np.array(2.0), 2.0, X[:2]):
        as_numpy(f, x)
    as_numpy(lambda x: np.stack([v * 2 for v in nditer([x[0], x[1] * 2])]), X)


def doubled(x: Any, **options: Any) -> Any:
    y = x * 1
    with np.nditer(y, op_flags=["readwrite"], **options) as it:
        for v in it:
            v[...] = 2 * v
    return y


def squares(x: Any) -> Any:
    with np.nditer([x, None]) as it:
        for v, w in it:
            w[...] = v * v
        return it.operands[1]


def squares_in_runs(x: Any) -> Any:
    flags = [["readonly"], ["writeonly", "allocate", "no_broadcast"]]
    with np.nditer([x, None], ["external_loop"], flags, op_dtypes=[None, np.float32], casting="same_kind") as it:
        for v, w in it:
            w[...] = v * v
        return it.operands[1]


def outer(x: Any) -> Any:
    it = np.nditer([x, x[1:], None], op_axes=[[0, -1], [-1, 0], None])
    with it:
        for v, w, out in it:
            np.multiply(v, w, out=out)
        return it.operands[2]


def column_sums(x: Any) -> Any:
    total = np.zeros(x.shape[1:])
    axes = [[1, 0], [0, -1]]
    with np.nditer([x, total], ["reduce_ok"], [["readonly"], ["readwrite"]], op_axes=axes) as it:
        for v, out in it:
            out[...] += v
    return total


def by_indices(x: Any) -> Any:
    out = np.zeros(x.shape)
    it: Any = np.nditer(x, flags=["multi_index"])
    while not it.finished:
        out[it.multi_index] = it[0] * sum(it.multi_index) + it.value
        it.iternext()
    it.multi_index = (1, 2)
    return out, it.value


def where_it_is(x: Any) -> Any:
    it: Any = np.nditer(x, flags=["f_index"])
    steps = [v * it.index + it.iterindex * it.itersize + it.ndim + it.nop + len(it) for v in it]
    it.reset()
    return np.stack(steps), next(it), np.array([it.dtypes[0] == x.dtype, *it.shape])


@pytest.mark.parametrize("f", [doubled, squares, squares_in_runs, outer, column_sums, by_indices, where_it_is])
def test_operands_are_read_written_and_made(f: Callable[..., Any]) -> None:
    x = X if f is outer else A
    as_numpy(f, x)
    if f is not squares_in_runs:
        wg.check_derivatives(lambda x: f(x)[0] if isinstance(f(x), tuple) else f(x), x, order=2 if x is X else 1)


def test_runs_are_written() -> None:
    as_numpy(lambda x: doubled(x, flags=["external_loop"]), A)

    def f(x: Any, order: Any) -> Any:
        it = np.nditer(x, flags=["external_loop", "buffered"], op_flags=["readwrite"], order=order)
        return [v.__iadd__(1.0) for v in it]

    for g in (lambda x: f(x * 1, "F"), lambda x: f(np.asfortranarray(x), "C"), lambda x: f(np.asfortranarray(x), "F")):
        with pytest.raises(UnsupportedFunctionError, match="external_loop"):
            wg.jit(g, strict=True)(A)


def test_what_was_iterated_is_written_as_before() -> None:
    def f(x: Any) -> Any:
        y, z = np.array(x[0]), x * 2
        seen = [*np.nditer(y), *np.nditer(z, flags=["external_loop"]), *np.nditer(z[:1])]
        y[...] = 7.0
        z[0] = 8.0
        return y, z, *seen

    as_numpy(f, X)


def test_an_operand_that_is_made_lies_as_numpys() -> None:
    as_numpy(lambda x: np.array(squares(x.T).strides) * x[0, 0], A)
    as_numpy(lambda x: np.array(squares(x[:, ::2]).strides) * x[0, 0], A)


def test_what_is_not_traced_is_numpys() -> None:
    def f(x: Any) -> Any:
        it = np.nditer(np.arange(3.0))
        assert type(it) is (np.nditer if f.is_outside else type(it)) and np.broadcast(3, [1.0]).shape == (1,)
        return x * sum(float(v) for v in it)

    f.is_outside = True
    f(X)
    f.is_outside = False
    as_numpy(f, X)
    rows = wg.vmap(lambda r: np.stack([v * 2 for v in np.nditer(r)]))(A)
    np.testing.assert_array_equal(rows, 2 * A)


OUTSIDE = np.zeros(4)


def test_what_cannot_be_told_or_written_is_refused() -> None:
    with pytest.raises(MutationError, match="read-only"):
        wg.jit(lambda x: [v.__setitem__(..., 1.0) for v in np.nditer(x)], strict=True)(X)
    writes = lambda x: [w.__setitem__(..., v) for v, w in np.nditer([x, OUTSIDE], [], [["readonly"], ["writeonly"]])]
    for transform in (wg.grad, lambda f: wg.jit(f, strict=True)):
        with pytest.raises(MutationError, match=r"OUTSIDE|made outside"):
            transform(lambda x: (writes(x), np.sum(x))[1])(X)
    assert not OUTSIDE.any()
    for f, what in (
        (lambda x: list(np.nditer(x.T + x.T)), "order in memory"),
        (lambda x: list(np.nditer(x, ["buffered"], op_dtypes=[np.float32], casting="same_kind")), "op_dtypes"),
        (lambda x: list(np.nditer([x, [1]], ["buffered", "common_dtype"])), "common_dtype"),
    ):
        with pytest.raises(UnsupportedFunctionError, match=f"nditer: .*{what}"):
            wg.jit(f, strict=True)(A)
    with pytest.raises(ValueError, match="zero-sized"):
        wg.jit(lambda x: list(np.nditer(x)), strict=True)(A[:0])
    with pytest.raises(AttributeError):
        wg.jit(lambda x: np.nditer(x).itviews, strict=True)(X)


def pairs(x: Any) -> Any:
    both = np.broadcast(x, x[:1, None], 2.0)
    total = sum([v * w * c * both.index for v, w, c in both])
    both.reset()
    tells = [both.size, both.nd, both.ndim, both.numiter, both.index, len(both.iters), *both.shape]
    return total, next(both)[0], np.array(tells)


@pytest.mark.parametrize(
    "f",
    [
        pairs,
        lambda x: np.zeros(np.broadcast(x, np.ones((3, 1))).shape) + x,
        lambda x: np.array(broadcast([x[0], 1.0], np.ones((3, 1))).shape) * x[0],
        lambda x: np.array(np.broadcast(x).shape) * x[0],
    ],
)
def test_broadcast(f: Callable[[Any], Any]) -> None:
    as_numpy(f, X)
    wg.check_derivatives(lambda x: f(x)[0] if isinstance(f(x), tuple) else f(x), X)


def test_shapes_that_do_not_match() -> None:
    with pytest.raises(ValueError, match="shape"):
        wg.jit(lambda x: np.broadcast(x, np.ones(3)).shape, strict=True)(X)

"""Views and writes: who shares memory with whom is NumPy's answer, whatever is traced."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import as_numpy, same
from wengert.errors import MutationError

A = np.arange(24.0).reshape(2, 3, 4) / 10 - 1


VIEWS: dict[str, Callable[[Any], Any]] = {
    "a slice": lambda x: x[1:],
    "a step backwards": lambda x: x[::-1],
    "every other": lambda x: x[..., ::2],
    "an integer": lambda x: x[0],
    "an ellipsis and an integer": lambda x: x[..., -1],
    "a new axis": lambda x: x[:, None],
    "everything": lambda x: x[...],
    "T": lambda x: x.T,
    "swapaxes": lambda x: np.swapaxes(x, 0, -1),
    "moveaxis": lambda x: np.moveaxis(x, 0, -1),
    "rollaxis": lambda x: np.rollaxis(x, x.ndim - 1),
    "reshape": lambda x: x.reshape(-1),
    "reshape in two": lambda x: x.reshape(2, -1) if x.size % 2 == 0 else x.reshape(1, -1),
    "ravel": lambda x: x.ravel(),
    "np.ravel": lambda x: np.ravel(x),
    "squeeze": lambda x: np.squeeze(x[:, None], 1),
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "flip": lambda x: np.flip(x),
    "rot90": lambda x: np.rot90(x) if x.ndim > 1 else x,
    "split": lambda x: np.split(x, x.shape[-1], -1)[0],
    "array_split": lambda x: np.array_split(x, 2)[0],
    "atleast_3d": lambda x: np.atleast_3d(x),
    "asarray": lambda x: np.asarray(x),
    "view": lambda x: x.view(),
    "real": lambda x: x.real,
    "the rows": lambda x: next(iter(x)) if x.ndim > 1 else x,
    # copies
    "flatten": lambda x: x.flatten(),
    "copy": lambda x: x.copy(),
    "an index list": lambda x: x[[0]],
    "a mask": lambda x: x[x < 10],
    "np.array": lambda x: np.array(x),
    "arithmetic": lambda x: x + 0,
    "roll": lambda x: np.roll(x, 1),
    "take": lambda x: np.take(x, [0], -1),
}


@pytest.mark.sampled(21, "all pairs of views")
@pytest.mark.parametrize("second", VIEWS)
@pytest.mark.parametrize("first", VIEWS)
def test_a_view_of_a_view_shares_what_numpy_shares(first: str, second: str) -> None:
    def f(x: Any) -> Any:
        x = x * 1.0
        a = VIEWS[first](x)
        b = VIEWS[second](a)
        seen = x + 0  # before
        if b.ndim:
            b[..., :1] = 7.0  # down to the root
        x[-1] += 2.0  # up to the views
        if a.ndim:
            a[..., -1] *= x[0, 0, 0]  # from the middle, both ways
        return seen, x, a, b

    as_numpy(f, A)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_an_array_of_constants(name: str) -> None:
    """The array is kept as an ndarray until something traced is written."""

    def f(x: Any) -> Any:
        z = np.zeros((2, 3, 4))
        v = VIEWS[name](z)
        z[0] = 1.0
        v[..., 0] = 2.0  # still constant
        v[..., -1] = x[0, 0, 0]  # and now traced
        z[1, 1] += 3.0
        return z, v

    as_numpy(f, A)


def test_reshape_of_what_is_not_contiguous_copies() -> None:
    def f(x: Any) -> Any:
        x = x * 1.0
        copied, shared = x.T.reshape(-1), x[:, 1:].T.reshape(4, -1)
        lines = x[:, :2].reshape(2, 8)  # not contiguous, and yet one stride fits
        copied[0], shared[0, 0], lines[0, 0] = 7.0, 8.0, 9.0
        return x, copied, shared, lines

    as_numpy(f, A)


def test_broadcast_views_and_diagonals_are_read_only() -> None:
    for make in (
        lambda x: np.broadcast_to(x, (5, 2, 3, 4)),
        lambda x: np.broadcast_to(x, (5, 2, 3, 4))[0],
        lambda x: np.diagonal(x),
        lambda x: np.diagonal(x)[0],
        lambda x: np.diagonal(x).T,
    ):

        def f(x: Any, make: Any = make) -> Any:
            v = make(x * 1.0)
            v[...] = 0.0
            return v

        with pytest.raises(ValueError, match="read-only"):
            f(A)
        with pytest.raises(MutationError, match=r"read-only(.|\n)*np\.array\(x\)"):
            wg.jit(f, strict=True)(A)


def test_a_read_only_view_sees_writes_to_its_base() -> None:
    def f(x: Any) -> Any:
        x = x * 1.0
        wide, diagonal = np.broadcast_to(x[0, 0], (2, 4)), np.diagonal(x)
        x[0] = 5.0
        return wide, diagonal, wide.copy() + 1

    as_numpy(f, A)


def test_a_value_read_before_a_write_stays() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        scalar, row_sum, alias = y[0, 0, 0], y[0].sum(), y
        y[...] = 0.0
        return scalar, row_sum, alias, y is alias

    got = wg.jit(lambda x: f(x)[:3])(A)
    same(got, f(A)[:3])


def test_a_write_that_reads_what_it_writes() -> None:
    def f(x: Any) -> Any:
        x = x * 1.0
        x[1:] = x[:-1]
        x[..., 1:] += x[..., :-1]
        x[..., ::-1] = x
        x[0], x[1] = x[1] * 2, x[0] + 1
        return x

    as_numpy(f, A)


def test_swapping_two_rows_through_views_is_numpys_surprise() -> None:
    """``x[0], x[1] = x[1], x[0]`` swaps nothing: both sides are views."""

    def f(x: Any) -> Any:
        x = x * 1.0
        x[0], x[1] = x[1], x[0]
        return x

    as_numpy(f, A)
    got = wg.jit(f)(A)
    np.testing.assert_array_equal(got[0], got[1])


def test_the_argument_itself_is_never_written() -> None:
    def f(x: Any) -> Any:
        x[0] = 0.0
        return x

    x = A.copy()
    np.testing.assert_array_equal(wg.jit(f)(x)[0], 0)
    np.testing.assert_array_equal(x, A)
    gradient = wg.grad(lambda x: np.sum(f(x) ** 2))(x)
    np.testing.assert_array_equal(x, A)
    np.testing.assert_allclose(gradient[1], 2 * A[1])
    assert not gradient[0].any()


def test_chains_of_views_have_derivatives() -> None:
    """Σ over y with y[1:, ::2].T[0] = x², so that y keeps x elsewhere."""

    def f(x: Any) -> Any:
        y = x * 1.0
        y[1:, ::2].T[0] = x[1:, ::2].T[0] ** 2
        return np.sum(y)

    want = np.ones_like(A)
    want[1, ::2, 0] = 2 * A[1, ::2, 0]
    np.testing.assert_allclose(wg.grad(f)(A), want, rtol=1e-14)
    dx = np.cos(A)
    np.testing.assert_allclose(wg.jvp(f, (A,), (dx,))[1], np.sum(want * dx), rtol=1e-14)


def test_out_writes_through_views() -> None:
    def f(x: Any) -> Any:
        y = np.zeros((2, 3, 4))
        np.sin(x, out=y)
        np.add(x[0], 1, out=y[1])
        np.multiply(y[0], y[0], out=y[0])
        np.copyto(y[:, 0], 3.0)
        y[0, 1:].T.sort()
        return y

    as_numpy(f, A)


def test_shares_memory_between_results_and_arguments_is_never() -> None:
    x = A.copy()
    for got in wg.jit(lambda x: (x, x[0], x.T, x.reshape(-1)))(x):
        assert not np.shares_memory(got, x)


def test_views_that_nobody_reads_are_no_steps_of_the_program() -> None:
    program = wg.jit(lambda x: (x.T[0][1:].reshape(-1), x * 2)[1]).program(A)
    assert [i.op.name for i in program.tape.instrs] == ["multiply"]


def test_a_view_is_read_once_between_two_writes() -> None:
    def f(x: Any) -> Any:
        row = x[0]
        return row * row + row

    assert [i.op.name for i in wg.trace(f)(A).instrs].count("slice") == 1


def test_a_write_into_an_array_of_another_trace_is_refused() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        view = y[0]

        def inner(t: Any) -> Any:
            view[...] = t
            return t

        return wg.grad(inner)(1.0) + np.sum(y)

    with pytest.raises(MutationError, match="made outside of it"):
        wg.grad(f)(A)


def test_captured_arrays_are_not_written() -> None:
    buffer = np.zeros(3)

    def f(x: Any) -> Any:
        buffer[0] = 1.0
        return x

    with pytest.raises(MutationError, match="buffer"):
        wg.jit(f, strict=True)(1.0)
    assert not buffer.any()


def test_writes_in_a_loop_are_one_step_each() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(100)
        for k in range(100):
            y[k] = x
        return y

    tape = wg.trace(f)(2.0)
    assert len(tape) == 100
    np.testing.assert_array_equal(wg.jit(f)(2.0), np.full(100, 2.0))
    assert wg.grad(lambda x: np.sum(f(x)))(2.0) == 100


def test_an_array_of_constants_is_copied_before_a_write_if_a_tape_refers_to_it() -> None:
    def f(x: Any) -> Any:
        z = np.ones(3)
        y = x * z  # z stands on the tape now
        z[0] = 5.0
        return y, x * z

    as_numpy(f, np.arange(3.0))


def through_views_without_axes(x: Any) -> Any:
    v = np.zeros(3)
    y = v[..., 0]
    y += x[0]
    a = np.zeros((3, 3)).reshape(-1)[..., 4]
    a[()] = 3.0
    np.add(1, 2, out=v[..., 1])
    v[..., 2].fill(2.0)
    return v, a, y


def test_views_without_axes_are_written() -> None:
    as_numpy(through_views_without_axes, np.array([1.25, -0.5, 2.0]))


# ------------------------------------------------------------------------------- writes under transforms in transforms

TO_OUTER = {
    "vmap": lambda f: lambda x, k: wg.vmap(f, in_axes=(0, None))(x, k),
    "jvp": lambda f: lambda x, k: wg.jvp(lambda x: f(x, k), (x,), (x,))[0],
    "vjp": lambda f: lambda x, k: wg.vjp(lambda x: f(x, k), x)[0],
    "linearize": lambda f: lambda x, k: wg.linearize(lambda x: f(x, k), x)[0],
}
READS = ("b * k", "b + k * c", "b @ c * k", "b[idx] * k", "b[1:] + k", "k * b.T", "k + b[::2]", "np.dot(b, c * k)")
LATER_WRITES = (
    "b[0] = 3.0",
    "b[:] = 3.0",
    "b += 3.0",
    "b.fill(3.0)",
    "np.copyto(b, 3.0)",
    "np.add(b, 3.0, out=b)",
    "b[1:][:] = 3.0",
    "b[idx] = 3.0",
    "np.add.at(b, idx, 3.0)",
)


@pytest.mark.sampled(7, "all ways to make an array, under every transform")
@pytest.mark.parametrize("made", ["np.zeros(3)", "np.array(TABLE)", "np.zeros((3, 3))[1]", "np.arange(3.0)"])
@pytest.mark.parametrize("inner", TO_OUTER)
def test_a_constant_read_on_an_outer_tape_is_not_read_as_written_later(
    inner: str, made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wg.config, "native", False)
    for read in READS:
        for write in LATER_WRITES:
            names = {"np": np, "TABLE": np.array([0.5, -1.0, 2.0]), "c": np.ones(3), "idx": np.array([2, 0])}
            body = f"b = {made}; v = {read}; {write}; return x * np.sum(b) + np.sum(v)"
            exec(f"def f(x, k): {body}", names)
            f: Any = names["f"]
            x, k = np.array([1.0, 2.0]), 2.0
            want = np.stack([f(one, k) for one in x])
            mapped = TO_OUTER[inner](f)
            np.testing.assert_allclose(wg.jit(mapped)(x, k), want, err_msg=body)
            total = lambda x, k, mapped=mapped: np.sum(mapped(x, k))
            value, (_, slope) = wg.value_and_grad(total, (0, 1))(x, k)
            np.testing.assert_allclose(value, np.sum(want), err_msg=body)
            np.testing.assert_allclose(slope, np.sum(f(x[0], 3.0) - f(x[0], 2.0)) * 2, err_msg=body)


def test_a_function_compiled_within_another_does_not_write_its_caller_s_array() -> None:
    """As it does not when it is called from outside: the steps were the outer function's, and so were the writes."""

    def g(y: Any) -> Any:
        y[0] = 5.0
        return np.sum(y)

    def f(x: Any) -> Any:
        y = x * 2.0
        total = wg.jit(g)(y)
        return total + y[0]

    for run in (f, wg.jit(f), lambda x: wg.jvp(f, (x,), (x,))[0], lambda x: wg.vmap(f)(x[None])[0]):
        assert run(np.array([1.0, 2.0])) == 11.0
    np.testing.assert_array_equal(wg.grad(f)(np.array([1.0, 2.0])), [2.0, 2.0])


def test_an_array_passed_to_a_function_compiled_within_another_is_not_written() -> None:
    d = np.ones(2)

    def g(d: Any, x: Any) -> Any:
        d[0] = 5.0
        return d * x

    assert wg.grad(lambda x: np.sum(wg.jit(g)(d, x)))(2.0) == 6.0  # it writes a value of its own
    assert d[0] == 1.0 and d.flags.writeable


def test_a_view_stays_locked_with_its_array_and_both_are_unlocked_in_the_end() -> None:
    """The inner trace locks the view, the outer one then the array: the view cannot be unlocked before that."""
    d = np.ones(5000)
    v = d[1:]

    def f(x: Any) -> Any:
        inner = wg.grad(lambda y: np.sum(v * y) + np.sum(d * x))(x)
        return inner * x + np.sum(d * x)

    assert wg.grad(f)(2.0) == 4999.0 + 5000.0
    assert d.flags.writeable and v.flags.writeable


@pytest.mark.usefixtures("no_other_thread_writes")
def test_an_array_that_an_inner_function_read_is_not_written_before_the_outer_tape_is_run() -> None:
    """It is made by NumPy, unseen, too large to be copied: the outer tape reads it where it lies."""

    def f(x: Any) -> Any:
        table = LIBRARY.zeros(5000)
        inner = wg.jvp(lambda y: np.sum(table * y), (x,), (x,))[0]
        table[0] = 7.0
        return inner

    with pytest.raises(MutationError, match="read-only"):
        wg.grad(f)(2.0)


LIBRARY = types.ModuleType("scipy.made_up")
exec("import numpy as np\ndef zeros(n): return np.zeros(n)\n", vars(LIBRARY))


@pytest.mark.parametrize("inner", ["grad", "vmap"])
@pytest.mark.parametrize("made", ["np.array([1.0, 2.0])", "np.array([1.0, 2.0]) * s"])
def test_an_array_is_not_written_while_a_function_of_it_is_traced(inner: str, made: str) -> None:
    """The function had read it already, and its tape would have been run on what was written."""

    def f(s: Any) -> Any:
        b = eval(made, {"np": np, "s": s})
        part = b[:1]

        def g(x: Any) -> Any:
            y = np.sum(x * x)
            part[0] = 7.0
            return y * s

        return np.sum(wg.grad(g)(b) if inner == "grad" else wg.vmap(g)(b))

    for run in (wg.jit(f), wg.grad(f)):
        with pytest.raises(MutationError, match=r"argument of a function that is being traced[\s\S]*test_inplace"):
            run(2.0)


def test_an_array_is_written_again_after_the_function_of_it_has_returned() -> None:
    def f(s: Any) -> Any:
        b = np.array([1.0, 2.0]) * s
        slope = wg.grad(lambda x: np.sum(x * x))(b)
        b[0] = 7.0
        return np.sum(slope) + b[0]

    assert wg.jit(f)(1.0) == 13.0


def test_writing_elements_one_after_another_into_an_array_of_an_enclosing_function_s_step() -> None:
    """``flat`` and ``resize`` copied for themselves, and the copy was taken for the mapped function's."""

    def f(s: Any, x: Any) -> Any:
        y = x * 1.0
        np.put(y, [0, 3], x[0])
        y.flat[1] = 2.0
        np.fill_diagonal(y, x[1])
        return s * y

    x = np.arange(4.0).reshape(2, 2)
    want = np.stack([f(1.0, x), f(2.0, x)])
    same(wg.jit(wg.vmap(f, in_axes=(0, None)))(np.array([1.0, 2.0]), x), want)


@pytest.mark.parametrize(
    "keep",
    [
        lambda c: np.asarray_chkfinite(c),
        lambda c: c.__array__(),
        lambda c: c.flat.__array__(),
        lambda c: np.asmatrix(c),
        lambda c: np.ma.asarray(c),
    ],
)
@pytest.mark.parametrize(
    "write",
    [
        lambda c, s: c.__setitem__(1, 9.0),
        lambda c, s: c[2:].__iadd__(s),
        lambda c, s: c.fill(s),
        lambda c, s: np.copyto(c, 3.0),
        lambda c, s: c.sort(),
    ],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_what_was_made_of_an_array_by_code_that_is_not_traced_is_not_stale_after_a_write(keep: Any, write: Any) -> None:
    """It got a copy, in which the write was not seen. Once what was made is gone, the array is written as before."""

    def kept(s: Any) -> Any:
        c = np.array([4.0, 3.0, 2.0, 1.0])
        v = keep(c)
        write(c, s)
        return s * np.sum(v)

    def gone(s: Any) -> Any:
        c = np.array([4.0, 3.0, 2.0, 1.0])
        v = float(keep(c).max())
        write(c, s)
        return s * np.sum(c) + v

    for transform in (wg.value_and_grad, lambda f: wg.jit(f, strict=True)):
        with pytest.raises(MutationError, match=r"cannot be written: a function that is not traced[\s\S]*given  at"):
            transform(kept)(2.0)
    assert wg.value_and_grad(gone)(2.0)[0] == wg.jit(gone)(2.0) == gone(2.0)


def test_what_code_that_is_not_traced_was_given_is_not_stale_in_an_inner_function() -> None:
    """Made in the enclosing function, given away and written in the inner one, or read there after it was written."""

    def within(s: Any) -> Any:
        c = np.ones(4)

        def g(y: Any) -> Any:
            v = np.asarray_chkfinite(c)
            c[0] = 9.0
            return y * np.sum(v)

        return wg.grad(g)(s)

    def after(s: Any) -> Any:
        c, kept = np.ones(4), []

        def g(y: Any) -> Any:
            kept.append(np.asarray_chkfinite(c))
            return y * 1.0

        wg.grad(g)(s)
        c[0] = 9.0
        return s * np.sum(kept[0])

    for f in (within, after):
        for transform in (wg.value_and_grad, lambda f: wg.jit(f, strict=True)):
            with pytest.raises(MutationError, match="a function that is not traced"):
                transform(f)(2.0)


def test_an_array_that_was_looked_at_is_written_as_before() -> None:
    """Tables, sorted or searched, and copies that were asked for, do not keep a part of it."""

    def f(s: Any) -> Any:
        c, k = np.arange(4.0), np.array([1, 2])
        t = TABLE_OF_FOUR[k]
        n = len(set(c.tolist())) + np.unique(c).size
        v = np.asarray(c, np.float32)
        w = np.array(c)
        c[0], k[0] = 5.0, 3
        return s * np.sum(c) + np.sum(t) + n + np.sum(v) + np.sum(w) + np.sum(TABLE_OF_FOUR[k])

    assert wg.value_and_grad(f)(2.0)[0] == wg.jit(f, strict=True)(2.0) == f(2.0)


TABLE_OF_FOUR = np.arange(4.0) ** 2

"""What random programs, random keys and reviews found: each bug with the smallest program that shows it."""

from __future__ import annotations

import enum
import gc
import weakref
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from scipy import special

import wengert as wg
from tests.comparisons import as_numpy, same

X = np.arange(12.0).reshape(3, 4) - 4.5


def test_a_traced_mask_of_one_axis() -> None:
    """The op that finds the true elements returned a tuple of one where one array was promised."""
    as_numpy(lambda x: np.sum(x[x[:, 0] > 0]), X)
    as_numpy(lambda x: np.sum(x.ravel()[x.ravel() < 2] ** 2), X)


def test_a_row_at_a_traced_integer_is_a_view() -> None:
    """``row = x[k]`` with a traced ``k`` was a copy, so that a write into the row was lost without a word."""

    def f(x: Any, k: int) -> Any:
        x = x * 1.0
        row = x[k]
        row *= 2.0
        row[1:] += x[0, 1:]
        part = x[k - 1, ..., :2]
        part[...] = 0.5
        return x, row, part

    for k in (0, 1, 2, -1):
        as_numpy(f, X, k)


def test_a_view_at_a_traced_integer_of_an_array_of_constants() -> None:
    """An array made while tracing is kept as an ndarray: it must become a traced one when such a view is written."""

    def f(x: Any, k: int) -> Any:
        total = np.zeros((3, 4))
        row = total[k]
        row += x[0]
        return total, row

    as_numpy(f, X, 2)


def test_a_row_at_a_traced_integer_is_not_the_callers_memory() -> None:
    """A gather at integers alone gave a NumPy view of its operand; the next step in place wrote into the argument."""

    def f(x: Any, k: int) -> Any:
        row = x[k].copy()
        row[0] = 100.0
        return row

    as_numpy(f, X, 1)


def test_an_index_array_of_shape_empty_copies() -> None:
    """``x[np.array(0)]`` was the view that ``x[0]`` is; NumPy copies."""

    def f(x: Any) -> Any:
        x = x * 1.0
        row = x[np.array(0)]
        row[...] = 0.0
        return x, row

    as_numpy(f, X)


def test_ravel_of_what_is_not_contiguous_copies() -> None:
    """``x[0, ::2].ravel()`` was a view, as the reshape of the same would be; writes into it reached ``x``."""

    def f(x: Any) -> Any:
        x = x * 1.0
        flat, view = x[0, ::2].ravel(), x[1, ::2].reshape(-1)
        flat[...] = 0.0
        view[...] = 0.0
        diagonal = np.diagonal(x).ravel()  # the diagonal is read-only, its copy is not
        diagonal[0] = 7.0
        return x, flat, view, diagonal

    as_numpy(f, X)


def test_roll_by_nothing_copies() -> None:
    """``np.roll(x, 0)`` was ``x`` itself."""

    def f(x: Any) -> Any:
        x = x * 1.0
        rolled = np.roll(x, 0)
        rolled[0] = 0.0
        return x, rolled

    as_numpy(f, X)


def test_the_conj_of_a_real_array_is_the_array() -> None:
    """The method does not copy, the function does."""

    def f(x: Any) -> Any:
        x = x * 1.0
        a, b = x.conj(), np.conj(x)
        a[0] = 0.0
        b[1] = 0.0
        return x, a, b

    as_numpy(f, X)


def test_index_arrays_that_do_not_broadcast_are_an_index_error() -> None:
    """It was a ValueError."""
    for f in (lambda x: x[[0, 1], [0, 1, 2]], lambda x: x[np.array([0, 1]), np.array([0, 1, 2])]):
        for g in (f, wg.jit(f)):
            with pytest.raises(IndexError, match="broadcast"):
                g(X)


def test_what_selects_nothing_may_be_out_of_bounds() -> None:
    """NumPy does not look at the other index arrays then."""
    nothing = np.zeros(0, int)
    as_numpy(lambda x: x[nothing, np.array([9])], X)
    as_numpy(lambda x, i, j: x[i, j], X, nothing, np.array([9]))


def test_a_write_at_a_traced_mask_of_shape_empty() -> None:
    """It was refused, although no element needs to be looked at."""

    def f(x: Any) -> Any:
        s = np.array(x[0, 0])
        s[s < 0] = 3.0
        return s * x

    as_numpy(f, X)
    as_numpy(f, -X)


def test_item_and_tolist_give_python_numbers() -> None:
    """Of a float32 array they gave float32 values: an array of them was float32, not float64."""
    x = X.astype(np.float32)
    as_numpy(lambda x: (np.array(x.tolist()), np.array([x[0, 0].item()])), x)
    as_numpy(lambda x: x[0, 0].item() * x[1], x)  # and weak: float32 stays
    as_numpy(lambda x: x.item(5) * np.ones(2, np.float32), X)


def test_fill_of_a_scalar_does_nothing() -> None:
    """NumPy's scalars have the method too; it changed the value."""

    def f(x: Any) -> Any:
        s = x.sum()
        s.fill(2.0)
        return s * x

    as_numpy(f, X)


def test_a_numpy_scalar_alone_into_a_traced_out() -> None:
    """``np.sin(np.float64(0.3), out=x)`` raised AttributeError: np.float64 is a float to isinstance."""
    number = np.float64(0.3)

    def f(x: Any) -> Any:
        x = x * 1.0
        np.sin(number, out=x[0])
        np.add(number, 1, out=x[1])
        return x

    as_numpy(f, X)
    as_numpy(f, X.astype(np.float32))
    same(wg.grad(lambda x: np.sum(f(x)))(X), np.array([[0.0] * 4, [0.0] * 4, [1.0] * 4]))


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
            wg.jit(f)(x)


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


# ------------------------------------------------------------------------------------------------ found in review


@pytest.mark.parametrize(
    ("f", "at", "want"),
    [
        (lambda x: np.where(x > 0, np.sum(np.sqrt(np.stack([x, x]))), x), 0.0, 1.0),
        (lambda x: np.where(x > 0, np.sqrt(np.array([x, x])) @ np.ones(2), x), 0.0, 1.0),
        (lambda x: np.where(x > 0, np.cumsum(np.sqrt(np.array([x, x])))[1], x), 0.0, 1.0),
        (lambda x: np.max(np.stack([np.sqrt(x), 1 + 0 * x])), 0.0, 0.0),
        (lambda x: np.sum(np.where(np.array([False, True]), np.stack([np.sqrt(x), x]), 0.0)), 0.0, 1.0),
        (lambda x: np.sqrt(x)[0], np.array([1.0, 0.0]), [0.5, 0.0]),
        (lambda x: sum(np.sqrt(x)[i] for i in range(6)), np.array([1.0] * 6 + [0.0]), [0.5] * 6 + [0.0]),
        (lambda x: np.sqrt(x).reshape(3, 2).T.ravel()[-1], np.array([1.0, 0, 4, 1, 1, 1]), [0, 0, 0, 0, 0, 0.5]),
        (lambda x: np.where(np.zeros(3, bool), np.sqrt(x), 0).sum(), 0.0, 0.0),
    ],
)
def test_structural_zeros_meet_no_infinite_partial(f: Any, at: Any, want: Any) -> None:
    """The cotangent of what is not selected, or not read, became a dense 0 on its way, and 0 · ∞ is NaN."""
    np.testing.assert_array_equal(wg.grad(f)(at), want)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Sentinel:
    pass


SENTINEL = Sentinel()


def test_enums_and_sentinels_stay_themselves_under_jit() -> None:
    """The walk of the environment copied them, and `is` took the other branch."""
    colour = Colour.BLUE
    assert wg.jit(lambda x: x * (2 if colour is Colour.BLUE else 1))(3.0) == 6.0
    assert wg.jit(lambda x, m: x * (2 if m is SENTINEL else 1))(3.0, SENTINEL) == 6.0


def test_objects_and_functions_as_arguments_are_not_stale() -> None:
    """Arguments that are not traced were looked up by identity, and what they held was never looked at again."""

    class Model:
        def __init__(self) -> None:
            self.k = 2.0

        @wg.jit
        def f(self, x: Any) -> Any:
            return x * self.k

    model = Model()
    assert model.f(3.0) == 6.0
    model.k = 5.0
    assert model.f(3.0) == 15.0
    k = 2.0
    apply = wg.jit(lambda h, x: h(x))
    h = lambda x: k * x
    assert apply(h, 3.0) == 6.0
    k = 5.0
    assert apply(h, 3.0) == 15.0


def test_the_original_of_an_argument_is_not_written_meanwhile() -> None:
    """The tape is run after the function, and read what the function had written into the array it was called with."""
    a = np.ones(3)

    def f(x: Any) -> Any:
        y = np.sum(x * x)
        a[0] = 100.0
        return y

    with pytest.raises(wg.errors.MutationError, match="test_found"):
        wg.value_and_grad(f)(a)
    a[0] = 2.0  # and it is writeable again
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(x * x))(a), [4.0, 2.0, 2.0])


def test_arrays_with_an_arithmetic_of_their_own_are_refused() -> None:
    """A matrix was multiplied element by element, and the mask of a masked array was not looked at."""
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="matrix"), pytest.warns(PendingDeprecationWarning):
        wg.jit(lambda x: x * x)(np.matrix([[1.0, 2.0], [3.0, 4.0]]))
    with pytest.raises(wg.errors.UnsupportedFunctionError, match="filled"):
        wg.grad(lambda x: np.sum(x * x))(np.ma.array([1.0, 2.0], mask=[0, 1]))


def test_primitives_get_what_they_would_get_untraced() -> None:
    """They could write into the caller's array, Python's numbers came as int64, and 1 and True were one setting."""

    @wg.primitive
    def writes(x: Any) -> Any:
        x *= 2
        return x.sum()

    writes.def_pullback(lambda ct, y, x: (ct * np.ones(3),))
    a = np.ones(3)
    with pytest.raises(wg.errors.MutationError):
        wg.grad(lambda x: writes(x) + np.sum(x))(a)
    np.testing.assert_array_equal(a, np.ones(3))
    times = wg.primitive(lambda x, n: x * n)
    assert wg.jit(times)(np.float32(2), 3).dtype == np.float32
    either = wg.primitive(lambda x, n=1: x * (10 if n is True else n))
    assert wg.jit(lambda x: (either(x, n=1), either(x, n=True)))(2.0) == (2.0, 20.0)
    np.testing.assert_array_equal(wg.vmap(wg.primitive(lambda x: x * 2))(np.ones((2, 3))), np.full((2, 3), 2.0))


def test_vmap_takes_an_ordered_dict_in_its_own_order() -> None:
    d = OrderedDict(b=np.arange(4.0).reshape(2, 2), a=np.zeros((2, 2)))
    axes = OrderedDict(b=0, a=1)
    np.testing.assert_array_equal(wg.vmap(lambda d: d["a"].sum() + d["b"].sum(), in_axes=(axes,))(d), [1.0, 5.0])


def test_nothing_keeps_arguments_alive() -> None:
    """A jitted function kept the arrays it was traced with; an un-jitted call freed its own only at a collection."""
    jitted = wg.jit(lambda x: x * 2 if x[0] > 0 else x)
    for call, collect in ((jitted, True), (wg.grad(lambda x: np.sum(x * 2)), False)):
        gc.collect()
        gc.disable()
        try:
            x = np.ones(1000)
            alive = weakref.ref(x)
            call(x)
            del x
            if collect:
                gc.collect()
            assert alive() is None
        finally:
            gc.enable()


def test_read_only_out_is_refused_before_anything_is_written() -> None:
    first, second = np.zeros(3), np.zeros(3)
    second.flags.writeable = False
    with pytest.raises(wg.errors.StructureError, match="read-only"):
        wg.jit(lambda x: (x * 2, x * 3))(np.ones(3), out=(first, second))
    np.testing.assert_array_equal(first, np.zeros(3))


@pytest.mark.parametrize("n", [3, 100])
def test_signed_and_unsigned_integers_of_one_width_in_one_kernel(n: int) -> None:
    """LLVM's code for both is the same text; the value of one was taken for the other's."""
    a, b = np.arange(n).astype("u4"), np.arange(-1, n - 1).astype("i4")
    as_numpy(lambda a: (a > 0) + 0, a.astype("u8"))
    as_numpy(lambda a, b: (a > 5) + (b * 5), a, b)
    as_numpy(lambda a, b: (a == 0) | (b == 0), a, b)


def test_a_fused_step_without_native_code_reads_its_own_literals() -> None:
    """Those that are operands of a kernel were handed to the reference too, which refused them."""
    as_numpy(lambda x: x * np.float64(1.3), np.ones(3000, np.float16))


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_what_python_computes_is_written_into_a_part_of_an_array(dtype: Any) -> None:
    """The results of callbacks were copied side by side, also to where the columns of a larger array are."""
    x = (X[::-1] + 5).astype(dtype)
    as_numpy(lambda x: np.concatenate([special.gammaln(x.astype(float)), x.astype(float)], 1), x)
    as_numpy(lambda x: np.pad(x.astype(float), 1), x)
    as_numpy(lambda x: np.stack([np.abs(x + 1j), x.astype(float)], -1), x)
    as_numpy(lambda x: np.concatenate([np.gcd(x, 4), x], 1), x.astype(int))


def test_a_derivative_inside_vmap_does_not_look_at_the_first_example() -> None:
    """The branch that the first example takes was taken for all of them."""

    def f(x: Any) -> Any:
        return np.sum(x) * (2 if x[0] > x[1] else 3)

    examples = np.array([[1.0, 2.0], [2.0, 1.0]])
    for inside in (wg.grad(f), wg.hessian(f), lambda x: wg.jvp(f, (x,), (x,))[1], lambda x: wg.vjp(f, x)[1](1.0)):
        for mapped in (wg.vmap(inside), wg.jit(wg.vmap(inside))):
            with pytest.raises(wg.errors.ConcretizationError, match=r"vmap runs all examples at once(.|\n)*np\.where"):
                mapped(examples)
    scaled = wg.vmap(lambda x: x * wg.grad(lambda y: y * (2.0 if y > 1 else 3.0))(5.0))  # this is no example's
    np.testing.assert_array_equal(scaled(examples), 2 * examples)


def test_errors_of_arithmetic_cannot_be_asked_for() -> None:
    """``np.errstate`` said nothing to compiled code, which went on with an infinity."""

    def f(x: Any) -> Any:
        try:
            with np.errstate(divide="raise"):
                return np.log(x)
        except FloatingPointError:
            return -x

    with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"errstate: divide='raise'(.|\n)*test_found\.py"):
        wg.jit(f)(np.zeros(2))

    def quiet(x: Any) -> Any:
        with np.errstate(divide="ignore", invalid="warn"):
            return np.log(x)

    with np.errstate(divide="ignore"):
        as_numpy(quiet, np.zeros(2))


def test_an_integer_of_more_than_64_bits_cannot_be_returned() -> None:
    """It has no dtype, which came out as an AttributeError."""
    with pytest.raises(OverflowError, match="more than 64 bits"):
        wg.jit(lambda x: (x, 2**70))(1.0)


def test_one_element_by_a_traced_number_from_the_end() -> None:
    as_numpy(lambda x, k: x.T.item(k) * 2 + x.item(k, 0), X, np.int64(-2))


def test_the_derivative_of_determinants_of_which_some_are_zero() -> None:
    """One of them sent all of a stack the slow way; now each goes its own. Against minors."""
    x = np.random.default_rng(0).standard_normal((5, 4, 4))
    x[1] = 0
    x[2, 0] = x[2, 3]
    x[3] *= 1e-90  # its determinant is zero in float64, not its cofactors
    minors = [
        [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(m, i, 0), j, 1)) for j in range(4)] for i in range(4)]
        for m in x
    ]
    gradient = wg.jit(wg.grad(lambda x: np.sum(np.linalg.det(x))))(x)
    scale = np.max(np.abs(minors), (1, 2), keepdims=True)
    assert np.all(np.abs(gradient - minors) <= 1e-13 * scale)


def test_long_steps_without_native_code_stay_callbacks() -> None:
    """The pass that computes cheap values again merged them with what it found beside them, if that was 16 KiB long: a
    KeyError, numbers instead of NumPy's error, and an integer division by zero that ended the process."""
    x, n = np.linspace(0.5, 3, 4000), np.arange(1, 4001)
    as_numpy(lambda x: special.gammaln(2 * x) + 1, x)
    as_numpy(lambda n: special.gammaln(n), n)
    as_numpy(lambda n: np.gcd(n + 1, 6) * 2, n)
    as_numpy(lambda x: np.signbit(x.astype(np.float16)) * 2, x)
    as_numpy(lambda x: np.abs(x.astype(complex)) + 1, x)
    with np.errstate(divide="ignore", invalid="ignore"):
        as_numpy(lambda n: np.reciprocal(2 * n) + 1, n - 1)
    np.testing.assert_allclose(
        wg.jit(wg.grad(lambda x: np.sum(special.gammaln(2 * x))))(x), 2 * special.digamma(2 * x), rtol=1e-13
    )
    with pytest.raises(ValueError, match="negative integer powers"):
        wg.jit(lambda n: (n + 1) ** n)(-n)


def test_an_array_made_of_a_scalar_is_not_a_view_of_it() -> None:
    """A write into ``s[...]`` reached ``s``, and the array that it is an element of."""

    def f(x: Any) -> Any:
        s, t = x[0], np.sum(x)
        v, w = s[...], t[None]
        v *= 5
        w += 1
        return s + x[0] + t, v, w

    as_numpy(f, np.ones(3))
    np.testing.assert_array_equal(wg.grad(lambda x: f(x)[0])(np.ones(3)), [3, 1, 1])


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.int64, np.float32])
def test_the_middle_of_integers_is_computed_in_float(dtype: Any) -> None:
    """The two middle values were added as what they are: True + True is True, and 100 + 100 no int8."""
    x = (np.array([[1, 120, 110, 90], [0, 100, 100, 0]]) > (1 if dtype is np.bool_ else -1)) * 100
    x = (x if dtype is not np.bool_ else x > 0).astype(dtype)
    for f in (np.median, np.nanmedian):
        as_numpy(lambda x, f=f: (f(x), f(x, 1), f(x, axis=0, keepdims=True)), x)


def test_functions_of_libraries_that_are_not_traced_are_named() -> None:
    """What the error said was to write np.array instead of an import."""
    linalg = pytest.importorskip("scipy.linalg")
    errors = wg.errors.ConcretizationError
    with pytest.raises(
        errors, match=r"scipy\.linalg\.solve is not traced(.|\n)*test_found\.py(.|\n)*np\.linalg\.solve"
    ):
        wg.jit(lambda a: linalg.solve(a, a[0]))(np.eye(2))
    double = np.vectorize(lambda x: 2 * x)
    with pytest.raises(errors, match=r"np\.vectorize is not traced(.|\n)*test_found\.py(.|\n)*wg\.vmap\(f\)\(x\)"):
        wg.jit(double)(np.ones(3))
    with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"np\.nditer(.|\n)*x\.flat"):
        wg.jit(lambda x: [2 * one for one in np.nditer(x)])(np.ones(3))


@pytest.mark.parametrize("native", [True, False])
def test_errors_of_a_running_step_say_the_line(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """``LinAlgError: Singular matrix`` pointed at the call of the compiled function, and into the library."""
    monkeypatch.setattr(wg.config, "native", native)

    def inverse(a: Any) -> Any:
        b = a * 2
        c = np.linalg.inv(b)  # here: inverse
        return np.sum(c)

    def power(x: Any, n: Any) -> Any:
        y = x + 1
        z = y**n  # here: power
        return z * 2 + x

    @wg.primitive
    def strict(x: Any) -> Any:
        if x[0] < 0:
            raise ValueError("negative")
        return x

    def own(x: Any) -> Any:
        y = strict(x)  # here: own
        return y * 2

    def indexed(x: Any, i: Any) -> Any:
        return np.sin(x[i + 1])  # here: indexed

    for f, good, bad, error in [
        (inverse, (np.eye(2),), (np.zeros((2, 2)),), np.linalg.LinAlgError),
        (power, (np.arange(3), 1), (np.arange(3), -1), ValueError),
        (own, (np.ones(2),), (-np.ones(2),), ValueError),
        (indexed, (np.ones(3), 1), (np.ones(3), 7), IndexError),
    ]:
        g = wg.jit(f)
        g(*good)
        with pytest.raises(error) as raised:
            g(*bad)
        assert [f"# here: {f.__name__}" in note for note in raised.value.__notes__] == [True]
        g(*good)
    with pytest.raises(np.linalg.LinAlgError) as raised:
        wg.grad(inverse)(np.zeros((2, 2)))
    assert "# here: inverse" in raised.value.__notes__[0]


def test_equal_steps_of_other_lines_say_their_own() -> None:
    """Un-jitted gradients share programs; the line is that of the function that was called."""
    first = wg.grad(lambda a: np.sum(np.linalg.inv(a)))  # first
    second = wg.grad(lambda a: np.sum(np.linalg.inv(a)))  # second
    for f, name in (first, "first"), (second, "second"), (first, "first"):
        with pytest.raises(np.linalg.LinAlgError) as raised:
            f(np.zeros((2, 2)))
        assert raised.value.__notes__[0].endswith(f"# {name}")

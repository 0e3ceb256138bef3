"""Loops that were unrolled, rolled up: what their tapes become, and that they compute what they did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert as wg
from tests.ops.check_op import formula
from wengert.ad.reverse import vjp
from wengert.codegen.bodies import parts_of
from wengert.codegen.lowered import lowered_tape
from wengert.codegen.target import target
from wengert.edit import play
from wengert.errors import GuardError
from wengert.ops.elementwise import multiply
from wengert.ops.index import set_slice, slice_
from wengert.ops.kernels import Callback, flops
from wengert.ops.op import Op
from wengert.ops.shape import broadcast_to, concatenate, reshape
from wengert.passes.reroll import reroll, roller
from wengert.passes.reroll.pieces import IterationStep, Piece, Ref, part, read, simplest, whole
from wengert.passes.reroll.repeats import FEWEST
from wengert.tape import Aval, Lit, Tape, Var, check

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def short_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scans whatever they save."""
    monkeypatch.setattr(roller, "LEAST_SCANNED", 0)


def ops(tape: Tape) -> list[str]:
    return [i.op.name for i in tape.instrs]


def value(tape: Tape, *args: Any) -> Any:
    return play(tape, *args)[tape.outputs[0]]


def rolled(f: Callable[..., Any], *args: Any) -> Tape:
    """The tape of ``f``, rolled up; that it computes the same, and its gradient, was seen."""
    tape = wg.trace(f)(*args)
    new = check(reroll(tape))
    np.testing.assert_allclose(value(new, *args), f(*args), rtol=1e-11, atol=1e-13)
    arguments = (tuple(range(len(args))), (0,), "one")
    for seen, expected in zip(*[_cotangents(vjp(t, *arguments), args) for t in (new, tape)], strict=True):
        np.testing.assert_allclose(seen, expected, rtol=1e-9, atol=1e-11)
    return new


def _cotangents(tape: Tape, args: Any) -> list[Any]:
    values = play(tape, *args)
    return [values[a] for a in tape.outputs[1:]]


# ------------------------------------------------------------------------------------------------- array steps


@pytest.mark.parametrize("n", [10, 100])
def test_a_sum_over_elements(n: int) -> None:
    tape = rolled(lambda x: sum(np.exp(v) for v in x), RNG.normal(size=n))
    assert ops(tape) == ["exp", "sum", "add"]


def test_few_elements_stay_as_they_are() -> None:
    tape = wg.trace(lambda x: sum(np.exp(v) for v in x))(np.ones(5))
    assert reroll(tape) is tape


def test_a_tape_of_few_steps_stays_as_it_is() -> None:
    def chain(n: int) -> Tape:
        def f(x: Any) -> Any:
            for _ in range(n):
                x = np.sin(x)
            return x

        return wg.trace(f)(np.ones(3))

    short, long = chain(2 * FEWEST - 1), chain(2 * FEWEST)
    assert reroll(short) is short
    assert "scan" in ops(reroll(long))


def test_neighbours() -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for i in range(len(x) - 1):
            s += x[i] * x[i + 1]
        return s

    assert ops(rolled(f, RNG.normal(size=20))) == ["slice", "slice", "multiply", "sum", "add"]


def test_pairs_are_one_loop() -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for i in range(len(x)):
            for j in range(i + 1, len(x)):
                s += np.sqrt((x[i] - x[j]) ** 2 + 1)
        return s

    lengths = {len(rolled(f, RNG.normal(size=n))) for n in (7, 12)}
    assert lengths == {8}


def test_rows_of_a_matrix_and_a_list_that_is_joined() -> None:
    def f(m: Any, w: Any) -> Any:
        return np.sum(np.array([np.tanh(np.sum(row * w)) for row in m]) ** 2)

    assert ops(rolled(f, RNG.normal(size=(9, 4)), RNG.normal(size=4))) == ["multiply", "sum", "tanh", "square", "sum"]


def test_an_array_that_is_filled() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(len(x))
        for i in range(len(x)):
            y[i] = np.sin(x[i]) * (i + 2)
        return np.sum(y * y)

    assert ops(rolled(f, RNG.normal(size=12))) == ["sin", "multiply", "multiply", "sum"]


def test_partial_sums_are_a_running_sum() -> None:
    def f(x: Any) -> Any:
        s, out = 0.0, []
        for v in x:
            s -= v * v
            out.append(s)
        return np.sum(np.array(out) ** 2)

    assert "cumsum" in ops(rolled(f, RNG.normal(size=12)))


def test_a_sum_of_arrays_backwards() -> None:
    def f(m: Any) -> Any:
        s = np.ones(3)
        for k in range(11, -1, -1):
            s = s + np.exp(m[k]) - m[k] * 2.0
        return np.sum(s**2)

    assert "scan" not in ops(rolled(f, RNG.normal(size=(12, 3))))


def alternating(x: Any) -> Any:
    s = 0.0
    for v in x:
        s = v - s
    return s


def doubled(x: Any) -> Any:
    s = x[0]
    for v in x:
        s = s + s
        s = s - v
    return s


def beginning_with_another(x: Any) -> Any:
    """The first iteration adds to what it has made itself."""
    s, made = 0.0, []
    for k in range(len(x)):
        made.append(np.sin(x[k]))
        s = (made[-1] if k == 0 else s) + x[k]
    return s * sum(made)


def in_two_steps(x: Any) -> Any:
    s = x[1] * 2.0
    for k in range(len(x)):
        s = x[k] + s
        s = s - x[k] * x[k]
    return s


def with_a_partial_sum_read(x: Any) -> Any:
    s, t = 0.0, 0.0
    for v in x:
        s = s + v
        t = t + s
        s = s - t * 0.1
    return s + t


def of_the_second_but_one(x: Any) -> Any:
    s, before = x[0], x[1]
    for v in x:
        s, before = before + v, s
    return s * before


def of_columns_and_numbers(x: Any) -> Any:
    s = np.zeros(2)
    for k in range(len(x) - 2):
        s = s + x[k : k + 2]
    return s[0] * s[1]


SUMS = {
    f.__name__: f
    for f in (
        alternating,
        doubled,
        beginning_with_another,
        in_two_steps,
        with_a_partial_sum_read,
        of_the_second_but_one,
        of_columns_and_numbers,
    )
}


@pytest.mark.parametrize("name", SUMS)
def test_what_is_nearly_a_sum_is_computed_as_it_is(name: str) -> None:
    rolled(SUMS[name], RNG.normal(size=13))


def test_a_step_that_has_no_batch_is_no_loop() -> None:
    bare = Op(
        name="bare",
        reference=lambda x: x * 2,
        type=lambda x: x,
        kernel=Callback("a test"),
        cost=flops(1),
        pushforward=lambda xs, dxs, y: dxs[0],
    )
    made = formula(
        lambda x: sum([bare(slice_(x, index=(k,))) for k in range(12)], Lit(0.0)), Aval((12,), np.dtype(float))
    )
    kept = check(reroll(made))
    assert ops(kept).count("bare") == 12
    assert value(kept, np.arange(12.0)) == 132.0


# ------------------------------------------------------------------------------------------------- pieces


def seen(steps: list[IterationStep], outputs: list[Ref], env: dict[Any, Any]) -> list[Any]:
    """What steps on pieces compute: an interpreter that knows pieces by their elements."""

    def of(ref: Ref) -> Any:
        if not isinstance(ref, Piece):
            return ref.value if isinstance(ref, Lit) else env[ref]
        flat = np.asarray(of(ref.base)).ravel()
        at = np.full(ref.shape, ref.start)
        for axis, (n, stride) in enumerate(zip(ref.shape, ref.strides, strict=True)):
            at = at + (np.arange(n) * stride).reshape([-1 if k == axis else 1 for k in range(len(ref.shape))])
        return flat[at]

    for step in steps:
        if step.op is not None:
            made = step.op.reference(*[of(r) for r in step.refs], **step.params)
            env.update(zip(step.outs, made if len(step.outs) > 1 else (made,), strict=True))
            continue
        (out,), n = step.outs, len(step.places)
        whole = np.full(out.aval.shape, np.nan) if step.is_covered else np.array(of(step.refs[0]))
        flat = whole.reshape(-1)
        for place, ref in zip(step.places, step.refs[-n:], strict=True):
            part = np.asarray(of(ref)).ravel()
            flat[place : place + part.size] = part
        env[out] = flat.reshape(out.aval.shape)
    return [of(r) for r in outputs]


@st.composite
def reads_and_writes(draw: st.DrawFn) -> Callable[[Any, Any], Any]:
    """A function of reads, writes, views and joins of pieces, with some that compute between them."""
    choices = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 10**6)), min_size=1, max_size=12))

    def f(x: Any, y: Any) -> Any:
        values = [x, y]
        for what, seed in choices:
            rng = np.random.default_rng(seed)
            a = values[int(rng.integers(len(values)))]
            shape = a.aval.shape
            if what == 0:  # a read, at numbers and slices
                index = []
                for n in shape:
                    if rng.random() < 0.4:
                        index.append(int(rng.integers(n)))
                    else:
                        start = int(rng.integers(n))
                        step = int(rng.choice([1, 1, 2, -1]))
                        room = (n - 1 - start) // step if step > 0 else start // -step
                        index.append((start, int(rng.integers(room + 1)) + 1, step))
                values.append(slice_(a, index=tuple(index)) if shape else a)
            elif what in (1, 2) and shape:  # a write of a row or an element, by number
                count = int(rng.integers(1, len(shape) + 1))
                index = tuple([int(rng.integers(n)) for n in shape[:count]])
                rest = shape[count:]
                fitting = [v for v in values if v.aval.shape == rest]
                v = fitting[int(rng.integers(len(fitting)))] if fitting and rng.random() < 0.7 else None
                if v is None:
                    v = broadcast_to(Lit(float(rng.integers(9))), shape=rest) if rest else Lit(float(rng.integers(9)))
                values.append(set_slice(a, v, index=(*index, *[(0, n, 1) for n in rest])))
            elif what == 3 and a.aval.size:
                size = a.aval.size
                divisors = [d for d in range(1, size + 1) if size % d == 0]
                d = int(rng.choice(divisors))
                values.append(reshape(a, shape=(d, size // d) if rng.random() < 0.6 else (size,)))
            elif what == 4 and shape and a.aval.size < 60:
                rows = [v for v in values if v.aval.shape == (1, *shape[1:])]
                rows += [slice_(a, index=((k, 1, 1), *[(0, n, 1) for n in shape[1:]])) for k in range(min(shape[0], 2))]
                values.append(concatenate(*rows, axis=0) if len(rows) > 1 else a)
            elif what == 5:
                values.append(multiply(a, 2.0))
        return tuple(values[2:])

    return f


@settings(max_examples=60, deadline=None)
@given(reads_and_writes())
def test_pieces_are_the_elements_that_they_stand_for(f: Callable[[Any, Any], Any]) -> None:
    made = formula(f, Aval((3, 4), np.dtype(float)), Aval((2, 2, 3), np.dtype(float)))
    args = [np.arange(12.0).reshape(3, 4), 100 + np.arange(12.0).reshape(2, 2, 3)]
    steps, outputs = read(made)
    env = dict(zip(made.inputs, args, strict=True))
    with np.errstate(all="ignore"):
        found, expected = seen(steps, outputs, env), play(made, *args)
    for got, out in zip(found, made.outputs, strict=True):
        np.testing.assert_array_equal(got, expected[out])
    assert slice_ not in {s.op for s in steps}


INDICES: list[tuple[Any, ...]] = [
    (1, 2), (0, (1, 3, 1)), ((0, 3, 1), 3), ((1, 2, 1), (1, 3, 1)), ((0, 2, 2), (3, 2, -2)), ((2, 3, -1), (0, 2, 3)),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_part_of_a_part_is_where_its_elements_lie(index: tuple[Any, ...]) -> None:
    x = Var(Aval((3, 4), np.dtype(float)))
    array = np.arange(12.0).reshape(3, 4)
    piece = part(whole(x), index)
    (got,) = seen([], [piece], {x: array})
    want = slice_.reference(array, index=index)
    np.testing.assert_array_equal(got, want)
    if want.ndim:
        inner = (slice(None, None, -1),) + (0,) * (want.ndim - 1)
        again = part(piece, ((len(want) - 1, len(want), -1), *(0,) * (want.ndim - 1)))
        np.testing.assert_array_equal(seen([], [again], {x: array})[0], want[inner])
        if want.ndim == 1:
            assert seen([], [part(piece, (1,))], {x: array})[0] == want[1]


def test_a_piece_that_is_all_of_its_array_is_the_array() -> None:
    x, s = Var(Aval((3, 4), np.dtype(float))), Var(Aval((), np.dtype(float)))
    assert simplest(whole(x)) is x and simplest(whole(s)) is s
    for index in ((1, 2), (0, (0, 4, 1)), ((0, 3, 1), (3, 4, -1)), ((0, 2, 1), (0, 4, 1))):
        piece = part(whole(x), index)
        assert simplest(piece) is piece
    assert simplest(part(whole(x), ((0, 3, 1), (0, 4, 1)))) is x
    one = Var(Aval((1,), np.dtype(float)))
    assert isinstance(simplest(part(whole(one), (0,))), Piece)


def test_two_arrays_written_from_one_are_two() -> None:
    """The second write goes on from the first version, not from what the other made of it."""

    def f(x: Any, y: Any) -> Any:
        first = set_slice(x, Lit(1.0), index=(0,))
        second = set_slice(first, Lit(2.0), index=(1,))
        other = set_slice(first, Lit(3.0), index=(2,))
        again = set_slice(slice_(second, index=((0, 3, 1),)), Lit(4.0), index=(0,))
        return slice_(other, index=(1,)), slice_(second, index=(1,)), second, other, again

    made = formula(f, Aval((3,), np.dtype(float)), Aval((), np.dtype(float)))
    steps, outputs = read(made)
    args = [np.array([7.0, 8.0, 9.0]), 0.0]
    found, expected = seen(steps, outputs, dict(zip(made.inputs, args, strict=True))), play(made, *args)
    for got, out in zip(found, made.outputs, strict=True):
        np.testing.assert_array_equal(got, expected[out])


# ------------------------------------------------------------------------------------------- loops of any count


def until_large(x: Any) -> Any:
    while x < 100.0:
        x = x * 1.5 + 1
    return x


def for_a_count(x: Any, n: Any) -> Any:
    for k in range(n):
        x = np.sin(x) + k
    return x


def test_loops_of_several_counts_become_one_of_any() -> None:
    f, g = wg.jit(until_large), wg.jit(for_a_count)
    for x in (1.0, 5.0, 10.0, 0.5):
        assert f(x) == pytest.approx(until_large(x), rel=1e-12)
    assert "while" in ops(f.program(2.0).tape) and f.stats()["traces"] <= 4
    for n in (5, 7, 9, 6, 30):
        assert g(0.3, n) == pytest.approx(for_a_count(0.3, n), rel=1e-12)
    assert "while" in ops(g.program(0.3, 8).tape) and g.stats()["traces"] <= 6


# ------------------------------------------------------------------------------------------------- recurrences


def horner(c: Any, x: Any) -> Any:
    s = 0.0
    for a in c:
        s = s * x + a
    return s


def smoothed(x: Any) -> Any:
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + np.sin(x[i])
    return np.sum(y * y)


def two_back(x: Any) -> Any:
    y = [x[0], x[1]]
    for i in range(2, len(x)):
        y.append(0.5 * y[i - 1] + np.sin(x[i]) * y[i - 2])
    return sum(y)


def runge_kutta(y: Any) -> Any:
    def rate(y: Any) -> Any:
        return [y[1] * y[2], -y[0] * y[2], -0.5 * y[0] * y[1]]

    state = list(y)
    for _ in range(9):
        k1 = rate(state)
        k2 = rate([a + 0.1 * b for a, b in zip(state, k1, strict=True)])
        state = [a + 0.05 * (b + c) for a, b, c in zip(state, k1, k2, strict=True)]
    return state[0] + state[1] * state[2]


def of_arrays(y: Any) -> Any:
    def rate(y: Any) -> Any:
        out = np.zeros(3)
        out[0] = y[1] * y[2]
        out[2] = -y[0] * y[1]
        return out

    for _ in range(9):
        y = y + 0.1 * rate(y + 0.05 * rate(y))
    return np.sum(y**2)


def warping(a: Any, b: Any) -> Any:
    d = np.full((len(a) + 1, len(b) + 1), np.inf)
    d[0, 0] = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d[i, j] = (a[i - 1] - b[j - 1]) ** 2 + np.minimum(np.minimum(d[i - 1, j], d[i, j - 1]), d[i - 1, j - 1])
    return d[-1, -1]


def tree_of_prices(p: Any) -> Any:
    v = [np.maximum(p[0] * 1.1**j * 0.9 ** (9 - j) - p[1], 0.0) for j in range(10)]
    for i in range(9, 0, -1):
        v = [0.99 * (p[2] * v[j + 1] + (1 - p[2]) * v[j]) for j in range(i)]
    return v[0]


def filtered(p: Any, z: Any) -> Any:
    m, cov, total = np.zeros(2), np.eye(2), 0.0
    a = np.array([[1.0, 0.1], [0.0, 1.0]]) * p[0]
    h = np.array([[1.0, 0.0]])
    for k in range(len(z)):
        m, cov = a @ m, a @ cov @ a.T + p[1] * np.eye(2)
        s = h @ cov @ h.T + 1.0
        r = z[k] - h @ m
        gain = cov @ h.T @ np.linalg.inv(s)
        m, cov = m + gain @ r, cov - gain @ h @ cov
        total = total + np.log(np.linalg.det(s)) + r @ np.linalg.solve(s, r)
    return total


def a_branch_on_the_index(x: Any, a: Any) -> Any:
    s, total = x[0], 0.0
    for t in range(len(x)):
        s = a[0] * s + x[t] ** 2 if t > 0 else s * 1.5
        total += np.log(s**2 + 1) * a[1]
    return total


def products(a: Any, b: Any) -> Any:
    c = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            for k in range(4):
                c[i, j] += a[i, k] * b[k, j]
    return np.sum(c**2)


RECURRENCES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "Horner": (horner, ((12,), ())),
    "smoothing": (smoothed, ((15,),)),
    "two back": (two_back, ((14,),)),
    "Runge-Kutta on lists": (runge_kutta, ((3,),)),
    "Runge-Kutta on arrays": (of_arrays, ((3,),)),
    "dynamic time warping": (warping, ((6,), (5,))),
    "binomial tree": (tree_of_prices, ((3,),)),
    "Kalman filter": (filtered, ((2,), (14,))),
    "a branch on the index": (a_branch_on_the_index, ((13,), (2,))),
}


def test_products_of_matrices_by_their_elements_are_sums() -> None:
    tape = rolled(products, *[RNG.uniform(0.5, 1.5, size=(4, 4)) for _ in range(2)])
    assert "scan" not in ops(tape)
    assert len(tape) < 15


@pytest.mark.parametrize("name", RECURRENCES)
def test_a_recurrence_is_a_scan(name: str) -> None:
    f, shapes = RECURRENCES[name]
    tape = rolled(f, *[RNG.uniform(0.5, 1.5, size=shape) for shape in shapes])
    assert "scan" in ops(tape)


def test_a_tape_of_one_length_for_any_number_of_iterations() -> None:
    for f in (horner, smoothed):
        xs = [(RNG.normal(size=n), 0.5)[: 2 if f is horner else 1] for n in (20, 50)]
        assert len({len(rolled(f, *x)) for x in xs}) == 1


def test_single_precision_stays_single() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(len(x), np.float32)
        for i in range(1, len(x)):
            y[i] = np.float32(0.5) * y[i - 1] + np.sin(x[i])
        return sum(np.exp(v) for v in y)

    tape = reroll(wg.trace(f)(np.ones(20, np.float32)))
    assert "scan" in ops(tape)
    assert {v.aval.dtype.name for i in tape.instrs for v in i.outs if v.aval.is_inexact} == {"float32"}


def test_every_third_of_a_matrix_that_is_carried() -> None:
    def f(m: Any) -> Any:
        for _ in range(10):
            m = np.tanh(m * np.sum(m.reshape(-1)[::3]) + m.reshape(-1)[1:11:5][0])
        return np.sum(m**2)

    rolled(f, RNG.normal(size=(4, 5)))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, bool, complex])
def test_sums_keep_their_dtype(dtype: Any) -> None:
    x = (RNG.normal(size=12) * 10).astype(dtype)

    def f(x: Any) -> Any:
        s = x[0]
        for v in x[1:]:
            s = s + v
        return s

    assert value(reroll(wg.trace(f)(x)), x) == pytest.approx(f(x), rel=1e-5)
    assert reroll(wg.trace(f)(x)).outputs[0].aval.dtype == f(x).dtype


@pytest.mark.needs_extension("what draws from a generator is traced at every call")
def test_random_numbers_are_drawn_one_by_one() -> None:
    rng = np.random.default_rng(3)

    def f(x: Any) -> Any:
        s = 0.0
        for v in x:
            s = s + rng.normal() * v
        return s

    compiled, plain = wg.jit(f), np.random.default_rng(3)
    x = np.ones(20)
    for _ in range(2):
        assert compiled(x) == pytest.approx(sum(plain.normal() for _ in range(20)))


def test_a_loop_in_a_loop() -> None:
    def f(m: Any) -> Any:
        s = 1.0
        for row in m:
            total = 0.0
            for v in row:
                total += np.exp(v)
            s = np.sin(s) * 0.5 + total
        return s

    assert "scan" in ops(rolled(f, RNG.normal(size=(9, 9))))


def test_what_is_not_the_loop_stays() -> None:
    def f(x: Any) -> Any:
        a = np.cos(x[0])
        s = sum(np.exp(v) * a for v in x)
        return np.sin(s) + x[3]

    tape = rolled(f, RNG.normal(size=10))
    assert ops(tape) == ["slice", "cos", "exp", "multiply", "sum", "add", "sin", "slice", "add"]


# ------------------------------------------------------------------------------------------------------ guards


def least_path(a: Any, b: Any) -> Any:
    d = [[0.0] * 7 for _ in range(7)]
    for i in range(1, 7):
        for j in range(1, 7):
            d[i][j] = (a[i - 1] - b[j - 1]) ** 2 + min(d[i - 1][j], d[i][j - 1])
    return d[6][6]


def test_branches_keep_their_paths() -> None:
    f = wg.jit(wg.grad(least_path))
    plain = wg.jit(wg.grad(least_path), reroll=False)
    points = [(RNG.normal(size=6), RNG.normal(size=6)) for _ in range(3)]
    for _ in range(2):
        for a, b in points:
            np.testing.assert_allclose(f(a, b), plain(a, b), rtol=1e-10)
    assert f.stats()["traces"] == plain.stats()["traces"]
    assert f.stats()["sibling_hits"] == plain.stats()["sibling_hits"]


def until_small(x: Any) -> Any:
    while abs(x) > 1e-3:
        for _ in range(9):
            x = x * 0.95 + 1e-9 * np.sin(x)
    return x


def test_loops_of_other_counts_are_other_paths() -> None:
    f = wg.jit(until_small)
    for _ in range(2):
        for x in (1.0, 1e5, -3.0, 1e9):
            assert f(x) == pytest.approx(until_small(x), rel=1e-12)
    assert f.stats()["traces"] <= 4


def test_what_a_guard_stands_before_is_not_reached() -> None:
    def f(stack: Any) -> Any:
        total = 0.0
        for a in stack:
            if np.abs(a[0, 0]) > 1e-3:
                total += np.sum(np.linalg.inv(a))
            else:
                return total
        return total

    stack = np.stack([np.eye(2) * (k + 1) for k in range(12)])
    compiled = wg.jit(f)
    assert compiled(stack) == pytest.approx(f(stack))
    stack[5] = 0.0  # singular
    assert compiled(stack) == pytest.approx(f(stack))


def test_a_guard_that_misses_says_which() -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for v in x:
            s = s * 0.5 + (np.exp(v) if v > 0 else np.cos(v))
        return s

    x = np.ones(20)
    program = wg.compile(reroll(wg.trace(f)(x)))
    assert program(x) == pytest.approx(f(x))
    x[13] = -1.0
    with pytest.raises(GuardError, match=r"a condition in a loop was .*True.*, and here it is .*False"):
        program(x)


# ----------------------------------------------------------------------------------------------- random loops

names = st.sampled_from(["sin", "multiply", "add", "subtract", "tanh"])
operands = st.tuples(st.sampled_from(["x", "y", "state", "now", "number", "k"]), st.integers(0, 3))
bodies = st.lists(st.tuples(names, operands, operands), min_size=1, max_size=5)


@settings(max_examples=80, deadline=None)
@given(bodies, st.integers(8, 12), st.booleans(), st.booleans())
def test_random_loops(body: Any, n: int, begins_otherwise: bool, is_joined: bool) -> None:
    """Of reads at some distance, of what was written before, of the state and of the number of the iteration."""

    def f(x: Any) -> Any:
        y = np.zeros(n + 4)
        y[:4] = x[:4]
        state, seen = x[1] * 1.0, []
        for k in range(n):
            now = [x[k]]
            for op, *reads in body:
                given = [
                    {
                        "x": x[k + d],
                        "y": y[k + d],
                        "state": state,
                        "now": now[d % len(now)],
                        "number": 0.5 * d,
                        "k": 0.1 * k,
                    }[name]
                    for name, d in reads
                ]
                if begins_otherwise and k == 0:
                    given[0] = given[0] * 0.5
                made = getattr(np, op)(*given[: 1 if op in ("sin", "tanh") else 2])
                now.append(np.tanh(made))
            y[k + 4] = now[-1]
            state = state * 0.9 + now[len(now) // 2]
            seen.append(now[-1] * state)
        return np.sum(np.array(seen)) + np.sum(y) if is_joined else state + y[-1] * y[5]

    rolled(f, np.linspace(-1.0, 1.5, n + 4))


# -------------------------------------------------------------------------------------------------- compiled


@pytest.mark.sampled(2, "a tenth of a second each")
@pytest.mark.parametrize("name", RECURRENCES)
def test_compiled_gradients(name: str) -> None:
    f, shapes = RECURRENCES[name]
    args = [RNG.uniform(0.5, 1.5, size=shape) for shape in shapes]
    seen = wg.jit(wg.grad(f))(*args)
    np.testing.assert_allclose(seen, wg.grad(f)(*args), rtol=1e-9, atol=1e-12)


def test_it_can_be_turned_off() -> None:
    f = wg.jit(smoothed, reroll=False)
    x = RNG.normal(size=20)
    f(x)
    assert "scan" not in ops(f.program(x).tape)
    g = wg.jit(wg.grad(smoothed), reroll=False)
    g(x)
    assert "scan" not in ops(g.program(x).tape)
    assert "scan" in ops(wg.jit(wg.grad(smoothed)).program(x).tape)


def _filled(x: Any) -> Any:
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = 0.3 * y[i - 1] + np.sinh(x[i])
    return np.sum(y)


def _of_pairs(x: Any) -> Any:
    return sum([np.cosh(x[i] - x[j]) for i in range(len(x)) for j in range(i)])


def _longest(x: Any) -> Any:
    """A table, as of the longest common subsequence."""
    d = np.zeros((len(x) + 1, len(x) + 1))
    for i in range(1, len(x) + 1):
        for j in range(1, len(x) + 1):
            d[i, j] = np.maximum(np.maximum(d[i - 1, j], d[i, j - 1]), d[i - 1, j - 1] + x[i - 1] * x[j - 1])
    return d[-1, -1]


@pytest.mark.machine_code("what LLVM compiles is counted")
@pytest.mark.sampled(3, "two seconds each")
@pytest.mark.parametrize(("f", "n"), [(_filled, 200), (_of_pairs, 40), (_longest, 30)])
def test_another_number_of_iterations_compiles_nothing(f: Callable[..., Any], n: int) -> None:
    compiled = wg.jit(wg.grad(f))
    xs = [RNG.normal(size=m) for m in (n, n + 1, n + 20)]
    first, *others = [_kernels(compiled, x) for x in xs]
    assert first and all(kernels <= first for kernels in others)
    assert compiled.stats()["traces"] == 3
    np.testing.assert_allclose(compiled(xs[1]), wg.jit(wg.grad(f), reroll=False)(xs[1]), rtol=1e-10)


def _kernels(compiled: Any, x: Any) -> set[Any]:
    calls = lowered_tape(compiled.program(x).tape, target()).calls
    return {part.kernel for call in calls for part in parts_of(call)}


def _layers(ws: Any, bs: Any, x: Any) -> Any:
    for w, b in zip(ws, bs, strict=True):
        x = np.tanh(w @ x + b)
    return x


def _horner(ws: Any, bs: Any, x: Any) -> Any:
    y = 0.0 * x
    for b in bs:
        y = y * x + b
    return y


def _listed(ws: Any, bs: Any, x: Any) -> Any:
    return [np.sin(b) * 2 for b in bs]


def _summed(ws: Any, bs: Any, x: Any) -> Any:
    return sum(np.sum(np.exp(b * x)) for b in bs)


def _same_layer(ws: Any, bs: Any, x: Any) -> Any:
    for _ in range(60):
        x = np.tanh(ws[0] @ x)
    return x


@pytest.mark.parametrize("f", [_layers, _horner, _listed, _summed, _same_layer])
def test_rolling_made_a_program_of_equal_layers_slower(f: Callable[..., Any]) -> None:
    """Arrays that lay apart were copied together first, by a kernel for each."""
    ws, bs = [RNG.normal(size=(3, 3)) for _ in range(60)], [RNG.normal(size=3) for _ in range(60)]
    of_both = [wg.jit(f, reroll=is_rolled).program(ws, bs, np.ones(3)) for is_rolled in (True, False)]
    kernels, steps, arena_bytes = zip(
        *[(len(p.kernels), len(p.tape.instrs), p.arena_bytes) for p in of_both], strict=True
    )
    assert kernels[0] <= kernels[1] and steps[0] <= steps[1] and arena_bytes[0] <= arena_bytes[1]

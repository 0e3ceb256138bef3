"""What becomes one instruction, on short tapes; and of random ones what must hold whatever they are."""

from __future__ import annotations

import cProfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.passes.random_tapes import arguments, random_tape
from tests.passes.tapes import effect, tape
from wengert import passes
from wengert.codegen.lower import supports
from wengert.higher.mapped import map_scalar
from wengert.ops.contract import contract
from wengert.ops.elementwise import convert, cos, exp, greater, multiply, select, sin, tanh
from wengert.ops.index import argsort, gather, reverse
from wengert.ops.kernels import Fused
from wengert.ops.linalg.determinants import slogdet
from wengert.ops.reduce import cumsum, max_, sum_
from wengert.ops.shape import broadcast_to, concatenate, reshape
from wengert.passes.fuse import (
    LONG,
    MANY_SCALARS,
    MAX_FOREIGN,
    MAX_MEMBERS,
    SMALL_PRODUCT,
    fuse,
    kind_of,
    why_apart,
)
from wengert.passes.plan.planner import plan
from wengert.passes.simplify import drop_dead
from wengert.runtime.reference import Reference
from wengert.tape import Aval, Lit, Tape, check

F64, INT = np.dtype(float), np.dtype(np.intp)
VECTOR, MATRIX, NUMBER = Aval((3,), F64), Aval((3, 4), F64), Aval((), F64)


def fused_of(f: Callable[..., Any], *avals: Aval) -> Tape:
    before = tape(f, *avals)
    after = check(fuse(before, supports))
    assert after.in_avals == before.in_avals and after.out_avals == before.out_avals
    return after


def steps_of(f: Callable[..., Any], *avals: Aval) -> list[str]:
    """One line an instruction; a fused one names what it is made of."""
    names = []
    for i in fused_of(f, *avals).instrs:
        if isinstance(i.op.kernel, Fused):
            names.append("+".join(j.op.name for j in i.params["body"].instrs))
        else:
            names.append(i.op.name)
    return names


# ------------------------------------------------------------------------------------------------- what is fused


def test_before_and_after() -> None:
    def f(x: Any) -> Any:
        y = multiply(sin(x), Lit(2.0))
        return y, sum_(y + cos(x), axis=(1,))

    before, after = tape(f, MATRIX), fused_of(f, MATRIX)
    assert [line.strip() for line in str(before).splitlines()[1:]] == [
        "v1: float64[3, 4] = sin(v0)",
        "v2: float64[3, 4] = multiply(v1, 2.0)",
        "v3: float64[3, 4] = cos(v0)",
        "v4: float64[3, 4] = add(v2, v3)",
        "v5: float64[3] = sum(v4, axis=(1,))",
        "return v2, v5",
    ]
    assert [line.strip() for line in str(after).splitlines()[1:]] == [
        "v1: float64[3, 4], v2: float64[3] = fused(v0, body=<fused: 5 instructions>)",
        "fused(v0: float64[3, 4]):",
        "v1: float64[3, 4] = sin(v0)",
        "v2: float64[3, 4] = multiply(v1, 2.0)",
        "v3: float64[3, 4] = cos(v0)",
        "v4: float64[3, 4] = add(v2, v3)",
        "v5: float64[3] = sum(v4, axis=(1,))",
        "return v2, v5",
        "return v1, v2",
    ]


def test_an_expression_is_one_kernel() -> None:
    f = lambda x, y: exp(sin(x) * y + cos(x)) / (y * y + 1.0)
    assert steps_of(f, MATRIX, MATRIX) == ["sin+multiply+cos+add+exp+multiply+add+divide"]


def test_an_expression_and_the_sums_it_feeds_are_one_kernel() -> None:
    assert steps_of(lambda x: sum_(exp(sin(x)), axis=(0, 1)), MATRIX) == ["sin+exp+sum"]
    both = lambda x: (sum_(sin(x), axis=(0,)), max_(cos(x), axis=(0,)))
    assert steps_of(both, Aval((50, 40), F64)) == ["sin+sum+cos+max"]


def test_what_follows_a_reduction_is_in_its_kernel() -> None:
    assert steps_of(lambda x: tanh(sum_(sin(x), axis=(1,)) * 2.0), MATRIX) == ["sin+sum+multiply+tanh"]


def test_sums_along_other_axes_are_other_kernels() -> None:
    f = lambda x: (sum_(sin(x), axis=(0,)), sum_(sin(x), axis=(1,)))
    assert steps_of(f, MATRIX) == ["sin+sum+sin", "sum"]  # the second expression beside the first, and stored


def test_small_contractions_take_what_follows() -> None:
    def layer(w: Any, x: Any, b: Any) -> Any:
        return tanh(contract(w, x, a=(0, 1), b=(1,), out=(0,)) + b)

    assert steps_of(layer, MATRIX, Aval((4,), F64), VECTOR) == ["contract+add+tanh"]
    n = round(SMALL_PRODUCT ** (1 / 3)) + 1
    square = Aval((n, n), F64)
    product = lambda x, y: tanh(contract(x, y, a=(0, 1), b=(1, 2), out=(0, 2)) + 1.0)
    assert steps_of(product, square, square) == ["contract", "add+tanh"]


def test_what_takes_long_is_not_done_in_the_tiles_of_a_product() -> None:
    """Nor what such a step makes of the product, or of something else that is added to it."""
    square = Aval((4, 4), F64)
    product = lambda x, y: contract(x, y, a=(0, 1), b=(1, 2), out=(0, 2))
    assert steps_of(lambda x, y: tanh(product(x, y) + 1.0) * 2.0, square, square) == ["contract+add", "tanh+multiply"]
    assert steps_of(lambda x, y: product(x, y) + tanh(x), square, square) == ["tanh", "contract+add"]


def test_the_other_operand_of_what_follows_a_contraction_is_computed_there() -> None:
    """Whichever of the two comes first on the tape; but not what another kernel has read meanwhile."""

    def first(w: Any, x: Any, b: Any) -> Any:
        total = contract(w, x, a=(0, 1), b=(1,), out=(0,))
        return cos(b) * total

    def last(w: Any, x: Any, b: Any) -> Any:
        other = cos(b)
        return other * contract(w, x, a=(0, 1), b=(1,), out=(0,))

    def read_before(w: Any, x: Any, b: Any) -> Any:
        other = cos(b)
        return reverse(other, 0), other * contract(w, x, a=(0, 1), b=(1,), out=(0,))

    for f in (first, last):
        assert steps_of(f, MATRIX, Aval((4,), F64), VECTOR) == ["contract+cos+multiply"]
    assert steps_of(read_before, MATRIX, Aval((4,), F64), VECTOR) == ["cos", "slice", "contract+multiply"]


def test_what_joins_a_sum_afterwards_keeps_its_own_loop() -> None:
    f = lambda x, b: sum_(sin(x), axis=(1,)) * cos(b)
    assert steps_of(f, MATRIX, VECTOR) == ["cos", "sin+sum+multiply"]


def test_maps_of_one_large_array_are_one_pass_over_it() -> None:
    large = Aval((5000,), F64)
    assert steps_of(lambda x: (sin(x), cos(x)), large) == ["sin+cos"]


def test_scalars_are_one_kernel() -> None:
    assert steps_of(lambda x, y: sin(x) * y + cos(y), NUMBER, NUMBER) == ["sin+multiply+cos+add"]


def scalar_steps(step: Callable[[Any, int], Any], n: int) -> tuple[int, int, set[int]]:
    """Instructions before and after fusing, and how many each cluster has."""

    def f(x: Any) -> Any:
        for k in range(n):
            x = step(x, k)
        return x

    before, after = tape(f, NUMBER), fused_of(f, NUMBER)
    return len(before), len(after), {len(i.params["body"]) for i in after.instrs if isinstance(i.op.kernel, Fused)}


@pytest.mark.deep("more than a second")
def test_many_scalars_fuse_where_that_takes_no_longer_to_compile() -> None:
    few, many = MANY_SCALARS // 4, 20 * MANY_SCALARS
    choices = np.random.default_rng(0).integers(0, 4, many)
    functions = [sin, exp, tanh, cos]

    def dear(x: Any, k: int) -> Any:
        return functions[choices[k]](x) * float(choices[k] + 4)

    # Cheap steps: whatever their coefficients, clusters as large as they may be.
    before, after, sizes = scalar_steps(lambda x, k: x * (1.5 + k % 7) + 0.1 * k, many)
    assert after <= before // MAX_MEMBERS + 1 and MAX_MEMBERS in sizes
    # Dear steps in no order: a few of them, or each by itself.
    assert scalar_steps(dear, few)[1] <= 4
    assert scalar_steps(dear, many) == (2 * many, 2 * many, set())
    # Dear steps of one kind, again and again: compiled once.
    before, after, sizes = scalar_steps(lambda x, k: sin(x) * 0.9, many)
    assert after <= before // MAX_MEMBERS + MAX_MEMBERS and sizes == {MAX_MEMBERS}


def test_small_arrays_of_a_long_tape_fuse_where_their_clusters_are_of_few_kinds() -> None:
    """Those of a loop are; those of a graph of which each vertex sums others read few arrays each."""
    arrays = [Aval((8,), F64)] * 6
    iterations = LONG // 4
    random = np.random.default_rng(0)

    def loop(*xs: Any) -> Any:
        c = xs[0]
        for _ in range(iterations):
            c = reverse(sin(c) * xs[1] + cos(c) * xs[2] + exp(c) * xs[3] + xs[4] * xs[5], 0)
        return c

    def graph(*xs: Any) -> Any:
        values = list(xs)
        for _ in range(iterations):
            chosen = random.choice(len(values[-30:]), random.integers(3, 7), replace=False)
            terms = [[sin, cos, exp, tanh][random.integers(4)](values[-1 - k]) for k in chosen]
            values.append(reverse(sum(terms[1:], terms[0]), 0))
        return values[-1]

    iteration = "sin+multiply+cos+multiply+add+exp+multiply+add+multiply+add"
    assert steps_of(loop, *arrays)[:4] == [iteration, "slice"] * 2
    whole = tape(graph, *arrays)
    assert len(whole.instrs) > LONG
    read = [len(i.ins) for i in fuse(whole, supports).instrs if i.op.name == "fused"]
    assert max(read) <= MAX_FOREIGN


def test_comparisons_conversions_and_selections_fuse() -> None:
    def f(x: Any) -> Any:
        return sum_(convert(select(greater(x, Lit(0.0)), x, -x), dtype=np.dtype("f")), axis=(0,))

    assert len(steps_of(f, VECTOR)) == 1


# --------------------------------------------------------------------------------------------- what ends a cluster


@pytest.mark.parametrize(
    "between",
    [
        lambda y: reverse(y, 0),
        lambda y: reshape(y, shape=(3, 1)),
        lambda y: cumsum(y, axis=0),
        lambda y: gather(y, Lit(np.array(1), INT)),
        lambda y: broadcast_to(sum_(y, axis=(0,)), shape=(3,)),
        lambda y: concatenate(y, y, axis=0),
    ],
    ids=["view", "reshape", "running sum", "gather", "broadcast sum", "concatenation"],
)
def test_what_reads_at_other_indices_begins_another_kernel(between: Callable[[Any], Any]) -> None:
    names = steps_of(lambda x: cos(between(sin(x))), VECTOR)
    assert names[0].startswith("sin") and names[-1] == "cos"


def test_no_value_leaves_a_cluster_and_comes_back() -> None:
    """sin(x) and what is made of its mirror image cannot be one kernel, though both run over x."""

    def f(x: Any) -> Any:
        y = sin(x)
        return y + reverse(y, 0) * cos(x)

    for aval in (VECTOR, Aval((5000,), F64)):
        names = steps_of(f, aval)
        assert len(names) == 3 and names[1] == "slice", names


def test_a_guard_is_not_fused() -> None:
    def f(x: Any) -> Any:
        effect(x)
        return sin(x) * 2.0

    assert steps_of(f, NUMBER)[:2] == ["less", "guard"]


def test_what_has_no_machine_code_is_not_fused() -> None:
    wide = Aval((3,), np.dtype(complex))
    assert steps_of(lambda x: sin(x) * x, wide) == ["sin", "multiply"]
    nothing = lambda function, dtypes, out: False
    before = tape(lambda x: sin(x) * x, VECTOR)
    assert fuse(before, nothing).instrs == before.instrs


def kind(f: Any, *avals: Aval, is_native: Any = supports) -> str:
    """The kind of the last step."""
    return kind_of(tape(f, *avals).instrs[-1], is_native)


def test_each_kind_of_step_and_what_is_none_of_them() -> None:
    nothing = lambda function, dtypes, out: False
    empty, wide = Aval((0, 3), F64), Aval((3,), np.dtype(complex))
    body, other = (
        tape(g, NUMBER) for g in (lambda x: sin(x) * x, lambda x: sum_(broadcast_to(x, shape=(3,)), axis=(0,)))
    )
    of_tape = lambda body: lambda x: map_scalar(x, body=body)
    assert kind(sin, VECTOR) == kind(sin, NUMBER) == kind(of_tape(body), VECTOR) == "map"
    assert kind(sin, empty) == kind(of_tape(body), empty) == ""
    assert kind(sin, VECTOR, is_native=nothing) == kind(of_tape(body), VECTOR, is_native=nothing) == ""
    one = lambda function, dtypes, out: function == "sin"
    assert kind(sin, VECTOR, is_native=one) == "map" and kind(of_tape(body), VECTOR, is_native=one) == ""
    assert kind(of_tape(other), VECTOR) == "", "a step within that is no map"
    assert kind(lambda x: sum_(x, axis=(0,)), MATRIX) == "fold"
    assert kind(lambda x: sum_(x, axis=(0,)), empty) == kind(lambda x: sum_(x, axis=(0,)), wide) == ""
    assert kind(lambda x: reverse(x, axis=0), VECTOR) == ""
    assert kind(argsort_of, VECTOR) == "" and kind(lambda x: slogdet(x)[0], Aval((3, 3), F64)) == ""


def argsort_of(x: Any) -> Any:
    return argsort(x, axis=0)


@pytest.mark.parametrize(("n", "expected"), [(6, "contraction"), (10, "contraction"), (11, ""), (0, "")])
def test_the_largest_product_that_is_emitted_for_its_shape(n: int, expected: str) -> None:
    square, vector = Aval((n, n), F64), Aval((n,), F64)
    product = lambda a, b: contract(a, b, a=(0, 1), b=(1, 2), out=(0, 2))
    assert kind(product, square, square) == expected
    assert kind(lambda a, b: contract(a, b, a=(0, 1), b=(1,), out=(0,)), square, vector) == ("contraction" if n else "")
    large = Aval((182, 181), F64), Aval((181,), F64)
    assert kind(lambda a, b: contract(a, b, a=(0, 1), b=(1,), out=(0,)), *large) == ""
    several = Aval((4, n, n), F64)
    batch = lambda a, b: contract(a, b, a=(3, 0, 1), b=(3, 1, 2), out=(3, 0, 2))
    assert kind(batch, several, several) == ("contraction" if n > 0 and 4 * n**3 <= SMALL_PRODUCT else "")


def test_empty_arrays_are_not_fused() -> None:
    empty = Aval((0, 3), F64)
    assert steps_of(lambda x: sum_(sin(x) * 2.0, axis=(0,)), empty) == ["sin", "multiply", "sum"]


def test_a_cluster_is_bounded() -> None:
    def chain(x: Any) -> Any:
        for _ in range(3 * MAX_MEMBERS):
            x = sin(x)
        return x

    lengths = [len(i.params["body"]) if i.params else 1 for i in fused_of(chain, VECTOR).instrs]
    assert sum(lengths) == 3 * MAX_MEMBERS
    assert max(lengths) == MAX_MEMBERS and len(lengths) == 3


def test_reductions_of_axes_of_length_one() -> None:
    """The shape before and after may be one: what follows is then on neither side of the reduction by mistake."""

    def f(x: Any) -> Any:
        y = sum_(sin(x), axis=(0,))
        return y * 2.0, sum_(x + 1.0, axis=(0, 1)), exp(x)

    for shape in ((1, 3), (1, 1), (3, 1)):
        after = fused_of(f, Aval(shape, F64))
        x = np.linspace(0.1, 1, int(np.prod(shape))).reshape(shape)
        for got, want in zip(Reference(after).run([x]), Reference(tape(f, Aval(shape, F64))).run([x]), strict=True):
            np.testing.assert_array_equal(got, want)


def test_only_what_is_read_outside_is_a_result() -> None:
    """sin(x) is wanted, cos(sin(x)) is not: the kernel has two results, and no buffer for the third value."""

    def f(x: Any) -> Any:
        y = sin(x)
        return y, exp(cos(y))

    after = fused_of(f, VECTOR)
    assert len(after) == 1 and len(after.instrs[0].outs) == 2
    made = plan(after)
    assert made.arena_bytes == 0
    assert {p.buffer.kind for s in made.steps for p in s.outs} == {"output"}


def test_what_nobody_reads_is_in_no_cluster() -> None:
    """Dead steps beside live ones in what would be one cluster, and a cluster that is dead as a whole."""

    def f(x: Any) -> Any:
        y = sin(x)
        exp(cos(y) + 1.0)
        cos(exp(sum_(x, axis=(0, 1))))
        return multiply(y, y)

    assert steps_of(f, MATRIX) == ["sin+multiply"]


@given(seed=st.integers(0, 2**32 - 1))
def test_fusing_drops_what_is_dead(seed: int) -> None:
    """Of tapes with dead steps in them: none is left, inside of a fused instruction or outside."""
    before = random_tape(seed)
    after = check(fuse(before, supports))
    assert len(drop_dead(after)) == len(after)
    for i in after.instrs:
        if isinstance(i.op.kernel, Fused):
            assert i.outs and len(drop_dead(i.params["body"])) == len(i.params["body"])
    inputs = arguments(before, seed)
    for a, b in zip(Reference(after).run(inputs), Reference(before).run(inputs), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_step_keeps_the_source_line_of_its_last() -> None:
    x = np.ones(3)
    after = fuse(wg.trace(lambda x: np.exp(np.sin(x)))(x), supports)
    assert len(after) == 1
    assert after.instrs[0].source is not None and after.instrs[0].source.file.endswith("test_fuse.py")


# ------------------------------------------------------------------------------------------ whatever the tape is


@given(seed=st.integers(0, 2**32 - 1))
def test_fusing_changes_no_value(seed: int) -> None:
    before = drop_dead(random_tape(seed))
    after = check(fuse(before, supports))
    assert len(after) <= len(before)
    assert str(fuse(after, supports)) == str(after)  # idempotent
    inputs = arguments(before, seed)
    for got, want in zip(Reference(after).run(inputs), Reference(before).run(inputs), strict=True):
        np.testing.assert_array_equal(got, want)


@given(seed=st.integers(0, 2**32 - 1))
def test_every_step_is_computed_once(seed: int) -> None:
    before = drop_dead(random_tape(seed))
    made = []
    for i in fuse(before, supports).instrs:
        inner = i.params["body"].instrs if isinstance(i.op.kernel, Fused) else [i]
        made += [v for j in inner for v in j.outs]
    assert len(made) == len(set(made))
    assert set(made) == {v for i in before.instrs for v in i.outs}


# -------------------------------------------------------------------------------------------------- unrolled loops


def burgers(u: Any, steps: int) -> Any:
    for _ in range(steps):
        u = u - 0.1 * u * (np.roll(u, -1) - np.roll(u, 1)) + 0.1 * (np.roll(u, -1) - 2 * u + np.roll(u, 1))
    return (u**2).sum()


def slices(u: Any, steps: int) -> Any:
    for _ in range(steps):
        u = np.concatenate([u[:1], u[1:-1] + 0.1 * np.tanh(u[2:] - 2 * u[1:-1] + u[:-2]), u[-1:]])
    return (u**2).sum()


def mirror(x: Any, steps: int) -> Any:
    for i in range(steps):
        x = np.sin(x) * np.cos(x[::-1]) + i
    return x.sum()


UNROLLED = [(burgers, np.linspace(0, 1, 64)), (slices, np.linspace(0, 1, 64)), (mirror, np.full(50, 0.3))]


def gradient_tape(f: Any, x: Any, steps: int) -> Tape:
    return passes.run(wg.trace(wg.grad(lambda u: f(u, steps)))(x))


@pytest.mark.parametrize(("f", "x"), UNROLLED, ids=lambda a: getattr(a, "__name__", ""))
def test_an_unrolled_loop_is_linear(f: Any, x: Any) -> None:
    """Instructions after fusing, steps of the plan, and instructions that are computed: each twice as many for twice
    the loop. What is fused is not written out twice."""
    fused, steps, computed = {}, {}, {}
    for n in (8, 16, 32):
        before = gradient_tape(f, x, n)
        after = check(fuse(before, supports))
        fused[n], steps[n] = len(after), len(plan(after).steps)
        computed[n] = sum(len(i.params["body"]) if isinstance(i.op.kernel, Fused) else 1 for i in after.instrs)
        assert computed[n] == len(before)
    for counts in (fused, steps, computed):
        growth = counts[32] - counts[16], 2 * (counts[16] - counts[8])
        assert abs(growth[0] - growth[1]) <= 4, (fused, steps, computed)
    assert fused[32] < 0.75 * computed[32]


@pytest.mark.parametrize(("f", "x"), UNROLLED, ids=lambda a: getattr(a, "__name__", ""))
def test_fusing_and_planning_an_unrolled_loop_is_linear_work(f: Any, x: Any) -> None:
    calls = {}
    for n in (8, 32):
        before = gradient_tape(f, x, n)
        profile = cProfile.Profile()
        profile.enable()
        plan(fuse(before, supports))
        profile.disable()
        calls[n] = sum(row.callcount for row in profile.getstats())
    assert calls[32] <= 1.15 * 4 * calls[8], calls


def test_the_pass_says_why_two_steps_are_in_different_kernels() -> None:
    def f(x: Any) -> Any:
        total = np.sum(x)
        y = np.exp(x - total)
        return np.sum(y, axis=0), np.cumsum(y), y.reshape(2, 3) * np.ones((2, 3))

    tape = wg.look(f)(np.ones(6)).program.tape
    values = {i.op.name: i.outs[0] for i in reversed(tape.instrs)}  # the first of each name

    def why(a: str, b: str) -> str:
        return why_apart(tape, supports, values[a], values[b])

    assert why("subtract", "exp") == ""
    assert "must wait until all elements are added up" in why("sum", "subtract")
    assert "cumsum is no elementwise step" in why("exp", "cumsum")
    assert "is a view" in why("exp", "reshape")

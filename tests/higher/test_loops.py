"""Loops as single steps, beside the same loops unrolled by Python: values, derivatives of any order, batches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert as wg
from tests.ops.check_op import formula
from wengert import passes
from wengert.codegen.calls import KernelCall
from wengert.codegen.lowered import lowered_tape
from wengert.codegen.target import target
from wengert.higher.bodies import steps_of_constants
from wengert.higher.loops import TapeLoop, scan
from wengert.ops.control import Expected, guard
from wengert.ops.elementwise import add, greater, multiply, sin
from wengert.ops.index import iota
from wengert.tape import Aval

X = np.linspace(-1, 1, 5)
M = np.array([[0.5, 0.2], [-0.3, 0.4]])


def unrolled(f: Any, init: Any, xs: Any, reverse: bool = False) -> tuple[Any, Any]:
    """The same by a loop of Python's."""
    order = range(len(xs) - 1, -1, -1) if reverse else range(len(xs))
    ys: dict[int, Any] = {}
    carry = init
    for k in order:
        carry, ys[k] = f(carry, xs[k])
    return carry, np.stack([ys[k] for k in range(len(xs))])


LOOPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "recurrence": lambda loop, x, a: (lambda c, y: c + np.sum(y * X))(
        *loop(lambda c, t: (np.sin(c) * a + t, c * t), a, x)
    ),
    "backwards": lambda loop, x, a: (lambda c, y: c * np.sum(y**2))(
        *loop(lambda c, t: (c * np.cos(t) + a, c), a * 2, x, reverse=True)
    ),
    "of matrices": lambda loop, x, a: np.sum(
        loop(lambda v, t: (np.tanh(M @ v + t * a), v[0]), np.array([1.0, 0.5]) * a, x)[1] * X
    ),
    "a carry that does not move": lambda loop, x, a: loop(lambda c, t: (c + t * t * a, t), 0.0, x)[0],
    "one that moves late": lambda loop, x, a: np.sum(
        loop(lambda s, t: (np.stack([s[1] * a, s[2] + t, s[0] * s[1] + 1]), s[0]), np.ones(3), x)[1]
    ),
    "an index into a constant": lambda loop, x, a: np.sum(
        loop(lambda c, k: (c * x[k] + a, c), a, np.arange(5) * 2 % 5)[1] * X
    ),
    "nested": lambda loop, x, a: loop(
        lambda c, t: (loop(lambda d, s: (np.sin(d * s + t * a), d), c, x)[0], c * t), a, x
    )[0],
    "written in place": lambda loop, x, a: np.sum(_filled(loop, x, a) * X),
    "a number of the iteration": lambda loop, x, a: loop(lambda c, k: (c * a + k * x[0], c), 1.0, np.arange(4))[0],
}


def _filled(loop: Any, x: Any, a: Any) -> Any:
    def step(y: Any, k: Any) -> Any:
        z = y.copy()
        z[k + 1] = a * y[k] + np.sin(x[k])
        return z, 0.0

    return loop(step, np.zeros(5) + a, np.arange(4))[0]


@pytest.mark.sampled(9, "a second each")
@pytest.mark.parametrize("name", LOOPS)
def test_a_scan_is_its_loop(name: str) -> None:
    """Value, gradient, tangent and second derivatives, at once and compiled."""
    f, a = LOOPS[name], 0.7
    rolled, plain = (lambda x, a: f(wg.scan, x, a)), (lambda x, a: f(unrolled, x, a))
    for transform in (
        lambda g: g,
        lambda g: wg.grad(g, argnums=(0, 1)),
        lambda g: wg.grad(g, argnums=1),
        lambda g: lambda x, a: wg.jvp(g, (x, a), (np.cos(x), 0.3)),
        wg.hessian,
        lambda g: wg.grad(wg.grad(g, argnums=1), argnums=1),
        lambda g: wg.hvp(g, (X, a), (X, 0.1)) and (lambda x, a: wg.hvp(g, (x, a), (X, 0.1))),
        lambda g: (
            wg.vmap(wg.grad(g), in_axes=(None, 0))
            and (lambda x, a: wg.vmap(wg.grad(g))(np.stack([x, 2 * x]), np.array([a, 1.0])))
        ),
    ):
        expected = wg.tree.flatten(transform(plain)(X, a))[0]
        for function in (transform(rolled), wg.jit(transform(rolled))):
            for got, want in zip(wg.tree.flatten(function(X, a))[0], expected, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)


def test_the_tape_has_one_step_whatever_the_length() -> None:
    f = lambda x: wg.scan(lambda c, t: (np.sin(c) + t, None), 0.0, x)[0]
    for transform in (lambda g: g, wg.grad, wg.hessian):
        lengths = {n: len(wg.trace(transform(f))(np.ones(n))) for n in (2, 5, 40)}
        assert len(set(lengths.values())) == 1, lengths


def test_only_what_the_pullback_reads_is_stacked() -> None:
    def names(f: Any) -> list[int]:
        tape = wg.trace(wg.grad(f))(np.ones(9), 0.5)
        first = next(i for i in tape.instrs if i.op is scan)
        return [len(first.outs), len(first.params["loop"].body.outputs)]

    linear = lambda x, a: wg.scan(lambda c, t: (0.5 * c + 3 * t, None), 0.0, x)[0]
    assert names(linear) == [1, 1]  # nothing
    assert names(lambda x, a: wg.scan(lambda c, t: (a * c + t, None), 0.0, x)[0]) == [1, 1]  # a is a constant
    assert names(lambda x, a: wg.scan(lambda c, t: (np.exp(c) + t, None), 0.0, x)[0]) == [2, 2]


def test_no_iterations_and_one() -> None:
    f = lambda x, a: wg.scan(lambda c, t: (c * np.sin(t), c + t), a, x)
    for n in (0, 1):
        x = np.ones(n)
        for g in (f, wg.jit(f)):
            carry, ys = g(x, 0.5)
            assert carry == pytest.approx(0.5 * np.sin(1.0) ** n) and ys.shape == (n,) and ys.dtype == float
        gx, ga = wg.jit(wg.grad(lambda x, a: f(x, a)[0] + np.sum(f(x, a)[1]), argnums=(0, 1)))(x, 0.5)
        assert gx.shape == (n,) and ga == pytest.approx(1.0 if n == 0 else np.sin(1.0) + 1)


def test_trees_single_precision_integers_and_complex_numbers() -> None:
    def step(state: Any, x: Any) -> Any:
        k, table = state["k"], state["table"]
        table = {"a": table["a"] * x["w"] + x["w"], "z": table["z"] * np.exp(1j * x["t"])}
        return {"k": k + 1, "table": table}, (k * 2, table["a"].sum())

    init = {"k": 0, "table": {"a": np.ones(3, np.float32), "z": 1j}}
    xs = {"w": np.linspace(0, 1, 4, dtype=np.float32), "t": np.linspace(0, 2, 4)}
    one, two = wg.scan(step, init, xs), wg.jit(lambda i, x: wg.scan(step, i, x))(init, xs)
    for a, b in zip(wg.tree.flatten(one)[0], wg.tree.flatten(two)[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
        assert np.asarray(a).dtype == np.asarray(b).dtype
    real = lambda t: np.real(wg.scan(step, init, {**xs, "t": t})[0]["table"]["z"])
    np.testing.assert_allclose(wg.grad(real)(xs["t"]), np.full(4, -np.cos(np.sum(xs["t"]))), rtol=1e-12)


@pytest.mark.deep("25 random bodies are compiled; the loops above are compiled in quick ones")
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_random_bodies(data: Any) -> None:
    """Of sums, products and bounded functions of the carry, the slice and a constant."""
    leaf = st.sampled_from(["c", "t", "a", "0.5"])
    text = data.draw(
        st.recursive(
            leaf,
            lambda e: st.one_of(
                st.tuples(st.sampled_from(["np.sin", "np.tanh", "np.cos"]), e).map(lambda p: f"{p[0]}({p[1]})"),
                st.tuples(e, st.sampled_from("+-*"), e).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
                st.tuples(e, e).map(lambda p: f"np.where(c > 0, {p[0]}, {p[1]})"),
            ),
            max_leaves=6,
        )
    )
    body = eval(f"lambda a: lambda c, t: (np.sin({text}) * 1.0, np.cos({text}) * 1.0)", {"np": np})
    f = lambda loop: lambda x, a: (lambda c, y: c + np.sum(y * X))(*loop(body(a), 0.1 * a, x))
    for transform in (lambda g: g, lambda g: wg.grad(g, argnums=(0, 1)), lambda g: wg.hessian(g, argnums=1)):
        got, want = transform(f(wg.scan))(X, 0.7), transform(f(unrolled))(X, 0.7)
        for a, b in zip(wg.tree.flatten(got)[0], wg.tree.flatten(want)[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


# ------------------------------------------------------------------------------------------------------------ while


def newton(a: Any) -> Any:
    return wg.while_loop(lambda x: np.abs(x * x - a) > 1e-13 * a, lambda x: (x + a / x) / 2, a)


def test_a_while_loop_is_differentiated_as_it_runs() -> None:
    """Newton's iteration: the derivatives of the root, to the digits to which it has converged."""
    a = 4.0
    for f in (newton, wg.jit(newton)):
        assert f(a) == pytest.approx(2.0, rel=1e-13)
        assert wg.grad(f)(a) == pytest.approx(0.25, rel=1e-12)
        assert wg.jvp(f, (a,), (2.0,))[1] == pytest.approx(0.5, rel=1e-12)
        assert wg.grad(wg.grad(f))(a) == pytest.approx(-1 / 32, rel=1e-9)
        assert wg.grad(wg.grad(wg.grad(f)))(a) == pytest.approx(3 / 8 * a**-2.5, rel=1e-7)
        assert wg.hessian(f)(a) == pytest.approx(-1 / 32, rel=1e-9)
        assert wg.jvp(wg.grad(f), (a,), (1.0,))[1] == pytest.approx(-1 / 32, rel=1e-9)
    batch = np.array([2.0, 4.0, 900.0])
    np.testing.assert_allclose(wg.vmap(newton)(batch), np.sqrt(batch), rtol=1e-13)
    np.testing.assert_allclose(wg.jit(wg.vmap(wg.grad(newton)))(batch), 0.5 / np.sqrt(batch), rtol=1e-11)


def test_the_number_of_iterations_is_decided_when_it_runs() -> None:
    f = wg.jit(lambda n, x: wg.fori_loop(0, n, lambda k, y: y * x + k, 1.0))
    g = wg.jit(wg.grad(lambda x, n: wg.fori_loop(0, n, lambda k, y: y * x + k, 1.0)))
    for n in (0, 1, 2, 7):
        plain = lambda x, n=n: wg.fori_loop(0, n, lambda k, y: y * x + k, 1.0)
        assert f(n, 1.5) == pytest.approx(plain(1.5)) and g(1.5, n) == pytest.approx(wg.grad(plain)(1.5))
    assert f.stats()["traces"] == g.stats()["traces"] == 1


def test_constants_and_what_is_written_in_place() -> None:
    def f(w: Any, x: Any) -> Any:
        def body(state: Any) -> Any:
            k, y = state
            z = y.copy()
            z[k] = np.sin(y[k - 1] * w[k]) + x
            return k + 1, z

        return np.sum(wg.while_loop(lambda s: s[0] < 5, body, (1, np.ones(5) * x))[1] * X)

    def plain(w: Any, x: Any) -> Any:
        y = [x]
        for k in range(1, 5):
            y.append(np.sin(y[k - 1] * w[k]) + x)
        return np.sum(np.stack(y) * X)

    w = np.linspace(0.5, 1.5, 5)
    for transform in (
        lambda g: wg.grad(g, argnums=(0, 1)),
        wg.hessian,
        lambda g: wg.grad(wg.grad(g, argnums=1), argnums=1),
    ):
        for got, want in zip(*[wg.tree.flatten(transform(g)(w, 0.3))[0] for g in (f, plain)], strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)
    ws = np.stack([w, 2 * w])
    for got, want in zip(wg.vmap(wg.grad(f), in_axes=(0, None))(ws, 0.3), ws, strict=True):
        np.testing.assert_allclose(got, wg.grad(plain)(want, 0.3), rtol=1e-11)


def test_examples_that_are_done_stay_and_leak_no_nan() -> None:
    """One that has reached its root would divide by zero if it went on."""
    f = lambda x: wg.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, s[1] * np.sqrt(s[0])), (x, 1.0))[1]
    x = np.array([1.0, 3.0, 2.0])
    np.testing.assert_allclose(wg.vmap(f)(x), [f(v) for v in x], rtol=1e-14)
    np.testing.assert_allclose(wg.vmap(wg.grad(f))(x), [wg.grad(f)(v) for v in x], rtol=1e-13)


def test_a_cost_counts_iterations() -> None:
    tape = wg.trace(lambda x: wg.scan(lambda c, t: (c * t, None), 1.0, x)[0])(np.ones(50))
    (step,) = tape.instrs
    assert isinstance(step.params["loop"], TapeLoop) and step.op.cost(*[a.aval for a in step.ins], **step.params) == 50


# --------------------------------------------------------------------------------------------------------- natively


def callbacks(f: Any, *args: Any) -> list[str]:
    return [k.name for k in wg.jit(f).program(*args).kernels if k.kind == "callback"]


def test_loops_and_branches_call_nobody() -> None:
    a = 0.7
    for f in LOOPS.values():
        rolled = lambda x, a, f=f: f(wg.scan, x, a)
        assert callbacks(rolled, X, a) == callbacks(wg.grad(rolled, argnums=(0, 1)), X, a) == []
    assert callbacks(newton, 4.0) == []
    assert callbacks(wg.grad(newton), 4.0) == callbacks(wg.hessian(newton), 4.0) == []
    branching = lambda x: wg.scan(lambda c, t: (wg.cond(t > 0, np.sin, lambda c: c * t, c), c), 0.1, x)[0]
    assert callbacks(branching, X) == callbacks(wg.grad(branching), X) == []


@pytest.mark.machine_code("kernels are looked at")
def test_a_carry_is_written_in_place() -> None:
    """No step of a body copies the array that it writes an element of, forward or backward."""
    f = lambda x: np.sum(_filled(wg.scan, x, 0.5))
    for transform in (lambda g: g, wg.grad):
        tape = wg.jit(transform(f)).program(np.ones(5)).tape
        for instr in tape.instrs:
            if instr.op is scan:
                loop = instr.params["loop"]
                carries = range(loop.constants, loop.constants + loop.carries)
                calls = lowered_tape(passes.run(loop.body), target(), donated=carries, is_body=True).calls
                assert "copy" not in [call.name for call in calls[:-1] if isinstance(call, KernelCall)], str(loop.body)


def test_carries_that_change_places_and_what_is_handed_on_unchanged() -> None:
    def f(x: Any) -> Any:
        step = lambda c, t: ((c[1], c[0] * t, c[2], c[1] + c[3]), (c[0], c[2]))
        return wg.scan(step, (x[0], x[1], x, x[2]), x)

    expected = f(X)
    for got, want in zip(wg.tree.flatten(wg.jit(f)(X))[0], wg.tree.flatten(expected)[0], strict=True):
        np.testing.assert_array_equal(got, want)


def test_what_a_kernel_of_a_body_refuses_is_numpys_error() -> None:
    """And a right answer where NumPy has one."""
    f = wg.jit(lambda k, x: wg.scan(lambda c, j: (c + x[j], None), 0.0, k)[0])
    assert f(np.array([0, -1]), X) == X[0] + X[-1]
    with pytest.raises(IndexError):
        f(np.array([0, 9]), X)
    g = wg.jit(lambda a: wg.scan(lambda c, m: (c + np.linalg.solve(m, np.ones(2)), None), np.zeros(2), a)[0])
    good = np.stack([np.eye(2), 2 * np.eye(2)])
    np.testing.assert_allclose(g(good), [1.5, 1.5])
    with pytest.raises(np.linalg.LinAlgError):
        g(np.stack([np.eye(2), np.zeros((2, 2))]))


def test_a_loop_in_a_loop_in_a_branch() -> None:
    def f(x: Any, n: Any) -> Any:
        inner = lambda c, t: wg.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, np.cos(s[1]) * t), (0, c))[1]
        outer = lambda x: wg.scan(lambda c, t: (wg.cond(t > 0, inner, lambda c, t: c - t, c, t), c), 0.5, x)[1].sum()
        return wg.cond(n > 1, outer, np.sum, x)

    compiled = wg.jit(f)
    for n in (1, 2, 5):
        assert compiled(X, n) == pytest.approx(f(X, n), rel=1e-13)
        np.testing.assert_allclose(wg.jit(wg.grad(f))(X, n), wg.grad(f)(X, n), rtol=1e-11)
    assert compiled.stats()["traces"] == 1 and callbacks(f, X, 2) == []


@pytest.mark.machine_code("the references allocate each value")
def test_a_run_allocates_nothing() -> None:
    call = wg.jit(lambda x: wg.scan(lambda c, t: (np.tanh(M @ c + t), None), np.ones(2), x)[0]).program(X)
    bound = call.bind(X, out=(out := np.empty(2)))
    bound()
    kept = sys.getallocatedblocks()
    for _ in range(50):
        bound()
    assert sys.getallocatedblocks() - kept <= 2
    assert np.all(np.isfinite(out))


def test_a_batch_of_loops_that_carry_much_is_one_after_the_other() -> None:
    """So that an iteration that writes one element does not select among all."""

    def counted(n: Any, x: Any) -> Any:
        def go(state: Any) -> Any:
            out, k = state
            out = out.copy()
            out[k] = np.sin(x * k)
            return out, k + 1

        return np.sum(wg.while_loop(lambda s: s[1] < n, go, (np.zeros(500), np.int64(0)))[0])

    counts, xs = np.array([3, 0, 400]), np.array([0.5, 1.0, 2.0])
    many = wg.vmap(counted)
    expected = [np.sum(np.sin(x * np.arange(n))) for n, x in zip(counts, xs, strict=True)]
    np.testing.assert_allclose(many(counts, xs), expected, rtol=1e-12)
    gradient = wg.jit(wg.grad(lambda x: np.sum(many(counts, x))))
    expected = [np.sum(np.cos(x * np.arange(n)) * np.arange(n)) for n, x in zip(counts, xs, strict=True)]
    np.testing.assert_allclose(gradient(xs), expected, rtol=1e-10)
    assert "scan" in [i.op.name for i in wg.trace(many)(counts, xs).instrs]


def test_the_steps_of_constants_are_those_that_read_nothing_that_moves() -> None:
    """Not what has effects, and not what depends on nothing at all."""
    scalar = Aval((), np.dtype(float))

    def body(a: Any, b: Any, c: Any) -> Any:
        first = sin(a)
        second = multiply(first, 2.0)
        third = multiply(second, b)
        nothing = iota(size=3, dtype=np.dtype(np.intp))
        guard(greater(a, 0.0), expected=Expected(True), position=0, kind="bool")
        return multiply(third, c), nothing, add(c, first)

    tape = formula(body, scalar, scalar, scalar)
    names = lambda n: [i.op.name for i in steps_of_constants(tape, n)]
    assert names(0) == []
    assert names(1) == ["sin", "multiply", "greater"]
    assert names(2) == ["sin", "multiply", "multiply", "greater"]
    assert names(3) == ["sin", "multiply", "multiply", "greater", "multiply", "add"]


HEAVY = np.linspace(0.1, 1.0, 400).reshape(20, 20)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_what_is_the_same_in_each_iteration_is_computed_before_the_loop_that_begins(n: int) -> None:
    def f(x: Any, a: Any) -> Any:
        go = lambda s: (s[0] + 1, np.tanh(np.sum(np.exp(a * HEAVY) @ HEAVY) * 1e-3 + s[1]))
        return wg.while_loop(lambda s: s[0] < n, go, (0, x))[1]

    def plain(x: Any, a: Any) -> Any:
        for _ in range(n):
            x = np.tanh(np.sum(np.exp(a * HEAVY) @ HEAVY) * 1e-3 + x)
        return x

    tape = wg.jit(f).program(0.3, 0.5).tape
    (loop,) = [i for i in tape.instrs if i.op.name == "while"]
    assert "exp" not in [i.op.name for i in loop.params["loop"].body.instrs]
    assert "cond" in [i.op.name for i in tape.instrs]
    assert wg.jit(f)(0.3, 0.5) == pytest.approx(plain(0.3, 0.5), rel=1e-13)
    np.testing.assert_allclose(
        wg.grad(f, argnums=(0, 1))(0.3, 0.5), wg.grad(plain, argnums=(0, 1))(0.3, 0.5), rtol=1e-11
    )


def test_equal_bodies_have_the_lines_of_their_own_functions() -> None:
    def f(x: Any) -> Any:
        return wg.scan(lambda c, _: (np.sin(c) * 2.0, None), x, None, length=3)[0]

    def g(x: Any) -> Any:
        return wg.scan(lambda c, _: (np.sin(c) * 2.0, None), x, None, length=3)[0]

    for of, line in ((f, f.__code__.co_firstlineno + 1), (g, g.__code__.co_firstlineno + 1)):
        (scan,) = [i for i in wg.trace(of)(1.5).instrs if "loop" in i.params]
        assert {i.source.line for i in scan.params["loop"].body.instrs if i.source is not None} == {line}

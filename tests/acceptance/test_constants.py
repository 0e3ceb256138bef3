"""Constants cost nothing: data that is touched, but not differentiated, has no cotangent, whatever its size."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from tests.acceptance.differences import assert_gradient, numeric_gradient
from wengert.errors import NotDifferentiableError
from wengert.tape import Instr, Tape


def optimised(f: Any, *args: Any) -> Tape:
    return wg.compile(wg.trace(f)(*args)).tape


def backward(tape: Tape) -> list[Instr]:
    """The instructions that a derivative added."""
    return [i for i in tape.instrs if i.source is not None and i.source.role == "cotangent"]


# ------------------------------------------------------------------------------------------------------ large constants


@pytest.mark.parametrize("n", [1000, 100_000])
def test_one_element_of_a_large_constant_has_no_cotangent_of_its_size(n: int) -> None:
    """f(p) = c[0] p: c is a captured input that the backward part never has an array for."""
    c = np.arange(1.0, n + 1)

    def f(p: Any) -> Any:
        return c[0] * p * p

    tape = wg.trace(wg.value_and_grad(f))(2.0)
    assert [capture.name for capture in tape.captures] == ["c"]
    assert backward(tape)
    assert all(v.aval.size < n for i in tape.instrs for v in i.outs)
    value, gradient = wg.value_and_grad(f)(2.0)
    assert (value, gradient) == (4.0, 4.0)


def test_one_element_of_a_large_constant_without_jit_is_a_number() -> None:
    """Un-jitted, c is the user's own array, and c[0] a NumPy scalar: a literal or a captured scalar on the tape."""
    c = np.ones(1000)
    seen: list[Any] = []

    def f(p: Any) -> Any:
        seen.append(c[0])
        return c[0] * p

    assert wg.grad(f)(2.0) == 1.0
    assert type(seen[0]) is np.float64


@pytest.mark.parametrize("n", [1000, 100_000])
def test_a_dot_product_of_two_constants_has_no_cotangent_of_their_size(n: int) -> None:
    """f(p) = (c · proj) p: no cotangent of c or proj, nothing of size n in either part of the tape."""
    c, proj = np.ones(n), np.zeros(n)
    proj[0] = 1.0

    def f(p: Any) -> Any:
        return (c @ proj) * p * p

    tape = wg.trace(wg.value_and_grad(f))(2.0)
    assert sorted(capture.name for capture in tape.captures) == ["c", "proj"]
    assert all(v.aval.shape == () for i in tape.instrs for v in i.outs)
    assert all(i.op.name != "contract" for i in backward(tape))
    assert wg.jit(wg.grad(f))(2.0) == wg.grad(f)(2.0) == 4.0


def test_a_dot_product_of_promised_constants_is_computed_once() -> None:
    """With c and proj read-only, the program has one node left: the product with p."""
    n = 1000
    c, proj = wg.constant(np.ones(n)), wg.constant(np.eye(1, n)[0])

    def f(p: Any) -> Any:
        return (c @ proj) * p

    jitted = wg.jit(f)
    assert jitted(2.0) == 2.0
    assert len(jitted.program(2.0).tape) == 1
    assert jitted.program(2.0).tape.captures == ()
    gradient = wg.jit(wg.grad(f))
    assert gradient(2.0) == 1.0
    assert len(gradient.program(2.0).tape) == 0


@pytest.mark.parametrize("n", [10_000, 1_000_000])
def test_the_gradient_allocates_nothing_of_the_constants_size(n: int) -> None:
    """Peak memory of a call is the same for any n: neither a copy of c nor a buffer like it."""
    c = np.ones(n)
    gradient = wg.grad(lambda p: c[0] * p + c[n // 2] * p * p)
    jitted = wg.jit(gradient)
    for call in (gradient, jitted):
        call(2.0)
        tracemalloc.start()
        try:
            assert call(2.0) == 5.0
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 80_000


# ----------------------------------------------------------------------------------------------------------- dense data


def test_dense_data_has_no_cotangent() -> None:
    """The gradient of ‖WX - Y‖² · mean(mask) in W is one contraction backwards; nothing is shaped like X or mask."""
    rng = np.random.default_rng(0)
    W, X, Y, mask = rng.random((3, 4)), rng.random((4, 5)), rng.random((3, 5)), rng.random(7)

    def loss(W: Any) -> Any:
        return ((W @ X - Y) ** 2).sum() * np.mean(mask)

    tape = optimised(wg.value_and_grad(loss), W)
    pullback = backward(tape)
    assert [i.op.name for i in pullback].count("contract") == 1
    shapes = [v.aval.shape for i in pullback for v in i.outs]
    assert X.shape not in shapes
    assert mask.shape not in shapes
    # The residual has Y's shape: it is elementwise, and there is one chain of it, for W @ X alone.
    assert all(i.op.is_elementwise for i in pullback if i.op.name != "contract")
    assert len(tape.outputs) == 2
    np.testing.assert_allclose(wg.grad(loss)(W), 2 * (W @ X - Y) @ X.T * mask.mean(), rtol=1e-12)


def test_dense_data_of_shapes_of_its_own_has_no_cotangent() -> None:
    """The same where every array has a shape of its own: data of a shape means a cotangent of that shape is a waste."""
    rng = np.random.default_rng(1)
    X, Y, mask = rng.random((4, 5)), rng.random((1, 5)), rng.random((3, 1))

    def loss(W: Any) -> Any:
        return (((W @ X) - Y) * mask).sum()

    shapes = {v.aval.shape for i in backward(wg.trace(wg.grad(loss))(np.ones((3, 4)))) for v in i.outs}
    assert shapes.isdisjoint({X.shape, Y.shape})
    assert_gradient(wg.grad(loss)(np.ones((3, 4))), loss, np.ones((3, 4)))


# --------------------------------------------------------------------------------- structures of which one field varies


@dataclass(frozen=True)
class Polynomial:
    c0: Any
    c1: Any
    c2: Any
    c3: Any
    c4: Any
    c5: Any
    c6: Any
    c7: Any
    c8: Any
    c9: Any

    def __call__(self, x: Any) -> Any:
        return (
            self.c0 + self.c1 * x + self.c2 * x**2 + self.c3 * x**3 + self.c4 * x**4
            + self.c5 * x**5 + self.c6 * x**6 + self.c7 * x**7 + self.c8 * x**8 + self.c9 * x**9
        )  # fmt: skip


def test_the_gradient_in_one_coefficient_of_ten_computes_nothing_of_the_others() -> None:
    """Nine coefficients are constants without a word from the user: the gradient is sum(x²), and nothing else."""
    xs = np.linspace(-1, 1, 1000)
    p = Polynomial(*np.linspace(1, 2, 10).tolist())

    def total(c: Any) -> Any:
        q = replace(p, c2=c)
        return np.sum(q(xs))

    gradient = wg.grad(total)
    assert gradient(1.0) == pytest.approx(np.sum(xs**2), rel=1e-13)
    jitted = wg.jit(gradient)
    assert jitted(1.0) == pytest.approx(np.sum(xs**2), rel=1e-13)

    tape = optimised(gradient, 1.0)
    arrays = [v for i in tape.instrs for v in i.outs if v.aval.size == xs.size]
    assert len(arrays) <= 1  # x²; the value itself is dead code here
    assert len(backward(wg.trace(gradient)(1.0))) <= 2  # one product, one sum: no partial of the other nine


def test_the_value_and_the_gradient_need_at_most_five_arrays() -> None:
    """Peak memory of the program, value and gradient together, in arrays of x's size."""
    n = 100_000
    xs = np.linspace(-1, 1, n)
    p = Polynomial(*np.linspace(1, 2, 10).tolist())
    program = wg.jit(wg.value_and_grad(lambda c: np.sum(replace(p, c2=c)(xs)))).program(1.0)
    tracemalloc.start()
    try:
        program(1.0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 5 * xs.nbytes + 20_000


def test_the_gradient_in_one_leaf_by_wrt_computes_nothing_of_the_others() -> None:
    """The same, the structure as the argument and the leaf chosen with wrt=."""
    xs = np.linspace(-1, 1, 20)
    p = Polynomial(*np.linspace(1, 2, 10).tolist())
    gradient = wg.grad(lambda q: np.sum(q(xs)), wrt=lambda args: args[0].c2)
    assert gradient(p) == pytest.approx(np.sum(xs**2), rel=1e-13)
    tape = wg.trace(gradient)(p)
    assert len(tape.outputs) == 1
    assert len(backward(tape)) <= 2


class Pair(NamedTuple):
    a: Any
    b: Any


def test_replacing_one_field_is_differentiable() -> None:
    """dataclasses.replace and NamedTuple._replace inside the traced function; the other fields stay constants."""
    data = Pair(np.arange(3.0), 2.0)
    model = Polynomial(*[float(k) for k in range(10)])

    def named(b: Any) -> Any:
        changed = data._replace(b=b)
        return np.sum(changed.a * changed.b**2)

    def classed(b: Any) -> Any:
        changed = replace(model, c1=b, c3=b * b)
        return changed(0.5)

    for f, at in ((named, 3.0), (classed, 0.7)):
        assert wg.grad(f)(at) == pytest.approx(float(numeric_gradient(f, at)), rel=1e-7)
        assert wg.jit(wg.grad(f))(at) == wg.grad(f)(at)
    assert data.b == 2.0
    assert model.c1 == 1.0


def test_a_replaced_field_of_an_argument_has_a_gradient_of_zero() -> None:
    """The gradient has the structure of the argument, a zero where a field was replaced."""

    def f(pair: Pair) -> Any:
        return np.sum(pair._replace(b=5.0).a * pair._replace(a=1.0).a) + pair._replace(b=pair.a[0]).b

    gradient = wg.grad(f)(Pair(np.ones(2), 3.0))
    assert isinstance(gradient, Pair)
    np.testing.assert_array_equal(gradient.a, [2.0, 1.0])
    assert gradient.b == 0.0


# -------------------------------------------------------------------------------------------- what is constant, and why


def test_stop_gradient_is_a_constant_to_every_derivative() -> None:
    """x · stop_gradient(sin x) has derivative sin x, in both modes; its tape has no cotangent of the stopped part."""

    def f(x: Any) -> Any:
        return x * wg.stop_gradient(np.sin(x))

    assert wg.grad(f)(0.4) == np.sin(0.4)
    assert wg.jvp(f, (0.4,), (1.0,))[1] == np.sin(0.4)
    assert wg.grad(wg.grad(f))(0.4) == 0.0
    names = [i.op.name for i in backward(wg.trace(wg.grad(f))(0.4))]
    assert "cos" not in names


def test_stop_gradient_of_a_structure_stops_at_every_leaf() -> None:
    gradient = wg.grad(lambda p: np.sum(p["w"] * wg.stop_gradient(p)["w"] + p["b"]))(
        {"w": np.array([1.0, 2.0]), "b": 3.0}
    )
    np.testing.assert_array_equal(gradient["w"], [1.0, 2.0])
    assert gradient["b"] == 2.0


def test_a_constant_that_is_differentiated_raises() -> None:
    """Promising that an argument never changes while differentiating with respect to it is a contradiction."""
    with pytest.raises(NotDifferentiableError, match=r"constant(.|\n)*test_constants\.py(.|\n)*stop_gradient"):
        wg.grad(lambda x: np.sum(wg.constant(x) ** 2))(np.ones(3))
    with pytest.raises(NotDifferentiableError):
        wg.jit(lambda p: np.sum(wg.constant(p)["x"] ** 2))({"x": np.ones(3)})


def test_only_the_leaves_chosen_by_wrt_are_differentiated() -> None:
    """wrt= of one leaf gives the gradient in that leaf alone; all else is constant data."""
    params = {"W": np.ones((2, 2)), "b": np.zeros(2)}
    gradient = wg.grad(lambda p, x: np.sum((p["W"] @ x + p["b"]) ** 2), wrt=lambda args: args[0]["b"])
    np.testing.assert_array_equal(gradient(params, np.ones(2)), [4.0, 4.0])


def test_a_tape_says_why_a_value_is_active() -> None:
    """The inputs a value depends on and the user's lines on the way; a value of constants alone says that."""
    c = np.ones(3)

    def f(x: Any, y: Any) -> Any:
        data = np.sum(c * 2)
        inner = np.sin(x)
        return inner * y + data

    tape = wg.trace(f)(0.5, 2.0)
    (sine,) = wg.edit.find(tape, op="sin")
    why = wg.edit.explain(tape, sine.outs[0])
    assert "active" in why
    assert "input 0" in why
    assert "sin at test_constants.py:" in why
    assert "0, 1" in wg.edit.explain(tape, tape.outputs[0])
    (total,) = wg.edit.find(tape, op="sum")
    assert "constant" in wg.edit.explain(tape, total.outs[0])
    assert "constant" in wg.edit.explain(tape, sine.outs[0], wrt=[1])


# ---------------------------------------------------------------------------------------------------------------- seeds


def test_the_seed_of_a_sum_is_one_scalar() -> None:
    """∂ sum(aᵀ b) / ∂a is a row sum of b, repeated: O(n²) work, no contraction of matrix with matrix."""
    rng = np.random.default_rng(0)
    a, b = rng.random((6, 4)), rng.random((6, 5))
    gradient = wg.grad(lambda a: np.sum(a.T @ b))
    tape = optimised(gradient, a)
    for instr in tape.instrs:
        if instr.op.name == "contract":  # a product with a vector at the most
            assert min(x.aval.ndim for x in instr.ins) <= 1
    np.testing.assert_allclose(gradient(a), np.tile(b.sum(1)[:, None], (1, 4)), rtol=1e-13)

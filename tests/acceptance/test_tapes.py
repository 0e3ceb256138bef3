"""The tape as something to read, question and change; one tape for forward and backward; one for all spellings."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.acceptance.differences import assert_gradient, numeric_gradient
from wengert import passes
from wengert.ad.forward import jvp
from wengert.ad.partition import partition
from wengert.ad.reverse import vjp
from wengert.batching import batch
from wengert.errors import ShapeError, StructureError
from wengert.ops import OPS
from wengert.tape import Tape, structure


def joint(f: Any, *args: Any, argnums: Any = 0) -> Tape:
    """The optimised tape of value and gradient."""
    return wg.compile(wg.trace(wg.value_and_grad(f, argnums))(*args)).tape


def names(tape: Tape) -> list[str]:
    return [instr.op.name for instr in tape.instrs]


# ---------------------------------------------------------------------------------------------------- what passes leave


def test_the_exponential_is_computed_once() -> None:
    """sum(x exp x): exp, product and sum forward; x exp x and its sum with exp x backward. One exp for both parts."""
    tape = joint(lambda x: np.sum(np.exp(x) * x), np.ones(5))
    assert names(tape).count("exp") == 1
    assert len(tape) <= 5
    assert "cotangent" in str(tape)


def test_a_dense_layer() -> None:
    """sum tanh²(Wx + b) in W, x, b: 5 steps forward; backwards 2y, 1 - y² in two, their product, two contractions."""
    tape = joint(
        lambda W, x, b: np.sum(np.tanh(W @ x + b) ** 2), np.ones((3, 5)), np.ones(5), np.ones(3), argnums=(0, 1, 2)
    )
    assert names(tape).count("tanh") == 1
    assert names(tape).count("contract") == 3
    assert names(tape).count("transpose") == 0  # Wᵀ is how W is read, not a copy of it
    assert len(tape) <= 11
    read = {a for i in tape.instrs for a in i.ins if i.source is not None and i.source.role == "cotangent"}
    (product,) = wg.edit.find(tape, op="contract", where=lambda i: i.source is not None and not i.source.role)
    assert product.outs[0] not in read  # the pre-activation is not kept: tanh's derivative is told by its output


def test_a_product_of_two_functions() -> None:
    """sum(sin x exp(-x²)): 6 steps forward, and at most 6 backwards; the product itself serves again."""
    tape = joint(lambda x: np.sum(np.sin(x) * np.exp(-(x**2))), np.ones(5))
    assert names(tape).count("exp") == 1
    assert names(tape).count("sin") == 1
    assert len(tape) <= 12


def test_dead_steps_are_absent() -> None:
    """For the gradient alone nothing of the forward part stays that the backward part does not read."""
    tape = wg.compile(wg.trace(wg.grad(lambda x: np.sum(np.exp(x)) + np.log(7.0) + 3 * x[0]))(np.ones(5))).tape
    assert "sum" not in names(tape)
    assert names(tape).count("exp") == 1
    used = set(tape.outputs) | {a for i in tape.instrs for a in i.ins}
    assert all(i.op.effects or not used.isdisjoint(i.outs) for i in tape.instrs)


# -------------------------------------------------------------------------------------------------------------- surgery


def squared_sum(x: Any) -> Any:
    return np.sum(np.exp(x) ** 2)


def test_a_step_is_replaced_and_the_tape_run_again() -> None:
    """exp becomes sin; the compiled form agrees with the player, value by value, and has the new gradient."""
    x = np.linspace(0, 1, 3)
    tape = wg.trace(squared_sum)(x)
    (exp,) = wg.edit.find(tape, op="exp")
    edited = wg.edit.replace_step(tape, exp.outs[0], OPS["sin"], exp.ins[0])
    assert wg.compile(edited)(x) == pytest.approx(np.sum(np.sin(x) ** 2), rel=1e-15)
    values = wg.edit.play(edited, x)
    assert values[edited.outputs[0]] == wg.compile(edited)(x)
    for instr in edited.instrs:
        assert all(v in values for v in instr.outs)
    gradient = wg.compile(vjp(edited, (0,), (0,), "one"))(x)[1]
    assert_gradient(gradient, lambda x: np.sum(np.sin(x) ** 2), x)
    assert wg.compile(tape)(x) == pytest.approx(squared_sum(x), rel=1e-15)  # the tape that was edited is what it was


def test_steps_are_inserted_and_deleted() -> None:
    """References to values stay good through an insertion before them, a replacement and a deletion."""
    x = np.linspace(0, 1, 3)
    tape = wg.trace(squared_sum)(x)
    (exp,) = wg.edit.find(tape, op="exp")
    (total,) = wg.edit.find(tape, op="sum")
    tape, doubled = wg.edit.insert_after(tape, exp.outs[0], lambda v: 2 * v, exp.outs[0])
    assert len(tape) == 4
    assert wg.compile(tape)(x) == pytest.approx(squared_sum(x), rel=1e-15)  # nobody reads it yet
    tape = wg.edit.replace_value(tape, exp.outs[0], doubled)
    assert wg.compile(tape)(x) == pytest.approx(4 * squared_sum(x))
    tape, dead = wg.edit.insert_after(tape, None, OPS["cos"], tape.inputs[0])
    tape = wg.edit.delete(tape, dead)
    assert wg.compile(tape)(x) == pytest.approx(4 * squared_sum(x))
    assert wg.edit.play(tape, x)[total.outs[0]] == pytest.approx(wg.compile(tape)(x), rel=1e-15)


def test_surgery_that_would_break_the_tape_raises() -> None:
    """What is read cannot be deleted, what has another type cannot take its place, a stranger is not on the tape."""
    tape = wg.trace(squared_sum)(np.ones(3))
    (exp,) = wg.edit.find(tape, op="exp")
    (total,) = wg.edit.find(tape, op="sum")
    with pytest.raises(StructureError, match="square reads it"):
        wg.edit.delete(tape, exp.outs[0])
    with pytest.raises(StructureError, match="output"):
        wg.edit.delete(tape, total.outs[0])
    with pytest.raises(ShapeError, match=r"float64\[3\](.|\n)*float64\[\]"):
        wg.edit.replace_value(tape, exp.outs[0], total.outs[0])
    chain = wg.trace(lambda x: np.sum(np.exp(np.cos(np.sin(x)))))(np.ones(3))
    (sine,), (exp,) = wg.edit.find(chain, op="sin"), wg.edit.find(chain, op="exp")
    with pytest.raises(StructureError, match=r"cos would read the new value before exp computes it"):
        wg.edit.replace_value(chain, sine.outs[0], exp.outs[0])
    with pytest.raises(StructureError, match="no instruction of the tape"):
        wg.edit.delete(tape, sine.outs[0])


def test_random_tapes_play_as_they_compile() -> None:
    """Every value that a program returns is, bit for bit, the player's."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        W, x = rng.standard_normal((3, 3)), rng.standard_normal(3)

        def f(x: Any, W: Any = W) -> Any:
            y = np.tanh(W @ x)
            y[1] = y[0] * x[2]
            return np.sum(np.where(y > 0, y, np.exp(y))), y

        tape = wg.trace(wg.grad(lambda x: f(x)[0]))(x)
        program = wg.compile(tape)
        played = wg.edit.play(program.tape, x)
        np.testing.assert_allclose(program(x), played[program.tape.outputs[0]], rtol=1e-11)


# ------------------------------------------------------------------------------------------------- printing and queries


def activation(z: Any) -> Any:
    if z[0] > 0:  # the branch
        return np.tanh(z)
    return z


def layer(W: Any, z: Any) -> Any:
    return activation(W @ z)


def network(x: Any) -> Any:
    W = np.eye(2) * 2.0
    x = layer(W, x)
    x = layer(W, x)
    return np.sum(x)


BRANCH_LINE = activation.__code__.co_firstlineno + 1


def test_the_tape_prints_as_a_tree_of_calls() -> None:
    """To a chosen depth; what is below is counted; branches say which way they went, and where."""
    tape = wg.trace(network)(np.ones(2))
    whole = wg.format_tree(tape)
    assert whole.splitlines()[0] == "network"
    assert whole.count("layer()   # called at test_tapes.py") == 2
    assert whole.count("activation()   # called at test_tapes.py") == 2
    assert whole.count(f"bool -> True   # test_tapes.py:{BRANCH_LINE}") == 2
    assert "tanh -> float64[2]" in whole

    shallow = wg.format_tree(tape, depth=0)
    assert "layer()" not in shallow
    assert "... " in shallow
    middle = wg.format_tree(tape, depth=1)
    assert middle.count("layer()") == 2
    assert "activation()" not in middle
    assert "tanh" not in middle
    counted = sum(int(line.split()[1]) for line in shallow.splitlines() if line.strip().startswith("..."))
    shown = sum("->" in line for line in shallow.splitlines())
    assert counted + shown == len(tape)


def test_a_gradient_prints_under_the_calls_it_belongs_to() -> None:
    tree = wg.format_tree(wg.trace(wg.grad(network))(np.ones(2)))
    assert "cotangent" in tree
    assert tree.count("activation()") >= 4  # forward twice, backward twice


def test_queries_by_name_line_and_function() -> None:
    """find, ancestors and descendants: by op, by the user's line and function, by a predicate."""
    x = np.ones(2)

    def f(x: Any) -> Any:
        a = np.sin(x)
        b = np.cos(x)
        c = a * 2
        return np.sum(c), np.sum(b)

    tape = wg.trace(f)(x)
    first = f.__code__.co_firstlineno
    assert [i.op.name for i in wg.edit.find(tape, line=first + 2)] == ["cos"]
    assert len(wg.edit.find(tape, op="sum")) == 2
    assert wg.edit.find(tape, function="f") == list(tape.instrs)
    assert wg.edit.find(tape, op="sum", line=first + 1) == []
    assert [i.op.name for i in wg.edit.find(tape, where=lambda i: i.outs[0].aval.shape == ())] == ["sum", "sum"]
    (sine,) = wg.edit.find(tape, op="sin")
    left, right = wg.edit.find(tape, op="sum")
    assert [i.op.name for i in wg.edit.descendants(tape, sine.outs[0])] == ["multiply", "sum"]
    assert [i.op.name for i in wg.edit.ancestors(tape, left.outs[0])] == ["sin", "multiply", "sum"]
    assert [i.op.name for i in wg.edit.ancestors(tape, right.outs[0])] == ["cos", "sum"]
    assert len(wg.edit.descendants(tape, tape.inputs[0])) == len(tape)
    assert wg.edit.ancestors(tape, tape.inputs[0]) == []


def test_metadata_survives_transforms_and_passes() -> None:
    """Notes on values: through reverse and forward mode, batching, the cut of a joint tape, and every pass."""

    def f(x: Any) -> Any:
        a = np.sin(x)
        b = np.sin(x)  # merged with a
        return np.sum(a * b)

    tape = wg.trace(f)(np.ones(2))
    first, second = wg.edit.find(tape, op="sin")
    (total,) = wg.edit.find(tape, op="sum")
    noted = wg.edit.annotate(tape, {first.outs[0]: "the sine", total.outs[0]: {"unit": "J"}})
    assert tape.metadata == {}

    transforms: dict[str, Any] = {
        "vjp": lambda t: vjp(t, (0,), (0,), "one"),
        "jvp": lambda t: jvp(t, (0,)),
        "batch": lambda t: batch(t, (True,), 3),
        "passes": passes.run,
        "vjp, then passes": lambda t: passes.run(vjp(t, (0,), (0,), "one")),
        "jvp of vjp": lambda t: jvp(vjp(t, (0,), (0,), "one"), (0,)),
        "first part": lambda t: partition(vjp(t, (0,), (0,), "given"), 1, 1)[0],
    }
    for name, transform in transforms.items():
        after = transform(noted)
        notes = {i.op.name: after.metadata[v] for i in after.instrs for v in i.outs if v in after.metadata}
        assert notes.get("sin") == "the sine", name
        assert notes.get("sum") == {"unit": "J"}, name

    moved = passes.run(wg.edit.annotate(tape, {second.outs[0]: "a note on the twin"}))
    (sine,) = wg.edit.find(moved, op="sin")
    assert moved.metadata[sine.outs[0]] == "a note on the twin"


# --------------------------------------------------------------------------------------- one tape however it is written


def spellings(depth: int) -> dict[str, Any]:
    """One network, x ← cos(W x), in the ways in which people write it."""

    def step(x: Any, W: Any) -> Any:
        return np.cos(W @ x)

    def by_closures(W: Any, x: Any) -> Any:
        return reduce(lambda y, f: f(y), [lambda y, i=i: step(y, W[i]) for i in range(depth)], x)[0]

    def by_comprehension(W: Any, x: Any) -> Any:
        return [x := step(x, M) for M in W][-1][0]

    def by_loop(W: Any, x: Any) -> Any:
        for M in W:
            x = np.cos(M @ x)
        return x[0]

    def by_recursion(W: Any, x: Any) -> Any:
        return by_recursion(W[1:], step(x, W[0])) if W else x[0]

    def unrolled(W: Any, x: Any) -> Any:
        a, b, c, d, e, f = W
        return np.cos(f @ np.cos(e @ np.cos(d @ np.cos(c @ np.cos(b @ np.cos(a @ x))))))[0]

    return {f.__name__: f for f in (by_closures, by_comprehension, by_loop, by_recursion, unrolled)}


def test_five_spellings_are_one_program() -> None:
    """Closures and reduce, a comprehension, a loop, recursion, unrolled: the same tape, so the same time."""
    rng = np.random.default_rng(0)
    x, W = rng.random(12), tuple(rng.random((12, 12)) for _ in range(6))
    programs = {}
    for name, f in spellings(6).items():
        tape = wg.compile(wg.trace(wg.value_and_grad(f))(W, x)).tape
        programs[name] = structure(tape)
        value, gradient = wg.value_and_grad(f)(W, x)
        want, wanted = wg.value_and_grad(spellings(6)["by_loop"])(W, x)
        assert value == want
        for g, w in zip(gradient, wanted, strict=True):
            np.testing.assert_array_equal(g, w)
    assert len(set(programs.values())) == 1


class Vertex:
    """A vertex of a user's computation graph. It says nothing of differentiation, and counts its calls."""

    def __init__(self, W: Any, b: Any, parents: list[Vertex]) -> None:
        self.W, self.b, self.parents = W, b, parents

    def __call__(self, calls: list[Any], *xs: Any) -> Any:
        calls.append(self)
        return np.tanh(self.W @ sum(xs[1:], start=xs[0]) + self.b)


def random_graph(n: int, width: int, seed: int) -> list[Vertex]:
    rng = np.random.default_rng(seed)
    vertices: list[Vertex] = []
    for k in range(n):
        fan_in = min(k, int(rng.integers(1, 4)))
        parents = [vertices[j] for j in rng.choice(k, fan_in, replace=False)] if k else []
        vertices.append(Vertex(rng.standard_normal((width, width)) / width, rng.standard_normal(width), parents))
    return vertices


def test_recursion_with_a_dict_is_the_loop_over_the_vertices() -> None:
    """output(memo, v), recursive with a plain dict as memo: same tape as in topological order, each vertex once."""
    vertices = random_graph(30, 4, seed=1)
    calls: list[Vertex] = []

    def output(memo: dict[Vertex, Any], v: Vertex) -> Any:
        if v not in memo:
            memo[v] = v(calls, *[output(memo, parent) for parent in v.parents])
        return memo[v]

    def recursive(x: Any) -> Any:
        memo = {vertices[0]: x}
        return np.sum(output(memo, vertices[-1]))

    def needed() -> list[Vertex]:
        found: list[Vertex] = []

        def visit(v: Vertex) -> None:
            for parent in v.parents:
                if parent not in found and parent is not vertices[0]:
                    visit(parent)
            if v not in found:
                found.append(v)

        visit(vertices[-1])
        return found

    order = needed()

    def looped(x: Any) -> Any:
        values = {vertices[0]: x}
        for v in order:
            values[v] = v([], *[values[parent] for parent in v.parents])
        return np.sum(values[vertices[-1]])

    x = np.linspace(-1, 1, 4)
    gradient = wg.grad(recursive)(x)
    assert len(calls) == len(set(calls)) == len(order)
    assert_gradient(gradient, recursive, x)
    np.testing.assert_array_equal(gradient, wg.grad(looped)(x))

    def of_inputs(f: Any) -> Any:  # un-jitted, as the calls above: what is captured is constant data
        return structure(passes.run(wg.trace(wg.grad(f))(x)))

    calls.clear()
    with pytest.raises(wg.errors.CaptureError):  # appending to `calls` would happen once only
        wg.trace(wg.grad(recursive))(x)

    def quiet(x: Any) -> Any:
        memo: dict[Vertex, Any] = {vertices[0]: x}

        def visit(v: Vertex) -> Any:
            if v not in memo:
                memo[v] = v([], *[visit(parent) for parent in v.parents])
            return memo[v]

        return np.sum(visit(vertices[-1]))

    assert len(wg.trace(wg.grad(quiet))(x)) == len(wg.trace(wg.grad(looped))(x))
    assert sorted(names(wg.trace(quiet)(x))) == sorted(names(wg.trace(looped)(x)))


def test_the_gradient_reaches_every_weight() -> None:
    """With respect to all weights at once, as a list of the vertices' matrices."""
    vertices = random_graph(8, 3, seed=2)
    x = np.array([0.3, -0.2, 0.9])

    def loss(weights: list[Any]) -> Any:
        memo: dict[int, Any] = {0: x}
        where = {v: k for k, v in enumerate(vertices)}

        def visit(k: int) -> Any:
            if k not in memo:
                inputs = [visit(where[parent]) for parent in vertices[k].parents]
                memo[k] = np.tanh(weights[k] @ sum(inputs[1:], start=inputs[0]) + vertices[k].b)
            return memo[k]

        return np.sum(visit(len(vertices) - 1))

    weights = [v.W for v in vertices]
    gradient = wg.grad(loss)(weights)
    for k, W in enumerate(weights):
        want = numeric_gradient(lambda M, k=k: loss([*weights[:k], M, *weights[k + 1 :]]), W)
        np.testing.assert_allclose(gradient[k], want, atol=1e-8)

"""Batching: a tape over a leading axis is the tape of every example; what is not batched is computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.ops.check_op import compare_batch, evaluate, formula
from wengert.ad.forward import jvp
from wengert.ad.reverse import vjp
from wengert.batching import batch
from wengert.errors import ConcretizationError
from wengert.ops.contract import matmul
from wengert.ops.control import Expected, guard
from wengert.ops.elementwise import exp, greater, less, select, sin, tanh
from wengert.ops.index import gather, nonzero, scatter_add
from wengert.ops.linalg import solve
from wengert.ops.linalg.determinants import slogdet
from wengert.ops.reduce import max_, sum_
from wengert.ops.shape import iota
from wengert.source import Source
from wengert.tape import Aval, Capture, Instr, Lit, Tape, Var, check

F64, INTP = np.dtype(float), np.dtype(np.intp)
SIZE = 4


def normal(*shape: int) -> Callable[[np.random.Generator], Any]:
    return lambda rng: rng.standard_normal(shape)


def indices(n: int, *shape: int) -> Callable[[np.random.Generator], Any]:
    return lambda rng: rng.integers(0, n, shape)


def dominant(n: int) -> Callable[[np.random.Generator], Any]:
    return lambda rng: rng.standard_normal((n, n)) + 4 * np.eye(n)


def layer(w: Any, x: Any, b: Any) -> Any:
    return tanh(matmul(w, x) + b)


def softmax(x: Any) -> Any:
    e = exp(x - max_(x, axis=(0,)))
    return e / sum_(e, axis=(0,))


def bucket_sums(x: Any, i: Any) -> Any:
    return scatter_add(gather(x, i) * 0.0, sin(gather(x, i)), i)


PROGRAMS: list[tuple[str, Callable[..., Any], list[Any]]] = [
    ("a layer", layer, [normal(3, 4), normal(4), normal(3)]),
    ("a layer with a scalar bias", layer, [normal(3, 4), normal(4), normal()]),
    ("softmax", softmax, [normal(5)]),
    ("reads and writes at indices", bucket_sums, [normal(3), indices(3, 3)]),
    ("two results", lambda a: slogdet(a)[1] * slogdet(a)[0], [dominant(3)]),
    ("a branch", lambda x, y: select(greater(x, y), x * x, y), [normal(3), normal(3)]),
    ("a linear system", lambda a, b: solve(a, b, transpose=False), [dominant(3), normal(3, 2)]),
    ("outputs of which one is an input", lambda x, y: (x, sin(y), Lit(2.0)), [normal(3), normal()]),
]


@pytest.mark.parametrize(("name", "f", "draws"), PROGRAMS, ids=[p[0] for p in PROGRAMS])
def test_a_batch_is_a_loop(name: str, f: Callable[..., Any], draws: list[Any]) -> None:
    rng = np.random.default_rng(0)
    examples = [[draw(rng) for draw in draws] for _ in range(SIZE)]
    tape = formula(f, *[Aval(np.shape(x), np.asarray(x).dtype) for x in examples[0]])
    every = [True] * len(draws)
    alone = [[i == j for j in range(len(draws))] for i in range(len(draws))]
    compare_batch(tape, examples, [tuple(flags) for flags in [every, *alone]])


@pytest.mark.parametrize(("name", "f", "draws"), PROGRAMS[:6], ids=[p[0] for p in PROGRAMS[:6]])
def test_a_batch_of_derivatives_is_a_derivative_of_the_batch(name: str, f: Any, draws: list[Any]) -> None:
    """Reverse and forward over a batch, and a batch over reverse and forward."""
    rng = np.random.default_rng(0)
    examples = [[draw(rng) for draw in draws] for _ in range(SIZE)]
    tape = formula(f, *[Aval(np.shape(x), np.asarray(x).dtype) for x in examples[0]])
    wrt = [i for i, v in enumerate(tape.inputs) if v.aval.is_inexact]
    xs = [np.stack(column) for column in zip(*examples, strict=True)]
    every = (True,) * len(xs)
    for transform, avals in [(vjp, tape.out_avals), (jvp, [tape.inputs[i].aval for i in wrt])]:
        extra = [rng.standard_normal((SIZE, *a.shape)) for a in avals]
        inside = batch(transform(tape, wrt, [0]), every + (True,) * len(extra), SIZE)
        outside = transform(batch(tape, every, SIZE), wrt, [0])
        for a, b in zip(evaluate(inside, [*xs, *extra]), evaluate(outside, [*xs, *extra]), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_batches_nest() -> None:
    tape = formula(lambda x, y: matmul(x, y), Aval((3,), F64), Aval((3,), F64))
    inner = batch(tape, [False, True], 4)  # one x, four y
    outer = batch(inner, [True, False], 5)  # five x, the same four y
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    np.testing.assert_allclose(evaluate(outer, [x, y])[0], x @ y.T, rtol=1e-14)


def test_what_is_not_batched_is_computed_once() -> None:
    tape = formula(lambda w, x: matmul(tanh(w), x), Aval((3, 3), F64), Aval((3,), F64))
    mapped = batch(tape, [False, True], 100)
    assert mapped.instrs[0] is tape.instrs[0]  # tanh of the matrix as it was, not of a hundred copies
    assert max(v.aval.size for i in mapped.instrs for v in i.outs) == 300


def test_a_matrix_times_a_batch_of_vectors_is_one_product() -> None:
    tape = formula(matmul, Aval((3, 4), F64), Aval((4,), F64))
    assert [i.op.name for i in batch(tape, [False, True], 5).instrs] == ["contract"]


def test_every_output_has_the_batch_axis() -> None:
    tape = formula(lambda x, y: (sin(x), y, Lit(1.0), iota(size=2, dtype=F64)), Aval((3,), F64), Aval((), F64))
    mapped = batch(tape, [True, False], 7)
    assert [a.shape for a in mapped.out_avals] == [(7, 3), (7,), (7,), (7, 2)]
    with_none = batch(tape, [False, False], 7)
    assert [a.shape for a in with_none.out_avals] == [(7, 3), (7,), (7,), (7, 2)]


def test_captured_arrays_are_not_batched() -> None:
    x, w = Var(Aval((3,), F64)), Capture(Var(Aval((3,), F64)), np.arange(3.0), "w")
    one = formula(lambda x, w: x * w, x.aval, w.var.aval)
    tape = one.replace(inputs=one.inputs[:1], captures=(w._replace(var=one.inputs[1]),))
    got = evaluate(batch(tape, [True], 2), [np.ones((2, 3))])[0]
    np.testing.assert_array_equal(got, [[0, 1, 2], [0, 1, 2]])


def test_steps_keep_their_source_lines() -> None:
    tape = formula(lambda x, i: gather(x, i), Aval((3,), F64), Aval((2,), INTP))
    line = Source("m.py", 7, "f")
    tape = tape.replace(instrs=tuple(i._replace(source=line) for i in tape.instrs))
    assert {i.source for i in batch(tape, [True, True], 2).instrs} == {line}


def guarded(x: Any) -> Any:
    guard(less(x, 0), expected=Expected(False), position=0, kind="if")
    return sin(x)


@pytest.mark.parametrize(
    ("f", "aval", "name"),
    [
        (guarded, Aval((), F64), "guard"),
        (lambda m: nonzero(m, size=2), Aval((3,), np.dtype(bool)), "nonzero"),
    ],
)
def test_what_each_example_may_decide_otherwise_is_refused(f: Any, aval: Aval, name: str) -> None:
    tape = formula(f, aval)
    line = Source("m.py", 7, "f")
    tape = tape.replace(instrs=tuple(Instr(*i[:4], line) for i in tape.instrs))
    with pytest.raises(ConcretizationError, match=rf"(?s){name} of a batched value.*m.py:7"):
        batch(tape, [True], 3)


def test_a_guard_on_what_is_not_batched_stays() -> None:
    def f(x: Any, y: Any) -> Any:
        return guarded(x) + y

    mapped = batch(formula(f, Aval((), F64), Aval((), F64)), [False, True], 3)
    assert [i.op.name for i in mapped.instrs] == ["less", "guard", "sin", "add"]


def test_an_empty_tape() -> None:
    tape = check(Tape((), (), (), ()))
    assert batch(tape, [], 3).outputs == ()

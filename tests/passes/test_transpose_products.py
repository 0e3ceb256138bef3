"""Products that are written in the order in which they are read."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.passes.random_tapes import arguments, random_tape
from wengert.ops.contract import contract
from wengert.ops.elementwise import sin
from wengert.ops.shape import transpose
from wengert.passes.transpose_products import transpose_products
from wengert.runtime.reference import Reference
from wengert.tape import Aval, Builder, Tape, Var, building, check

F64 = np.dtype("float64")
X, Y = Var(Aval((3, 4), F64)), Var(Aval((4, 5), F64))
LABELS = {"a": (0, 1), "b": (1, 2), "out": (0, 2)}


def steps(tape: Tape) -> list[tuple[str, object]]:
    return [(i.op.name, i.params.get("out")) for i in tape.instrs]


def values(tape: Tape) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [np.asarray(y) for y in Reference(tape).run([rng.normal(size=v.aval.shape) for v in tape.inputs])]


def test_a_product_read_by_a_transpose_alone() -> None:
    with building(Builder()) as builder:
        z = sin(transpose(contract(X, Y, **LABELS), axes=(1, 0)))
    tape = Tape((X, Y), (), builder.instrs, (z,))
    turned = transpose_products(tape)
    assert steps(turned) == [("contract", (2, 0)), ("sin", None)]
    check(turned)
    np.testing.assert_allclose(values(turned)[0], values(tape)[0], rtol=1e-14)


def test_transposes_one_after_the_other() -> None:
    x = Var(Aval((2, 3, 4), F64))
    with building(Builder()) as builder:
        y = contract(x, Y, a=(7, 0, 1), b=(1, 2), out=(7, 0, 2))
        z = transpose(transpose(y, axes=(0, 2, 1)), axes=(1, 0, 2))
    tape = Tape((x, Y), (), builder.instrs, (z,))
    assert steps(transpose_products(tape)) == [("contract", (2, 7, 0))]
    np.testing.assert_allclose(values(transpose_products(tape))[0], values(tape)[0], rtol=1e-14)


def test_what_others_read_too_stays() -> None:
    with building(Builder()) as builder:
        y = contract(X, Y, **LABELS)
        z = transpose(y, axes=(1, 0))
        u = transpose(sin(y), axes=(1, 0))
    for outputs in ((z, y), (z, u)):
        tape = Tape((X, Y), (), builder.instrs, outputs)
        assert transpose_products(tape).instrs == tape.instrs


@pytest.mark.parametrize("seed", range(10))
def test_random_tapes_keep_their_values(seed: int) -> None:
    tape = random_tape(seed)
    turned = transpose_products(tape)
    check(turned)
    for a, b in zip(Reference(turned).run(arguments(tape)), Reference(tape).run(arguments(tape)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_the_gradient_of_a_dense_layer_is_copied_nowhere() -> None:
    f = wg.grad(lambda w, x: np.sum(np.tanh(x @ w.T)))
    kernels = wg.jit(f).program(np.ones((300, 200)), np.ones((64, 200))).kernels
    assert [kernel.name for kernel in kernels if "copy" in kernel.name] == []

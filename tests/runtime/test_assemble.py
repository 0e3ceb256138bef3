"""Random tapes as machine code, against the references of their ops: values and gradients, short loops and long ones,
one thread and several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

import wengert as wg
from tests.comparisons import as_numpy
from tests.passes.random_tapes import FLOAT, SHAPES, arguments, random_tape
from wengert import passes
from wengert.ad.reverse import vjp
from wengert.codegen import lowered, strides
from wengert.codegen.nests import build
from wengert.runtime.program import Program
from wengert.runtime.reference import Reference
from wengert.tape import Tape, Var

LARGE = [(), (1,), (70,), (40, 60), (60, 40), (1, 60), (8, 9, 40), (2100,), (3, 700)]
seeds = st.integers(0, 2**32 - 1)


def compare(tape: Tape, inputs: Sequence[Any], rtol: float = 1e-10) -> None:
    kept = [np.copy(x) for x in inputs]
    want = Reference(tape).run(inputs)
    program = Program(tape)
    for _ in range(2):  # the second in the memory that the first left
        for a, b in zip(program.run(inputs), want, strict=True):
            assert np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1.0, float(np.max(np.abs(b), initial=0))))
    for x, before in zip(inputs, kept, strict=True):
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("shapes", [SHAPES, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("dtype", ["d", "f"])
@given(seed=seeds)
def test_random_tapes(seed: int, shapes: Any, dtype: str) -> None:
    tape = random_tape(seed, 12, shapes, np.dtype(dtype))
    compare(passes.run(tape), arguments(tape, seed), 1e-10 if dtype == "d" else 1e-3)


@pytest.mark.parametrize("shapes", [SHAPES, LARGE], ids=["small", "large"])
@given(seed=seeds)
def test_random_gradients(seed: int, shapes: Any) -> None:
    tape = random_tape(seed, 10, shapes, FLOAT)
    outputs = [k for k, v in enumerate(tape.outputs) if isinstance(v, Var) and v.aval.is_inexact]
    joint = vjp(tape, list(range(len(tape.inputs))), outputs)
    cotangents = arguments(joint, seed + 1)[len(tape.inputs) :]
    compare(passes.run(joint), [*arguments(tape, seed), *cotangents])


@pytest.mark.parametrize("n", [5, 20, 40])
@pytest.mark.parametrize("reduced", [lambda w, a: w @ a, lambda w, a: np.sum(w * a, axis=1)], ids=["product", "sum"])
def test_what_joins_a_reduction_overwrites_nothing_that_it_reads(reduced: Any, n: int) -> None:
    def f(w: Any, x: Any) -> Any:
        a = np.cumsum(x)
        total = reduced(w, a)
        v = a * a  # the last that reads a, and of its shape
        return total + v, np.cumsum(v)

    inputs = [np.random.default_rng(0).normal(size=shape) for shape in ((n, n), (n,))]
    compare(passes.run(wg.trace(f)(*inputs)), inputs)


@pytest.mark.sampled(4, "1500 steps, and their gradient")
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
def test_long_scalar_code(share: float) -> None:
    """Fused where that pays: cheap steps and, in this share, dear ones; what they make is read soon or late."""
    rng = np.random.default_rng(0)
    cheap = [lambda a, b: 0.6 * a - 0.4 * b, lambda a, b: a * b, np.minimum, lambda a, b: 0.9 * np.abs(b) + 0.1 * a]
    dear = [lambda a, b: 0.5 * np.sin(a + 1) + 0.5 * b, lambda a, b: 0.5 * np.exp(-np.abs(a)) - 0.5 * b]
    steps = []
    for k in range(1500):
        kind = dear if rng.random() < share else cheap
        near, far = rng.integers(max(0, k - 2), k + 1), rng.integers(max(0, k - 200), k + 1)
        steps.append((kind[rng.integers(len(kind))], near, far))

    def f(x: Any) -> Any:
        values = [x]
        for step, near, far in steps:
            values.append(step(values[near], values[far]))  # between -1 and 1, like its operands
        return values[-1] + values[700] * values[1234]

    for function in (f, wg.value_and_grad(f)):
        compare(passes.run(wg.trace(function)(0.5)), [np.asarray(0.5)])


@pytest.mark.deep("more than a second")
def test_sizes_at_run_time_are_as_good_as_in_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops for large shapes on smaller ones, steps in parts for two threads, long reductions in pieces."""
    monkeypatch.setattr(build, "STATIC_POINTS", 0)
    monkeypatch.setattr(strides, "GRAIN", 1)
    monkeypatch.setattr(build, "PIECE", 7)
    monkeypatch.setattr("wengert.passes.plan.planner.PIECE", 7)
    monkeypatch.setattr(lowered, "_templates", {})
    before = wg.get_threads()
    wg.set_threads(2)
    try:
        for seed in range(40):
            for shapes in (SHAPES, LARGE):
                tape = random_tape(seed, 12, shapes)
                compare(passes.run(tape), arguments(tape, seed))
    finally:
        wg.set_threads(before)


def test_what_is_remembered_of_a_step_is_not_its_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that makes networks by the thousand kept the steps of ten thousand."""
    monkeypatch.setattr(lowered, "_templates", {})
    wg.jit(lambda x: np.sin(x) * 2)(np.ones(7))
    kept = [call for call, _ in lowered._templates.values()]
    assert kept and all(call.instr is None and call.places == () for call in kept)


def test_a_fused_step_without_native_code_reads_its_own_literals() -> None:
    """Those that are operands of a kernel were handed to the reference too, which refused them."""
    as_numpy(lambda x: x * np.float64(1.3), np.ones(3000, np.float16))


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_what_python_computes_is_written_into_a_part_of_an_array(dtype: Any) -> None:
    """The results of callbacks were copied side by side, also to where the columns of a larger array are."""
    x = (np.arange(12.0).reshape(3, 4)[::-1] + 0.5).astype(dtype)
    as_numpy(lambda x: np.concatenate([special.gammaln(x.astype(float)), x.astype(float)], 1), x)
    as_numpy(lambda x: np.pad(x.astype(float), 1), x)
    as_numpy(lambda x: np.stack([special.k0(x.astype(float)), x.astype(float)], -1), x)
    as_numpy(lambda x: np.concatenate([np.gcd(x, 4), x], 1), x.astype(int))

"""Costs that are promised, as counts and ratios: instructions, arrays, bytes; never seconds."""

from __future__ import annotations

import cProfile
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.acceptance.differences import assert_gradient
from wengert import passes
from wengert.tape import Tape, check

SIZES = (100, 1000, 4000)


def optimised(f: Callable[..., Any], *args: Any) -> Tape:
    return wg.compile(wg.trace(f)(*args)).tape


def elements(tape: Tape) -> int:
    """How many numbers the steps of a tape produce: views share memory, and writes in place do, so these count none."""
    return sum(v.aval.size for i in tape.instrs if not i.op.is_view and i.op.in_place is None for v in i.outs)


def peak_bytes(call: Callable[..., Any], *args: Any) -> int:
    call(*args)
    tracemalloc.start()
    try:
        call(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def assert_linear(counts: dict[int, int], slack: float = 1.15) -> None:
    """From the smallest to the largest size, counts grow at most as the size does."""
    (n0, c0), (n1, c1) = min(counts.items()), max(counts.items())
    assert c1 <= slack * c0 * n1 / n0, counts


def sum_of_reads(x: Any) -> Any:
    total = 0.0
    for k in range(len(x)):
        total = total + x[k] * x[k]
    return total


def recurrence(x: Any) -> Any:
    a = np.zeros(len(x))
    a[0] = x[0]
    for i in range(1, len(x)):
        a[i] = 0.5 * a[i - 1] + x[i] * x[i]
    return np.sum(a)


def updates_in_place(x: Any) -> Any:
    a = x * 1.0
    for i in range(1, len(x)):
        a[i] += 0.5 * a[i - 1]
    return a[-1] + a[0]


def slices_of_one_array(x: Any) -> Any:
    total = 0.0
    for k in range(len(x) - 2):
        total = total + np.sum(x[k : k + 3] ** 2)
    return total


def rows_of_a_matrix(x: Any) -> Any:
    X = np.reshape(x, (-1, 4))
    total = 0.0
    for row in X:
        total = total + np.sum(row**2)
    return total


LOOPS = [sum_of_reads, recurrence, updates_in_place, slices_of_one_array, rows_of_a_matrix]


@pytest.mark.sampled(5, "loops of 4000 iterations")
@pytest.mark.parametrize("f", LOOPS)
def test_the_gradient_of_a_loop_has_linearly_many_steps(f: Callable[[Any], Any]) -> None:
    """n reads, writes or slices of one array: forward and backward part grow as n, and so do all bytes made."""
    steps, sizes = {}, {}
    for n in SIZES:
        tape = optimised(wg.value_and_grad(f), np.linspace(0.1, 1, n))
        steps[n], sizes[n] = len(tape), elements(tape)
    assert_linear(steps)
    assert_linear(sizes)


@pytest.mark.parametrize("f", LOOPS)
def test_the_gradient_of_a_loop_is_right(f: Callable[[Any], Any]) -> None:
    x = np.linspace(0.1, 1, 12)
    assert_gradient(wg.grad(f)(x), f, x)


@pytest.mark.sampled(5, "loops of 4000 iterations, every allocation counted")
@pytest.mark.parametrize("f", LOOPS)
def test_the_gradient_of_a_loop_needs_linearly_many_bytes(f: Callable[[Any], Any]) -> None:
    """Peak memory of one run of the program: a constant number of n-vectors and n scalars, not n vectors."""
    peaks = {}
    for n in SIZES:
        x = np.linspace(0.1, 1, n)
        program = wg.compile(wg.trace(wg.grad(f))(x))
        peaks[n] = peak_bytes(program, x)
    assert_linear(peaks, slack=1.5)
    assert peaks[4000] < 4000 * 400  # one 4000-vector for each of 4000 steps would be 128 MB


@pytest.mark.deep("loops of 4000 iterations under the profiler")
@pytest.mark.parametrize("f", LOOPS)
def test_recording_and_differentiating_a_loop_is_linear_work(f: Callable[[Any], Any]) -> None:
    """The calls that Python makes for record, derivative and passes, counted: no step looks at all the others."""
    calls = {}
    for n in (1000, 4000):
        profile = cProfile.Profile()
        profile.enable()
        wg.compile(wg.trace(wg.value_and_grad(f))(np.linspace(0.1, 1, n)))
        profile.disable()
        calls[n] = sum(row.callcount for row in profile.getstats())
    assert_linear(calls)


@pytest.mark.sampled(2, "a loop of 4000 iterations")
@pytest.mark.parametrize("n", [1000, 4000])
def test_writes_in_a_loop_make_no_copies_of_the_array(n: int) -> None:
    """The forward program of n writes a[i] = f(a[i - 1]): few arrays of size n at any time, however large n."""
    x = np.linspace(0.1, 1, n)
    program = wg.compile(wg.trace(recurrence)(x))
    scalars = 250 * n  # n numbers as Python objects, where nothing compiles them away
    assert peak_bytes(program, x) <= 4 * x.nbytes + scalars


def test_a_write_under_a_large_array_costs_what_it_writes() -> None:
    """One element of a large array written a thousand times: the arrays made do not multiply with the writes."""
    m = 100_000
    x = np.ones(m)

    def f(x: Any, writes: int) -> Any:
        a = x * 1.0
        for k in range(writes):
            a[k] = a[k] * a[k + 1]
        return np.sum(a)

    peaks = [peak_bytes(wg.compile(wg.trace(wg.grad(f))(x, k)), x, k) for k in (10, 500)]
    assert peaks[1] <= peaks[0] + 500 * 2000
    assert peaks[1] <= 8 * x.nbytes


def random_dag(n_vertices: int, width: int, seed: int) -> tuple[Callable[..., Any], Any]:
    """A function of the weights of a random DAG, tanh(W @ sum of up to three parents + b) at each vertex."""
    rng = np.random.default_rng(seed)
    parents = [rng.choice(k, min(k, int(rng.integers(1, 4))), replace=False) for k in range(n_vertices)]
    weights = [rng.standard_normal((width, width)) / width for _ in range(n_vertices)]
    biases = [rng.standard_normal(width) for _ in range(n_vertices)]

    def f(weights: Any, biases: Any) -> Any:
        values: list[Any] = [np.ones(width)]
        for k in range(1, n_vertices):
            x = values[parents[k][0]]
            for j in parents[k][1:]:
                x = x + values[j]
            values.append(np.tanh(weights[k] @ x + biases[k]))
        total = values[0]
        for v in values[1:]:
            total = total + v
        return np.sum(total)

    return f, (weights, biases)


@pytest.mark.deep("a thousand products of matrices")
def test_the_tape_of_a_graph_is_linear_in_its_vertices() -> None:
    """V vertices of fan-in 1 to 3: at most a constant number of steps a vertex, forward and backward."""
    steps = {}
    for n in (50, 200, 1000):
        f, args = random_dag(n, 4, seed=n)
        tape = wg.trace(wg.value_and_grad(f, (0, 1)))(*args)
        steps[n] = len(tape)
        if n == 1000:
            check(tape)
            check(wg.compile(tape).tape)
            assert len(wg.compile(tape).tape) <= len(tape)
    assert_linear(steps)
    assert max(steps.values()) <= 1000 * 20


def test_the_gradient_of_a_graph_is_right() -> None:
    f, (weights, biases) = random_dag(12, 3, seed=0)
    gradient = wg.grad(f)(weights, biases)
    for k in (1, 5, 11):
        assert_gradient(gradient[k], lambda W, k=k: f([*weights[:k], W, *weights[k + 1 :]], biases), weights[k])


# ------------------------------------------------------------------------------------------- what is kept, and why


def residuals(tape: Tape) -> list[str]:
    """The ops whose array results the backward part reads."""
    forward = {v: i.op.name for i in tape.instrs if i.source and not i.source.role for v in i.outs}
    read = {a for i in tape.instrs if i.source and i.source.role == "cotangent" for a in i.ins}
    read |= set(tape.outputs)
    return sorted(name for v, name in forward.items() if v in read and v.aval.shape)


def test_tanh_keeps_its_output_alone() -> None:
    """1 - y² needs neither x nor Wx nor Wx + b, so one array a layer is kept."""
    W, b = np.ones((3, 4)), np.ones(3)
    tape = optimised(wg.value_and_grad(lambda x: np.sum(np.tanh(W @ x + b))), np.ones(4))
    assert residuals(tape) == ["tanh"]


@pytest.mark.parametrize(
    ("f", "kept"),
    [
        (lambda x: np.sum(np.exp(2 * x)), ["exp"]),
        (lambda x: np.sum(np.sqrt(x + 1)), ["sqrt"]),
        (lambda x: np.sum(x + 3 * x), []),
        (lambda x: np.sum(np.reshape(x, (5, 1)).T[:, ::-1] - 2.0), []),
    ],
)
def test_what_a_step_keeps(f: Callable[[Any], Any], kept: list[str]) -> None:
    """exp and √ are told by their output; linear steps and views keep nothing."""
    assert residuals(optimised(wg.value_and_grad(f), np.linspace(0.1, 1, 5))) == kept


def test_the_sum_of_exponentials_is_two_steps() -> None:
    """sum(exp(x)): two steps; its gradient is exp's output, and the sum is not even computed."""
    x = np.linspace(0, 1, 7)
    f = lambda x: np.sum(np.exp(x))
    tape = wg.trace(f)(x)
    assert [i.op.name for i in tape.instrs] == ["exp", "sum"]
    gradient = optimised(wg.grad(f), x)
    assert [i.op.name for i in gradient.instrs] == ["exp"]
    assert gradient.outputs == gradient.instrs[0].outs
    both = optimised(wg.value_and_grad(f), x)
    assert [i.op.name for i in both.instrs] == ["exp", "sum"]


@pytest.mark.machine_code("tapes are optimised for machine code alone")
def test_an_unjitted_gradient_is_optimised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The function runs at every call; the derivative of what it recorded is taken when that is new."""
    optimise = passes.run
    runs = []

    def counting(tape: Tape, *which: Any) -> Tape:
        if not which:  # by the pipeline
            runs.append(len(tape))
        return optimise(tape, *which)

    monkeypatch.setattr(passes, "run", counting)
    calls = []

    def f(x: Any) -> Any:
        calls.append(1)
        return np.sum(np.cos(x) * 1.2345)

    gradient = wg.grad(f)
    for k in range(5):
        gradient(np.full(3, float(k)))
    assert len(calls) == 5
    assert len(runs) == 1


@pytest.mark.deep("a hundred thousand steps")
def test_a_chain_of_a_hundred_thousand_steps() -> None:
    """No recursion along the tape: record, differentiate, optimise, run."""
    n = 100_000

    def f(x: Any) -> Any:
        for _ in range(n):
            x = x + 1e-6
        return x * x

    x = 0.5
    assert wg.grad(f)(x) == pytest.approx(2 * (x + 0.1))

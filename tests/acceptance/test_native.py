"""What native programs promise, as counts and values: kernels, buffers, allocations, calls of Python; never seconds."""

from __future__ import annotations

import cProfile
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.acceptance.differences import assert_gradient
from wengert import passes
from wengert.passes.plan.planner import plan
from wengert.runtime.program import Program

pytestmark = pytest.mark.machine_code("the kernels of native programs are counted")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def program_of(f: Callable[..., Any], *args: Any) -> Program:
    return wg.jit(f).program(*args)


def kinds(program: Program) -> list[str]:
    return [k.kind for k in program.kernels]


def array_buffers(program: Program, nbytes: int) -> int:
    """Pieces of memory of at least so many bytes that a run of the program needs, its results among them."""
    assert program.plan is not None
    results = sum(a.aval.nbytes >= nbytes for a in program.tape.outputs)
    return results + program.arena_bytes // nbytes


def python_calls(call: Callable[[], Any]) -> int:
    call()
    profile = cProfile.Profile()
    profile.enable()
    call()
    profile.disable()
    return sum(row.callcount for row in profile.getstats())


def flops(program: Program) -> float:
    return sum(i.op.cost(*[a.aval for a in i.ins], **i.params) for i in program.tape.instrs)


def chain20(x: Any) -> Any:
    """Twenty elementwise steps."""
    y = np.sin(x) * np.exp(-(x**2))
    y = y + np.cos(2 * x) * 0.5 - np.tanh(y)
    y = np.sqrt(1 + y * y) + np.abs(y) / (2 + x * x)
    return y * y - 0.1 * y + np.log(3 + y)


def scalars500(x: Any) -> Any:
    for k in range(250):
        x = x * 1.0009 + 0.001 * k
    return x


# --------------------------------------------------------------------------------------------------------- replays


def replayed(a: Any, b: Any) -> Any:
    return np.sum(a.T @ b + a @ b.T)


def test_a_replay_is_a_fresh_record() -> None:
    a, b = rng().standard_normal((2, 100, 100))
    gradient = np.empty((100, 100)), np.empty((100, 100))
    call = program_of(wg.grad(replayed, (0, 1)), a, b).bind(a, b, out=gradient)
    for seed in range(5):
        a[...], b[...] = rng(seed).standard_normal((2, 100, 100))
        call()
        for got, want in zip(gradient, wg.grad(replayed, (0, 1))(a, b), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_a_tape_of_buffers_runs_again() -> None:
    x, y = np.array([1.0, 2.0, 3.0]), np.empty(3)
    call = program_of(lambda x: 2 * (x + 1), x).bind(x, out=y)
    assert call().tolist() == [4, 6, 8]
    x[...] = 1
    assert call().tolist() == [4, 4, 4]
    assert call() is y


def test_a_tape_of_ten_thousand_scalar_steps_replays_without_python() -> None:
    def calls(n: int) -> tuple[int, Program]:
        def f(x: Any) -> Any:
            for k in range(n):
                x = x + (0.5 if k % 2 else 1.5)
            return x

        program = program_of(f, 1.0)
        assert program(1.0) == f(1.0)
        return python_calls(lambda: program.run([1.0])), program

    few, _ = calls(100)
    many, program = calls(10_000)
    assert many == few
    assert set(kinds(program)) == {"loops"} and len(program.kernels) <= 10_000


def test_the_work_of_compiling_a_scalar_tape_is_linear() -> None:
    calls = {}
    for n in (1000, 4000):
        tape = passes.run(wg.trace(lambda x, n=n: sum_of_steps(x, n))(0.5))
        Program(tape)
        profile = cProfile.Profile()
        profile.enable()
        Program(tape)
        profile.disable()
        calls[n] = sum(row.callcount for row in profile.getstats())
    assert calls[4000] <= 1.15 * 4 * calls[1000], calls


def sum_of_steps(x: Any, n: int) -> Any:
    for k in range(n):
        x = x * 1.0001 + 0.25 * (k % 7)
    return x


def test_passes_make_few_kernels_of_many_steps() -> None:
    """An elementwise function is one kernel; five hundred scalar steps are a fifth of the kernels at the most."""
    x = np.linspace(0, 1, 100_000)
    assert len(program_of(chain20, x).kernels) == 1
    program = program_of(scalars500, 0.5)
    unfused = len(plan(program.tape).steps)
    assert unfused >= 490 and 5 * len(program.kernels) <= unfused
    np.testing.assert_allclose(program(0.5), scalars500(0.5), rtol=1e-13)


def test_a_call_that_finds_its_program_records_nothing() -> None:
    step, x = wg.jit(chain20), np.linspace(0, 1, 10_000)
    for _ in range(100):
        step(x)
    assert step.stats()["traces"] == 1 and step.stats()["calls"] == 100
    assert python_calls(lambda: step(x)) <= 3  # the lambda and the profiler's own end


def test_a_first_gradient_imports_only_what_it_needs() -> None:
    """Importing numpy.random, which NumPy puts off, takes longer than such a gradient; SciPy, fifty times as long.

    The second one is large enough for values to be computed again rather than stored.
    """
    code = """
        import sys, numpy as np, wengert as wg
        wg.config.verify = False
        wg.jit(wg.grad(lambda x: np.sum(np.sin(x) * np.cos(x))))(np.zeros(3))
        wg.jit(wg.grad(lambda x: np.sum(np.log(np.sum(np.exp(x * x), 1)))))(np.ones((300, 30)))
        assert not {"numpy.random", "scipy", "multiprocessing", "subprocess"} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


def test_recording_is_a_constant_number_of_calls_a_step() -> None:
    counts = {n: python_calls(lambda n=n: wg.trace(lambda x: sum_of_steps(x, n))(0.5)) for n in (100, 400)}
    assert counts[400] <= 1.15 * 4 * counts[100], counts


# -------------------------------------------------------------------------------------------------- fusion, memory


def dense(w: Any, x: Any, b: Any) -> Any:
    return np.sum(np.tanh(w @ x + b[:, None]) ** 2)


def test_the_gradient_of_a_dense_layer_needs_three_arrays() -> None:
    """w @ x, which becomes tanh of it and its cotangent where it lies, and the two results; the chain is one kernel."""
    w, x = rng().standard_normal((2, 150, 150))
    program = program_of(wg.grad(dense, (0, 1, 2)), w, x, rng().standard_normal(150))
    assert array_buffers(program, w.nbytes) <= 3
    assert sum(kernel.name.startswith("contract") for kernel in program.kernels) == 3
    whole = [s for s in program.plan.steps if s.outs and s.outs[0].aval.shape == (150, 150)]
    assert len(whole) == 4


def test_a_pullback_may_be_called_twice() -> None:
    w, x, b = rng().standard_normal((4, 5)), rng(1).standard_normal((5, 3)), rng(2).standard_normal(4)
    layer = lambda w, x, b: np.tanh(w @ x + b[:, None])
    _, pullback = wg.vjp(layer, w, x, b)
    ct = rng(3).standard_normal((4, 3))
    first = [np.copy(g) for g in pullback(ct)]
    pullback(2 * ct)
    for a, b_, c in zip(
        first, pullback(ct), wg.grad(lambda *p: np.sum(ct * layer(*p)), (0, 1, 2))(w, x, b), strict=True
    ):
        np.testing.assert_array_equal(a, b_)
        np.testing.assert_allclose(a, c, rtol=1e-12)
    jacobian = wg.jacobian(lambda b: layer(w, x, b))(b)
    np.testing.assert_allclose(np.einsum("ij,ijk->k", ct, jacobian), first[2], rtol=1e-12)


def test_what_somebody_else_reads_is_not_overwritten() -> None:
    w, x, b = rng().standard_normal((4, 5)), rng(1).standard_normal((5, 3)), rng(2).standard_normal(4)

    def f(w: Any) -> Any:
        y = w @ x
        z = np.tanh(y + b[:, None])
        return (z**2).sum() + y.sum()

    assert_gradient(wg.jit(wg.grad(f))(w), f, w)
    y, z = wg.jit(lambda w: (w @ x, np.tanh(w @ x + b[:, None])))(w)
    np.testing.assert_allclose(y, w @ x, rtol=1e-13)
    np.testing.assert_allclose(z, np.tanh(w @ x + b[:, None]), rtol=1e-13)


def test_bias_and_activation_are_one_pass_over_the_product() -> None:
    W, X, b = rng().standard_normal((150, 160)), rng(1).standard_normal((160, 140)), rng(2).standard_normal(150)
    relu_layer = lambda W, X, b: np.maximum(W @ X + b[:, None], 0)
    program = program_of(relu_layer, W, X, b)
    assert [kernel.name.split()[0] for kernel in program.kernels] == ["contract", "fused"]
    np.testing.assert_allclose(program(W, X, b), relu_layer(W, X, b), rtol=1e-12, atol=1e-12)
    small = program_of(relu_layer, W[:8, :8], X[:8, :8], b[:8])
    assert kinds(small) == ["loops"]  # an epilogue


def test_a_long_chain_reads_its_input_and_writes_its_gradient() -> None:
    """Forward and backward parts of twenty elementwise steps in one pass: nothing of the array's size is kept."""
    x = np.linspace(-1, 1, 100_000)
    program = program_of(wg.value_and_grad(lambda x: np.sum(chain20(x))), x)
    assert array_buffers(program, x.nbytes) == 1
    whole = [s for s in program.plan.steps if any(p.aval.shape == x.shape for p in (*s.ins, *s.outs))]
    assert len(whole) <= 2
    f = lambda x: np.sum(chain20(x))
    assert_gradient(wg.grad(f)(x[::10_000]), f, x[::10_000])


def test_a_gradient_overwrites_what_a_pullback_keeps() -> None:
    """The gradient's backward part runs once, so it works in the memory of the forward part; the arguments stay."""
    x = rng().standard_normal(50_000)
    kept = x.copy()

    def f(x: Any) -> Any:
        for _ in range(4):
            x = np.tanh(np.cumsum(x) * 0.01)
        return np.sum(x)

    program = program_of(wg.grad(f), x)
    assert array_buffers(program, x.nbytes) <= 6
    np.testing.assert_array_equal(x, kept)
    np.testing.assert_array_equal(program(x), program(x))
    small = x[:20]
    assert_gradient(wg.grad(f)(small), f, small)


@pytest.mark.parametrize("uses", [10, 100])
def test_cotangents_of_many_uses_gather_in_one_buffer(uses: int) -> None:
    """N uses of one n-vector: N times n numbers of work, and as many arrays for ten uses as for a hundred."""
    x = rng().standard_normal(5000)

    def f(x: Any) -> Any:
        total = 0.0
        for k in range(uses):
            total = total + np.sum(np.cumsum(x) * (0.1 * k))
        return total

    program = program_of(wg.grad(f), x)
    assert array_buffers(program, x.nbytes) <= 8
    np.testing.assert_allclose(program(x), np.arange(5000, 0, -1) * (0.1 * sum(range(uses))), rtol=1e-12)


def test_a_cotangent_that_reaches_a_value_twice_counts_twice() -> None:
    x = rng().standard_normal(5)
    np.testing.assert_array_equal(wg.jit(wg.grad(lambda x: np.sum(x + x)))(x), np.full(5, 2.0))
    np.testing.assert_array_equal(wg.jit(wg.grad(lambda x: np.sum(np.concatenate([x, x]))))(x), np.full(5, 2.0))

    def reused(x: Any) -> Any:
        y = x + x
        return np.sum(y * y) + np.sum(y)

    np.testing.assert_allclose(wg.jit(wg.grad(reused))(x), 8 * x + 2, rtol=1e-14)


# ------------------------------------------------------------------------------------------------ constants, costs


def test_a_solve_against_captured_data_is_never_stale() -> None:
    n = 6
    L = np.tril(rng().standard_normal((n, n))) + 4 * np.eye(n)
    data = rng(1).standard_normal(n)

    def f(x: Any) -> Any:
        return np.sum(np.linalg.solve(L, data * x) ** 2)

    step = wg.jit(wg.grad(f))
    for k in range(1000):
        if k % 100 == 0:
            data[k // 100 % n] += 0.5
            L[2, 1] += 0.25
        x = np.full(n, 1.0 + 0.001 * k)
        if k % 50 == 0:
            y = np.linalg.solve(L, data * x)
            np.testing.assert_allclose(step(x), 2 * data * np.linalg.solve(L.T, y), rtol=1e-10)
        else:
            step(x)
    assert step.stats()["traces"] == 1


def test_a_large_constant_is_read_where_it_lies() -> None:
    big = rng().standard_normal(1_000_000)
    program = program_of(wg.grad(lambda x: np.sum(x * big[:10]) + x[0] * big[-1]), np.ones(10))
    assert program.arena_bytes < 10_000
    read = [p for s in program.plan.steps for p in (*s.ins, *s.outs)]
    assert max(p.aval.size for p in read) <= 10


def kron_sum(a: Any, b: Any) -> Any:
    return np.sum(np.kron(a, b))


def kron_view_sum(a: Any, b: Any) -> Any:
    return np.sum(np.kron(a[::2, ::2], b.T))


def by_loop(x: Any) -> Any:
    total = 0.0
    for k in range(len(x)):
        total = total + x[k]
    return total


def by_loop_sin(x: Any) -> Any:
    total = 0.0
    for k in range(len(x)):
        total = total + np.sin(x[k])
    return total


def mapped(x: Any) -> Any:
    return np.sum(np.array([np.sin(np.cos(np.exp(x[k]))) for k in range(len(x))]))


def mlp(w: Any, x: Any) -> Any:
    for _ in range(3):
        x = np.maximum(w @ x, 0)
    return np.sum(x**2)


def gaussian_process(x: Any, y: Any) -> Any:
    K = np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2) + 0.1 * np.eye(len(x))
    L = np.linalg.cholesky(K)
    z = np.linalg.solve(L, y)
    return -0.5 * z @ z - np.sum(np.log(np.diagonal(L)))


def one_large_block(x: Any) -> Any:
    for k in range(100):
        x = np.sin(x) * np.cos(x) + 0.01 * k
    return np.sum(x)


FUNCTIONS = {
    "sum": (np.sum, (1000,)),
    "_sum": (by_loop, (200,)),
    "sum_sin": (lambda x: np.sum(np.sin(x)), (1000,)),
    "_sum_sin": (by_loop_sin, (200,)),
    "kron_sum": (kron_sum, (10, 10), (8, 8)),
    "kron_view_sum": (kron_view_sum, (10, 10), (8, 6)),
    "naive_map_sin_cos_exp": (mapped, (100,)),
    "broadcast_sin_cos_exp": (lambda x: np.sum(np.sin(np.cos(np.exp(x)))), (1000,)),
    "simple_mlp": (mlp, (40, 40), (40, 20)),
    "gp_lml": (gaussian_process, (20,), (20,)),
    "large_single_block": (one_large_block, (50,)),
}


BY_ELEMENT = ("_sum", "_sum_sin", "naive_map_sin_cos_exp")
"""Loops in Python over single elements. Long ones are a kernel a step, of a few kinds."""


@pytest.mark.sampled(2, "a tenth of a second each")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_gradient_is_a_small_multiple_of_its_function(name: str) -> None:
    """Operations at most eight times those of the value, kernels four times; it is right; and no step is Python's."""
    f, *shapes = FUNCTIONS[name]
    args = [rng(k).uniform(0.1, 1, shape) for k, shape in enumerate(shapes)]
    gradient = wg.grad(f, tuple(range(len(args))))
    value, both = program_of(f, *args), program_of(gradient, *args)
    assert flops(both) <= 8 * flops(value) + 100
    if name not in BY_ELEMENT:
        assert len(both.kernels) <= 4 * len(value.kernels) + 8
    assert "callback" not in kinds(value) + kinds(both)
    got = gradient(*args)
    for k, x in enumerate(args):
        assert_gradient(got[k], lambda v, k=k: f(*args[:k], v, *args[k + 1 :]), x)


# ---------------------------------------------------------------------------------------------------------- threads


@pytest.fixture
def threads() -> Iterator[None]:
    before = wg.get_threads()
    yield
    wg.set_threads(before)


@pytest.mark.parametrize("n", [1000, 100_003, 1_000_000])
def test_results_do_not_depend_on_the_number_of_threads(n: int, threads: None) -> None:
    x = rng().standard_normal(n)
    X = x[: n // 1000 * 1000].reshape(-1, 1000)
    functions = [
        (wg.value_and_grad(lambda x: np.sum(chain20(x))), x),
        (lambda X: (np.sum(np.sin(X), axis=1), np.sum(X * X, axis=0), np.cumsum(X, axis=0)), X),
        (lambda X: X.T @ X, X[:, :50].copy()),
    ]
    for f, arg in functions:
        results = []
        for count in (1, 2, 3):
            wg.set_threads(count)
            results.append(wg.tree.flatten(wg.jit(f)(arg))[0])
        for others in results[1:]:
            for a, b in zip(results[0], others, strict=True):
                np.testing.assert_array_equal(a, b)


def test_eight_threads_run_one_program() -> None:
    """The code is immutable and each run has an arena of its own: all get the bits that one alone gets."""
    W = rng().standard_normal((40, 40)) / 6

    def f(x: Any) -> Any:
        for _ in range(5):
            x = np.tanh(np.cumsum(W @ x) * 0.1) + x[::-1]
        return np.sum(x)

    step = wg.jit(wg.value_and_grad(f))
    arguments = [rng(k).standard_normal(40) for k in range(8)]
    alone = [step(x) for x in arguments]
    program = step.program(arguments[0])
    failures: list[str] = []

    def work(k: int) -> None:
        out = [np.empty(()), np.empty(40)]
        del out
        for n in range(300):
            value, gradient = step(arguments[k]) if n % 2 else program(arguments[k])
            if value != alone[k][0] or not np.array_equal(gradient, alone[k][1]):
                failures.append(f"thread {k}, call {n}")

    workers = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures
    assert step.stats()["traces"] == 1

"""First calls: NumPy answers them; machine code takes over when it has been earned, at the same call in every run."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import config
from wengert.codegen import vecmath
from wengert.codegen.compiler import Counters
from wengert.errors import InternalError
from wengert.ops import special
from wengert.ops.kernels import Map
from wengert.ops.op import OPS, Op
from wengert.runtime import execute, tiered
from wengert.runtime.program import Program
from wengert.runtime.reference import Reference
from wengert.runtime.tiered import TieredProgram
from wengert.tape import Aval, Builder, Tape, Var

X = np.linspace(0.1, 1.0, 8)


@pytest.fixture(autouse=True)
def tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "tiered", True)
    execute.forget()


def chain(length: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for k in range(length):
            x = np.sin(x) if k % 2 == 0 else np.exp(-x)
        return np.sum(x)

    return f


def the_program() -> TieredProgram:
    (program,) = execute._programs.values()
    return program


def calls_until_machine_code(f: Callable[..., Any], x: Any) -> int:
    for k in range(1, 100_000):
        wg.grad(f)(x)
        if the_program().program is not None:
            return k
    raise AssertionError("never")


def machine_code_made() -> int:
    return Counters.compiled + Counters.loaded


def test_the_first_call_of_a_structure_compiles_nothing() -> None:
    before = machine_code_made()
    for length in (1, 2, 3, 7):
        gradient = wg.grad(chain(length))(X)
        assert gradient.shape == X.shape and gradient.dtype == X.dtype
        step = 1e-6
        differences = [(chain(length)(X + step * e) - chain(length)(X - step * e)) / (2 * step) for e in np.eye(8)]
        np.testing.assert_allclose(gradient, differences, rtol=1e-7, atol=1e-9)
    assert machine_code_made() == before
    assert [p.program for p in execute._programs.values()] == [None] * 4


def test_what_was_captured_is_given_to_machine_code_as_such() -> None:
    c = np.linspace(2.0, 3.0, 8)
    f = lambda x: np.sum(np.sin(x) * c)
    calls_until_machine_code(f, X)
    np.testing.assert_allclose(wg.grad(f)(X), np.cos(X) * c)


def test_every_transform_begins_so() -> None:
    before, f = machine_code_made(), chain(3)
    y, pullback = wg.vjp(f, X)
    np.testing.assert_allclose(pullback(1.0)[0], wg.grad(f)(X))
    np.testing.assert_allclose(wg.jvp(f, (X,), (X,)), (y, wg.grad(f)(X) @ X))
    np.testing.assert_allclose(wg.hessian(f)(X) @ X, wg.hvp(f, (X,), (X,)))
    np.testing.assert_allclose(wg.vmap(np.sin)(X), np.sin(X))
    assert machine_code_made() == before


def test_what_is_called_often_becomes_machine_code_that_says_the_same() -> None:
    f = chain(4)
    first = wg.grad(f)(X)
    calls = calls_until_machine_code(f, X)
    assert calls > 20
    np.testing.assert_array_max_ulp(first, wg.grad(f)(X), 32)
    config.tiered = False
    execute.forget()
    eager = wg.grad(f)(X)
    config.tiered = True
    execute.forget()
    wg.grad(f)(X)
    calls_until_machine_code(f, X)
    np.testing.assert_array_equal(wg.grad(f)(X), eager)  # to the bit, as without tiers


@pytest.mark.parametrize("n", [8, 1000, 30_000])
def test_it_does_so_at_the_same_call_however_fast_the_machine_is(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    f, x = chain(5), np.linspace(0.0, 1.0, n)
    count = set()
    for processors, pause in ((1, 0.0), (2, 0.0), (2, 0.002), (8, 0.0)):
        monkeypatch.setattr(tiered, "_processors", lambda processors=processors: processors)
        execute.forget()
        wg.grad(f)(x)
        time.sleep(pause)
        count.add(calls_until_machine_code(f, x))
    assert len(count) == 1


def test_large_arrays_earn_it_at_once() -> None:
    wg.grad(lambda x: np.sum(np.sin(x) * np.exp(x)))(np.linspace(0, 1, 2_000_000))
    assert the_program().program is not None


def test_without_tiers_the_first_call_waits() -> None:
    config.tiered = False
    wg.grad(chain(2))(X)
    assert the_program().program is not None


def test_without_native_code_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "native", False)
    before = machine_code_made()
    wg.grad(lambda x: np.sum(np.sin(x) * np.exp(x)))(np.linspace(0, 1, 2_000_000))
    assert the_program().program is None and machine_code_made() == before


def test_a_path_that_is_new_at_every_call_compiles_nothing() -> None:
    before = machine_code_made()

    def f(x: Any, steps: int) -> Any:
        for _ in range(steps):
            x = np.cos(x)
        return np.sum(x)

    for steps in range(1, 60):
        wg.grad(f)(X, steps)
    assert machine_code_made() == before


# ------------------------------------------------------------------------------------------- what was begun meanwhile


def begun(monkeypatch: pytest.MonkeyPatch, length: int = 3) -> tuple[Callable[..., Any], TieredProgram]:
    """A function whose machine code another thread has begun, and its program."""
    monkeypatch.setattr(tiered, "_processors", lambda: 2)
    f = chain(length)
    while not execute._programs or the_program()._thread is None:
        wg.grad(f)(X)
    assert the_program().program is None
    return f, the_program()


def test_another_thread_begins_and_the_call_that_needs_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Slow(Program):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            time.sleep(0.2)
            super().__init__(*args, **kwargs)
            made.append(threading.current_thread().name)

    monkeypatch.setattr(tiered, "Program", Slow)
    f, program = begun(monkeypatch)
    calls_until_machine_code(f, X)
    assert made == ["wengert compiles"]
    assert program._thread is None and program._begun == [program.program]


def test_what_fails_there_is_heard_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(Program):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            raise InternalError("no machine code")

    monkeypatch.setattr(tiered, "Program", Failing)
    f, _ = begun(monkeypatch)
    with pytest.raises(InternalError, match="no machine code"):
        calls_until_machine_code(f, X)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_child_of_a_fork_makes_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    f, _ = begun(monkeypatch)
    want = wg.grad(f)(X)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            calls_until_machine_code(f, X)
            np.testing.assert_allclose(wg.grad(f)(X), want)
            code = 0
        finally:
            os._exit(code)
    deadline = time.monotonic() + 60
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        if time.monotonic() > deadline:
            os.kill(child, 9)
            os.waitpid(child, 0)
            raise AssertionError("the child waits for a thread that it does not have")
        time.sleep(0.01)


def test_a_process_may_end_meanwhile() -> None:
    code = """
import numpy as np, wengert as wg
from wengert.runtime import execute, tiered
tiered._processors = lambda: 2
def f(x):
    for _ in range(40):
        x = np.sin(x) + np.exp(-x)
    return np.sum(x)
while True:
    wg.grad(f)(np.ones(8))
    (program,) = execute._programs.values()
    if program._thread is not None:
        break
print("began", program.program is None)
"""
    environment = {**os.environ, "WENGERT_CACHE_DIR": "", "WENGERT_TIERED": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "began True\n", "")


def test_many_threads_may_call_at_once() -> None:
    f = chain(3)
    want, wrong = wg.grad(f)(X), []

    def call() -> None:
        for _ in range(150):
            got = wg.grad(f)(X)
            if not np.allclose(got, want, rtol=1e-13):
                wrong.append(got)

    threads = [threading.Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert the_program().program is not None


# -------------------------------------------------------------------------------------------------- the two estimates


def test_what_is_estimated_grows_with_the_steps_and_with_what_they_write() -> None:
    short, long = wg.trace(chain(5))(X), wg.trace(chain(50))(X)
    wide = wg.trace(chain(5))(np.ones(100_000))
    assert tiered.reference_seconds(short) < tiered.reference_seconds(long) < tiered.reference_seconds(wide)
    assert tiered.compile_seconds(short) == tiered.compile_seconds(wide) < tiered.compile_seconds(long)


def test_what_is_estimated_grows_with_what_is_written_by_steps_of_every_kind() -> None:
    functions: list[Callable[[Any], Any]] = [np.cumsum, lambda x: np.concatenate([x, x]), np.sort, np.sin]
    for f in functions:
        large, small = (tiered.reference_seconds(wg.trace(f)(np.ones(n))) for n in (1_000_000, 10))
        assert large > 100 * small >= 100 * tiered.A_STEP


def test_a_function_of_scalars_over_arrays_has_an_estimate() -> None:
    large, small = (wg.trace(lambda x: wg.broadcast(lambda v: v * v + 1, x))(np.ones(n)) for n in (1_000_000, 10))
    assert tiered.reference_seconds(large) > 100 * tiered.reference_seconds(small)


def test_views_of_a_large_array_cost_nothing() -> None:
    large = np.ones(10_000_000)
    assert tiered.reference_seconds(wg.trace(lambda x: x.reshape(10, -1)[3, 5])(large)) < 1e-4


# ------------------------------------------------------------------------------------------------------ the last digits


def tape_of(op: Op, dtype: str) -> Tape | None:
    """A tape of the op alone, if it takes floats of this dtype and returns some."""
    for arity in (1, 2, 3):
        ins = tuple([Var(Aval((4000,), np.dtype(dtype))) for _ in range(arity)])
        builder = Builder()
        try:
            outs = builder.emit(op, ins, {})
        except (TypeError, wg.errors.WengertError):  # of another arity, or parameters that have no default
            continue
        if len(builder.instrs) == 1 and outs[0].aval.dtype.kind == "f":
            return Tape(ins, (), builder.instrs, outs, op.name)
    return None


assert special  # which enters its ops in the list
NATIVE = [op for op in OPS.values() if isinstance(op.kernel, Map) and op.kernel.function in vecmath.FUNCTIONS]
TAPES = [tape for op in NATIVE for dtype in ("float64", "float32") if (tape := tape_of(op, dtype)) is not None]


def test_all_that_is_transcendental_is_compared() -> None:
    assert {tape.name for tape in TAPES} >= {"sin", "tan", "arctan2", "exp", "log1p", "tanh", "power", "erf", "expit"}
    assert len(TAPES) > 100


NEAR_CANCELLATION = ("logaddexp", "logaddexp2")
"""Ops whose result may be much less than their operands: the last place is that of the greater one."""

ERRORS_OF_SCIPY = ("cosm1", "erfc", "erfcx", "expit", "kl_div", "log_ndtr", "ndtr", "pseudo_huber")
"""Functions that SciPy itself has with fewer digits, the least results of some as 0."""


@pytest.mark.sampled(5, "many that are alike")
@pytest.mark.parametrize("tape", TAPES, ids=lambda tape: f"{tape.name}-{tape.inputs[-1].aval.dtype}")
def test_machine_code_and_numpy_are_within_two_units_of_each_other(tape: Tape) -> None:
    """Four in float32, where some of NumPy's own functions are three from the true value."""
    n, dtype = tape.inputs[0].aval.size, tape.inputs[0].aval.dtype
    rng = np.random.default_rng(1)
    if tape.name in ERRORS_OF_SCIPY:
        x, eps = [rng.uniform(0.1, 2, n).astype(dtype) for _ in tape.inputs], np.finfo(dtype).eps
        np.testing.assert_allclose(Program(tape).run(x), Reference(tape).run(x), rtol=8 * eps, atol=8 * eps)
        return
    values = np.concatenate([rng.normal(size=n // 2) * 10.0 ** rng.integers(-3, 3, n // 2), rng.uniform(-1, 1, n // 2)])
    operands = [rng.permutation(values).astype(dtype) for _ in tape.inputs]
    with np.errstate(all="ignore"):
        (want,), (got,) = Reference(tape).run(operands), Program(tape).run(operands)
        scale = np.abs(want)
        if tape.name in NEAR_CANCELLATION:
            scale = np.maximum(scale, np.max(np.abs(operands), axis=0))
        unit = np.spacing(np.maximum(scale, np.finfo(want.dtype).tiny).astype(want.dtype))
        units = np.abs(got.astype("g") - want.astype("g")) / unit
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    assert np.all(same | (units <= (2 if want.dtype == np.float64 else 4)))


# ------------------------------------------------------------------------ what a compiled function answers by itself


def test_what_cannot_be_repeated_compiles_nothing() -> None:
    before = machine_code_made()

    @wg.jit
    def since(x: Any) -> Any:
        return np.sum(np.sin(x)) + 0.0 * time.time()

    with pytest.warns(wg.PerformanceWarning, match="reads the clock"):
        assert since(X) == np.sum(np.sin(X))
    assert since(X) == np.sum(np.sin(X))
    assert machine_code_made() == before
    assert since.stats()["traces"] == 1
    assert since.program(X).executable is not None  # who asks for the program gets it


def test_a_jitted_function_that_is_tiered_waits_for_no_compiler() -> None:
    f = wg.jit(wg.value_and_grad(chain(6)), tiered=True)
    expected = wg.value_and_grad(chain(6))(X)
    until = 0
    while until == 0 or f.programs()[0].executable is None:
        until += 1
        value, gradient = f(X)
        np.testing.assert_allclose(value, expected[0])
        np.testing.assert_allclose(gradient, expected[1])
    assert 10 < until < 10_000
    again = wg.jit(wg.value_and_grad(chain(6)), tiered=True)
    for _ in range(until - 1):
        again(X)
    with pytest.raises(wg.errors.StructureError, match="not been run often enough"):
        again.programs()[0].kernels  # noqa: B018  # asked for
    assert again.programs()[0].executable is None
    again(X)
    assert again.programs()[0].executable is not None
    before = again.stats()["calls"]
    again(X + 1)
    assert again.stats()["calls"] == before + 1


def test_a_tiered_function_keeps_its_guards_and_sees_what_it_captured() -> None:
    scale = np.ones(8)
    f = wg.jit(lambda x: np.sum(scale * x) if x[0] > 0 else np.sum(x**2), tiered=True, strict=True)
    for k in range(3000):
        x = X if k % 2 else -X
        scale[0] = k
        assert float(f(x)) == pytest.approx(float(np.sum(scale * x) if k % 2 else np.sum(x**2)))
    assert all(program.executable is not None for program in f.programs())


def test_a_loop_has_earned_machine_code_from_the_start() -> None:
    def f(x: Any) -> Any:
        return wg.fori_loop(0, 500, lambda k, y: np.sin(y) + x, x)

    jitted = wg.jit(f, tiered=True)
    jitted(X)
    assert jitted.programs()[0].executable is not None

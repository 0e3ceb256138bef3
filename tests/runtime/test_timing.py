"""Times of programs: each kernel has its own, those in bodies too, and its work is that of the steps it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import config
from wengert.errors import StructureError

pytestmark = pytest.mark.machine_code("native programs are timed")

X = np.linspace(0.5, 1.5, 64)
W = np.random.default_rng(0).normal(size=(64, 64)) / 8


def of_kernels(x: Any) -> Any:
    return np.sum(np.cumsum(np.exp(x)) ** 2)


def of_a_loop_of_kernels(x: Any) -> Any:
    def step(c: Any, _: Any) -> Any:
        c = np.sin(c) @ W  # by BLAS, so that the body is a program of its own
        return c, np.sum(c)

    return np.sum(wg.scan(step, np.outer(x, x), None, length=7)[1])


def test_kernels_have_times_and_work() -> None:
    f = wg.jit(of_kernels)
    kernels = f.program(X).kernels
    with wg.timed(f) as timing:
        for _ in range(20):
            f(X)
    (program,) = timing.read()
    assert program.time.calls == 20 and [k.name for k in program.kernels] == [k.name for k in kernels]
    for kernel in program.kernels:
        assert kernel.time.calls == 20 and 1 <= kernel.time.timed <= 18
        assert 0 <= kernel.time.least_s <= kernel.time.median_s
        assert kernel.work.moved_bytes > 0 and not kernel.bodies
        assert all(part.source is not None and part.source.file == __file__ for part in kernel.work.ops)
    assert sum([kernel.time.total_s for kernel in program.kernels]) <= 2 * program.time.total_s + 1e-3
    exp = program.kernels[0]
    assert exp.work.flops == sum([part.flops for part in exp.work.ops]) > 64
    assert [event.kernel for event in program.events][: len(kernels) + 1] == [*range(len(kernels)), -1]


def test_iterations_of_a_body_are_its_calls() -> None:
    f = wg.jit(of_a_loop_of_kernels)
    f(X)
    with wg.timed(f) as timing:
        for _ in range(10):
            f(X)
    (program,) = timing.read()
    (scan,) = [kernel for kernel in program.kernels if kernel.bodies]
    (body,) = scan.bodies
    assert scan.time.calls == 10 and body.time.calls == 70
    assert len(body.kernels) > 1 and all(kernel.time.calls == 70 for kernel in body.kernels)
    assert scan.work.flops > 7 * 64 * 64 * 10  # sin of all iterations


def test_loops_of_any_count_and_branches() -> None:
    def f(x: Any, n: Any) -> Any:
        def body(c: Any) -> Any:
            return c[0] + 1.0, np.tanh(c[1] @ W)

        x = wg.while_loop(lambda c: c[0] < n, body, (0.0, np.outer(x, x)))[1]
        return wg.cond(np.sum(x) > 0, lambda x: np.sin(x) @ W, lambda x: np.cos(x @ W), x)

    compiled = wg.jit(f)
    compiled(X, 3.0)
    with wg.timed(compiled) as timing:
        for n in (5.0, 5.0, 5.0, 5.0):
            compiled(X, n)
    (program,) = timing.read()
    loop = next(kernel for kernel in program.kernels if len(kernel.bodies) == 2)
    assert loop.time.calls == 4 and max([body.time.calls for body in loop.bodies]) >= 20
    assert all(time.total_s >= 0 for time in [kernel.time for kernel in program.kernels])


def test_programs_that_are_made_meanwhile_are_timed() -> None:
    f, g = wg.jit(of_kernels), wg.jit(lambda x: np.sum(np.sin(x)))
    with wg.timed(f) as timing:
        f(X)
        f(X[:10])
    with wg.timed() as everything:
        g(X)
    assert [program.time.calls for program in timing.read()] == [1, 1]
    assert [program.name for program in everything.read() if program.name == "<lambda>"] == ["<lambda>"]


def test_un_jitted_calls_are_timed_once_they_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "tiered", False)
    gradient = wg.grad(of_kernels)
    gradient(X)
    with wg.timed() as timing:
        for _ in range(4):
            gradient(X)
    assert [program.time.calls for program in timing.read()] == [4]


def test_one_program_is_timed_by_one_alone() -> None:
    f = wg.jit(of_kernels)
    program = f.program(X)
    with wg.timed(program) as timing:
        with pytest.raises(StructureError, match="timed already"), wg.timed(f):
            pass
        program(X)
    assert timing.read()[0].time.calls == 1


def test_reading_before_the_end() -> None:
    program = wg.jit(of_kernels).program(X)
    with wg.timed(program) as timing:
        program(X)
        assert timing.read()[0].time.calls == 1
        program(X)
    program(X)
    assert timing.read()[0].time.calls == 2

"""The records of a report hold what the tape, the plan and the kernels of the program say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.report.data import ReportData

X = np.linspace(0.1, 1, 40)


def layer(w: Any, x: Any) -> Any:
    return np.tanh(w @ x)


def loss(w: list[Any], x: Any) -> Any:
    for one in w:
        x = layer(one, x)
    return np.sum(x**2)


def report_of(f: Any, *args: Any) -> ReportData:
    return wg.explain(f)(*args).report


W = [np.eye(40), np.eye(40)]


def test_every_record_refers_to_records_that_exist() -> None:
    report = report_of(wg.value_and_grad(loss), W, X)
    for k, step in enumerate(report.steps):
        assert all(0 <= v < len(report.values) for v in (*step.reads, *step.gives))
        assert all(report.values[v].step == k for v in step.gives)
        assert -1 <= step.kernel < len(report.kernels) and 0 <= step.frame < len(report.frames)
    for k, kernel in enumerate(report.kernels):
        assert all(report.steps[s].kernel == k for s in kernel.steps)
    for s in report.memory.stored:
        assert 0 <= s.first <= s.last < len(report.kernels)


@pytest.mark.machine_code("what kernels move is counted")
def test_lines_have_the_costs_of_their_steps_forward_and_backward() -> None:
    report = report_of(wg.grad(loss), W, X)
    (file,) = report.files
    assert file.path == __file__ and "def layer" in file.text[0]
    product = next(line for line in file.lines if "np.tanh(w @ x)" in file.text[line.number - file.first])
    assert product.forward.flops >= 2 * 2 * 40 * 40
    assert product.backward.flops > product.forward.flops > 0
    assert product.forward.moved_bytes > 2 * 8 * 40 * 40


def test_the_bytes_of_a_kernel_are_shared_out_among_its_steps() -> None:
    report = report_of(wg.grad(lambda x: np.sum(np.exp(np.sin(x) * x))), X)
    for kernel in report.kernels:
        assert sum([report.steps[s].cost.moved_bytes for s in kernel.steps]) <= kernel.cost.moved_bytes
    assert report.cost.moved_bytes == sum([k.cost.moved_bytes for k in report.kernels])


@pytest.mark.machine_code("kernels are looked at")
def test_calls_and_bodies_of_loops_are_frames() -> None:
    def f(x: Any) -> Any:
        def body(c: Any, a: Any) -> Any:
            return np.sin(c) + a, None

        return np.sum(layer(np.eye(40), x)) + wg.scan(body, 0.0, x)[0]

    report = report_of(f, X)
    names = [frame.what for frame in report.frames]
    assert names[:2] == ["f", "layer"] and "scan, body" in names
    inner = [s for s in report.steps if report.frames[s.frame].what.startswith("scan")]
    (outer,) = [s for s in report.steps if s.op == "scan"]
    assert {s.kernel for s in inner} == {outer.kernel} != {-1}
    (sine,) = [s for s in report.steps if s.op == "sin"]
    assert sine.cost.flops >= 40 * 10  # of all iterations
    assert report.values[sine.gives[0]].name.startswith(report.values[outer.gives[0]].name + ".")


@pytest.mark.machine_code("the bytes of a planned arena are compared")
def test_the_peak_is_the_arena_and_the_results_at_most() -> None:
    report = report_of(wg.grad(loss), W, X)
    results = 2 * 40 * 40 * 8
    assert results < report.memory.peak_bytes <= results + report.memory.arena_bytes
    residuals = [s for s in report.memory.stored if s.is_residual]
    assert residuals and all(s.why and s.value >= 0 for s in residuals)


def test_a_guard_is_told_in_the_words_of_the_function() -> None:
    report = report_of(lambda x: x if x > 3 else -x, 5.0)
    assert [g.text for g in report.guards] == ["x > 3.0 was True"]


@pytest.mark.machine_code("the memory of kernels is planned")
def test_a_program_that_runs_nothing_has_a_report() -> None:
    explanation = wg.explain(lambda x: np.sum(x))(np.ones((0, 3)))
    assert explanation.report.kernels == () and explanation.report.memory.peak_bytes == 8
    assert "x is not kept" in explanation.why_kept("x")


def test_a_loop_that_goes_back_belongs_to_the_derivative_with_all_steps_in_it() -> None:
    def iterated(x: Any) -> Any:
        s = 0.0
        for k in range(400):
            s = np.sin(s * x[k % 7]) + x[k % 7]
        return s

    report = report_of(wg.grad(iterated), X)
    there, back = [s for s in report.steps if s.op == "scan"]
    assert (there.role, back.role) == ("", "cotangent")
    within = max(k for k, frame in enumerate(report.frames) if frame.what.startswith("scan"))
    assert {s.role for s in report.steps if s.frame == within} == {"cotangent"}
    (loop,) = report.loops
    assert (loop.became, loop.iterations) == ("scan", 400)

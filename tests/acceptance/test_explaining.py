"""A report answers what a function became and why: costs of each step, reasons for each buffer and each cotangent, the
inputs that make a value active. It is the same however the function is written."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.report import Explanation
from wengert.report.data import ReportData

RNG = np.random.default_rng(0)
W = [RNG.standard_normal((40, 40)) / 6 for _ in range(4)]
X = RNG.standard_normal(40)


def loss(weights: Any, x: Any) -> Any:
    for w in weights:
        x = np.tanh(w @ x)
    if np.sum(x) > 100:
        x = 2 * x
    return np.sum(x**2)


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    return wg.explain(wg.value_and_grad(loss))(W, X)


@pytest.mark.machine_code("what kernels move is counted")
def test_each_step_has_its_cost_its_type_and_its_line(explanation: Explanation) -> None:
    report = explanation.report
    for step in report.steps:
        assert step.cost.flops >= 0 and step.cost.moved_bytes >= 0 and step.line > 0
        assert all(report.values[v].type.startswith(("float64[", "bool[")) for v in step.gives)
    products = [s for s in report.steps if s.op == "contract"]
    assert all(s.cost.flops >= 40 * 40 for s in products)
    assert report.cost.flops == sum([k.cost.flops for k in report.kernels]) > 0


@pytest.mark.machine_code("a planned arena has buffers")
def test_each_buffer_that_is_kept_has_a_reason(explanation: Explanation) -> None:
    memory = explanation.report.memory
    assert any(s.is_residual for s in memory.stored)
    assert all(s.why for s in memory.stored)
    for s in memory.stored:
        if s.is_residual:
            assert s.why in explanation.why_kept(explanation.report.values[s.value].name)


def test_each_active_value_has_its_cotangent_and_the_inputs_that_make_it_active(explanation: Explanation) -> None:
    values = explanation.report.values
    active = [v for v in values if v.is_active and v.kind == "value"]
    assert len(active) == 10  # two a layer, x * x, and the sum of it
    names = [f"weights[{k}]" for k in range(4)]
    for k, name in enumerate(names):
        assert "Its cotangent is v" in explanation.why_active(name)
        assert any(v.why == f"depends on {', '.join(names[: k + 1])}" for v in active)
    *layers, square, total = active
    assert all(v.cotangent >= 0 for v in layers)
    for v in (square, total):  # the number 1, which is no value of the tape
        assert "Its cotangent is known by its structure" in explanation.why_active(v.name)
    inactive = [v for v in values if not v.is_active]
    assert all(v.why for v in inactive)


@pytest.mark.machine_code("kernels are looked at")
def test_guards_are_kernels_with_costs(explanation: Explanation) -> None:
    (kernel,) = [k for k in explanation.report.kernels if k.kind == "guard"]
    assert kernel.cost.moved_bytes == 1 and kernel.cost.flops == 0
    (guard,) = explanation.report.guards
    assert guard.text.endswith("> 100.0 was False") and kernel.steps == (guard.step,)


def layer(w: Any, x: Any) -> Any:
    return np.cos(w @ x)


def by_loop(weights: Any, x: Any) -> Any:
    for w in weights:
        x = layer(w, x)
    return x[0]


def by_fold(weights: Any, x: Any) -> Any:
    return reduce(lambda y, w: layer(w, y), weights, x)[0]


def by_closures(weights: Any, x: Any) -> Any:
    for f in [lambda y, w=w: layer(w, y) for w in weights]:
        x = f(x)
    return x[0]


def by_recursion(weights: Any, x: Any) -> Any:
    return by_recursion(weights[1:], layer(weights[0], x)) if weights else x[0]


def by_composition(weights: Any, x: Any) -> Any:
    def after(f: Any, w: Any) -> Any:
        return lambda y: layer(w, f(y))

    f: Any = lambda y: y  # to begin with
    for w in weights:
        f = after(f, w)
    return f(x)[0]


def told(report: ReportData) -> Any:
    """Everything but where the lines stand and who called whom."""
    steps = [s._replace(file=0, line=0, frame=0) for s in report.steps]
    kernels = [k._replace(lines=()) for k in report.kernels]
    stored = [s._replace(file=0, line=0) for s in report.memory.stored]
    return report.values, steps, kernels, report.memory._replace(stored=tuple(stored)), report.advice


def test_five_spellings_of_a_network_have_one_report() -> None:
    spellings = [by_loop, by_fold, by_closures, by_recursion, by_composition]
    reports = [told(wg.explain(wg.grad(f), time=False)(tuple(W), X).report) for f in spellings]
    assert all(report == reports[0] for report in reports[1:])


def quadratic(x: Any) -> Any:
    return np.sum(x**2) + np.sum(x) ** 2


H = 2 * np.eye(3) + 2
A = np.array([1.0, 2.0, 3.0])


@pytest.mark.machine_code("kernels are looked at")
def test_all_kinds_of_derivatives_are_called_alike_jitted_written_into_arrays_and_prerecorded() -> None:
    forms: list[tuple[Any, Any]] = [
        (wg.grad(quadratic), 2 * A + 2 * np.sum(A)),
        (wg.value_and_grad(quadratic), (quadratic(A), 2 * A + 2 * np.sum(A))),
        (wg.jacobian(lambda x: x**2), np.diag(2 * A)),
        (wg.hessian(quadratic), H),
        (lambda x: wg.hvp(quadratic, (x,), (np.ones(3),)), H @ np.ones(3)),
    ]
    for f, wanted in forms:
        jitted = wg.jit(f)
        out = wg.tree.map(np.empty_like, jitted(A))
        tape = wg.trace(f)(A)
        results = [f(A), jitted(A), jitted(A, out=out), wg.compile(tape)(A), jitted.program(A)(A)]
        for result in results:
            wg.tree.map(np.testing.assert_allclose, result, wanted)
        assert "float64[" in str(tape) and "# test_explaining.py:" in str(tape)
        report = wg.explain(f)(A).report
        assert report.kernels and all(s.line > 0 for s in report.steps)  # a Hessian that is constant needs no flops


def test_a_tuple_of_inputs_gives_a_tuple_of_derivatives() -> None:
    gradient = wg.grad(lambda pair: np.sum(pair[0] * pair[1]))((A, 2 * A))
    np.testing.assert_array_equal(gradient[0], 2 * A)
    np.testing.assert_array_equal(gradient[1], A)


def test_the_tree_of_calls_is_shown_to_a_depth_with_its_branches() -> None:
    def inner(x: Any) -> Any:
        return np.exp(x) if x > 0 else np.sin(x)

    def outer(x: Any) -> Any:
        return 2 * inner(x)

    explanation = wg.explain(outer)(1.0)
    assert "inner()" in explanation.tree() and "exp" in explanation.tree() and "True" in explanation.tree()
    assert "exp ->" not in explanation.tree(0) and "... " in explanation.tree(0)
    assert [f.what for f in explanation.report.frames] == ["outer", "inner"]


def test_explaining_changes_no_program_and_no_count() -> None:
    step = wg.jit(wg.grad(quadratic))
    step(A)
    before, program = step.stats(), step.program(A)
    wg.explain(step)(A)
    assert step.stats() == before and step.program(A) is program


@pytest.mark.deep("ten thousand steps take seconds to be traced and compiled")
def test_the_report_of_ten_thousand_steps_is_of_a_size_that_can_be_sent() -> None:
    rng = np.random.default_rng(0)  # without order, so that no loop is found
    order, back = rng.integers(0, 3, 1170).tolist(), rng.integers(0, 6, 1170).tolist()

    def long(x: Any, y: Any) -> Any:
        values = [x, y]
        for k, m in zip(order, back, strict=True):
            last = values[-1]
            values.append([np.sin, np.cos, np.tanh][k](last) if m < 3 else last * values[-1 - min(m, len(values) - 1)])
        return np.sum(values[-1])

    explanation = wg.explain(wg.grad(long), time=False)(np.ones(50), np.ones(50))
    steps = len(explanation.report.steps)
    assert steps > 2000
    assert len(explanation.json()) < 400 * steps  # 4 MB for 10,000

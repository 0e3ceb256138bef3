"""Everything that can be compiled can be explained; what cannot is explained too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.linspace(0.1, 1, 5)


def test_functions_jits_programs_and_tapes_are_explained_alike() -> None:
    def f(x: np.ndarray) -> np.floating:
        return np.sum(np.sin(x) * x)

    tape = wg.trace(f)(X)
    reports = [
        wg.explain(f)(X),
        wg.explain(wg.jit(f))(X),
        wg.explain(wg.compile(tape))(),
        wg.explain(tape)(),
    ]
    assert len({tuple([k.name for k in e.report.kernels]) for e in reports}) == 1
    assert [[v.name for v in e.report.values if v.kind == "argument"] for e in reports] == [["x"], ["x"]] + [
        ["argument[0]"]
    ] * 2


@pytest.mark.machine_code("kernels are looked at")
def test_a_report_is_json() -> None:
    read = json.loads(wg.explain(wg.grad(lambda x: np.sum(np.sin(x))))(X).json())
    assert read["title"] == "gradient of <lambda>" and read["kernels"][0]["kind"] == "loops"


def test_a_function_that_cannot_be_compiled_is_explained() -> None:
    explanation = wg.explain(lambda x: len({x[0]: 1}) * x)(X)
    (advice,) = explanation.report.advice
    assert advice.what == "plain call" and "key of a dict" in advice.text


def loss(w: Any, x: Any, n: Any) -> Any:
    scale = np.sum(x)
    y = np.exp(w * x) / np.sum(np.exp(w))
    return np.sum(y * n) + np.sum(wg.stop_gradient(scale) * w)


@pytest.fixture(scope="module")
def explanation() -> Any:
    return wg.explain(wg.grad(loss))(X, X, np.arange(5))


def test_why_a_value_is_active_names_arguments_steps_and_its_cotangent(explanation: Any) -> None:
    assert "a derivative is taken with respect to it. Its cotangent is v" in explanation.why_active("w")
    assert "x is not active: no derivative is taken with respect to it" in explanation.why_active("x")
    line = loss.__code__.co_firstlineno
    answers = explanation.why_active(line + 2).split("\n")
    assert any("it depends on w, by " in a and f"exp at test_explain.py:{line + 2}" in a for a in answers)
    assert "depends on none of w" in explanation.why_active(line + 1)


@pytest.mark.machine_code("a planned arena keeps values")
def test_why_a_value_is_kept_says_how_long_and_where(explanation: Any) -> None:
    residuals = [s for s in explanation.report.memory.stored if s.is_residual]
    name = explanation.report.values[residuals[0].value].name
    assert "is a residual from kernel" in explanation.why_kept(name)
    assert "the caller's memory" in explanation.why_kept("x")


@pytest.mark.machine_code("steps are fused into kernels")
def test_why_steps_are_not_fused_is_answered_by_the_pass() -> None:
    def f(x: Any) -> Any:
        total = np.sum(x)
        return np.exp(x - total), np.sort(x)

    explanation = wg.explain(f)(X)
    assert "are fused: kernel" in explanation.why_not_fused("v2", "v3")
    assert "must wait until all elements are added up" in explanation.why_not_fused("v1", "v2")
    assert "sort is no elementwise step" in explanation.why_not_fused("v3", "v4")
    assert "is no step" in explanation.why_not_fused("x", "v1")


def test_why_a_call_would_be_traced_again() -> None:
    step = wg.jit(lambda x: x + 1)
    assert "nothing has been traced before" in wg.explain(step)(X).why_traced_again()
    step(X)
    assert "would not be traced" in wg.explain(step)(X).why_traced_again()
    assert "argument x is float64[3], not float64[5], in a call of" in wg.explain(step)(X[:3]).why_traced_again()
    step(X[:3])
    first, second = wg.explain(step)(X[:3]).why_traced_again().split("\n")
    assert first.startswith("it was traced 2 times, since argument x is") and "would not be traced" in second


def test_a_function_without_a_program_is_said_to_have_none() -> None:
    calls = {"n": 0}

    def counted(x: Any) -> Any:
        calls["n"] += 1
        return 2 * x

    step = wg.jit(counted)
    with pytest.warns(wg.PerformanceWarning):
        step(X)
    first, *_ = wg.explain(step)(X).why_traced_again().split("\n")
    line = counted.__code__.co_firstlineno + 1
    assert "answered by the function itself" in first and f"test_explain.py:{line}" in first


def test_a_value_may_be_a_variable_of_the_tape_and_must_exist(explanation: Any) -> None:
    assert explanation.why_active(explanation.program.tape.inputs[0]) == explanation.why_active("w")
    with pytest.raises(wg.errors.StructureError, match="no value of gradient of loss is named by 'nothing'"):
        explanation.why_active("nothing")


def test_a_report_is_saved_as_json(explanation: Any, tmp_path: Path) -> None:
    explanation.save(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text())["title"] == "gradient of loss"
    assert repr(explanation).startswith("<wengert.explain of gradient of loss: ") and "loss" in explanation.tree(0)


@pytest.mark.machine_code("kernels are timed")
def test_times_stand_beside_lines_and_kernels_unless_python_would_run() -> None:
    f = wg.grad(lambda x: np.sum(np.exp(np.sin(x))))
    report = wg.explain(f)(np.linspace(0, 1, 5000)).report
    assert report.cost.time_s is not None and all(k.cost.time_s is not None for k in report.kernels)
    (file,) = report.files
    assert any(line.backward.time_s for line in file.lines)
    assert wg.explain(f, time=False)(X).report.cost.time_s is None
    calls = []

    @wg.primitive
    def seen(x: Any) -> Any:
        calls.append(x)
        return x + 1

    assert wg.explain(lambda x: seen(x))(X).report.cost.time_s is None
    before = len(calls)
    assert wg.explain(lambda x: seen(x), time=True)(X).report.cost.time_s is not None
    assert len(calls) >= before + 3


def test_arguments_that_are_given_away_are_left_as_they_are() -> None:
    x = X.copy()
    wg.explain(wg.jit(lambda x: 2 * x, donate=lambda args: args[0]))(x)
    np.testing.assert_array_equal(x, X)

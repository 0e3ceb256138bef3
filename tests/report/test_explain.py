"""Everything that can be compiled can be explained; what cannot is explained too."""

from __future__ import annotations

import json

import numpy as np

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


def test_a_report_is_json() -> None:
    read = json.loads(wg.explain(wg.grad(lambda x: np.sum(np.sin(x))))(X).json())
    assert read["title"] == "<lambda>" and read["kernels"][0]["kind"] == "loops"


def test_a_function_that_cannot_be_compiled_is_explained() -> None:
    explanation = wg.explain(lambda x: len({x[0]: 1}) * x)(X)
    (advice,) = explanation.report.advice
    assert advice.what == "plain call" and "key of a dict" in advice.text

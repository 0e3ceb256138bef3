"""Loops that are on the tape iteration by iteration are found in the user's source, with the reason."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg

X = np.linspace(0.1, 1, 40)


def few(x: Any) -> Any:
    total = 0.0
    for k in range(5):
        total = total + np.sin(x[k])
    return total


def uneven(x: Any) -> Any:
    for k in range(20):
        x = np.sin(x)
        if k % 3 == 0:
            x = np.exp(x)
    return np.sum(x)


def short(x: Any) -> Any:
    for _ in range(30):
        x = np.sin(x)
    return np.sum(x)


def rolled(x: Any) -> Any:
    total = 0.0
    for k in range(40):
        total = total + np.sin(x[k]) * k
    return total


def by_turns(x: Any) -> Any:
    total = 0.0
    for k in range(len(x)):
        total = total + np.sin(x[k]) if k % 3 == 0 else total * np.cos(x[k])
    return total


def halved(x: Any) -> Any:
    y = x
    while len(y) > 1:
        y = y[: len(y) // 2] * y[len(y) // 2 :]
    return y[0]


def written(x: Any) -> Any:
    return wg.fori_loop(0, 10, lambda k, y: np.sin(y), x)


def line_of(f: Any) -> int:
    return f.__code__.co_firstlineno + 2


def why(f: Any) -> str:
    return wg.explain(f)(X).why_not_rolled(line_of(f))


def test_each_loop_on_the_tape_has_its_reason() -> None:
    assert "of 5 iterations, is on the tape step by step: 5 iterations are fewer than the 8" in why(few)
    assert "its iterations differ: exp at test_loops.py" in why(uneven) and "7 times in 20 iterations" in why(uneven)
    assert "so short a loop runs faster as straight code" in why(short)


def test_iterations_are_counted_only_where_the_source_and_the_steps_allow_it() -> None:
    (row,) = wg.explain(halved)(X[:32]).report.loops
    assert row.iterations == 5
    assert ", of" not in why(by_turns)


def test_a_loop_in_which_a_function_is_defined_or_explained_is_not_its_own() -> None:
    for _ in range(3):
        explanation = wg.explain(lambda x: np.sin(x) * np.sin(2 * x) + np.sin(3 * x) + np.sin(4 * x))(X)
        assert explanation.report.loops == ()
    assert [wg.explain(lambda x: np.sin(np.sin(np.sin(np.sin(x)))))(X).report.loops for _ in range(2)] == [(), ()]


def test_a_loop_that_became_steps_says_which() -> None:
    assert "has become" in why(rolled)
    rows = wg.explain(rolled)(X).report.loops
    assert [row.became for row in rows] and all(row.why == "" for row in rows)
    (row,) = wg.explain(written)(X).report.loops
    assert (row.became, row.iterations) in {("scan", 10), ("while", -1)}


def test_there_may_be_no_loop() -> None:
    assert wg.explain(np.sin)(X).why_not_rolled(3).startswith("no loop")


def test_the_pass_says_that_each_iteration_reads_an_array_of_its_own() -> None:
    def network(weights: Any, x: Any) -> Any:
        for w in weights:
            x = np.tanh(w @ x)
        return x

    (row,) = wg.explain(network)([np.eye(40)] * 10, X).report.loops
    assert row.iterations == 10 and "reads an array of its own" in row.why

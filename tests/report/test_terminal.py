"""A report is readable as text without rich, and as tables with it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.report import terminal


def model(w: Any, x: Any) -> Any:
    y = np.tanh(w @ x)
    if np.sum(y) > 100:
        y = 2 * y
    return np.sum(y * y)


@pytest.fixture(scope="module")
def explanation() -> Any:
    return wg.explain(wg.grad(model))(np.eye(20), np.ones(20))


@pytest.mark.machine_code("kernels are looked at")
def test_the_text_has_a_section_for_each_thing_that_is_known(explanation: Any) -> None:
    text = str(explanation)
    first, *_ = text.split("\n")
    assert first.startswith("gradient of model: ") and "steps in" in first and "kernels" in first
    for heading in ("lines, forward | backward", "kernels", "kept for the backward part", "branches taken"):
        assert f"\n{heading}\n" in text
    assert "y = np.tanh(w @ x)" in text and "> 100.0 was False" in text


@pytest.mark.machine_code("kernels are looked at")
def test_long_sections_are_cut_and_say_so() -> None:
    def f(x: Any) -> Any:
        for k in range(20):
            x = np.sort(np.exp(x) / k if k else x)
        return x

    text = str(wg.explain(f)(np.ones(8)))
    assert "... and " in text and " more" in text


@pytest.mark.machine_code("kernels are looked at")
def test_rich_prints_tables(explanation: Any) -> None:
    rich = pytest.importorskip("rich.console", reason="rich is an extra")
    out = io.StringIO()
    rich.Console(file=out, width=160).print(explanation)
    assert "kernels" in out.getvalue() and "model: " in out.getvalue()


def test_numbers_are_short() -> None:
    assert [terminal.count(x) for x in (0, 999, 1500, 2.5e6)] == ["0", "999", "1.5k", "2.5M"]
    assert [terminal.size(x) for x in (7, 2000, 3e6)] == ["7 B", "2 kB", "3 MB"]
    assert [terminal.seconds(t) for t in (3e-9, 2e-6, 0.5)] == ["3 ns", "2 µs", "500 ms"]

"""Profiles: each kernel has a row, calls are counted, and the times of lines add up to those of kernels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ArgumentError, OptionError

pytestmark = pytest.mark.machine_code("native programs are profiled")

X = np.linspace(0.5, 1.5, 64)
W = np.random.default_rng(0).normal(size=(64, 64)) / 8  # by BLAS, so that a loop's body is a program


def layer(x: Any) -> Any:
    y = np.cumsum(x)
    return np.exp(-y)


def loss(x: Any) -> Any:
    for _ in range(2):
        x = layer(x)
    return np.sum(np.sort(x) ** 2)


def looped(x: Any) -> Any:
    def step(c: Any, _: Any) -> Any:
        c = np.sin(c) @ W
        return c, np.sum(c)

    return np.sum(wg.scan(step, np.outer(x, x), None, length=5)[1])


def line_of(f: Any, k: int) -> int:
    return f.__code__.co_firstlineno + k


def test_each_kernel_has_a_row_and_each_line_its_share() -> None:
    step = wg.jit(wg.grad(loss))
    kernels = step.program(X).kernels
    with wg.profile(step) as profile:
        for _ in range(30):
            step(X)
    assert [k.name for k in profile.kernels] == [k.name for k in kernels]
    assert all(k.calls == 30 and k.depth == 0 and k.program == "loss" for k in profile.kernels)
    lines = {line.line: line for line in profile.lines}
    assert set(lines) <= {line_of(layer, 1), line_of(layer, 2), line_of(loss, 3)}
    assert all(line.file == __file__ and line.text for line in lines.values())
    exp = lines[line_of(layer, 2)]
    assert exp.text.strip() == "return np.exp(-y)" and exp.forward_s > 0 and exp.backward_s > 0
    total = sum([k.total_s for k in profile.kernels if k.lines])  # a copy into a result has none
    assert abs(sum([line.total_s for line in lines.values()]) - total) <= 1e-9 + 0.01 * total
    assert profile.wall_s >= 0 and 0 < sum([k.share for k in profile.kernels]) <= 2


def test_bodies_stand_below_their_loop() -> None:
    f = wg.jit(looped)
    f(X)
    with wg.profile(f) as profile:
        for _ in range(4):
            f(X)
    names = [(k.depth, k.calls) for k in profile.kernels]
    loop = next(k for k, kernel in enumerate(profile.kernels) if kernel.calls == 4 and names[k + 1][0] == 1)
    assert names[loop + 1] == (1, 20)
    inner = {line for kernel in profile.kernels if kernel.depth for _, line, _ in kernel.lines}
    assert line_of(looped, 2) in inner
    assert abs(sum([line.share for line in profile.lines]) - sum(k.share for k in profile.kernels if not k.depth)) < 0.1


def test_a_function_is_called_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[type(wg.profile()).__module__], "SECONDS", 0.01)
    for f in (wg.grad(loss), wg.jit(loss), wg.jit(loss).program(X)):
        profile = wg.profile(f)(X)
        assert profile.kernels[0].calls >= 5 and profile.name == "loss"
        assert repr(profile).startswith("<Profile of loss: ")
    with pytest.raises(ArgumentError, match="no function to call"):
        wg.profile()(X)
    with pytest.raises(ArgumentError, match="expected a function or a program"):
        wg.profile(3)


def test_the_tables_name_kernels_lines_and_text() -> None:
    step = wg.jit(wg.grad(loss))
    with wg.profile(step) as profile:
        step(X)
    text = str(profile)
    assert text.startswith("loss: 1 program, 1 run (1 timed), ")
    assert "y = np.cumsum(x)" in text and f"test_profile.py:{line_of(layer, 1)}" in text
    assert "\x1b" not in text and all(len(line) == len(line.rstrip()) for line in text.splitlines())
    with wg.profile(step) as nothing:
        pass
    assert "no program ran" in str(nothing) and nothing.kernels == nothing.lines == ()


def failed_in(step: Any) -> Any:
    try:
        with wg.profile(step) as profile:
            step(X)
            raise ZeroDivisionError
    except ZeroDivisionError:
        return profile


def test_an_error_in_the_block_leaves_what_was_timed() -> None:
    step = wg.jit(loss)
    profile = failed_in(step)
    assert profile.programs[0].time.calls == 1
    with wg.profile(step) as again:
        step(X)
    assert again.programs[0].time.calls == 1


def test_the_name_of_a_file_says_its_format(tmp_path: Path) -> None:
    step = wg.jit(loss)
    with wg.profile(step) as profile:
        step(X)
    for name, format, key in (
        ("a.json", None, "traceEvents"),
        ("a.speedscope.json", None, "$schema"),
        ("b", "speedscope", "$schema"),
    ):
        profile.save(tmp_path / name, format)
        assert f'"{key}"' in (tmp_path / name).read_text()
    for name, format in (("a.txt", None), ("a.json", "xml")):
        with pytest.raises(OptionError, match="expected 'perfetto' or 'speedscope'"):
            profile.save(tmp_path / name, format)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.json", "a.speedscope.json", "b"]


@pytest.mark.deep("a process of its own")
def test_nothing_is_imported_before_it_is_asked_for() -> None:
    code = "import sys, wengert; sys.exit(any(name.startswith('wengert.report') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

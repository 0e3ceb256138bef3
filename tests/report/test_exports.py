"""Exports have the fields that Chrome's trace events and speedscope's file format ask for."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.report import exports

pytestmark = pytest.mark.machine_code("native programs are profiled")

X = np.linspace(0.5, 1.5, 64)


def inner(x: Any) -> Any:
    return np.sort(np.cumsum(x))


def looped(x: Any) -> Any:
    def step(c: Any, _: Any) -> Any:
        c = inner(c)
        return c, np.sum(c)

    return np.sum(wg.scan(step, np.tile(x, 8), None, length=5)[1])


@pytest.fixture(scope="module")
def programs() -> Any:
    f = wg.jit(wg.grad(looped))
    f(X)
    with wg.timed(f) as timing:
        for _ in range(5):
            f(X)
    return timing.read()


def test_trace_events(programs: Any) -> None:
    trace = json.loads(json.dumps(exports.perfetto("f", programs)))
    heads = [event for event in trace["traceEvents"] if event["ph"] == "M"]
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert {head["name"] for head in heads} == {"process_name", "thread_name"}
    assert all(isinstance(head["args"]["name"], str) and head["pid"] == os.getpid() for head in heads)
    for event in slices:
        assert isinstance(event["name"], str) and isinstance(event["cat"], str)
        assert event["ts"] >= -0.01 and event["dur"] >= 0 and {event["pid"], event["tid"]} <= {h["tid"] for h in heads}
    runs = [event for event in slices if event["cat"] == "program" and event["name"] == programs[0].name]
    assert len(runs) == programs[0].time.timed  # each with its kernels within
    begin, end = runs[0]["ts"] - 1e-3, runs[0]["ts"] + runs[0]["dur"] + 1e-3
    within = [event for event in slices if begin <= event["ts"] and event["ts"] + event["dur"] <= end]
    assert len(within) > len(programs[0].kernels)
    assert any("test_exports.py" in event.get("args", {}).get("lines", "") for event in within)


def test_speedscope(programs: Any) -> None:
    file = json.loads(json.dumps(exports.speedscope("f", programs)))
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = file["shared"]["frames"]
    assert all(isinstance(frame["name"], str) for frame in frames)
    total = sum([kernel.time.total_s for program in programs for kernel in program.kernels])
    for profile in file["profiles"]:
        assert profile["type"] == "sampled" and profile["unit"] == "seconds" and profile["startValue"] == 0
        assert len(profile["samples"]) == len(profile["weights"]) and min(profile["weights"]) >= 0
        assert all(0 <= frame < len(frames) for stack in profile["samples"] for frame in stack)
        assert profile["endValue"] == pytest.approx(sum(profile["weights"])) == pytest.approx(total)
    by_line, by_kernel = file["profiles"]
    stacks = [[frames[k]["name"] for k in stack] for stack in by_line["samples"]]
    called = [stack for stack in stacks if any(name.startswith("inner") for name in stack)]
    assert called and all(stack[0].startswith("looped") for stack in called)
    assert any("backward" in name for stack in stacks for name in stack)
    assert {frames[stack[0]]["name"] for stack in by_kernel["samples"]} == {"program looped"}


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    exports.write(path, {"a": 1})
    with pytest.raises(TypeError):
        exports.write(path, {"a": object()})
    assert json.loads(path.read_text()) == {"a": 1} and list(tmp_path.iterdir()) == [path]

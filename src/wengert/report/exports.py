"""Profiles in the formats of other tools: Perfetto's (Chrome's trace events) and speedscope's."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import wengert as wg
from wengert.report.spread import spread

if TYPE_CHECKING:
    from wengert.runtime.timing import KernelTime, ProgramTime
    from wengert.source import Source

JSON = dict[str, Any]


def perfetto(name: str, programs: Sequence[ProgramTime]) -> JSON:
    """Return a trace of the first runs that were timed: a slice for each run of a program and each kernel, by thread,
    with the kernel's lines beside it. Times are microseconds."""
    process = os.getpid()
    events: list[JSON] = []
    everything = [found for program in programs for found in _with_bodies(program)]
    begin = min([event.begin_s for program in everything for event in program.events], default=0.0)
    for program in everything:
        arguments = [_arguments(kernel) for kernel in program.kernels]
        for event in program.events:
            kernel = program.kernels[event.kernel] if event.kernel >= 0 else None
            slice = {
                "name": program.name if kernel is None else kernel.name,
                "cat": "program" if kernel is None else kernel.kind,
                "ph": "X",
                "ts": 1e6 * (event.begin_s - begin),
                "dur": 1e6 * (event.end_s - event.begin_s),
                "pid": process,
                "tid": event.thread,
            }
            events.append(slice if kernel is None else {**slice, "args": arguments[event.kernel]})
    events.sort(key=lambda e: (e["tid"], e["ts"], -e["dur"]))
    threads = dict.fromkeys([event["tid"] for event in events])
    heads = [_head("process_name", process, process, f"wengert: {name}")]
    heads += [_head("thread_name", process, thread, "main" if thread == process else "thread") for thread in threads]
    return {"traceEvents": [*heads, *events], "displayTimeUnit": "ns"}


def _head(what: str, process: int, thread: int, name: str) -> JSON:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _arguments(kernel: KernelTime) -> JSON:
    lines = dict.fromkeys([part.source.where for part in kernel.work.ops if part.source is not None])
    return {"lines": ", ".join(lines), "flops": kernel.work.flops, "bytes": kernel.work.moved_bytes}


def _with_bodies(program: ProgramTime) -> list[ProgramTime]:
    return [program, *[found for k in program.kernels for body in k.bodies for found in _with_bodies(body)]]


def speedscope(name: str, programs: Sequence[ProgramTime]) -> JSON:
    """Return two profiles of the time of all runs: by the user's calls and lines, then the kernels that did them; and
    by programs and kernels, then the lines that these did."""
    frames: dict[tuple[Any, ...], int] = {}

    def frame(text: str, source: Source | None = None) -> int:
        key = (text,) if source is None else (text, source.file, source.line)
        return frames.setdefault(key, len(frames))

    by_line: dict[tuple[int, ...], float] = {}
    by_kernel: dict[tuple[int, ...], float] = {}
    for program in programs:
        for kernel in program.kernels:
            for names, part, share in spread(kernel):
                time = share * kernel.time.total_s
                kernels = [frame(f"kernel {text}") for text in names]
                calls = [frame(_described(source), source) for source in _calls(part.source)]
                stack = (*calls, *kernels)
                by_line[stack] = by_line.get(stack, 0.0) + time
                stack = (frame(f"program {program.name}"), *kernels, *calls[-1:])
                by_kernel[stack] = by_kernel.get(stack, 0.0) + time
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [_frame(*key) for key in frames]},
        "profiles": [_profile("by line", by_line), _profile("by kernel", by_kernel)],
        "name": name,
        "activeProfileIndex": 0,
        "exporter": f"wengert@{wg.__version__}",
    }


def _calls(source: Source | None) -> list[Source]:
    """The calls that led to a line, the outermost first, and the line."""
    calls: list[Source] = []
    while source is not None:
        calls.insert(0, source)
        source = source.parent
    return calls


def _described(source: Source) -> str:
    backward = ", backward" if source.role == "cotangent" else ""
    return f"{source.function} ({source.where}{backward})"


def _frame(text: str, file: str | None = None, line: int | None = None) -> JSON:
    return {"name": text} if file is None else {"name": text, "file": file, "line": line}


def _profile(name: str, stacks: dict[tuple[int, ...], float]) -> JSON:
    return {
        "type": "sampled",
        "name": name,
        "unit": "seconds",
        "startValue": 0,
        "endValue": sum(stacks.values()),
        "samples": [list(stack) for stack in stacks],
        "weights": list(stacks.values()),
    }


FORMATS: dict[str, Callable[[str, Sequence[ProgramTime]], JSON]] = {"perfetto": perfetto, "speedscope": speedscope}


def write(path: Path, content: JSON) -> None:
    """Write JSON to a file, whole or not at all: to a file beside it, which then takes its name."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(json.dumps(content))
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

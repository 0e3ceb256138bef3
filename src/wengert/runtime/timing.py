"""Times of the steps of programs while these run: by the processor's counter, on some of the runs.

A program is timed between ``start`` and ``stop``; the runtime notes its counter behind each step of so few runs that
the program takes at most a few percent longer. Nothing is timed otherwise, and the machine code is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wengert.errors import StructureError, message
from wengert.runtime import _native, machine_code
from wengert.source import Source
from wengert.tape import Instr, tapes_in

if TYPE_CHECKING:
    from wengert.passes.plan.places import Plan, PlanStep
    from wengert.runtime.assemble import Linked
    from wengert.runtime.program import Program

USUAL = 0.95  # of the durations of a step; longer ones count as long as the longest of these


class OpWork(NamedTuple):
    """One of the ops that a kernel does."""

    op: str
    source: Source | None
    flops: float


class Work(NamedTuple):
    """A kernel's work in one call."""

    ops: tuple[OpWork, ...]
    """The ops that it does, those in bodies of loops and branches included: the flops of a loop's are of all
    iterations."""
    flops: float
    moved_bytes: int
    """The bytes of its operands and results, of repeated elements once."""


class Time(NamedTuple):
    """How often something ran, and how long it took, in seconds."""

    calls: int = 0
    timed: int = 0
    """The calls that were timed. From these the others are estimated."""
    total_s: float = 0.0
    least_s: float = 0.0
    median_s: float = 0.0


class Event(NamedTuple):
    """A call that was timed. ``kernel`` is -1 for the run of a whole program."""

    kernel: int
    begin_s: float
    end_s: float
    thread: int
    """The number that ``threading.get_native_id`` gives in that thread."""


class KernelTime(NamedTuple):
    """The time of a kernel, and what it does."""

    name: str
    kind: str
    """The kind of ``Program.kernels``."""
    time: Time
    work: Work
    bodies: tuple[ProgramTime, ...]
    """The programs that it ran: the body of a loop, if that is not part of the kernel's own code."""


class ProgramTime(NamedTuple):
    """The time of a program. A body's ``time.calls`` are iterations."""

    name: str
    time: Time
    kernels: tuple[KernelTime, ...]
    events: tuple[Event, ...]
    """Calls of the first runs that were timed, in the order of their ends, by the clock of
    ``time.perf_counter``."""


_watchers: list[Callable[[Program], None]] = []


def note_made(program: Program) -> None:
    """Tell those who time programs that there is a new one."""
    for watcher in _watchers:
        watcher(program)


class Timing:
    """Times programs while it is open, as a context manager, and those that are made meanwhile.

    ``programs`` are those to begin with, ``belongs`` says of one that was made later whether it is one of them.
    """

    def __init__(self, programs: Iterable[Program], belongs: Callable[[Program], bool] = lambda program: True) -> None:
        self._wanted = list(programs)
        self._belongs = belongs
        self._started: list[Program] = []
        self._clock: list[tuple[int, int, int]] = []

    def __enter__(self) -> Timing:
        why_none = machine_code.why_none()
        if why_none:
            raise StructureError(
                message(f"the steps of machine code are timed, and there is none: {why_none}", tries=["cProfile"])
            )
        self._clock = [_native.now()]
        try:
            for program in self._wanted:
                self._start(program)
        except RuntimeError as error:
            self._stop()
            raise StructureError(message(str(error), tries=["one profile at a time"])) from None
        _watchers.append(self._start_new)
        return self

    def __exit__(self, *_: object) -> None:
        _watchers.remove(self._start_new)
        self._stop()
        self._clock.append(_native.now())

    def _start_new(self, program: Program) -> None:
        with suppress(RuntimeError):  # another one that is open times it
            self._start(program)

    def _start(self, program: Program) -> None:
        if program.linked is not None and all(program is not p for p in self._started):
            for linked in _with_bodies(program.linked):
                linked.executable.start_timing()
            self._started.append(program)

    def _stop(self) -> None:
        for program in self._started:
            assert program.linked is not None
            for linked in _with_bodies(program.linked):
                linked.executable.stop_timing()

    def read(self) -> tuple[ProgramTime, ...]:
        """Return the times of the programs that ran, also while it is still open."""
        (ticks, ns, _), (later, later_ns, _) = self._clock[0], (*self._clock, _native.now())[1]
        scale = 1e-9 * (later_ns - ns) / (later - ticks)
        clock = _Clock(scale, 1e-9 * ns - scale * ticks)
        times = [_time_of(p.tape.name, p.linked, clock) for p in self._started if p.linked and self._belongs(p)]
        return tuple([time for time in times if time.time.calls])


class _Clock(NamedTuple):
    scale: float
    offset: float


def _with_bodies(linked: Linked) -> list[Linked]:
    """A program and those that its kernels run."""
    return [linked, *[found for bodies in linked.bodies for body in bodies for found in _with_bodies(body)]]


def _time_of(name: str, linked: Linked, clock: _Clock, loop: Source | None = None) -> ProgramTime:
    times = linked.executable.times()
    if times is None:
        return ProgramTime(name, Time(), (), ())
    runs, of_steps, of_events = times
    rows = np.frombuffer(of_steps, np.uint64).reshape(linked.executable.n_steps + 1, -1)
    timed_runs = int(rows[-1, 0])
    step_times = [_time(row, runs / timed_runs if timed_runs else 0.0, clock.scale) for row in rows]
    of_kernels: list[list[Time]] = [[] for _ in linked.kernels]
    for owner, time in zip(linked.owners, step_times, strict=False):  # the last is that of whole runs
        of_kernels[owner].append(time)
    kernels = tuple(
        [
            KernelTime(
                info.name,
                info.kind,
                _together(of_kernels[k]),
                work_of(linked.steps[k], linked.plan, info.moved_bytes, loop),
                tuple([_time_of(b.plan.tape.name, b, clock, _source_of(linked, k, loop)) for b in linked.bodies[k]]),
            )
            for k, info in enumerate(linked.kernels)
        ]
    )
    owners = (*linked.owners, -1)
    events = tuple(
        [
            Event(owners[step], clock.offset + clock.scale * begin, clock.offset + clock.scale * end, thread)
            for begin, end, step, thread in np.frombuffer(of_events, np.uint64).reshape(-1, 4).tolist()
        ]
    )
    return ProgramTime(name, step_times[-1]._replace(calls=runs), kernels, events)


def _source_of(linked: Linked, k: int, loop: Source | None) -> Source | None:
    instr = linked.steps[k][0].instr
    return loop if instr is None else _within(instr.source, loop)


def _time(row: np.ndarray[tuple[int], np.dtype[np.uint64]], times: float, scale: float) -> Time:
    timed, ticks, least, kept = [int(x) for x in row[:4]]
    if not timed:
        return Time()
    durations = np.sort(row[4 : 4 + kept].astype(float))
    # Seldom the system runs something else meanwhile, a thousand times as long as a short step. That is not the
    # step's time, and would count as often as there are runs for one that was timed.
    mean = np.minimum(durations, durations[int(USUAL * (kept - 1))]).mean() if kept > 1 else ticks / timed
    total = float(scale * mean * timed * times)
    return Time(round(timed * times), timed, total, scale * least, scale * float(np.median(durations)))


def _together(times: list[Time]) -> Time:
    """The time of a kernel that is several steps of the runtime: a loop, its condition and its body."""
    if not times:
        return Time()
    if len(times) == 1:
        return times[0]
    first = times[0]
    n = max(first.timed, 1)

    def a_call(of: Callable[[Time], float]) -> float:
        return sum([of(t) * t.timed for t in times]) / n

    total = sum([t.total_s for t in times])
    return Time(first.calls, first.timed, total, a_call(lambda t: t.least_s), a_call(lambda t: t.median_s))


def work_of(steps: Iterable[PlanStep], plan: Plan, moved_bytes: int, loop: Source | None = None) -> Work:
    """Return what a kernel does for steps of a plan. ``loop`` is where the loop stands if the plan is its body's."""
    ops = list[OpWork]()
    for step in steps:
        if step.instr is not None:
            ops += _ops_of(step.instr, loop)
        else:
            source = plan.tape.instrs[step.number].source if step.number < len(plan.tape.instrs) else None
            ops.append(OpWork(step.what, _within(source, loop), 0.0))
    return Work(tuple(ops), sum([op.flops for op in ops]), moved_bytes)


def _ops_of(instr: Instr, loop: Source | None) -> list[OpWork]:
    flops = float(instr.op.cost(*[a.aval for a in instr.ins], **instr.params))
    around = _within(instr.source, loop) if instr.op.kernel.has_bodies else loop
    bodies = tapes_in(tuple(instr.params.values()))
    inner = [op for body in bodies for i in body.instrs for op in _ops_of(i, around)]
    if not inner:
        return [OpWork(instr.op.name, _within(instr.source, loop), flops)]
    once = sum([op.flops for op in inner])
    return [op._replace(flops=op.flops * flops / once) for op in inner] if once else inner


def _within(source: Source | None, loop: Source | None) -> Source | None:
    """Return a line of a body, which was recorded by itself, with the call of the loop as that which led there."""
    if source is None or loop is None:
        return source or loop
    return source._replace(parent=loop if source.parent is None else _within(source.parent, loop))

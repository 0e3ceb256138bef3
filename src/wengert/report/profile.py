"""Profiles: where the time of compiled programs goes, by kernel and by the user's line.

``with wg.profile(step) as profile:`` times the programs of ``step`` while the block runs; ``wg.profile(f)(*args)`` runs
``f`` for half a second. Some runs are timed, so few that programs take at most three percent longer; what is said of
all runs is estimated from these.

A kernel may do steps of several lines at once. Its time is then split over them by their flops, which is an estimate;
the time of the kernel itself is measured.
"""

from __future__ import annotations

import linecache
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import wengert as wg
from wengert.report import exports
from wengert.report.spread import spread
from wengert.report.tables import amount, seconds, table

if TYPE_CHECKING:
    from types import TracebackType

    from wengert.runtime.jit import Jit
    from wengert.runtime.program import Program
    from wengert.runtime.timing import KernelTime, ProgramTime, Timing

SECONDS = 0.5  # for which wg.profile(f)(*args) runs f
FEWEST_RUNS = 5


class KernelProfile(NamedTuple):
    """The time of a kernel."""

    name: str
    kind: str
    """ "loops", "BLAS", "library", "guard" or "callback"."""
    program: str
    depth: int
    """0 for a kernel of a program; of a kernel in the body of a loop, how deep the loop lies."""
    lines: tuple[tuple[str, int, float], ...]
    """File, line, and the share of the kernel's time that is taken to be that line's."""
    calls: int
    total_s: float
    least_s: float
    median_s: float
    share: float
    """The share of the time of all programs."""
    gb_per_s: float
    """Bytes of operands and results per time of a call."""
    gflop_per_s: float


class LineProfile(NamedTuple):
    """The time of a line of the user's code, over all calls."""

    file: str
    line: int
    text: str
    forward_s: float
    backward_s: float
    """The time of what derivatives added to the line."""
    share: float

    @property
    def total_s(self) -> float:
        """The time of the line, forward and backward."""
        return self.forward_s + self.backward_s


class Profile:
    """The times of programs. ``print`` shows them as tables; ``kernels`` and ``lines`` have them as records.

    It is complete once the block has ended.
    """

    def __init__(self, name: str, timing: Timing) -> None:
        self.name = name
        self.wall_s = 0.0
        """The time that the block took, with everything that is not in a program: Python, compiling."""
        self._timing = timing
        self._programs: tuple[ProgramTime, ...] | None = None

    @property
    def programs(self) -> tuple[ProgramTime, ...]:
        """The times as :func:`wengert.timed` reads them."""
        if self._programs is None:
            return self._timing.read()
        return self._programs

    def _finish(self, wall_s: float) -> None:
        self.wall_s = wall_s
        self._programs = self._timing.read()

    @property
    def total_s(self) -> float:
        """The time of all runs of the programs, estimated from those that were timed."""
        return sum([program.time.total_s for program in self.programs])

    @property
    def kernels(self) -> tuple[KernelProfile, ...]:
        """A record of each kernel, in the order in which programs run them; those of bodies follow the loop."""
        total = self.total_s or 1.0
        return tuple([_of_kernel(k, p.name, d, total) for p in self.programs for k, d in _deep(p)])

    @property
    def lines(self) -> tuple[LineProfile, ...]:
        """A record of each line that took time, in the order of the files."""
        times: dict[tuple[str, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
        for program in self.programs:
            for kernel in program.kernels:
                for _, part, share in spread(kernel):
                    if part.source is not None:
                        is_backward = part.source.role == "cotangent"
                        times[part.source.file, part.source.line][is_backward] += share * kernel.time.total_s
        total = self.total_s or 1.0
        return tuple(
            [
                LineProfile(file, line, linecache.getline(file, line).rstrip(), forward, back, (forward + back) / total)
                for (file, line), (forward, back) in sorted(times.items())
            ]
        )

    def save(self, path: str | PathLike[str], format: str | None = None) -> None:
        """Write the profile to a file: "perfetto", a Chrome trace of the first runs that were timed, for
        ui.perfetto.dev; or "speedscope", the times of all runs by call, line and kernel, for speedscope.app.

        Without ``format`` the name says it: ``.speedscope.json`` is speedscope's, any other ``.json`` is Perfetto's.

        Raises OptionError for another format or a name that says none.
        """
        name = str(path)
        if format is None:
            ends = {".speedscope.json": "speedscope", ".json": "perfetto"}
            format = next((kind for end, kind in ends.items() if name.endswith(end)), None)
        if format not in exports.FORMATS:
            known = " or ".join([repr(known) for known in exports.FORMATS])
            what = f"Profile.save: {name!r} says no format" if format is None else f"Profile.save: format is {format!r}"
            raise wg.errors.OptionError(wg.errors.message(f"{what}; expected {known}"))
        exports.write(Path(path), exports.FORMATS[format](self.name, self.programs))

    def __repr__(self) -> str:
        runs = sum([p.time.calls for p in self.programs])
        return f"<Profile of {self.name}: {amount(runs, 'run')}, {seconds(self.total_s)}>"

    def __str__(self) -> str:
        return "\n".join([*self._head(), "", *_of_kernels(self.kernels), "", *_of_lines(self.lines)])

    def _head(self) -> list[str]:
        programs = self.programs
        if not programs:
            return [
                f"{self.name}: no program ran. Only compiled code is timed: wg.jit(f), or wg.grad(f) of some calls."
            ]
        runs, timed = sum([p.time.calls for p in programs]), sum([p.time.timed for p in programs])
        counts = f"{amount(len(programs), 'program')}, {amount(runs, 'run')} ({timed} timed)"
        wall = f" of {seconds(self.wall_s)}" if self.wall_s else ""
        return [f"{self.name}: {counts}, {seconds(self.total_s)}{wall} in kernels"]


class Profiler:
    """The result of :func:`profile`: a context manager, and a function that profiles calls."""

    def __init__(self, what: Program | Jit | Callable[..., Any] | None) -> None:
        self._what = what
        self._made: Any = None
        self._open: list[tuple[Timing, Profile, float]] = []

    @property
    def _compiled(self) -> Any:
        what: Any = self._what
        if self._made is None and not _is_compiled(what):
            self._made = wg.jit(what)
        return self._made or what

    @property
    def _name(self) -> str:
        tape = getattr(self._what, "tape", None)
        return "programs" if self._what is None else getattr(tape or self._what, "name" if tape else "__name__", "call")

    def __enter__(self) -> Profile:
        timing = wg.timed(self._what if _is_compiled(self._what) else None)
        timing.__enter__()
        made = Profile(self._name, timing)
        self._open.append((timing, made, time.perf_counter()))
        return made

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        timing, made, begin = self._open.pop()
        end = time.perf_counter()
        timing.__exit__(kind, error, traceback)
        made._finish(end - begin)

    def __call__(self, *args: Any, **kwargs: Any) -> Profile:
        """Call the function for about half a second, at least five times, and return the profile.

        It is compiled before, which does not count.
        """
        if self._what is None:
            what = "profile: there is no function to call"
            raise wg.errors.ArgumentError(wg.errors.message(what, tries=["wg.profile(f)(*args)"]))
        f = self._compiled
        f(*args, **kwargs)
        with Profiler(f) as made:
            made.name = self._name
            begin, runs = time.perf_counter(), 0
            while runs < FEWEST_RUNS or time.perf_counter() - begin < SECONDS:
                f(*args, **kwargs)
                runs += 1
        return made


def profile(what: Program | Jit | Callable[..., Any] | None = None) -> Profiler:
    """Time compiled programs: ``with wg.profile(step) as profile:`` or ``wg.profile(f)(*args)``; ``print(profile)``.

    The time of each kernel is measured by the processor's counter, on so few of the runs that they take at most three
    percent longer, and is mapped to the user's lines, forward and backward. The time of a kernel that does steps of
    several lines is split over them by their flops.

    Parameters
    ----------
    what : a jitted function or a program. For a ``with`` block also any other function, or nothing: then all programs
        that run in the block are timed. ``wg.profile(f)(*args)`` compiles a plain ``f``.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> step = wg.jit(wg.grad(lambda x: np.sum(np.cumsum(x) ** 2)))
    >>> x = np.ones(1000)
    >>> with wg.profile(step) as profile:
    ...     for _ in range(100):
    ...         g = step(x)
    >>> [(kernel.name, kernel.calls) for kernel in profile.kernels]
    [('cumsum', 100), ('multiply', 100), ('cumsum', 100), ('copy', 100)]
    >>> profile.save("/tmp/trace.json")  # doctest: +SKIP
    """
    if what is not None and not callable(what):
        tries = ["wg.profile(wg.jit(f))", "wg.profile(f)(*args)"]
        raise wg.errors.ArgumentError(
            wg.errors.message(
                f"profile: what is {wg.expect.given(what)}; expected a function or a program", tries=tries
            )
        )
    return Profiler(what)


def _is_compiled(what: object) -> TypeGuard[Program | Jit]:
    return hasattr(what, "kernels") or hasattr(what, "programs")


# ------------------------------------------------------------------------------------------------------ what is where


def _deep(program: ProgramTime, depth: int = 0) -> Iterator[tuple[KernelTime, int]]:
    """Yield each kernel of a program and of the bodies in it, and how deep it lies."""
    for kernel in program.kernels:
        yield kernel, depth
        for body in kernel.bodies:
            if body.time.calls:
                yield from _deep(body, depth + 1)


def _of_kernel(kernel: KernelTime, program: str, depth: int, total: float) -> KernelProfile:
    lines: dict[tuple[str, int], float] = defaultdict(float)
    for _, part, share in spread(kernel):
        if part.source is not None:
            lines[part.source.file, part.source.line] += share
    time = kernel.time
    per_ns = 1e-9 / time.median_s if time.median_s else 0.0
    return KernelProfile(
        kernel.name,
        kernel.kind,
        program,
        depth,
        tuple([(file, line, share) for (file, line), share in lines.items()]),
        time.calls,
        time.total_s,
        time.least_s,
        time.median_s,
        time.total_s / total,
        kernel.work.moved_bytes * per_ns,
        kernel.work.flops * per_ns,
    )


# ------------------------------------------------------------------------------------------------------ as tables


def _of_kernels(kernels: tuple[KernelProfile, ...]) -> list[str]:
    rows = [
        (
            f"{100 * k.share:.1f} %",
            seconds(k.total_s),
            str(k.calls),
            seconds(k.median_s),
            seconds(k.least_s),
            f"{k.gb_per_s:.1f}",
            f"{k.gflop_per_s:.1f}",
            "  " * k.depth + k.name,
            _lines_of(k),
        )
        for k in kernels
    ]
    return table(("share", "time", "calls", "median", "least", "GB/s", "Gflop/s", "kernel", "lines"), rows, right=7)


def _lines_of(kernel: KernelProfile) -> str:
    files: dict[str, list[int]] = defaultdict(list)
    for file, line, _ in kernel.lines:
        files[Path(file).name].append(line)
    return "; ".join([f"{name}:{','.join([str(n) for n in sorted(lines)])}" for name, lines in files.items()])


MOST_BETWEEN = 3  # lines without time that are shown between lines with some


def _of_lines(lines: tuple[LineProfile, ...]) -> list[str]:
    shown: list[str] = []
    for file in dict.fromkeys([line.file for line in lines]):
        own = [line for line in lines if line.file == file]
        rows: list[tuple[str, ...]] = []
        before = own[0].line
        for line in own:
            between = range(before + 1, line.line)
            if len(between) <= MOST_BETWEEN:
                rows += [("", "", "", str(n), linecache.getline(file, n).rstrip()) for n in between]
            elif between:
                rows.append(("", "", "", "...", ""))
            times = [seconds(s) if s else "" for s in (line.forward_s, line.backward_s)]
            rows.append((f"{100 * line.share:.1f} %", *times, str(line.line), line.text))
            before = line.line
        shown += ["", file, *table(("share", "forward", "backward", "line", ""), rows, right=4)]
    return shown[1:]

"""Fills the records of a report from a look at a program: its tape, its plan and its kernels.

Costs of a step in the body of a loop are those of all iterations, where their number is known. A step of which the
kernel is not known, since a pass has made another one of it, has none.
"""

from __future__ import annotations

import platform
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import wengert as wg
from wengert.report.advice import advice_of
from wengert.report.data import (
    Cost,
    FileRow,
    FrameRow,
    GuardRow,
    KernelRow,
    LineRow,
    LoopRow,
    MemoryRow,
    ReportData,
    StepRow,
    StoredRow,
    ValueRow,
)
from wengert.report.loops import loop_around, source_of, unrolled

BACKWARD = ("tangent", "cotangent")
MOST_NAMED = 4
"""The inputs that a reason names; the others are counted."""


class Measured(NamedTuple):
    """The times of a program."""

    run_s: float
    kernels_s: tuple[float, ...]


class Gatherer:
    """Collects the records of one report."""

    def __init__(self, look: Any, title: str, argument_names: Sequence[str], times: Measured | None = None) -> None:
        self.look, self.title = look, title
        self.measured = times
        self.program = look.program
        self.tape: Any = self.program.tape
        self.argument_names = argument_names
        self.inputs = frozenset(self.tape.inputs)
        self.values: list[ValueRow] = []
        self.number: dict[Any, int] = {}
        """The number of each value, by variable, or by the key of a literal."""
        self.variables: list[Any] = []
        """The variable of each value, or the key of a literal."""
        self.steps: list[StepRow] = []
        self.instrs: list[Any] = []
        """The instruction of each step."""
        self.times: list[int] = []
        """How often each step is done."""
        self.paths: dict[str, int] = {}
        self.frames: list[FrameRow] = [FrameRow(-1, title, -1, 0)]
        self.frame_of: dict[Any, int] = {}
        self.within: list[tuple[Any, ...]] = []
        """The instructions that each kernel does."""
        self.infos: tuple[Any, ...] = () if self.program.plan is None else self.program.kernels
        """The program's kernels; none where NumPy runs it."""
        self.moved_bytes = [info.moved_bytes for info in self.infos]
        self.unrolled: dict[tuple[int, int], int] = {}
        """The steps of each loop whose iterations are on the tape, by file and line."""
        self.types: dict[Any, str] = {}
        self.aliases: dict[str, int] = {}
        """Values by all of their names."""

    def report(self) -> ReportData:
        self.kernel_of = self._kernels_of_values()
        self._inputs(self.tape, "", self.argument_names)
        self._steps(self.tape, "", 0, 1, -1)
        self._results()
        costs = self._costs()
        self.steps = [s._replace(cost=c) for s, c in zip(self.steps, costs, strict=True)]
        kernels = self._kernels()
        report = ReportData(
            title=self.title,
            about=about(),
            cost=Cost(
                self.measured.run_s if self.measured else None,
                sum([k.cost.flops for k in kernels]),
                sum([k.cost.moved_bytes for k in kernels]),
            ),
            compile_s=self.look.compile_s,
            files=(),
            frames=tuple(self.frames),
            values=tuple(self.values),
            steps=tuple(self.steps),
            kernels=kernels,
            memory=self._memory(),
            guards=self._guards(),
            paths=self._paths(),
            loops=self._loops(),
            advice=(),
        )
        report = report._replace(advice=tuple(advice_of(self, report)))
        return report._replace(files=self._files())

    # ------------------------------------------------------------------------------------------------ values

    def _value(self, key: Any, value: ValueRow) -> int:
        number = self.number[key] = len(self.values)
        self.variables.append(key)
        self.values.append(value)
        self.aliases.setdefault(value.name, number)
        return number

    def _type(self, v: Any) -> str:
        found = self.types.get(v.aval)
        if found is None:
            found = self.types[v.aval] = str(v.aval)
        return found

    def _inputs(self, tape: Any, prefix: str, names: Sequence[str] = ()) -> None:
        for k, v in enumerate(tape.inputs):
            name = names[k] if k < len(names) else f"{prefix}v{k}"
            kind = "argument" if not prefix else "value"
            is_active, why = self._why(v, "") if not prefix else (False, "")
            number = self._value(v, ValueRow(name, self._type(v), v.aval.nbytes, -1, kind, is_active, why, -1))
            self.aliases.setdefault(f"{prefix}v{k}", number)
        for k, c in enumerate(tape.captures):
            is_active, why = self._why(c.var, "")
            what = ValueRow(
                c.name or f"{prefix}c{k}", self._type(c.var), c.var.aval.nbytes, -1, "captured", is_active, why, -1
            )
            number = self._value(c.var, what)
            self.aliases.setdefault(f"{prefix}c{k}", number)

    def _read(self, a: Any) -> int:
        key = a.key if hasattr(a, "key") else a
        number = self.number.get(key)
        if number is None:
            number = self._value(
                key, ValueRow(repr(a), self._type(a), a.aval.nbytes, -1, "literal", False, "a number", -1)
            )
        return number

    def _why(self, v: Any, role: str) -> tuple[bool, str]:
        """Whether a value is active, and the reason."""
        if role in BACKWARD:
            return False, "part of the derivative"
        found = self.look.activity.get(v)
        if found is None:
            return False, ""
        if found.is_active and v in self.inputs:
            return True, "a derivative is taken with respect to it" if self.look.wrt else "the result depends on it"
        if found.is_active:
            return True, f"depends on {self._named(found.inputs)}"
        if found.is_discrete:
            return False, f"of {v.aval.dtype.name}, which has no derivatives"
        if found.inputs:
            return False, "no result that is differentiated depends on it"
        if found.by is not None:
            source = found.by.source
            where = f" at {source.where}" if source is not None else ""
            return False, f"no derivative passes {found.by.op.name}{where}"
        if v in self.inputs:
            return False, "no derivative is taken with respect to it"
        if not self.look.wrt:
            return False, "depends on no argument"
        return False, f"depends on none of {self._named(self.look.wrt)}"

    def _named(self, numbers: Sequence[int]) -> str:
        names = [self.argument_names[k] if k < len(self.argument_names) else f"v{k}" for k in numbers[:MOST_NAMED]]
        more = len(numbers) - len(names)
        return ", ".join(names) + (f" and {more} more" if more else "")

    def _results(self) -> None:
        results = {self.number[a] for a in self.tape.outputs if a in self.number}
        cotangents = {
            self.number[v]: self.number[ct]
            for v, ct in self.look.cotangents.items()
            if v in self.number and ct in self.number
        }
        for k in {*results, *cotangents}:
            value = self.values[k]
            self.values[k] = value._replace(is_result=k in results, cotangent=cotangents.get(k, -1))

    # ------------------------------------------------------------------------------------------------- steps

    def _steps(self, tape: Any, prefix: str, root: int, times: int, kernel: int, within: str = "") -> None:
        """Append the steps of a tape. ``prefix``: of the names of its values; ``kernel``: what runs it, if known;
        ``within``: the role of the step whose body it is."""
        count = len(tape.inputs)
        for instr in tape.instrs:
            source = instr.source
            role = source.role if source is not None and source.role in BACKWARD else within
            number = len(self.steps)
            gives = []
            for v in instr.outs:
                is_active, why = self._why(v, role)
                name = f"{prefix}v{count}"
                count += 1
                gives.append(
                    self._value(v, ValueRow(name, self._type(v), v.aval.nbytes, number, "value", is_active, why, -1))
                )
            mine = kernel
            if mine < 0:
                mine = next((self.kernel_of[v] for v in instr.outs if v in self.kernel_of), -1)
                if not instr.outs:
                    mine = self.kernel_of.get(id(instr.params), -1)
            file, line = (-1, 0) if source is None else (self.file(source.file), source.line)
            frame = self._frame(source, root)
            step = StepRow(
                op=instr.op.name,
                params=_shown(instr),
                reads=tuple([self._read(a) for a in instr.ins]),
                gives=tuple(gives),
                file=file,
                line=line,
                frame=frame,
                role=role,
                kernel=mine,
                cost=Cost(),
            )
            self.steps.append(step)
            self.instrs.append(instr)
            self.times.append(times)
            bodies = self._bodies(instr)
            for name, body in bodies:
                called = f"{self.values[gives[0]].name}." if gives else f"{prefix}"
                inner = called if len(bodies) == 1 else f"{called}{name.replace(' ', '')}."
                self._inputs(body, inner)
                loop = instr.params.get("loop")
                length = getattr(loop, "length", 1)
                self.frames.append(FrameRow(frame, f"{instr.op.name}, {name}", file, line))
                self._steps(body, inner, len(self.frames) - 1, times * length, mine, role)

    def _bodies(self, instr: Any) -> list[tuple[str, Any]]:
        return wg.edit.bodies(instr) if instr.params and instr.op.kernel.has_bodies else []

    def file(self, path: str) -> int:
        """Return the number of a file."""
        return self.paths.setdefault(path, len(self.paths))

    def _frame(self, source: Any, root: int) -> int:
        """The frame of the call in which a step was recorded, below ``root``."""
        if source is None or source.parent is None:
            return root
        key = root, source.function, source.parent
        found = self.frame_of.get(key)
        if found is None:
            call = source.parent
            parent = self._frame(call, root)
            same = parent, source.function, call.file, call.line
            found = self.frame_of.get(same)
            if found is None:
                self.frames.append(FrameRow(parent, source.function, self.file(call.file), call.line))
                found = self.frame_of[same] = len(self.frames) - 1
            self.frame_of[key] = found
        return found

    def _costs(self) -> list[Cost]:
        """The cost of each step: its flops, and what it has of the bytes that its kernel moves."""
        moved = [0] * len(self.steps)
        by_kernel: dict[int, list[int]] = defaultdict(list)
        for k, step in enumerate(self.steps):
            if step.kernel >= 0:
                by_kernel[step.kernel].append(k)
        for kernel, steps in by_kernel.items():
            info = self.infos[kernel]
            instr = info.planned.instr if info.planned is not None else None
            if len(steps) == 1 or instr is None:
                moved[steps[0]] += self.moved_bytes[kernel]
                continue
            # Who reads an array first, and who makes one that is stored, has its bytes.
            left = {a: a.aval.nbytes for a in instr.ins if a.aval.shape}
            stored = {a: a.aval.nbytes for a in instr.outs}
            for k in steps:
                for a in self.instrs[k].ins:
                    moved[k] += left.pop(a, 0)
                for a in self.instrs[k].outs:
                    moved[k] += stored.pop(a, 0)
        flops = []
        for instr, times in zip(self.instrs, self.times, strict=True):
            flops.append(times * float(instr.op.cost(*[a.aval for a in instr.ins], **instr.params)))
        times = self._times(by_kernel, flops)
        return [Cost(t, f, b) for t, f, b in zip(times, flops, moved, strict=True)]

    def _times(self, by_kernel: dict[int, list[int]], flops: list[float]) -> list[float | None]:
        """The time of each step: that of its kernel, shared out by flops; nothing where no time was measured."""
        found: list[float | None] = [None] * len(self.steps)
        if self.measured is None:
            return found
        for kernel, steps in by_kernel.items():
            inner = [k for k in steps if not self._bodies(self.instrs[k])] or steps
            weights = [flops[k] for k in inner]
            total = sum(weights)
            for k, weight in zip(inner, weights, strict=True):
                found[k] = self.measured.kernels_s[kernel] * (weight / total if total else 1 / len(inner))
        return found

    # ----------------------------------------------------------------------------------------------- kernels

    def _kernels_of_values(self) -> dict[Any, int]:
        """The kernel that makes each value, as far as the passes have left it what it was."""
        found: dict[Any, int] = {}
        for k, info in enumerate(self.infos):
            if info.planned is not None and info.planned.instr is not None:
                for v in info.planned.instr.outs:
                    found[v] = k
                found[id(info.planned.instr.params)] = k
            instrs = info.instrs
            self.within.append(instrs)
            for instr in instrs:
                for v in instr.outs:
                    found.setdefault(v, k)
        return found

    def _kernels(self) -> tuple[KernelRow, ...]:
        steps: dict[int, list[int]] = defaultdict(list)
        for k, step in enumerate(self.steps):
            steps[step.kernel].append(k)
        kernels = []
        for k, info in enumerate(self.infos):
            within = self.within[k]
            places = dict.fromkeys([i.source[:2] for i in within if i.source is not None])
            lines = tuple([(self.file(file), line) for file, line in places])
            ops = tuple([i.op.name for i in within])
            cost = Cost(self.measured.kernels_s[k] if self.measured else None, info.flops, self.moved_bytes[k])
            kernels.append(KernelRow(info.name, info.kind, info.why, ops, tuple(steps[k]), lines, cost))
        return tuple(kernels)

    # ------------------------------------------------------------------------------------------------ memory

    def _memory(self) -> MemoryRow:
        program = self.program
        if program.plan is None or not self.infos:
            return MemoryRow(program.arena_bytes, sum([a.aval.nbytes for a in self.tape.outputs]), -1, ())
        # Kernels by the steps of the plan: some steps need none.
        at = {id(step): k for k, step in enumerate(program.plan.steps)}
        numbers = [at[id(info.planned)] for info in self.infos]
        stored = []
        alive: dict[int, list[int]] = {}  # of each buffer: its bytes, and the first and last kernel
        results = 0
        last_kernel = max(len(numbers) - 1, 0)
        for s in program.memory().stored:
            buffer = s.place.buffer
            first = min(bisect_left(numbers, s.first), last_kernel)
            last = min(max(bisect_right(numbers, s.last) - 1, first), last_kernel)
            file, line = (-1, 0) if s.source is None else (self.file(s.source.file), s.source.line)
            offset = -1 if s.is_result else buffer.offset + s.place.offset
            value = self.number.get(s.value, -1)
            stored.append(
                StoredRow(value, s.op, file, line, offset, s.place.aval.nbytes, first, last, s.why, s.is_residual)
            )
            if not s.is_result:
                known = alive.setdefault(id(buffer), [buffer.nbytes, first, last])
                known[1], known[2] = min(known[1], first), max(known[2], last)
        results = sum([a.aval.nbytes for a in self.tape.outputs])
        changes = [0] * (len(numbers) + 2)
        for nbytes, first, last in alive.values():
            changes[first] += nbytes
            changes[last + 1] -= nbytes
        peak, peak_kernel, now = results, -1, results
        for k in range(len(numbers)):
            now += changes[k]
            if now > peak or peak_kernel < 0:
                peak, peak_kernel = now, k
        return MemoryRow(program.arena_bytes, peak, peak_kernel, tuple(stored))

    # ------------------------------------------------------------------------------------- guards and paths

    def _guards(self) -> tuple[GuardRow, ...]:
        made = {v: i for i in self.instrs for v in i.outs}
        found = []
        for k, instr in enumerate(self.instrs):
            if instr.op.name == "guard":
                step = self.steps[k]
                found.append(GuardRow(step.file, step.line, f"{self._condition(instr, made)} was {_seen(instr)}", k))
        return tuple(found)

    def _condition(self, guard: Any, made: dict[Any, Any]) -> str:
        a = guard.ins[0]
        maker = made.get(a)
        sign = None if maker is None else SIGNS.get(maker.op.name)
        if maker is None or sign is None:
            return self._name(a) if maker is None else f"{maker.op.name}({', '.join(map(self._name, maker.ins))})"
        return f"{self._name(maker.ins[0])} {sign} {self._name(maker.ins[1])}"

    def _name(self, a: Any) -> str:
        return self.values[self._read(a)].name

    def _paths(self) -> tuple[str, ...]:
        texts = []
        for decisions in self.look.paths:
            words = [f"{_where(d.guard.source)}{d.seen!s}" for d in decisions[:20]]
            more = len(decisions) - len(words)
            texts.append(", ".join(words) + (f" and {more} more" if more else ""))
        return tuple(texts)

    # ------------------------------------------------------------------------------------------------- loops

    def _loops(self) -> tuple[LoopRow, ...]:
        found: dict[tuple[int, int], LoopRow] = {}
        for step, instr in zip(self.steps, self.instrs, strict=True):
            source = instr.source
            if source is None or step.role:
                continue
            is_rolled = bool(source.stands_for)
            if not is_rolled and not self._bodies(instr):
                continue
            loop = loop_around(source.file, source.line, source.function) if is_rolled else None
            file, line = self.file(source.file), source.line if loop is None else loop.line
            number = source.stands_for.split(" ")[0]
            iterations = int(number) if number.isdigit() else getattr(instr.params.get("loop"), "length", -1)
            became = BECAME.get(step.op, "array steps" if is_rolled else "")
            known = found.get((file, line))
            if became and (known is None or known.became == "array steps"):
                found[file, line] = LoopRow(file, line, iterations, became, "")
        recorded = self.look.recorded
        ran = {} if recorded is None else {u.at: u.iterations for u in unrolled(recorded.instrs, ())}
        for loop in unrolled(self.tape.instrs, self.look.not_rolled, ran):
            file = self.file(loop.at.file)
            if (file, loop.at.line) not in found:
                self.unrolled[file, loop.at.line] = loop.steps
                found[file, loop.at.line] = LoopRow(file, loop.at.line, loop.iterations, "", loop.why)
        return tuple([found[key] for key in sorted(found)])

    # ------------------------------------------------------------------------------------------------- files

    def _files(self) -> tuple[FileRow, ...]:
        lines: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for k, step in enumerate(self.steps):
            if step.file >= 0:
                lines[step.file][step.line].append(k)
        files = []
        for path, number in self.paths.items():
            of_file = lines[number]
            first, text = source_of(path, of_file)
            records = [self._line(n, steps) for n, steps in sorted(of_file.items())]
            files.append(FileRow(path, first, text, tuple(records)))
        return tuple(files)

    def _line(self, number: int, steps: list[int]) -> LineRow:
        parts: list[list[Cost]] = [[], []]
        for k in steps:
            step = self.steps[k]
            if not self._bodies(self.instrs[k]):
                parts[step.role in BACKWARD].append(step.cost)
        forward, backward = [_total(costs) for costs in parts]
        return LineRow(number, forward, backward, tuple(steps))


BECAME = {"scan": "scan", "while": "while", "sum": "sum"}
"""The words for the loop that an op stands for."""

SIGNS = {
    "greater": ">",
    "greater_equal": ">=",
    "less": "<",
    "less_equal": "<=",
    "equal": "==",
    "not_equal": "!=",
}


def _where(source: Any) -> str:
    return "" if source is None else f"{source.where} "


def _seen(guard: Any) -> str:
    expected = guard.params["expected"].value
    if getattr(expected, "ndim", 0) == 0:
        return str(expected)
    return f"as in {expected.size} looks"


def _shown(instr: Any) -> str:
    """The parameters of a step as they are printed, none longer than a line."""
    if not instr.params:
        return ""
    return ", ".join([text if len(text) <= 80 else text[:77] + "..." for text in wg.edit.params(instr)])


def _total(costs: Iterable[Cost]) -> Cost:
    costs = list(costs)
    times = [c.time_s for c in costs if c.time_s is not None]
    return Cost(sum(times) if times else None, sum([c.flops for c in costs]), sum([c.moved_bytes for c in costs]))


def about() -> dict[str, str]:
    """Return the versions and the machine that a report was made with."""
    import numpy as np

    return {
        "wengert": wg.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": str(wg.get_threads()),
    }

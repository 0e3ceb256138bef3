"""A report for the terminal: the same sections as plain text, and as tables of rich's if that is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from wengert.report.data import Cost, FileRow, LineRow, ReportData
from wengert.report.tables import amount

SLOW = "slow, and what would avoid it"
MOST_ROWS = 12
"""The rows that a section shows; the page has all."""


class Section(NamedTuple):
    """A table with a heading."""

    heading: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    more: int = 0
    """The rows that are left out."""


def plain(report: ReportData) -> str:
    """Return the report as text."""
    lines = summary(report)
    for section in sections(report):
        lines += ["", section.heading]
        if section.heading == SLOW:  # sentences, which are too long for columns
            for what, at, text, instead in section.rows:
                lines.append(f"  {what}{f' at {at}' if at else ''}: {text}")
                lines += [f"    instead: {instead}"] if instead else []
            continue
        rows = [section.columns, *section.rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            lines.append(("  " + "  ".join([f"{x:<{n}}" for x, n in zip(row, widths, strict=True)])).rstrip())
        if section.more:
            lines.append(f"  ... and {section.more} more")
    return "\n".join(lines)


def for_rich(report: ReportData) -> Iterator[Any]:
    """Yield the report as renderables of rich's."""
    from rich.table import Table  # an extra: who prints by rich has it
    from rich.text import Text

    first, *others = summary(report)
    yield Text(first, style="bold")
    for line in others:
        yield Text(line)
    for section in sections(report):
        more = f"... and {section.more} more" if section.more else None
        style = "yellow" if section.heading == SLOW else "cyan"
        table = Table(title=section.heading, title_justify="left", title_style=f"bold {style}", caption=more, box=None)
        for name in section.columns:
            table.add_column(name, header_style="dim")
        for row in section.rows:
            table.add_row(*[Text(x) for x in row])
        yield Text()
        yield table


def summary(report: ReportData) -> list[str]:
    """Return the first lines: the function, its program, and what that costs."""
    if not report.kernels and not report.steps:
        return [f"{report.title}: no program"]
    cost, m = report.cost, report.memory
    if not report.kernels:  # a program of machine code has one: it writes its results
        steps = amount(len(report.steps), "step")
        return [f"{report.title}: {steps}, done by NumPy one by one, without machine code: wg.doctor() says why"]
    kinds = sorted({k.kind for k in report.kernels})
    time = f", {seconds(cost.time_s)} a run" if cost.time_s is not None else ""
    kept = sum([s.nbytes for s in m.stored if s.is_residual])
    return [
        f"{report.title}: {len(report.steps)} steps in {len(report.kernels)} kernels ({', '.join(kinds)}){time}",
        f"{count(cost.flops)} flops, {size(cost.moved_bytes)} read and written, {size(m.peak_bytes)} at the peak, "
        f"{size(m.arena_bytes)} of arena, {size(kept)} kept for the backward part",
    ]


def sections(report: ReportData) -> list[Section]:
    """Return the tables of a report that have rows."""
    found = [
        _lines(report),
        _kernels(report),
        _residuals(report),
        _guards(report),
        _loops(report),
        Section(SLOW, ("what", "line", "why", "instead"), [
            (a.what, _at(report, a.file, a.line), a.text, a.instead) for a in report.advice
        ]),
    ]  # fmt: skip
    return [_short(s) for s in found if s.rows]


def _short(section: Section) -> Section:
    return section._replace(rows=section.rows[:MOST_ROWS], more=max(0, len(section.rows) - MOST_ROWS))


def _lines(report: ReportData) -> Section:
    lines = [(file, line) for file in report.files for line in file.lines]
    lines.sort(key=lambda one: _weight(one[1]), reverse=True)
    rows = []
    for file, line in lines:
        costs = [_pair(getter, line) for getter in (_time, _flops, _moved)]
        rows.append((f"{_name(file.path)}:{line.number}", *costs, _text(file, line.number)))
    return Section("lines, forward | backward", ("line", "time", "flops", "bytes", "source"), rows)


def _kernels(report: ReportData) -> Section:
    kernels = sorted(enumerate(report.kernels), key=lambda one: _heavy(one[1].cost), reverse=True)
    rows = []
    for k, kernel in kernels:
        at = ", ".join(dict.fromkeys([_at(report, *line) for line in kernel.lines[:3]]))
        name = kernel.name if len(kernel.name) <= 48 else kernel.name[:45] + "..."
        cost = kernel.cost
        rows.append((str(k), name, kernel.kind, _time(cost), _flops(cost), _moved(cost), at, kernel.why))
    return Section("kernels", ("", "name", "kind", "time", "flops", "bytes", "lines", "why"), rows)


def _residuals(report: ReportData) -> Section:
    stored = sorted([s for s in report.memory.stored if s.is_residual], key=lambda s: -s.nbytes)
    rows = []
    for s in stored:
        name = report.values[s.value].name if s.value >= 0 else ""
        rows.append((name, s.op, _at(report, s.file, s.line), size(s.nbytes), f"{s.first}-{s.last}", s.why))
    return Section("kept for the backward part", ("value", "step", "line", "bytes", "kernels", "why"), rows)


def _guards(report: ReportData) -> Section:
    rows = [(_at(report, g.file, g.line), g.text) for g in report.guards]
    return Section("branches taken", ("line", "path"), rows)


def _loops(report: ReportData) -> Section:
    rows = []
    for loop in report.loops:
        iterations = str(loop.iterations) if loop.iterations >= 0 else "any" if loop.became else "not known"
        rows.append((_at(report, loop.file, loop.line), iterations, loop.became or "every iteration", loop.why))
    return Section("loops", ("line", "iterations", "on the tape", "why"), rows)


def _weight(line: LineRow) -> tuple[float, float]:
    return max(_heavy(line.forward), _heavy(line.backward))


def _heavy(cost: Cost) -> tuple[float, float]:
    return cost.time_s or 0.0, cost.flops + cost.moved_bytes / 8


def _pair(getter: Any, line: LineRow) -> str:
    first, second = getter(line.forward), getter(line.backward)
    return f"{first} | {second}" if first or second else ""


def _time(cost: Cost) -> str:
    if cost.time_s is None or not (cost.time_s or cost.flops or cost.moved_bytes):
        return ""
    return "≈ 0" if cost.time_s < 1e-9 else seconds(cost.time_s)  # the clock cannot tell so little from none


def _flops(cost: Cost) -> str:
    return count(cost.flops) if cost.flops else ""


def _moved(cost: Cost) -> str:
    return size(cost.moved_bytes) if cost.moved_bytes else ""


def _text(file: FileRow, number: int) -> str:
    k = number - file.first
    text = file.text[k].strip() if 0 <= k < len(file.text) else ""
    return text if len(text) <= 60 else text[:57] + "..."


def _name(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def _at(report: ReportData, file: int, line: int) -> str:
    return f"{_name(report.files[file].path)}:{line}" if 0 <= file < len(report.files) else ""


def count(x: float) -> str:
    """Return a number in short: 12, 3.4k, 5.6M.

    >>> count(12.0), count(3400.0)
    ('12', '3.4k')
    """
    return _scaled(x, 1000, ("", "k", "M", "G", "T"))


def size(nbytes: float) -> str:
    """Return bytes in short: 12 B, 3.5 kB.

    >>> size(12), size(3500)
    ('12 B', '3.5 kB')
    """
    return _scaled(nbytes, 1000, (" B", " kB", " MB", " GB", " TB"))


def seconds(t: float) -> str:
    """Return a time in short.

    >>> seconds(2.5e-6)
    '2.5 µs'
    """
    return _scaled(t * 1e9, 1000, (" ns", " µs", " ms", " s"))


def _scaled(x: float, step: int, units: Sequence[str]) -> str:
    k = 0
    while abs(x) >= step and k < len(units) - 1:
        x, k = x / step, k + 1
    return f"{x:.3g}{units[k]}"

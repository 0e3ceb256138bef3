"""The data of a report: plain records of numbers, text and lists, which the terminal, the page and ``--json`` show.

Everything is numbered: a *step* is an instruction of the optimised tape, the steps in bodies of loops and branches
included; a *value* is what a step or an argument gives; a *kernel* is what the program runs. Records refer to one
another by these numbers. -1 stands for none.

Times are in seconds, sizes in bytes; a time that was not measured is None.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Cost(NamedTuple):
    """The cost of something in one run."""

    time_s: float | None = None
    flops: float = 0.0
    moved_bytes: int = 0
    """The bytes that are read and written."""


class LineRow(NamedTuple):
    """The costs of one line of the user's code."""

    number: int
    forward: Cost
    backward: Cost
    steps: tuple[int, ...]


class FileRow(NamedTuple):
    """A file of the user's, of which some lines were recorded."""

    path: str
    first: int
    """The number of the first line in ``text``."""
    text: tuple[str, ...]
    """The lines of the functions that were recorded; empty if the file cannot be read."""
    lines: tuple[LineRow, ...]


class FrameRow(NamedTuple):
    """A call that led to steps: a node of the tree of calls, in which loops and branches are nodes too."""

    parent: int
    """The number of the frame that made the call."""
    what: str
    """The function's name, or for a body "scan, body", "cond, branch 1"."""
    file: int
    line: int
    """Where the call stands, or the loop."""


class ValueRow(NamedTuple):
    """A value of the tape."""

    name: str
    """Its name in the printed tape, "v12", or of an argument, "W[0]"."""
    type: str
    """ "float64[3, 4]"."""
    nbytes: int
    step: int
    """The step that makes it; -1 for arguments and captured arrays."""
    kind: str
    """ "argument", "captured", "value" or "literal"."""
    is_active: bool = False
    why: str = "part of the derivative"
    """The reason why it is active: on which arguments it depends; or why it is not."""
    cotangent: int = -1
    """The value that is its cotangent, or is its first part."""
    is_result: bool = False


class StepRow(NamedTuple):
    """An instruction of the tape."""

    op: str
    params: str
    """Its parameters as the printed tape has them."""
    reads: tuple[int, ...]
    gives: tuple[int, ...]
    file: int
    line: int
    frame: int
    role: str = ""
    """ "" for a step of the function, "tangent" or "cotangent" for one that a derivative added."""
    kernel: int = -1
    """The kernel that does it; -1 if it needs none (a view), or has become part of another step."""
    cost: Cost = Cost()


class KernelRow(NamedTuple):
    """One thing that the program runs."""

    name: str
    kind: str
    """ "loops", "BLAS", "library", "guard" or "callback", as ``Program.kernels`` has them."""
    why: str
    """The reason why nothing native does it; else empty."""
    fused: tuple[str, ...]
    """The names of the ops that it does, in order."""
    steps: tuple[int, ...]
    lines: tuple[tuple[int, int], ...]
    """Pairs of a file and a line."""
    cost: Cost


class StoredRow(NamedTuple):
    """A value in memory, from the first to the last kernel that it must be kept for."""

    value: int
    """-1 for copies and workspaces."""
    op: str
    file: int
    line: int
    offset: int
    """The byte of the arena at which it begins; -1 for results, which have arrays of their own."""
    nbytes: int
    first: int
    last: int
    """Kernels."""
    why: str
    is_residual: bool = False


class MemoryRow(NamedTuple):
    """Where values are, and when."""

    arena_bytes: int
    peak_bytes: int
    """The most that live at the same time, results included."""
    peak_kernel: int
    stored: tuple[StoredRow, ...]


class GuardRow(NamedTuple):
    """A decision of the function that the program checks: another outcome is another path."""

    file: int
    line: int
    text: str
    """ "x > 0 was True"."""
    step: int


class LoopRow(NamedTuple):
    """A loop of the user's code: whether it is one step of the tape, and if not, why."""

    file: int
    line: int
    iterations: int
    """-1 if it is not fixed, or not known."""
    became: str
    """ "scan", "sum", "array steps", "while"; "" if it was not found and every iteration is on the tape."""
    why: str


class Advice(NamedTuple):
    """Something slow, and the sentence that would avoid it."""

    what: str
    """ "callback", "copy", "retrace", "unrolled loop", "plain call", ..."""
    file: int
    line: int
    text: str
    instead: str


class ReportData(NamedTuple):
    """Everything that a report says of one function with arguments of these types."""

    title: str
    about: dict[str, str]
    """Versions, processor, target and threads."""
    cost: Cost
    compile_s: float
    files: tuple[FileRow, ...]
    frames: tuple[FrameRow, ...]
    values: tuple[ValueRow, ...]
    steps: tuple[StepRow, ...]
    kernels: tuple[KernelRow, ...]
    memory: MemoryRow
    guards: tuple[GuardRow, ...]
    paths: tuple[str, ...]
    """The paths through the guards that have programs, in words; the one taken comes first."""
    loops: tuple[LoopRow, ...]
    advice: tuple[Advice, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the report as lists, dicts, text and numbers: each record is a dict of its fields, without those that
        have their default values."""
        return _plain(self)


def _plain(x: Any) -> Any:
    if isinstance(x, tuple):
        fields = getattr(x, "_fields", None)
        if fields is None:
            return [_plain(y) for y in x]
        defaults = getattr(x, "_field_defaults", {})
        return {f: _plain(y) for f, y in zip(fields, x, strict=True) if f not in defaults or y != defaults[f]}
    return int(x) if isinstance(x, float) and x.is_integer() else x

"""``wg.explain(f)(*args)``: what became of a function, as a report that prints, and answers questions."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import wengert as wg
from wengert.report import terminal
from wengert.report.advice import of_calls, parts_of_error
from wengert.report.data import Cost, MemoryRow, ReportData, StepRow
from wengert.report.gather import Gatherer, Measured, about
from wengert.report.loops import loop_around

MOST = 8
"""The values of one line about which a question is answered."""


RUNS = 30
RUNS_S = 0.03
"""The most runs that are timed, and the seconds after which there are no more of them."""
LONG = 1e9
"""The flops, or bytes, of a program that is not run for times unless they are asked for."""


def explain(f: Any, *, time: bool | None = None) -> Callable[..., Explanation]:
    """Return the function that explains what a call of ``f`` runs: ``wg.explain(f)(*args)``.

    The function is traced and compiled as ``wg.jit`` does it, and not called otherwise. A jit's own programs and counts
    stay as they are.

    Parameters
    ----------
    f : a function, or what ``wg.grad``, ``wg.jit`` and the like return; or a tape or a program, which are explained
        without arguments.
    time : whether the program is run a few times, on copies of the arguments, so that times stand beside the lines. By
        default it is if it calls no Python code, which could have effects, and if that does not take long: at most some
        1e9 flops, and no loops of which the number of iterations is not known.

    Returns
    -------
    A function of the arguments of ``f`` that returns an :class:`Explanation`.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> explanation = wg.explain(wg.grad(lambda x: np.sum(np.exp(x))))(np.ones(3))
    >>> [kernel.name for kernel in explanation.report.kernels]
    ['exp']
    >>> print(explanation.why_active("x"))
    x is active: a derivative is taken with respect to it. Its cotangent is v1.
    """
    look = wg.look(f)

    def explained(*args: Any, **kwargs: Any) -> Explanation:
        found = look(*args, **kwargs)
        measured = _measured(found.program, args, kwargs, time)
        return Explanation(found, found.title, _parameters(f), measured)

    return explained


class Explanation:
    """A report of what a function became for arguments of these types.

    ``print`` shows it, in colours if rich is installed and it is printed by ``rich.print``; a notebook shows its page,
    which :meth:`save` writes. ``report`` has its data; the methods ``why_...`` answer questions.

    A value is named by its name in the printed tape ("v12"), by an argument ("x", 'W[0]'), by a variable of the tape,
    or by the number of a line of the user's code, which stands for the values of that line.
    """

    def __init__(self, look: Any, title: str, parameters: Sequence[str] = (), times: Measured | None = None) -> None:
        self._look = look
        self._gathered: Gatherer | None = None
        if look.program is None:
            nothing = MemoryRow(0, 0, -1, ())
            empty = (), (), (), (), ()
            self.report = ReportData(title, about(), Cost(), 0.0, *empty, nothing, (), (), (), tuple(of_calls(look)))
        else:
            self._gathered = Gatherer(look, title, _names(look.program.tape, parameters), times)
            self.report = self._gathered.report()

    @property
    def program(self) -> Any:
        """The program that is explained; None if the function itself answers such calls."""
        return self._look.program

    # ------------------------------------------------------------------------------------------------ showing

    def __str__(self) -> str:
        return terminal.plain(self.report)

    def __repr__(self) -> str:
        r = self.report
        return f"<wengert.explain of {r.title}: {len(r.steps)} steps, {len(r.kernels)} kernels>"

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        return terminal.for_rich(self.report)

    def _repr_html_(self) -> str:
        from wengert.report.page import fragment  # only here: it reads the page's parts

        return fragment(self.report)

    def tree(self, depth: int | None = None) -> str:
        """Return the calls of the function as a tree, down to a depth, in text: see :func:`wengert.format_tree`."""
        return "" if self._look.program is None else wg.format_tree(self._look.program.tape, depth)

    def save(self, path: str | Path) -> None:
        """Write the report as one HTML file, or as JSON if the name ends so."""
        text = self.json() if str(path).endswith(".json") else self._page()
        Path(path).write_text(text, encoding="utf-8")

    def _page(self) -> str:
        from wengert.report.page import page  # only here: it reads the page's parts

        return page(self.report)

    def as_json(self) -> dict[str, Any]:
        """Return the report as dicts, lists, text and numbers."""
        return self.report.as_json()

    def json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.as_json(), separators=(",", ":"))

    # ---------------------------------------------------------------------------------------------- questions

    def why_active(self, v: Any) -> str:
        """Return why a value is active, or not: on which differentiated arguments it depends, and by which steps."""
        return "\n".join([self._why_active(k) for k in self._values(v)])

    def _why_active(self, k: int) -> str:
        value = self.report.values[k]
        if not value.is_active:
            return f"{self._said(k)} is not active: {value.why}."
        text = f"{self._said(k)} is active: {'it ' if value.why.startswith('depends') else ''}{value.why}"
        through = self._way(k)
        text += f", by {', '.join(through)}." if through else "."
        if value.cotangent >= 0:
            text += f" Its cotangent is {self.report.values[value.cotangent].name}."
        elif self._look.wrt:
            text += " Its cotangent is known by its structure (zero, or one number), or is made in forward mode."
        return text

    def _way(self, k: int) -> list[str]:
        """The steps of the shortest way from an active argument to a value, the last ones."""
        values, steps, way = self.report.values, self.report.steps, list[str]()
        while values[k].step >= 0 and len(way) < MOST:
            step = steps[values[k].step]
            way.append(f"{step.op}{self._at(step.file, step.line)}")
            active = [n for n in step.reads if values[n].is_active]
            if not active:
                break
            k = min(active, key=lambda n: values[n].step)
        return way[::-1]

    def why_kept(self, v: Any) -> str:
        """Return why a value is kept in memory, from when to when and for whom; or why it is not."""
        return "\n".join([self._why_kept(k) for k in self._values(v)])

    def _why_kept(self, k: int) -> str:
        self._need_kernels()
        value, report = self.report.values[k], self.report
        stored = [s for s in report.memory.stored if s.value == k]
        if not stored:
            return f"{self._said(k)} is not kept: {self._not_kept(k)}."
        texts = []
        for s in stored:
            where = "an array of its own" if s.offset < 0 else f"the arena at byte {s.offset}"
            first, last = report.kernels[s.first].name, report.kernels[s.last].name
            what = "is a residual" if s.is_residual else "is kept"
            kept = f"from kernel {s.first} ({first}) to kernel {s.last} ({last})"
            texts.append(f"{self._said(k)}, {value.nbytes} bytes, {what} {kept} in {where}: {s.why}.")
        return "\n".join(texts)

    def _need_kernels(self) -> None:
        """Raise StructureError if there is no machine code, which alone keeps and fuses values."""
        program = self._look.program
        if program is not None and program.plan is None:
            _ = program.kernels  # which raises

    def _not_kept(self, k: int) -> str:
        value, report = self.report.values[k], self.report
        if value.kind in ("argument", "captured"):
            return "it lies in the caller's memory, and is read there"
        if value.kind == "literal":
            return "it is written into the code"
        step = report.steps[value.step]
        if step.kernel >= 0:
            return f"kernel {step.kernel} ({report.kernels[step.kernel].name}) has it in registers"
        return "it is a view of another value, or passes have made another value of it"

    def why_not_fused(self, a: Any, b: Any) -> str:
        """Return why the steps that make two values are done by different kernels, or that one does both."""
        first, second = self._values(a)[0], self._values(b)[0]
        self._need_kernels()
        values, steps, report = self.report.values, self.report.steps, self.report
        for k in (first, second):
            if values[k].step < 0:
                return f"{self._said(k)} is no step: nothing computes it."
        one, other = steps[values[first].step], steps[values[second].step]
        names = f"{self._said(first)} and {self._said(second)}"
        if one.kernel == other.kernel != -1:
            return f"{names} are fused: kernel {one.kernel} ({report.kernels[one.kernel].name}) makes both."
        assert self._gathered is not None
        variables = self._gathered.variables
        why = self._look.why_not_fused(variables[first], variables[second])
        if not why:
            alone = [s for s in (one, other) if s.kernel >= 0 and report.kernels[s.kernel].kind != "loops"]
            kinds = [f"{s.op} is done by {report.kernels[s.kernel].kind}, which does one step at a time" for s in alone]
            why = kinds[0] if kinds else self._made_anew(one if one.kernel < 0 else other)
        return f"{names} are not fused: {why}."

    def _made_anew(self, step: StepRow) -> str:
        """The reason for which a step is in no kernel: passes made other steps of it, which those of its line do."""
        kernels = self.report.kernels
        on_line = [k for k, kernel in enumerate(kernels) if (step.file, step.line) in kernel.lines]
        same = [k for k in on_line if step.op in kernels[k].fused] or on_line
        found = [f"kernel {k} ({kernels[k].name}, {kernels[k].kind})" for k in same[:MOST]]
        where = (
            f"which on its line are done by {', '.join(found)}"
            if found
            else "and it is not known which kernel does them"
        )
        return f"passes have made other steps of {step.op}, {where}"

    def why_not_rolled(self, line: int) -> str:
        """Return why the loop at, or around, a line of the user's code is not one step of the tape; or what it is."""
        for file in self.report.files:
            loop = loop_around(file.path, line)
            for row in self.report.loops:
                if self.report.files[row.file].path == file.path and row.line in (line, loop and loop.line):
                    at = f"the loop{self._at(row.file, row.line)}"
                    if row.became:
                        count = "any number of" if row.iterations < 0 else str(row.iterations)
                        return f"{at}, of {count} iterations, has become: {row.became}."
                    count = f", of {row.iterations} iterations," if row.iterations >= 0 else ""
                    return f"{at}{count} is on the tape step by step: {row.why}."
        return f"no loop of which steps were recorded stands around line {line}, or it ran once or twice."

    def why_traced_again(self) -> str:
        """Return why this call would be traced anew, and for which reasons the function has more than one program."""
        look, texts = self._look, list[str]()
        plain = look.why_plain or look.stats.get("why_plain", "")
        if look.stats.get("unrepeatable"):
            texts.append(f"every call is traced: {look.stats['unrepeatable']}.")
        elif plain and not look.is_known:
            text, instead = parts_of_error(plain)
            texts.append(f"every call is answered by the function itself, without a program: {text}.")
            texts += [f"instead: {instead}."] if instead else []
        texts += [f"this call would be traced: {why}." for why in look.why_traced_again]
        more = "more than once" if look.stats.get("traces", 0) < 2 else f"{look.stats['traces']} times"
        for k, why in enumerate(look.kept_apart):
            texts.append(f"it was traced {more}, since {why}." if k == 0 else f"it was also traced since {why}.")
        if look.is_known:
            texts.append("there is a program for this call: it would not be traced.")
        if not texts:
            texts = ["nothing has been traced before: this would be the function's first program."]
        return "\n".join(texts)

    # ------------------------------------------------------------------------------------------------- values

    def _values(self, v: Any) -> list[int]:
        """The numbers of the values that a question is about."""
        if self._gathered is None:
            raise wg.errors.StructureError(f"{self.report.title} has no program: {self._look.why_plain}")
        if isinstance(v, str):
            found = self._gathered.aliases.get(v)
            if found is not None:
                return [found]
        elif isinstance(v, int):
            numbers = [n for s in self.report.steps if s.line == v and not s.role for n in s.gives]
            if numbers:
                return numbers[:MOST]
        elif v in self._gathered.number:
            return [self._gathered.number[v]]
        what = wg.errors.message(
            f"explain: no value of {self.report.title} is named by {v!r}",
            tries=['a name of the printed tape, "v3"', 'an argument, "x"', "the number of a line of the function"],
        )
        raise wg.errors.StructureError(what)

    def _said(self, k: int) -> str:
        """A value by its name and its line."""
        value = self.report.values[k]
        if value.step < 0:
            return value.name
        step = self.report.steps[value.step]
        return f"{value.name} ({step.op}{self._at(step.file, step.line)})"

    def _at(self, file: int, line: int) -> str:
        return "" if file < 0 else f" at {self.report.files[file].path.rsplit('/', 1)[-1]}:{line}"


def _measured(program: Any, args: tuple[Any, ...], kwargs: dict[str, Any], time: bool | None) -> Measured | None:
    """The times of a few runs on copies of the arguments; None if it is not to be run, or cannot be."""
    if program is None or program.plan is None or time is False or not (args or kwargs or not program.tape.inputs):
        return None
    if time is None:
        kernels = program.kernels
        does_unknown = any(
            k.kind == "callback" or any(i.op.kernel.runs_unknown_times for i in k.instrs) for k in kernels
        )
        if does_unknown or sum([k.flops + k.moved_bytes for k in kernels]) > LONG:
            return None
    args, kwargs = wg.tree.map(lambda x: x.copy() if isinstance(x, np.ndarray) else x, (args, kwargs))
    try:
        with wg.timed(program) as timing:
            begin, runs = perf_counter(), 0
            while runs < 3 or (runs < RUNS and perf_counter() - begin < RUNS_S):
                program(*args, **kwargs)
                runs += 1
    except (wg.errors.WengertError, ValueError, ArithmeticError):
        return None  # a branch that rounding decides, a singular matrix, a profile that is open: there are no times
    (found,) = timing.read()
    if not found.time.median_s:  # shorter than the clock can tell
        return None
    return Measured(found.time.median_s, tuple([kernel.time.median_s for kernel in found.kernels]))


def _parameters(f: Any) -> list[str]:
    """The names of the positional parameters of a function, as far as it says them."""
    try:
        found = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):  # a builtin
        return []
    names = []
    for p in found:
        if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            break
        names.append(p.name)
    return names


def _names(tape: Any, parameters: Sequence[str]) -> list[str]:
    """The names of a tape's inputs: ``x``, ``W[0]``; "v0" where they are not known."""
    if tape.in_tree is None:
        return []
    paths = wg.tree.paths(tape.in_tree)
    static = {k for k, _ in tape.in_static}
    paths = [path for k, path in enumerate(paths) if k not in static]
    is_positional = all(path.startswith("[") for path in paths)
    names = []
    for path in paths:
        head, _, rest = path[1:].partition("]")
        known = is_positional and head.isdigit() and int(head) < len(parameters)
        names.append(parameters[int(head)] + rest if known else f"argument{path}")
    return names

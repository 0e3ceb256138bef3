"""``wg.digits``: how many decimal digits of each result hold, and which line lost the others.

The steps of a call are run twice, in the program's own arithmetic and in double-double (:mod:`.doubled`), along the
same path. Where a result differs, its error is followed back: at each step, the operand whose error alone makes most of
the error of the result is the one to go on with, until rounding of the step itself makes more. On this way, the step
where the relative error grows most lost the digits.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from wengert.report.doubled import Doubled, exact, only_moves, run
from wengert.report.replaying import StraightCall, recorded, value_of


class LostDigits(NamedTuple):
    """The step at which the relative error of a result grows most."""

    op: str
    file: str
    line: int
    function: str
    role: str
    """ "" for a step of the function, "cotangent" or "tangent" for one of a derivative."""
    operands: tuple[float, ...]
    """The operands of the element, or the largest element of each."""
    result: float
    before: float
    """The digits that the operand had."""
    after: float
    """The digits that the result has."""
    instead: str
    """The formula to write instead, where the cause is a known one."""

    def __str__(self) -> str:
        code = linecache.getline(self.file, self.line).strip()
        place = f"{self.file.rsplit('/', 1)[-1]}:{self.line}, in {self.function}"
        what = f"the {self.role} of this line, {self.op}," if self.role else self.op
        given = ", ".join(f"{x:.17g}" for x in self.operands)
        lines = [f"{place}:   {code}" if code else place]
        how = f"loses {max(0.0, self.before - self.after):.0f} digits" if np.isfinite(self.result) else "fails"
        lines.append(f"    {what} {how}: of {given} it makes {self.result:.6g}")
        return "\n".join([*lines, f"    try {self.instead}"] if self.instead else lines)


class ResultDigits(NamedTuple):
    """The digits of one result."""

    path: str
    digits: float
    """The decimal digits that hold, of the element that has fewest."""
    typical: float
    """The digits of the median element."""
    index: tuple[int, ...]
    value: float
    wanted: float
    """The value in double-double arithmetic."""
    lost: LostDigits | None
    """The step that lost digits; None if no step lost more than one."""
    unknown: str
    """The first step of which no more than the digits of float64 is known, so that what it loses by itself is not seen;
    "" if there is none."""

    def __str__(self) -> str:
        where = f" at [{', '.join(map(str, self.index))}]" if self.index else ""
        right = f", and {self.wanted:.17g} is right" if np.isfinite(self.value) else ""
        lines = [f"{self.path}: {self.digits:.1f} digits{where}: {self.value:.17g}{right}"]
        if self.lost is not None:
            lines.append(f"  {self.lost}")
        if self.unknown:
            lines.append(f"  {self.unknown}: no more than float64 is known of it, so what it loses itself is not seen")
        return "\n".join(lines)


class DigitsReport(NamedTuple):
    """The digits of every result of a call."""

    name: str
    results: tuple[ResultDigits, ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.name}:", *map(str, self.results)])

    def __rich__(self) -> str:
        return str(self)


def digits(f: Callable[..., Any]) -> Callable[..., DigitsReport]:
    """Return the function that reports how many digits of ``f(*args)`` hold, and which line lost the others.

    The arguments are taken as exact. Each step of the call is run in double-double arithmetic, of some 31 digits,
    beside the program's own, with the decisions of the program. ``f`` may be a gradient: its steps are those of the
    function, and those that belong to a line of it as its cotangent.

    Parameters
    ----------
    f : a function of pytrees of arrays and numbers, or its derivative.

    Returns
    -------
    A function of the same arguments; it returns a record with the list ``results``, which prints as text.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> (result,) = wg.digits(lambda x: (1 - np.cos(x)) / x**2)(1e-6).results
    >>> round(result.digits), result.lost.op, result.lost.instead
    (4, 'subtract', '2 * np.sin(x / 2) ** 2')
    >>> (result,) = wg.digits(lambda x: 2 * np.sin(x / 2) ** 2 / x**2)(1e-6).results
    >>> result.digits > 15
    True
    """

    @wraps(f)
    def report(*args: Any, **kwargs: Any) -> DigitsReport:
        call = recorded(f, args, kwargs)
        with np.errstate(all="ignore"):
            replay = _Replay(call, wg.edit.play(call.tape, *call.inputs))
            found = wg.tree.flatten(wg.jit(f)(*args, **kwargs))[0]
        rows = []
        for k, (a, y) in enumerate(zip(call.tape.outputs, found, strict=False)):
            if np.asarray(y).dtype.kind == "f" and np.size(y):
                with np.errstate(all="ignore"):
                    rows.append(_row("result" if len(found) == 1 else f"result {k}", a, np.asarray(y), replay))
        return DigitsReport(call.name, tuple(rows))

    return report


class _Replay:
    """The values of a call in both arithmetics, and the steps that give them."""

    def __init__(self, call: StraightCall, values: dict[Any, Any]) -> None:
        self.tape, self.values = call.tape, values
        self.maker = {v: (i, k) for i in call.tape.instrs for k, v in enumerate(i.outs)}
        self.pairs: dict[Any, Any] = {}
        self.unknown: dict[Any, str] = {}
        for v in (*call.tape.inputs, *[c.var for c in call.tape.captures]):
            self.pairs[v] = self._exact(values[v])
        for i in call.tape.instrs:
            step = run(i, [self.pair(a) for a in i.ins], [values[v] for v in i.outs])
            self.pairs.update(zip(i.outs, step.results, strict=True))
            before = next((self.unknown[a] for a in i.ins if a in self.unknown), "")
            why = before or ("" if step.is_known else f"{i.op.name} at {i.source.where if i.source else '?'}")
            if why:
                self.unknown.update(dict.fromkeys(i.outs, why))

    def pair(self, a: Any) -> Any:
        return self.pairs[a] if a in self.pairs else self._exact(a.value)

    @staticmethod
    def _exact(x: Any) -> Any:
        return exact(x) if np.asarray(x).dtype.kind == "f" else x

    def errors(self, a: Any) -> tuple[Any, Any]:
        """The absolute error of each element of a value, and how large the element is."""
        x, p = np.asarray(value_of(a, self.values), np.float64), self.pair(a)
        return _difference(x, p), np.abs(p.hi)


def _difference(x: Any, p: Doubled) -> Any:
    """|x - p|; infinite where one of them is no number, 0 where both are the same."""
    with np.errstate(all="ignore"):
        gap = np.abs((x - p.hi) - p.lo)
    is_same = (x == p.hi) & ~np.isfinite(x) | np.isnan(x) & np.isnan(p.hi)
    return np.where(is_same, 0.0, np.where(np.isnan(gap), np.inf, gap))


def _digits_of(error: Any, size: Any, dtype: Any) -> Any:
    """The decimal digits that hold, between 0 and those of the dtype."""
    most = -math.log10(float(np.finfo(dtype).eps) / 2)
    with np.errstate(all="ignore"):
        relative = np.where(error == 0, 0.0, error / np.where(size == 0, np.finfo(np.float64).tiny, size))
        return np.where(np.isnan(relative), 0.0, np.clip(np.where(relative == 0, most, -np.log10(relative)), 0.0, most))


def _row(path: str, a: Any, y: Any, replay: _Replay) -> ResultDigits:
    pair = replay.pair(a)
    error, size = _difference(np.asarray(y, np.float64), pair), np.abs(pair.hi)
    held = _digits_of(error, size, y.dtype)
    # an element that has overflowed comes first; infinity in both arithmetics says nothing, as their range is the same
    worst = np.argmin(np.where(np.isfinite(y), held, -1.0))
    at = tuple(map(int, np.unravel_index(worst, held.shape)))
    most = -math.log10(float(np.finfo(y.dtype).eps) / 2)
    lost = _culprit(a, at, replay, y.dtype) if float(held[at]) < most - 1 or not np.isfinite(y[at]) else None
    unknown = replay.unknown.get(a, "")
    least = float(held[at]) if lost is None or np.isfinite(y[at]) else 0.0
    return ResultDigits(path, least, float(np.median(held)), at, float(y[at]), float(pair.hi[at]), lost, unknown)


def _culprit(a: Any, at: tuple[int, ...], replay: _Replay, dtype: Any) -> LostDigits | None:
    """Follow the error of an element back, and return the step at which it grows most, if by more than a digit."""
    if not (np.isfinite(np.asarray(value_of(a, replay.values))[at]) and np.isfinite(replay.pair(a).hi[at])):
        return _overflow(a, replay)
    unit = float(np.finfo(dtype).eps) / 2
    best, best_growth = None, 10.0
    while a in replay.maker:
        instr, k = replay.maker[a]
        error, size = [x[at] for x in replay.errors(a)]
        relative = float(error / size) if size else float(np.inf if error else 0)
        if relative <= 2 * unit:
            break
        operand, place = _responsible(instr, k, at, replay)
        before = unit
        if operand is not None:
            e, s = [x[place] for x in replay.errors(operand)]
            before = max(unit, float(e / s) if s else float(np.inf))
        growth = relative / before
        if growth > best_growth or (best is None and not np.isfinite(relative)):
            best, best_growth = _lost(instr, a, at, before, relative, replay), growth
        if operand is None:
            break
        a, at = operand, place
    return best


def _responsible(instr: wg.edit.Instr, k: int, at: tuple[int, ...], replay: _Replay) -> tuple[Any, tuple[int, ...]]:
    """The operand, and its element, whose error makes most of the error of a result's element; None if rounding in the
    step itself makes more."""
    given = [np.asarray(value_of(x, replay.values)) for x in instr.ins]
    results = [replay.values[v] for v in instr.outs]
    moving = [j for j, x in enumerate(given) if x.dtype.kind == "f" and instr.ins[j] in replay.maker]
    wanted = replay.pair(instr.outs[k]).at(at)

    def change(chosen: Sequence[int]) -> Doubled:
        """The element, where these operands are the program's and the others those of double-double."""
        mixed = [exact(x) if j in chosen else replay.pair(instr.ins[j]) for j, x in enumerate(given)]
        return run(instr, mixed, results).results[k].at(at)

    own = float(np.max(_difference(np.asarray(results[k], np.float64)[at], change(range(len(given))))))
    with np.errstate(all="ignore"):
        sizes = {j: abs(float((change([j]) - wanted).hi)) for j in moving}
    worst = max(sizes, key=lambda j: sizes[j] if sizes[j] == sizes[j] else np.inf, default=None)
    if worst is None or sizes[worst] < own:
        return None, ()
    return instr.ins[worst], _place(instr, worst, at, replay)


def _place(instr: wg.edit.Instr, j: int, at: tuple[int, ...], replay: _Replay) -> tuple[int, ...]:
    """The element of operand ``j`` to go on with: that which broadcasts or moves there, else that of largest error."""
    shape = instr.ins[j].aval.shape
    if instr.op.is_elementwise:
        return tuple([0 if n == 1 else k for n, k in zip(shape, at[len(at) - len(shape) :], strict=True)])
    if only_moves(instr):
        marks = [
            np.arange(1.0, x.aval.size + 1).reshape(x.aval.shape) if n == j
            else np.zeros(x.aval.shape) if x.aval.dtype.kind == "f" else value_of(x, replay.values)
            for n, x in enumerate(instr.ins)
        ]  # fmt: skip
        number = int(np.asarray(instr.op.reference(*marks, **instr.params))[at])
        if number > 0:
            return tuple(map(int, np.unravel_index(number - 1, shape)))
    error = replay.errors(instr.ins[j])[0]
    return tuple(map(int, np.unravel_index(np.argmax(error), error.shape)))


def _overflow(a: Any, replay: _Replay) -> LostDigits | None:
    """The first step, of those that a result depends on, that makes no number of numbers."""
    for instr in wg.edit.ancestors(replay.tape, a):
        given = [np.asarray(value_of(x, replay.values)) for x in instr.ins]
        for v in instr.outs:
            y = np.asarray(replay.values[v])
            if y.dtype.kind == "f" and not np.isfinite(y).all() and all(np.isfinite(x).all() for x in given):
                at = tuple(map(int, np.unravel_index(np.argmin(np.isfinite(y)), y.shape)))
                return _lost(instr, v, at, 0.0, np.inf, replay)
    return None


def _lost(
    instr: wg.edit.Instr, v: Any, at: tuple[int, ...], before: float, after: float, replay: _Replay
) -> LostDigits:
    operands = []
    for x in instr.ins:
        value = np.asarray(value_of(x, replay.values))
        if value.dtype.kind == "f" and value.size:
            place = (
                _place(instr, instr.ins.index(x), at, replay)
                if instr.op.is_elementwise
                else np.unravel_index(np.argmax(np.abs(value)), value.shape)
            )
            operands.append(float(value[tuple(place)]))
    source = instr.source
    file, line, function, role = (
        (source.file, source.line, source.function, source.role) if source else ("?", 0, "?", "")
    )
    held = [float(np.clip(-math.log10(max(e, 1e-16)), 0, 16)) if np.isfinite(e) else 0.0 for e in (before, after)]
    result = float(np.asarray(replay.values[v])[at])
    instead = _instead(instr, replay)
    return LostDigits(instr.op.name, file, line, function, role, tuple(operands), result, held[0], held[1], instead)


# ----------------------------------------------------------------------------------------------- what to write instead


def _instead(instr: wg.edit.Instr, replay: _Replay) -> str:
    """The formula to write for a known cause."""
    made = [_made_by(a, replay) for a in instr.ins]
    for op, first, second, text in KNOWN:
        if instr.op.name == op and _fits(first, made[0]) and _fits(second, made[1] if len(made) > 1 else ""):
            return text
    return ""


def _made_by(a: Any, replay: _Replay) -> str:
    """The names of the ops that led to a value, the last one first, without steps that only move elements."""
    names = []
    while len(names) < 3:
        if a not in replay.maker:
            value = np.asarray(value_of(a, replay.values))
            names.append("1" if value.ndim == 0 and value == 1 and a not in replay.tape.inputs else "input")
            break
        instr = replay.maker[a][0]
        if not only_moves(instr) and instr.op.name not in ("convert", "divide"):
            names.append(instr.op.name)
        if instr.op.name in ("add", "subtract") and any(_made_by(x, replay) == "1" for x in instr.ins):
            names[-1] += " 1"
        if not instr.ins:
            break
        a = instr.ins[0]
    return "<".join(names)


def _fits(pattern: str, made: str) -> bool:
    return made == pattern or made.startswith(pattern + "<") or pattern in ("", "*") or (
        pattern.endswith("*") and made.startswith(pattern[:-1])
    )  # fmt: skip


KNOWN: list[tuple[str, str, str, str]] = [
    # the op, the ops that its operands come from, and what to write
    ("subtract", "1", "cos", "2 * np.sin(x / 2) ** 2"),
    ("subtract", "cos", "1", "-2 * np.sin(x / 2) ** 2"),
    ("subtract", "exp", "1", "np.expm1(x)"),
    ("subtract", "1", "exp", "-np.expm1(x)"),
    ("subtract", "cosh", "1", "2 * np.sinh(x / 2) ** 2"),
    ("subtract", "1", "tanh", "2 / (np.exp(2 * x) + 1)"),
    ("subtract", "1", "expit", "scipy.special.expit(-x)"),
    ("subtract", "1", "erf", "scipy.special.erfc(x)"),
    ("subtract", "sqrt", "sqrt", "(a - b) / (np.sqrt(a) + np.sqrt(b)), with a - b written out"),
    ("subtract", "sqrt", "1", "x / (np.sqrt(1 + x) + 1)"),
    ("subtract", "sqrt", "*", "(a - b**2) / (np.sqrt(a) + b), with a - b**2 written out"),
    ("subtract", "*", "sqrt", "(b**2 - a) / (b + np.sqrt(a)), with b**2 - a written out"),
    ("add", "negative*", "sqrt", "the root of the other sign, q = -(b + np.copysign(np.sqrt(d), b)) / 2, and c / q"),
    ("subtract", "sum<square", "square<sum", "np.var(x), or np.mean((x - np.mean(x)) ** 2): two passes"),
    ("subtract", "sum<multiply", "square<sum", "np.var(x), or np.mean((x - np.mean(x)) ** 2): two passes"),
    ("subtract", "sum<square", "multiply<sum", "np.var(x), or np.mean((x - np.mean(x)) ** 2): two passes"),
    ("subtract", "log", "log", "np.log(a / b), or np.log1p((a - b) / b) where they are near each other"),
    ("subtract", "square", "square", "(a - b) * (a + b)"),
    ("log", "add 1", "", "np.log1p(x)"),
    ("log", "subtract 1", "", "np.log1p(-x)"),
    ("log", "sum<exp", "", "scipy.special.logsumexp(x)"),
    ("log", "exp", "", "x itself; of a softmax, scipy.special.log_softmax(x)"),
    ("exp", "*", "", "np.exp(x - np.max(x)), as scipy.special.softmax and logsumexp do, or work with logarithms"),
    ("solve", "*", "*", "another basis or a scaled matrix: this one is nearly singular, and amplifies rounding"),
    ("inv", "*", "", "another basis or a scaled matrix: this one is nearly singular, and amplifies rounding"),
    ("sum", "*", "", "math.fsum, or terms that do not cancel: they are much larger than their sum"),
    ("contract", "*", "*", "terms that do not cancel: the products are much larger than their sum"),
    ("sin", "*", "", "an argument reduced before it is rounded: it is many turns"),
    ("cos", "*", "", "an argument reduced before it is rounded: it is many turns"),
    ("tan", "*", "", "an argument reduced before it is rounded: it is many turns"),
    ("subtract", "*", "*", "the difference written out: nearly equal numbers, of which the last digits are left"),
    ("add", "*", "*", "the sum written out: numbers of opposite sign, of which the last digits are left"),
]

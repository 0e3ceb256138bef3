"""``wg.smooth``: where a function switches from one smooth piece to another, and how far away that is.

An op says itself where it switches: its *margins* (``Op.switches``) are formulas that are zero there. The function is
recorded with its loops and branches as straight-line steps; the margins of the steps that depend on an argument, and
that a result or a decision depends on, are computed beside them. A margin m is reached, to first order, by a step of
length |m| / |∇m| of the arguments along ∇m. The function itself is then called on both sides of that point, which
tells a jump of the result from a jump of its derivative alone.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from wengert import Tape
from wengert.report.replaying import StraightCall, recorded, replayed, value_of, without_effects

ELEMENTS = 4
"""The number of elements of a margin that are looked at, the nearest ones: the result may not hang on the first."""

EXAMINED = 32
"""The number of elements, the nearest ones, at whose switch the function is called on both sides."""

MEASURED = 100
"""The number of elements whose margins are differentiated: those that are smallest beside their operands."""


class SwitchPoint(NamedTuple):
    """A step of the function that switches between smooth pieces, at its element that is nearest to the switch."""

    op: str
    file: str
    line: int
    function: str
    index: tuple[int, ...]
    """The element, of the step's margins."""
    operands: tuple[Any, ...]
    """The operands of that element."""
    distance: float
    """How far the operand is from the switch, in its own units."""
    step: float
    """The length of the step of the arguments that reaches the switch, along the gradient of the margin; to first order
    where the switch was not examined. Infinite if no small step changes the margin."""
    ties: int
    """The number of elements that are exactly at the switch."""
    jumps: str
    """ "value" if the result jumps at the switch, "derivative" if only its derivative does, "nothing" if neither was
    seen to, "undefined" if the result is NaN on one side; "" if it was not examined."""
    before: float | None
    """The derivative of the result along the step, just before the switch; where the result is an array, of its element
    that changes most."""
    after: float | None
    taken: float | None
    """The derivative that wengert takes, where the distance is 0: see docs/kinks.md."""

    def __str__(self) -> str:
        code = linecache.getline(self.file, self.line).strip()
        place = f"{self.file.rsplit('/', 1)[-1]}:{self.line}, in {self.function}"
        where = f" at [{', '.join(map(str, self.index))}]" if self.index else ""
        given = ", ".join(f"{x:.6g}" if isinstance(x, int | float) else str(x) for x in self.operands)
        lines = [
            f"{place}:   {code}" if code else place,
            f"  {self.op}{given and f' of {given}'}{where} switches {self._how_far()}",
        ]
        there = {
            "value": "there the result jumps",
            "derivative": f"there the derivative along that step jumps from {self.before:.6g} to {self.after:.6g}"
            if self.jumps == "derivative"
            else "",
            "nothing": "neither the result nor its derivative was seen to jump there",
            "undefined": "on one side of it the result is not defined",
            "": "",
        }[self.jumps]
        if there:
            lines.append(f"  {there}")
        if self.taken is not None and self.jumps == "derivative":
            lines.append(f"  wengert takes {self.taken:.6g}")
        return "\n".join(lines)

    def _how_far(self) -> str:
        if self.distance == 0:
            several = f", and so do {self.ties - 1} more elements" if self.ties > 1 else ""
            return f"here{several}"
        if not np.isfinite(self.step):
            return f"at a distance of {self.distance:.6g}, which no small step of the arguments changes"
        return f"at a distance of {self.distance:.6g}, a step of {self.step:.6g} of the arguments"


class Smoothness(NamedTuple):
    """The switches that the results of a function hang on, the nearest first."""

    name: str
    switches: tuple[SwitchPoint, ...]
    steps: int
    """The number of steps of this call."""

    def __str__(self) -> str:
        if not self.switches:
            return f"{self.name} is smooth here: none of its {self.steps} steps switches between smooth pieces"
        count = (
            f"{len(self.switches)} of its {self.steps} steps switch" if len(self.switches) > 1 else "one step switches"
        )
        return "\n".join([f"{self.name}: {count} between smooth pieces, the nearest first", *map(str, self.switches)])

    def __rich__(self) -> Any:
        """Return a table for a terminal, where rich prints it."""
        from rich.table import Table  # not needed by who does not print with it

        if not self.switches:
            return str(self)
        table = Table("line", "switches", "element", "distance", "step", "jumps", "before", "after", title=self.name)
        for s in self.switches:
            slopes = ["" if x is None else f"{x:.6g}" for x in (s.before, s.after)]
            where = ", ".join(map(str, s.index))
            place = f"{s.file.rsplit('/', 1)[-1]}:{s.line}"
            table.add_row(place, s.op, where, f"{s.distance:.6g}", f"{s.step:.6g}", s.jumps, *slopes)
        return table


def smooth(f: Callable[..., Any]) -> Callable[..., Smoothness]:
    """Return the function that reports where ``f`` switches between smooth pieces near its arguments.

    It reports each step of the call that the result hangs on and that is not smooth everywhere: branches of Python and
    of ``wg.cond`` and loops, ``abs``, ``maximum``, ``clip``, ``sign``, ``round``, comparisons that ``np.where`` reads,
    sorting, ``argmax``, look-ups in tables, roots at zero. For each it gives the line, the operands of the element that
    is nearest to the switch, the distance in their units, the length of the step of the arguments that reaches it, and
    whether the result jumps there, or its derivative alone, with the derivatives on both sides.

    Parameters
    ----------
    f : a function of pytrees of arrays and numbers. It is called some times more, on both sides of the nearest
        switches.

    Returns
    -------
    A function of the same arguments; it returns a record with the list ``switches``, which prints as text.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> (switch,) = wg.smooth(lambda x: np.sum(np.abs(x)))(np.array([3.0, -0.25, 1.0])).switches
    >>> switch.op, switch.index, switch.distance, switch.jumps, switch.before, switch.after
    ('absolute', (1,), 0.25, 'derivative', -1.0, 1.0)
    >>> print(wg.smooth(lambda x: np.sum(x * x))(np.ones(3)))
    <lambda> is smooth here: none of its 2 steps switches between smooth pieces
    """

    @wraps(f)
    def smoothness(*args: Any, **kwargs: Any) -> Smoothness:
        call = recorded(f, args, kwargs)
        with np.errstate(all="ignore"):
            switches = _merged(sorted(_switches(call), key=lambda s: (s.step, s.distance)))
            switches[:EXAMINED] = [_examined(call, s) for s in switches[:EXAMINED]]
        return Smoothness(call.name, tuple([s.record for s in _one_each(switches)]), len(call.tape))

    return smoothness


def _one_each(switches: list[_Found]) -> list[_Found]:
    """Keep one element of each step: the nearest one at whose switch something jumps, or else the nearest one."""
    chosen: dict[int, _Found] = {}
    for s in sorted(switches, key=lambda s: (s.step, s.distance)):
        known = chosen.setdefault(id(s.instr), s)
        if known.record.jumps == "nothing" and s.record.jumps not in ("", "nothing"):
            chosen[id(s.instr)] = s
    return sorted(chosen.values(), key=lambda s: (s.step, s.distance))


class _Found(NamedTuple):
    """A switch with what is needed to walk to it."""

    instr: wg.edit.Instr
    record: SwitchPoint
    path: Tape
    """The steps of which the margin, its only output, is computed; without guards."""
    index: tuple[int, ...]
    margin: float
    direction: tuple[Any, ...] | None
    """The direction of unit length along which the margin grows fastest, for each input; None if there is none."""

    @property
    def step(self) -> float:
        return self.record.step

    @property
    def distance(self) -> float:
        return self.record.distance


def _switches(call: StraightCall) -> list[_Found]:
    """The steps with margins on which the results hang, with gradients of the margins."""
    tape = call.tape
    moving = [v for v in tape.inputs if v.aval.is_inexact]
    decided = [a for i in tape.instrs if i.op.effects for a in i.ins]
    needed = {i.outs for i in wg.edit.ancestors(tape, [*tape.outputs, *decided])}  # type: ignore[arg-type]  # literals among them do no harm
    active = [i for i in wg.edit.descendants(tape, moving) if i.outs in needed]
    longer, margins = wg.edit.margins(tape, active)
    values = wg.edit.play(longer, *call.inputs)
    # what follows from a step that is constant on each piece, as `floor` is, moves with nothing but a switch of that
    sloped = longer.replace(instrs=tuple([i for i in longer.instrs if i.op.switches is None or not _is_flat(i)]))
    moved = {*moving, *[v for i in wg.edit.descendants(sloped, moving) for v in i.outs]}
    nearest = []
    for instr, margin in margins:
        m = np.asarray(values[margin])
        if margin not in moved:
            continue
        size = np.where(np.isnan(m), np.inf, np.abs(m)).ravel()
        count = min(ELEMENTS, size.size)
        for k in np.argpartition(size, count - 1)[:count] if count else ():
            if not np.isfinite(size[k]):
                continue
            index = tuple(map(int, np.unravel_index(k, m.shape)))
            operands = [value_of(a, values) for a in instr.ins]
            shown = tuple([_at(x, index) for x in operands if instr.op.is_elementwise or np.shape(x) == m.shape])
            scale = max([abs(x) for x in shown], default=0.0) or 1.0
            nearest.append((float(size[k]) / scale, instr, margin, index, float(m[index]), shown, int(np.sum(m == 0))))
    nearest = sorted(nearest, key=lambda row: row[0])[:MEASURED]
    if not nearest:
        return []
    quiet = without_effects(longer)
    wanted = quiet.replace(outputs=tuple([row[2] for row in nearest]))
    gradients = _gradients(wanted, [row[3] for row in nearest], call.inputs)
    found = []
    for (_, instr, margin, index, m, shown, ties), gradient in zip(nearest, gradients, strict=True):
        size = float(np.sqrt(sum(float(np.sum(np.abs(g) ** 2)) for g in gradient)))
        is_known = np.isfinite(size) and size > 0
        step = abs(m) / size if is_known else 0.0 if m == 0 else np.inf
        source = instr.source
        place = (source.file, source.line, source.function) if source else ("?", 0, "?")
        record = SwitchPoint(instr.op.name, *place, index, shown, abs(m), float(step), ties, "", None, None, None)
        path = quiet.replace(instrs=tuple(wg.edit.ancestors(quiet, margin)), outputs=(margin,))
        direction = tuple([np.conj(g) / size for g in gradient]) if is_known else None
        found.append(_Found(instr, record, path, index, m, direction))
    return found


def _is_flat(instr: wg.edit.Instr) -> bool:
    return instr.op.is_flat or not any(v.aval.is_inexact for v in instr.outs)


def _at(x: Any, index: tuple[int, ...]) -> Any:
    """The element of an operand that an element of the margin is computed of, by broadcasting."""
    x = np.asarray(x)
    at = index[len(index) - x.ndim :]
    return x[tuple([0 if n == 1 else k for n, k in zip(x.shape, at, strict=True)])].item()


def _gradients(tape: Tape, indices: Sequence[tuple[int, ...]], inputs: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The gradient of one element of each output in every input; 0 in those that have none."""
    moving = [k for k, v in enumerate(tape.inputs) if v.aval.is_inexact]

    def elements(*xs: Any) -> Any:
        every = list(inputs)
        for k, x in zip(moving, xs, strict=True):
            every[k] = x
        return tuple([y[at] if at else y for y, at in zip(replayed(tape, *every), indices, strict=True)])

    ys, pullback = wg.vjp(elements, *[inputs[k] for k in moving])
    gradients = []
    for j in range(len(ys)):
        cts = pullback(tuple([np.ones_like(y) if k == j else np.zeros_like(y) for k, y in enumerate(ys)]))
        given = dict(zip(moving, cts, strict=True))
        gradients.append(tuple([given.get(k, 0.0) for k in range(len(inputs))]))
    return gradients


def _merged(switches: list[_Found]) -> list[_Found]:
    """Make one of switches of one line at the same place: ``x == 0`` and the root of what is then selected, or the
    conditions of a loop, which the derivative of a loop evaluates again."""
    kept: list[_Found] = []
    for s in switches:
        twin = next((j for j, k in enumerate(kept) if _is_same_place(k, s)), None)
        if twin is None:
            kept.append(s)
        elif s.record.op not in kept[twin].record.op.split(", "):
            first = kept[twin].record
            kept[twin] = kept[twin]._replace(record=first._replace(op=f"{first.op}, {s.record.op}"))
    return kept


def _is_same_place(a: _Found, b: _Found) -> bool:
    is_same_line = (a.record.file, a.record.line) == (b.record.file, b.record.line)
    is_as_far = a.step == b.step or abs(a.step - b.step) <= 1e-9 * b.step
    return is_same_line and is_as_far and _is_parallel(a.direction, b.direction)


def _is_parallel(a: tuple[Any, ...] | None, b: tuple[Any, ...] | None) -> bool:
    if a is None or b is None:
        return a is b
    return abs(sum(float(np.real(np.vdot(x, y))) for x, y in zip(a, b, strict=True))) > 1 - 1e-9


# ------------------------------------------------------------------------------------------ on both sides of a switch


def _examined(call: StraightCall, s: _Found) -> _Found:
    """Call the function on both sides of the switch, twice on each, and say what jumps.

    A difference between both sides that is as large thirty times nearer to the switch is a jump."""
    direction = s.direction
    if direction is None:
        if s.margin != 0:
            return s
        rng = np.random.default_rng(0)  # no direction is better than another one: any will do
        draws = [rng.standard_normal(np.shape(x)) if _moves(x) else 0.0 for x in call.inputs]
        size = np.sqrt(sum(float(np.sum(d * d)) for d in draws))
        direction = tuple([d / size for d in draws])
    t = _root(s, call.inputs, direction)
    if t is None:
        return s
    moving = [x for x in call.inputs if _moves(x)]
    precision = max(float(np.finfo(np.asarray(x).dtype).eps) for x in moving)
    scale = max(1.0, abs(t), *[float(np.max(np.abs(x), initial=0.0)) for x in moving])
    width = 10 * scale * float(np.sqrt(precision))
    # along the step that reaches the switch, or along the gradient where it is reached already
    sign = -1.0 if s.margin > 0 else 1.0
    sides = []
    for h in (width, width / 30):
        (y0, d0), (y1, d1) = [_value_and_slope(call, direction, t + sign * side * h, sign) for side in (-1, 1)]
        sides.append((y0, d0, y1, d1))
    (y0, d0, y1, d1), (z0, e0, z1, e1) = sides
    if y0.shape != y1.shape or z0.shape != z1.shape or y0.shape != z0.shape:
        return s._replace(record=s.record._replace(jumps="value"))  # results of other shapes
    if any(np.isnan(side).any() for side in (z0, z1, e0, e1)):
        return s._replace(record=s.record._replace(jumps="undefined"))
    jump = _jump(y1 - y0, z1 - z0, np.maximum(np.abs(z0), np.abs(z1)))
    bend = _jump(d1 - d0, e1 - e0, np.maximum(np.abs(e0), np.abs(e1)))
    what = "value" if jump is not None else "derivative" if bend is not None else "nothing"
    at = jump if jump is not None else bend
    before = after = taken = None
    if at is not None:
        before, after = float(e0[at]), float(e1[at])
        if s.margin == 0:
            taken = float(_value_and_slope(call, direction, 0.0, sign)[1][at])
    record = s.record._replace(step=abs(t), jumps=what, before=before, after=after, taken=taken)
    return s._replace(record=record)


def _moves(x: Any) -> bool:
    return (x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype).kind in "fc"


def _root(s: _Found, inputs: Sequence[Any], direction: Sequence[Any]) -> float | None:
    """The t nearest to 0, as it seems, at which the margin is zero at ``inputs + t * direction``; by secants."""
    if s.margin == 0:
        return 0.0

    def margin(t: float) -> float:
        moved = [x + t * d if _moves(x) else x for x, d in zip(inputs, direction, strict=True)]
        return float(np.asarray(wg.edit.play(s.path, *moved)[s.path.outputs[0]])[s.index])

    t0, m0 = 0.0, s.margin
    t1 = -s.margin / (s.distance / s.step) if s.step > 0 else 0.0
    for _ in range(100):  # at a double root, as of a sum of squares, each takes off a third
        m1 = margin(t1)
        if not np.isfinite(m1):
            return None
        if m1 == 0 or m1 == m0 or abs(t1 - t0) <= 1e-15 * abs(t1):
            break
        t0, m0, t1 = t1, m1, t1 - m1 * (t1 - t0) / (m1 - m0)
    return t1 if abs(m1) <= 1e-6 * s.distance else None


def _value_and_slope(call: StraightCall, direction: Sequence[Any], t: float, sign: float) -> tuple[Any, Any]:
    """The results at a point of the line, and their derivatives along it, as two vectors of real numbers."""
    moving = [k for k, x in enumerate(call.inputs) if _moves(x)]

    def along(*xs: Any) -> Any:
        every = list(call.inputs)
        for k, x in zip(moving, xs, strict=True):
            every[k] = x
        results = wg.tree.flatten(call.call(*every))[0]
        return tuple([y for y in results if _moves(y)])

    dtypes = [np.asarray(call.inputs[k]).dtype for k in moving]
    point = [np.asarray(call.inputs[k] + t * direction[k], d)[()] for k, d in zip(moving, dtypes, strict=True)]
    way = [np.asarray(sign * np.asarray(direction[k]), d)[()] for k, d in zip(moving, dtypes, strict=True)]
    ys, dys = wg.jvp(along, tuple(point), tuple(way))
    return _vector(ys), _vector(dys)


def _vector(ys: Sequence[Any]) -> Any:
    parts = [part for y in ys for part in ((np.real(y), np.imag(y)) if np.iscomplexobj(y) else (y,))]
    return np.concatenate([np.ravel(p).astype(np.float64) for p in parts]) if parts else np.zeros(0)


def _jump(far: Any, near: Any, scale: Any) -> int | None:
    """The element whose difference stays as large when both sides come nearer, and is no rounding error."""
    if near.size == 0:
        return None
    stays = (np.abs(near) > 0.5 * np.abs(far)) & (np.abs(near) > 1e-6 * np.maximum(scale, 1e-6 * np.max(scale)))
    stays |= np.isinf(near)
    return int(np.argmax(np.where(stays, np.abs(near), -1.0))) if stays.any() else None

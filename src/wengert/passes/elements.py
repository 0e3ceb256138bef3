"""Elements: what one element of a result is made of, through views and through writes of regions.

The index of a value that is read is an affine function of the index of the result (:class:`AffineIndex`). The part of
the result whose elements are made in one way is a *box*: a range of indices for each of its axes. So a stencil, and
the transpose of one, is an expression at each point of one space, in which some operands count in a box only:

    zeros with v in a region      v within the box, 0 elsewhere
    v written over a region of x  v within the box, x elsewhere
    parts side by side            one part in each box

:func:`value_of` walks over such an expression and says to a :class:`Sink` what is read and computed. The sinks are the
pass that decides which expressions become one kernel, and the builder of that kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from wengert.ops.kernels import Region
from wengert.tape import Atom, Instr, Lit, Tape, Var

Box = tuple[tuple[int, int], ...]
"""The indices from the first number to before the second one, for each axis of the result."""

_APART = 1 << 64
"""The factor between the strides of neighbouring axes, so that a sum of multiples of strides says which there are."""


class NotAffineError(Exception):
    """An element is not read at an affine index, or not in a box."""


class AffineIndex(NamedTuple):
    """The index on each axis of a value, as a function of the index i of the result: offset + Σ factor · i."""

    offsets: tuple[int, ...]
    factors: tuple[tuple[int, ...], ...]
    """One row for each axis, with one number for each axis of the result."""
    ndim: int
    """The number of axes of the result."""

    def broadcast(self, shape: Sequence[int], to: Sequence[int]) -> AffineIndex:
        """The places in an operand of this ``shape`` that was broadcast ``to`` the shape of the value."""
        if tuple(shape) == tuple(to):
            return self
        lead = len(to) - len(shape)
        return AffineIndex(
            tuple([0 if n == 1 else self.offsets[k + lead] for k, n in enumerate(shape)]),
            tuple([(0,) * self.ndim if n == 1 else self.factors[k + lead] for k, n in enumerate(shape)]),
            self.ndim,
        )

    def axis_of(self, k: int) -> int | None:
        """The only axis of the result on which the index on axis ``k`` depends; None if there is none."""
        found = [d for d, f in enumerate(self.factors[k]) if f]
        if len(found) > 1:
            raise NotAffineError
        return found[0] if found else None


def everywhere(shape: Sequence[int]) -> AffineIndex:
    """The places of the result itself."""
    n = len(shape)
    return AffineIndex((0,) * n, tuple([tuple([int(j == k) for j in range(n)]) for k in range(n)]), n)


def whole(shape: Sequence[int]) -> Box:
    return tuple([(0, n) for n in shape])


def is_part(box: Box, of: Box) -> bool:
    return all(first <= a and b <= last for (a, b), (first, last) in zip(box, of, strict=True))


def meet(a: Box, b: Box) -> Box | None:
    """The box in which both are; None if it is empty."""
    box = tuple([(max(i, j), min(m, n)) for (i, m), (j, n) in zip(a, b, strict=True)])
    return box if all(first < last for first, last in box) else None


def _region(kernel: Any, shape: tuple[int, ...], params: Any) -> tuple[list[int], Region, list[list[int]]]:
    """The first index of a region of an array of that shape, the region, and the steps of each of its axes."""
    return _region_of(kernel, shape, tuple(params.items()))


@lru_cache(maxsize=4096)  # the same few views and writes occur in each iteration of a loop
def _region_of(
    kernel: Any, shape: tuple[int, ...], params: tuple[tuple[str, Any], ...]
) -> tuple[list[int], Region, list[list[int]]]:
    ndim = len(shape)
    region = kernel.layout(shape, tuple([_APART ** (ndim - k) for k in range(ndim)]), **dict(params))
    if region is None:
        raise NotAffineError
    return _digits(region.offset, ndim), region, [_digits(s, ndim) for s in region.strides]


def _digits(number: int, ndim: int) -> list[int]:
    """The multiples of the strides whose sum ``number`` is."""
    digits = list[int]()
    number //= _APART
    for _ in range(ndim):
        digit = (number + _APART // 2) % _APART - _APART // 2
        digits.append(digit)
        number = (number - digit) // _APART
    return digits[::-1]


def through_view(instr: Instr, at: AffineIndex) -> AffineIndex:
    """The places in the operand of a view, for places in its result."""
    shape = instr.ins[0].aval.shape
    first, region, steps = _region(instr.op.kernel, shape, instr.params)
    if region.shape != instr.outs[0].aval.shape:
        raise NotAffineError
    offsets, factors = list[int](), list[tuple[int, ...]]()
    for k in range(len(shape)):
        offsets.append(first[k] + sum([step[k] * o for step, o in zip(steps, at.offsets, strict=True)]))
        rows = [(step[k], row) for step, row in zip(steps, at.factors, strict=True) if step[k]]
        factors.append(tuple([sum([s * row[d] for s, row in rows]) for d in range(at.ndim)]))
    return AffineIndex(tuple(offsets), tuple(factors), at.ndim)


class RegionPart(NamedTuple):
    """The box of the result that lies in a region of a value, and the places in the region."""

    box: Box | None
    """None if it is empty."""
    at: AffineIndex
    shape: tuple[int, ...]
    """The region's."""


def into_region(instr: Instr, at: AffineIndex, box: Box) -> RegionPart:
    """The part of ``box`` that a write or an embedding writes, for places ``at`` in its result."""
    first, region, steps = _region(instr.op.kernel, instr.outs[0].aval.shape, instr.params)
    axes = dict[int, int]()  # the axis of the region on each axis of the result
    for r, step in enumerate(steps):
        along = [k for k, s in enumerate(step) if s]
        if len(along) != 1 or along[0] in axes:
            raise NotAffineError
        axes[along[0]] = r
    n = len(region.shape)
    offsets, factors = [0] * n, [(0,) * len(box)] * n
    found: Box | None = box
    for k in range(len(first)):
        r = axes.get(k)
        length, step = (region.shape[r], steps[r][k]) if r is not None else (1, 1)
        one = _along(at, k, first[k], length, step, found) if found is not None else None
        if one is None:
            found = None
            break
        found, offset, row = one
        if r is not None:
            offsets[r], factors[r] = offset, row
    return RegionPart(found, AffineIndex(tuple(offsets), tuple(factors), at.ndim), region.shape)


def _along(
    at: AffineIndex, k: int, first: int, length: int, step: int, box: Box
) -> tuple[Box, int, tuple[int, ...]] | None:
    """The part of ``box`` where the index on axis ``k`` is one of ``first + step · m``, and m there: an offset and
    factors; None if it is nowhere."""
    offset, d = at.offsets[k] - first, at.axis_of(k)
    if d is None:
        if offset % step or not 0 <= offset // step < length:
            return None
        return box, offset // step, at.factors[k]
    factor = at.factors[k][d]
    if offset % step or factor % step:
        raise NotAffineError  # only some elements between the first and the last are in the region
    offset, factor = offset // step, factor // step
    inside = meet(box, _within(box, d, offset, factor, length))
    if inside is None:
        return None
    return inside, offset, tuple([f // step for f in at.factors[k]])


def _within(box: Box, d: int, offset: int, factor: int, length: int) -> Box:
    """``box``, but on axis ``d`` all indices i for which 0 <= offset + factor · i < length."""
    low, high = -offset, length - 1 - offset
    if factor < 0:
        low, high, factor = -high, -low, -factor
    return (*box[:d], (-(-low // factor), high // factor + 1), *box[d + 1 :])


class Sink(Protocol):
    """Something that is told of the elements. The values that it gives back are its own."""

    def load(self, a: Atom, at: AffineIndex, box: Box) -> Any:
        """An element of an operand, read in ``box`` only; elsewhere it is zero."""

    def step(self, instr: Instr, operands: Sequence[Any]) -> Any:
        """An elementwise step."""

    def choose(self, box: Box, within: Any, elsewhere: Any, like: Var) -> Any:
        """One value within the box, another elsewhere; they are elements of ``like``."""

    def added(self, x: Any, v: Any, like: Var) -> Any:
        """The sum of two elements of ``like``."""

    def zero(self, like: Var) -> Any:
        """A zero of that dtype."""


def value_of(body: Tape, sink: Sink) -> Any:
    """Tell ``sink`` what an element of the result of ``body`` is made of, and return its value of it."""
    (result,) = body.outputs
    shape = result.aval.shape
    return _Expression(body, sink, whole(shape)).value(result, everywhere(shape), whole(shape))


class _Expression:
    def __init__(self, body: Tape, sink: Sink, space: Box) -> None:
        self.made: dict[Any, Instr] = {v: i for i in body.instrs for v in i.outs}
        self.sink, self.space = sink, space
        self.known: dict[Any, Any] = {}
        self.exact: dict[Any, Box] = {}
        """The box outside of which a value is zero, for those that are elements of operands."""

    def value(self, a: Atom, at: AffineIndex, box: Box) -> Any:
        """The element of ``a`` at these places; it matters within ``box`` only."""
        key = (a.key if type(a) is Lit else a, at, box)
        if key not in self.known:
            instr = self.made.get(a)
            self.known[key] = self._load(key, a, at) if instr is None else self._step(key, instr, at, box)
        return self.known[key]

    def _load(self, key: Any, a: Atom, at: AffineIndex) -> Any:
        box = self.space  # all of it that is in the operand, so that equal reads are one
        for k, n in enumerate(a.aval.shape):
            low = high = at.offsets[k]
            for f, (first, last) in zip(at.factors[k], box, strict=True):
                low, high = low + min(f * first, f * (last - 1)), high + max(f * first, f * (last - 1))
            if low < 0 or high >= n:
                d = at.axis_of(k)
                within = None if d is None else meet(box, _within(box, d, at.offsets[k], at.factors[k][d], n))
                if within is None:
                    raise NotAffineError
                box = within
        self.exact[key] = box
        return self.sink.load(a, at, box)

    def _step(self, key: Any, instr: Instr, at: AffineIndex, box: Box) -> Any:
        kernel: Any = instr.op.kernel
        (out,) = instr.outs
        if kernel.is_pointwise:
            places = [at.broadcast(a.aval.shape, out.aval.shape) for a in instr.ins]
            return self.sink.step(instr, [self.value(a, p, box) for a, p in zip(instr.ins, places, strict=True)])
        if kernel.is_view:
            below = through_view(instr, at)
            value = self.value(instr.ins[0], below, box)
            inner = (instr.ins[0], below, box)
            if inner in self.exact:
                self.exact[key] = self.exact[inner]
            return value
        if kernel.placing == "joined":
            return self._joined(instr, at, box)
        part = into_region(instr, at, box)
        if kernel.placing == "zeros":
            return self._embedded(instr, part, box)
        x, v = instr.ins
        if part.box is None:
            return self.value(x, at, box)
        below = part.at.broadcast(v.aval.shape, part.shape)
        if kernel.placing == "set":
            if part.box == box:
                return self.value(v, below, box)
            written = self.value(v, below, part.box)
            return self.sink.choose(self._bounds(part.box, box), written, self.value(x, at, box), out)
        before = self.value(x, at, box)
        total = self.sink.added(before, self.value(v, below, part.box), out)
        return total if part.box == box else self.sink.choose(self._bounds(part.box, box), total, before, out)

    def _embedded(self, instr: Instr, part: RegionPart, box: Box) -> Any:
        (v,), (out,) = instr.ins, instr.outs
        if part.box is None:
            return self.sink.zero(out)
        below = part.at.broadcast(v.aval.shape, part.shape)
        value = self.value(v, below, part.box)
        own = self.exact.get((v, below, part.box)) if type(v) is Var else None
        if part.box == box or (own is not None and meet(own, box) == part.box):
            return value
        return self.sink.choose(self._bounds(part.box, box), value, self.sink.zero(out), out)

    def _joined(self, instr: Instr, at: AffineIndex, box: Box) -> Any:
        axis, start = instr.params["axis"], 0
        parts = list[tuple[Box, Any]]()
        for a in instr.ins:
            length = a.aval.shape[axis]
            one = _along(at, axis, start, length, 1, box) if length else None
            if one is not None:
                inside, offset, _ = one
                own = AffineIndex((*at.offsets[:axis], offset, *at.offsets[axis + 1 :]), at.factors, at.ndim)
                parts.append((inside, self.value(a, own, inside)))
            start += length
        _, result = parts[-1]
        for inside, value in reversed(parts[:-1]):
            result = self.sink.choose(self._bounds(inside, box), value, result, instr.outs[0])
        return result

    def _bounds(self, inside: Box, box: Box) -> Box:
        """``inside``, without bounds where ``box`` has them already: beyond these the value does not matter."""
        ranges = zip(inside, box, self.space, strict=True)
        return tuple([all_of_it if own == known else own for own, known, all_of_it in ranges])


def core_of(shape: Sequence[int], boxes: Iterable[Box]) -> Box:
    """The box in which the most elements are made in one way: every one of ``boxes`` holds all of it or nothing."""
    cuts = [{0, n} for n in shape]
    for box in boxes:
        for own, (first, last) in zip(cuts, box, strict=True):
            own |= {first, last}
    core = list[tuple[int, int]]()
    for own in cuts:
        ends = sorted(own)
        core.append(max(zip(ends, ends[1:], strict=False), key=lambda r: r[1] - r[0], default=(0, ends[0])))
    return tuple(core)

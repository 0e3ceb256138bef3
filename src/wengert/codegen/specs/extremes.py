"""The first index of the largest or the smallest element along an axis, a NaN before all others."""

from __future__ import annotations

from wengert.codegen.calls import short
from wengert.codegen.ir import Cell, Value, select
from wengert.codegen.memory import size_of
from wengert.codegen.specs.spec import Rows, Sized, Spec, SpecWriter, Vectors
from wengert.codegen.strides import Strides, bring_lanes_last, elements, given, shared, without
from wengert.passes.plan.places import Place


class Extreme(Spec):
    """The kernel of ``argmax`` and ``argmin``. Its operands are the elements, and the indices that are written.

    The dimensions that stay come first, then the one that is searched.
    """

    compare: str
    """ "maximum" or "minimum"."""
    dtype: str
    source: Strides
    result: Strides
    lanes: str
    """The dimension that fills vectors: the "axis" that is searched, the last one that is "kept", or "" for none."""

    def write(self, code: SpecWriter) -> None:
        item = size_of(self.dtype)
        pointers = [code.pointer(), code.pointer()]
        extents = [code.size() for _ in self.source]
        source, result = code.strides(self.source, item), code.strides(self.result, 8)
        if self.lanes == "axis":

            def search(rows: Rows) -> None:
                (((x, out), _),) = rows
                code.store(out, self._along(code, x, extents[-1]))

            code.kept(pointers, [source, result], extents[:-1], 1, 1, search)
            return
        width = code.width(8) if self.lanes == "kept" else 1

        at_first = code.f.constant(0, "i8", width)

        def body(rows: Rows) -> None:
            values = [code.load(x, self.dtype, width, mask) for (x, _), mask in rows]
            cells = [(code.f.cell(x), code.f.cell(at_first)) for x in values]

            def step(i: Value) -> None:
                for ((x, _), mask), found in zip(rows, cells, strict=True):
                    value = code.load(code.moved(x, (i, source[-1])), self.dtype, width, mask)
                    self._look(code, found, value, i.splat(width))

            code.loop(code.number(1), extents[-1], 1, step)
            for ((_, out), mask), (_, place) in zip(rows, cells, strict=True):
                code.store(out, code.f.read(place), mask)

        code.kept(pointers, [source, result], extents[:-1], width, 4, body)

    def _is_better(self, x: Value, best: Value) -> Value:
        """Whether ``x`` takes the place of ``best``, which comes before it."""
        if not x.is_float:
            return x > best if self.compare == "maximum" else x < best
        is_not_worse = ~(x <= best) if self.compare == "maximum" else ~(x >= best)  # true also if either is NaN
        return is_not_worse & best.eq(best)

    def _look(
        self, code: SpecWriter, found: tuple[Cell, Cell], value: Value, here: Value, mask: Value | None = None
    ) -> None:
        """Write ``value`` and its place to the cells ``found`` where it is better than what they hold."""
        best, place = found
        before = code.f.read(best)
        takes = self._is_better(value, before)
        takes = takes if mask is None else takes & mask
        code.f.write(best, select(takes, value, before))
        code.f.write(place, select(takes, here, code.f.read(place)))

    def _along(self, code: SpecWriter, x: str, length: Value) -> Value:
        """The index of the extreme of contiguous elements, which several vectors search side by side.

        Every lane begins with element 0, and takes a later one only if that is better; so in the end the best lane, or
        of equal ones the one with the lowest index, has it.
        """
        width, many, item = code.width(8), 4, size_of(self.dtype)
        first = code.load(x, self.dtype).splat(width)
        at = code.f.constant(0, "i8", width)
        cells = [(code.f.cell(first), code.f.cell(at)) for _ in range(many)]

        def body(vectors: Vectors) -> None:
            for (i, mask), found in zip(vectors, cells, strict=False):
                value = code.load(code.moved(x, (i, code.number(item))), self.dtype, width, mask)
                self._look(code, found, value, i.splat(width) + code.lane_numbers(width), mask)

        code.across(code.number(0), length, width, many, body)
        found = [(code.f.read(best), code.f.read(place)) for best, place in cells]
        while len(found) > 1:
            found = [self._better(*pair) for pair in zip(found[::2], found[1::2], strict=True)]
        best, place = found[0]
        lanes = width
        while lanes > 2:
            lanes //= 2
            low, high = list(range(lanes)), list(range(lanes, 2 * lanes))
            best, place = self._better(
                (best.shuffle(low), place.shuffle(low)), (best.shuffle(high), place.shuffle(high))
            )
        if lanes == 2:
            best, place = self._better((best.lane(0), place.lane(0)), (best.lane(1), place.lane(1)))
        return place

    def _better(self, a: tuple[Value, Value], b: tuple[Value, Value]) -> tuple[Value, Value]:
        """The more extreme of two pairs (element, index); the one with the lower index if elements are equal."""
        (x, i), (y, j) = a, b
        is_same = x.eq(y)
        if x.is_float:
            is_same = is_same | (x.compare("un", x) & y.compare("un", y))
        takes = self._is_better(y, x) | (is_same & (j < i))
        return select(takes, y, x), select(takes, j, i)


def extreme(compare: str, x: Place, out: Place, axis: int) -> Sized | None:
    """The first index of the extreme of ``x`` along ``axis``; None where there is no element."""
    shape = x.aval.shape
    if not x.aval.size or short(out.aval.dtype) != "i8":
        return None
    source, result = elements(x), elements(out)
    extents, rows = without(axis, shape, [source, [*result[:axis], 0, *result[axis:]]])
    dtype = short(x.aval.dtype)
    lanes = ""
    if source[axis] == 1 and shape[axis] >= 16:
        lanes = "axis"
    elif bring_lanes_last(extents, rows):
        lanes = "kept"
    sizes = [*extents, shape[axis]]
    spec = Extreme(
        compare,
        "u1" if dtype == "b1" else dtype,
        given([*rows[0], source[axis]], sizes),
        given(rows[1], sizes),
        lanes,
    )
    return Sized(spec, tuple(sizes), *shared(extents, x.aval.size))

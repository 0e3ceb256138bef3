"""The place of each value in a sorted table, by bisection, several values side by side."""

from __future__ import annotations

from wengert.codegen.calls import short
from wengert.codegen.ir import Value, select
from wengert.codegen.memory import size_of
from wengert.codegen.specs.spec import Rows, Sized, Spec, SpecWriter
from wengert.codegen.strides import Strides, bring_lanes_last, elements, given, merged, shared
from wengert.passes.plan.places import Place


class SearchSpec(Spec):
    """Operands: a sorted table, values, and for each the number of elements before it.

    Among the sizes are the length of the table, the number of rounds that halve it to one, and its stride.
    """

    side: str
    dtype: str
    values: Strides
    result: Strides
    is_vector: bool

    def write(self, code: SpecWriter) -> None:
        item = size_of(self.dtype)
        table = code.pointer()
        pointers = [code.pointer(), code.pointer()]
        extents = [code.size() for _ in self.values]
        length, rounds, step = code.size(), code.size(), code.size() * item
        strides = [code.strides(self.values, item), code.strides(self.result, 8)]
        width = code.width(8) if self.is_vector else 1
        first = code.f.constant(0, "i8", width)

        def is_before(at: Value, value: Value, mask: Value | None) -> Value:
            """Whether the element of the table there goes before the value."""
            if width == 1:
                return self._is_before(code.load(code.moved(table, (at, step)), self.dtype), value)
            mask = mask or code.f.constant(1, "b1", width)
            return self._is_before(code.gathered(table, at * step.splat(width), self.dtype, mask), value)

        def body(rows: Rows) -> None:
            values = [code.load(v, self.dtype, width, mask) for (v, _), mask in rows]
            cells = [code.f.cell(first) for _ in rows]
            left = code.f.cell(length)

            def halve(_round: Value) -> None:
                """The answer is among the ``left`` + 1 places from ``at`` on."""
                many = code.f.read(left)
                half = many >> 1
                code.f.write(left, many - half)
                for cell, value, (_, mask) in zip(cells, values, rows, strict=True):
                    at = code.f.read(cell)
                    beyond = at + half.splat(width)
                    code.f.write(cell, select(is_before(beyond - 1, value, mask), beyond, at))

            code.loop(code.number(0), rounds, 1, halve)
            for cell, value, ((_, out), mask) in zip(cells, values, rows, strict=True):
                at = code.f.read(cell)
                code.store(out, select(is_before(at, value, mask), at + 1, at), mask)

        code.kept(pointers, strides, extents, width, 4, body)

    def _is_before(self, element: Value, value: Value) -> Value:
        """Whether ``element`` goes before ``value``, in the order in which NaN is the largest."""
        if self.side == "left":
            return self._is_less(element, value)
        return ~self._is_less(value, element)

    def _is_less(self, x: Value, y: Value) -> Value:
        return (x < y) | (y.compare("un", y) & x.eq(x)) if x.is_float else x < y


def search(side: str, table: Place, values: Place, out: Place) -> Sized | None:
    """The places of values in a sorted table; None if the dtypes differ, or the table is empty."""
    dtype = short(table.aval.dtype)
    length = table.aval.size
    if values.aval.dtype != table.aval.dtype or not length:
        return None
    extents, rows = merged(values.aval.shape, [elements(values), elements(out)])
    is_vector = bring_lanes_last(extents, rows) and table.aval.dtype.itemsize >= 4
    rounds = (length - 1).bit_length()
    sizes = [*extents, length, rounds, elements(table)[0]]
    spec = SearchSpec(side, dtype, given(rows[0], sizes), given(rows[1], sizes), is_vector)
    return Sized(spec, tuple(sizes), *shared(extents, values.aval.size * (rounds + 1)))

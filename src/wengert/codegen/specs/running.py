"""Running reductions: every prefix of a reduction along one axis, one element after the other as in NumPy.

Hence they are bit for bit NumPy's. What runs side by side are vectors along another axis, or several rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.codegen import vecmath
from wengert.codegen.calls import short
from wengert.codegen.ir import Value
from wengert.codegen.memory import size_of
from wengert.codegen.specs.spec import Rows, Sized, Spec, SpecWriter
from wengert.codegen.strides import Strides, bring_lanes_last, elements, given, shared, without
from wengert.passes.plan.places import Place


class Running(Spec):
    """The kernel of a running reduction. Its operands are the elements (for "multiply_add" the factors, then the
    terms), and the result.

    The dimensions that stay come first, the lanes last among them, then the one that is run along.
    """

    combine: str
    dtype: str
    inputs: tuple[Strides, ...]
    output: Strides
    is_vector: bool
    """Whether the lanes are neighbours in memory, for all operands."""

    def write(self, code: SpecWriter) -> None:
        item = size_of(self.dtype)
        pointers = [code.pointer() for _ in range(len(self.inputs) + 1)]
        extents = [code.size() for _ in self.output]
        strides = [code.strides(row, item) for row in (*self.inputs, self.output)]
        width = code.width(item) if self.is_vector else 1

        def body(rows: Rows) -> None:
            cells = []
            for at, mask in rows:
                first = code.load(at[-2], self.dtype, width, mask)  # the first factor of "multiply_add" is not read
                code.store(at[-1], first, mask)
                cells.append(code.f.cell(first))

            def step(i: Value) -> None:
                for (at, mask), cell in zip(rows, cells, strict=True):
                    here = [code.moved(p, (i, row[-1])) for p, row in zip(at, strides, strict=True)]
                    xs = [code.load(p, self.dtype, width, mask) for p in here[:-1]]
                    total = self._combined(code.f.read(cell), xs)
                    code.f.write(cell, total)
                    code.store(here[-1], total, mask)

            code.loop(code.number(1), extents[-1], 1, step)

        code.kept(pointers, strides, extents[:-1], width, 4, body)

    def _combined(self, before: Value, xs: list[Value]) -> Value:
        if self.combine == "multiply_add":  # two roundings, as the reference has them
            product = vecmath.apply("multiply", [xs[0], before], self.dtype)
            return vecmath.apply("add", [xs[1], product], self.dtype)
        return vecmath.apply(self.combine, [before, xs[0]], self.dtype)


def running(combine: str, ins: Sequence[Place], out: Place, axis: int) -> Sized | None:
    """The running reduction of ``ins`` along ``axis``; None if shapes or dtypes are not for it."""
    aval = out.aval
    functions = ("multiply", "add") if combine == "multiply_add" else (combine,)
    if any(p.aval is not aval for p in ins) or not aval.size:
        return None
    dtype = short(aval.dtype)
    if not all(vecmath.is_supported(f, (dtype, dtype), dtype) for f in functions):
        return None
    rows = [elements(p) for p in (*ins, out)]
    extents, kept_rows = without(axis, aval.shape, rows)
    is_vector = bring_lanes_last(extents, kept_rows)
    sizes = [*extents, aval.shape[axis]]
    given_rows = [given([*row, full[axis]], sizes) for row, full in zip(kept_rows, rows, strict=True)]
    spec = Running(combine, dtype, tuple(given_rows[:-1]), given_rows[-1], is_vector)
    return Sized(spec, tuple(sizes), *shared(extents, aval.size))

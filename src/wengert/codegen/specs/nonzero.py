"""The indices of elements that are not zero. Their number is given; a different one ends the kernel with status 1."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.codegen.calls import short
from wengert.codegen.ir import Value
from wengert.codegen.memory import size_of
from wengert.codegen.specs.spec import Sized, Spec, SpecWriter, Vectors
from wengert.codegen.strides import Strides, elements, given
from wengert.passes.plan.places import Place


class NonzeroSpec(Spec):
    """Operands: the elements, and for each axis the indices of those that are not zero, in C order.

    How many there are is the first of the sizes.
    """

    dtype: str
    source: Strides

    def write(self, code: SpecWriter) -> None:
        x = code.pointer()
        outs = [code.pointer() for _ in self.source]
        expected = code.size()
        extents = [code.size() for _ in self.source]
        strides = code.strides(self.source, size_of(self.dtype))
        none = code.number(0)
        found = code.f.cell(none)

        def found_more(more: Value) -> Value:
            """The number found before; the kernel fails if there are more than expected."""
            before = code.f.read(found)
            total = before + more
            code.fail_if(total > expected)
            code.f.write(found, total)
            return before

        def vectors(which: Vectors, x: str, index: list[Value]) -> None:
            width = code.width(8)
            for i, mask in which:
                at = code.moved(x, (i, code.number(size_of(self.dtype))))
                is_found = code.load(at, self.dtype, width, mask).to("b1")
                is_found = is_found if mask is None else is_found & mask
                before = found_more(code.count(is_found))
                here = [*[k.splat(width) for k in index], i.splat(width) + code.lane_numbers(width)]
                for out, k in zip(outs, here, strict=True):
                    code.compress(code.moved(out, (before, code.number(8))), k, is_found)

        def loops(d: int, x: str, index: list[Value]) -> None:
            if d == len(extents):

                def store() -> None:
                    before = found_more(code.number(1))
                    for out, k in zip(outs, index, strict=True):
                        code.store(code.moved(out, (before, code.number(8))), k)

                code.f.when(code.load(x, self.dtype).to("b1"), store)
            elif d == len(extents) - 1 and self.source[d] == 1:
                code.across(none, extents[d], code.width(8), 1, lambda which: vectors(which, x, index))
            else:
                code.loop(none, extents[d], 1, lambda i: loops(d + 1, code.moved(x, (i, strides[d])), [*index, i]))

        loops(0, x, [])
        code.fail_if(code.f.read(found).ne(expected))


def nonzero(x: Place, outs: Sequence[Place]) -> Sized | None:
    """The kernel for the indices of elements of ``x`` that are not zero; None if there is no axis, or the results are
    not contiguous."""
    if not x.aval.ndim or any(short(p.aval.dtype) != "i8" or p.strides != (8,) for p in outs):
        return None
    sizes = [outs[0].aval.size, *x.aval.shape]
    source = given(elements(x), sizes)
    return Sized(NonzeroSpec(short(x.aval.dtype), source), tuple(sizes), 1, 0)

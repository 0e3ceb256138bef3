"""Elements at index arrays: ``y = x[i, ...]``, ``x[i, ...] = v`` and ``x[i, ...] += v``.

A negative index counts from the end; one that is out of bounds ends the kernel with status 1, and the caller raises the
error. Writes are made in C order, so that the last one wins and sums are those of ``np.add.at``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from wengert.codegen import vecmath
from wengert.codegen.calls import short
from wengert.codegen.ir import Value, any_lane, select
from wengert.codegen.memory import size_of
from wengert.codegen.specs.spec import Sized, Spec, SpecWriter, Vectors
from wengert.codegen.strides import Strides, elements, given, merged, shared
from wengert.passes.plan.places import Place


class Indexed(Spec):
    """The kernel of reads and writes at index arrays. Its operands are x, the index arrays, and ``other``: the array
    that elements of x are copied to, or that is written to x.

    The dimensions are those of the index arrays together, then the axes of x behind the indexed ones. For each index
    array the length and the stride of its axis of x are among the sizes.
    """

    what: str
    """ "gather", "set" or "add"."""
    dtype: str
    indices: tuple[Strides, ...]
    """The strides of each index array, over the first dimensions."""
    x: Strides
    """The strides of x, over the other dimensions."""
    other: Strides
    """The strides of ``other``, over all dimensions."""

    def write(self, code: SpecWriter) -> None:
        _IndexedLoops(self, code).write()


class _IndexedLoops:
    def __init__(self, spec: Indexed, code: SpecWriter) -> None:
        self.spec, self.code, self.f = spec, code, code.f
        self.item = size_of(spec.dtype)
        self.n_index = len(spec.other) - len(spec.x)
        self.x = code.pointer()
        self.arrays = [code.pointer() for _ in spec.indices]
        self.other = code.pointer()
        self.extents = [code.size() for _ in spec.other]
        self.axes = [(code.size(), code.size() * self.item) for _ in spec.indices]  # length, stride in bytes
        self.index_strides = [code.strides(row, 8) for row in spec.indices]
        self.x_strides = code.strides(spec.x, self.item)
        self.other_strides = code.strides(spec.other, self.item)
        # The depth at which an index array's element is known: behind the last dimension it depends on.
        self.known_at = [max([d + 1 for d, s in enumerate(row) if s != 0], default=0) for row in spec.indices]
        self.lanes_are_indices = (
            spec.what == "gather"
            and not spec.x
            and self.n_index > 0
            and self.item >= 4
            and spec.other[-1] == 1
            and {row[-1] for row in spec.indices} in ({1}, {0, 1})
        )

    def write(self) -> None:
        self._index_loops(0, self.x, self.arrays, self.other)

    def _range(self, d: int) -> tuple[Value, Value]:
        if d == 0:
            return self.code.begin, self.code.end
        return self.code.number(0), self.extents[d]

    def _index_loops(self, d: int, x: str, arrays: list[str], other: str) -> None:
        """Write the loop over dimension ``d`` and those within. Pointers have been moved by the outer dimensions."""
        code = self.code
        for k, (length, stride) in enumerate(self.axes):
            if self.known_at[k] == d:
                i = code.load(arrays[k], "i8")
                place, is_outside = self._place(i, length)
                code.fail_if(is_outside)
                x = code.moved(x, (place, stride))
        if d == self.n_index:
            self._row(d, x, other)
            return
        if d == self.n_index - 1 and self.lanes_are_indices:
            self._gather_lanes(d, x, arrays, other)
            return

        def body(i: Value) -> None:
            inner = [code.moved(p, (i, row[d])) for p, row in zip(arrays, self.index_strides, strict=True)]
            self._index_loops(d + 1, x, inner, code.moved(other, (i, self.other_strides[d])))

        code.loop(*self._range(d), 1, body)

    def _place(self, i: Value, length: Value) -> tuple[Value, Value]:
        """The index counted from the beginning, and whether it is out of bounds."""
        length = length.splat(i.lanes)
        place = select(i < 0, i + length, i)
        return place, place.bits("u8") >= length.bits("u8")

    def _gather_lanes(self, d: int, x: str, arrays: list[str], other: str) -> None:
        """Write the loop for neighbours in the result, each read at its own index."""
        code, width = self.code, self.code.width(8)

        def body(vectors: Vectors) -> None:
            for i, mask in vectors:
                mask = mask or self.f.constant(1, "b1", width)
                offsets = None
                for k, (length, stride) in enumerate(self.axes):
                    if self.known_at[k] != d + 1:
                        continue
                    here = code.moved(arrays[k], (i, code.number(8)))
                    place, is_outside = self._place(code.load(here, "i8", width, mask), length)
                    code.fail_if(any_lane(is_outside & mask))
                    term = place * stride.splat(width)
                    offsets = term if offsets is None else offsets + term
                assert offsets is not None
                values = code.gathered(x, offsets, self.spec.dtype, mask)
                code.store(code.moved(other, (i, code.number(self.item))), values, mask)

        code.across(*self._range(d), width, 1, body)

    def _row(self, d: int, x: str, other: str) -> None:
        """Write the loops over the axes behind the indexed ones."""
        code, spec = self.code, self.spec
        k = d - self.n_index
        if d == len(spec.other):
            self._element(x, other, 1, None, False)
            return
        if d == len(spec.other) - 1 and spec.x[k] == 1 and spec.other[d] in (0, 1):
            width = code.width(self.item)
            is_repeated = spec.other[d] == 0
            if spec.what != "gather" or not is_repeated:

                def vectors(which: Vectors) -> None:
                    for i, mask in which:
                        step = code.number(self.item)
                        there = other if is_repeated else code.moved(other, (i, step))
                        self._element(code.moved(x, (i, step)), there, width, mask, is_repeated)

                code.across(*self._range(d), width, 1, vectors)
                return

        def body(i: Value) -> None:
            self._row(d + 1, code.moved(x, (i, self.x_strides[k])), code.moved(other, (i, self.other_strides[d])))

        code.loop(*self._range(d), 1, body)

    def _element(self, x: str, other: str, lanes: int, mask: Value | None, is_repeated: bool) -> None:
        code, spec = self.code, self.spec
        if spec.what == "gather":
            code.store(other, code.load(x, spec.dtype, lanes, mask), mask)
            return
        value = code.load(other, spec.dtype) if is_repeated else code.load(other, spec.dtype, lanes, mask)
        value = value.splat(lanes)
        if spec.what == "add":
            value = vecmath.apply("add", [code.load(x, spec.dtype, lanes, mask), value], spec.dtype)
        code.store(x, value, mask)


def indexed(what: str, x: Place, indices: Sequence[Place], other: Place) -> Sized | None:
    """``other = x[indices]``, ``x[indices] = other`` or ``x[indices] += other``; None if the dtypes are not for it."""
    n = len(indices)
    dtype = x.aval.dtype
    if other.aval.dtype != dtype or any(short(i.aval.dtype) != "i8" for i in indices):
        return None
    index_ndim = max([i.aval.ndim for i in indices], default=0)
    index_shape = [max([_length(i, index_ndim, d) for i in indices], key=lambda m: m != 1) for d in range(index_ndim)]
    shape = [*index_shape, *x.aval.shape[n:]]
    index_rows = [_aligned(i, index_ndim) for i in indices]
    other_row = _aligned(other, len(shape))
    x_strides = elements(x)
    outer, rows = merged(index_shape, [*index_rows, other_row[:index_ndim]])
    inner, (x_row, other_inner) = merged(x.aval.shape[n:], [x_strides[n:], other_row[index_ndim:]])
    *index_rows, other_outer = rows
    extents = [*outer, *inner]
    sizes = list(extents)
    for length, stride in zip(x.aval.shape[:n], x_strides[:n], strict=True):
        sizes += [length, stride]
    spec = Indexed(
        what,
        dtype.str[1:] if what == "add" else f"u{dtype.itemsize}",  # elements that are only copied are bits
        tuple([given(row, sizes) for row in index_rows]),
        given(x_row, sizes),
        given([*other_outer, *other_inner], sizes),
    )
    extent, grain = shared(extents, prod(extents))
    return Sized(spec, tuple(sizes), extent, grain if what == "gather" else -grain)  # writes are made in their order


def _aligned(place: Place, ndim: int) -> list[int]:
    """Return the strides of an operand that is broadcast to ``ndim`` dimensions. 0 means that one element is read for
    the whole dimension; an empty array has no element, so its stride is 1."""
    own = [0 if n == 1 else s if n else 1 for n, s in zip(place.aval.shape, elements(place), strict=True)]
    return [0] * (ndim - len(own)) + own


def _length(place: Place, ndim: int, d: int) -> int:
    """The length along dimension ``d`` of ``ndim`` to which the operand is broadcast."""
    k = d - (ndim - place.aval.ndim)
    return 1 if k < 0 else place.aval.shape[k]

"""This module compares kernels over indices (:mod:`wengert.codegen.specs`) with what NumPy says, element by element.

A spec has no lengths in its code: each is tried from nothing, or from one where the kernel needs an element, to two
vectors and one, and one that fills the largest block. Bits must be equal, but for the NaN that it is. Where a kernel
refuses operands, it must do so, and write nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.codegen.specs.extremes import Extreme
from wengert.codegen.specs.indexed import Indexed
from wengert.codegen.specs.nonzero import NonzeroSpec
from wengert.codegen.specs.running import Running
from wengert.codegen.specs.search import SearchSpec
from wengert.codegen.specs.spec import REFUSED, Spec
from wengert.codegen.target import target
from wengert.codegen.verification.operands import Array, Extents, OperandInMemory, OperandMaker, difference, halves


class KernelCase(NamedTuple):
    """The arguments of one call of a kernel, and the values its results must have, by the number of the operand."""

    operands: Sequence[OperandInMemory]
    sizes: Sequence[int]
    whole: int
    wanted: dict[int, Sequence[Array]]
    status: int = 0
    is_splittable: bool = True


def differences(spec: Spec, address: int) -> Iterator[str]:
    """Yield, for each of some operands, what the kernel at ``address`` does wrong, in words, or ""."""
    trials = TRIALS[type(spec)]
    for number, extents in enumerate(_lengths(spec)):
        for is_tame in (True, False):
            memory = OperandMaker(np.random.default_rng(number), is_tame)
            for trial in trials(spec, extents, memory):  # they may share their operands
                parts = halves(trial.whole, trial.whole // 2 if trial.is_splittable else 0)
                found = difference(address, trial.operands, trial.sizes, parts, trial.wanted, trial.status)
                yield found and f"{found} (lengths {extents})"


def _lengths(spec: Spec) -> Iterator[Extents]:
    """Yield lengths of the dimensions: small ones, and lengths around those of vectors, in one dimension at a time."""
    width = target().lanes(8)
    ndim = len(STRIDES[type(spec)](spec))
    needs_one = isinstance(spec, Extreme | Running)  # along their last dimension
    usual = [3] * ndim
    along = (0, 1, 2, width - 1, width, 2 * width - 1, 2 * width + 1, 9 * width + 1)
    if not ndim:
        yield ()
    for d in range(ndim):
        least = 1 if needs_one and d == ndim - 1 else 0
        for length in sorted({max(least, n) for n in along}):
            yield (*usual[:d], length, *usual[d + 1 :])


def _whole(extents: Sequence[int]) -> int:
    return extents[0] if extents else 1


def _full(x: OperandInMemory, extents: Extents) -> Array:
    return np.broadcast_to(x.view, extents)


# ------------------------------------------------------------------------------------------------------- their kinds


def _extreme(spec: Extreme, extents: Extents, memory: OperandMaker) -> Iterator[KernelCase]:
    kept = extents[:-1]
    x, out = memory.operand(spec.dtype, spec.source, extents), memory.operand("i8", spec.result, kept)
    find = np.argmax if spec.compare == "maximum" else np.argmin
    sizes = [*extents, *x.unknown, *out.unknown]
    yield KernelCase([x, out], sizes, _whole(kept), {1: [find(_full(x, extents), -1)]})


def _running(spec: Running, extents: Extents, memory: OperandMaker) -> Iterator[KernelCase]:
    xs = [memory.operand(spec.dtype, row, extents) for row in spec.inputs]
    out = memory.operand(spec.dtype, spec.output, extents)
    with np.errstate(all="ignore"):
        if spec.combine == "multiply_add":
            a, b = [_full(x, extents) for x in xs]
            wanted = np.array(b)
            for i in range(1, extents[-1]):
                wanted[..., i] = b[..., i] + a[..., i] * wanted[..., i - 1]
        else:
            wanted = getattr(np, spec.combine).accumulate(_full(xs[0], extents), -1, dtype=spec.dtype)
    sizes = list(extents)
    for x in (*xs, out):
        sizes += x.unknown
    yield KernelCase([*xs, out], sizes, _whole(extents[:-1]), {len(xs): [wanted]})


def _search(spec: SearchSpec, extents: Extents, memory: OperandMaker) -> Iterator[KernelCase]:
    length = int(memory.rng.integers(1, 20))
    table = memory.operand(spec.dtype, [None], (length,))
    table.view[...] = np.sort(table.view)
    values, out = memory.operand(spec.dtype, spec.values, extents), memory.operand("i8", spec.result, extents)
    if values.view.size:
        some = memory.rng.random(values.view.shape) < 0.5  # these values are in the table
        values.view[...] = np.where(some, memory.rng.choice(table.view, values.view.shape), values.view)
    side: Any = spec.side
    wanted = np.searchsorted(table.view, _full(values, extents), side)
    sizes = [*extents, length, (length - 1).bit_length(), *table.strides, *values.unknown, *out.unknown]
    yield KernelCase([table, values, out], sizes, _whole(extents), {2: [wanted]})


def _nonzero(spec: NonzeroSpec, extents: Extents, memory: OperandMaker) -> Iterator[KernelCase]:
    x = memory.operand(spec.dtype, spec.source, extents)
    if x.view.size:
        x.view[memory.rng.random(x.view.shape) < 0.4] = 0
    wanted = np.nonzero(_full(x, extents))
    count = len(wanted[0])
    for size in (count, count + 1, count - 1):
        if size >= 0:
            outs = [memory.operand("i8", (1,), (size,)) for _ in extents]
            results: dict[int, Sequence[Array]] = {
                1 + k: [index] if size == count else [] for k, index in enumerate(wanted)
            }
            sizes, status = [size, *extents, *x.unknown], 0 if size == count else REFUSED
            yield KernelCase([x, *outs], sizes, 1, results, status, is_splittable=False)


def _indexed(spec: Indexed, extents: Extents, memory: OperandMaker) -> Iterator[KernelCase]:
    n_index, n = len(spec.other) - len(spec.x), len(spec.indices)
    outer, inner = extents[:n_index], extents[n_index:]
    lengths = tuple([int(k) for k in memory.rng.integers(1, 6, n)])
    x = memory.operand(spec.dtype, (*[None] * n, *spec.x), (*lengths, *inner))
    other = memory.operand(spec.dtype, spec.other, extents)
    indices = [memory.operand("i8", row, outer) for row in spec.indices]
    for index, length in zip(indices, lengths, strict=True):
        index.view[...] = memory.rng.integers(-length, length, index.view.shape)
    sizes = list(extents)
    for length, stride in zip(lengths, x.strides, strict=False):
        sizes += [length, stride]
    for index in indices:
        sizes += index.unknown
    sizes += [s for s in x.strides[n:] if s not in (0, 1)] + other.unknown
    operands = [x, *indices, other]
    result = len(operands) - 1 if spec.what == "gather" else 0
    wanted = np.array(operands[result].view)
    values, source = _full(other, extents), np.broadcast_to(x.view, (*lengths, *inner))
    with np.errstate(all="ignore"):
        for where in np.ndindex(outer):
            place = tuple([int(_full(index, outer)[where]) for index in indices])
            if spec.what == "gather":
                wanted[where] = source[place]
            elif spec.what == "set":
                wanted[place] = values[where]
            else:
                wanted[place] += values[where]
    if x.view.shape == source.shape or spec.what == "gather":  # an operand that is written has strides
        yield KernelCase(operands, sizes, _whole(extents), {result: [wanted]})
    if indices and indices[-1].view.size and np.prod(extents):
        k = int(memory.rng.integers(0, n))
        wrong = memory.rng.choice([lengths[k], -lengths[k] - 1, 1 << 40, -(1 << 63), (1 << 63) - 1])
        indices[k].view[tuple([int(memory.rng.integers(0, m)) for m in indices[k].view.shape])] = wrong
        yield KernelCase(operands, sizes, _whole(extents), {result: []}, REFUSED, is_splittable=False)


STRIDES: dict[type[Spec], Callable[[Any], Sequence[int | None]]] = {
    Extreme: lambda spec: spec.source,
    Indexed: lambda spec: spec.other,
    NonzeroSpec: lambda spec: spec.source,
    Running: lambda spec: spec.output,
    SearchSpec: lambda spec: spec.values,
}
"""Strides over all dimensions of a kernel."""
TRIALS: dict[type[Spec], Callable[[Any, Extents, OperandMaker], Iterator[KernelCase]]] = {
    Extreme: _extreme,
    Indexed: _indexed,
    NonzeroSpec: _nonzero,
    Running: _running,
    SearchSpec: _search,
}

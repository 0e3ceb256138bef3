"""Contractions on their own: BLAS for the large ones, on the memory as it lies, transposes by flag."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from wengert.codegen.calls import Call, KernelCall, callback
from wengert.codegen.nests.build import nest_call
from wengert.codegen.nests.channels import taps_of
from wengert.codegen.nests.facts import Facts
from wengert.codegen.nests.nest import Nest
from wengert.codegen.nests.panels import MAX_TURNED
from wengert.codegen.target import target
from wengert.passes.fuse import SMALL_CONTRACTION, SMALL_PRODUCT, is_small_contraction
from wengert.passes.plan import Place, PlanStep, reach

MAX_EMITTED = 2e6  # flops: of what BLAS cannot take, more than this is left to NumPy, which copies and calls BLAS
MAX_TILED = 128 * 128 * 128  # multiply-adds of a product of which tiles are emitted (benchmarks/bench_contract.py) ...
MAX_STREAMED = 1 << 21  # ... or, with AVX-512, bytes of the operand that all columns of tiles read: then of any product
FEWEST_BYTES = {32: 16, 64: 40}  # if rows of the result are so long, by the bytes of a vector; with SSE never
MAX_NARROW = 16 * 16 * 16  # the same, where rows only fill half a vector: BLAS for AVX-512 knows such products
GRAIN_FLOPS = 2_000_000  # of products that are worth handing to a thread
LARGE = 2_000_000  # multiply-adds of a product that is worth cutting into blocks
LONG = 2_000_000_000  # multiply-adds of a block between which and the next one looks for Ctrl-C: 50 to 100 ms
ENOUGH = 8  # products in a batch: whole ones are parts enough
PART, SHORTEST = 4096, 1536  # bytes of a column of a block: with one thread, blocks cost some 3 %
TILE = 16  # the length of a block is a multiple of those of BLAS's own tiles


def contraction(step: PlanStep) -> Call:
    """A contraction on its own: BLAS, if it is large and its axes can be grouped without moving anything."""
    instr = step.instr
    assert instr is not None
    dtype = step.outs[0].aval.dtype
    if dtype.kind != "b" and is_dot(step):
        return nest_call(step)
    product = as_product(step) if dtype.char in "fd" else None
    if product is not None and (is_small_contraction(instr) or is_tiled(product, step)):
        return nest_call(step)
    gemm = as_gemm(product, step) if product is not None else None
    if gemm is not None:
        return gemm
    if dtype.kind == "f":
        nest = nest_call(step)
        if is_by_channels(nest.kernel):
            return nest
    is_short = instr.op.cost(*[a.aval for a in instr.ins], **instr.params) <= MAX_EMITTED
    if dtype.kind != "b" and (is_short or any(map(repeats, step.ins))):
        return nest_call(step)
    return callback(step, "axes that BLAS cannot take without a copy")


def is_by_channels(kernel: object) -> bool:
    """Whether it is a nest that has its lanes along channels, for the derivative of weights."""
    return isinstance(kernel, Nest) and taps_of(Facts(kernel, target())) is not None


def repeats(place: Place) -> bool:
    """Whether elements stand several times under different indices: windows, which a copy would write out."""
    low, high = reach(place)
    return 0 not in place.strides and place.aval.nbytes > high - low


def is_dot(step: PlanStep) -> bool:
    """Whether no operand has an axis of its own: sums as others are, which BLAS would take for matrices of one row."""
    assert step.instr is not None
    a, b = [
        {label for label, n in zip(step.instr.params[name], place.aval.shape, strict=True) if n != 1}
        for name, place in zip("ab", step.ins, strict=True)
    ]
    return a == b


def is_tiled(product: Product, step: PlanStep) -> bool:
    """Whether registers hold a tile of the product, and caches the matrices: then what is emitted takes less time than
    BLAS, which packs both of them first. Lanes must lie side by side in an operand, or what is summed does so in one
    that a panel can hold. Of a batch, each product is asked about."""
    assert step.instr is not None
    m, n, k = product.m.extent, product.n.extent, product.x[1].extent
    itemsize = step.outs[0].aval.dtype.itemsize
    if m == 1 or n == 1:
        return m * n * k <= SMALL_CONTRACTION
    if not _is_in_reach(m, n, k, itemsize, target().vector_bytes):
        return False
    a, b, out = [step.instr.params[name] for name in ("a", "b", "out")]
    inner = [label for label in a if label in b and label not in out]
    for labels, place in zip((a, b), step.ins, strict=True):
        axes = zip(labels, place.strides, place.aval.shape, strict=True)
        beside = [label for label, stride, extent in axes if stride == itemsize and extent > 1]
        is_shared = out[-1] in labels and out[-2] not in labels  # by the rows
        if out[-1] in beside or (beside == inner and is_shared and k <= MAX_TURNED):
            return True
    return False


def _is_in_reach(m: int, n: int, k: int, itemsize: int, vector_bytes: int) -> bool:
    """Whether a product has rows that fill vectors, and is small enough for the caches."""
    size, row_bytes = m * n * k, n * itemsize
    if vector_bytes not in FEWEST_BYTES or 2 * row_bytes < vector_bytes:
        return size <= SMALL_PRODUCT
    if row_bytes < FEWEST_BYTES[vector_bytes]:
        return size <= MAX_NARROW
    return size <= MAX_TILED or (vector_bytes == 64 and k <= MAX_TURNED and m * k * itemsize <= MAX_STREAMED)


class Group(NamedTuple):
    """Axes that step through memory as one. A stride of 0 with extent 1: none."""

    extent: int
    stride: int


def _grouped(labels: Sequence[int], place: Place, wanted: Sequence[int]) -> Group | None:
    """The axes ``wanted``, in this order, as one; None if memory does not allow."""
    size = place.aval.dtype.itemsize
    extent, stride = 1, 0
    for k in reversed(wanted):
        n, s = place.aval.shape[labels.index(k)], place.strides[labels.index(k)] // size
        if n == 1:
            continue
        if extent == 1:
            extent, stride = n, s
        elif s == stride * extent:
            extent *= n
        else:
            return None
    return Group(extent, stride)


class Product(NamedTuple):
    """A contraction as C[m, n] = A[m, k] @ B[k, n], or many of them: operands in this order, and how they are read."""

    operands: tuple[Place, Place]
    labels: tuple[Sequence[int], Sequence[int]]
    x: tuple[Group, Group]
    y: tuple[Group, Group]
    m: Group
    n: Group
    batch: list[int]


def as_product(step: PlanStep) -> Product | None:
    """The contraction as matrices that BLAS takes as they lie, wherever in memory those of a batch are; or None."""
    assert step.instr is not None
    a, b, out = [step.instr.params[name] for name in ("a", "b", "out")]
    batch = [k for k in out if k in a and k in b]
    product = _as_product(step, batch)
    if product is not None or batch or not out:
        return product
    owner = a if out[0] in a else b  # of pictures, which are many with the same weights
    pictures = list(itertools.takewhile(lambda k: k in owner, out[:-2]))
    return _as_product(step, pictures) if pictures else None


def _as_product(step: PlanStep, batch: list[int]) -> Product | None:
    """The same, with this batch: an operand that does not have it is one for all."""
    instr = step.instr
    assert instr is not None
    (x, y), (z,) = step.ins, step.outs
    a, b, out = instr.params["a"], instr.params["b"], instr.params["out"]
    inner = [k for k in a if k in b and k not in out]
    left, right = [[k for k in out if k in p and k not in q and k not in batch] for p, q in ((a, b), (b, a))]
    if [*left, *right] != [k for k in out if k not in batch] and [*right, *left] == [k for k in out if k not in batch]:
        x, y, a, b, left, right = y, x, b, a, right, left  # C^T = B^T @ A^T
    parts = [
        *[_grouped(labels, p, w) for labels, p, w in ((a, x, left), (a, x, inner), (b, y, inner), (b, y, right))],
        *[_grouped(out, z, w) for w in (left, right)],
    ]
    if any(g is None for g in parts):
        return None
    xm, xk, yk, yn, zm, zn = parts
    assert xm and xk and yk and yn and zm and zn
    m, n = zm.extent, zn.extent
    if not (_fits(xm, xk) and _fits(yk, yn) and (zn.stride == 1 or n == 1) and (m == 1 or zm.stride >= n)):
        return None
    return Product((x, y), (a, b), (xm, xk), (yk, yn), zm, zn, batch)


def as_gemm(product: Product, step: PlanStep) -> KernelCall | None:
    """The call of BLAS, of which a batch steps through memory by one stride, or by two; or None."""
    instr, (z,) = step.instr, step.outs
    assert instr is not None
    (xm, xk), (yk, yn), zm = product.x, product.y, product.m
    m, n, k = zm.extent, product.n.extent, xk.extent
    batches = _batches(product, step)
    if batches is None:
        return None
    outer, inner = batches
    count = outer.extent * inner.extent
    routine = "gemm_f64" if z.aval.dtype.char == "d" else "gemm_f32"
    rows, columns = block(m, n, k, count, z.aval.dtype.itemsize)
    sizes = (
        m, n, k, xm.stride, xk.stride, yk.stride, yn.stride, zm.stride or n,
        inner.extent, *inner.strides, 0, rows, columns, *outer.strides,
    )  # fmt: skip
    extent = count * -(-m // rows) * -(-n // columns)
    grain = -(-GRAIN_FLOPS // (2 * rows * columns * k))
    return KernelCall(routine, (*product.operands, z), sizes, extent, grain, "contract (BLAS)", instr)


class Batch(NamedTuple):
    """Products of which one lies ``strides`` behind the one before it, in x, y and z. A single one: strides of 0."""

    extent: int
    strides: tuple[int, ...]


def _batches(product: Product, step: PlanStep) -> tuple[Batch, Batch] | None:
    """The axes of the batch as an outer and an inner one; None if memory does not allow. Heads of attention are such:
    they stand one after the other within a token, samples behind all of their tokens."""
    assert step.instr is not None
    labels, places = [*product.labels, step.instr.params["out"]], [*product.operands, step.outs[0]]
    for cut in range(max(1, len(product.batch))):
        outer, inner = [
            [g for g in (_grouped(own, place, _of(own, axes)) for own, place in zip(labels, places, strict=True)) if g]
            for axes in (product.batch[:cut], product.batch[cut:])
        ]
        if len(outer) == len(inner) == 3:  # of each operand and the result
            return _batch(outer), _batch(inner)
    return None


def _of(labels: Sequence[int], axes: Sequence[int]) -> list[int]:
    return [k for k in axes if k in labels]


def _batch(groups: Sequence[Group]) -> Batch:
    """Of both operands and the result, which has all of it."""
    return Batch(groups[-1].extent, tuple([group.stride for group in groups]))


def block(m: int, n: int, k: int, batch: int, itemsize: int) -> tuple[int, int]:
    """Rows and columns of what BLAS computes at once of a product [m, k] @ [k, n]: the parts that threads share, and
    between which a call can be interrupted.

    Set by the shapes and the dtype alone, so the bits are those of one thread. Each block of rows packs all of the
    right matrix again, each block of columns all of the left one, which costs more; so blocks are large.
    """
    if m * n * k < (LARGE if batch < ENOUGH else LONG):
        return m, n
    if m * itemsize >= 2 * SHORTEST:
        rows = _part(m, itemsize)
        return rows, _part(n, 4) if rows * n * k > LONG and n >= SHORTEST else n  # some 1024 columns of either dtype
    if n * itemsize >= 4 * SHORTEST:
        return m, _part(n, itemsize)
    return m, n


def _part(n: int, itemsize: int) -> int:
    """The length of the parts of n, whose number is even: about PART, or half of n if that is less."""
    count = 2 * max(1, round(n * itemsize / (2 * PART)))
    return -(-n // (count * TILE)) * TILE


def _fits(rows: Group, columns: Group) -> bool:
    """Whether BLAS takes a matrix with these strides: one of them 1, the other at least the extent of that."""
    if columns.extent == 1 or rows.extent == 1:
        return columns.stride >= 0 and rows.stride >= 0 and (columns.stride <= 1 or rows.stride <= 1)
    if columns.stride == 1 and rows.stride >= columns.extent:
        return True
    return rows.stride == 1 and columns.stride >= rows.extent

"""Contractions that are a kernel of their own: BLAS for large ones, without copies, and transposes by its flags."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from wengert.codegen.calls import Call, KernelCall, callback
from wengert.codegen.nests.build import nest_call
from wengert.codegen.nests.channels import taps_of
from wengert.codegen.nests.facts import Facts
from wengert.codegen.nests.nest import Nest
from wengert.codegen.nests.panels import MAX_TRANSPOSED
from wengert.codegen.target import Target
from wengert.passes.fuse import SMALL_CONTRACTION, SMALL_PRODUCT, is_small_contraction
from wengert.passes.plan.places import Place, PlanStep, reach

MAX_EMITTED = 2e6  # flops: a larger contraction that BLAS cannot take is left to NumPy, which copies and calls BLAS
MAX_TILED = 128 * 128 * 128  # multiply-adds of the largest product emitted as tiles (benchmarks/bench_contract.py) ...
MAX_STREAMED = 1 << 21  # ... or, with AVX-512, any product whose operand read by all columns of tiles has fewer bytes
FEWEST_BYTES = {32: 16, 64: 40}  # the shortest rows of a result for tiles, by the bytes of a vector; no tiles with SSE
MAX_NARROW = (
    16 * 16 * 16
)  # for rows that only fill half a vector, in place of MAX_TILED: there BLAS for AVX-512 is fast
GRAIN_FLOPS = 2_000_000  # flops that are worth handing to a thread
LARGE = 2_000_000  # multiply-adds of a product that is worth cutting into blocks
LONG = 2_000_000_000  # multiply-adds of a block, after which Ctrl-C is looked for: 50 to 100 ms
ENOUGH = 8  # products in a batch from which on threads share whole products, and not blocks
PART, SHORTEST = 4096, 1536  # bytes of a column of a block: with one thread, blocks cost some 3 %
TILE = 16  # the length of a block is a multiple of those of BLAS's own tiles


def contraction(step: PlanStep, target: Target) -> Call:
    """The call for a contraction of its own: BLAS, if it is large and its axes can be grouped without a copy."""
    instr = step.instr
    assert instr is not None
    dtype = step.outs[0].aval.dtype
    if dtype.kind != "b" and is_dot(step):
        return nest_call(step, target)
    product = as_product(step) if dtype.char in "fd" else None
    if product is not None and (is_small_contraction(instr) or is_tiled(product, step, target)):
        return nest_call(step, target)
    gemm = as_gemm(product, step) if product is not None else None
    if gemm is not None:
        return gemm
    if dtype.kind == "f":
        nest = nest_call(step, target)
        if is_by_channels(nest.kernel, target):
            return nest
    is_short = instr.op.cost(*[a.aval for a in instr.ins], **instr.params) <= MAX_EMITTED
    if dtype.kind != "b" and (is_short or any(map(repeats, step.ins))):
        return nest_call(step, target)
    return callback(step, "axes that BLAS cannot take without a copy")


def is_by_channels(kernel: object, target: Target) -> bool:
    """Whether ``kernel`` is a nest with lanes along channels, as for the derivative of a convolution's weights."""
    return isinstance(kernel, Nest) and taps_of(Facts(kernel, target)) is not None


def repeats(place: Place) -> bool:
    """Whether different indices lead to one element: windows, which a copy would write out."""
    low, high = reach(place)
    return 0 not in place.strides and place.aval.nbytes > high - low


def is_dot(step: PlanStep) -> bool:
    """Whether no operand has an axis of its own. A nest computes such sums better: to BLAS they would be products of
    matrices of one row."""
    assert step.instr is not None
    a, b = [
        {label for label, n in zip(step.instr.params[name], place.aval.shape, strict=True) if n != 1}
        for name, place in zip("ab", step.ins, strict=True)
    ]
    return a == b


def is_tiled(product: Product, step: PlanStep, target: Target) -> bool:
    """Whether a product is emitted as tiles: registers hold a tile of it, and caches hold the matrices.

    Then the emitted code is faster than BLAS, which packs both matrices first. Lanes must lie side by side in an
    operand, or the axis that is summed must, in an operand that a panel can hold. For a batch, it is asked of one
    product."""
    assert step.instr is not None
    m, n, k = product.m.extent, product.n.extent, product.x[1].extent
    itemsize = step.outs[0].aval.dtype.itemsize
    if m == 1 or n == 1:
        return m * n * k <= SMALL_CONTRACTION
    if not _is_in_reach(m, n, k, itemsize, target.vector_bytes):
        return False
    if m * n * k >= LARGE and is_by_its_transpose(product):
        return False
    a, b, out = [step.instr.params[name] for name in ("a", "b", "out")]
    inner = [label for label in a if label in b and label not in out]
    for labels, place in zip((a, b), step.ins, strict=True):
        axes = zip(labels, place.strides, place.aval.shape, strict=True)
        beside = [label for label, stride, extent in axes if stride == itemsize and extent > 1]
        is_shared = out[-1] in labels and out[-2] not in labels  # all rows of the result read this operand
        if out[-1] in beside or (beside == inner and is_shared and k <= MAX_TRANSPOSED):
            return True
    return False


def _is_in_reach(m: int, n: int, k: int, itemsize: int, vector_bytes: int) -> bool:
    """Whether a product has rows that fill vectors, and is small enough for the caches."""
    size, row_bytes = m * n * k, n * itemsize
    if vector_bytes not in FEWEST_BYTES or 2 * row_bytes < vector_bytes:
        return size <= SMALL_PRODUCT
    if row_bytes < FEWEST_BYTES[vector_bytes]:
        return size <= MAX_NARROW
    return size <= MAX_TILED or (vector_bytes == 64 and k <= MAX_TRANSPOSED and m * k * itemsize <= MAX_STREAMED)


class Group(NamedTuple):
    """Axes that step through memory as one axis. Extent 1 and stride 0 stand for no axes."""

    extent: int
    stride: int


def _grouped(labels: Sequence[int], place: Place, wanted: Sequence[int]) -> Group | None:
    """Group the axes ``wanted``, in this order, into one; None if their strides do not allow it."""
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
    """A contraction as C[m, n] = A[m, k] @ B[k, n], or a batch of these: A and B, and their axes as groups."""

    operands: tuple[Place, Place]
    labels: tuple[Sequence[int], Sequence[int]]
    x: tuple[Group, Group]
    y: tuple[Group, Group]
    m: Group
    n: Group
    batch: list[int]


def as_product(step: PlanStep) -> Product | None:
    """The contraction as a product of matrices that BLAS takes without a copy, wherever those of a batch lie; or
    None."""
    assert step.instr is not None
    a, b, out = [step.instr.params[name] for name in ("a", "b", "out")]
    batch = [k for k in out if k in a and k in b]
    product = _as_product(step, batch)
    if product is not None or batch or not out:
        return product
    owner = a if out[0] in a else b  # the operand with a batch of pictures; the other has the weights for all
    pictures = list(itertools.takewhile(lambda k: k in owner, out[:-2]))
    return _as_product(step, pictures) if pictures else None


def _as_product(step: PlanStep, batch: list[int]) -> Product | None:
    """Do as ``as_product`` for these axes of the batch; an operand without them serves the whole batch."""
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
    """The call of BLAS for a product, whose batch steps through memory by one stride or two; None if it does not."""
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
    is_whole = is_by_its_transpose(product) and m * n * k <= 2 * LONG
    rows, columns = (m, n) if is_whole else block(m, n, k, count, z.aval.dtype.itemsize)
    sizes = (
        m, n, k, xm.stride, xk.stride, yk.stride, yn.stride, zm.stride or n,
        inner.extent, *inner.strides, 0, rows, columns, *outer.strides,
    )  # fmt: skip
    extent = count * -(-m // rows) * -(-n // columns)
    grain = -(-GRAIN_FLOPS // (2 * rows * columns * k))
    return KernelCall(routine, (*product.operands, z), sizes, extent, grain, "contract (BLAS)", instr)


def is_by_its_transpose(product: Product) -> bool:
    """Whether a product is that of a matrix and its own transpose. As a whole, it takes BLAS half of the time: see
    ``multiply_by_its_transpose`` in native/blas.cpp."""
    x, y = [place[:2] for place in product.operands]
    return x == y and product.x == (product.y[1], product.y[0]) and not product.batch


class Batch(NamedTuple):
    """A batch of ``extent`` products, each ``strides`` elements behind the one before it, in x, y and z; the strides of
    a single product are 0."""

    extent: int
    strides: tuple[int, ...]


def _batches(product: Product, step: PlanStep) -> tuple[Batch, Batch] | None:
    """Group the axes of the batch into an outer and an inner one; None if their strides do not allow it. Heads of
    attention need two: they lie one after the other within a token, and samples one after the other behind all their
    tokens."""
    assert step.instr is not None
    labels, places = [*product.labels, step.instr.params["out"]], [*product.operands, step.outs[0]]
    for cut in range(max(1, len(product.batch))):
        outer, inner = [
            [g for g in (_grouped(own, place, _of(own, axes)) for own, place in zip(labels, places, strict=True)) if g]
            for axes in (product.batch[:cut], product.batch[cut:])
        ]
        if len(outer) == len(inner) == 3:  # both operands and the result could be grouped
            return _batch(outer), _batch(inner)
    return None


def _of(labels: Sequence[int], axes: Sequence[int]) -> list[int]:
    return [k for k in axes if k in labels]


def _batch(groups: Sequence[Group]) -> Batch:
    """The batch with these groups of axes, of the two operands and the result. An operand may have none of the axes,
    the result has all, so its extent is that of the batch."""
    return Batch(groups[-1].extent, tuple([group.stride for group in groups]))


def block(m: int, n: int, k: int, batch: int, itemsize: int) -> tuple[int, int]:
    """The rows and columns of the blocks in which BLAS computes a product [m, k] @ [k, n]. Threads share the blocks,
    and a call can be interrupted between them.

    They depend on the shapes and the dtype alone, so that the bits are the same with any number of threads. Each block
    of rows packs all of the right matrix again, each block of columns all of the left one, which costs more; so blocks
    are large.
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
    """The length of an even number of parts into which n is cut: about ``PART`` bytes, or half of n if that is less."""
    count = 2 * max(1, round(n * itemsize / (2 * PART)))
    return -(-n // (count * TILE)) * TILE


def _fits(rows: Group, columns: Group) -> bool:
    """Whether BLAS takes a matrix with these strides: one of them 1, the other at least the extent of that."""
    if columns.extent == 1 or rows.extent == 1:
        return columns.stride >= 0 and rows.stride >= 0 and (columns.stride <= 1 or rows.stride <= 1)
    if columns.stride == 1 and rows.stride >= columns.extent:
        return True
    return rows.stride == 1 and columns.stride >= rows.extent

"""Nests are compared with the references of their steps when they are made (``WENGERT_VERIFY=1``).

A nest says by itself what it computes: the same loads, steps, folds and stores, each by the NumPy reference of the op
whose function it is, must give the same numbers. Where its code has no lengths, it is asked for some from nothing to
two vectors and one. Its operands are aligned with no vector, and hold zeros of both signs, infinities, NaN, subnormal
and ordinary numbers. Once its result lies over an operand, where that may be; and it is run in two parts, where threads
may share it. Nothing outside of its results may change.

Bits must be equal, but for the NaN that it is, where every step is arithmetic. A function that is transcendental, and a
sum or product of floats, may differ by what is documented; how far that carries is seen from references whose functions
and sums are off by that much (:class:`Blur`). Where those disagree about what is finite, nothing is said.

Not looked at are the faster versions of ``fastmath``, sums in pieces, products of more than a million terms, loops and
branches with bodies, and kernels that are no nest.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache as once
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from wengert.codegen import cache
from wengert.codegen.compiler import Code, key_of
from wengert.codegen.nests.facts import Facts
from wengert.codegen.nests.nest import Nest, Operation
from wengert.codegen.target import target
from wengert.codegen.vecmath import FUNCTIONS
from wengert.errors import InternalError, message
from wengert.ops import OPS
from wengert.ops.kernels import Map, of_nothing

Array = np.ndarray[Any, Any]
Extents = tuple[int, ...]
KERNEL = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64), ctypes.c_int64, ctypes.c_int64
)
EXACT = ("wengert.codegen.vecmath.arithmetic", "wengert.codegen.vecmath.table", "wengert.codegen.ir")
"""Where the functions are written that are NumPy's bit for bit."""
ULPS = 4
"""Units in the last place that ours and NumPy's may be apart, as docs/how-it-works.md says."""
RELATIVE_TO_TERMS = ("logaddexp", "logaddexp2")
"""Functions whose error is measured in units of the greatest operand, as what they add may cancel."""
OVERFLOW_BETWEEN = ("pseudo_huber",)
"""Functions whose reference has NaN where a term overflows, and ours the value."""
MARGIN = 128  # bytes on both sides of an operand
SAMPLES = 3
MANY_POINTS, MOST_POINTS = 1 << 14, 1 << 20
"""Of a nest whose lengths are in its code: with more than that it is asked once, or not at all."""


class Counters:
    """What has been verified in this process."""

    verified = 0
    trials = 0


_known: set[bytes] = set()
"""The keys of kernels that were found right."""


def verify_new(kernels: Mapping[Any, bytes], codes: Mapping[bytes, Code | str]) -> None:
    """Verify those kernels, by their keys, that were not yet; on disk it stands which were, beside their code."""
    for kernel, key in kernels.items():
        code = codes[key]
        if key in _known or not isinstance(kernel, Nest) or not isinstance(code, Code):
            continue
        mark = key_of(("verified", key))
        if cache.read(mark) is None:
            verify(kernel, code.address)
            cache.save(mark, b"verified")
        _known.add(key)


def verify(nest: Nest, address: int) -> None:
    """Raises :class:`InternalError` if the kernel at ``address`` computes anything else than ``nest`` says."""
    if nest.is_fast or nest.has_pieces:
        return
    for number, extents in enumerate(_lengths(nest)):
        points = math.prod(extents)
        if points > MOST_POINTS:
            return
        ways = [(number % 2 == 0, None), (number % 2 == 1, _overwritten(nest))]
        for is_tame, over in ways if points <= MANY_POINTS else ways[:1]:
            trial = _Trial(nest, extents, np.random.default_rng(number), is_tame, over)
            difference = trial.difference(address)
            Counters.trials += 1
            if difference:
                raise InternalError(
                    message(
                        f"a kernel computes something else than its steps: {difference}",
                        notes=[("nest", str(nest)), ("extents", str(extents)), ("over", str(over))],
                    )
                )
    Counters.verified += 1


def _lengths(nest: Nest) -> Iterator[Extents]:
    """The lengths that are tried: those in the code; of the others one after the other small ones."""
    if None not in nest.extents:
        yield tuple([n for n in nest.extents if n is not None])
        return
    width = Facts(nest, target()).width
    least = [0] * nest.ndim
    if nest.tiling is not None:  # it is for what is at least a tile
        least = [nest.tiling.rows, width, 1]
    elif nest.folds:
        least = [0] * nest.n_kept + [1] * (nest.ndim - nest.n_kept)  # of nothing there is no nest
    usual = [n if n is not None else width + 1 if d == nest.lanes else 3 for d, n in enumerate(nest.extents)]
    usual = [max(n, low) for n, low in zip(usual, least, strict=True)]
    for d, n in enumerate(nest.extents):
        if n is None:
            along = (0, 1, width - 1, width, 2 * width - 1, 2 * width + 1) if d == nest.lanes else (0, 1, 2, 5)
            for length in sorted({max(least[d], k) for k in along}):
                yield (*usual[:d], length, *usual[d + 1 :])


def _overwritten(nest: Nest) -> int | None:
    """The load in whose place the only store may be: of its type, and of all its strides."""
    if len(nest.stores) != 1 or nest.folds:
        return None
    goal = nest.stores[0]
    for k, load in enumerate(nest.loads):
        if (load.dtype, load.strides) == (goal.dtype, goal.strides) and not load.is_index and 0 not in load.strides:
            return k
    return None


# ------------------------------------------------------------------------------------------------------- references


@once
def _references() -> dict[str, Callable[..., Any]]:
    return {op.kernel.function: op.reference for op in OPS.values() if isinstance(op.kernel, Map)}


def _is_exact(function: str) -> bool:
    written = FUNCTIONS[function].function
    return getattr(written, "func", written).__module__ in EXACT and function != "power"


class Blur:
    """How far results may be off: a reference with it is another that is as good."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def signs(self, shape: Extents) -> Array:
        return 2 * self.rng.integers(0, 2, shape) - 1

    def function(self, name: str, xs: Sequence[Array], y: Array) -> Array:
        if name == "convert":
            return self._converted(xs[0], y)
        if y.dtype.kind != "f" or _is_exact(name):
            return y
        if name in OVERFLOW_BETWEEN:
            y = np.where(np.isnan(y), self.rng.normal(size=y.shape), y)
        size = np.abs(y)
        if name in RELATIVE_TO_TERMS:
            size = np.maximum(size, np.max(np.abs(np.broadcast_arrays(*xs)), axis=0))
        off = ULPS * np.spacing(size)
        tiny = np.finfo(y.dtype).tiny
        off = np.where(size < tiny, tiny, off)  # SciPy's expit(-720) is 0, of e⁻⁷²⁰ = 2e-313
        return y + self.signs(y.shape) * off

    def _converted(self, x: Array, y: Array) -> Array:
        """Numbers that an integer type does not hold become whatever a processor makes of them."""
        if x.dtype.kind != "f" or y.dtype.kind not in "iu":
            return y
        info = np.iinfo(y.dtype)
        fits = (x > float(info.min) - 1) & (x < float(info.max) + (y.dtype.itemsize < 8))
        return np.where(fits, y, self.rng.integers(info.min, info.max, y.shape, y.dtype, endpoint=True))

    def fold(self, combine: str, x: Array, y: Array, axes: tuple[int, ...]) -> Array:
        if y.dtype.kind != "f" or combine not in ("add", "multiply"):
            return y
        size = np.sum(np.abs(x), axes, keepdims=True) if combine == "add" else np.abs(y)
        terms = max(2, min(x.size // max(1, y.size), 32))
        return y + self.signs(y.shape) * terms * np.spacing(size)


class _Trial:
    """A nest on operands of its own."""

    def __init__(self, nest: Nest, extents: Extents, rng: np.random.Generator, is_tame: bool, over: int | None) -> None:
        self.nest, self.extents, self.rng, self.is_tame, self.over = nest, extents, rng, is_tame, over
        self.sizes = [n for n, given in zip(extents, nest.extents, strict=True) if given is None]
        self.kept = extents[: nest.n_kept]
        sums = any(f.combine in ("add", "multiply") for f in nest.folds)
        self.has_large = not sums  # of sums that overflow the order decides
        rows = [(x.dtype, x.strides, x.is_index) for x in nest.loads]
        self.operands = [self._operand(*row) for row in rows]
        if not is_tame:
            self._make_ties([x for x, (_, _, is_index) in zip(self.operands, rows, strict=True) if not is_index])
        own = list(nest.stores)
        self.goals = [self._operand(s.dtype, s.strides, False) for s in own]
        post = [(s.dtype, s.strides) for s in nest.post_stores]
        self.post_goals = [self._operand(dtype, strides, False, nest.n_kept) for dtype, strides in post]
        if over is not None:
            where = 0 if None not in nest.stores[0].strides else self.goals[0].given
            count = nest.stores[0].strides.count(None)
            mine = self.operands[over].given
            if count:  # the same strides at run time
                self.sizes[where : where + count] = self.sizes[mine : mine + count]
            self.goals[0] = self.operands[over]

    def _operand(
        self, dtype: str, strides: tuple[int | None, ...], is_index: bool, n_dims: int | None = None
    ) -> _Operand:
        """Memory of its own for an operand, whose strides that are given at run time are noted."""
        given, extents = len(self.sizes), self.extents
        span = 1 + sum([abs(s) * max(0, n - 1) for s, n in zip(strides, extents, strict=True) if s is not None])
        own = list(strides)
        for d in reversed(range(len(own))):
            if own[d] is None:
                own[d] = (span + int(self.rng.integers(1, 3))) * (1 if self.is_tame else -1)
                span += abs(own[d] or 0) * max(0, extents[d] - 1)
        full = [s for s in own if s is not None]
        self.sizes += [full[d] for d, s in enumerate(strides) if s is None]
        shape = [n if s else 1 for n, s in zip(extents, full, strict=True)]
        if n_dims is not None:
            shape[n_dims:] = [1] * (len(shape) - n_dims)
        if is_index:
            total = sum(
                [
                    s * np.arange(n).reshape([-1 if k == d else 1 for k in range(len(shape))])
                    for d, (n, s) in enumerate(zip(shape, full, strict=True))
                ]
            )
            return _Operand(np.asarray(total, dtype).reshape(shape), np.empty(0, "u1"), 0, given)
        return self._memory(np.dtype(dtype), tuple(shape), full, span, given)

    def _memory(self, dtype: np.dtype[Any], shape: Extents, strides: list[int], span: int, given: int) -> _Operand:
        size = dtype.itemsize
        raw = np.zeros(2 * MARGIN + (span + 2) * size + 64, "u1")
        start = -raw.ctypes.data % 64 + MARGIN + size  # as far from the alignment of vectors as an element goes
        block = raw[start - MARGIN : start + span * size + MARGIN].view(dtype)
        block[...] = self._numbers(dtype, block.size)
        lowest = sum([s * (n - 1) for s, n in zip(strides, shape, strict=True) if s < 0 and n])
        first = MARGIN // size - lowest
        view = np.lib.stride_tricks.as_strided(block[first:], shape, [s * size for s in strides])
        return _Operand(view, block, block.ctypes.data + first * size, given)

    def _make_ties(self, operands: Sequence[_Operand]) -> None:
        """Give operands of one type the same number in a quarter of their places: there a comparison with and without
        equality differ, and numbers drawn at random seldom meet."""
        for x, y in pairwise(operands):
            if x.view.shape == y.view.shape and x.view.dtype == y.view.dtype:
                y.view[...] = np.where(self.rng.random(x.view.shape) < 0.25, x.view, y.view)

    def _numbers(self, dtype: np.dtype[Any], n: int) -> Array:
        rng = self.rng
        if dtype.kind == "b":
            return rng.integers(0, 2, n).astype(dtype)
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            small = rng.integers(max(info.min, -9), 10, n).astype(dtype)
            ends = np.array([info.min, info.max, info.min + 1, info.max - 1, 0, 1], dtype)
            return small if self.is_tame else np.where(rng.random(n) < 0.5, small, rng.choice(ends, n))
        info = np.finfo(dtype)
        usual = rng.normal(size=n).astype(dtype)
        if self.is_tame:
            return usual
        odd = [0.0, -0.0, np.inf, -np.inf, np.nan, info.smallest_subnormal, -info.smallest_subnormal, 1.0, -1.0, 0.5]
        odd += [info.tiny / 4, -info.tiny / 2, 2.0, -3.0]
        if self.has_large:
            odd += [info.max, -info.max, 1e30, -1e16, 745.5, -720.25, 1e-30]
        share = 0.7 if self.has_large else 0.05
        return np.where(rng.random(n) < share, rng.choice(np.array(odd, dtype), n), usual)

    # ---------------------------------------------------------------------------------------------------- running

    def difference(self, address: int) -> str:
        """What the kernel does wrong, in words, or "" ."""
        memories = [*self.operands, *self.goals, *self.post_goals]
        with np.errstate(all="ignore"):
            wanted = [self._computed(None)]
            if self._is_loose():
                wanted += [self._computed(Blur(self.rng)) for _ in range(SAMPLES)]
        before = {id(m.block): m.block.copy() for m in memories if m.block.size}
        results = []
        for parts in self._parts():
            for m in memories:
                if m.block.size:
                    m.block[...] = before[id(m.block)]
            self._run(address, parts)
            results.append([m.block.tobytes() for m in memories])
        if results[1:] and results[0] != results[1]:
            return "in two parts it computes other bits than at once"
        expected = {key: block.copy() for key, block in before.items()}
        for k, goal in enumerate((*self.goals, *self.post_goals)):
            found = _mismatch(goal.view, [values[k] for values in wanted])
            if found:
                return f"result {k}: {found}"
            there = np.lib.stride_tricks.as_strided(
                expected[id(goal.block)][goal.first :], goal.view.shape, goal.view.strides
            )
            there[...] = goal.view
        for k, m in enumerate(memories):
            if m.block.size and expected[id(m.block)].tobytes() != m.block.tobytes():
                return f"it writes what is none of its results, near operand {k}"
        return ""

    def _parts(self) -> list[list[tuple[int, int]]]:
        whole = self.extents[0] if self.extents else 1
        width = Facts(self.nest, target()).width
        middle = whole // 2 if self.nest.lanes else whole // 2 // width * width
        any_length = self.extents and not any(self.nest.extents)  # others have parts of so many rows alone
        is_cut = any_length and self.nest.is_splittable and 0 < middle < whole and self.over is None
        is_cut = is_cut and self.nest.tiling is None
        return [[(0, whole)], [(0, middle), (middle, whole)]] if is_cut else [[(0, whole)]]

    def _run(self, address: int, parts: list[tuple[int, int]]) -> None:
        places = [m for m, x in zip(self.operands, self.nest.loads, strict=True) if not x.is_index]
        places += [*self.goals, *self.post_goals]
        pointers = (ctypes.c_void_p * max(1, len(places)))(*[m.address for m in places])
        sizes = (ctypes.c_int64 * max(1, len(self.sizes)))(*self.sizes)
        for begin, end in parts:
            KERNEL(address)(pointers, sizes, begin, end)

    def _is_loose(self) -> bool:
        steps = (*self.nest.steps, *self.nest.post)
        sums = any(f.combine in ("add", "multiply") and f.dtype[0] == "f" for f in self.nest.folds)
        return sums or any(not _is_exact(s.function) or (s.function, s.dtype[0]) == ("convert", "i") for s in steps)

    def _computed(self, blur: Blur | None) -> list[Array]:
        """The values that are stored, by the references."""
        nest, extents = self.nest, self.extents
        values: list[Array] = [np.array(m.view) for m in self.operands]
        values += [np.frombuffer(data, np.dtype(dtype)).reshape(()) for dtype, data in nest.literals]

        def step(s: Operation) -> None:
            xs = [values[k] for k in s.operands]
            if s.function == "convert":
                y = xs[0].astype(s.dtype)
            else:
                y = np.asarray(_references()[s.function](*xs), s.dtype)
            values.append(y if blur is None else np.asarray(blur.function(s.function, xs, y), s.dtype))

        for s in nest.steps:
            step(s)
        out = [
            np.broadcast_to(values[s.value], goal.view.shape) for s, goal in zip(nest.stores, self.goals, strict=True)
        ]
        axes = tuple(range(nest.n_kept, nest.ndim))
        for fold in nest.folds:
            x = np.broadcast_to(values[fold.value], extents)
            shape = (*self.kept, *[1] * len(axes))
            if x.size == 0 and np.prod(self.kept, dtype=int):
                y = np.full(shape, of_nothing(fold.combine, np.dtype(fold.dtype)), fold.dtype)
            else:
                y = np.asarray(getattr(np, fold.combine).reduce(x, axes, dtype=fold.dtype, keepdims=True))
            values.append(y if blur is None else np.asarray(blur.fold(fold.combine, x, y, axes), fold.dtype))
        for s in nest.post:
            step(s)
        post = zip(nest.post_stores, self.post_goals, strict=True)
        return out + [np.broadcast_to(values[s.value], goal.view.shape) for s, goal in post]


class _Operand(NamedTuple):
    view: Array
    """As the kernel reads or writes it."""
    block: Array
    """All of its memory, margins too; empty: it has none."""
    address: int
    given: int
    """Where its strides begin among the sizes."""

    @property
    def first(self) -> int:
        return (self.address - self.block.ctypes.data) // self.block.itemsize


def _mismatch(got: Array, wanted: Sequence[Array]) -> str:
    """Where a result is none of those that may be, in words, or ""."""
    first = wanted[0]
    nan = np.isnan if got.dtype.kind == "f" else lambda x: np.zeros(x.shape, bool)
    with np.errstate(all="ignore"):
        same = (got == first) | (nan(got) & nan(first))
        if got.dtype.kind == "f":
            same &= (np.signbit(got) == np.signbit(first)) | (first != 0)
        if len(wanted) > 1:
            several = np.stack(wanted)
            agree = np.all(several == first, axis=0) | np.all(nan(several), axis=0)
            if got.dtype.kind == "f":
                finite = np.isfinite(several)
                spread = several.max(0) - several.min(0)
                near = np.abs(got - first) <= 4 * spread + ULPS * np.spacing(np.abs(first))
                same |= np.all(finite, axis=0) & np.isfinite(got) & near
                same |= ~np.all(finite, axis=0) & ~agree
            else:
                same |= ~agree
    if np.all(same):
        return ""
    where = tuple([int(k[0]) for k in np.nonzero(~same)])
    return f"at {where} {got[where]!r} in the place of {first[where]!r}"

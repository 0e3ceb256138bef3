"""Loop nests on arrays, and what NumPy makes of the same: for the tests of the generated loops."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.codegen import kernel
from wengert.codegen.nests.emit import emit
from wengert.codegen.nests.facts import Facts
from wengert.codegen.nests.nest import Fold, Load, Nest, Operation, Store
from wengert.codegen.target import Target, level

Array = np.ndarray[Any, Any]
KERNEL = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64), ctypes.c_int64, ctypes.c_int64
)
IN_NUMPY: dict[str, Callable[..., Any]] = {"select": np.where, "convert": lambda x: x, "fabs": np.fabs}


class Loops(NamedTuple):
    """A nest in terms of arrays: each has an axis for each dimension, of length 1 or stride 0 where it has none."""

    extents: tuple[int, ...]
    n_kept: int
    lanes: int
    loads: Sequence[Array] = ()
    steps: Sequence[tuple[str, tuple[int, ...], str]] = ()
    stores: Sequence[tuple[int, Array]] = ()
    folds: Sequence[tuple[str, int, str]] = ()
    post: Sequence[tuple[str, tuple[int, ...], str]] = ()
    post_stores: Sequence[tuple[int, Array]] = ()
    literals: Sequence[Any] = ()
    is_wide: bool = False

    def nest(self, is_static: bool) -> tuple[Nest, list[int]]:
        """The nest, and the sizes that it gets at run time."""
        sizes = [] if is_static else list(self.extents)

        def strides(x: Array, n_own: int = 0) -> tuple[int | None, ...]:
            """In elements; 0 along dimensions of length 1, but for the first ``n_own``, those that a result has."""
            assert x.ndim == len(self.extents)
            out: list[int | None] = []
            for k, (n, s) in enumerate(zip(x.shape, x.strides, strict=True)):
                stride = 0 if n == 1 and k >= n_own else s // x.itemsize
                if is_static or stride in (-1, 0, 1):
                    out.append(stride)
                else:
                    sizes.append(stride)
                    out.append(None)
            return tuple(out)

        loads = tuple([Load(short(x), strides(x)) for x in self.loads])
        stores = tuple([Store(k, short(x), strides(x, x.ndim)) for k, x in self.stores])
        post_stores = tuple([Store(k, short(x), strides(x, self.n_kept)) for k, x in self.post_stores])
        made = Nest(
            extents=self.extents if is_static else (None,) * len(self.extents),
            n_kept=self.n_kept,
            lanes=self.lanes,
            loads=loads,
            literals=tuple([(short(np.asarray(x)), np.asarray(x).tobytes()) for x in self.literals]),
            steps=tuple([Operation(*s) for s in self.steps]),
            stores=stores,
            folds=tuple([Fold(*f) for f in self.folds]),
            post=tuple([Operation(*s) for s in self.post]),
            post_stores=post_stores,
            is_wide=self.is_wide,
        )
        return made, sizes

    def run(
        self, where: Target | None = None, is_static: bool = True, parts: Sequence[tuple[int, int]] | None = None
    ) -> None:
        """Write the results into the arrays of the stores; ``parts`` of the outermost dimension one after the other."""
        nest, sizes = self.nest(is_static)
        call = compiled(nest, where or kernel.target(max(32, kernel.HOST.vector_bytes)))
        arrays = [*self.loads, *[x for _, x in self.stores], *[x for _, x in self.post_stores]]
        pointers = (ctypes.c_void_p * max(1, len(arrays)))(*[x.__array_interface__["data"][0] for x in arrays])
        numbers = (ctypes.c_int64 * max(1, len(sizes)))(*sizes)
        for begin, end in parts or [(0, self.extents[0] if self.extents else 1)]:
            assert call(pointers, numbers, begin, end) == 0

    def expected(self) -> list[Array]:
        """What NumPy has for the stores, then for the post stores."""
        values: list[Any] = [np.broadcast_to(x, self.extents) for x in self.loads]
        values += list(self.literals)
        with np.errstate(all="ignore"):
            values += evaluate(values, self.steps)
            axes = tuple(range(self.n_kept, len(self.extents)))
            for combine, k, dtype in self.folds:
                x = np.broadcast_to(values[k], self.extents)
                kept = {"dtype": dtype} if combine in ("add", "multiply") else {}
                values.append(getattr(np, combine).reduce(x, axis=axes, keepdims=True, **kept))
            values += evaluate(values, self.post, len(values) - len(self.folds))
        return [np.broadcast_to(values[k], x.shape).astype(x.dtype) for k, x in (*self.stores, *self.post_stores)]

    def check(self, where: Target | None = None, is_static: bool = True) -> None:
        """Run, and compare to the bit, but for the sign of a NaN."""
        wanted = self.expected()
        self.run(where, is_static)
        for (_, got), want in zip((*self.stores, *self.post_stores), wanted, strict=True):
            np.testing.assert_array_equal(got, want)


def evaluate(values: Sequence[Any], steps: Sequence[tuple[str, tuple[int, ...], str]], first: int = 0) -> list[Any]:
    made = list(values)
    for function, operands, dtype in steps:
        f = IN_NUMPY.get(function) or getattr(np, function)
        made.append(np.asarray(f(*[made[k] for k in operands])).astype(dtype))
    return made[len(values) :]


def short(x: Array) -> str:
    return x.dtype.str[1:]


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """Small whole numbers, so that every order of adding them gives the same bits."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.dtype(dtype))


def product(x: Array, y: Array, goal: Array, other: Array | None = None) -> Loops:
    """``goal = x @ y``, or ``x @ y + other``."""
    (m, k), n = x.shape, y.shape[1]
    loads, dtype = [x[:, None, :], y.T[None, :, :]], x.dtype.str[1:]
    after: list[tuple[str, tuple[int, ...], str]] = []
    if other is not None:
        loads.append(other[:, :, None])
        after.append(("add", (len(loads) + 1, 2), dtype))
    steps = [("multiply", (0, 1), dtype)]
    folds = [("add", len(loads), dtype)]
    return Loops((m, n, k), 2, 1, loads, steps, (), folds, after, [(len(loads) + 1 + len(after), goal[:, :, None])])


def facts(m: int, n: int, k: int, name: str, dtype: str = "f8") -> Facts:
    x, y = np.ones((m, k), dtype), np.ones((k, n), dtype)
    return Facts(product(x, y, np.empty((m, n), dtype)).nest(True)[0], level(name))


TARGETS = {
    "16 bytes, no FMA": kernel.target(16, has_fma=False),
    "16 bytes": kernel.target(16),
    "32 bytes": kernel.target(32),
    **({"64 bytes": kernel.target(64)} if kernel.HOST.vector_bytes == 64 else {}),
}
_alive: dict[Any, Any] = {}


def compiled(nest: Nest, where: Target) -> Any:
    key = nest, where
    if key not in _alive:
        name = f"nest_{len(_alive)}"
        jit = kernel.add(emit(nest, name, where), where, speed_level=1)
        _alive[key] = KERNEL(jit.get_function_address(name))
    return _alive[key]


# -------------------------------------------------------------------------------------------------- memory


class Guarded:
    """An array in the middle of bytes that must not change, those between its elements among them."""

    def __init__(self, like: Array, layout: str = "C") -> None:
        self.bytes = np.random.default_rng(0).integers(0, 255, 256 + 4 * like.nbytes, np.uint8)
        self.before = self.bytes.copy()
        start = 64 + (-self.bytes.__array_interface__["data"][0]) % 64
        strides = strides_of(like, layout)
        low = sum(min(0, s * (n - 1)) for s, n in zip(strides, like.shape, strict=True))
        self.array = np.ndarray(like.shape, like.dtype, self.bytes, start - low, strides)

    def check(self) -> None:
        """That nothing changed but elements of the array."""
        kept = self.array.copy()
        places = self.before.copy()
        address = self.array.__array_interface__["data"][0] - self.bytes.__array_interface__["data"][0]
        np.ndarray(kept.shape, kept.dtype, places, address, self.array.strides)[...] = kept
        np.testing.assert_array_equal(self.bytes, places, err_msg="bytes outside of the array were written")


def strides_of(like: Array, layout: str) -> tuple[int, ...]:
    """Strides for an array of that shape: "C", "F", "reversed" or "gaps"."""
    if like.size == 0 or like.ndim == 0:
        return like.strides
    if layout == "F":
        return np.asfortranarray(like).strides
    if layout == "reversed":
        return tuple([-s for s in np.ascontiguousarray(like).strides])
    if layout == "gaps":
        return np.empty([n + (k == like.ndim - 1) * n for k, n in enumerate(like.shape)], like.dtype)[
            (..., slice(None, None, 2)) if like.ndim else ()
        ].strides
    return np.ascontiguousarray(like).strides


def at_the_edge(x: Array, at_end: bool) -> Array:
    """A copy of ``x`` that begins, or ends, where a page ends behind which nothing may be read."""
    page = mmap.PAGESIZE
    room = -(-max(1, x.nbytes) // page) * page
    area = mmap.mmap(-1, room + 2 * page)
    memory = np.frombuffer(area, np.uint8)
    address = memory.__array_interface__["data"][0]
    libc = ctypes.CDLL(None, use_errno=True)
    for edge in (address, address + page + room):
        assert libc.mprotect(ctypes.c_void_p(edge), ctypes.c_size_t(page), 0) == 0
    start = page + (room - x.nbytes if at_end else 0)
    copy = memory[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    copy[...] = x
    return copy

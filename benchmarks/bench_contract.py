"""Find where BLAS becomes faster than the contractions that we emit: ``fuse.SMALL_CONTRACTION`` and ``SMALL_PRODUCT``,
``contract.MAX_TILED``, ``MAX_STREAMED``, ``MAX_NARROW`` and ``FEWEST_BYTES``, the shape of tiles (``tiles.best_tile``)
and what is copied into panels (``panels.is_crowded``) are chosen by these tables.

It measures products of matrices, square and not, in four layouts, and of a matrix and a vector, as bound programs: once
with every contraction emitted, and once with every contraction given to BLAS. Run it for each processor that code is
made for; BLAS chooses for itself, so it has to be told:

    WENGERT_TARGET=x86-64-v3 OPENBLAS_CORETYPE=Haswell python -m benchmarks.bench_contract [--quick]
    WENGERT_TARGET=x86-64-v4 OPENBLAS_CORETYPE=SkylakeX python -m benchmarks.bench_contract [--quick]
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.timing import Timing, measure  # first: it pins the threads

import numpy as np  # isort: skip
from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip

import wengert as wg
from wengert.codegen import contract, lowered
from wengert.codegen.target import target

fuse: Any = importlib.import_module("wengert.passes.fuse")  # the package has a function of that name
LIMITS = (
    (fuse, "SMALL_CONTRACTION"),
    (fuse, "SMALL_PRODUCT"),
    (contract, "SMALL_CONTRACTION"),
    (contract, "SMALL_PRODUCT"),
    (contract, "MAX_TILED"),
    (contract, "MAX_NARROW"),
    (contract, "MAX_STREAMED"),
)
Shape = tuple[int, int, int]
SQUARE: list[Shape] = [(n, n, n) for n in (4, 6, 8, 12, 16, 20, 24, 31, 32, 40, 48, 64, 96, 100, 128)]
OBLONG: list[Shape] = [  # m, n, k: rows, columns, and what is summed
    *[(m, n, k) for m in (4, 32, 128) for n in (2, 4, 10, 128) for k in (4, 32, 128) if not m == n == k],
    (30, 512, 128),  # vectors that are a power of two of bytes apart
    (20, 1024, 64),
    (64, 128, 200),
    (256, 128, 784),  # layers of networks, and what their weights get
    (128, 784, 256),
    (512, 512, 128),
    (512, 512, 512),
]
VECTORS: list[Shape] = [(n, 1, n) for n in (4, 8, 12, 16, 24, 32, 48, 64, 100, 128, 180)]
PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "a @ b": lambda a, b: a @ b,
    "a @ b.T": lambda a, b: a @ b.T,
    "a.T @ b": lambda a, b: a.T @ b,
    "a.T @ b.T": lambda a, b: a.T @ b.T,
}
OF_VECTORS: dict[str, Callable[[Any, Any], Any]] = {"a @ v": lambda a, v: a @ v, "a.T @ v": lambda a, v: a.T @ v}
TABLES = ((SQUARE, PRODUCTS), (OBLONG, PRODUCTS), (VECTORS, OF_VECTORS))


def timed(f: Callable[..., Any], args: tuple[Any, ...], largest: int) -> Timing:
    """Time the bound program, with contractions of up to ``largest`` products emitted."""
    kept = [getattr(module, name) for module, name in LIMITS]
    try:
        for module, name in LIMITS:
            setattr(module, name, largest)
        lowered._templates.clear()  # what was decided before
        call = wg.jit(lambda *xs: f(*xs)).program(*args).bind(*args)
        np.testing.assert_allclose(call(), f(*args), rtol=1e-3 if args[0].dtype == np.float32 else 1e-9)
        return measure(call, 0.1)
    finally:
        for (module, name), value in zip(LIMITS, kept, strict=True):
            setattr(module, name, value)
        lowered._templates.clear()


def operands(form: str, shape: Shape, dtype: Any) -> tuple[Any, Any]:
    """Return an m by k and a k by n matrix to be multiplied, in the layout that ``form`` names."""
    m, n, k = shape
    random = np.random.default_rng(0)
    a = random.random((k, m) if form.startswith("a.T") else (m, k))
    b = random.random(k if form.endswith("v") else (n, k) if form.endswith("b.T") else (k, n))
    return a.astype(dtype), b.astype(dtype)


def show(console: Console, shapes: Sequence[Shape], forms: dict[str, Callable[[Any, Any], Any]], dtype: Any) -> None:
    table = Table(title=f"{np.dtype(dtype)}, {target().cpu}: emitted, BLAS (least) and emitted / BLAS")
    for title in ("m, n, k", *forms):
        table.add_column(title, no_wrap=True)
    for shape in shapes:
        cells = [", ".join(map(str, shape))]
        for name, f in forms.items():
            args = operands(name, shape, dtype)
            emitted, blas = timed(f, args, 1 << 40).least, timed(f, args, 0).least
            colour = "green" if emitted <= blas else "red"
            cells.append(f"{emitted * 1e6:8.3f} {blas * 1e6:8.3f} us [{colour}]{emitted / blas:5.2f}[/]")
        table.add_row(*cells)
    console.print(table)


def main() -> None:
    is_quick = "--quick" in sys.argv
    console = Console(width=None if sys.stdout.isatty() else 170)
    for dtype in (np.float64,) if is_quick else (np.float64, np.float32):
        for shapes, forms in TABLES:
            show(console, shapes[:: 3 if is_quick else 1], forms, dtype)


if __name__ == "__main__":
    main()

"""Where BLAS becomes faster than the contractions that we emit: ``fuse.SMALL_CONTRACTION`` and ``SMALL_PRODUCT``, and
``contract.MAX_TILED`` are chosen by this table.

Products of n by n matrices in three layouts, and of a matrix and a vector, each as a bound program: once with every
contraction emitted, once with every contraction given to BLAS.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.timing import Timing, measure  # first: it pins the threads

import numpy as np  # isort: skip
from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip

import wengert as wg
from wengert.codegen import contract
from wengert.runtime import assemble

fuse: Any = importlib.import_module("wengert.passes.fuse")  # the package has a function of that name
SIZES = (4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 96)  # more is never emitted
FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "a @ b": lambda a, b: a @ b,
    "a @ b.T": lambda a, b: a @ b.T,
    "a.T @ b": lambda a, b: a.T @ b,
    "a @ v": lambda a, v: a @ v,
    "a.T @ v": lambda a, v: a.T @ v,
}


def timed(f: Callable[..., Any], args: tuple[Any, ...], largest: int) -> Timing:
    """Bound, with contractions of up to ``largest`` products emitted."""
    kept = fuse.SMALL_CONTRACTION, fuse.SMALL_PRODUCT, contract.MAX_TILED
    try:
        fuse.SMALL_CONTRACTION = fuse.SMALL_PRODUCT = contract.MAX_TILED = largest
        assemble._templates.clear()  # what was decided before
        call = wg.jit(lambda *xs: f(*xs)).program(*args).bind(*args)
        np.testing.assert_allclose(call(), f(*args), rtol=1e-3 if args[0].dtype == np.float32 else 1e-9)
        return measure(call, 0.2)
    finally:
        fuse.SMALL_CONTRACTION, fuse.SMALL_PRODUCT, contract.MAX_TILED = kept
        assemble._templates.clear()


def main() -> None:
    dtypes = (np.float64,) if "--quick" in sys.argv else (np.float64, np.float32)
    random = np.random.default_rng(0)
    console = Console(width=None if sys.stdout.isatty() else 170)
    for dtype in dtypes:
        table = Table(title=f"{np.dtype(dtype)}: emitted, BLAS (least) and emitted / BLAS")
        for title in ("n", *FORMS):
            table.add_column(title, no_wrap=True)
        for n in SIZES:
            cells = [str(n)]
            for name, f in FORMS.items():
                second = (n,) if name.endswith("v") else (n, n)
                args = random.random((n, n)).astype(dtype), random.random(second).astype(dtype)
                emitted, blas = timed(f, args, 1 << 40).least, timed(f, args, 0).least
                colour = "green" if emitted <= blas else "red"
                cells.append(f"{emitted * 1e6:8.3f} {blas * 1e6:8.3f} us [{colour}]{emitted / blas:5.2f}[/]")
            table.add_row(*cells)
        console.print(table)


if __name__ == "__main__":
    main()

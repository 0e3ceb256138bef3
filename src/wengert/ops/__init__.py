"""The ops that a tape can hold, except those of :mod:`wengert.higher`. Importing this package registers them."""

from wengert.ops import contract, control, elementwise, filters, fourier, index, linalg, random, reduce, shape, splines
from wengert.ops.op import OPS, UFUNCS, Op

__all__ = [
    "OPS",
    "UFUNCS",
    "Op",
    "contract",
    "control",
    "elementwise",
    "filters",
    "fourier",
    "index",
    "linalg",
    "random",
    "reduce",
    "shape",
    "splines",
]

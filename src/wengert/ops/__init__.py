"""What can be on a tape. Importing this package fills the registry of ops, but for those of :mod:`wengert.higher`."""

from wengert.ops import contract, control, elementwise, fourier, index, linalg, random, reduce, shape
from wengert.ops.op import OPS, UFUNCS, Op

__all__ = [
    "OPS",
    "UFUNCS",
    "Op",
    "contract",
    "control",
    "elementwise",
    "fourier",
    "index",
    "linalg",
    "random",
    "reduce",
    "shape",
]

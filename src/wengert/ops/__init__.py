"""The steps that a tape can hold, except loops, branches and primitives. Importing this package registers them.

``OPS`` has every op by its name, ``OPS["cos"]``, and ``UFUNCS`` the op that a ufunc of NumPy's or SciPy's becomes. An
op is called with variables of a tape, in a rule or an edit, or with arrays.
"""

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


def __dir__() -> list[str]:
    return list(__all__)

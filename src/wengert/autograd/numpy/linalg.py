"""``numpy.linalg``, which wengert traces, and autograd's helpers for stacks of matrices."""

import numpy as np
from numpy.linalg import *  # noqa: F403

T = np.matrix_transpose
_dot = lambda a, b: np.einsum("...ij,...jk->...ik", a, b)

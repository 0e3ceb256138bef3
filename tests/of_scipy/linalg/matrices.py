"""Matrices of every kind for tests of ``scipy.linalg``."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

sl: Any = scipy.linalg
"""The module, without the types of its functions, which have a result for each option."""

_rng = np.random.default_rng(0)
A, B = _rng.standard_normal((4, 4)), _rng.standard_normal((4, 4))
S = A @ A.T + 4 * np.eye(4)
C = A + 1j * B
H = C @ C.conj().T + 4 * np.eye(4)
X, Y = _rng.standard_normal((4, 2)), _rng.standard_normal(4)
TALL = _rng.standard_normal((5, 3))
WIDE = TALL.T.copy()
HALF = np.array([[9.0, 8, 7, 9], [1, 2, -1, 0], [0.3, 0.1, 0, 0]])
HALF_ABOVE = np.array([[0.0, 1, 2, -1], [9, 8, 7, 9]])


def sym(a: Any) -> Any:
    return (a + a.conj().T) / 2

"""Matrices that the tests of sparse matrices share."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
RNG = np.random.default_rng(0)
A = sp.csr_array(np.where(RNG.random((5, 5)) < 0.5, RNG.uniform(0.2, 1, (5, 5)), 0) + np.diag(np.full(5, 0.3)))
B = sp.csc_array(np.where(RNG.random((5, 5)) < 0.5, RNG.uniform(0.2, 1, (5, 5)), 0))
X, W = np.arange(1.0, 6.0), RNG.standard_normal((5, 3))


def made(d: Any, name: str = "csr", kind: str = "array") -> Any:
    of = sp.csr_array if kind == "array" else sp.csr_matrix
    return of((d, A.indices, A.indptr), shape=(5, 5)).asformat(name)


def plain(x: Any) -> Any:
    """The numbers of a result, in one axis."""
    return np.reshape(x.toarray() if sp.issparse(x) else np.asarray(x), (-1,))

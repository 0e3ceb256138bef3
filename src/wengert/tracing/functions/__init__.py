"""The NumPy functions and ndarray methods that wengert traces: importing this module fills the tables.

Each function stands in the file of its idea, in plain NumPy on traced arrays wherever that is short enough:
what ``np.var`` becomes on the tape is what ``var`` in :mod:`wengert.tracing.functions.statistics` says.
"""

from __future__ import annotations

from wengert.tracing.functions import (  # noqa: F401  # to fill the tables
    bits,
    buffers,
    caching,
    calculus,
    counting,
    creation,
    diagonals,
    drawing,
    einsum,
    flat,
    fortran,
    fourier,
    index_tricks,
    iterating,
    joining,
    linalg,
    memory,
    methods,
    numba_functions,
    padding,
    polynomials,
    products,
    python_math,
    python_numbers,
    queries,
    read_only,
    reductions,
    refused,
    scimath,
    seeding,
    selecting,
    sets,
    shaping,
    sorting,
    statistics,
    ufuncs,
    vectorizing,
)

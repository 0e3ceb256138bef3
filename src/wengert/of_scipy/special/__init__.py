"""Functions of scipy.special that are Python code rather than ufuncs; the ufuncs are in :mod:`wengert.ops.special`."""

from wengert.of_scipy.special import legendre, sequences, usual  # noqa: F401  # to fill the tables

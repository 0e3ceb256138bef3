"""Scalar functions on vectors: what a map does at one element, for as many elements as a register holds.

Which there are, and for what dtypes, says :mod:`~wengert.codegen.vecmath.table`.
"""

from wengert.codegen.vecmath.table import ACCEPTED, FAST, FUNCTIONS, apply, is_supported

__all__ = ["ACCEPTED", "FAST", "FUNCTIONS", "apply", "is_supported"]

"""Scalar functions on vectors: what a map does at one element, for as many elements as a register holds.

Which there are, for what dtypes, and how heavy they are, says :mod:`~wengert.codegen.vecmath.table`.
"""

from wengert.codegen.vecmath.table import FAST, FUNCTIONS, Row, Weight, apply, is_supported, weight_of

__all__ = ["FAST", "FUNCTIONS", "Row", "Weight", "apply", "is_supported", "weight_of"]

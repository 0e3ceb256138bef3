"""Derivatives for solvers that would take finite differences: by hand, or for all calls in a context."""

from wengert.solvers.slots import hess_for, hessp_for, jac_for
from wengert.solvers.whole import exact

__all__ = ["exact", "hess_for", "hessp_for", "jac_for"]

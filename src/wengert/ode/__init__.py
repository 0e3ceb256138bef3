"""Differential equations: ``solve_ivp`` as SciPy's, compiled, and differentiable in all that it is given."""

from wengert.ode.solution import OdeResult
from wengert.ode.solve import solve_ivp

__all__ = ["OdeResult", "solve_ivp"]

"""Differential equations: ``solve_ivp`` as SciPy's, compiled, and differentiable in all that it is given."""

from typing import TYPE_CHECKING

import wengert as wg
from wengert.ode.solution import OdeResult
from wengert.ode.solve import solve_ivp

__all__ = ["OdeResult", "solve_ivp"]

if not TYPE_CHECKING:
    __getattr__ = wg.expect.missing(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)

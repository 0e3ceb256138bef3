"""``scipy.optimize`` on traced values: each call is one step, with the derivatives of the solution.

SciPy's routine runs when the step runs, with the user's function compiled and with exact derivatives. How the solution
moves with what the function captures is the implicit function theorem's affair: :mod:`wengert.higher.implicit`.
"""

from __future__ import annotations

from wengert.of_scipy.optimize import differences, elementwise, linear, minima, roots, squares  # noqa: F401

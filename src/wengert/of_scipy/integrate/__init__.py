"""``scipy.integrate`` on traced values: integrals of functions and of samples, and differential equations."""

from __future__ import annotations

from wengert.of_scipy.integrate import boundary, equations, functions, samples  # noqa: F401

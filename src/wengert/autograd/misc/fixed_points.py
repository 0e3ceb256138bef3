"""Fixed points, with the derivatives of the implicit function theorem."""

from __future__ import annotations

from typing import Any

from wengert.api.roots import known_root
from wengert.autograd.core import F, flatten_containers, getval


def fixed_point(f: F, a: object, x0: object, distance: F, tol: float) -> Any:
    """Return x = f(a)(x), by iteration from ``x0`` until two iterates are as close as ``tol``."""
    leaves, treedef = flatten_containers(a)
    step = f(treedef.unflatten(map(getval, leaves)))
    x, x_prev = step(getval(x0)), getval(x0)
    while distance(x, x_prev) > tol:
        x, x_prev = step(x), x
    return known_root(lambda x: f(a)(x) - x, x)

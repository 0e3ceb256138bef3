"""Ufuncs of scipy.special, by family. Imported when the first of these ufuncs meets a traced value, never by
``import wengert``: scipy.special is slow to import."""

from wengert.ops.special import (
    cylinder,
    distributions,
    elliptic,
    gammas,
    hypergeometric,
    noncentral,
    orders,
    polynomials,
    spherical,
)
from wengert.ops.special.declare import SEVERAL
from wengert.ops.special.usual import *  # noqa: F403  # the usual ones are called from other modules, by name

__all__ = [
    "SEVERAL",
    "cylinder",
    "distributions",
    "elliptic",
    "gammas",
    "hypergeometric",
    "noncentral",
    "orders",
    "polynomials",
    "spherical",
]

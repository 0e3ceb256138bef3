"""Legendre functions and spherical harmonics of scipy.special, which SciPy calls through objects of its own.

Each is an object that is called, so the replacement gets the object first. Derivatives that SciPy gives beside the
value, ``diff_n``, are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.ops.op import Op
from wengert.ops.special import spherical as ops
from wengert.tracing.arguments import array, arrays, as_dtype, concrete, unsupported
from wengert.tracing.emit import record
from wengert.tracing.interception.intercept import intercepts

Integers = np.ndarray[Any, np.dtype[np.int64]]


def _whole(name: str, which: str, n: Any) -> Integers:
    """A degree or order as plain integers: it decides which functions these are, and is looked at."""
    value = np.asarray(concrete(n, "int"))
    if value.dtype.kind not in "iub" and not (value == np.round(value)).all():
        raise unsupported(f"scipy.special.{name}: {which} is not a whole number", "an integer")
    return value.astype(np.int64)


def _wholes(name: str, n: Any, m: Any) -> tuple[Integers, Integers]:
    return _whole(name, "the degree n", n), _whole(name, "the order m", m)


def _real(name: str, x: Any) -> Any:
    x = array(x)
    if x.dtype.kind == "c":
        raise unsupported(f"scipy.special.{name} of complex numbers is not traced", "a real argument")
    return as_dtype(x, np.float64)  # as SciPy computes, of degrees that are int64


def _refuse_derivatives(name: str, diff_n: int) -> None:
    if diff_n:
        raise unsupported(f"scipy.special.{name}: diff_n={diff_n!r} is not traced", "wg.jvp or wg.jacobian of it")


def _recorded(op: Op, *xs: Any) -> Any:
    return record(op, tuple(arrays(*xs)), {})


def _column(n: Integers, *xs: Any) -> Integers:
    """Whole numbers along new first axes, in front of those of the arguments."""
    return n.reshape((*n.shape, *[1] * max(np.ndim(x) for x in xs)))


def _degrees(n: int) -> Integers:
    return np.arange(n + 1, dtype=np.int64)[:, None]


def _orders(m: int) -> Integers:
    return np.concatenate([np.arange(m + 1), np.arange(-m, 0)])[None, :]  # as SciPy has them


@intercepts("scipy.special:legendre_p")
def legendre_p(own: object, n: ArrayLike, z: ArrayLike, *, diff_n: int = 0) -> Any:
    _refuse_derivatives("legendre_p", diff_n)
    return _recorded(ops.legendre_p, _whole("legendre_p", "the degree n", n), _real("legendre_p", z))[None]


@intercepts("scipy.special:legendre_p_all")
def legendre_p_all(own: object, n: int, z: ArrayLike, *, diff_n: int = 0) -> Any:
    _refuse_derivatives("legendre_p_all", diff_n)
    z = _real("legendre_p_all", z)
    return _recorded(ops.legendre_p, _column(_degrees(int(n))[:, 0], z), z)[None]


def _factor(n: Integers, m: Integers) -> Any:
    """√((2n + 1)(n − m)! / (2(n + m)!)), which normalises an associated Legendre function; 0 for |m| > n."""
    from scipy.special import gammaln

    is_in = np.abs(m) <= n
    order = np.where(is_in, m, 0)
    logarithm = gammaln(n - order + 1.0) - gammaln(n + order + 1.0)
    return np.where(is_in, np.sqrt(n + 0.5) * np.exp(0.5 * logarithm), 0.0)


def _associated(name: str, n: Integers, m: Integers, z: Any, branch_cut: int, norm: bool) -> Any:
    if branch_cut != 2:
        raise unsupported(f"scipy.special.{name}: branch_cut={branch_cut!r} is not traced", "branch_cut=2")
    value = _recorded(ops.assoc_legendre_p, n, m, z)
    return value * _factor(n, m) if norm else value


@intercepts("scipy.special:assoc_legendre_p")
def assoc_legendre_p(
    own: object, n: ArrayLike, m: ArrayLike, z: ArrayLike, *, branch_cut: int = 2, norm: bool = False, diff_n: int = 0
) -> Any:
    _refuse_derivatives("assoc_legendre_p", diff_n)
    degree, order = _wholes("assoc_legendre_p", n, m)
    return _associated("assoc_legendre_p", degree, order, _real("assoc_legendre_p", z), branch_cut, norm)[None]


@intercepts("scipy.special:assoc_legendre_p_all")
def assoc_legendre_p_all(
    own: object, n: int, m: int, z: ArrayLike, *, branch_cut: int = 2, norm: bool = False, diff_n: int = 0
) -> Any:
    _refuse_derivatives("assoc_legendre_p_all", diff_n)
    z = _real("assoc_legendre_p_all", z)
    degrees, orders = _column(_degrees(int(n)), z), _column(_orders(int(m)), z)
    return _associated("assoc_legendre_p_all", degrees, orders, z, branch_cut, norm)[None]


@intercepts("scipy.special:sph_legendre_p")
def sph_legendre_p(own: object, n: ArrayLike, m: ArrayLike, theta: ArrayLike, *, diff_n: int = 0) -> Any:
    _refuse_derivatives("sph_legendre_p", diff_n)
    degree, order = _wholes("sph_legendre_p", n, m)
    return _recorded(ops.sph_legendre_p, degree, order, _real("sph_legendre_p", theta))[None]


@intercepts("scipy.special:sph_legendre_p_all")
def sph_legendre_p_all(own: object, n: int, m: int, theta: ArrayLike, *, diff_n: int = 0) -> Any:
    _refuse_derivatives("sph_legendre_p_all", diff_n)
    theta = _real("sph_legendre_p_all", theta)
    return _recorded(ops.sph_legendre_p, _column(_degrees(int(n)), theta), _column(_orders(int(m)), theta), theta)[None]


def _harmonic(n: Integers, m: Integers, theta: Any, phi: Any) -> Any:
    """The associated Legendre function of θ times e^(imφ)."""
    turns = m * phi
    return _recorded(ops.sph_legendre_p, n, m, theta) * (np.cos(turns) + 1j * np.sin(turns))


@intercepts("scipy.special:sph_harm_y")
def sph_harm_y(own: object, n: ArrayLike, m: ArrayLike, theta: ArrayLike, phi: ArrayLike, *, diff_n: int = 0) -> Any:
    _refuse_derivatives("sph_harm_y", diff_n)
    degree, order = _wholes("sph_harm_y", n, m)
    return _harmonic(degree, order, _real("sph_harm_y", theta), _real("sph_harm_y", phi))


@intercepts("scipy.special:sph_harm_y_all")
def sph_harm_y_all(own: object, n: int, m: int, theta: ArrayLike, phi: ArrayLike, *, diff_n: int = 0) -> Any:
    _refuse_derivatives("sph_harm_y_all", diff_n)
    theta, phi = _real("sph_harm_y_all", theta), _real("sph_harm_y_all", phi)
    return _harmonic(_column(_degrees(int(n)), theta, phi), _column(_orders(int(m)), theta, phi), theta, phi)

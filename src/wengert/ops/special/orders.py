"""Derivatives of Bessel functions in their order, by quadrature: ∂ⁿ/∂vⁿ is a factor (−t)ⁿ under the defining integral.

J_v(x) = 1/2πi ∫ exp(x sinh t − v t) dt from ∞ − iπ to ∞ + iπ (DLMF 10.9.17, Schläfli's), and I_v with cosh; Y_v is the
imaginary part of the same integral from −∞ to ∞ + iπ. The path is a half line and the vertical line through the saddle
point (cosh t = v/x, sinh t = v/x), on which the integrand is as large as the function: nothing cancels, even where J
and I are tiny. For x > v, where J oscillates, the vertical line is the imaginary axis. The number of nodes grows with
the number of half turns that the phase of the integrand makes.

The error is that of rounding, below 1e-11 relative (of J and Y for x > v, relative to the largest of an oscillation),
for orders between −10 and 100 and x between 1e-3 and 1e3. Beyond x + |v| = 1e4 J and Y are Hankel's asymptotic series,
where v² < 2 x, and else NaN.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.ops.elementwise import sign
from wengert.ops.kernels import flops
from wengert.ops.op import elementwise
from wengert.ops.special.usual import jv
from wengert.tape import Atom

NODES, PANELS = 24, 10
NOTHING = 50.0
"""An integrand is left out where it is less than e^−50 of its maximum."""
MOST_TURNS = 1e4

_gauss = functools.cache(np.polynomial.legendre.leggauss)


def _integral(
    f: Callable[[Any], Any], low: np.ndarray[Any, Any] | float, high: np.ndarray[Any, Any], panels: int
) -> Any:
    """∫ f from ``low`` to ``high`` by Gauss's rule on ``panels`` equal panels."""
    total: Any = 0.0
    half = 0.5 * (high - low) / panels
    for k in range(panels):
        for node, weight in zip(*_gauss(NODES), strict=True):
            total = total + weight * f(low + half * (2 * k + 1 + node))
    return total * half


def _edge(is_inside: Callable[[Any], Any], inside: np.ndarray[Any, Any], outside: np.ndarray[Any, Any]) -> Any:
    """The point between ``inside`` and ``outside`` at which ``is_inside`` ends to hold, by bisection."""
    for _ in range(30):
        middle = 0.5 * (inside + outside)
        holds = is_inside(middle)
        inside, outside = np.where(holds, middle, inside), np.where(holds, outside, middle)
    return outside


def _on_half_line(
    g: Callable[[Any], Any], log_f: Callable[[Any], Any], start: np.ndarray[Any, Any], top: np.ndarray[Any, Any]
) -> Any:
    """∫ g f from ``start`` to ∞, for an f with its only maximum at ``top``."""
    top = np.maximum(start, top)
    is_large = lambda s: log_f(s) > log_f(top) - NOTHING
    low = np.where(is_large(start), start, _edge(is_large, top, start))
    high = _edge(is_large, top, top + 800.0)
    return _integral(lambda s: g(s) * np.exp(log_f(s)), low, high, PANELS)


def _first_or_second(v: np.ndarray[Any, Any], x: np.ndarray[Any, Any], n: int, kind: str) -> Any:
    """The derivative number ``n`` in the order of J_v (``kind`` "j") or Y_v."""
    alpha = np.arccosh(np.maximum(v / x, 1.0))
    steepness = np.maximum(x * np.sinh(alpha), 1e-300)
    last = 2 * np.arcsin(np.minimum(1.0, np.sqrt(0.5 * NOTHING / steepness)))
    turns = np.where(v > x, v * (last - np.sin(last)) / np.pi, np.abs(v) + x)  # half turns on the vertical line
    is_known = np.abs(v) + x < MOST_TURNS
    panels = 4 + int(np.max(np.where(is_known, turns, 0.0), initial=0.0) / 6)

    def upright(tau: np.ndarray[Any, Any]) -> Any:
        t = alpha + 1j * tau
        return (-t) ** n * np.exp(x * np.sinh(t) - v * t)

    outward = _on_half_line(
        lambda s: (-(s + 1j * np.pi)) ** n,
        lambda s: -x * np.sinh(s) - v * s,
        alpha,
        np.arccosh(np.maximum(-v / x, 1.0)),
    ) * np.exp(-1j * np.pi * v)
    if kind == "j":
        total = _integral(lambda tau: upright(tau).real, 0.0, last, panels) + outward.imag
    else:
        inward = _on_half_line(
            lambda s: s**n, lambda s: -x * np.sinh(s) + v * s, -alpha, np.arccosh(np.maximum(v / x, 1.0))
        )
        total = _integral(lambda tau: upright(tau).imag, 0.0, last, panels) - outward.real - inward
    return np.where(is_known, total / np.pi, _far(v, x, n, kind))


def _far(v: np.ndarray[Any, Any], x: np.ndarray[Any, Any], n: int, kind: str) -> Any:
    """√(2/πx) e^i(x − vπ/2 − π/4) Σ iᵏ aₖ(v) x⁻ᵏ (DLMF 10.17.5), by Leibniz's rule; NaN where v² > 2 x."""
    total: Any = [np.zeros(np.shape(x)) for _ in range(n + 1)]
    term: Any = [np.ones(np.shape(x)) * (m == 0) for m in range(n + 1)]  # aₖ(v) iᵏ x⁻ᵏ and its derivatives
    for k in range(1, 31):
        total = [t + u for t, u in zip(total, term, strict=True)]
        factor = 4 * v * v - (2 * k - 1) ** 2
        lower = [term[m - 1] if m else 0.0 for m in range(n + 1)]
        second = [term[m - 2] if m > 1 else 0.0 for m in range(n + 1)]
        term = [
            (term[m] * factor + m * lower[m] * 8 * v + m * (m - 1) / 2 * second[m] * 8) * (1j / (8 * k)) / x
            for m in range(n + 1)
        ]
    turned = sum([math.comb(n, m) * (-0.5j * np.pi) ** (n - m) * total[m] for m in range(n + 1)])
    phase = 0.5 * np.pi * (v - 4 * np.rint(0.25 * v)) + 0.25 * np.pi
    wave: Any = np.sqrt(2 / (np.pi * x)) * turned * np.exp(1j * x) * np.exp(-1j * phase)
    return np.where(v * v < 2 * x, wave.real if kind == "j" else wave.imag, np.nan)


def _modified_first(v: np.ndarray[Any, Any], x: np.ndarray[Any, Any], n: int) -> Any:
    """The derivative number ``n`` in the order of e⁻ˣ I_v."""
    alpha = np.arcsinh(v / x)
    last = 2 * np.arcsin(np.minimum(1.0, np.sqrt(0.5 * NOTHING / np.hypot(v, x))))

    def upright(tau: np.ndarray[Any, Any]) -> Any:
        t = alpha + 1j * tau
        return ((-t) ** n * np.exp(x * (np.cosh(t) - 1) - v * t)).real

    outward = _on_half_line(
        lambda s: (-(s + 1j * np.pi)) ** n, lambda s: -x * (np.cosh(s) + 1) - v * s, alpha, np.arcsinh(-v / x)
    ) * np.exp(-1j * np.pi * v)
    return (_integral(upright, 0.0, last, PANELS) + outward.imag) / np.pi


def _modified_second(v: np.ndarray[Any, Any], x: np.ndarray[Any, Any], n: int) -> Any:
    """The derivative number ``n`` in the order of eˣ K_v = ∫₀^∞ cosh v s exp(−x (cosh s − 1)) ds."""
    size = np.abs(v)

    def factor(s: np.ndarray[Any, Any]) -> Any:  # e^−|v|s times sinh v s or cosh v s
        return s**n * (-np.expm1(-2 * size * s) * np.sign(v) if n % 2 else 1 + np.exp(-2 * size * s))

    return 0.5 * _on_half_line(
        factor, lambda s: -2 * x * np.sinh(0.5 * s) ** 2 + size * s, 0.0 * x, np.arcsinh(size / x)
    )


def _by_order(v: np.ndarray[Any, Any], x: np.ndarray[Any, Any], *, kind: str, order: int) -> Any:
    dtype = np.result_type(v, x)
    v, x = np.broadcast_arrays(np.asarray(v, float), np.asarray(x, float))
    is_in = (x > 0) & np.isfinite(x) & np.isfinite(v)
    with np.errstate(all="ignore"):
        args = np.where(is_in, v, 0.5), np.where(is_in, x, 1.0), order
        if kind in "jy":
            value = _first_or_second(*args, kind)
        else:
            value = _modified_first(*args) if kind == "i" else _modified_second(*args)
    is_origin = (x == 0) & (v > 0) & (kind in "ji")  # xᵛ logⁿ x
    return np.asarray(np.where(is_in, value, np.where(is_origin, 0.0, np.nan)), dtype)[()]


def _partials(kind: str, order: int) -> list[Any]:
    def by_x(v: Atom, x: Atom, y: Atom) -> Any:
        """The functions' own recurrences hold under ∂/∂v (DLMF 10.6.1, 10.29.1); I and K are scaled."""
        below, above = [bessel_by_order(v + k, x, kind=kind, order=order) for k in (-1, 1)]
        if kind in "jy":
            return 0.5 * (below - above)
        return 0.5 * (below + above) - sign(x) * y if kind == "i" else y - 0.5 * (below + above)

    return [lambda v, x, y: bessel_by_order(v, x, kind=kind, order=order + 1), by_x]


bessel_by_order = elementwise(  # ∂ⁿ/∂vⁿ of J, Y, e⁻ˣ I and eˣ K, n = ``order``; NaN for x < 0
    _by_order,
    name="bessel_by_order",
    type=lambda v, x, *, kind, order: jv.type(v, x),
    partials=_partials,
    cost=flops(50_000),
)

"""Minimax polynomials: where the coefficients in ``wengert/codegen`` come from.

``fit`` finds the polynomial p of given degree with the least max |w (p - g)| on an interval (Remez exchange, in 60
digits), rounds its coefficients to the dtype and reports the error of the rounded one in bits. Run it to print every
table; needs mpmath.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

mp.mp.dps = 60
GRID = 2000


def chebyshev_nodes(a: Any, b: Any, n: int) -> list[Any]:
    return [(a + b) / 2 + (b - a) / 2 * mp.cos(mp.pi * (n - 1 - k) / (n - 1)) for k in range(n)]


def horner(c: list[Any], x: Any) -> Any:
    total = mp.mpf(0)
    for a in reversed(c):
        total = total * x + a
    return total


def remez(g: Callable[[Any], Any], w: Callable[[Any], Any], a: Any, b: Any, degree: int, rounds: int = 12) -> list[Any]:
    """Coefficients, lowest first, of the polynomial whose weighted error alternates degree + 2 times."""
    n = degree + 2
    nodes = chebyshev_nodes(a, b, n)
    grid = chebyshev_nodes(a, b, GRID)
    floor = max(w(x) for x in grid) * mp.mpf("1e-5")  # where the weight vanishes the system would be singular
    samples = [(x, g(x), max(w(x), floor)) for x in grid]
    c: list[Any] = []
    for _ in range(rounds):
        rows = [[x**j for j in range(degree + 1)] + [(-1) ** k / max(w(x), floor)] for k, x in enumerate(nodes)]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix([g(x) for x in nodes]))
        c, level = list(solution[: degree + 1]), abs(solution[degree + 1])
        errors = [(horner(c, x) - y) * weight for x, y, weight in samples]
        peaks: list[tuple[Any, Any]] = []
        for x, e in zip(grid, errors, strict=True):
            if peaks and (e > 0) == (peaks[-1][1] > 0):
                if abs(e) > abs(peaks[-1][1]):
                    peaks[-1] = (x, e)
            else:
                peaks.append((x, e))
        while len(peaks) > n:  # drop the smaller end
            peaks.pop(0 if abs(peaks[0][1]) < abs(peaks[-1][1]) else -1)
        if len(peaks) < n:
            break
        nodes = [x for x, _ in peaks]
        if max(abs(e) for _, e in peaks) < level * (1 + mp.mpf("1e-3")):
            break
    return c


def fit(
    name: str,
    g: Callable[[Any], Any],
    a: Any,
    b: Any,
    degree: int,
    w: Callable[[Any], Any] = lambda x: mp.mpf(1),
    dtype: type = np.float64,
    split_first: bool = False,
) -> list[float]:
    """Print and return the rounded coefficients, lowest first, and the greatest weighted error as a power of two.

    ``split_first`` gives the first coefficient as two, a float and what it lacks.
    """
    a, b = mp.mpf(a), mp.mpf(b)
    exact = remez(g, w, a, b, degree)
    rounded = [float(dtype(str(mp.nstr(x, 40)))) if dtype is not np.float64 else float(x) for x in exact]
    low = float(exact[0] - mp.mpf(rounded[0])) if split_first else 0.0
    seen = [mp.mpf(rounded[0]) + low, *(mp.mpf(x) for x in rounded[1:])]
    worst = max(abs((horner(seen, x) - g(x)) * w(x)) for x in chebyshev_nodes(a, b, 4001))
    bits = float(mp.log(worst, 2)) if worst else -999.0
    print(f"{name} = [  # degree {degree} on [{mp.nstr(a, 6)}, {mp.nstr(b, 6)}], error 2^{bits:.1f}")
    rounded = [rounded[0], low, *rounded[1:]] if split_first else rounded
    for x in rounded:
        print(f"    {x!r},")
    print("]", flush=True)
    return rounded


def near_zero(g: Callable[[Any], Any], at_zero: Any) -> Callable[[Any], Any]:
    """g, with its limit where its formula would be 0/0."""
    return lambda x: g(x) if abs(x) > mp.mpf("1e-15") else at_zero


def erfcx(x: Any) -> Any:
    """exp(x²) erfc(x), beyond 60 by the asymptotic series."""
    if x < 60:
        return mp.exp(x * x) * mp.erfc(x)
    total = term = mp.mpf(1)
    for k in range(1, 40):
        term *= -(2 * k - 1) / (2 * x * x)
        total += term
    return total / (x * mp.sqrt(mp.pi))


def erfcx_in_t(t: Any) -> Any:
    """erfcx(x) (1 + 2 x) with t = (x − 3)/(x + 3)."""
    if t > 1 - mp.mpf("1e-20"):
        return 2 / mp.sqrt(mp.pi)
    x = 3 * (1 + t) / (1 - t)
    return erfcx(x) * (1 + 2 * x)


def main() -> None:
    """Every table of wengert/codegen, in the order of the files."""
    mpf, root, f4 = mp.mpf, mp.sqrt, np.float32

    half_ln2 = mpf("0.3468")
    exp = near_zero(lambda r: (mp.exp(r) - 1 - r) / r**2, mpf("0.5"))
    for degree, dtype in ((10, np.float64), (5, f4), (9, np.float64), (4, f4)):  # the last two for fast.py
        fit("EXP", exp, -half_ln2, half_ln2, degree, lambda r: r * r / mp.exp(r), dtype)
    for steps, degree, dtype in ((8, 5, np.float64), (16, 1, f4)):
        near = mp.log(2) / (2 * steps) * mpf("1.001")
        fit("EXP_NEAR", exp, -near, near, degree, lambda r: r * r / mp.exp(r), dtype)
        for j in range(steps):
            power = mpf(2) ** (mpf(j) / steps)
            high = float(dtype(power))
            print("ROOTS_OF_TWO, _LACK:", high, float(dtype((power - high) / high)))  # of "f8": 20 bits are enough
    cosh = near_zero(lambda z: (mp.cosh(root(z)) - 1) / z, mpf("0.5"))
    sinh = near_zero(lambda z: (mp.sinh(root(z)) / root(z) - 1) / z, mpf(1) / 6)
    for degree, dtype in ((5, np.float64), (2, f4)):
        fit("COSH", cosh, 0, half_ln2**2, degree, lambda z: z / mp.cosh(root(z)), dtype)
        fit("SINH", sinh, 0, half_ln2**2, degree, lambda z: z, dtype)

    largest = ((root(2) - 1) / (root(2) + 1)) ** 2 * mpf("1.0002")
    log = near_zero(lambda z: (2 * mp.atanh(root(z)) / root(z) - 2) / z, mpf(2) / 3)
    for degree, dtype in ((6, np.float64), (3, f4)):
        fit("LOG", log, 0, largest, degree, lambda z: z / 2, dtype)
    log_long = near_zero(lambda z: (2 * mp.atanh(root(z)) / root(z) - 2 - 2 * z / 3) / z**2, mpf(2) / 5)
    fit("LOG_LONG", log_long, 0, largest, 7, lambda z: z * z / 2)

    largest = (mp.pi / 4) ** 2 * mpf("1.001")
    sin = near_zero(lambda z: (mp.sin(root(z)) / root(z) - 1) / z, -mpf(1) / 6)
    cos = near_zero(lambda z: (mp.cos(root(z)) - 1 + z / 2) / z**2, mpf(1) / 24)
    for degree, dtype in ((5, np.float64), (2, f4)):
        fit("SIN", sin, 0, largest, degree, lambda z: z, dtype)
        fit("COS", cos, 0, largest, degree, lambda z: z * z / mp.cos(root(z)), dtype)
    arctan = near_zero(lambda z: (mp.atan(root(z)) / root(z) - 1) / z, -mpf(1) / 3)
    arcsin = near_zero(lambda z: (mp.asin(root(z)) / root(z) - 1) / z, mpf(1) / 6)
    for degree, dtype in ((11, np.float64), (4, f4)):
        fit("ARCTAN", arctan, 0, (root(2) - 1) ** 2 * mpf("1.001"), degree, lambda z: z, dtype)
    for degree, dtype in ((12, np.float64), (5, f4)):
        fit("ARCSIN", arcsin, 0, mpf("0.2501"), degree, lambda z: z, dtype)

    fit("CBRT", lambda m: m ** (-mpf(1) / 3), root(mpf("0.4999")), root(mpf("2.0002")), 4, lambda m: m ** (mpf(1) / 3))
    fit("ERFCX", erfcx_in_t, -1, 1, 25, lambda t: 1 / erfcx_in_t(t), split_first=True)
    factor = 2 / root(mp.pi)
    erf = near_zero(lambda z: (mp.erf(root(z)) / root(z) - factor) / z, -factor / 3)
    fit("ERF", erf, 0, mpf("0.26"), 8, lambda z: z / factor, split_first=True)


if __name__ == "__main__":
    main()

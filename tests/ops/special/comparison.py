"""The derivatives of a function of scipy.special beside mpmath's, at points of every kind: ordinary, negative, whole,
half, at poles, from 1e-300 to 1e300. A point counts where SciPy's value is right.

``python -m tests.ops.special.comparison NAME...`` prints what it finds.
"""

from __future__ import annotations

import signal
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import mpmath
import numpy as np
import scipy.special as sp
from mpmath import mp

from tests.ops import cases, special_cases
from tests.ops.check_op import Case, Operand, evaluate, tape_of
from tests.ops.special import oracle
from wengert.ad.forward import jvp
from wengert.errors import MissingRuleError

SCIPY_IS_RIGHT = 1e-9
"""SciPy's value counts as right within this relative error."""
TOLERANCE = 1e-7
"""A derivative is right within this relative error, or within what a rounding of its operands moves it by, times
``ROUNDINGS``."""
ROUNDINGS = 1e3
SECONDS = 0.5
"""CPU time that mpmath has for one number."""

DEGREE = Operand(lambda rng, shape: rng.uniform(0.2, 6, shape))

CASES = {c.name: c for c in (*cases.CASES, *special_cases.CASES) if c.name in oracle.MEANINGS}
OF_REAL_DEGREE = [n for n in CASES if n.startswith("eval_") and not n.startswith("eval_hermite")]
CASES |= {f"{n} of real degree": replace(CASES[n], operands=(DEGREE, *CASES[n].operands[1:])) for n in OF_REAL_DEGREE}

SIZES = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 7.3, 10.0, 25.5, 100.0, 1e3, 1e4, 1e5, 1e8, 1e15, 1e30, 1e100, 1e300]
SIZES += [0.0, 1e-3, 1e-5, 1e-8, 1e-15, 1e-30, 1e-100, 1e-300, 0.999, 1 - 1e-9, 1 + 1e-9]
SHARES = [1e-300, 1e-100, 1e-30, 1e-15, 1e-8, 1e-4, 0.01, 0.5, 0.9, 0.999, 1 - 1e-6, 1 - 1e-12, 0.0, 1.0]
COUNTS = [-5, -2, -1, 0, 1, 2, 3, 4, 5, 10, 50, 200]

SLOW = frozenset(["chndtrinc", "chndtrix", "chndtridf", "nctdtr", "nctdtrit", "nctdtridf", "nctdtrinc"])
SLOW |= frozenset(["lpmv", "ncfdtr", "ncfdtri", "ncfdtrinc", "ncfdtridfn", "ncfdtridfd", "owens_t", "it2y0", "it2k0"])
SLOW |= frozenset([name for name in CASES if name.startswith("mathieu_")])
"""What mpmath, or SciPy, takes long for: left to the deep test."""

Where = Callable[..., bool]
SCIPY_IS_WRONG: dict[str, list[tuple[int, Where, str]]] = {
    "itairy_ai": [(0, lambda x: x < -1e6, "airy(x), which is the derivative, is NaN")],
    "itairy_ai_back": [(0, lambda x: x > 1e6, "airy(-x), which is the derivative, is NaN")],
    "itairy_bi": [(0, lambda x: x < -1e6, "airy(x), which is the derivative, is NaN")],
    "itairy_bi_back": [(0, lambda x: x > 1e6, "airy(-x), which is the derivative, is NaN")],
    "pbdv": [(1, lambda v, x: 0 < abs(v - round(v)) < 1e-8, "pbdv's own slope is right to 7 digits")],
    "eval_chebyu of real degree": [(1, lambda n, x: abs(x) > 1e90, "eval_gegenbauer is infinite")],
    "eval_sh_legendre of real degree": [
        (1, lambda n, x: n != int(n) and x < 1e-6, "eval_gegenbauer is right to 7 digits beside -1"),
        (1, lambda n, x: n != int(n) and n > 100 and x > 1 - 1e-9, "eval_gegenbauer is NaN beside 1"),
    ],
    "hyperu": [(2, lambda a, b, x: np.isnan(sp.hyperu(a + 1, b + 1, x)), "hyperu(a + 1, b + 1, x) is NaN")],
    "mathieu_modcem1": [(2, lambda m, q, x: abs(x) < 1e-9, "its own slope is right to 1e-16, where it is as small")],
    "mathieu_modsem1_slope": [(2, lambda m, q, x: abs(x) < 1e-9, "mathieu_modsem1 is right to 1e-16, where it is 0")],
}
"""Operand, where, and why: a derivative that is a value of SciPy's, which is wrong there though that of the function is
right. docs/kinks.md has them."""

SCIPY_DOES_NOT_END = {"hyp1f1": 1e10, "nctdtrinc": 1e7}
"""Beyond this in the last operand SciPy's own value takes minutes, if it ever comes."""

WHERE_IT_WAS_WRONG: list[tuple[str, tuple[float, ...]]] = [
    ("agm", (-4.0, -2.2)),
    ("agm", (1e-300, 0.5)),
    ("elliprj", (0.7, 1.2, 2.0, -1.5)),
    ("elliprj", (1.0, 2.8, 3.0, 1e15)),
    ("elliprc", (0.7, -1.5)),
    ("zetac", (-9.0,)),
    ("zetac", (-2.7,)),
    ("zetac", (1e30,)),
    ("voigt_profile", (0.3, 1e-6, 1.2)),
    ("voigt_profile", (0.3, 1e-300, 1.2)),
    ("stdtr", (1e14, -1.3)),
    ("stdtr", (1e14, 3.0)),
    ("poch", (0.0, 1.5)),
    ("poch", (-3.0, 1.5)),
    ("poch", (-3.0, 0.25)),
    ("k0e", (1e15,)),
    ("k1e", (1e15,)),
    ("kve", (1.5, 1e6)),
    ("jv", (2.8, 1e8)),
    ("jv", (-1.5, 12345.678)),
    ("jve", (130.0, 1e5)),
    ("yv", (2.2, 1e15)),
    ("airye_ai", (1e6,)),
    ("airye_aip", (1e6,)),
    ("airye_bi", (1e6,)),
    ("airye_bip", (1e6,)),
    ("beta", (2.4, 1e-100)),
    ("binom", (1e15, 1.4)),
    ("bdtr", (1.7, 6, 1e-30)),
    ("ellipkinc", (1e-15, 0.6)),
    ("ellipj_dn", (0.96, 1 - 1e-12)),
    ("fresnel_s", (98765432.25,)),
    ("gammaincinv", (0.0018, 0.63)),
    ("betaincinv", (0.6, 1e15, 0.76)),
    ("inv_boxcox", (1.6, 1e100)),
    ("eval_legendre", (-5, 0.3)),
    ("eval_chebyu", (-5, 0.3)),
    ("eval_chebys", (-5, 0.3)),
    ("eval_chebyu", (-1, 0.3)),
    ("ncfdtr", (2.3, 3.1, 0.7, 1.5)),
    ("modfresnelm_k", (1000.0,)),
    ("nrdtrimn", (0.79, 0.62, 1e15)),
    ("powm1", (2.0, -100.0)),
    ("btdtria", (0.65, 1e-15, 0.3)),
    ("hyp1f1", (1.3, 2.2, -4.7)),
    ("hyp2f1", (0.7, 1.4, 2.3, 0.6)),
    ("hyp2f1", (0.7, 1.4, 2.3, -5.0)),
    ("hyp2f1", (-2.0, 1.4, 2.3, 0.3)),
    ("iv", (1.803433541659246, 1e-300)),
    ("tklmbda", (0.005251930103881331, 1e-8)),
    ("tklmbda", (-1e-15, 0.2331977631654263)),
    ("it2i0", (1e-8,)),
    ("it2j0", (1e-5,)),
    ("hyp2f1", (1.5350991287884952, 1e-300, 1.6734156126735549, -0.14080566199524647)),
    ("hyp2f1", (0.5784427295127332, 0.001, 1e100, -0.999)),
    ("hyp2f1", (1.5, 1e-12, 1.7, -0.5)),
    ("hyp1f1", (1.2070009786674836, 1e30, -0.020597246011869963)),
    ("hyp1f1", (1e-15, 1.5826429350318785, -1.0058532091901773)),
    ("mathieu_a", (10.0, 1e-15)),
    ("mathieu_a", (2.0, 1e-3)),
    ("mathieu_b", (3.0, 2e-3)),
    ("mathieu_b", (20.0, 1e-3)),
]
"""Points of a function, each of which a rule was wrong at once."""


# ------------------------------------------------------------------------------------------------------- points


def ordinary(operand: Operand, rng: np.random.Generator) -> Any:
    return np.asarray(operand.draw(rng, ())).item()


def odd(operand: Operand, rng: np.random.Generator) -> Any:
    """A number that is not ordinary."""
    usual = [ordinary(operand, rng) for _ in range(8)]
    x = usual[0]
    if isinstance(x, int):
        return int(rng.choice(COUNTS))
    kind = rng.integers(6)
    if isinstance(x, complex):
        return complex([x * 10.0 ** rng.uniform(-3, 3), -x, x.conjugate(), x.real, 1j * x.imag, -x.real][kind])
    if all(0 < u < 1 for u in usual) and kind < 4:
        return float(rng.choice(SHARES))
    if kind == 0:
        return float(x * 10.0 ** rng.uniform(-3, 3))
    if kind == 1:
        return float(-x)
    if kind == 2:
        return float(rng.integers(-20, 21) / 2)
    return float(rng.choice(SIZES) * rng.choice([1, 1, -1]))


def points(case: Case, count: int) -> list[list[Any]]:
    """One in four is ordinary, two have one odd operand, one has any number of them."""
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    n = len(case.operands)
    found = []
    for i in range(count):
        which = [[], [i // 4 % n], [i // 4 % n], np.flatnonzero(rng.integers(0, 2, n))][i % 4]
        xs = [(odd if k in which else ordinary)(o, rng) for k, o in enumerate(case.operands)]
        if case.name.startswith(("pbdv", "pbvv")) and abs(xs[0]) > 1e4:
            continue  # SciPy asks for that much memory
        if case.name.startswith("mathieu_") and max(abs(xs[0]), abs(xs[1])) > 1e6:
            continue  # SciPy's mathieu_cem and its kin end the process
        if case.name in SCIPY_DOES_NOT_END and abs(xs[-1]) > SCIPY_DOES_NOT_END[case.name]:
            continue
        found.append(xs)
    return found


# -------------------------------------------------------------------------------------------------- derivatives


def derivatives(case: Case, columns: list[Any], k: int) -> Any:
    """∂/∂x_k at all points, by the rules, as an array; by references alone: machine code has its own tests."""
    tape, xs, _ = tape_of(case, columns)
    return evaluate(jvp(tape, [k]), [*xs, np.ones_like(xs[k])])[-1]


# --------------------------------------------------------------------------------------------------- comparing


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """CPU time, after which mpmath is interrupted: its series have no end of their own."""

    def stop(*_: Any) -> None:
        raise oracle.Unknown("no time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def asked(f: Callable[..., Any], *args: Any, seconds: float = SECONDS) -> Any:
    """What mpmath says, or None."""
    try:
        with at_most(seconds):
            return f(*args)
    except (oracle.Unknown, mp.NoConvergence, MemoryError, RecursionError):
        return None
    except (ValueError, ZeroDivisionError, OverflowError, ArithmeticError, TypeError):
        return None


@dataclass
class Report:
    name: str
    points: int = 0
    """Where SciPy's value is right."""
    compared: int = 0
    """Numbers: points times operands."""
    missing: list[int] = field(default_factory=list)
    wrong: list[tuple[int, list[Any], Any, Any, float]] = field(default_factory=list)
    """Operand, point, mpmath's number, ours, the relative error."""
    nan: list[tuple[int, list[Any], Any]] = field(default_factory=list)
    worst: float = 0.0
    """The worst relative error of what is right."""

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.points} points, {self.compared} compared, {len(self.wrong)} wrong, "
            f"{len(self.nan)} NaN, missing in {self.missing}, worst {self.worst:.1e}"
        ]
        for k, xs, want, got, error in self.wrong:
            lines.append(f"    WRONG in {k} at {xs}: {_short(want)}, got {got}, error {error:.1e}")
        for k, xs, want in self.nan:
            lines.append(f"    NaN in {k} at {xs}: {_short(want)}")
        return "\n".join(lines)


def _short(x: Any) -> str:
    return str(mpmath.nstr(x, 8))


def relative_error(want: Any, got: Any) -> float:
    """0 where both are beyond or below what float64 has."""
    if abs(want) > 1.7e308 and not np.isfinite(got):
        return 0.0
    if not np.isfinite(got):
        return np.inf
    if abs(want) < 1e-290 and abs(got) < 1e-290:
        return 0.0
    return float(abs(want - _exact(got)) / max(abs(want), mpmath.mpf(10) ** -300))


def moved_by_rounding(meaning: Any, xs: list[Any], k: int, guess: float, want: Any, is_complex: bool) -> Any:
    """How far the derivative moves where the operands move by a rounding."""
    total = mpmath.mpf(0)
    for j, x in enumerate(xs):
        if isinstance(x, int):
            continue
        moved = [*xs[:j], x * (1 + 2.0**-50) if x else 2.0**-50, *xs[j + 1 :]]
        other = asked(oracle.slope, meaning, moved, k, guess, is_complex, seconds=10 * SECONDS)
        total += 0 if other is None else abs(other - want) / 4
    return total


def compare(name: str, count: int, seconds: float = 1e9, tries: int = 3) -> Report:
    """At ``count`` points where SciPy is right, or those among ``tries`` times as many, or as time allows."""
    report = Report(name)
    compare_at(report, points(CASES[name], tries * count), count, seconds)
    return report


def compare_at(report: Report, drawn: list[list[Any]], count: int = 1, seconds: float = 1e9) -> None:
    case, meaning = CASES[report.name], oracle.MEANINGS[CASES[report.name].name]
    columns = [np.array(column) for column in zip(*drawn, strict=True)]
    with np.errstate(all="ignore"):
        values = case.op.reference(*columns, **case.kw)
    is_complex = np.iscomplexobj(values)
    rules = [rule(report, case, columns, k) for k in range(len(columns))]
    end = time.process_time() + seconds
    for i, xs in enumerate(drawn):
        if report.points == count or time.process_time() > end:
            break
        guess = values[i]
        if not np.isfinite(guess):
            continue
        true = asked(oracle.value, meaning, xs, guess, is_complex, seconds=min(SECONDS, seconds))
        if true is None or relative_error(true, guess) > SCIPY_IS_RIGHT:
            continue
        report.points += 1
        for k, slopes in enumerate(rules):
            if slopes is None:
                continue
            if any(k == at and where(*xs) for at, where, _ in SCIPY_IS_WRONG.get(report.name, ())):
                continue
            want = asked(oracle.slope, meaning, xs, k, guess, is_complex, seconds=min(SECONDS, seconds))
            if want is not None:
                report.compared += 1
                _judge(report, meaning, xs, k, want, slopes[i], guess, is_complex)


def rule(report: Report, case: Case, columns: list[Any], k: int) -> Any:
    """The derivatives in operand ``k``; None where there are none."""
    if columns[k].dtype.kind not in "fc":
        return None
    try:
        return derivatives(case, columns, k)
    except MissingRuleError:
        report.missing.append(k)
        return None


def _judge(
    report: Report, meaning: Any, xs: list[Any], k: int, want: Any, got: Any, guess: Any, is_complex: bool
) -> None:
    error = relative_error(want, got)
    if error <= TOLERANCE:
        report.worst = max(report.worst, error)
    elif np.isnan(got):
        report.nan.append((k, xs, want))
    else:
        off = abs(want - _exact(got)) if np.isfinite(got) else mpmath.inf
        if off > ROUNDINGS * moved_by_rounding(meaning, xs, k, guess, want, is_complex):
            report.wrong.append((k, xs, want, got, error))


def _exact(got: Any) -> Any:
    return mpmath.mpmathify(complex(got) if np.iscomplexobj(got) else float(got))


if __name__ == "__main__":
    for name in sys.argv[2:] or CASES:
        sys.stdout.write(f"{compare(name, int(sys.argv[1]), 40)}\n")
        sys.stdout.flush()

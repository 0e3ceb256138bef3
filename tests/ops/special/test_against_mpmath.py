"""Every function of scipy.special in every operand, against mpmath, at points that nobody chose for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import wengert as wg
from tests.ops.special import comparison, oracle
from wengert.ops import UFUNCS
from wengert.ops.special import SEVERAL

WITHOUT_A_MEANING = frozenset(["log1p", "expm1", "exp2", "cbrt"])
"""NumPy's too: tests/ops/test_ops.py has them."""

MAY_BE_NAN: dict[str, tuple[int, ...]] = {"hyp0f1": (0,), "hyp1f1": (0, 1), "hyp2f1": (0, 1, 2)}
MAY_BE_NAN |= {f"eval_{name} of real degree": (0,) for name in ("legendre", "sh_legendre")}
MAY_BE_NAN |= dict.fromkeys(("fdtr", "fdtrc", "fdtri", "ncfdtr", "ncfdtri", "ncfdtrinc"), (0, 1))
MAY_BE_NAN |= dict.fromkeys(("fdtridfd", "ncfdtridfn", "ncfdtridfd"), (0, 1, 2, 3))
MAY_BE_NAN |= dict.fromkeys(("nctdtr", "nctdtrit", "nctdtridf", "nctdtrinc", "chndtridf"), (0, 1, 2))
MAY_BE_NAN |= dict.fromkeys(("chndtr", "chndtrix", "chndtrinc"), (1,))
MAY_BE_NAN |= dict.fromkeys(("jv", "jve", "yv", "yve"), (0,))
"""The operands in which docs/kinks.md says where a derivative is NaN."""


def assert_right(report: comparison.Report) -> None:
    lost = [k for k, _, _ in report.nan if k not in MAY_BE_NAN.get(report.name, ())]
    assert not report.wrong and not lost, str(report)


def test_every_function_has_a_meaning() -> None:
    names = {op.name for f, op in UFUNCS.items() if vars(sp).get(f.__name__) is f}
    names |= {op.name for ops in SEVERAL.values() for op in ops}
    spheroidal = {
        name for name in names if name.startswith(("pro_", "obl_"))
    }  # mpmath has none: their equation is tested
    assert names - WITHOUT_A_MEANING - spheroidal <= set(oracle.MEANINGS)


@pytest.mark.sampled(11, "mpmath at two points of each function: test_families.py has more, which are stored")
@pytest.mark.parametrize("name", [name for name in comparison.CASES if name not in comparison.SLOW])
def test_derivatives_at_a_few_points(name: str) -> None:
    assert_right(comparison.compare(name, 2, seconds=0.06))


@pytest.mark.deep("mpmath at 200 points of each function and operand")
@pytest.mark.parametrize("name", comparison.CASES)
def test_derivatives_at_200_points(name: str) -> None:
    assert_right(comparison.compare(name, 200, seconds=30.0))


@pytest.mark.parametrize(
    ("got", "truth"),
    [
        (lambda: sp.airy(-1e7)[0], 0.00541851494421060241),
        (lambda: sp.airy(-1e7)[2], 0.00844382141025853543),
        (lambda: sp.pbdv(0.999999999, 1.3568392920065104)[1], 0.0501702828742766264),
        (lambda: sp.eval_gegenbauer(2.0487532194802505, 2.0, 1e100), 9.4663028118487121e205),
        (lambda: sp.eval_gegenbauer(1.8399047422251873, 1.5, 2e-8 - 1), 7671539.38166840116),
        (lambda: sp.eval_gegenbauer(415.35868893762654, 1.5, 1 - 2e-12), 86885.4507225696831),
    ],
)
def test_scipy_is_wrong_where_the_comparison_says_so(got: Any, truth: float) -> None:
    """Else :data:`comparison.SCIPY_IS_WRONG` and docs/kinks.md can do without it."""
    assert not abs(got() - truth) < 1e-7 * abs(truth)


# ---------------------------------------------------------------------------------------- what went wrong, by name


def gradient(f: Any, *xs: float) -> Any:
    return np.array(wg.grad(f, argnums=tuple(range(len(xs))))(*map(float, xs)))


@pytest.mark.sampled(5, "many that are alike")
@pytest.mark.parametrize(("name", "xs"), comparison.WHERE_IT_WAS_WRONG)
def test_where_it_was_wrong(name: str, xs: tuple[float, ...]) -> None:
    report = comparison.Report(name)
    comparison.compare_at(report, [list(xs)])
    without_rule = {"bdtr": 1, "mathieu_a": 1, "mathieu_b": 1}.get(name, 0)
    assert report.points == 1 and report.compared >= sum(isinstance(x, float) for x in xs) - without_rule
    assert not report.wrong and not report.nan, str(report)


@pytest.mark.parametrize(
    ("f", "xs", "argnum", "expected"),
    [
        (sp.btdtria, (0.5205171112087081, 1e-300, 0.6311814267618503), 1, 0.921166429433742343),
        (sp.chdtri, (1e8, 0.5561960031910747), 1, -35804.4145427016742),
        (sp.struve, (7.5, 1e5), 1, 2.54221872039725559e22),
        (sp.struve, (1.888198496050545, 1e8), 1, 0.0279902619350166848),
        (sp.modstruve, (1e5, 2.25), 1, 0.0),
        (sp.eval_chebyu, (3.0487532194802505, 1e100), 0, 1.4341983e308),
        (sp.tklmbda, (0.7, 2.0), 0, 0.0),
        (sp.tklmbda, (0.5, 2.0), 0, 0.5),
        (sp.tklmbda, (0.5, 2.0), 1, 0.125),
        (sp.tklmbda, (0.7, 1e8), 1, 0.0),
    ],
)
def test_where_it_was_wrong_in_one_operand(f: Any, xs: tuple[float, ...], argnum: int, expected: float) -> None:
    """Of mpmath where it has the time, and of the definition of the support for ``tklmbda``."""
    rtol = 1e-7 if expected > 1e307 else 1e-11
    np.testing.assert_allclose(wg.grad(f, argnums=argnum)(*xs), expected, rtol=rtol)


def test_densities_of_large_parameters_keep_their_digits() -> None:
    """At the mean of a normal limit: 1/√(2π a), to 1/a."""
    np.testing.assert_allclose(gradient(sp.gammainc, 1e12, 1e12)[1], 1 / np.sqrt(2 * np.pi * 1e12), rtol=1e-11)
    np.testing.assert_allclose(gradient(sp.betainc, 1e12, 1e12, 0.5)[2], np.sqrt(4e12 / np.pi), rtol=1e-11)


def test_the_noncentral_density_of_chi_square_where_its_bessel_function_underflows() -> None:
    np.testing.assert_allclose(
        gradient(sp.chndtrix, 0.9, 127.0, 1e-100)[0], -gradient(sp.chdtri, 127.0, 0.1)[1], rtol=1e-8
    )
    got = gradient(sp.chndtridf, 3.6707324879198406, 1e-300, 0.8974150978244313)
    np.testing.assert_allclose(got[[0, 2]], [21.953557, -0.21366152], rtol=1e-7)


def test_the_noncentral_f_distribution_of_very_many_degrees_of_freedom() -> None:
    """That of χ², of m x."""
    got = gradient(sp.ncfdtr, 3.7, 1e30, 0.9, 0.7)[3]
    np.testing.assert_allclose(got, 3.7 * gradient(sp.chndtr, 3.7 * 0.7, 3.7, 0.9)[0], rtol=1e-10)


def test_a_noncentral_f_distribution_does_not_depend_on_its_neighbours() -> None:
    """Of 100 degrees of freedom a term is over j + 50, and other elements' series go on beyond j = −50."""
    m, nc = np.array([100.0, 3.0]), np.array([0.5, 2000.0])
    got = wg.grad(lambda nc: np.sum(sp.ncfdtr(m, 3.6, nc, 0.8)))(nc)
    assert got[0] == gradient(sp.ncfdtr, 100.0, 3.6, 0.5, 0.8)[2]


def test_eigenvalues_of_mathieu_beyond_what_scipy_knows() -> None:
    """SciPy's mathieu_cem ends the process for a q of 1e8."""
    assert np.isnan(wg.grad(lambda q: sp.mathieu_a(2.0, q))(1e8))
    assert np.isnan(wg.grad(lambda q: sp.mathieu_b(1e300, q))(1e300))


def test_the_quantiles_of_students_distribution_of_very_many_degrees_of_freedom() -> None:
    """t = z + (z³ + z)/4v + ..., of the normal distribution's z (Abramowitz and Stegun 26.7.5)."""
    z = sp.ndtri(0.3)
    np.testing.assert_allclose(gradient(sp.stdtrit, 1e14, 0.3)[0], -(z**3 + z) / 4e28, rtol=1e-12)


def test_the_density_of_the_noncentral_f_distribution_comes_back() -> None:
    """₁F₁ of SciPy's, of which it was made, never ends at 1e15."""
    for point in ((2.3, 3.1, 0.7, 1e15), (2.3, 3.1, 1e15, 1.5), (1e15, 3.1, 0.7, 1.5)):
        assert gradient(lambda x, p=point: sp.ncfdtr(*p[:3], x), point[3]) >= 0

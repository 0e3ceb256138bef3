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

SLOW = frozenset(["chndtrinc", "chndtrix", "chndtridf", "nctdtr", "nctdtrit", "nctdtridf", "nctdtrinc"])
SLOW |= frozenset(["lpmv", "ncfdtr", "ncfdtri", "ncfdtrinc", "ncfdtridfn", "ncfdtridfd", "owens_t", "it2y0", "it2k0"])
SLOW |= frozenset([name for name in comparison.CASES if name.startswith("mathieu_")])
"""What mpmath, or SciPy, takes long for: left to the deep test."""


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
    assert names - WITHOUT_A_MEANING <= set(oracle.MEANINGS)


@pytest.mark.sampled(5, "mpmath at two points of each function: test_families.py has more, which are stored")
@pytest.mark.parametrize("name", [name for name in comparison.CASES if name not in SLOW])
def test_derivatives_at_a_few_points(name: str) -> None:
    assert_right(comparison.compare(name, 2, seconds=0.06))


@pytest.mark.deep("mpmath at 200 points of each function and operand")
@pytest.mark.parametrize("name", comparison.CASES)
def test_derivatives_at_200_points(name: str) -> None:
    assert_right(comparison.compare(name, 200, seconds=30.0))


# ---------------------------------------------------------------------------------------- what went wrong, by name


def gradient(f: Any, *xs: float) -> Any:
    return np.array(wg.grad(f, argnums=tuple(range(len(xs))))(*map(float, xs)))


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
]


@pytest.mark.parametrize(("name", "xs"), WHERE_IT_WAS_WRONG)
def test_where_it_was_wrong(name: str, xs: tuple[float, ...]) -> None:
    report = comparison.Report(name)
    comparison.compare_at(report, [list(xs)])
    assert report.points == 1 and report.compared >= sum(isinstance(x, float) for x in xs) - (name == "bdtr")
    assert not report.wrong and not report.nan, str(report)


def test_the_quantiles_of_students_distribution_of_very_many_degrees_of_freedom() -> None:
    """t = z + (z³ + z)/4v + ..., of the normal distribution's z (Abramowitz and Stegun 26.7.5)."""
    z = sp.ndtri(0.3)
    np.testing.assert_allclose(gradient(sp.stdtrit, 1e14, 0.3)[0], -(z**3 + z) / 4e28, rtol=1e-12)


def test_the_density_of_the_noncentral_f_distribution_comes_back() -> None:
    """₁F₁ of SciPy's, of which it was made, never ends at 1e15."""
    for point in ((2.3, 3.1, 0.7, 1e15), (2.3, 3.1, 1e15, 1.5), (1e15, 3.1, 0.7, 1.5)):
        assert gradient(lambda x, p=point: sp.ncfdtr(*p[:3], x), point[3]) >= 0

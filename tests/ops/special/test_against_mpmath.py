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
    assert names - WITHOUT_A_MEANING <= set(oracle.MEANINGS)


@pytest.mark.sampled(5, "mpmath at two points of each function: test_families.py has more, which are stored")
@pytest.mark.parametrize("name", [name for name in comparison.CASES if name not in comparison.SLOW])
def test_derivatives_at_a_few_points(name: str) -> None:
    assert_right(comparison.compare(name, 2, seconds=0.06))


@pytest.mark.deep("mpmath at 200 points of each function and operand")
@pytest.mark.parametrize("name", comparison.CASES)
def test_derivatives_at_200_points(name: str) -> None:
    assert_right(comparison.compare(name, 200, seconds=30.0))


# ---------------------------------------------------------------------------------------- what went wrong, by name


def gradient(f: Any, *xs: float) -> Any:
    return np.array(wg.grad(f, argnums=tuple(range(len(xs))))(*map(float, xs)))


@pytest.mark.parametrize(("name", "xs"), comparison.WHERE_IT_WAS_WRONG)
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

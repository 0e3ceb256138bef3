"""The page of SciPy's functions says what the code does."""

from __future__ import annotations

import re

import pytest

from tests.of_scipy.checking import OF_COMPILED
from tools import scipy_coverage, scipy_names
from tools.coverage import versions

FUNCTIONS = [m for m in scipy_coverage.MODULES if m != "stats"]
"""The modules whose rows are read from tables; distributions are tried, which takes long."""


def is_written_for_these_versions() -> bool:
    return f"for {versions()}." in scipy_coverage.path().read_text(encoding="utf-8")


def rows_of(module: str) -> list[scipy_coverage.Row]:
    return scipy_coverage.rows(module)


@pytest.mark.deep("every method of every distribution is differentiated")
def test_the_page_is_up_to_date() -> None:
    if not is_written_for_these_versions():
        pytest.skip("the page was written for other versions of NumPy and SciPy, which have other functions")
    page = scipy_coverage.path().read_text(encoding="utf-8")
    assert page == scipy_coverage.markdown(), "run python -m tools.scipy_coverage"


@OF_COMPILED
@pytest.mark.parametrize("module", FUNCTIONS)
def test_the_page_promises_nothing_that_is_not_so(module: str) -> None:
    """A function that has been added since the page was written may be missing there: nobody is misled by that."""
    if not is_written_for_these_versions():
        pytest.skip("the page was written for other versions of NumPy and SciPy, which have other functions")
    page = scipy_coverage.path().read_text(encoding="utf-8")
    section = page.partition(f"## scipy.{module}\n")[2].partition("\n## ")[0]
    promised = section.partition(f" {scipy_coverage.DIFFERENTIABLE}:\n\n")[2].partition("\n\n")[0]
    done = {r.name.rpartition(".")[2] for r in rows_of(module) if r.status == scipy_coverage.DIFFERENTIABLE}
    assert set(promised.split("`")[1::2]) <= done
    assert promised or not done or f"{scipy_coverage.DIFFERENTIABLE}:" not in section


def test_the_readme_has_the_counts_of_the_page() -> None:
    page, readme = scipy_coverage.path(), scipy_coverage.path().parent.parent / "README.md"
    counts = re.findall(r"(\d+) have a derivative, of which (\d+) are differentiable", page.read_text(encoding="utf-8"))
    found = re.findall(r"of (\d+) that have a derivative (\d+) are differentiable", readme.read_text(encoding="utf-8"))
    assert counts == found != []


@pytest.mark.parametrize("module", FUNCTIONS)
def test_every_public_name_has_one_status(module: str) -> None:
    found = rows_of(module)
    assert {r.name for r in found} == {f"{module}.{name}" for name in scipy_coverage.new_in(module)}
    assert sum(scipy_coverage.counts(found).values()) == len(found)


def test_lists_by_hand_name_functions_that_exist_and_none_twice() -> None:
    if not is_written_for_these_versions():
        pytest.skip("another SciPy has other functions")
    lists = [scipy_names.FLAT, scipy_names.OUTSIDE, scipy_names.OWN_CODE]
    for module in scipy_coverage.MODULES:
        names = scipy_coverage.public(module)
        for one in lists:
            for pattern in one.get(module, "").split():
                assert any(scipy_names.listed({module: pattern}, module, name) for name in names), (module, pattern)
        for name in names:
            assert sum(scipy_names.listed(one, module, name) for one in lists) <= 1, (module, name)


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("special.erf", scipy_coverage.DIFFERENTIABLE),
        ("fft.dct", scipy_coverage.DIFFERENTIABLE),
        ("integrate.solve_ivp", scipy_coverage.DIFFERENTIABLE),
        ("ndimage.label", scipy_coverage.NO_DERIVATIVE),
        ("special.jn_zeros", scipy_coverage.NO_DERIVATIVE),
        ("stats.mstats.trimmed_mean", scipy_coverage.REFUSED),
        ("io.loadmat", scipy_coverage.OUTSIDE_OF_MATHEMATICS),
        ("linalg.LinAlgWarning", scipy_coverage.OUTSIDE_OF_MATHEMATICS),
    ],
)
def test_some_functions_are_where_they_belong(name: str, status: str) -> None:
    module, _, short = name.rpartition(".")
    assert {row.name: row.status for row in rows_of(module)}[f"{module}.{short}"] == status


def test_a_distribution_is_tried_in_each_argument_where_all_at_once_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scipy_coverage, "_has_derivative", lambda call, given, numbers: 1 not in numbers)
    assert scipy_coverage.probed.__wrapped__("gamma", "logpdf") == "not in a"
    assert scipy_coverage.probed.__wrapped__("gamma", "mean") == "not in loc"

"""The page of what is traced says what the code does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing.overrides import get_overridable_numpy_array_functions, get_overridable_numpy_ufuncs

from tools import coverage
from wengert.errors import DTypeError, UnsupportedFunctionError
from wengert.tracing.record import input_of, record_call

TABLES = coverage.tables()
REFUSED = [row for rows in TABLES.values() for row in rows if row.status == coverage.NOT_YET]
TRACED = [
    row for rows in TABLES.values() for row in rows if row.status in (coverage.DIFFERENTIABLE, coverage.NO_DERIVATIVE)
]
STATUS = {row.name: row.status for rows in TABLES.values() for row in rows}


def test_the_page_is_up_to_date() -> None:
    page = coverage.path().read_text(encoding="utf-8")
    if f"for {coverage.versions()}." not in page:
        pytest.skip("the page was written for other versions of NumPy and SciPy, which have other functions")
    assert page == coverage.markdown(), "run python -m tools.coverage"


def test_every_function_has_one_status() -> None:
    for title, rows in TABLES.items():
        assert sum(coverage.counts(rows).values()) == len(rows)
        assert len({row.name for row in rows}) == len(rows)
        assert f"{len(rows)} in all" in coverage.markdown().split(f"## {title}\n")[1]
    assert {row.function for row in TABLES["NumPy: ufuncs"]} == set(get_overridable_numpy_ufuncs())
    listed = {row.name for row in TABLES["NumPy: array functions"]}
    for function in get_overridable_numpy_array_functions():
        assert coverage.function_name(function) in listed


def test_the_sets_made_by_hand_name_functions_that_exist() -> None:
    names = {row.name.removeprefix("np.") for row in TABLES["NumPy: array functions"]}
    assert names >= coverage.FLAT_FUNCTIONS
    assert names >= coverage.OUTSIDE_FUNCTIONS


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("np.tanh", coverage.DIFFERENTIABLE),
        ("np.matmul", coverage.DIFFERENTIABLE),
        ("np.clip", coverage.DIFFERENTIABLE),
        ("np.sum", coverage.DIFFERENTIABLE),
        ("np.floor", coverage.NO_DERIVATIVE),
        ("np.argmax", coverage.NO_DERIVATIVE),
        ("np.zeros_like", coverage.NO_DERIVATIVE),
        ("np.isnat", coverage.NOT_NUMERIC),
        ("np.savetxt", coverage.NOT_NUMERIC),
        ("scipy.special.erf", coverage.DIFFERENTIABLE),
        ("scipy.special.obl_rad2", coverage.NOT_YET),
    ],
)
def test_some_functions_are_where_they_belong(name: str, status: str) -> None:
    assert STATUS[name] == status


def refusal(row: coverage.Row) -> str:
    """What is said when a function meets a traced argument, or as many as it takes."""
    x = np.array([[2.0, 0.5], [0.25, 3.0]])
    said = ""

    def f(x: Any) -> Any:
        nonlocal said
        counts = [row.function.nin] if isinstance(row.function, np.ufunc) else range(1, 6)
        for n in counts:
            for options in ({}, {"like": x}):
                try:
                    row.function(*[x] * n, **options)
                except (UnsupportedFunctionError, DTypeError) as error:
                    said = str(error)
                    return 0.0
                except TypeError:  # too few arguments, or too many
                    continue
        return 0.0

    record_call(f, [input_of(x)], name="f")
    return said


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row.name)
def test_what_is_not_traced_says_so_by_its_name(row: coverage.Row) -> None:
    said = refusal(row)
    assert said.startswith(f"{row.name} is not traced by wengert")
    assert "test_coverage.py" in said


TEXT = [row for row in TABLES["NumPy: ufuncs"] if row.status == coverage.NOT_NUMERIC]


@pytest.mark.parametrize("row", TEXT, ids=lambda row: row.name)
def test_ufuncs_of_text_and_dates_refuse_numbers(row: coverage.Row) -> None:
    assert row.name.removeprefix("np.") in refusal(row)


UFUNCS = [row for row in TRACED if isinstance(row.function, np.ufunc)]


@pytest.mark.parametrize("row", UFUNCS, ids=lambda row: row.name)
def test_what_is_traced_is_not_refused(row: coverage.Row) -> None:
    for x in (np.array([[2.0, 0.5], [0.25, 3.0]]), np.array([[2, 1], [1, 3]])):
        try:
            record_call(lambda *xs: row.function(*xs), [input_of(x)] * row.function.nin, name="f")
            return
        except UnsupportedFunctionError:
            raise
        except (DTypeError, ValueError):  # integers only, or one operand of fewer axes
            continue
    record_call(lambda a, v: row.function(a, v), [input_of(a) for a in (np.ones((2, 2)), np.ones(2))], name="f")

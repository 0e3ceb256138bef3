"""Derivatives of the functions of scipy.special as mpmath has them, stored in ``slopes.txt``: so that every branch of
every rule is compared in every run, in milliseconds.

``python -m tests.ops.special.slopes NAME...`` takes those of these functions anew; without names, of all. A row is a
function, its operands, SciPy's value, and the derivative in each operand, "-" where there is none to compare.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.ops.check_op import Case
from tests.ops.special import comparison, oracle
from tests.ops.special.comparison import CASES, SCIPY_IS_RIGHT, TOLERANCE, asked, relative_error
from wengert.ops.special import usual

FILE = Path(__file__).with_name("slopes.txt")
SECONDS = 2.5
"""CPU time that mpmath has for one function."""
MOST = 14
"""Points of a function."""
SURELY_RIGHT = 1e-9
"""What is stored agreed so well with ours: no rounding of another library's makes a difference."""

WITHOUT = comparison.SLOW | {"hyp1f1", "pbvv", "pbvv_slope"}
"""Functions whose own values, or derivatives, take minutes at some of these points."""

REALS = [1e-6, 0.02, 0.97, 1.01, 3.3, 12.5, 31.0, 120.0, 1500.0, 1e6, -0.3, -2.6, -31.0]
WHOLE = [-3, -1, 0, 1, 2, 3, 7, 20]
COMPLEX = [0.3 + 0.2j, -0.4 + 2j, 5 - 3j, 20 + 1j, 1.01 + 0.001j]


def points(case: Case, first: list[list[Any]]) -> list[list[Any]]:
    """``first``, ordinary points, and those with one operand that is small, about 1, large or negative."""
    rng, grid = np.random.default_rng(5), list[list[Any]]()
    for k, operand in enumerate(case.operands):
        usual = comparison.ordinary(operand, rng)
        for x in WHOLE if isinstance(usual, int) else COMPLEX if isinstance(usual, complex) else REALS:
            others = [comparison.ordinary(o, rng) for o in case.operands]
            grid.append([*others[:k], x, *others[k + 1 :]])
    drawn = comparison.points(case, 12)
    return [*first, *drawn[:6], *[grid[i] for i in rng.permutation(len(grid))], *drawn[6:]]


def rows_of(name: str, first: list[list[Any]]) -> list[str]:
    """Where SciPy's value is right, and mpmath's derivative in some operand is ours."""
    case, meaning = CASES[name], oracle.MEANINGS[CASES[name].name]
    drawn = points(case, first)
    columns = [np.array(column) for column in zip(*drawn, strict=True)]
    with np.errstate(all="ignore"):
        values = case.op.reference(*columns, **case.kw)
    is_complex, report = np.iscomplexobj(values), comparison.Report(name)
    rules = [comparison.rule(report, case, columns, k) for k in range(len(columns))]
    rows = list[str]()
    for xs, value, *ours in zip(drawn, values, *[[None] * len(drawn) if r is None else r for r in rules], strict=True):
        if len(rows) == MOST or not np.isfinite(value):
            continue
        true = asked(oracle.value, meaning, xs, value, is_complex, seconds=0.2)
        if true is None or relative_error(true, value) > SCIPY_IS_RIGHT:
            continue
        slopes = [
            None if got is None else _surely(meaning, xs, k, value, is_complex, got) for k, got in enumerate(ours)
        ]
        if any(s is not None for s in slopes):
            numbers = [*xs, np.asarray(value).item(), *slopes]
            rows.append(" ".join([name.replace(" ", "_"), *["-" if x is None else _short(x) for x in numbers]]))
    return rows


def _surely(meaning: Any, xs: list[Any], k: int, value: Any, is_complex: bool, got: Any) -> Any:
    want = asked(oracle.slope, meaning, xs, k, value, is_complex, seconds=0.2)
    if want is None or not relative_error(want, got) < SURELY_RIGHT:
        return None
    return complex(want) if np.iscomplexobj(got) else float(want)


def _short(x: Any) -> str:
    text = f"{x:.12g}" if isinstance(x, float) and float(f"{x:.12g}") == x else repr(x)
    return f"{text}.0" if isinstance(x, float) and text.lstrip("-").isdigit() else text


# ---------------------------------------------------------------------------------------------------- comparing


@functools.cache
def stored() -> dict[str, list[list[Any]]]:
    rows: dict[str, list[list[Any]]] = {}
    for line in FILE.read_text().splitlines():
        name, *numbers = line.split(" ")
        rows.setdefault(name.replace("_of_real_degree", " of real degree"), []).append([_number(x) for x in numbers])
    return rows


def _number(text: str) -> Any:
    if text == "-":
        return None
    return complex(text) if "j" in text else float(text) if any(c in text for c in ".einf") else int(text)


def is_usual(name: str) -> bool:
    """Whether the function is one of ``ops/special/usual.py``."""
    return any(op is CASES[name].op for op in vars(usual).values())


def wrong(name: str) -> list[tuple[int, list[Any], Any, Any]]:
    """Operand, point, the stored derivative and ours, where they differ and SciPy's value is the stored one."""
    case, rows = CASES[name], stored()[name]
    n = len(case.operands)
    columns = [np.array(column) for column in list(zip(*rows, strict=True))[:n]]
    with np.errstate(all="ignore"):
        values = case.op.reference(*columns, **case.kw)
    found = list[tuple[int, list[Any], Any, Any]]()
    for k in range(n):
        if all(row[n + 1 + k] is None for row in rows):
            continue
        ours = comparison.derivatives(case, columns, k)
        for row, value, got in zip(rows, values, ours, strict=True):
            want = row[n + 1 + k]
            if want is None or relative_error(row[n], value) > SCIPY_IS_RIGHT:
                continue
            if not relative_error(want, got) <= TOLERANCE:
                found.append((k, row[:n], want, got))
    return found


if __name__ == "__main__":
    kept = {line.split(" ")[0]: list[str]() for line in FILE.read_text().splitlines()} if FILE.exists() else {}
    for line in FILE.read_text().splitlines() if FILE.exists() else ():
        kept[line.split(" ")[0]].append(line)
    for name in sys.argv[1:] or [name for name in CASES if name not in WITHOUT]:
        kept[name.replace(" ", "_")] = rows_of(name, [list(xs) for n, xs in comparison.WHERE_IT_WAS_WRONG if n == name])
        FILE.write_text("".join([f"{line}\n" for name in sorted(kept) for line in kept[name]]))

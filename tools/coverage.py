"""Which of NumPy's functions wengert traces: the table in ``docs/coverage.md``, from the tables that tracing uses.

``python -m tools.coverage`` writes it. Nothing is listed by hand but what no table knows: that the result
of ``np.argmax`` is an integer, and that ``np.savetxt`` is not mathematics.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.special
from numpy.testing.overrides import get_overridable_numpy_array_functions, get_overridable_numpy_ufuncs

import wengert
from tools.manual import front_lines
from wengert.ops.op import NONE, UFUNCS, ZERO, Op, partials_of
from wengert.ops.special import SEVERAL  # with it come their ops
from wengert.tracing.functions.ufuncs import COMPOSED
from wengert.tracing.tracer import HANDLED_FUNCTIONS, function_name

DIFFERENTIABLE = "differentiable"
NO_DERIVATIVE = "no derivative"
NOT_YET = "not yet"
NOT_NUMERIC = "not numeric"

MEANINGS = {
    DIFFERENTIABLE: "traced, with derivatives",
    NO_DERIVATIVE: "traced; the result is an integer, a boolean, a shape, or flat almost everywhere; or there is a "
    "derivative that has no closed form, and asking for it raises `MissingRuleError`",
    NOT_YET: "raises `UnsupportedFunctionError`; of constants alone, NumPy computes it",
    NOT_NUMERIC: "text, dates, records, files or memory: raises `UnsupportedFunctionError`",
}

FLAT_FUNCTIONS = frozenset(
    ["all", "allclose", "any", "argmax", "argmin", "argpartition", "argsort", "argwhere", "array_equal"]
    + ["array_equiv", "array2string", "array_repr", "array_str", "can_cast", "common_type", "count_nonzero"]
    + ["diag_indices_from", "digitize", "empty_like", "einsum_path", "empty", "eye", "fix", "flatnonzero"]
    + ["identity", "isclose", "iscomplex", "iscomplexobj", "isin", "isneginf"]
    + ["isposinf", "isreal", "isrealobj", "ix_", "lexsort", "linalg.matrix_rank", "may_share_memory"]
    + ["min_scalar_type", "nanargmax", "nanargmin", "ndim", "nonzero", "ones", "ones_like", "packbits"]
    + ["ravel_multi_index", "result_type", "searchsorted", "shape", "shares_memory", "size", "tri"]
    + ["tril_indices_from", "triu_indices_from", "unpackbits", "unravel_index", "zeros", "zeros_like"]
)
"""Array functions whose result has no derivative with respect to any argument."""

OUTSIDE_FUNCTIONS = frozenset(
    ["array2string", "array_repr", "array_str", "busday_count", "busday_offset", "datetime_as_string"]
    + ["frombuffer", "fromfile", "fromstring", "genfromtxt", "is_busday", "loadtxt", "may_share_memory"]
    + ["save", "savetxt", "savez", "savez_compressed", "shares_memory"]
)
"""Array functions about text, dates, files and memory; so is what is in OUTSIDE_MODULES."""

OUTSIDE_MODULES = ("char.", "strings.", "lib.recfunctions.")

OUTSIDE_UFUNCS = frozenset(["isnat"])
"""Ufuncs about dates; those about text are known by their loops."""

FLAT_UFUNCS = frozenset(["_ones_like"])
"""Compositions whose result has no derivative; those that are ops say so themselves."""

SUBMODULES = ("char", "fft", "lib.recfunctions", "lib.scimath", "linalg", "ma", "polynomial", "random", "strings")
"""NumPy lists a function once its module has been imported; the page must not depend on what else has been."""


REASONS = {
    ("SciPy: ufuncs of scipy.special", NO_DERIVATIVE): [
        "Both are flat.",
    ],
    ("SciPy: ufuncs of scipy.special", NOT_YET): [
        "All are spheroidal wave functions, prolate and oblate, which few programs call. In their argument the",
        "equation they solve would do; in c, and of the characteristic values, there is no closed form.",
    ],
}
"""What is said below a list."""


class Row(NamedTuple):
    """One function of NumPy's or SciPy's, and whether wengert traces it."""

    name: str
    status: str
    function: Any


def is_flat(op: Op) -> bool:
    """Whether no operand of an op has a derivative, or none that is written."""
    if not op.is_elementwise:
        return False
    return all(rule is ZERO or rule is NONE or hasattr(rule, "is_missing") for rule in partials_of(op, {}))


def is_numeric(ufunc: np.ufunc) -> bool:
    """Whether a ufunc has a loop for floating-point numbers or integers."""
    if ufunc.__name__ in OUTSIDE_UFUNCS:
        return False
    return any(set(loop.partition("->")[0]) & set("dlD") for loop in ufunc.types)


def ufunc_rows(ufuncs: Iterable[np.ufunc], module: str) -> Iterator[Row]:
    for ufunc in ufuncs:
        op = UFUNCS.get(ufunc)
        if op is not None:
            status = NO_DERIVATIVE if is_flat(op) else DIFFERENTIABLE
        elif not is_numeric(ufunc):
            status = NOT_NUMERIC
        else:
            traced = NO_DERIVATIVE if ufunc.__name__ in FLAT_UFUNCS else DIFFERENTIABLE
            status = traced if ufunc in COMPOSED or ufunc in SEVERAL else NOT_YET
        yield Row(f"{module}.{ufunc.__name__}", status, ufunc)


def function_rows() -> Iterator[Row]:
    """Every array function once. NumPy lists some twice: the function, and its form for ``like=``."""
    for module in SUBMODULES:
        importlib.import_module(f"numpy.{module}")
    by_name: dict[str, list[Any]] = {}
    for function in get_overridable_numpy_array_functions():
        if (function.__module__ or "").partition(".")[0] == "numpy":  # others may make functions overridable, too
            by_name.setdefault(function_name(function), []).append(function)
    for name, functions in by_name.items():
        short = name.removeprefix("np.")
        if short in OUTSIDE_FUNCTIONS or short.startswith(OUTSIDE_MODULES):
            status = NOT_NUMERIC
        elif not any(f in HANDLED_FUNCTIONS for f in functions):
            status = NOT_YET
        else:
            status = NO_DERIVATIVE if short in FLAT_FUNCTIONS else DIFFERENTIABLE
        public = [f for f in functions if f in HANDLED_FUNCTIONS] or functions
        yield Row(name, status, public[0])


def special_rows() -> list[Row]:
    """The ufuncs of scipy.special: those that have an op, and the others."""
    found = {f for f in vars(scipy.special).values() if isinstance(f, np.ufunc)}
    return sorted(ufunc_rows(found, "scipy.special"))


def gaps() -> list[str]:
    """Which operands of a differentiable function of scipy.special have no derivative: a table, as lines."""
    lines = []
    for row in special_rows():
        ops = SEVERAL.get(row.function) or ((UFUNCS[row.function],) if row.function in UFUNCS else ())
        if row.status != DIFFERENTIABLE or not ops:
            continue
        missing, whole = [], []
        for name, *rules in zip(operand_names(row.function), *[partials_of(op, {}) for op in ops], strict=False):
            if any(hasattr(rule, "is_missing") for rule in rules):
                missing.append(f"`{name}`")
            elif all(rule is NONE for rule in rules):
                whole.append(f"`{name}`")
        if missing or whole:
            lines.append(f"| `{row.name}` | {', '.join(missing)} | {', '.join(whole)} |")
    return ["| function | no rule in | a whole number |", "|---|---|---|", *lines]


def operand_names(ufunc: np.ufunc) -> list[str]:
    """The operands' names, from the documentation: NumPy's own line before it has none but x1, x2."""
    for call in re.findall(rf"{ufunc.__name__}\(([^)]*)\)", ufunc.__doc__ or ""):
        names = [name.strip() for name in call.split(",")]
        if len(names) >= ufunc.nin and "x1" not in names and names[0] * (ufunc.nin > 1) != "x":
            return names[: ufunc.nin]
    return [f"x{k + 1}" for k in range(ufunc.nin)]


def tables() -> dict[str, list[Row]]:
    return {
        "NumPy: ufuncs": sorted(ufunc_rows(get_overridable_numpy_ufuncs(), "np"), key=_by_name),
        "NumPy: array functions": sorted(function_rows(), key=_by_name),
        "SciPy: ufuncs of scipy.special": special_rows(),
    }


def _by_name(row: Row) -> tuple[str, str]:
    return row.name.lower(), row.name


def counts(rows: Iterable[Row]) -> dict[str, int]:
    count = dict.fromkeys(MEANINGS, 0)
    for row in rows:
        count[row.status] += 1
    return count


def versions() -> str:
    """The libraries whose functions the page lists: others have others."""
    return " and ".join(
        f"{name} {'.'.join(module.__version__.split('.')[:2])}" for name, module in (("NumPy", np), ("SciPy", scipy))
    )


def markdown() -> str:
    """The page, as text."""
    lines = [
        *front_lines(path()),
        "# Which functions are traced",
        "",
        f"This page is written by `python -m tools.coverage`, from tracing's own tables, for {versions()}.",
        "Ndarray methods and operators are traced as the functions of the same name, and so are `np.r_`, `np.c_`,",
        "`np.mgrid`, `np.ogrid`, `np.ndenumerate`, `np.nditer`, `np.broadcast`, `np.vectorize` and `x.flat`. The",
        "functions and classes of `numpy.polynomial`, which is Python code, are traced as the user's code is. What is",
        "refused *within* a traced function, such as an option, raises an error, and stands in",
        "[Limits](limits-in-full.md).",
        "",
        "| status | meaning |",
        "|---|---|",
        *[f"| {status} | {meaning} |" for status, meaning in MEANINGS.items()],
    ]
    for title, rows in tables().items():
        count = counts(rows)
        lines += ["", f"## {title}", "", f"{len(rows)} in all: {', '.join(f'{n} {s}' for s, n in count.items())}."]
        for status in MEANINGS:
            names = [row.name for row in rows if row.status == status]
            if names:
                lines += ["", f"### {title}, {status}", "", *_wrapped(names)]
                if (title, status) in REASONS:
                    lines += ["", *REASONS[title, status]]
    lines += [
        "",
        "### SciPy: operands without a derivative",
        "",
        "These functions are differentiable in their other operands. Asking for one that has no rule raises",
        "`MissingRuleError`, with the function's name and the operand's number. Bessel functions have a derivative in",
        "their order where the argument is real.",
        "",
        *gaps(),
    ]
    return "\n".join(lines) + "\n"


def _wrapped(names: Iterable[str], width: int = 110) -> Iterator[str]:
    """Names in lines of a width that a change to one name leaves readable in a diff."""
    line = ""
    for name in names:
        item = f"`{name}`"
        if line and len(line) + len(item) + 2 > width:
            yield line + ","
            line = item
        else:
            line = f"{line}, {item}" if line else item
    if line:
        yield line


def path() -> Path:
    return Path(wengert.__file__).resolve().parents[2] / "docs" / "coverage.md"


if __name__ == "__main__":
    path().write_text(markdown(), encoding="utf-8")
    for title, rows in tables().items():
        sys.stdout.write(f"{title}: {counts(rows)}\n")

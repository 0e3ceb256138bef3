"""Which of SciPy's public functions have derivatives: ``docs/scipy.md``, from the tables that tracing uses.

``python -m tools.scipy_coverage`` writes it. By hand there is only what no table knows, in :mod:`tools.scipy_names`:
that the result of ``ndimage.label`` is an integer, and which functions are traced through SciPy's own array code.
Of distributions each method is tried, with a derivative in every argument.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
import scipy.stats
from scipy.stats import _distr_params

import wengert as wg
from tools.coverage import NO_DERIVATIVE as OF_UFUNC_FLAT
from tools.coverage import ufunc_rows, versions
from tools.manual import front_lines
from tools.scipy_names import FLAT, OUTSIDE, OWN_CODE, WHY, listed
from wengert.of_scipy.refusing import REASONS
from wengert.ops.op import UFUNCS
from wengert.ops.special import SEVERAL
from wengert.tracing.functions.ufuncs import COMPOSED
from wengert.tracing.interception.intercept import TABLE

DIFFERENTIABLE = "differentiable"
NO_DERIVATIVE = "no derivative"
REFUSED = "refused"
OUTSIDE_OF_MATHEMATICS = "not numeric"

MEANINGS = {
    DIFFERENTIABLE: "traced, with derivatives in every argument that has one and is not named in "
    "[Limits](limits-in-full.md)",
    NO_DERIVATIVE: "the result is an integer, a boolean, an index or flat almost everywhere, or no argument is a "
    "number that it could be differentiated in",
    REFUSED: "there is a derivative, and of traced values an `UnsupportedFunctionError` is raised",
    OUTSIDE_OF_MATHEMATICS: "text, files, pictures, switches, warnings, base classes",
}

MODULES = (
    "cluster.hierarchy",
    "cluster.vq",
    "constants",
    "datasets",
    "differentiate",
    "fft",
    "fftpack",
    "integrate",
    "interpolate",
    "io",
    "io.arff",
    "io.matlab",
    "io.wavfile",
    "linalg",
    "linalg.interpolative",
    "ndimage",
    "odr",
    "optimize",
    "optimize.elementwise",
    "signal",
    "signal.windows",
    "sparse",
    "sparse.linalg",
    "sparse.csgraph",
    "spatial",
    "spatial.distance",
    "spatial.transform",
    "special",
    "stats",
    "stats.contingency",
    "stats.qmc",
    "stats.sampling",
    "stats.mstats",
)
"""SciPy's public modules with functions of their own. linalg.blas and linalg.lapack are lists of compiled routines,
which are refused by name; stats.distributions are those of stats."""


class Row(NamedTuple):
    """One public function, class or object of SciPy's."""

    name: str
    status: str
    why: str
    found: Any


def public(module: str) -> dict[str, Any]:
    """The functions, classes and objects that are called, of one of SciPy's public modules, by their names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy.odr is deprecated
        try:
            names = vars(importlib.import_module(f"scipy.{module}"))
        except ImportError:  # an older SciPy, or a newer one
            return {}
    found = {name: names[name] for name in names.get("__all__", ()) if name != "test"}
    return {name: x for name, x in found.items() if (callable(x) or is_distribution(x)) and not inspect.ismodule(x)}


def is_distribution(found: Any) -> bool:
    """Whether an object is one of the distributions of scipy.stats that have one number as their outcome."""
    return isinstance(found, scipy.stats.rv_continuous | scipy.stats.rv_discrete)


@functools.cache
def _new() -> dict[str, dict[str, Any]]:
    seen: set[int] = set()
    found: dict[str, dict[str, Any]] = {}
    for module in MODULES:
        found[module] = {name: x for name, x in public(module).items() if id(x) not in seen}
        seen |= {id(x) for x in found[module].values()}
    wg.jvp(lambda x: x, (1.0,), (1.0,))  # a trace enrolls what waits for a module
    return found


def new_in(module: str) -> dict[str, Any]:
    """Return the names that are public in a module and in none before it."""
    return _new()[module]


def rows(module: str) -> list[Row]:
    """The functions, classes and objects of a module, sorted by name."""
    found = sorted(new_in(module).items())
    answered = [name for name, one in TABLE.items() if one.how and name not in REASONS]
    return [_row(module, name, x, answered) for name, x in found]


def tables() -> dict[str, list[Row]]:
    """All rows by module."""
    return {module: rows(module) for module in MODULES if new_in(module)}


def _row(module: str, name: str, found: Any, answered: Iterable[str]) -> Row:
    full = f"{module}.{name}"
    is_message = inspect.isclass(found) and issubclass(found, Exception)
    if is_message or listed(OUTSIDE, module, name):
        return Row(full, OUTSIDE_OF_MATHEMATICS, "", found)
    if listed(FLAT, module, name):
        return Row(full, NO_DERIVATIVE, "", found)
    if f"scipy.{full}" in REASONS:
        return Row(full, REFUSED, REASONS[f"scipy.{full}"], found)
    if isinstance(found, np.ufunc):
        if next(ufunc_rows([found], "")).status == OF_UFUNC_FLAT:
            return Row(full, NO_DERIVATIVE, "", found)
        is_traced = found in UFUNCS or found in COMPOSED or found in SEVERAL
    elif is_distribution(found):
        is_traced = bool(probed(name, "logpdf" if hasattr(found, "logpdf") else "logpmf"))
    else:
        is_traced = listed(OWN_CODE, module, name) or any(
            _stands_for(key, module, name) or key.startswith(_methods_of(found)) for key in answered
        )
    return Row(full, DIFFERENTIABLE, "", found) if is_traced else Row(full, REFUSED, why(module, name), found)


def why(module: str, name: str) -> str:
    """The reason by hand why nobody has written a derivative, if there is one."""
    return next((reason for reason, places in WHY.items() if listed(places, module, name)), "")


def _stands_for(key: str, module: str, name: str) -> bool:
    """Whether an interception, ``scipy.fft._basic_backend.fft``, is one of a public function, or of a method."""
    prefix = f"scipy.{module}."
    if not key.startswith(prefix):
        return False
    path = [part for part in key.removeprefix(prefix).split(".") if not part.startswith("_")]
    return path[:1] == [name]


def _methods_of(found: Any) -> str:
    """How names of interceptions of an object's methods begin."""
    return f"{type(found).__module__}.{type(found).__qualname__}."


# ------------------------------------------------------------------------------------------------------ distributions

CONTINUOUS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "entropy", "mean", "var", "std", "rvs")
DISCRETE = ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "entropy", "mean", "var", "std")
SKIPPED = ("levy_stable", "studentized_range", "kstwo", "ksone", "genexpon")
"""Their own functions integrate, and take long."""


@functools.cache
def parameters() -> dict[str, tuple[Any, ...]]:
    """Parameters for each distribution: those of SciPy's own tests."""
    given = [*_distr_params.distcont, *_distr_params.distdiscrete]
    return {name: tuple([np.float64(x) for x in shapes]) for name, shapes in reversed(given) if isinstance(name, str)}


@functools.cache
def probed(name: str, method: str) -> str:
    """How a method of a distribution is differentiated: "yes", "not in a", or an empty string for not at all."""
    shapes = parameters().get(name)
    if shapes is None:
        return ""
    distribution = getattr(scipy.stats, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call = _call_of(distribution, method, len(shapes))
        given = _arguments(distribution, method, shapes)
        if not given:  # nothing but whole numbers
            return ""
        if _has_derivative(call, given, range(len(given))):
            return "yes"
        names = [*(["x"] if len(given) > len(shapes) + 2 else []), *_shape_names(distribution), "loc", "scale"]
        lacking = [names[k] for k in range(len(given)) if not _has_derivative(call, given, (k,))]
    return "" if len(lacking) == len(given) else f"not in {', '.join(lacking)}"


def _shape_names(distribution: Any) -> list[str]:
    return [name.strip() for name in (distribution.shapes or "").split(",") if name.strip()]


def _call_of(distribution: Any, method: str, count: int) -> Callable[..., Any]:
    f = getattr(distribution, method)
    if method == "rvs":
        return lambda *args: f(*args, random_state=np.random.default_rng(1))
    return f


def _arguments(distribution: Any, method: str, shapes: tuple[Any, ...]) -> list[Any]:
    """The argument where a method takes one, the shapes, and for continuous ones place and scale."""
    is_continuous = isinstance(distribution, scipy.stats.rv_continuous)
    place = [0.25, 1.5] if is_continuous else []
    if method in ("entropy", "mean", "var", "std", "rvs"):
        return [*shapes, *place]
    if method in ("ppf", "isf"):
        return [0.4, *shapes, *place]
    middle = float(distribution.ppf(0.4, *shapes, *place))
    return [middle, *shapes, *place]


def _has_derivative(call: Callable[..., Any], given: list[Any], numbers: Iterable[int]) -> bool:
    try:
        wg.grad(lambda *args: np.sum(call(*args)), tuple(numbers))(*given)
    except Exception:  # whatever it is, it is not a derivative
        return False
    return True


def distribution_lines() -> Iterator[str]:
    """A table of the methods of each distribution, as lines."""
    for title, methods, cls in (
        ("Continuous distributions", CONTINUOUS, scipy.stats.rv_continuous),
        ("Discrete distributions", DISCRETE, scipy.stats.rv_discrete),
    ):
        names = sorted(name for name, x in public("stats").items() if isinstance(x, cls))
        yield from ["", f"### {title}, by method", "", f"| | {' | '.join(methods)} |", f"|---|{'---|' * len(methods)}"]
        for name in names:
            cells = ["" if name in SKIPPED else probed(name, method) for method in methods]
            yield f"| `{name}` | {' | '.join(cells)} |"


# ----------------------------------------------------------------------------------------------------------- the page


def counts(rows: Iterable[Row]) -> dict[str, int]:
    """How many rows there are of each status."""
    count = dict.fromkeys(MEANINGS, 0)
    for row in rows:
        count[row.status] += 1
    return count


def _share(rows: Iterable[Row]) -> tuple[int, int]:
    """How many functions have a derivative, and how many of these are differentiable."""
    count = counts(rows)
    return count[DIFFERENTIABLE] + count[REFUSED], count[DIFFERENTIABLE]


def markdown() -> str:
    """The page, as text."""
    found = tables()
    everything = [row for of_module in found.values() for row in of_module]
    every, done = _share(everything)
    lines = [
        *front_lines(path()),
        "# Which functions of SciPy have derivatives",
        "",
        f"This page is written by `python -m tools.scipy_coverage`, from tracing's own tables, for {versions()}.",
        "Constants are left out, and so are `scipy.linalg.blas` and `scipy.linalg.lapack`. A class counts as one,",
        "and so does a distribution, by its log density. Which options are refused stands in",
        "[Limits](limits-in-full.md).",
        "",
        "| status | meaning |",
        "|---|---|",
        *[f"| {status} | {meaning} |" for status, meaning in MEANINGS.items()],
        "",
        f"**{len(everything)} public functions and classes; {every} have a derivative, of which {done} are "
        f"differentiable: {100 * done // max(every, 1)} %.**",
        "",
        "| module | public | have a derivative | differentiable | % |",
        "|---|---|---|---|---|",
    ]
    for module, of_module in found.items():
        every, done = _share(of_module)
        share = f"{100 * done // every}" if every else ""
        lines.append(f"| `scipy.{module}` | {len(of_module)} | {every} | {done} | {share} |")
    for module, of_module in found.items():
        lines += ["", f"## scipy.{module}"]
        for status in MEANINGS:
            of_status = [row for row in of_module if row.status == status]
            if not of_status:
                continue
            lines += ["", f"{len(of_status)} {status}:", ""]
            lines += _wrapped(_short(row) for row in of_status if not row.why)
            for reason in dict.fromkeys(row.why for row in of_status if row.why):
                names = ", ".join(_short(row) for row in of_status if row.why == reason)
                lines += [f"- {names}: {reason}"]
        if module == "stats":
            lines += distribution_lines()
    return "\n".join(lines) + "\n"


def _short(row: Row) -> str:
    return f"`{row.name.rpartition('.')[2]}`"


def _wrapped(items: Iterable[str], width: int = 110) -> Iterator[str]:
    line = ""
    for item in items:
        if line and len(line) + len(item) + 2 > width:
            yield line + ","
            line = item
        else:
            line = f"{line}, {item}" if line else item
    if line:
        yield line


def path() -> Path:
    return Path(wg.__file__).resolve().parents[2] / "docs" / "scipy.md"


if __name__ == "__main__":
    path().write_text(markdown(), encoding="utf-8")
    for _module, _rows in tables().items():
        _every, _done = _share(_rows)
        sys.stdout.write(f"scipy.{_module}: {_done} of {_every} differentiable\n")
    _every, _done = _share([row for of_module in tables().values() for row in of_module])
    sys.stdout.write(f"all: {_done} of {_every}\n")

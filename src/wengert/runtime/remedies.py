"""Remedies: what to write instead of an operation that made a NaN or an infinity, where the cause is a known one."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.ops.elementwise import select
from wengert.source import Source
from wengert.tape import Instr


class Made(NamedTuple):
    """A step that made something that is not finite."""

    instr: Instr
    operands: Sequence[Any]
    """The elements at the place, for an elementwise step; the whole operands for another one."""
    result: Any
    """The element that is not finite."""
    index: tuple[int, ...]
    """Where in the result it is."""
    shape: tuple[int, ...]
    within: tuple[str, ...] = ()
    """The iterations and branches that lead there, the outermost first."""
    source: Source | None = None
    """The user's line, where the step has none of its own."""

    @property
    def differentiated(self) -> str:
        """The name of the op whose derivative the step belongs to; empty if it is the user's own."""
        source = self.source or self.instr.source
        found = re.match(r"(?:co)?tangent of ([^\s,]+)", "" if source is None else source.of)
        return found[1] if found else ""

    @property
    def code(self) -> str:
        """The user's line of code; empty if it is not to be had."""
        source = self.source or self.instr.source
        return "" if source is None else linecache.getline(source.file, source.line).strip()


def headline(made: Made) -> str:
    """The first line of the error: what was made, by what, of what, where."""
    kind = "a NaN" if np.isnan(made.result) else "an infinity"
    if made.differentiated and made.instr.op is select:
        where = f" at index {list(made.index)} of {list(made.shape)}" if made.shape else ""
        return f"the derivative of {made.differentiated} is {kind}, by its rule{where}"
    who = f"the derivative of {made.differentiated}" if made.differentiated else made.instr.op.name
    numbers = ", ".join([str(np.asarray(x)[()]) if np.ndim(x) == 0 else "..." for x in made.operands])
    place = f" at index {list(made.index)} of {list(made.shape)}" if made.shape else ""
    return f"{who} made {kind}: {made.instr.op.name}({numbers}) = {made.result}{place}"


def remedies(made: Made) -> list[str]:
    """Return what to write instead; nothing if the cause is no known one."""
    if made.differentiated and made.instr.op is select:
        return ["other operands: the derivative does not exist there"]
    if made.differentiated:
        name, found = made.differentiated, _OF_DERIVATIVES.get(made.differentiated)
        if "norm" in made.code and name in ("sqrt", "divide", "power", "norm", "absolute", "hypot"):
            return _NORM
        if found is not None:
            return found
    rule = _OF_VALUES.get(made.instr.op.name)
    answer = rule(made) if rule is not None else []
    dtype = np.asarray(made.result).dtype
    if not answer and np.isinf(made.result) and np.finfo(dtype).bits <= 32 and _are_large(made):
        wider = "complex128" if dtype.kind == "c" else "float64"
        end = f"{dtype.name} ends at {float(np.finfo(dtype).max):.2g}"
        return [f"{wider}: {end}", "the same computed with scaled numbers"]
    return answer


def _are_large(made: Made) -> bool:
    return all(bool(np.isfinite(x).all()) for x in map(np.asarray, made.operands) if x.dtype.kind in "fc")


_NORM = [
    "np.sqrt(np.sum(x**2) + 1e-12): the norm has no derivative at the origin",
    "np.where(n2 > 0, np.sqrt(np.where(n2 > 0, n2, 1.0)), 0.0) with n2 = np.sum(x**2), for a derivative of 0 there",
]
_SQRT = [
    "np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0): the derivative of sqrt at 0 is infinite, and the inner "
    "np.where keeps 0 away from it",
    "np.sqrt(x + 1e-12)",
]
_POWER = [
    "np.where(x > 0, np.where(x > 0, x, 1.0) ** p, 0.0): x**p with p < 1 has an infinite derivative at 0",
    "an integer p, if that is meant",
]
_LOG = [
    "nn.log_softmax(logits) for the logarithm of probabilities, rather than np.log(softmax)",
    "scipy.special.xlogy(p, q) for p * log(q), which is 0 where p is",
    "np.log(np.maximum(p, 1e-30))",
]
_ARCCOSH = ["np.maximum(x, 1.0 + 1e-12) before it: below 1 it is not real, and at 1 its derivative is infinite"]
_ARC = ["np.clip(x, -1 + 1e-12, 1 - 1e-12) before it", "np.arctan2(y, x) of both sides, for an angle"]
_DIVIDE = [
    "np.where(d != 0, n / np.where(d != 0, d, 1.0), 0.0): the inner np.where keeps 0 away from the division",
    "n / (d + 1e-12)",
]
_EXP = [
    "scipy.special.logsumexp(x), or np.logaddexp(x, y), for the logarithm of a sum of exponentials",
    "scipy.special.expit(x) for 1 / (1 + np.exp(-x)), nn.softmax(x) for exponentials over their sum",
    "np.exp(x - np.max(x))",
]
_SINGULAR = [
    "np.linalg.lstsq or np.linalg.pinv, if the matrix may be singular",
    "A + 1e-10 * np.eye(n), a matrix that is not",
]

_OF_DERIVATIVES: dict[str, list[str]] = {
    "sqrt": _SQRT,
    "cbrt": _SQRT,
    "power": _POWER,
    "float_power": _POWER,
    "log": _LOG,
    "log2": _LOG,
    "log10": _LOG,
    "log1p": _LOG,
    "arccos": _ARC,
    "arcsin": _ARC,
    "arctanh": _ARC,
    "arccosh": _ARCCOSH,
    "divide": _DIVIDE,
    "reciprocal": _DIVIDE,
    "hypot": _NORM,
    "norm": _NORM,
    "exp": _EXP,
}


def _number(made: Made, k: int) -> Any:
    return np.asarray(made.operands[k])[()]


def _of_log(made: Made) -> list[str]:
    x = _number(made, 0)
    if made.instr.op.name == "log1p":
        x = 1 + x
    if np.asarray(x).dtype.kind != "c" and x < 0:
        return [f"a number that is not negative: the logarithm of {x} is not real", "np.log(x + 0j), for a complex one"]
    return _LOG


def _of_sqrt(made: Made) -> list[str]:
    x = _number(made, 0)
    return [f"np.sqrt(np.maximum(x, 0.0)): {x} is negative", "np.sqrt(x + 0j), for a complex root"]


def _of_power(made: Made) -> list[str]:
    x, p = _number(made, 0), _number(made, 1)
    if x == 0:
        return ["np.where(x != 0, np.where(x != 0, x, 1.0) ** p, 0.0): 0 to a negative power is a division by 0"]
    if np.result_type(x, p).kind != "c" and x < 0 and p != np.round(p):
        return ["np.sign(x) * np.abs(x) ** p", "an integer p, if that is meant", "(x + 0j) ** p, for a complex power"]
    return ["np.exp(p * np.log(x)) of scaled numbers: the power is beyond what the floats hold"]


def _of_divide(made: Made) -> list[str]:
    return _DIVIDE if _number(made, -1) == 0 else ["numbers of another scale: the quotient is beyond what floats hold"]


def _of_multiply(made: Made) -> list[str]:
    x, y = _number(made, 0), _number(made, 1)
    if (x == 0 and np.isinf(y)) or (np.isinf(x) and y == 0):
        return [
            "np.where(p != 0, p * x, 0.0) with x kept finite: 0 times infinity is NaN",
            "scipy.special.xlogy(p, q), if it is p * log(q)",
        ]
    return []


def _of_subtract(made: Made) -> list[str]:
    if np.isnan(made.result):
        return [
            "the larger infinity kept apart: inf - inf is NaN",
            "scipy.special.logsumexp, if logarithms are shifted",
        ]
    return []


def _of_tan(made: Made) -> list[str]:
    return ["np.sin(x) / np.cos(x) away from π/2", "np.arctan2, if an angle is wanted"]


def _of_cast(made: Made) -> list[str]:
    return [f"{np.asarray(made.operands[0]).dtype.name} kept: {made.operands[0]} is beyond {made.result.dtype.name}"]


_OF_VALUES: dict[str, Callable[[Made], list[str]]] = {
    **dict.fromkeys(("log", "log2", "log10", "log1p"), _of_log),
    **dict.fromkeys(("exp", "exp2", "expm1", "sinh", "cosh"), lambda made: _EXP),
    **dict.fromkeys(("divide", "reciprocal", "remainder", "fmod", "floor_divide"), _of_divide),
    **dict.fromkeys(("arccos", "arcsin", "arctanh"), lambda made: _ARC),
    "arccosh": lambda made: _ARCCOSH,
    **dict.fromkeys(("power", "float_power"), _of_power),
    **dict.fromkeys(("solve", "inv", "det", "slogdet", "cholesky"), lambda made: _SINGULAR),
    "sqrt": _of_sqrt,
    "multiply": _of_multiply,
    "subtract": _of_subtract,
    "tan": _of_tan,
    "convert": _of_cast,
}
"""Functions that return what to write instead, by the name of the op."""

"""Declarations for ufuncs of scipy.special that SciPy itself computes: they give the partials alone.

``function(sp.agm, by_a, by_b)`` is one op. A ufunc of several results is one op a result, all of which call it, and so
as many calls as results are read: :data:`SEVERAL`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.errors import DTypeError
from wengert.ops.elementwise import absolute, convert, equal, exp, select
from wengert.ops.kernels import CompiledLoop, Map, flops
from wengert.ops.op import UFUNCS, Op, broadcast_shapes, elementwise, not_implemented
from wengert.tape import Atom, Aval, Lit

SQRT_PI = math.sqrt(math.pi)
SQRT_2PI = math.sqrt(2 * math.pi)

SEVERAL: dict[np.ufunc, tuple[Op, ...]] = {}
"""The ops for the results of each ufunc that has several results."""


def function(ufunc: np.ufunc, *partials: Any, name: str = "") -> Op:
    """Declare the op of a ufunc; ``partials`` are formulas ``(*xs, y)``, as everywhere."""
    return elementwise(ufunc, name=name or ufunc.__name__, partials=partials, cost=flops(200))


def functions(ufunc: np.ufunc, **partials: Sequence[Any]) -> tuple[Op, ...]:
    """Declare one op for each result of a ufunc, in order; ``partials`` has its name and formulas ``(*xs, y)``."""
    made = []
    for k, (name, rules) in enumerate(partials.items()):
        made.append(
            elementwise(
                lambda *xs, k=k: ufunc(*xs)[k],
                name=name,
                type=_type_of(ufunc, k),
                partials=rules,
                kernel=Map(name, CompiledLoop(ufunc, k)),
                cost=flops(200),
            )
        )
    SEVERAL[ufunc] = tuple(made)
    return SEVERAL[ufunc]


def _type_of(ufunc: np.ufunc, k: int) -> Callable[..., Aval]:
    def result(*avals: Aval) -> Aval:
        try:
            dtypes = ufunc.resolve_dtypes((*[a.dtype for a in avals], *[None] * ufunc.nout))
        except TypeError:
            raise DTypeError(f"{ufunc.__name__}: not defined for {', '.join(map(str, avals))}") from None
        return Aval(broadcast_shapes(ufunc.__name__, *avals), dtypes[ufunc.nin + k])

    return result


def alias(ufunc: np.ufunc, op: Op) -> None:
    """Register ``op`` for another ufunc that computes the same."""
    UFUNCS[ufunc] = op


def no_formula(what: str) -> Any:
    return not_implemented(f"{what} has no closed form")


# ------------------------------------------------------------------------------------------------ parts of formulas


def either(condition: Atom, x: Atom | float, y: Atom | float, like: Atom) -> Any:
    """``x`` where the condition holds, else ``y``; numbers take the dtype of ``like``."""
    x, y = [a if isinstance(a, Atom) else Lit(a, like.aval.dtype) for a in (x, y)]
    return select(condition, x, y)


def series(coefficients: list[Any], x: Atom) -> Any:
    """Σ cₖ xᵏ by Horner's rule."""
    total: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def like(n: Atom, x: Atom) -> Any:
    """``n``, perhaps an integer, in the dtype of ``x``."""
    return convert(n, dtype=x.aval.dtype)


def over(x: Atom, y: Atom, at_zero: Any = 0) -> Any:
    """x / y, and ``at_zero`` where y is 0."""
    is_zero = equal(y, 0)
    return either(is_zero, at_zero, x / either(is_zero, 1, y, like=y), like=x)


def sum_or_nan(x: Atom, y: Atom, where: Atom) -> Any:
    """x + y of two terms that are right to some 10 digits; NaN where ``where`` holds and the first three cancel."""
    total = x + y
    return either(where & (absolute(total) < 1e-3 * absolute(x)), math.nan, total, like=total)


def number(value: complex, x: Atom) -> Lit:
    return Lit(value, x.aval.dtype)


def normal_density(x: Atom) -> Any:
    return exp(-0.5 * (x * x)) / SQRT_2PI

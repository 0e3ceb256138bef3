"""``scipy.optimize.elementwise``: ``find_root`` and ``find_minimum`` of functions of one number, element by element."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.api.solving import FLOAT, INT, RunFunction, record_function, run_routine, solution
from wengert.of_scipy.optimize.calls import (
    TRUTH,
    Array,
    Callback,
    answers,
    need_traced,
    number,
    refuse_callback,
    result,
    scipys,
    settled,
)
from wengert.tape import Aval


def _find(f: RunFunction, *points: Array, name: str, settings: dict[str, Any]) -> tuple[Any, ...]:
    """Run SciPy's, which goes on with the elements that are not done yet: an index says which those are."""
    shape = f.shape
    whole = np.array(points[0])

    def of_some(x: Any, which: Any) -> Any:
        every = whole.reshape(-1).copy()
        x, which = np.broadcast_arrays(x, which)
        points, places = x.reshape(-1), which.reshape(-1).astype(int)
        out = np.empty(points.shape)
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        turn = np.arange(ordered.size) - np.searchsorted(ordered, ordered)  # of an element that is asked several times
        for k in range(turn.max(initial=-1) + 1):
            some = order[turn == k]
            every[places[some]] = points[some]
            out[some] = np.ravel(f(every.reshape(shape)))[places[some]]
        return out.reshape(x.shape)

    which = np.arange(whole.size).reshape(shape)
    found = scipys(f"optimize.elementwise.{name}")(of_some, tuple(points), args=(which,), **settings)
    success = np.asarray(found.success)
    return found.x, success, found.status, found.nfev, found.nit, ~success


def _answer(name: str) -> None:
    full = f"scipy.optimize.elementwise.{name}"

    @answers(f"optimize.elementwise.{name}")
    def find(
        f: Callable[..., Any],
        init: Sequence[Any],
        /,
        *,
        args: Any = (),
        kwargs: Mapping[str, Any] | None = None,  # since SciPy 1.18
        tolerances: Any = None,
        maxiter: int | None = None,
        callback: Callback = None,
    ) -> Any:
        refuse_callback(f"optimize.elementwise.{name}", callback)
        rest = tuple(args) if isinstance(args, tuple | list) else (args,)
        shape = np.broadcast_shapes(*[np.shape(x) for x in (*init, *rest)])
        points = [number(np.broadcast_to(number(x), shape)) for x in init]
        x = Aval(shape, FLOAT)
        values = record_function(full, lambda x: np.broadcast_to(f(x, *rest, **(kwargs or {})), shape), x)
        need_traced(values, *init)
        kinds = [TRUTH.dtype, INT, INT, INT, INT]
        y, success, status, nfev, nit, verdict = run_routine(
            _find, [values], points, [x, *[Aval(shape, kind) for kind in kinds]], name=name,
            settings={k: settled(v) for k, v in (("tolerances", tolerances), ("maxiter", maxiter)) if v is not None},
        )  # fmt: skip
        equation = values
        if name == "find_minimum":
            equation = record_function(full, wg.grad(lambda x: np.sum(values(x))), x)
        at = solution(full, equation, y, verdict, x.ndim)
        return result(x=at, success=success, status=status, nfev=nfev, nit=nit, f_x=values(at))


for _name in ("find_root", "find_minimum"):
    _answer(_name)

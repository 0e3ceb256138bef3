"""Minimisers: gradients, Hessians, products of Hessians with vectors, and Jacobians of constraints."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.optimize

from wengert.solvers.calls import FilledCall, as_tuple, fills, vector
from wengert.solvers.kinds import GRADIENT, GRADIENT_ALONG, HESSIAN, HESSIAN_PRODUCT, JACOBIAN

F = Callable[..., Any]
WITH_PRODUCTS = frozenset(["newton-cg", "trust-ncg", "trust-krylov", "trust-constr"])
WITH_HESSIANS = frozenset(["dogleg", "trust-exact"])
WITH_GRADIENTS = frozenset(["cg", "bfgs", "l-bfgs-b", "tnc", "slsqp"]) | WITH_PRODUCTS | WITH_HESSIANS
WITH_CONSTRAINTS = frozenset(["slsqp", "trust-constr"])


def is_empty(slot: Any) -> bool:
    """Whether a slot holds what SciPy has there when nobody says anything: None, or False."""
    return slot is None or slot is False


# ------------------------------------------------------------------------------- what a search hands to a minimiser


class _Searching(threading.local):
    searched: tuple[tuple[F, tuple[Any, ...]], ...] = ()


_searching = _Searching()
_WRAPPING = ("scipy.optimize._differentialevolution", "scipy.optimize._dual_annealing", "scipy.optimize._shgo")


@contextmanager
def _searched(f: F, args: tuple[Any, ...]) -> Iterator[None]:
    before = _searching.searched
    _searching.searched = (*before, (f, args))
    try:
        yield
    finally:
        _searching.searched = before


def _of_the_user(f: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The function that a search was given, where it is called by one of the search's own, which counts calls."""
    of_python = getattr(f, "__func__", f)
    module = getattr(of_python, "__module__", None) or type(f).__module__
    if _searching.searched and module.startswith(_WRAPPING):
        return _searching.searched[-1]
    return f, args


# ------------------------------------------------------------------------------------------------------- minimize


@fills("scipy.optimize:minimize")
def minimize(call: FilledCall) -> Any:
    given = call.given
    x = vector(given.get("x0"))
    method = _method(given)
    if x is None or method not in WITH_GRADIENTS:
        return call.plain()
    args = as_tuple(given.get("args", ()))
    f, at = _of_the_user(given.get("fun"), args)
    slots: dict[str, Any] = {}
    jac = given.get("jac")
    if is_empty(jac):
        found = call.supplied(f, GRADIENT, (x, *at))
        if found is not None:
            slots["jac"] = _with_args(found, at, args)
    slots |= _second(call, method, f, jac, x, args, at)
    if method in WITH_CONSTRAINTS and (filled := _constraints(call, given.get("constraints", ()), x)) is not None:
        slots["constraints"] = filled
    return call.filled(**slots)


def _method(given: dict[str, Any]) -> str:
    method = given.get("method")
    if method is None:
        has_constraints = not isinstance(c := given.get("constraints", ()), list | tuple) or len(c) > 0
        return "slsqp" if has_constraints else "bfgs" if given.get("bounds") is None else "l-bfgs-b"
    return method.lower() if isinstance(method, str) else ""


def _with_args(derivative: F, at: tuple[Any, ...], args: tuple[Any, ...]) -> F:
    """A derivative with the arguments that its function has, where the solver knows of none."""
    return derivative if at is args else lambda x, *given: derivative(x, *at)


def _second(call: FilledCall, method: str, f: Any, jac: Any, x: Any, args: tuple[Any, ...], at: tuple[Any, ...]) -> Any:
    """The second derivative for a method that takes one, if there is none."""
    if not is_empty(call.given.get("hess")) or not is_empty(call.given.get("hessp")):
        return {}
    if method in WITH_HESSIANS and is_empty(jac):
        found = call.supplied(f, HESSIAN, (x, *at))
        return {} if found is None else {"hess": _with_args(found, at, args)}
    if method not in WITH_PRODUCTS:
        return {}
    if callable(jac):
        found = call.supplied(jac, GRADIENT_ALONG, (x, np.ones_like(x), *args))
        return {} if found is None else {"hessp": found}
    if not is_empty(jac):
        return {}
    found = call.supplied(f, HESSIAN_PRODUCT, (x, np.ones_like(x), *at))
    if found is None:
        return {}
    return {"hessp": found if at is args else lambda x, p, *given: found(x, p, *at)}


def _constraints(call: FilledCall, constraints: Any, x: Any) -> Any:
    """Constraints with Jacobians in their empty slots; None if nothing was filled."""
    is_one = not isinstance(constraints, list | tuple)
    each = [constraints] if is_one else list(constraints)
    filled = [_constraint(call, c, x) for c in each]
    if all(new is old for new, old in zip(filled, each, strict=True)):
        return None
    return filled[0] if is_one else filled


def _constraint(call: FilledCall, one: Any, x: Any) -> Any:
    if isinstance(one, dict):
        if not is_empty(one.get("jac")):
            return one
        found = call.supplied(one.get("fun"), JACOBIAN, (x, *as_tuple(one.get("args", ()))))
        return one if found is None else {**one, "jac": found}
    if not isinstance(one, scipy.optimize.NonlinearConstraint):
        return one
    if one.jac != "2-point" or one.finite_diff_jac_sparsity is not None:
        return one
    found: Any = call.supplied(one.fun, JACOBIAN, (x,))
    if found is None:
        return one
    return scipy.optimize.NonlinearConstraint(
        one.fun, one.lb, one.ub, found, one.hess, one.keep_feasible, one.finite_diff_rel_step
    )


# ----------------------------------------------------------------------------------------------- the older functions


@fills("scipy.optimize:fmin_bfgs")
@fills("scipy.optimize:fmin_cg")
def fmin(call: FilledCall) -> Any:
    return _older(call, "f", is_empty(call.given.get("fprime")))


@fills("scipy.optimize:fmin_l_bfgs_b")
@fills("scipy.optimize:fmin_tnc")
def fmin_bounded(call: FilledCall) -> Any:
    """Without ``approx_grad`` the function returns its gradient, too."""
    wants = bool(call.given.get("approx_grad")) and is_empty(call.given.get("fprime"))
    return _older(call, "func", wants, approx_grad=0)


@fills("scipy.optimize:fmin_ncg")
def fmin_ncg(call: FilledCall) -> Any:
    given = call.given
    x = vector(given.get("x0"))
    if x is None or not is_empty(given.get("fhess_p")) or not is_empty(given.get("fhess")):
        return call.plain()
    found = call.supplied(given.get("fprime"), GRADIENT_ALONG, (x, np.ones_like(x), *as_tuple(given.get("args", ()))))
    return call.plain() if found is None else call.filled(fhess_p=found)


@fills("scipy.optimize:fmin_slsqp")
def fmin_slsqp(call: FilledCall) -> Any:
    given = call.given
    x = vector(given.get("x0"))
    if x is None:
        return call.plain()
    args = as_tuple(given.get("args", ()))
    slots: dict[str, Any] = {}
    for name, slot, kind in (
        ("func", "fprime", GRADIENT),
        ("f_eqcons", "fprime_eqcons", JACOBIAN),
        ("f_ieqcons", "fprime_ieqcons", JACOBIAN),
    ):
        if is_empty(given.get(slot)) and given.get(name) is not None:
            found = call.supplied(given[name], kind, (x, *args))
            if found is not None:
                slots[slot] = found
    return call.filled(**slots)


def _older(call: FilledCall, name: str, is_wanted: bool, **more: Any) -> Any:
    x = vector(call.given.get("x0"))
    if x is None or not is_wanted:
        return call.plain()
    found = call.supplied(call.given.get(name), GRADIENT, (x, *as_tuple(call.given.get("args", ()))))
    return call.plain() if found is None else call.filled(fprime=found, **more)


# ------------------------------------------------------------------------------------------------------- searches


@fills("scipy.optimize:differential_evolution")
@fills("scipy.optimize:dual_annealing")
@fills("scipy.optimize:shgo")
def search(call: FilledCall) -> Any:
    """Remember the function, since the search hands one of its own, which counts calls, to ``minimize``."""
    f, given = call.given.get("func"), call.given
    if not callable(f) or given.get("vectorized"):
        return call.plain()
    with _searched(f, as_tuple(given.get("args", ()))):
        return call.plain()


@fills("scipy.optimize:basinhopping")
def basinhopping(call: FilledCall) -> Any:
    return call.plain()  # which hands the function itself to `minimize`

"""wengert: automatic differentiation of ordinary NumPy code.

A NumPy function is recorded as a *tape* (a Wengert list), transformed, optimised and run::

    import numpy as np, wengert as wg

    gradient = wg.jit(wg.grad(lambda x: np.sum(np.exp(x) * x)))
    gradient(np.linspace(0, 1, 5))
"""

from typing import TYPE_CHECKING, Any

from wengert import extension  # noqa: F401  # first: it says which modules are compiled

# isort: split
from wengert import config, edit, errors, expect, labelled, of_scipy, ops, tree  # noqa: F401  # two wait for libraries
from wengert.api.branches import checkpoint, cond, joined, switch
from wengert.api.derivatives import grad, jvp, linearize, stop_gradient, value_and_grad, vjp
from wengert.api.finding import find_nans
from wengert.api.implicit import implicit
from wengert.api.installation import doctor
from wengert.api.loops import fori_loop, while_loop
from wengert.api.mapping import broadcast, vmap
from wengert.api.matrices import hessian, hvp, jacobian
from wengert.api.printing import print as print
from wengert.api.programs import compile, constant, fastmath, jit, look, spec, spec_of, trace
from wengert.api.recurrences import known_states
from wengert.api.roots import known_root
from wengert.api.scans import scan
from wengert.api.timing import timed
from wengert.api.watching import watch, watching
from wengert.checking import check_derivatives
from wengert.edit import format_tree
from wengert.errors import FiniteDifferencesWarning, PerformanceWarning, SolverWarning
from wengert.higher.primitive import not_implemented, primitive
from wengert.runtime._native import get_threads, set_threads
from wengert.tape import Tape, check
from wengert.tracebacks import fold as _fold
from wengert.tracing.interception.intercept import interceptions
from wengert.tree import register

if TYPE_CHECKING:  # so that editors know the names, and say where there is none
    from wengert import graph as graph
    from wengert import hosts as hosts
    from wengert import nn as nn
    from wengert import ode as ode
    from wengert import optimize as optimize
    from wengert import report as report
    from wengert.report import digits, explain, profile, smooth
    from wengert.solvers import exact, hess_for, hessp_for, jac_for

    __version__: str

# Imported when they are asked for: who differentiates needs none of them.
_ON_TOP = ("graph", "hosts", "nn", "ode", "optimize", "report")
_IN_REPORT: tuple[str, ...] = (
    "digits",
    "explain",
    "profile",
    "smooth",
)
_IN_SOLVERS: tuple[str, ...] = ("exact", "hess_for", "hessp_for", "jac_for")


def _get(name: str) -> Any:
    try:
        if name == "__version__":
            from importlib.metadata import version  # takes as long to import as half of NumPy

            return version("wengert")
        if name in _ON_TOP:
            from importlib import import_module

            return import_module(f"wengert.{name}")
        if name in _IN_REPORT or name in _IN_SOLVERS:
            from importlib import import_module

            return getattr(import_module("wengert.report" if name in _IN_REPORT else "wengert.solvers"), name)
        return expect.missing("wengert", [*__all__, *_ON_TOP])(name)
    except Exception as error:  # any: it goes on, with a shorter traceback
        _fold(error)
        raise


if not TYPE_CHECKING:
    __getattr__ = _get


def __dir__() -> list[str]:
    return [*__all__, "print", *_ON_TOP, *_IN_REPORT, *_IN_SOLVERS]


__all__ = [
    # derivatives
    "grad",
    "value_and_grad",
    "vjp",
    "jvp",
    "linearize",
    "jacobian",
    "hessian",
    "hvp",
    # for solvers that ask for none
    "exact",
    "jac_for",
    "hess_for",
    "hessp_for",
    "FiniteDifferencesWarning",
    # batching
    "vmap",
    # branches and loops
    "cond",
    "switch",
    "scan",
    "fori_loop",
    "while_loop",
    "joined",
    "implicit",
    "known_root",
    "known_states",
    "checkpoint",
    # what is constant
    "stop_gradient",
    "constant",
    # tapes and programs
    "trace",
    "compile",
    "jit",
    "timed",
    "fastmath",
    "spec",
    "spec_of",
    "PerformanceWarning",
    "SolverWarning",
    "Tape",
    "check",
    "format_tree",
    "edit",
    # of your own
    "primitive",
    "not_implemented",
    "broadcast",
    "register",
    "tree",
    "ops",
    # looking inside
    "explain",
    "look",
    "profile",
    "smooth",
    "find_nans",
    "digits",
    "watch",
    "watching",
    # trust
    "check_derivatives",
    "interceptions",
    "doctor",
    "config",
    "set_threads",
    "get_threads",
    "errors",
    "expect",
]

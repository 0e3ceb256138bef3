"""wengert: automatic differentiation of ordinary NumPy code.

A NumPy function is recorded as a *tape* (a Wengert list), transformed, optimised and run::

    import numpy as np, wengert as wg

    gradient = wg.jit(wg.grad(lambda x: np.sum(np.exp(x) * x)))
    gradient(np.linspace(0, 1, 5))
"""

from importlib.metadata import version as _version

from wengert import config, edit, errors, ops
from wengert.ad.custom import not_implemented, primitive
from wengert.api import (
    broadcast,
    compile,
    constant,
    grad,
    hessian,
    hvp,
    jacobian,
    jit,
    jvp,
    linearize,
    stop_gradient,
    trace,
    value_and_grad,
    vjp,
    vmap,
)
from wengert.checking import check_derivatives
from wengert.tape import Tape, check, format_tree
from wengert.tree import register

__version__ = _version("wengert")

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
    # batching
    "vmap",
    # what is constant
    "stop_gradient",
    "constant",
    # tapes and programs
    "trace",
    "compile",
    "jit",
    "Tape",
    "check",
    "format_tree",
    "edit",
    # of your own
    "primitive",
    "not_implemented",
    "broadcast",
    "register",
    "ops",
    # trust
    "check_derivatives",
    "config",
    "errors",
]

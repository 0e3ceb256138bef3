"""Optimisers as pure functions on trees, steps of training as one program, and SciPy's solvers on trees."""

from typing import TYPE_CHECKING

import wengert as wg
from wengert.optimize import schedules
from wengert.optimize.minimisation import minimize
from wengert.optimize.optimisers import (
    Optimiser,
    adagrad,
    adam,
    adamw,
    add_decay,
    apply,
    averaged,
    chain,
    clip_by_norm,
    clip_by_value,
    every,
    lbfgs,
    lion,
    rmsprop,
    sgd,
)
from wengert.optimize.solving import least_squares, root
from wengert.optimize.steps import step

__all__ = [
    # optimisers
    "Optimiser", "adagrad", "adam", "adamw", "lbfgs", "lion", "rmsprop", "sgd",
    # before and behind them
    "add_decay", "apply", "averaged", "chain", "clip_by_norm", "clip_by_value", "every", "schedules",
    # running them
    "least_squares", "minimize", "root", "step",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = wg.expect.missing(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)

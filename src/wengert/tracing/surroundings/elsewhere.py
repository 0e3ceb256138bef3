"""This file reads state that is set elsewhere in the process, not in anything that the traced function names.

What can be compared is read here, by what reads it, and compared at every call: the environment, the context of
decimals, the locale. The generators that ``random`` and ``np.random`` share are objects like any other; that a
generator was made without a seed is heard of at the call that asks for one: see functions/seeding.py.
"""

from __future__ import annotations

import os
import random
import sys
from typing import Any

import numpy as np


def _of_decimals() -> Any:
    """The settings that decimals are computed with, in the present context."""
    import decimal  # which our import does without: it takes milliseconds

    c = decimal.getcontext()
    return c.prec, c.rounding, c.Emin, c.Emax, c.capitals, c.clamp, tuple(c.traps.values())


def _locale() -> Any:
    import locale  # likewise

    return locale.setlocale(locale.LC_ALL)


def _environ() -> Any:
    return dict(vars(os.environ)["_data"])


SET_ELSEWHERE: dict[str, Any] = {
    "os.getenv": _environ,
    "os.environ": _environ,
    "os._Environ": _environ,
    "os.getcwd": os.getcwd,
    "sys.getrecursionlimit": sys.getrecursionlimit,
    "locale.getlocale": _locale,
    "locale.localeconv": _locale,
    "numpy.geterr": lambda: np.geterr(),
    "numpy.get_printoptions": lambda: np.get_printoptions(),
    **dict.fromkeys(["numpy.array2string", "numpy.array_repr", "numpy.array_str"], lambda: np.get_printoptions()),
    "decimal": _of_decimals,
}
"""Functions that read comparable state set elsewhere, by the name of the function or module that depends on it."""


def state_of_numpy() -> Any:
    return np.random.mtrand._rand


def state_of_python() -> Any:
    return random._inst


def class_of_states() -> Any:
    """np.random.RandomState, if NumPy has imported it."""
    module = sys.modules.get("numpy.random")
    return None if module is None else module.RandomState

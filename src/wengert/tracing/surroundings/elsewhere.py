"""What a function reads that is set elsewhere: in the process, not in anything that it names.

What can be compared is read here, by what reads it, and compared at every call: the environment, the context of
decimals, the locale. The generators that ``random`` and ``np.random`` share are objects like any other; that a
generator was made without a seed is heard of at the call that asks for one.
"""

from __future__ import annotations

import functools
import os
import random
import sys
from typing import Any

import numpy as np

from wengert.tracing.callers import is_called_by_name
from wengert.tracing.trace import current_trace


def _of_decimals() -> Any:
    """What decimals are computed by, in the present context."""
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
"""What is set elsewhere and can be compared, by what reads it."""


def state_of_numpy() -> Any:
    return np.random.mtrand._rand


def state_of_python() -> Any:
    return random._inst


@functools.cache
def hear_of_seeds() -> None:
    """From now on a traced function that makes a generator without a seed, or with a seed of None, is found out:
    NumPy asks for random bits by a name of one of its modules."""
    from numpy.random import bit_generator

    own = bit_generator.randbits  # type: ignore[attr-defined]  # what it has imported, the stubs leave out

    def randbits(k: int) -> int:
        trace = current_trace()
        if trace is not None and not is_called_by_name(sys._getframe(1), "RandomState"):  # which asks always
            trace.unrepeatable = trace.unrepeatable or (
                f"a random generator at {trace.where()} has no seed: np.random.default_rng(0)"
            )
        return own(k)

    bit_generator.randbits = randbits  # type: ignore[attr-defined]  # likewise


def class_of_states() -> Any:
    """np.random.RandomState, if NumPy has imported it."""
    module = sys.modules.get("numpy.random")
    return None if module is None else module.RandomState

"""Numba: a compiled program among functions under ``@njit``, without the GIL.

The other way needs nothing: a function under ``@njit`` that a traced function calls is traced as the Python code that
it was made of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wengert as wg

__all__ = ["function"]


@wg.expect.checked
def function(f: Callable[..., Any], *example: Any) -> Any:
    """Return ``f``, compiled by wengert, as a function that code under ``@njit`` calls, without Python and the GIL.

    Parameters
    ----------
    f : takes arrays and numbers by position, and returns one, or a tuple of them. What ``wg.grad``, ``wg.jacobian`` and
        the like return are such functions.
    example : arguments of the shapes and dtypes that it is to take; their values do not matter, unless ``f`` branches
        on them.

    Returns
    -------
    A function of Numba's. Its arguments have the shapes and dtypes of the example, arrays in C order; results are new
    arrays and numbers. Any number of threads may call it at once (``parallel=True``, ``nogil=True``): a call runs in
    its own thread. It reads captured arrays where they lie, and keeps the program as long as Python runs.

    Raises
    ------
    ModuleNotFoundError : Numba is not installed.
    StructureError : a step of the program calls Python, or ``f`` returns another structure.
    numba.TypingError : at a call that is compiled, for arguments of another dtype or number of dimensions.
    ValueError : at a call, for another shape; where ``f`` takes another branch than for the example; where a step
        refuses its operands.

    Examples
    --------
    >>> import numba, numpy as np
    >>> import wengert as wg
    >>> gradient = wg.hosts.numba.function(wg.grad(lambda x: np.sum(x**3)), np.ones(2))
    >>> @numba.njit
    ... def descend(x):
    ...     for _ in range(100):
    ...         x = x - 0.1 * gradient(x)
    ...     return x
    >>> descend(np.array([0.5, 0.25])) < 0.1
    array([ True,  True])
    """
    from wengert.hosts import _numba

    return _numba.function(f, example)

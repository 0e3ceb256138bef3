"""``find_nans``: say which operation makes a NaN or an infinity."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wengert._contexts import replaced
from wengert.expect import checked
from wengert.runtime._native import finding


@contextmanager
@checked
def find_nans(infinities: bool = True) -> Iterator[None]:
    """Raise NonFiniteError for the first operation that makes a NaN or an infinity, forward or backward.

    Within the context, what this thread runs is watched: gradients and other transforms, jitted functions, programs.
    Machine code is what it is without the context, and so are results, bit for bit. ``wg.jit(f, find_nans=True)`` does
    so at every call of ``f``, the environment variable ``WENGERT_FIND_NANS=1`` or
    ``wg.config.find_nans = True`` everywhere.

    An operation makes a NaN where none of its operands has one, and an infinity where all are finite. Infinities and
    NaNs that are given (in arguments, captured arrays, ``np.where(mask, x, -np.inf)``) are data. What a selection
    leaves out is not reported. A program looks at what its kernels write, not at what stays within one. What NumPy
    answers without a program is not looked at: untraced code, and a jitted function that cannot be traced.

    Parameters
    ----------
    infinities : False looks for NaNs alone.

    Raises
    ------
    NonFiniteError : in the context, an operation made one. The message has the user's line, the operands, the index,
        whether the line or its derivative did it, and what to write instead where the cause is a known one. An argument
        that holds a NaN which reaches a result is named as such.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> with wg.find_nans():
    ...     wg.grad(lambda x: np.sum(np.sqrt(x)))(np.array([4.0, 0.0]))
    Traceback (most recent call last):
    wengert.errors.NonFiniteError: the derivative of sqrt made an infinity: ...
    """
    with replaced(finding, "here", 2 if infinities else 1):
        yield

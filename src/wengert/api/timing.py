"""The times of a program's steps: the low level of :func:`wengert.profile`."""

from __future__ import annotations

from wengert.errors import ArgumentError, message
from wengert.expect import given
from wengert.runtime import execute
from wengert.runtime.jit import Jit
from wengert.runtime.program import Program
from wengert.runtime.timing import Timing


def timed(what: Program | Jit | None = None) -> Timing:
    """Time the steps of programs while a ``with`` block runs; ``.read()`` of what it gives returns the times.

    :func:`wengert.profile` shows them beside the lines; this gives the numbers alone. Some of the runs are timed, so
    few that the program takes at most three percent longer.

    Parameters
    ----------
    what : a program; a jitted function, of which all programs are timed, also those that are made meanwhile; or None,
        whatever runs, un-jitted calls included.

    Raises
    ------
    ArgumentError : ``what`` is something else.
    StructureError : at the beginning of the block, a program is being timed already, or there is no machine code.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> step = wg.jit(lambda x: np.cumsum(np.exp(x)))
    >>> with wg.timed(step) as timing:
    ...     for _ in range(10):
    ...         y = step(np.ones(1000))
    >>> (program,) = timing.read()
    >>> program.time.calls, [kernel.name for kernel in program.kernels]
    (10, ['exp', 'cumsum'])
    """
    if isinstance(what, Program):
        return Timing([what], lambda program: program is what)
    if isinstance(what, Jit):
        return Timing(what.programs(), lambda program: any(program is p for p in what.programs()))
    if what is not None:
        tries = ["wg.timed(wg.jit(f))", "wg.timed(), whatever runs"] if callable(what) else []
        raise ArgumentError(
            message(f"timed: what is {given(what)}; expected a program or a jitted function", tries=tries)
        )
    return Timing(execute.programs())

"""The Python form of ``wengert.runtime._native``: calls of compiled functions, where there is no machine code.

The extension runs machine code, and looks by itself whether a call fits a program that is there. Without it every call
is answered by the Python code that answers a new one (:mod:`wengert.runtime.jit`): it compares the arguments, reads
again all that the function captured, and runs the references. So nothing is watched here, and nothing can be stale.

Names of the extension that only machine code needs raise an error that says so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from operator import index
from types import GenericAlias
from typing import Any

from wengert._contexts import replaced
from wengert.errors import ArgumentError, ConfigError, OptionError, message
from wengert.tracebacks import fold

OF_MACHINE_CODE = (
    "Bound",
    "Entry",
    "Executable",
    "c_function",
    "for_c",
    "kernel_address",
    "loop_routine_address",
    "prepare_fourier",
    "reduce_huge_address",
    "set_routines",
    "ufunc_loop",
    "work_bytes",
)
"""The names that the extension has beside these: programs of machine code, and the addresses of their parts."""


def __getattr__(name: str) -> Any:
    if name in OF_MACHINE_CODE:
        raise ConfigError(
            message(
                f"wengert.runtime._native.{name} is of machine code, and wengert runs without its extension here",
                tries=["wg.doctor(), which says why", "wengert.config.native, to ask before"],
            )
        )
    raise AttributeError(f"module 'wengert.runtime._native' has no attribute {name!r}")


_everywhere = 0


class Finding(threading.local):
    """Whether runs look for NaNs: 0 not at all, 1 for NaNs, 2 for infinities too."""

    here: int = -1
    """The mode of this thread; -1: as everywhere."""

    @property
    def everywhere(self) -> int:
        """The mode of threads that have not said anything."""
        return _everywhere

    @everywhere.setter
    def everywhere(self, mode: int) -> None:
        global _everywhere
        _everywhere = mode

    @property
    def mode(self) -> int:
        """How this thread looks."""
        return self.here if self.here >= 0 else _everywhere


finding = Finding()


class Dispatcher:
    """A callable whose calls are all answered by ``self._slow(args, kwargs)``, the subclass's."""

    __class_getitem__ = classmethod(GenericAlias)

    calls: int = 0
    """How many calls there were. Threads that call at once may lose one."""
    _finds_nans: bool = False
    """Whether every call looks for NaNs and infinities."""
    _entries: tuple[Any, ...] = ()
    """The entries that the extension would try: none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """It takes what the subclass takes, and keeps nothing."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        try:
            if self._finds_nans:
                with replaced(finding, "here", 2):
                    return self._slow(args, kwargs)
            return self._slow(args, kwargs)
        except Exception as error:  # any: it goes on, with a shorter traceback
            fold(error)
            raise

    def _slow(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError("a subclass answers the calls")

    def _forget(self) -> None:
        """There is nothing to forget."""


def setup(*, guard_miss: Callable[[int, bytes], BaseException]) -> None:
    """Take what makes the exception of a guard miss: the references raise their own."""


def now() -> tuple[int, int, int]:
    """The clock, in nanoseconds, as ticks and as a monotonic time."""
    ticks = time.perf_counter_ns()
    return ticks, ticks, ticks


_threads = 1


def set_threads(n: int) -> None:
    """Set the number that :func:`get_threads` returns. The references run in the thread that calls: no step is shared.

    NumPy's BLAS has threads of its own, which this does not change.
    """
    global _threads
    try:
        number = index(n)
    except TypeError:
        raise ArgumentError(message(f"set_threads: n is a {type(n).__name__}; expected a whole number")) from None
    if number < 1:
        raise OptionError(message("set_threads: the number of threads is at least 1"))
    _threads = number


def get_threads() -> int:
    """The number that was set; without machine code, of no effect."""
    return _threads


def n_watched_dicts() -> int:
    """No dict is watched."""
    return 0


def kept_bytes() -> int:
    """No memory is kept for large results."""
    return 0

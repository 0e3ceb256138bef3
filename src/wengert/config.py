"""The few switches, their environment variables and their defaults.

Read at the moment of use, so that setting ``wengert.config.check = True`` takes effect at once.
"""

from __future__ import annotations

import sys as _sys
from collections.abc import Callable as _Callable
from os import environ as _environ
from types import ModuleType as _ModuleType
from typing import Any as _Any

_listeners: dict[str, _Callable[[_Any], None]] = {}
"""Functions that are called when a switch is set, by its name, for switches that are not read at the moment of use."""


class _Switches(_ModuleType):
    """The module, which tells the listener of a switch that it was set."""

    def __setattr__(self, name: str, value: _Any) -> None:
        super().__setattr__(name, value)
        if name in _listeners:
            _listeners[name](value)


_sys.modules[__name__].__class__ = _Switches

check: bool = _environ.get("WENGERT_CHECK", "0") == "1"
"""Check every tape after every transform and pass (``WENGERT_CHECK=1``). The tests turn it on."""

verify: bool = _environ.get("WENGERT_VERIFY", "0") == "1"
"""Compare every kernel, when it is made or loaded, with the references of its steps on operands that are hard to get
right (``WENGERT_VERIFY=1``): some ten milliseconds a kernel. A difference raises InternalError."""


def _count(variable: str, default: int) -> int:
    text = _environ.get(variable, "") or str(default)
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ValueError(f"the environment variable {variable} is {text!r}; expected a whole number of at least 1")
    return int(text)


max_paths: int = _count("WENGERT_MAX_PATHS", 64)
"""How many paths through its branches one signature of a jitted function may take."""

max_programs: int = _count("WENGERT_MAX_PROGRAMS", 512)
"""How many programs of un-jitted calls, and how many signatures of each jitted function, are kept; the least
recently used goes first."""

snapshot_bytes: int = 8192
"""A captured array of at most this many bytes is copied when it meets an un-jitted trace. A larger one may not be
written until the trace ends: copying it would make touching a large constant expensive."""

cache_dir: str | None = _environ.get("WENGERT_CACHE_DIR")
"""Where compiled kernels are kept between processes; None, the user's cache folder; "" keeps none
(``WENGERT_CACHE_DIR``)."""

cache_bytes: int = 256 * 1024 * 1024
"""How large that folder may grow; what was written longest ago goes first."""

target: str = _environ.get("WENGERT_TARGET", "")
"""The processor that machine code is made for: "x86-64-v2" (vectors of 16 bytes), "x86-64-v3" (32 bytes, AVX2, FMA),
"x86-64-v4" (64 bytes, AVX-512), or "", this machine's own (``WENGERT_TARGET``). Code that is made already stays."""

native: bool = _environ.get("WENGERT_NATIVE", "1") == "1"
"""Run tapes as machine code; off, through the NumPy references, step by step (``WENGERT_NATIVE=0``). It is off by
itself where there is no llvmlite, or no extension: setting it then raises ConfigError, and :func:`wengert.doctor` says
why."""

find_nans: bool = _environ.get("WENGERT_FIND_NANS", "0") == "1"
"""Look in all threads for the operation that makes a NaN or an infinity, as :func:`wengert.find_nans` does in a context
of one thread (``WENGERT_FIND_NANS=1``)."""

threads: int = _count("WENGERT_THREADS", 1)
"""How many threads share a large step, when wengert is imported; later, :func:`wengert.set_threads`. Results do not
depend on it (``WENGERT_THREADS``)."""

tiered: bool = _environ.get("WENGERT_TIERED", "1") == "1"
"""Answer un-jitted calls of a structure that is new by NumPy, without waiting for a compiler, until it has earned
machine code: at the same call in every run. Last digits may change then, as docs/how-it-works.md says. Off, the first
call waits, and the same inputs give the same bits from the first call on (``WENGERT_TIERED=0``)."""

traceback: str = _environ.get("WENGERT_TRACEBACK", "") or "short"
"""Which frames the traceback of an error shows: "short", the user's and other libraries'; "full", wengert's as well
(``WENGERT_TRACEBACK=full``)."""

__all__ = [
    "cache_bytes",
    "cache_dir",
    "check",
    "find_nans",
    "max_paths",
    "max_programs",
    "native",
    "snapshot_bytes",
    "target",
    "threads",
    "tiered",
    "traceback",
    "verify",
]


def __dir__() -> list[str]:
    return list(__all__)

"""Whether programs are machine code in this process, why not, and what is said about that.

Machine code takes wengert's extension and llvmlite. Where one of them is missing the NumPy references answer every
program, and ``config.native`` is off. llvmlite is imported when machine code is first made, and not before.
"""

from __future__ import annotations

import os
import re
from importlib.util import find_spec

from wengert import config, extension
from wengert.codegen.locking import LOADING
from wengert.errors import ConfigError, message
from wengert.runtime.plain import warn_slow

INSTALL = 'pip install "wengert[native]"'
BUILD = 'pip install --force-reinstall --no-binary wengert "wengert[native]"'
"""The command where the wheel has no extension: it takes a C++ compiler."""


_IS_FORCED = not {"1", "runtime", "_native"}.isdisjoint(re.split(r"[\s,]+", os.environ.get("WENGERT_PURE", "")))
"""Whether the environment asks for the Python form of the runtime."""


def _missing() -> str:
    if _IS_FORCED:
        return f"WENGERT_PURE is {os.environ['WENGERT_PURE']}"
    if not extension.is_compiled("_native"):
        return "wengert is installed without its extension"
    return "" if find_spec("llvmlite") is not None else "llvmlite is not installed"


class _State:
    """The state of machine code in this process."""

    missing = _missing()
    """The reason why there cannot be any; empty if there can."""
    is_wanted = config.native and not _IS_FORCED
    """Whether nobody has said that there shall be none."""
    was_said = False
    """Whether the warning was given."""
    is_loaded = False


def why_none() -> str:
    """Return the reason why programs are not machine code; empty if they are."""
    if config.native:
        return ""
    return _State.missing or "it is switched off: WENGERT_NATIVE=0, or wengert.config.native = False"


def needed() -> str:
    """Return the command that installs what machine code needs; empty if all is there, or if it is not wanted here."""
    if not _State.missing or _IS_FORCED:
        return ""
    return INSTALL if extension.is_compiled("_native") else BUILD


def remedy() -> str:
    """Return what to do to have machine code."""
    return "unset WENGERT_PURE" if _IS_FORCED else needed() or "unset WENGERT_NATIVE"


def was_told() -> None:
    """Give no warning from now on: the user knows."""
    _State.was_said = True


def load() -> bool:
    """Import what makes machine code, and return whether that is there.

    A fork waits for the end of it: a child that was forked while another thread imports would wait for ever itself.
    """
    if config.native and not _State.is_loaded:
        with LOADING:
            try:
                import llvmlite.binding  # noqa: F401  # for who imports it below
            except (ImportError, OSError) as error:  # OSError: its library is there, and does not fit
                _State.missing = f"llvmlite cannot be imported: {error}"
                config.__dict__["native"] = False  # past the listener, which is for the user's wish
                return False
            from wengert.runtime import assemble  # noqa: F401

            _State.is_loaded = True
    return config.native


def say_once() -> None:
    """Warn, once in a process, that NumPy answers where machine code would; not if it was switched off."""
    if _State.was_said or config.native or not _State.is_wanted:
        return
    _State.was_said = True
    warn_slow(
        f"programs are run by NumPy, and not as machine code, which is faster: {_State.missing}. {remedy()} has what "
        "is needed; wengert.config.native = False, or WENGERT_NATIVE=0, says that this is meant"
    )


def _wish(is_native: object) -> None:
    """Take the user's word for ``config.native``. Raises ConfigError if there can be no machine code."""
    _State.is_wanted = bool(is_native)
    if is_native and _State.missing:
        config.__dict__["native"] = False
        raise ConfigError(message(f"config.native: there is no machine code here: {_State.missing}", tries=[remedy()]))


config._listeners["native"] = _wish
if _State.missing:
    config.__dict__["native"] = False

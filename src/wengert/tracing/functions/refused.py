"""Functions that compiled code cannot run are refused where they are called: they could mislead."""

from __future__ import annotations

import re
from typing import Any

from wengert.tracing.arguments import refuse, unsupported
from wengert.tracing.interception.asking import AT_CALLER
from wengert.tracing.interception.intercept import intercepts


def _check_switches(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Floating-point errors, which compiled code does not look at, cannot be made to raise."""
    for option, value in (*[("all", a) for a in args], *kwargs.items()):
        if value in ("raise", "call"):
            raise refuse(name, option, value, "a test of the value: if not np.all(np.isfinite(y))")


@intercepts("numpy:errstate", AT_CALLER)
def errstate(context: object, *args: Any, **kwargs: Any) -> Any:
    _check_switches("errstate", args, kwargs)
    return NotImplemented


@intercepts("numpy:seterr", AT_CALLER)
def seterr(*args: Any, **kwargs: Any) -> Any:
    _check_switches("seterr", args, kwargs)
    return NotImplemented


# What NumPy warns of while it computes: "divide by zero encountered in log".
_OF_FLOATS = [f"{what} encountered in " for what in ("divide by zero", "overflow", "underflow", "invalid value")]


def _check_filter(name: str, action: object, category: Any = Warning, message: str = "") -> None:
    """The warnings of NumPy's computing, which compiled code does not give, cannot be made errors."""
    is_of_floats = isinstance(category, type) and issubclass(RuntimeWarning, category)
    if action == "error" and is_of_floats and any(re.match(message, text, re.IGNORECASE) for text in _OF_FLOATS):
        what = f"warnings.{name}: {action!r} is not traced for the warnings of floating-point errors"
        raise unsupported(what, "a test of the value: if not np.all(np.isfinite(y))", "another category")


@intercepts("warnings:simplefilter", AT_CALLER)
def simplefilter(action: object, category: object = Warning, *args: Any, **kwargs: Any) -> Any:
    _check_filter("simplefilter", action, category)
    return NotImplemented


@intercepts("warnings:filterwarnings", AT_CALLER)
def filterwarnings(action: object, message: str = "", category: object = Warning, *args: Any, **kwargs: Any) -> Any:
    _check_filter("filterwarnings", action, category, message)
    return NotImplemented


@intercepts("warnings:catch_warnings", AT_CALLER)
def catch_warnings(context: object, *, action: object = None, category: object = Warning, **kwargs: Any) -> Any:
    _check_filter("catch_warnings", action, category)
    return NotImplemented

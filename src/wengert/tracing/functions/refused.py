"""Functions that NumPy has and compiled code cannot run are refused where they are called: they could mislead."""

from __future__ import annotations

from typing import Any

from wengert.tracing.arguments import refuse
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

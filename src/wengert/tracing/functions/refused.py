"""What NumPy can do and compiled code cannot, refused where it is asked for, before it could mislead."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.tracing.arguments import holds_traced, holds_tracer, refuse, unsupported
from wengert.tracing.patch import NUMPY, replaces


def _check_switches(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Floating-point errors, which compiled code does not look at, cannot be made to raise."""
    for option, value in (*[("all", a) for a in args], *kwargs.items()):
        if value in ("raise", "call"):
            raise refuse(name, option, value, "a test of the value: if not np.all(np.isfinite(y))")


@replaces("errstate")
def errstate(*args: Any, **kwargs: Any) -> Any:
    _check_switches("errstate", args, kwargs)
    return NUMPY["errstate"](*args, **kwargs)


@replaces("seterr")
def seterr(*args: Any, **kwargs: Any) -> Any:
    _check_switches("seterr", args, kwargs)
    return NUMPY["seterr"](*args, **kwargs)


@replaces("nditer")
def nditer(op: Any, *args: Any, **kwargs: Any) -> Any:
    if holds_traced(op):
        raise unsupported("np.nditer of traced arrays is not traced", "x.flat", "np.ndenumerate(x)")
    given = [np.asarray(x) if holds_tracer(x) else x for x in (op if isinstance(op, list | tuple) else [op])]
    return NUMPY["nditer"](given, *args, **kwargs)

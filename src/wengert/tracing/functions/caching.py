"""``functools.cache`` and ``lru_cache``: what they keep, later calls find, which nobody may trace."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wengert.tracing.arguments import holds_tracer
from wengert.tracing.interception.asking import AT_INSTANCE
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.stack import current_trace, suspended


@intercepts(functools._lru_cache_wrapper, AT_INSTANCE)
def cached(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result is made as if nobody traced, and kept. Of traced values, and of objects that hold some, it is recorded
    as that of the function itself, and not kept."""
    if current_trace() is None:
        return NotImplemented
    given = [*args, *kwargs.values()]
    if holds_tracer([*given, *[y for x in given for y in getattr(x, "__dict__", {}).values()]]):
        return f.__wrapped__(*args, **kwargs)
    with suspended():
        return f(*args, **kwargs)

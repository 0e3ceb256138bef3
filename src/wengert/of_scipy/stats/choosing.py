"""SciPy's helpers that evaluate one of several functions at each element, on traced arrays: selections.

SciPy calls each function with the elements where its condition holds. Here each is called with all elements, and
``np.where`` selects: derivatives of what is not selected do not count, even where they are infinite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.tracing.arguments import array
from wengert.tracing.interception.asking import AT_ARGUMENTS
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer


@intercepts("scipy._external.array_api_extra:apply_where", AT_ARGUMENTS)  # since SciPy 1.18
@intercepts("scipy._lib.array_api_extra:apply_where", AT_ARGUMENTS)
def apply_where(
    cond: Any,
    args: Any,
    f1: Callable[..., Any],
    f2: Callable[..., Any] | None = None,
    /,
    *,
    fill_value: Any = None,
    xp: Any = None,
    **_: Any,
) -> Any:
    """f1(*args) where the condition holds; elsewhere f2(*args), or ``fill_value``."""
    args = [array(x, (cond,)) for x in (args if isinstance(args, tuple | list) else [args])]
    return np.where(cond, f1(*args), fill_value if f2 is None else f2(*args))


@intercepts("scipy._lib._util:_lazywhere", AT_ARGUMENTS)  # in SciPy before 1.16
def lazywhere(
    cond: Any, arrays: Sequence[Any], f: Callable[..., Any], fillvalue: Any = None, f2: Callable[..., Any] | None = None
) -> Any:
    """f(*arrays) where the condition holds; elsewhere f2(*arrays), or ``fillvalue``."""
    arrays = [array(x, (cond,)) for x in arrays]
    return np.where(cond, f(*arrays), fillvalue if f2 is None else f2(*arrays))


@intercepts("scipy._lib._util:_lazyselect", AT_ARGUMENTS)
def lazyselect(
    condlist: Sequence[Any], choicelist: Sequence[Callable[..., Any]], arrays: Sequence[Any], default: Any = 0
) -> Any:
    """The choice of the last condition that holds at an element, or ``default``."""
    arrays = np.broadcast_arrays(*[array(x, arrays) for x in arrays])
    found: Any = default
    for condition, choice in zip(condlist, choicelist, strict=True):
        if condition is not False:
            found = np.where(condition, choice(*arrays), found)
    return found


@intercepts("scipy._external.array_api_compat.common._helpers:is_writeable_array")  # since SciPy 1.18
@intercepts("scipy._lib.array_api_compat.common._helpers:is_writeable_array")
def is_writeable_array(x: Tracer) -> bool:
    """Numbers are not written into, but copied into an array before."""
    return not x.is_scalar

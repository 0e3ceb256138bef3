"""What a call's arguments look like to a compiled function: equal signatures may run the same program."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import tree
from wengert.errors import StructureError, message
from wengert.tracing.record import check_integer


def leaf_kind(x: Any) -> tuple[Any, ...]:
    """What a signature says of a leaf: its type if it is traced, else (0, the value itself)."""
    t = type(x)
    if t is np.ndarray or isinstance(x, np.ndarray | np.generic):
        if x.ndim > 1 and not x.flags.c_contiguous:  # whether a reshape is a view or a copy depends on the strides
            return (1, x.shape, x.dtype, x.strides)
        return (1 if isinstance(x, np.ndarray) else 2, x.shape, x.dtype)
    if t is float or t is int or t is complex:
        check_integer(x)
        return (3, t)
    try:
        hash(x)
    except TypeError:
        raise StructureError(
            message(
                f"a {t.__name__} among the arguments can be neither traced nor compared with the next call's",
                tries=["a tuple or a frozenset of settings", "an array of numbers"],
            )
        ) from None
    return (0, x, tree.exact_key(x))

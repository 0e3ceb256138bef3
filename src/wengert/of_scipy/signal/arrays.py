"""Small things that the functions of ``scipy.signal`` share."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.tracing.arguments import Traced, constant, trace_near


def source(value: Traced, *near: float | Traced) -> Any:
    """A constant of our own making, on the trace of ``near``."""
    return constant(trace_near(near), value)


def padded_to(x: Traced, length: int) -> Any:
    """``x``, of one axis, with zeros after it up to this length."""
    return x if x.shape[0] == length else np.concatenate([x, np.zeros(length - x.shape[0], x.dtype)])

"""Inputs of traces that tests open themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.tape import Aval
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer


def argument(trace: Trace, value: Any) -> Tracer:
    """A traced value that is an input of ``trace``."""
    array = value if isinstance(value, np.ndarray) else np.float64(value)  # np.asarray makes a traced one now
    aval = Aval(array.shape, array.dtype)
    return Tracer(trace, trace.lifted.new_input(aval, array), aval)

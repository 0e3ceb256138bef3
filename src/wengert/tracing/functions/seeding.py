"""Generators that are made without a seed, or with a seed of None: another run would draw other numbers."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from wengert.tracing.interception.asking import AT_OBJECT
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.python.calls import called_object
from wengert.tracing.python.frames import calling_frame
from wengert.tracing.stack import current_trace


@intercepts("random:SystemRandom.getrandbits", AT_OBJECT)
def random_bits(source: object, *n_bits: Any) -> Any:
    """NumPy asks the system for random bits where it is given no seed."""
    trace = current_trace()
    if not hasattr(sys.modules.get("numpy.random.mtrand"), "_rand"):  # it is being imported, and makes the one of all
        return NotImplemented
    if trace is not None and called_object(calling_frame(2)) is not np.random.RandomState:  # it asks always
        trace.unrepeatable = trace.unrepeatable or (
            f"a random generator at {trace.where()} has no seed: np.random.default_rng(0)"
        )
    return NotImplemented

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tracing.surroundings.ways import constants as c

GAIN = 1.25


def amplify(x: Any) -> Any:
    return x * GAIN * np.sqrt(c.RATE + 2)

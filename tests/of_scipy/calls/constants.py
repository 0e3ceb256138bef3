from __future__ import annotations

from typing import Any

import scipy.constants  # noqa: F401  # so that it is intercepted

CALLS: dict[str, list[Any]] = {
    "scipy.constants.convert_temperature": [((20.0, "C", "K"), {}), ((20.0, "C", "X"), {})],
    "scipy.constants.lambda2nu": [((0.5,), {})],
    "scipy.constants.nu2lambda": [((0.5,), {})],
}

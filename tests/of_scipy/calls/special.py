from __future__ import annotations

from typing import Any

import scipy.special  # noqa: F401  # so that it is intercepted

CALLS: dict[str, list[Any]] = {}
"""Those of test_untraced.py do."""

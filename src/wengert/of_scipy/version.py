"""The version of SciPy that is installed, for what differs between versions."""

from __future__ import annotations

import scipy

SCIPY: tuple[int, ...] = tuple(map(int, scipy.__version__.split(".")[:2]))
"""The first two numbers: (1, 17)."""

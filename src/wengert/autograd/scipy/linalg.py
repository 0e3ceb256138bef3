"""``scipy.linalg``, which wengert traces."""

from scipy.linalg import *  # noqa: F403

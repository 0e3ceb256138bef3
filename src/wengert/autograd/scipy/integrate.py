"""``scipy.integrate``, which wengert traces."""

from scipy.integrate import *  # noqa: F403

"""``scipy.special``, which wengert traces."""

from scipy.special import *  # noqa: F403

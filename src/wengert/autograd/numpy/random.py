"""``numpy.random``, which wengert traces."""

from numpy.random import *  # noqa: F403

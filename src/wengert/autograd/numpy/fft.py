"""``numpy.fft``, which wengert traces."""

from numpy.fft import *  # noqa: F403

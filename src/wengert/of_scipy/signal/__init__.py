"""``scipy.signal`` on traced arrays.

Most of it is array code in Python, which runs as it is, with traced arrays (``callers.py``). What stands here is what
that code calls in C or Cython, under the private names of it, and functions whose code decides by values in a way that
has other derivatives.
"""

from wengert.of_scipy.signal import convolving, filters, peaks, ranks, spectral, splines

__all__ = ["convolving", "filters", "peaks", "ranks", "spectral", "splines"]

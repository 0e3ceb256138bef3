"""``scipy.interpolate`` on traced arrays.

SciPy's classes and functions are array code in Python, which runs as it is (``callers.py``) down to what it calls in
C++, Cython and Fortran. That stands here, under the private names of it: piecewise polynomials, bases of splines,
grids, scattered points. Where a point lies is flat; coefficients are gathered there, and polynomials evaluated.
"""

from wengert.of_scipy.interpolate import bsplines, fitpack, grids, piecewise, scattered

__all__ = ["bsplines", "fitpack", "grids", "piecewise", "scattered"]

"""``scipy.ndimage`` on traced arrays.

SciPy computes filters in float64 and converts the result; so does this. Sums of products are contractions of windows of
a padded array, whose last digits may differ from SciPy's, which adds in another order.
"""

from wengert.of_scipy.ndimage import filters, fourier, generic, interpolation, measurements, ranks  # noqa: F401

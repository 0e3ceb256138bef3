"""``scipy.linalg`` on traced arrays: a file for each kind of function.

Stacks of matrices are taken whatever SciPy's version is; SciPy takes them since 1.15. ``overwrite_*``, ``lwork`` and
``check_finite`` are taken and have no effect: a traced array is not overwritten, and its values are not looked at.
"""

from wengert.of_scipy.linalg import (  # noqa: F401  # which fills the table of interceptions
    building,
    equations,
    factoring,
    functions,
    queries,
    refused,
    solving,
    spectra,
)

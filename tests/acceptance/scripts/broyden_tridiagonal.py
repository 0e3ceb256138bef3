"""Broyden's tridiagonal function with the sparsity of its Jacobian, from least_squares' documentation."""

import numpy as np
from scipy.optimize import least_squares
from scipy.sparse import lil_matrix


def fun_broyden(x):
    f = (3 - x) * x + 1
    f[1:] -= x[:-1]
    f[:-1] -= 2 * x[1:]
    return f


def sparsity_broyden(n):
    sparsity = lil_matrix((n, n), dtype=int)
    i = np.arange(n)
    sparsity[i, i] = 1
    i = np.arange(1, n)
    sparsity[i, i - 1] = 1
    i = np.arange(n - 1)
    sparsity[i, i + 1] = 1
    return sparsity


n = 500
res = least_squares(fun_broyden, -np.ones(n), jac_sparsity=sparsity_broyden(n))
result = res.x
print(res.cost)

"""The example of root's documentation."""

from scipy.optimize import root


def fun(x):
    return [x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1.0, 0.5 * (x[1] - x[0]) ** 3 + x[1]]


result = root(fun, [0, 0], method="hybr").x
print(result)

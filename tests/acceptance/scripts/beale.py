"""Beale's function, by conjugate gradients."""

from scipy.optimize import minimize


def beale(p):
    x, y = p
    return (1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + (2.625 - x + x * y**3) ** 2


res = minimize(beale, [1.0, 1.0], method="CG")
result = res.x
print(result)

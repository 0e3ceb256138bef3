"""Booth's function, by a truncated Newton method."""

from scipy.optimize import minimize


def booth(p, a=1, b=2):
    return (p[0] + b * p[1] - 7) ** 2 + (b * p[0] + a * p[1] - 5) ** 2


res = minimize(booth, [0.0, 0.0], method="TNC", bounds=[(-10, 10), (-10, 10)])
result = res.x
print(result)

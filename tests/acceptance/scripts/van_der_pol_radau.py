"""Van der Pol's oscillator, stiff, by Radau."""

from scipy.integrate import solve_ivp


def vdp(t, y, mu):
    return [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]


sol = solve_ivp(vdp, (0, 300), [2.0, 0.0], method="Radau", args=(100.0,), rtol=1e-6, atol=1e-8)
result = sol.y[:, -1]
print(result, sol.nfev)

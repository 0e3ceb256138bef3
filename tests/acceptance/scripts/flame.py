"""The flame of a match, stiff once it burns."""

from scipy.integrate import solve_ivp

sol = solve_ivp(lambda t, y: y**2 - y**3, (0, 2e3), [1e-3], method="Radau", rtol=1e-6, atol=1e-8)
result = sol.y[:, -1]
print(result, sol.nfev)

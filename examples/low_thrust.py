"""Fly from the orbit of the Earth to the orbit of Mars with an ion engine: optimal control.

The thrust has a direction and a size on each of 60 legs. The equations of motion are integrated by Runge-Kutta steps in
plain NumPy; SciPy's SLSQP gets the exact Jacobian of the end of the flight in all 120 unknowns. Units: the distance of
the Earth from the Sun, and years / 2 pi.

    python examples/low_thrust.py
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize

import wengert as wg

LEGS, YEARS, MARS, MOST = 60, 1.6, 1.524, 0.06


def rate(state, thrust):
    place, speed = state[:2], state[2:]
    return np.concatenate([speed, thrust - place / (place @ place) ** 1.5])


def flight(thrusts):
    """Return the states at the ends of all legs, float[legs + 1, 4]."""
    dt = 2 * np.pi * YEARS / LEGS

    def leg(y, u):
        a = rate(y, u)
        b = rate(y + dt / 2 * a, u)
        c = rate(y + dt / 2 * b, u)
        d = rate(y + dt * c, u)
        y = y + dt / 6 * (a + 2 * b + 2 * c + d)
        return y, y

    start = np.array([1.0, 0.0, 0.0, 1.0])
    return np.concatenate([start[None], wg.scan(leg, start, thrusts)[1]])


def missed(u):
    """Return how far the end is from a circular orbit: in radius, radial speed, and tangential speed."""
    x, y, vx, vy = flight(u.reshape(-1, 2))[-1]
    r = np.hypot(x, y)
    return np.array([r - MARS, (x * vx + y * vy) / r, (x * vy - y * vx) / r - MARS**-0.5])


def fuel(u):
    return np.sum(np.sqrt(np.sum(u.reshape(-1, 2) ** 2, axis=1) + 1e-8)) / LEGS


def optimise(steps=200):
    u = 0.02 * flight(np.zeros((LEGS, 2)))[:-1, 2:].ravel()  # a little thrust along the way
    on_orbit = {"type": "eq", "fun": wg.jit(missed), "jac": wg.jit(wg.jacobian(missed))}
    value_and_gradient = wg.jit(wg.value_and_grad(fuel))
    bounds, options = [(-MOST, MOST)] * u.size, {"maxiter": steps, "ftol": 1e-8}
    return minimize(
        value_and_gradient, u, jac=True, method="SLSQP", bounds=bounds, constraints=on_orbit, options=options
    ).x


def draw(u):
    states, thrusts = flight(u.reshape(-1, 2)), u.reshape(-1, 2)
    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.subplots()
    angle = np.linspace(0, 2 * np.pi, 200)
    for radius, color in ((1.0, "C0"), (MARS, "C3")):
        axes.plot(radius * np.cos(angle), radius * np.sin(angle), color=color, lw=1, alpha=0.5)
    axes.plot(*states[:, :2].T, color="k")
    axes.quiver(*states[:-1, :2].T, *thrusts.T, color="C1", scale=0.5, width=0.005)
    axes.plot(0, 0, "o", color="gold", ms=12)
    axes.set(aspect="equal", title="thrust (orange) from Earth's orbit to Mars'")
    axes.set_axis_off()
    return figure


if __name__ == "__main__":
    draw(optimise()).savefig(Path(__file__).with_suffix(".png"), dpi=100)

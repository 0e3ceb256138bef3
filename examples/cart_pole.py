"""Swing a pole up on a cart, and keep it there: trajectory optimisation, then a linear-quadratic regulator.

All forces of two seconds are unknowns of L-BFGS; wengert compiles the simulated motion and its gradient to two native
loops. At the top, the regulator comes from the exact Jacobians of one step.

    python examples/cart_pole.py
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.linalg import solve_discrete_are
from scipy.optimize import minimize

import wengert as wg

DT, STEPS, GOAL = 0.02, 100, np.array([0.0, np.pi, 0.0, 0.0])


def step(state, force):
    """Return the next state (place, angle, speed, turning); cart of 1 kg, pole of 0.3 kg and 0.5 m, angle 0 hangs."""
    _, angle, _, turning = state
    s, c = np.sin(angle), np.cos(angle)
    cart = (force + 0.3 * s * (0.5 * turning**2 + 9.81 * c)) / (1 + 0.3 * s**2)
    speed = state[2:] + DT * np.array([cart, -(cart * c + 9.81 * s) / 0.5])
    return np.concatenate([state[:2] + DT * speed, speed])


def motion(forces):
    states = [np.zeros(4)]
    for force in forces:
        states.append(step(states[-1], force))
    return np.stack(states)


def loss(forces):
    off = motion(forces)[-1] - GOAL
    return 100 * off @ off + 1e-4 * forces @ forces


def plan():
    start, bounds = np.full(STEPS, 0.1), [(-20, 20)] * STEPS
    return minimize(wg.jit(wg.value_and_grad(loss)), start, jac=True, method="L-BFGS-B", bounds=bounds).x


def regulator():
    """Return the gain that holds the pole upright."""
    A, B = wg.jacobian(step, argnums=(0, 1))(GOAL, 0.0)
    P = solve_discrete_are(A, B[:, None], np.diag([1.0, 10.0, 1.0, 1.0]), np.array([[0.1]]))
    return B @ P @ A / (0.1 + B @ P @ B)


def run():
    """Return all states: the plan, then three seconds of the regulator, with a push after one of them."""
    states, gain = list(motion(plan())), regulator()
    for k in range(150):
        push = np.array([0, 0, 0, 1.0]) if k == 50 else 0
        states.append(step(states[-1] + push, -gain @ (states[-1] - GOAL)))
    return np.stack(states)


def draw(states):
    figure = Figure(figsize=(8, 3), layout="constrained")
    axes = figure.subplots()
    for k in range(0, len(states), 5):
        x, angle = states[k, :2]
        t = DT * k
        axes.plot([t, t + 0.12 * np.sin(angle)], [x, x - 0.5 * np.cos(angle)], color="C0", alpha=0.3 + 0.7 * (k >= 100))
    axes.plot(DT * np.arange(len(states)), states[:, 0], color="C1", lw=3)
    axes.set(xlabel="time / s; pushed at 3 s", ylabel="cart and tip of the pole / m", ylim=(-1.5, 1.5))
    return figure


if __name__ == "__main__":
    draw(run()).savefig(Path(__file__).with_suffix(".png"), dpi=100)

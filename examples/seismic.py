"""See a layer under the ground by its echoes: full waveform inversion in plain NumPy.

Sound is sent down from five places and recorded along the ground. The wave equation is stepped by slices of an array.
The loss compares all samples, and its gradient in the velocities of all cells is one backward run.

    python examples/seismic.py
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize

import wengert as wg

NX, NZ, DX, DT, STEPS = 70, 40, 10.0, 1.5e-3, 400  # cells, m, s
SHOTS, DEPTH = np.arange(7, NX, 14), 2
T = DT * np.arange(STEPS) - 0.1
WAVELET = (1 - 2 * (np.pi * 12 * T) ** 2) * np.exp(-((np.pi * 12 * T) ** 2))  # Ricker's, of 12 Hz
EDGE = np.minimum(np.minimum(np.arange(NX)[:, None], NX - 1 - np.arange(NX)[:, None]), NZ - 1 - np.arange(NZ))
DAMPING = np.exp(-((0.015 * np.maximum(0, 10 - EDGE)) ** 2))  # waves die at the sides and at the bottom


def records(velocity):
    """Return what is heard along the ground: float[steps, shots, NX]."""
    source = np.zeros((len(SHOTS), NX, NZ))
    source[np.arange(len(SHOTS)), SHOTS, DEPTH] = 1.0
    c = (velocity * DT / DX) ** 2

    def step(carry, wavelet):
        before, now = carry
        bent = np.zeros_like(now)
        bent[:, 1:-1] = now[:, 2:] + now[:, :-2] - 2 * now[:, 1:-1]
        bent[:, :, 1:-1] += now[:, :, 2:] + now[:, :, :-2] - 2 * now[:, :, 1:-1]
        after = (2 * now - before * DAMPING + c * bent) * DAMPING + wavelet * source
        return (now, after), after[:, :, DEPTH]

    rest = np.zeros_like(source)
    return wg.scan(step, (rest, rest), WAVELET, checkpoint=20)[1]


def loss(velocity, heard):
    return np.mean((records(velocity) - heard) ** 2)


def truth():
    velocity = np.broadcast_to(1800.0 + 15.0 * np.arange(NZ), (NX, NZ)).copy()
    velocity[((np.arange(NX)[:, None] - 35) / 14) ** 2 + ((np.arange(NZ) - 18) / 5) ** 2 < 1] += 250.0
    return velocity


def invert(steps=40):
    """Return the truth, the smooth start, and the velocity that is found, float[NX, NZ]."""
    start, heard = np.broadcast_to(1800.0 + 15.0 * np.arange(NZ), (NX, NZ)), records(truth())
    value_and_gradient, scale = wg.jit(wg.value_and_grad(loss)), 1 / loss(start, heard)

    def smooth(z):  # unknowns of about 1, smoothed
        return start + 100 * gaussian_filter(z.reshape(NX, NZ), 1.5)

    def objective(z):
        value, gradient = value_and_gradient(smooth(z), heard)
        return scale * value, scale * 100 * gaussian_filter(gradient, 1.5).ravel()

    found = minimize(objective, np.zeros(NX * NZ), jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return truth(), start, smooth(found.x)


def draw(*velocities):
    figure = Figure(figsize=(9, 2.4), layout="constrained")
    for axes, velocity, title in zip(figure.subplots(1, 3), velocities, ("truth", "start", "found"), strict=True):
        image = axes.imshow(velocity.T, vmin=1800, vmax=2500, cmap="viridis", extent=(0, NX * DX, NZ * DX, 0))
        axes.set(title=title, xlabel="m")
    figure.colorbar(image, ax=axes, label="m/s")
    return figure


if __name__ == "__main__":
    draw(*invert()).savefig(Path(__file__).with_suffix(".png"), dpi=100)

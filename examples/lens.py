"""Design an achromatic doublet: rays are traced through three curved surfaces, and the spot is made small.

The rays, of three colours, are refracted by Snell's law. Curvatures, thicknesses and the distance of the sensor are
free. What is minimised is the mean square size of the spot, with the focal length held at 100 mm.

    python examples/lens.py
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize

import wengert as wg

INDEX = np.array([[1.5168, 1.6200], [1.5224, 1.6321], [1.5143, 1.6150]])  # BK7 and F2 in yellow, blue, red
HEIGHTS = np.linspace(0.5, 12.5, 13)  # mm: an aperture of f/4


def trace(x):
    """Return the points of all rays at each surface and on the sensor: two lists of float[colours, rays]."""
    curvature, thickness, sensor = x[:3] / 100, x[3:5], x[5]
    y, z = np.broadcast_to(HEIGHTS, (3, len(HEIGHTS))), np.zeros((3, len(HEIGHTS)))
    dy, dz = np.zeros_like(y), np.ones_like(y)  # the direction
    indices = [np.ones(3), INDEX[:, 0], INDEX[:, 1], np.ones(3)]
    ys, zs, vertex = [y], [z - 10], 0.0
    for k in range(3):
        c = curvature[k]
        z = z - vertex  # the sphere: c (y² + z²) = 2 z, from the vertex
        b, a = dz - c * (y * dy + z * dz), c * (y**2 + z**2) - 2 * z
        way = a / (b + np.sqrt(b**2 - c * a))
        y, z = y + way * dy, z + way * dz
        ny, nz = -c * y, 1 - c * z  # the normal
        ratio = (indices[k] / indices[k + 1])[:, None]
        cosine = dy * ny + dz * nz
        bend = np.sqrt(1 - ratio**2 * (1 - cosine**2)) - ratio * cosine
        dy, dz = ratio * dy + bend * ny, ratio * dz + bend * nz
        z = z + vertex
        ys, zs = [*ys, y], [*zs, z]
        vertex = vertex + (thickness[k] if k < 2 else 0.0)
    end = np.sum(thickness) + sensor
    return [*ys, y + (end - z) / dz * dy], [*zs, np.broadcast_to(end, z.shape)], HEIGHTS[0] / (-dy[0, 0] / dz[0, 0])


def loss(x):
    ys, _, focal = trace(x)
    return 1e3 * np.mean(ys[-1] ** 2) + (focal - 100) ** 2


def design():
    start = np.array([1.5, -1.5, 0.0, 6.0, 3.0, 97.0])  # round in front, flat behind
    bounds = [(-4, 4)] * 3 + [(4, 10), (2, 6), (60, 120)]
    options = {"maxiter": 1000, "ftol": 1e-14, "gtol": 1e-10}
    return start, minimize(wg.jit(wg.value_and_grad(loss)), start, jac=True, bounds=bounds, options=options).x


def spot(x):
    """Return the root mean square size of the spot in micrometres."""
    return 1e3 * np.sqrt(np.mean(trace(x)[0][-1] ** 2))


def draw(*lenses):
    figure = Figure(figsize=(9, 4), layout="constrained")
    for (whole, near), x in zip(figure.subplots(2, 2, width_ratios=[3, 1]), lenses, strict=True):
        ys, zs, _ = trace(x)
        for colour, name in enumerate(("goldenrod", "royalblue", "firebrick")):
            for sign in (-1, 1):
                for axes in (whole, near):
                    axes.plot([z[colour] for z in zs], [sign * y[colour] for y in ys], color=name, lw=0.6)
        near.set(xlim=(zs[-1][0, 0] - 2, zs[-1][0, 0] + 0.2), ylim=(-0.3, 0.3), title=f"spot of {spot(x):.1f} µm")
        whole.plot([z[0] for z in zs[1:-1]], [y[0] for y in ys[1:-1]], "k.", ms=2)
    return figure


if __name__ == "__main__":
    draw(*design()).savefig(Path(__file__).with_suffix(".png"), dpi=70)

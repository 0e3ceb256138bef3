"""Take the blur out of a photograph: deconvolution with a penalty on edges (total variation).

The camera is a blur, by SciPy's FFT, and noise. The unknowns are 16,384 pixels; the loss is the distance to what the
camera saw, plus the sum of the sizes of all differences between neighbours.

The photograph is of Rear Admiral Grace Hopper, by the US Navy (public domain), as it comes with Matplotlib.

    python examples/deblur.py
"""

from pathlib import Path

import matplotlib.image
import numpy as np
from matplotlib.cbook import get_sample_data
from matplotlib.figure import Figure
from scipy import fft
from scipy.optimize import minimize

import wengert as wg


def photograph():
    """Return a part of the photograph in grey, float[128, 128] of 0 to 1."""
    whole = matplotlib.image.imread(get_sample_data("grace_hopper.jpg", asfileobj=False))
    return whole[40:296:2, 130:386:2].mean(axis=2) / 255


def kernel(shape, width=2.5):
    """Return the transform of a Gaussian blur."""
    rows, columns = (np.exp(-(np.minimum(np.arange(n), n - np.arange(n)) ** 2) / (2 * width**2)) for n in shape)
    blur = np.outer(rows, columns)
    return fft.rfft2(blur / blur.sum())


def blurred(image, transform):
    return fft.irfft2(transform * fft.rfft2(image), s=image.shape)


def loss(image, seen, transform, weight=1e-3):
    down, right = np.diff(image, axis=0, append=image[-1:]), np.diff(image, axis=1, append=image[:, -1:])
    edges = np.sum(np.sqrt(down**2 + right**2 + 1e-6))
    return 0.5 * np.sum((blurred(image, transform) - seen) ** 2) + weight * edges


def restore(image, steps=100):
    """Return what the camera sees of an image, and what is found from that."""
    transform = kernel(image.shape)
    seen = blurred(image, transform) + 0.005 * np.random.default_rng(0).standard_normal(image.shape)
    value_and_gradient = wg.jit(wg.value_and_grad(loss))

    def objective(x):
        value, gradient = value_and_gradient(x.reshape(image.shape), seen, transform)
        return value, gradient.ravel()

    options, bounds = {"maxiter": steps}, [(0, 1)] * image.size
    return seen, minimize(objective, seen.ravel(), jac=True, bounds=bounds, options=options).x.reshape(image.shape)


def draw(*images):
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    titles = "the photograph", "what the camera saw", "what is found"
    for axes, image, title in zip(figure.subplots(1, 3), images, titles, strict=True):
        axes.imshow(image, cmap="gray", vmin=0, vmax=1)
        axes.set_title(title)
        axes.set_axis_off()
    return figure


if __name__ == "__main__":
    original = photograph()
    draw(original, *restore(original)).savefig(Path(__file__).with_suffix(".png"), dpi=60)

"""Programs with a copy, a callback, two steps that are not fused, or a loop that is left unrolled."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.ndimage
import scipy.signal

import wengert as wg
from tests.acceptance.faults.fault import Fault

Array = Any


# ------------------------------------------------------------------------------------------------------- copies


def flattened(x: Array) -> Array:
    y = x.T.reshape(-1)  # planted
    return np.sum(np.sin(y) * np.arange(3000.0))


def handed_back(x: Array) -> Array:
    total = np.sum(x * x)
    return x, total  # planted


def mirrored(x: Array) -> Array:
    y = np.sin(x)
    z = np.concatenate([y, y[::-1]])  # planted
    return np.cumsum(z)


def tiled(x: Array) -> Array:
    y = np.cos(x)
    z = np.tile(y, (3, 1))  # planted
    return z @ np.ones(60)


def padded(x: Array) -> Array:
    y = np.exp(-x)
    z = np.stack([x, y], axis=1)  # planted
    return z @ np.ones(60)


COPIES = [
    Fault("a reshape of a transposed array", flattened, (np.ones((50, 60)),)),
    Fault("an argument that is returned", handed_back, (np.ones(1000),)),
    Fault("a join with a mirrored part", mirrored, (np.ones(1000),)),
    Fault("a tile", tiled, (np.ones((50, 60)),)),
    Fault("a stack of an argument", padded, (np.ones((50, 60)),)),
]

# ---------------------------------------------------------------------------------------------------- callbacks


@wg.primitive
def filtered(x: Array) -> Array:
    return np.tanh(x)


@filtered.def_pullback
def _(ct: Array, y: Array, x: Array) -> Array:
    return ct * (1 - y * y)


def own_step(x: Array) -> Array:
    y = 2.0 * x
    z = filtered(y)  # planted
    return np.sum(z**2)


def propagator(a: Array) -> Array:
    generator = 0.1 * (a - a.T)
    step = scipy.linalg.expm(generator)  # planted
    return np.sum(step @ np.ones(6))


def smoothed(x: Array) -> Array:
    y: Array = scipy.signal.lfilter([0.5, 0.5], [1.0, -0.3], x)  # planted
    return np.sum(y**2)


def interpolated(image: Array) -> Array:
    bright = image**2
    points = scipy.ndimage.map_coordinates(bright, [[1.5, 2.5], [0.5, 3.0]])  # planted
    return np.sum(points)


def matrix_root(a: Array) -> Array:
    spd = a @ a.T + 6.0 * np.eye(6)
    root = scipy.linalg.sqrtm(spd)  # planted
    return np.sum(root)


_MATRIX = np.arange(36.0).reshape(6, 6) / 36.0

CALLBACKS = [
    Fault("a primitive of the user's", own_step, (np.ones(5),)),
    Fault("a matrix exponential", propagator, (_MATRIX,)),
    Fault("a recursive filter", smoothed, (np.ones(20),)),
    Fault("an interpolated image", interpolated, (_MATRIX,)),
    Fault("a matrix's square root", matrix_root, (_MATRIX,)),
]

# ------------------------------------------------------------------------------------------------ missed fusions


def cumulated(x: Array) -> Array:
    y = np.exp(-x)
    z = np.cumsum(y)  # planted
    return np.sum(np.sqrt(z))


def sorted_first(x: Array) -> Array:
    y = np.sin(x)
    z = np.sort(y)  # planted
    return np.sum(z * np.arange(1000.0))


def normalised(x: Array) -> Array:
    y = np.exp(x)
    total = np.sum(y)  # planted
    return np.tanh(y / total)


def transformed(x: Array) -> Array:
    y = np.sin(x)
    z = np.fft.fft(y)  # planted
    return np.sum(z.real**2)


def gathered(x: Array) -> Array:
    y = np.sin(x)
    order = np.argsort(x)
    z = y[order]  # planted
    return np.sum(z * np.arange(1000.0))


FUSIONS = [
    Fault("a running sum between two maps", cumulated, (np.ones(1000),)),
    Fault("a sort between two maps", sorted_first, (np.linspace(0.0, 9.0, 1000),)),
    Fault("a sum that the next map needs whole", normalised, (np.linspace(0.0, 1.0, 1000),)),
    Fault("a transform between two maps", transformed, (np.linspace(0.0, 9.0, 1000),)),
    Fault("a gather in another order", gathered, (np.linspace(0.0, 9.0, 1000),)),
]

# ------------------------------------------------------------------------------------------------- missed loops


def alternating(x: Array) -> Array:
    s = 0.0
    for k in range(len(x)):  # planted
        s = s + np.sin(x[k]) if k % 3 == 0 else s * np.cos(x[k])
    return s


def warming_up(x: Array) -> Array:
    y = x[0]
    for k in range(20):  # planted
        y = np.sin(y) if k < 7 else np.exp(-y * y)
    return y


def halved(x: Array) -> Array:
    y = x
    while len(y) > 1:  # planted
        y = y[: len(y) // 2] * y[len(y) // 2 : 2 * (len(y) // 2)]
    return y[0]


def widened(x: Array) -> Array:
    y = x
    for _ in range(6):  # planted
        y = np.convolve(y, [0.5, 0.5])
    return np.sum(y)


def dispatched(x: Array) -> Array:
    rules = [np.sin, np.cos, np.tan, np.tanh, np.exp]
    s = 0.0
    for k in range(30):  # planted
        s = s + rules[k * 7 % 5](x[k])
    return s


def thresholded(x: Array) -> Array:
    s = x[0]
    for k in range(30):  # planted
        s = s * 0.9 if s > 1.0 else s + x[k]
    return s


def own_steps(x: Array) -> Array:
    s = 0.0
    for k in range(8):  # planted
        s = s + np.sum(filtered(x * k))
    return s


_LINE = np.linspace(1.0, 2.0, 30)

LOOPS = [
    Fault("iterations of two kinds by turns", alternating, (_LINE,)),
    Fault("a loop whose first part is another", warming_up, (_LINE,)),
    Fault("arrays that shrink", halved, (_LINE,)),
    Fault("arrays that grow", widened, (_LINE,)),
    Fault("a table of functions", dispatched, (_LINE,)),
    Fault("a branch in each iteration", thresholded, (_LINE,)),
    Fault("a primitive in each iteration", own_steps, (_LINE,)),
]

"""Gradients that are NaN or infinite, or values: one operation makes the first one out of finite numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.acceptance.faults.fault import Fault

Array = Any


def distance_to_the_origin(x: Array) -> Array:
    scaled = 2.0 * x
    return np.sqrt(np.sum(scaled**2))  # planted


def log_likelihood(p: Array) -> Array:
    counts = np.array([3.0, 0.0, 5.0])
    logs = np.log(p)  # planted
    return np.sum(counts * logs)


def cross_entropy(logits: Array) -> Array:
    shifted = logits - np.max(logits)
    e = np.exp(shifted)
    p = e / np.sum(e)
    return -np.log(p[1])  # planted


def naive_softmax(logits: Array) -> Array:
    e = np.exp(logits)  # planted
    p = e / np.sum(e)
    return p[0]


def square_root_of_a_share(x: Array) -> Array:
    share = x / np.sum(x)
    return np.sum(share**0.5)  # planted


def great_circle(p: Array) -> Array:
    station = np.array([0.3, 1.1])
    cosine = np.sin(p[0]) * np.sin(station[0]) + np.cos(p[0]) * np.cos(station[0]) * np.cos(p[1] - station[1])
    cosine = np.clip(cosine, -1.0, 1.0)
    return 6371.0 * np.arccos(cosine)  # planted


def diffraction(x: Array) -> Array:
    phase = np.pi * x
    amplitude = np.sin(phase) / phase  # planted
    return np.sum(amplitude**2)


def standardised(x: Array) -> Array:
    centred = x - np.mean(x)
    deviation = np.sqrt(np.mean(centred**2))  # planted
    return np.sum(np.tanh(centred / (deviation + 1e-3)))


def newton(a: Array) -> Array:
    x = a
    for _ in range(12):
        slope = 3.0 * x * x - 3.0
        x = x - (x**3 - 3.0 * x + 5.0) / slope  # planted
    return x


def explosion(rate: Array) -> Array:
    x = 0.5 + 0.0 * rate
    for _ in range(60):
        growth = rate * x
        x = x + growth * x  # planted
    return x


def single_precision(x: Array) -> Array:
    y = x.astype(np.float32)
    energy = y * y  # planted
    return np.sum(energy)


def pairwise(x: Array) -> Array:
    difference = x[:, None, :] - x[None, :, :]
    squared = np.sum(difference**2, axis=-1)
    separation = np.sqrt(squared)  # planted
    return np.sum(np.exp(-separation))


def entropy(p: Array) -> Array:
    q = p / np.sum(p)
    terms = q * np.log(q)  # planted
    return -np.sum(terms)


def angle(p: Array) -> Array:
    velocity = p[1:] - p[:-1]
    heading = np.arctan2(velocity[:, 1], velocity[:, 0])  # planted
    return np.sum(heading**2)


def fallen_behind(x: Array) -> Array:
    gap = x[1:] - x[:-1]
    rate = 1.0 / gap  # planted
    return np.sum(np.tanh(rate))


FAULTS = [
    Fault("the norm of a vector of zeros", distance_to_the_origin, (np.zeros(3),)),
    Fault("the logarithm of a probability of zero", log_likelihood, (np.array([0.4, 0.0, 0.6]),)),
    Fault("the logarithm of a probability that underflowed", cross_entropy, (np.array([900.0, 0.0, 3.0]),)),
    Fault("an exponential that overflows", naive_softmax, (np.array([900.0, 0.0, 3.0]),)),
    Fault("a square root whose derivative is taken at zero", square_root_of_a_share, (np.array([1.0, 0.0, 2.0]),)),
    Fault("the arc cosine of one", great_circle, (np.array([0.3, 1.1]),)),
    Fault("0 / 0 in sin(x) / x", diffraction, (np.array([-0.5, 0.0, 0.5]),)),
    Fault("the deviation of equal numbers", standardised, (np.full(4, 2.0),)),
    Fault("a slope of zero within a loop", newton, (1.0,)),
    Fault("a recurrence that explodes", explosion, (3.0,)),
    Fault("a square beyond float32", single_precision, (np.array([1.0, 1e25]),)),
    Fault("the distance of a point to itself", pairwise, (np.arange(6.0).reshape(3, 2),)),
    Fault("p log p at zero", entropy, (np.array([0.5, 0.0, 0.5]),)),
    Fault("the heading of a body at rest", angle, (np.array([[0.0, 0.0], [1.0, 0.5], [1.0, 0.5]]),)),
    Fault("the inverse of a gap of zero", fallen_behind, (np.array([0.0, 1.0, 1.0, 2.5]),)),
]

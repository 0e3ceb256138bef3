"""Sound, images, curves and surfaces."""

import math
from functools import reduce

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.signal import get_window
from scipy.special import comb

from tests.acceptance.programs.entries import program

# ------------------------------------------------------------------------------------------------- sound


class Biquad:
    """Direct form II, with its memory."""

    def __init__(self, b, a):
        self.b, self.a = b, a
        self.reset()

    def reset(self):
        self.z1 = self.z2 = 0.0

    def process(self, sample):
        out = self.b[0] * sample + self.z1
        self.z1 = self.b[1] * sample - self.a[0] * out + self.z2
        self.z2 = self.b[2] * sample - self.a[1] * out
        return out

    @classmethod
    def lowpass(cls, cutoff, q, rate=48000.0):
        w = 2 * math.pi * cutoff / rate
        alpha = math.sin(w) / (2 * q)
        a0 = 1 + alpha
        b1 = (1 - math.cos(w)) / a0
        return cls((b1 / 2, b1, b1 / 2), (-2 * math.cos(w) / a0, (1 - alpha) / a0))


def loudness(p, tone=np.sin(0.9 * np.arange(24))):
    f = Biquad.lowpass(p["cutoff"], p["q"])
    filtered = [f.process(s) for s in tone]
    return 10 * math.log10(np.mean(np.square(filtered)))


def fir_response(cutoff, taps=15):
    window = get_window("hamming", taps, fftbins=False)
    n = np.arange(taps) - (taps - 1) / 2
    h = 2 * cutoff * np.sinc(2 * cutoff * n) * window
    h = h / h.sum()
    chirp = np.sin(0.02 * np.arange(40) ** 2)
    y = np.convolve(chirp, h, mode="valid")
    return np.sum(y**2)


def envelope_follower(times, signal=np.abs(np.sin(np.arange(30) * 0.7)) * np.linspace(1, 0.2, 30)):
    """Attack and release: a branch for every sample of a signal that is known."""
    attack, release = (math.exp(-1 / t) for t in times)
    level, levels = 0.0, []
    for previous, sample in zip(signal, signal[1:]):
        k = attack if sample > previous else release
        level = k * level + (1 - k) * sample
        levels.append(level)
    return np.mean(levels) + np.std(levels)


def autocorrelation_pitch(frequency, n=32):
    t = np.arange(n) / 32.0
    x = np.sin(2 * np.pi * frequency * t) + 0.3 * np.sin(4 * np.pi * frequency * t)
    r = np.correlate(x, x, mode="full")[n - 1 :]
    frames = sliding_window_view(x, 8)[::4]
    return r[6] / r[0] + 0.1 * np.log(np.mean(frames**2, axis=1) + 1e-3).sum()


# ------------------------------------------------------------------------------------------------- images

YY, XX = np.mgrid[0:8, 0:8]
PICTURE = np.exp(-((XX - 3.4) ** 2 + (YY - 4.1) ** 2) / 6.0) + 0.1 * np.cos(XX)


def bilinear(image, x, y):
    x0 = np.clip(np.floor(x).astype(int), 0, image.shape[1] - 2)
    y0 = np.clip(np.floor(y).astype(int), 0, image.shape[0] - 2)
    fx, fy = x - x0, y - y0
    return (
        image[y0, x0] * (1 - fx) * (1 - fy)
        + image[y0, x0 + 1] * fx * (1 - fy)
        + image[y0 + 1, x0] * (1 - fx) * fy
        + image[y0 + 1, x0 + 1] * fx * fy
    )


def registration(pose, fixed=PICTURE, moving=np.roll(PICTURE, 1, axis=1)):
    """A turn and a shift that lay one picture on the other."""
    angle, tx, ty = pose
    c, s = np.cos(angle), np.sin(angle)
    x = c * (XX - 3.5) - s * (YY - 3.5) + 3.5 + tx
    y = s * (XX - 3.5) + c * (YY - 3.5) + 3.5 + ty
    inside = (x >= 0) & (x <= 7) & (y >= 0) & (y <= 7)
    difference = bilinear(moving, x, y) - fixed
    return np.sum(np.where(inside, difference**2, 0.0)) / np.count_nonzero(inside)


def sharpness(kernel, image=PICTURE):
    """A 3 x 3 convolution by slices."""
    out = np.zeros((6, 6))
    for i in range(3):
        for j in range(3):
            out += kernel[i, j] * image[i : i + 6, j : j + 6]
    return np.var(out) + np.abs(out).mean()


def tone_map(p, luminance=np.geomspace(0.01, 50.0, 9)):
    log_mean = np.exp(np.mean(np.log(1e-4 + luminance)))
    L = p["key"] * luminance / log_mean
    mapped = L * (1 + L / p["white"] ** 2) / (1 + L)
    srgb = np.where(mapped <= 0.0031308, 12.92 * mapped, 1.055 * np.maximum(mapped, 1e-9) ** (1 / 2.4) - 0.055)
    return srgb.clip(0, 1).mean()


def level_set_area(centre, steps=3):
    """A front that moves along its normal, upwind."""
    cx, cy, speed = centre
    phi = np.sqrt((XX - cx) ** 2 + (YY - cy) ** 2) - 2.0
    for _ in range(steps):
        p = np.pad(phi, 1, mode="edge")
        back_x, ahead_x = phi - p[1:-1, :-2], p[1:-1, 2:] - phi
        back_y, ahead_y = phi - p[:-2, 1:-1], p[2:, 1:-1] - phi
        slope = np.sqrt(
            np.maximum(back_x, 0) ** 2
            + np.minimum(ahead_x, 0) ** 2
            + np.maximum(back_y, 0) ** 2
            + np.minimum(ahead_y, 0) ** 2
            + 1e-12
        )
        phi = phi - 0.3 * speed * slope
    return np.sum(0.5 * (1 - np.tanh(2 * phi)))


# ------------------------------------------------------------------------------------------------- cameras


class Camera:
    def __init__(self, focal, k1, rotation, translation):
        self.focal, self.k1 = focal, k1
        self.R, self.t = self.rodrigues(rotation), translation

    @staticmethod
    def rodrigues(r):
        theta = np.linalg.norm(r)
        k = r / theta
        K = np.array([[0.0, -k[2], k[1]], [k[2], 0.0, -k[0]], [-k[1], k[0], 0.0]])
        return np.eye(3) + np.sin(theta) * K + (1 - np.cos(theta)) * K @ K

    def project(self, points):
        p = points @ self.R.T + self.t
        xy = p[:, :2] / p[:, 2:]
        r2 = (xy**2).sum(axis=1, keepdims=True)
        return self.focal * (1 + self.k1 * r2) * xy


CORNERS = np.array([[i, j, 0.1 * i * j] for i in range(3) for j in range(2)], float)


def calibration_error(p):
    seen = Camera(1.1, 0.02, np.array([0.1, 0.2, 0.05]), np.array([0.0, 0.1, 5.0])).project(CORNERS)
    return np.sum((Camera(**p).project(CORNERS) - seen) ** 2) * 100


def bundle_adjustment(state):
    """Two cameras and the points that they see."""
    error = 0.0
    for number, (pose, shift) in enumerate(zip(state["poses"], state["shifts"])):
        camera = Camera(1.0, 0.0, pose, shift)
        target = CORNERS[:, :2] / (5.0 + number)
        error += np.linalg.norm(camera.project(state["points"]) - target) ** 2
    return error


# ------------------------------------------------------------------------------------------------- curves


def bernstein(n, k, t):
    return comb(n, k) * t**k * (1 - t) ** (n - k)


def bezier_length(points, samples=12):
    t = np.linspace(0, 1, samples)
    n = len(points) - 1
    curve = sum(np.outer(bernstein(n, k, t), p) for k, p in enumerate(points))
    return np.sum(np.hypot(*np.diff(curve, axis=0).T))


def de_casteljau(points, t):
    if len(points) == 1:
        return points[0]
    return de_casteljau([(1 - t) * a + t * b for a, b in zip(points, points[1:])], t)


def closest_on_curve(t):
    control = [np.array(p) for p in ((0.0, 0.0), (1.0, 2.0), (3.0, 3.0), (4.0, 0.0))]
    x, y = de_casteljau(control, t)
    return math.hypot(x - 2.5, y - 1.0)


def natural_spline(values, knots=np.array([0.0, 1.0, 2.5, 3.0, 4.0])):
    """Second derivatives by a tridiagonal system, then the curve at two places, and its bending."""
    h = np.diff(knots)
    n = len(knots)
    A, r = np.eye(n), np.zeros(n)
    slopes = np.diff(values) / h
    for i in range(1, n - 1):
        A[i, i - 1 : i + 2] = h[i - 1], 2 * (h[i - 1] + h[i]), h[i]
        r[i] = 6 * (slopes[i] - slopes[i - 1])
    m = np.linalg.solve(A, r)

    def evaluate(x):
        k = min(max(int(np.searchsorted(knots, x)) - 1, 0), n - 2)
        a, b = knots[k + 1] - x, x - knots[k]
        return (
            (m[k] * a**3 + m[k + 1] * b**3) / (6 * h[k])
            + (values[k] / h[k] - m[k] * h[k] / 6) * a
            + (values[k + 1] / h[k] - m[k + 1] * h[k] / 6) * b
        )

    return evaluate(1.7) * evaluate(3.3) + 0.05 * reduce(lambda s, c: s + c * c, m)


PROGRAMS = [
    program("audio filter", loudness, {"cutoff": 4000.0, "q": 0.9}),
    program("filter design", fir_response, 0.11),
    program("audio dynamics", envelope_follower, (2.0, 9.0)),
    program("pitch", autocorrelation_pitch, 4.3),
    program("image registration", registration, np.array([0.03, 0.63, -0.17])),
    program("convolution", sharpness, np.array([[0.0, -0.9, 0.05], [-1.0, 4.6, -1.1], [0.1, -1.0, 0.0]])),
    program("tone mapping", tone_map, {"key": 0.18, "white": 2.5}),
    program("level sets", level_set_area, [3.4, 3.7, 0.8]),
    program(
        "camera calibration",
        calibration_error,
        {"focal": 1.0, "k1": 0.01, "rotation": np.array([0.08, 0.22, 0.03]), "translation": np.array([0.05, 0.1, 4.8])},
    ),
    program(
        "bundle adjustment",
        bundle_adjustment,
        {
            "poses": [np.array([0.1, 0.2, 0.0]), np.array([-0.1, 0.05, 0.1])],
            "shifts": [np.array([0.0, 0.1, 5.0]), np.array([0.2, 0.0, 6.0])],
            "points": CORNERS + 0.05,
        },
    ),
    program("Bezier curves", bezier_length, [np.array(p) for p in ((0.0, 0.0), (1.0, 2.0), (3.0, 1.0))]),
    program("computer-aided design", closest_on_curve, 0.35),
    program("splines", natural_spline, np.array([0.1, 0.9, 0.4, -0.3, 0.2])),
]

"""Programs on scipy.signal, scipy.fft, scipy.ndimage: filters, spectra, pictures."""

# SciPy has no types, and what is inferred of its code is more than it returns.
# pyright: reportOperatorIssue=false, reportAssignmentType=false, reportOptionalIterable=false

import numpy as np
from scipy import fft, ndimage, signal

from tests.acceptance.programs.entries import program

RNG = np.random.default_rng(104)
T = np.arange(48) / 48
WAVE = np.sin(2 * np.pi * 5 * T) + 0.3 * RNG.normal(size=48)


def smoothed(gain, x):
    b, a = signal.butter(3, 0.3)
    return np.sum(signal.lfilter(b * gain, a, x) ** 2)


def echo(p, x):
    return np.sum(signal.lfilter([1.0, p[0]], [1.0, p[1], 0.1], x) ** 2)


def zero_phase(x):
    b, a = signal.butter(2, 0.25)
    return np.sum(signal.filtfilt(b, a, x) ** 3)


def sections(x):
    sos = signal.cheby1(4, 1, 0.4, output="sos")
    return np.sum(signal.sosfilt(sos, x) ** 2) + np.sum(np.abs(signal.sosfiltfilt(sos, x)))


def slope_of_noise(x):
    return np.sum(signal.savgol_filter(x, 7, 2, deriv=1) ** 2)


def reverberation(h, x):
    return np.sum(signal.fftconvolve(x, h, mode="same") ** 2) + signal.convolve(x, h, "valid")[3]


def matched_filter(template, x):
    return np.max(signal.correlate(x, template, mode="valid"))


def envelope(x):
    return np.sum(np.abs(signal.hilbert(x)))


def power(x):
    f, density = signal.welch(x, fs=48.0, nperseg=16)
    return np.sum(f * density) / np.sum(density)


def loudest(x):
    _, p = signal.periodogram(x, window="hann")
    return np.log(p[3:9] + 1e-3).sum()


def short_time(x):
    _, _, z = signal.stft(x, nperseg=12)
    return np.sum(np.abs(z) ** 2 * np.arange(z.shape[1]))


def resampled(x):
    return np.sum(signal.resample_poly(x, 3, 2) ** 2) + np.sum(signal.resample(x, 30) ** 3)


def flattened(x):
    return np.sum(signal.detrend(x) ** 4)


def response(b):
    w, h = signal.freqz(b, [1.0, -0.4], worN=16)
    return np.sum(np.abs(h) * w)


def heat(u0, kappa=0.01):
    k = fft.rfftfreq(len(u0), 1 / len(u0))
    u = fft.irfft(fft.rfft(u0) * np.exp(-kappa * (2 * np.pi * k) ** 2), len(u0))
    return np.sum(u**4)


def compressed(x):
    c = fft.dct(x, norm="ortho")
    return np.sum(np.abs(fft.idct(c * np.exp(-np.arange(len(x)) / 9), norm="ortho")))


def blurred(image, sigma=1.2):
    return np.sum(ndimage.gaussian_filter(image, sigma) ** 2 * np.arange(image.shape[1]))


def edges(image):
    return np.sum(np.hypot(ndimage.sobel(image, 0), ndimage.sobel(image, 1) + 1e-3))


def diffused(image):
    return np.sum((image + 0.2 * ndimage.laplace(image)) ** 2)


def registered(p, image):
    """A picture, moved and sampled again."""
    y, x = np.mgrid[0:5, 0:5] + 0.0
    moved = ndimage.map_coordinates(image, np.stack([y * 0.8 + p[0], x * 0.8 + p[1]]), order=1, mode="nearest")
    return np.sum(moved * image[:5, :5])


def template(image, kernel):
    return np.sum(ndimage.convolve(image, kernel, mode="wrap") ** 2) + ndimage.correlate(image, kernel)[1, 2]


def box(image):
    return np.sum(ndimage.uniform_filter(image, 3, mode="reflect") ** 3)


def shifted(image):
    return np.sum(ndimage.shift(image, (0.3, -0.6), order=3) ** 2) + np.sum(ndimage.zoom(image, 1.5, order=1))


IMAGE = RNG.random((6, 7))
PROGRAMS = [
    program("a smoothed signal", smoothed, 1.5, WAVE),
    program("an echo", echo, np.array([0.5, -0.3]), WAVE),
    program("a filter without phase", zero_phase, WAVE),
    program("second-order sections", sections, WAVE),
    program("the slope of a noisy curve", slope_of_noise, WAVE),
    program("reverberation", reverberation, RNG.normal(size=5), WAVE),
    program("a matched filter", matched_filter, RNG.normal(size=6), WAVE),
    program("an envelope", envelope, WAVE),
    program("the centroid of a spectrum", power, WAVE),
    program("a periodogram", loudest, WAVE),
    program("a spectrogram", short_time, WAVE),
    program("a signal at another rate", resampled, WAVE),
    program("a signal without its trend", flattened, WAVE),
    program("the response of a filter", response, np.array([0.5, 0.3, -0.2])),
    program("heat by Fourier's method", heat, WAVE),
    program("a compressed signal", compressed, WAVE),
    program("a blurred picture", blurred, IMAGE),
    program("edges of a picture", edges, IMAGE),
    program("a diffused picture", diffused, IMAGE),
    program("registration of pictures", registered, np.array([0.37, 0.21]), IMAGE),
    program("a convolved picture", template, IMAGE, RNG.normal(size=(3, 3))),
    program("a box filter", box, IMAGE),
    program("a picture between its pixels", shifted, IMAGE),
]

"""Functions of ``scipy.signal`` on traced arrays: values against SciPy's, derivatives against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import signal as s

import wengert as wg
from tests.differences import check, same

RNG = np.random.default_rng(3)
X, Y, H = RNG.standard_normal(40), RNG.standard_normal(40), RNG.standard_normal(5)
IMAGE, KERNEL = RNG.standard_normal((6, 7)), RNG.standard_normal((3, 4))
ORDERED = RNG.permutation(42).reshape(6, 7) / 5.0 - 4.05
CUBE, SMALL = RNG.standard_normal((3, 4, 5)), RNG.standard_normal((2, 3, 2))
B, A = np.array([0.3, 0.5, 0.2]), np.array([1.0, -0.4, 0.3, 0.1])  # poles and zeros that are simple
ZEROS, POLES = np.roots(B), np.roots(A)
SOS = s.butter(4, 0.3, output="sos")
ZPK: Any = (np.array([0.1]), np.array([0.2, 0.3]), 1.0)
PLANT, INTO, ONES = np.array([[1.0, 0.2], [0.3, 2.0]]), np.array([[1.0], [0.7]]), np.array([[1.0, 0.5]])
T = np.linspace(0.1, 1.7, 20)
EVENTS = np.sort(RNG.uniform(0, 5, 12))
F = np.linspace(0.3, 3, 5)
SEGMENTS: dict[str, Any] = {"nperseg": 16, "detrend": "linear"}


def flat(result: Any) -> Any:
    """All floating-point arrays of a result, one after the other, in real numbers."""
    parts: list[Any] = []

    def take(x: Any) -> None:
        if isinstance(x, tuple | list):
            for one in x:
                take(one)
        elif hasattr(x, "shape") and x.dtype.kind == "c":
            parts.extend([np.ravel(np.real(x)), np.ravel(np.imag(x))])
        elif hasattr(x, "shape") and x.dtype.kind == "f":
            parts.append(np.ravel(x))

    take(result)
    return np.concatenate(parts)


def of_sections(parts: Any) -> Any:
    """Second-order sections, of all numbers but the ones that they must have."""
    return np.concatenate([parts[:, :3], np.ones((len(parts), 1)), parts[:, 3:]], axis=1)


SECTIONS = np.delete(SOS, 3, axis=1)
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "convolve": (lambda x, h: s.convolve(x, h, "same"), X, H),
    "convolve direct": (lambda x, h: s.convolve(x, h, "valid", "direct"), CUBE, SMALL),
    "convolve by fft": (lambda x, h: s.convolve(x, h, "full", "fft"), X, H),
    "fftconvolve": (s.fftconvolve, IMAGE, KERNEL),
    "oaconvolve": (lambda x, h: s.oaconvolve(x, h, axes=-1), X, H),
    "correlate same": (lambda x, h: s.correlate(x, h, "same", "direct"), CUBE, SMALL),
    "correlate full": (lambda x, h: s.correlate(x, h, "full", "direct"), IMAGE, KERNEL),
    "convolve2d": (lambda x, h: s.convolve2d(x, h, "same", "symm"), IMAGE, KERNEL),
    "convolve2d filled": (lambda x, h: s.convolve2d(x, h, fillvalue=0.5), IMAGE, KERNEL),
    "correlate2d": (lambda x, h: s.correlate2d(x, h, "valid"), KERNEL, IMAGE),
    "correlate2d wrapped": (lambda x, h: s.correlate2d(x, h, "same", "wrap"), IMAGE, KERNEL),
    "upfirdn": (lambda h, x: s.upfirdn(h, x, 3, 2), H, X),
    "upfirdn along": (lambda h, x: s.upfirdn(h, x, 2, 4, axis=0, mode="line"), H, IMAGE),
    "upfirdn of many phases": (lambda h, x: s.upfirdn(h, x, 41, 40), RNG.standard_normal(90), X),
    "lfilter": (s.lfilter, B, A, X),
    "lfilter with a state": (lambda b, a, x, z: s.lfilter(b, a, x, 0, z), B, 2 * A, IMAGE, RNG.standard_normal((3, 7))),
    "lfilter with one state for all": (lambda x, z: s.lfilter(B, A, x, 0, z)[0], IMAGE, RNG.standard_normal((3, 1))),
    "lfilter, finite": (lambda b, x: s.lfilter(b, [2.0], x), B, IMAGE),
    "lfiltic": (s.lfiltic, B, A, H[:3], H[:2]),
    "lfilter_zi": (s.lfilter_zi, B, A),
    "sosfilt": (lambda p, x: s.sosfilt(of_sections(p), x, axis=0), SECTIONS, IMAGE),
    "sosfilt with a state": (
        lambda p, x, z: s.sosfilt(of_sections(p), x, zi=z),
        SECTIONS,
        IMAGE,
        RNG.standard_normal((2, 6, 2)),
    ),
    "sosfilt_zi": (lambda p: s.sosfilt_zi(of_sections(p)), SECTIONS),
    "filtfilt": (s.filtfilt, B, A, X),
    "sosfiltfilt": (lambda p, x: s.sosfiltfilt(of_sections(p), x), SECTIONS, X),
    "deconvolve": (s.deconvolve, X, np.array([2.0, 0.3, 0.1])),
    "savgol_filter": (lambda x: s.savgol_filter(x, 5, 3, 1, 0.5), X),
    "savgol_filter mirrored": (lambda x: s.savgol_filter(x, 5, 2, axis=0, mode="mirror"), IMAGE),
    "hilbert": (s.hilbert, X),
    "hilbert2": (s.hilbert2, IMAGE),
    "envelope": (s.envelope, X),
    "detrend": (lambda x: s.detrend(x, bp=[13]), X),
    "detrend along": (lambda x: s.detrend(x, 0), IMAGE),
    "decimate": (lambda x: s.decimate(x, 2), X),
    "decimate by a window": (lambda x: s.decimate(x, 2, ftype="fir"), X),
    "resample": (lambda x: s.resample(x, 23), X),
    "resample_poly": (lambda x: s.resample_poly(x, 3, 2), X),
    "resample_poly mean": (lambda x: s.resample_poly(x, 2, 3, padtype="mean"), X),
    "medfilt": (lambda x: s.medfilt(x, [3, 5]), ORDERED),
    "medfilt2d": (s.medfilt2d, ORDERED),
    "order_filter": (lambda x: s.order_filter(x, np.eye(3), 0), ORDERED),
    "wiener": (lambda x: s.wiener(x, 5), X),
    "welch": (lambda x: s.welch(x, **SEGMENTS), X),
    "periodogram": (lambda x: s.periodogram(x, window="hann"), X),
    "csd": (lambda x, y: s.csd(x, y, **SEGMENTS), X, Y),
    "coherence": (lambda x, y: s.coherence(x, y, **SEGMENTS), X, Y),
    "spectrogram": (lambda x: s.spectrogram(x, nperseg=16), X),
    "stft": (lambda x: s.stft(x, nperseg=16), X),
    "istft": (lambda x: s.istft(s.stft(x, nperseg=16)[2], nperseg=16), X),
    "ShortTimeFFT": (lambda x: s.ShortTimeFFT(np.hanning(16), 4, 1.0).spectrogram(x), X),
    "ShortTimeFFT back": (lambda x: back(s.ShortTimeFFT(np.hanning(17)[:-1] + 0.1, 4, 1.0), x), X),
    "closest dual window": (lambda w: s.closest_STFT_dual_window(w, 4)[0], np.hanning(16) + 0.1),
    "lombscargle": (s.lombscargle, T, Y[:20], F),
    "freqz": (lambda b, a: s.freqz(b, a, 8), B, A),
    "freqs": (lambda b, a, w: s.freqs(b, a, w), B, A, F),
    "freqz_zpk": (lambda b, a: s.freqz_zpk(np.roots(b), np.roots(a), b[0], F), B, A),
    "sosfreqz": (lambda p: s.sosfreqz(of_sections(p), 8), SECTIONS),
    "group_delay": (lambda b, a: s.group_delay((b, a), 8), B, A),
    "kaiser": (lambda beta: s.windows.kaiser(9, beta), np.array(3.0)),
    "gaussian": (lambda std: s.get_window(("gaussian", std), 9), np.array(3.0)),
    "tukey": (lambda alpha: s.windows.tukey(9, alpha), np.array(0.4)),
    "chebwin": (lambda at: s.windows.chebwin(9, at), np.array(60.0)),
    "exponential": (lambda tau: s.windows.exponential(9, tau=tau), np.array(3.0)),
    "general_hamming": (lambda alpha: s.windows.general_hamming(9, alpha), np.array(0.6)),
    "general_gaussian": (lambda p, sig: s.windows.general_gaussian(8, p, sig), np.array(1.5), np.array(3.0)),
    "general_cosine": (lambda a: s.windows.general_cosine(9, a), H),
    "kaiser_bessel_derived": (lambda beta: s.windows.kaiser_bessel_derived(8, beta), np.array(3.0)),
    "firwin": (lambda w: s.firwin(9, w), np.array(0.3)),
    "firwin2": (lambda g: s.firwin2(9, [0, 0.5, 1], g), np.array([1, 0.5, 0.1])),
    "butter": (lambda w: s.butter(3, w), np.array(0.3)),
    "butter as sections": (lambda w: s.butter(4, w, "bandpass", output="sos"), np.array([0.2, 0.5])),
    "cheby1": (lambda r, w: s.cheby1(3, r, w, "highpass"), np.array(1.0), np.array(0.3)),
    "cheby2": (lambda r, w: s.cheby2(3, r, w, output="sos"), np.array(30.0), np.array(0.3)),
    "ellip": (lambda w: s.ellip(3, 1.0, 40.0, w), np.array(0.3)),
    "bessel": (lambda w: s.bessel(3, w, analog=True), np.array(0.3)),
    "iirnotch": (s.iirnotch, np.array(0.3), np.array(30.0)),
    "iirpeak": (s.iirpeak, np.array(0.3), np.array(30.0)),
    "tf2zpk": (s.tf2zpk, B, A),
    "zpk2tf": (lambda b, a: s.zpk2tf(np.roots(b), np.roots(a), b[0]), B, A),
    "tf2sos": (s.tf2sos, B, A),
    "sos2tf": (lambda p: s.sos2tf(of_sections(p)), SECTIONS),
    "tf2ss": (s.tf2ss, B, A),
    "bilinear": (lambda b, a: s.bilinear(b, a, 2.0), B, A),
    "lp2lp": (s.lp2lp, B, A, np.array(2.0)),
    "lp2hp": (s.lp2hp, B, A, np.array(2.0)),
    "lp2bp": (s.lp2bp, B, A, np.array(2.0), np.array(0.5)),
    "lp2bs": (s.lp2bs, B, A, np.array(2.0), np.array(0.5)),
    "residue": (s.residue, B, A),
    "residuez": (s.residuez, B, A),
    "invres": (lambda r: s.invres(r, np.array([-1.0, -2]), [0.5]), H[:2]),
    "minimum_phase": (lambda h: s.minimum_phase(h, half=False), np.array([1.0, 0.9, 0.5, 0.3, 0.2])),
    "normalize": (s.normalize, B, 2 * A),
    "unique_roots": (lambda p: s.unique_roots(p, 0.1, "avg"), np.array([1.0, 1.05, 3.0])),
    "freqresp": (lambda b, a: s.lti(b, a).freqresp(F), B, A),
    "bode": (lambda b, a: s.bode((b, a), F), B, A),
    "dbode": (lambda b, a: s.dbode((b, a, 0.1), F), B, A),
    "chirp": (lambda t, f: s.chirp(t, f, 1.0, 3.0), T, np.array(1.0)),
    "sawtooth": (lambda t: s.sawtooth(9 * t, 0.3), T),
    "square": (lambda t: s.square(9 * t) * t, T),
    "gausspulse": (lambda t, f: s.gausspulse(t, f), T, np.array(5.0)),
    "sweep_poly": (lambda t: s.sweep_poly(t, [1.0, 2]), T),
    "czt": (s.czt, X),
    "zoom_fft": (lambda x: s.zoom_fft(x, [0.1, 0.2]), X),
    "find_peaks": (lambda x: x[s.find_peaks(x, prominence=0.5, distance=2)[0]], X),
    "peak_prominences": (lambda x: s.peak_prominences(x, s.find_peaks(x)[0]), X),
    "peak_widths": (lambda x: s.peak_widths(x, s.find_peaks(x)[0], 0.7), X),
    "peak heights": (lambda x: s.find_peaks(x, height=0.1, width=0.2)[1]["widths"], X),
    "cspline1d": (s.cspline1d, X),
    "qspline1d": (s.qspline1d, X),
    "cspline1d, smooth": (lambda x: s.cspline1d(x, 2.0), X[:12]),
    "cspline2d": (s.cspline2d, RNG.standard_normal((16, 18))),
    "qspline2d": (s.qspline2d, RNG.standard_normal((16, 18))),
    "spline_filter": (s.spline_filter, RNG.standard_normal((32, 30))),
    "symiirorder1": (lambda x: s.symiirorder1(x, 0.5, 0.2), X),
    "symiirorder2": (lambda x: s.symiirorder2(x, 0.5, 0.2), X),
    "sepfir2d": (s.sepfir2d, IMAGE, H[:3], H),
    "vectorstrength": (lambda e, p: s.vectorstrength(e, p), EVENTS, np.array(2.0)),
    "abcd_normalize": (lambda a, b: s.abcd_normalize(a, b, ONES, ONES[:, :1]), PLANT, INTO),
    "StateSpace": (lambda a, b: s.StateSpace(a, b, ONES, ONES[:, :1]).to_tf().num, PLANT, INTO),
    "TransferFunction": (lambda b, a: s.TransferFunction(b, a).to_zpk().poles, B, A),
    "ZerosPolesGain": (lambda b, a: s.ZerosPolesGain(np.roots(b), np.roots(a), b[0]).to_tf().den, B, A),
    "ss2tf": (lambda a, b: s.ss2tf(a, b, ONES, ONES[:, :1]), PLANT, INTO),
    "ss2zpk": (lambda a, b: s.ss2zpk(a, b, ONES, ONES[:, :1]), PLANT, INTO),
    "zpk2ss": (lambda b, a: s.zpk2ss(np.roots(b), np.roots(a), b[0]), B, A),
    "zpk2sos": (lambda b, a: s.zpk2sos(np.roots(b), np.roots(a), b[0]), B, A),
    "sos2zpk": (lambda p: s.sos2zpk(of_sections(p)), SECTIONS + np.array([0, 0.01, 0.03, 0, 0])),
    "CZT": (lambda x: s.CZT(40, m=10)(x), X),
    "czt_points": (lambda w: s.czt_points(5, np.exp(1j * w)), np.array(0.3)),
    "ZoomFFT": (lambda x: s.ZoomFFT(40, [0.1, 0.3])(x), X),
    "cheb1ap": (lambda r: s.cheb1ap(3, r), np.array(1.0)),
    "cheb2ap": (lambda r: s.cheb2ap(3, r), np.array(30.0)),
    "ellip by ripple": (lambda r: s.ellip(3, r, 40.0, 0.3), np.array(1.0)),
    "dfreqresp": (lambda b, a: s.dfreqresp((b, a, 0.1), F), B, A),
    "dlti": (lambda b, a: s.dlti(b, a, dt=0.1).freqresp(F), B, A),
    "iircomb": (lambda q: s.iircomb(0.25, q), np.array(30.0)),
    "invresz": (lambda r: s.invresz(r, np.array([-1.0, -2]), [0.5]), H[:2]),
    "lp2lp_zpk": (lambda w: s.lp2lp_zpk(*ZPK, w), np.array(2.0)),
    "lp2hp_zpk": (lambda w: s.lp2hp_zpk(*ZPK, w), np.array(2.0)),
    "lp2bp_zpk": (lambda w: s.lp2bp_zpk(*ZPK, w, 0.5), np.array(2.0)),
    "lp2bs_zpk": (lambda w: s.lp2bs_zpk(*ZPK, w, 0.5), np.array(2.0)),
    "gauss_spline": (lambda x: s.gauss_spline(x, 3), X),
    "freqs_zpk": (lambda b, a: s.freqs_zpk(np.roots(b), np.roots(a), b[0], F), B, A),
    "taylor": (lambda side: s.windows.taylor(9, sll=side), np.array(30.0)),
    "kaiser_beta": (s.kaiser_beta, np.array(30.0)),
    "kaiser_atten": (lambda w: s.kaiser_atten(9, w), np.array(0.3)),
    "band_stop_obj": (
        lambda w: s.band_stop_obj(w, 0, np.array([0.1, 0.6]), np.array([0.2, 0.5]), 1.0, 40.0, "butter"),
        np.array(0.15),
    ),
    "stft of pieces that are detrended": (lambda x: s.stft(x, nperseg=16, detrend="linear", boundary="even"), X),
    "lsim": (lambda a, b: s.lsim((a, b, ONES, ONES[:, :1]), np.sin(T), T, ONES[0]), PLANT, INTO),
    "lsim of steps": (lambda a, u: s.lsim((a, INTO, ONES, ONES[:, :1]), u, T, interp=False), PLANT, Y[:20]),
    "impulse": (lambda a, b: s.impulse((a, b, ONES, ONES[:, :1]), T=T), PLANT, INTO),
    "step": (lambda b, a: s.step((b, a), T=T), B, A),
    "dlsim": (lambda a, u: s.dlsim((a, INTO, ONES, ONES[:, :1], 0.1), u), PLANT / 4, Y[:9]),
    "dimpulse": (lambda b, a: s.dimpulse((b, a, 0.1), n=5), B, A),
    "dstep": (lambda b, a: s.dstep((b, a, 0.1), n=5), B, A),
    "cont2discrete": (lambda a, b: s.cont2discrete((a, b, ONES, ONES[:, :1]), 0.1), PLANT, INTO),
    "cont2discrete bilinear": (lambda a, b: s.cont2discrete((a, b, ONES, ONES[:, :1]), 0.1, "bilinear"), PLANT, INTO),
    "place_poles": (lambda a, b: s.place_poles(a, b, np.array([-1.0, -2])).gain_matrix, PLANT, INTO),
    "firls": (lambda g: s.firls(9, [0, 0.3, 0.5, 1], g), np.array([1, 0.9, 0.1, 0.2])),
    "dpss": (lambda width: s.windows.dpss(9, width), np.array(2.0)),
    "filtfilt by Gustafsson": (lambda b, a, x: s.filtfilt(b, a, x, method="gust"), B, A, X),
    "cspline1d_eval": (lambda c, t: s.cspline1d_eval(c, t), X, 9 * T - 1),
    "qspline1d_eval": (lambda c, t: s.qspline1d_eval(c, t), X, 9 * T - 1),
    "freqz at frequencies": (lambda w: s.freqz(B, A, w), F),
}
"""A call of each function, with arguments that it is differentiated in. The key says what it tries."""


def back(transform: Any, x: Any) -> Any:
    return transform.istft(transform.stft(x), k1=x.shape[0])


BY_FLOAT = pytest.mark.needs_extension("float(x) in a library's code is called as it is")


@pytest.mark.sampled(67, "the same for many functions")
@pytest.mark.parametrize("name", [pytest.param(n, marks=BY_FLOAT) if n == "iircomb" else n for n in FUNCTIONS])
def test_value_and_derivatives(name: str) -> None:
    f, *args = FUNCTIONS[name]
    check(lambda *args: flat(f(*args)), *args, rtol=1e-6)


@pytest.mark.parametrize("f", [s.lfilter, lambda b, a, x: s.filtfilt(b, a, x, padlen=5)])
def test_coefficients_that_begin_with_one_count_as_a_quotient(f: Callable[..., Any]) -> None:
    """SciPy's code divides by a[0] only where it is not 1: at 1 there is a derivative all the same."""
    a = A.copy()
    g = wg.grad(lambda a: np.sum(f(B, a, X) ** 2))
    step = 1e-6
    a[0] = 1 + step
    right = np.sum(f(B, a, X) ** 2)
    a[0] = 1 - step
    left = np.sum(f(B, a, X) ** 2)
    a[0] = 1
    assert g(a)[0] == pytest.approx((right - left) / (2 * step), rel=1e-6)


def test_lfilter_has_all_derivatives_and_bits() -> None:
    f = lambda b, a, x: s.lfilter(b, a, x)
    np.testing.assert_array_equal(wg.jit(f)(B, A, X), f(B, A, X))
    wg.check_derivatives(f, B, A, X[:9], order=2)
    single = [v.astype(np.float32) for v in (B, A, X)]
    same(wg.jit(f)(*single), f(*single))
    many = np.stack([X, Y])
    same(wg.vmap(lambda x: s.lfilter(B, A, x))(many), s.lfilter(B, A, many))
    filters = np.stack([B, 2 * B])
    same(wg.vmap(lambda b: s.lfilter(b, A, X))(filters), np.stack([s.lfilter(b, A, X) for b in filters]))


def test_a_recursive_filter_by_hand() -> None:
    """y = x₀, x₁ + a x₀, ...: with one coefficient the filter is a geometric sum."""
    f = lambda c: s.lfilter([1.0], [1.0, -c], np.array([1.0, 0, 0, 0]))
    assert wg.jvp(f, [0.5], [1.0])[1].tolist() == [0.0, 1.0, 1.0, 0.75]


def test_sosfilt_has_scipys_bits() -> None:
    np.testing.assert_array_equal(wg.jit(lambda x: s.sosfilt(SOS, x))(X), s.sosfilt(SOS, X))


def test_what_scipy_refuses_is_refused() -> None:
    for call in (
        lambda x: s.lfilter([1.0], [], x),
        lambda x: s.upfirdn([1.0], x, 0),
        lambda x: s.savgol_filter(x, 50, 2),
        lambda x: s.medfilt(x, 4),
        lambda x: s.detrend(x, type="?"),
        lambda x: s.unique_roots(x, rtype="?"),
    ):
        with pytest.raises((ValueError, TypeError)) as expected:
            call(X)
        with pytest.raises(expected.type):
            wg.vjp(call, X)


def test_a_separable_filter_has_the_dtype_of_the_image() -> None:
    for dtype in (np.uint8, np.float32, np.float64, np.complex64):
        image = np.arange(20).reshape(4, 5).astype(dtype)
        f = lambda x: s.sepfir2d(x, [0.5, 1.0, 0.5], [1.0])
        got, expected = wg.jit(f)(image), f(image)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)

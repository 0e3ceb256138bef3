"""numpy.fft and scipy.fft: values, types and errors are theirs; cotangents pair with tangents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft

import wengert as wg

RNG = np.random.default_rng(0)
ONE_AXIS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = [f"{name}{suffix}" for name in ONE_AXIS for suffix in ("2", "n")]
REAL = ["dct", "idct", "dst", "idst"]


def draw(*shape: int, dtype: Any) -> Any:
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape) if np.dtype(dtype).kind == "c" else 9 * x).astype(dtype)


def compare(f: Any, x: Any) -> None:
    """Value and type; the tangent, f being linear; the cotangent by Re(ct · dy) = Re(g · dx). Or the same error."""
    try:
        want = f(x)
    except (ValueError, TypeError, IndexError) as error:
        with pytest.raises(type(error)):
            wg.jit(f)(x)
        return
    got = wg.jit(f)(x)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    rtol = 1e-4 if want.dtype in (np.float32, np.complex64) else 1e-11
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * 10)
    if x.dtype not in (np.float64, np.complex128) or not want.size:
        return
    dx = draw(*x.shape, dtype=x.dtype)
    _, dy = wg.jvp(f, (x,), (dx,))
    np.testing.assert_allclose(dy, f(x + dx) - want, rtol=1e-9, atol=1e-9)
    ct = draw(*want.shape, dtype=want.dtype)
    gradient = wg.vjp(f, x)[1](ct)[0]
    assert gradient.dtype == x.dtype
    np.testing.assert_allclose(np.sum(ct * dy).real, np.sum(gradient * dx).real, rtol=1e-8, atol=1e-8)


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("dtype", ["d", "D", "f", "F", "i", "?"])
@pytest.mark.parametrize("name", ONE_AXIS)
@pytest.mark.parametrize("module", [np.fft, scipy.fft], ids=["numpy", "scipy"])
def test_along_one_axis(module: Any, name: str, dtype: str) -> None:
    f, x = getattr(module, name), draw(5, 8, dtype=dtype)
    for n, axis, norm in [(None, -1, None), (7, 0, "ortho"), (12, 1, "forward"), (4, 0, "backward"), (1, -1, None)]:
        compare(lambda x, n=n, axis=axis, norm=norm: f(x, n, axis, norm), x)


@pytest.mark.sampled(2, "many that are alike")
@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("module", [np.fft, scipy.fft], ids=["numpy", "scipy"])
def test_along_several_axes(module: Any, name: str) -> None:
    f = getattr(module, name, None)
    if f is None:  # NumPy has no hfft of several axes
        assert module is np.fft and name.startswith(("hfft", "ihfft"))
        return
    options = [
        {},
        {"axes": (1, 0)},
        {"s": (4, 6), "axes": (0, 2), "norm": "ortho"},
        {"axes": (1,)},
        {"s": (4,), "axes": (0, 2)},
    ]
    for option in options:
        for dtype in "dD":
            compare(lambda x, option=option: f(x, **option), draw(3, 5, 8, dtype=dtype))


@pytest.mark.sampled(3, "half a second each")
@pytest.mark.parametrize("name", REAL)
def test_cosines_and_sines(name: str) -> None:
    transform, options = getattr(scipy.fft, name), [(None, None, None), (4, "ortho", None), (9, None, True)]
    for number in (1, 2, 3, 4, 5):
        for n, norm, orthogonalize in [*options, (5, "ortho", False), (5, "forward", None)]:
            f = lambda x, t=number, n=n, norm=norm, o=orthogonalize: transform(x, t, n, 0, norm, orthogonalize=o)
            for dtype in "dDfi":
                compare(f, draw(5, 3, dtype=dtype))
    several = getattr(scipy.fft, f"{name}n")
    compare(lambda x: several(x, 2, norm="ortho"), draw(5, 3, dtype="d"))
    compare(lambda x: several(x, 3, s=(4, 4), axes=(0, 1)), draw(5, 3, dtype="D"))


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize("module", [np.fft, scipy.fft], ids=["numpy", "scipy"])
def test_shifts(module: Any, name: str) -> None:
    shift = getattr(module, name)
    for axes in (None, 0, (1,), (0, 1)):
        compare(lambda x, axes=axes: shift(x, axes), draw(5, 8, dtype="d"))


def test_what_is_not_traced_is_as_it_was() -> None:
    assert np.allclose(wg.jit(lambda x: x * np.fft.fftfreq(8) * scipy.fft.fftfreq(8))(2.0), 2 * np.fft.fftfreq(8) ** 2)
    assert wg.jit(lambda x: x * scipy.fft.next_fast_len(13))(2.0) == 28.0


def test_empty_ones() -> None:
    compare(np.fft.fft, np.zeros(0))
    compare(np.fft.fft, np.array(1.0))
    compare(np.fft.fft, np.zeros((0, 4)))
    compare(scipy.fft.rfft, np.zeros((4, 0)))


def test_results_go_where_they_are_asked_to() -> None:
    def f(x: Any) -> Any:
        out = np.empty(8, complex)
        assert np.fft.fft(x, out=out) is out
        return out * 2

    x = draw(8, dtype="d")
    np.testing.assert_allclose(wg.jit(f)(x), 2 * np.fft.fft(x))


def test_a_convolution_and_its_gradient() -> None:
    a, b = draw(16, dtype="d"), draw(16, dtype="d")

    def loss(a: Any, b: Any) -> Any:
        return np.sum(np.fft.irfft(np.fft.rfft(a) * np.fft.rfft(b)) ** 3)

    for argnum in (0, 1):
        got = wg.jit(wg.grad(loss, argnum))(a, b)
        for k in (0, 5):
            h = 1e-6 * np.eye(16)[k]
            up = loss(a + h, b) if argnum == 0 else loss(a, b + h)
            down = loss(a - h, b) if argnum == 0 else loss(a, b - h)
            np.testing.assert_allclose(got[k], (up - down) / 2e-6, rtol=1e-6)


@pytest.mark.parametrize("name", ["fft2", "ifftn", "rfft2", "rfftn", "irfft2", "irfftn"])
def test_an_axis_that_is_transformed_twice_is_resized_each_time(name: str) -> None:
    """rfft2 along (0, 0) lost a third of its result: the half spectrum is brought to the length of the array again."""
    f = getattr(np.fft, name)
    x = np.arange(1.0, 10.0).reshape(3, 3) ** 2
    for options in ({"axes": (0, 0)}, {"s": (2, 3), "axes": (1, 1)}):
        want = f(x, **options)
        np.testing.assert_allclose(wg.jit(lambda x, o=options: f(x, **o))(x), want, rtol=1e-12, atol=1e-12)


def test_more_lengths_than_axes_are_refused_as_in_numpy() -> None:
    with pytest.warns(DeprecationWarning, match="axes"), pytest.raises(np.exceptions.AxisError):
        np.fft.ifftn(np.ones(3), s=(1, 1))
    with pytest.raises(np.exceptions.AxisError):
        wg.trace(lambda x: np.fft.ifftn(x, s=(1, 1)))(np.ones(3))


@pytest.mark.parametrize("shape", [(1,), (3, 1), (1, 3), (1, 1)])
def test_half_a_spectrum_of_length_one(shape: tuple[int, ...]) -> None:
    x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    for f in (np.fft.irfft, np.fft.irfft2, np.fft.irfftn):
        for lengths in (None, (1,) * x.ndim, (2,) * x.ndim):
            n = lengths if f is not np.fft.irfft or lengths is None else lengths[0]
            axes = () if f is np.fft.irfft else (tuple(range(-x.ndim, 0)),)
            try:
                want = f(x, n, *axes)
            except ValueError as error:
                with pytest.raises(ValueError, match=str(error).partition("(")[0]):
                    wg.jit(lambda x, f=f, n=n, axes=axes: f(x, n, *axes))(x)
                continue
            np.testing.assert_allclose(wg.jit(lambda x, f=f, n=n, axes=axes: f(x, n, *axes))(x), want, atol=1e-14)

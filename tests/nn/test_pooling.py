"""Pooling against plain loops, its derivatives, and its ties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.comparisons import close
from wengert import nn
from wengert.errors import ShapeError
from wengert.nn.windows import paddings, per_axis

SPACE = (7, 6, 5)
NUMBERS = np.random.default_rng(0)


def loops(x: np.ndarray, of: Callable[[np.ndarray], Any], window: Any, stride: Any, padding: Any) -> np.ndarray:
    """``of`` the elements of each window, NaN where it reaches beyond ``x``."""
    rank = x.ndim - 2
    window = per_axis(window, rank, "window")
    stride = window if stride is None else per_axis(stride, rank, "stride")
    x = np.pad(x, [(0, 0), (0, 0), *paddings(padding, x.shape[2:], window, stride)], constant_values=np.nan)
    places = [(n - k) // s + 1 for n, k, s in zip(x.shape[2:], window, stride, strict=True)]
    y = np.zeros((*x.shape[:2], *places))
    for at in np.ndindex(*y.shape):
        here = [slice(p * s, p * s + k) for p, s, k in zip(at[2:], stride, window, strict=True)]
        y[at] = of(x[(*at[:2], *here)])
    return y


def array(rank: int) -> np.ndarray:
    return NUMBERS.standard_normal((2, 3, *SPACE[:rank]))


WAYS = [
    dict(window=2),
    dict(window=3, stride=1),
    dict(window=3, stride=2, padding=1),
    dict(window=2, padding="same"),
    dict(window=3, stride=2, padding="same"),
]
KINDS = {
    "max_pool": (nn.max_pool, np.nanmax),
    "mean_pool": (nn.mean_pool, lambda window: np.nansum(window) / window.size),
    "inside": (lambda x, **options: nn.mean_pool(x, count_include_pad=False, **options), np.nanmean),
    "lp_pool": (lambda x, **options: nn.lp_pool(x, 3, **options), lambda w: np.nansum(np.abs(w) ** 3) ** (1 / 3)),
}
every = pytest.mark.parametrize("kind", KINDS)
in_ways = pytest.mark.parametrize("options", WAYS, ids=str)
in_dimensions = pytest.mark.parametrize("rank", [1, 2, 3])


@pytest.mark.sampled(2, "many that are alike")
@every
@in_ways
@in_dimensions
def test_a_number_a_window(kind: str, options: dict[str, Any], rank: int) -> None:
    pool, of = KINDS[kind]
    x = array(rank)
    want = loops(x, of, options["window"], options.get("stride"), options.get("padding", 0))
    close(pool(x, **options), want)
    close(wg.jit(lambda x: pool(x, **options))(x), want)


@pytest.mark.sampled(15, "every kind in every way, compiled anew")
@every
@in_ways
@pytest.mark.parametrize("rank", [1, 2])
def test_derivatives(kind: str, options: dict[str, Any], rank: int) -> None:
    wg.check_derivatives(lambda x: KINDS[kind][0](x[:1], **options), array(rank))


@pytest.mark.sampled(3, "every kind in every dtype, compiled anew")
@every
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dtypes_and_empty_batches(kind: str, dtype: str) -> None:
    pool = KINDS[kind][0]
    x = array(2).astype(dtype)
    for options in WAYS:
        y = pool(x, **options)
        assert y.dtype == dtype
        assert wg.jit(lambda x, options=options: pool(x, **options))(x).dtype == dtype
        assert pool(x[:0], **options).shape == (0, *y.shape[1:])
        assert wg.grad(lambda x, options=options: np.sum(pool(x, **options)))(x[:0]).shape == (0, *x.shape[1:])


def test_windows_with_gaps() -> None:
    x = np.arange(7.0).reshape(1, 1, 7)
    assert nn.max_pool(-x, 3, 1, 0, 2).tolist() == [[[0, -1, -2]]]


def test_integers() -> None:
    x = np.array([[[-5, -3, -4]]])
    assert nn.max_pool(x, 3, 1, 1).tolist() == [[[-3, -3, -3]]]


@pytest.mark.parametrize("pool", [nn.max_pool(2), nn.max_pool((2, 2), stride=3), nn.global_max_pool])
def test_the_greatest_share_evenly(pool: Any) -> None:
    x = np.array([[[[1.0, 1.0], [1.0, 0.0]]]])
    assert wg.grad(lambda x: np.sum(pool(x)))(x).tolist() == [[[[1 / 3, 1 / 3], [1 / 3, 0]]]]


def test_the_greatest_share_evenly_in_bins() -> None:
    x = np.array([[[1.0, 1.0, 0.0]]])
    gradient = wg.grad(lambda x: np.sum(nn.adaptive_max_pool(x, 2)))(x)  # bins 0-1 and 1-2
    assert gradient.tolist() == [[[0.5, 1.5, 0]]]


def test_padding_is_never_the_greatest() -> None:
    x = np.full((1, 1, 3), -1e30)
    assert nn.max_pool(x, 3, 1, 1).tolist() == [[[-1e30] * 3]]
    assert wg.grad(lambda x: np.sum(nn.max_pool(x, 2, 2, 1)))(x).tolist() == [[[1, 0.5, 0.5]]]


def test_no_norm() -> None:
    with pytest.raises(wg.errors.OptionError, match="expected at least 1"):
        nn.lp_pool(np.ones((1, 1, 3)), 0.5, 2)


def test_lp_of_zeros() -> None:
    x = np.zeros((1, 1, 4))
    assert nn.lp_pool(x, 2, 2).tolist() == [[[0, 0]]]
    assert wg.grad(lambda x: np.sum(nn.lp_pool(x, 2, 2)))(x).tolist() == [[[0, 0, 0, 0]]]


# ------------------------------------------------------------------------------------------------- all of space; bins


@in_dimensions
def test_all_of_space(rank: int) -> None:
    x = array(rank)
    close(nn.global_max_pool(x), x.reshape(2, 3, -1).max(-1))
    close(nn.global_mean_pool(x), x.reshape(2, 3, -1).mean(-1))


def bins_by_loops(x: np.ndarray, of: Callable[[np.ndarray], Any], bins: tuple[int, ...]) -> np.ndarray:
    y = np.zeros((*x.shape[:2], *bins))
    for at in np.ndindex(*y.shape):
        here = [slice(k * n // m, -(-(k + 1) * n // m)) for k, n, m in zip(at[2:], x.shape[2:], bins, strict=True)]
        y[at] = of(x[(*at[:2], *here)])
    return y


@pytest.mark.sampled(3, "a tenth of a second each")
@in_dimensions
@pytest.mark.parametrize("bins", [1, 2, 3, 7, 9])
def test_bins(rank: int, bins: int) -> None:
    x = array(rank)
    for pool, of in ((nn.adaptive_max_pool, np.max), (nn.adaptive_mean_pool, np.mean)):
        want = bins_by_loops(x, of, (bins,) * rank)
        close(pool(x, bins), want)
        close(wg.jit(lambda x, pool=pool: pool(x, bins))(x), want)


@pytest.mark.sampled(3, "half a second each")
@pytest.mark.parametrize("pool", [nn.adaptive_max_pool((3, 4)), nn.adaptive_mean_pool((3, 4)), nn.adaptive_max_pool(1)])
def test_derivatives_of_bins(pool: Any) -> None:
    wg.check_derivatives(pool, array(2))
    assert pool(array(2).astype(np.float32)).dtype == np.float32
    assert pool(array(2)[:0]).shape == (0, *pool(array(2)).shape[1:])


# ---------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: nn.max_pool(np.ones((2, 3)), 2), "without space"),
        (lambda: nn.max_pool(np.ones((1, 1, 3)), 4), "larger than the padded space"),
        (lambda: nn.max_pool(np.ones((1, 1, 3)), 2, padding=2), "nothing but padding"),
        (lambda: nn.max_pool(np.ones((1, 1, 3)), (2, 2)), "window is"),
        (lambda: nn.mean_pool(np.ones((1, 1, 3)), 2, stride=0), "stride is 0"),
        (lambda: nn.adaptive_max_pool(np.ones((1, 1, 0)), 2), "is empty"),
        (lambda: nn.global_max_pool(np.ones((2, 3))), "without space"),
    ],
)
def test_what_does_not_fit(call: Any, text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        call()

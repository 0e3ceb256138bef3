"""Convolutions, pooling and resizing against PyTorch, values and gradients, where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn

torch = pytest.importorskip("torch")
F = torch.nn.functional

SPACE = (9, 8, 7)
in_dimensions = pytest.mark.parametrize("rank", [1, 2, 3])


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape)


def agree(ours: Callable[..., Any], theirs: Callable[..., Any], *args: np.ndarray) -> None:
    """Values, gradients of Σ sin y, and dtypes, in float64 and float32."""
    for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-4)):
        xs = [x.astype(dtype) for x in args]
        tensors = [torch.tensor(x, requires_grad=True) for x in xs]
        want = theirs(*tensors)
        torch.sum(torch.sin(want)).backward()
        got = ours(*xs)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want.detach().numpy(), tolerance, tolerance)
        gradients = wg.grad(lambda *xs: np.sum(np.sin(ours(*xs))), tuple(range(len(xs))))(*xs)
        for gradient, tensor in zip(gradients, tensors, strict=True):
            assert gradient.dtype == dtype
            np.testing.assert_allclose(gradient, tensor.grad.numpy(), 10 * tolerance, 10 * tolerance)


@pytest.mark.sampled(5, "as many kernels as cases, compiled anew")
@in_dimensions
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("groups", [1, 2])
def test_conv_and_its_transpose(rank: int, stride: int, padding: int, dilation: int, groups: int) -> None:
    x, b = numbers(2, 4, *SPACE[:rank]), numbers(6)
    theirs, transposed = getattr(F, f"conv{rank}d"), getattr(F, f"conv_transpose{rank}d")
    agree(
        lambda x, w, b: nn.conv(x, w, b, stride, padding, dilation, groups),
        lambda x, w, b: theirs(x, w, b, stride, padding, dilation, groups),
        x, numbers(6, 4 // groups, *(3,) * rank), b,
    )  # fmt: skip
    more = int(max(stride, dilation) > 1)
    agree(
        lambda x, w, b: nn.conv_transpose(x, w, b, stride, padding, more, dilation, groups),
        lambda x, w, b: transposed(x, w, b, stride, padding, more, groups, dilation),
        x, numbers(4, 6 // groups, *(3,) * rank), b,
    )  # fmt: skip


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("window", [2, 3])
@in_dimensions
def test_pooling(rank: int, window: int, stride: int) -> None:
    x = numbers(2, 3, *SPACE[:rank])
    most, mean, lp = [getattr(F, f"{kind}_pool{rank}d") for kind in ("max", "avg", "lp")]
    agree(lambda x: nn.max_pool(x, window, stride, 1), lambda x: most(x, window, stride, 1), x)
    agree(lambda x: nn.max_pool(x, window, stride, 1, 2), lambda x: most(x, window, stride, 1, 2), x)
    for inside in (True, False):
        agree(
            lambda x, inside=inside: nn.mean_pool(x, window, stride, 1, inside),
            lambda x, inside=inside: mean(x, window, stride, 1, False, inside),
            x,
        )
    agree(lambda x: nn.lp_pool(x, 3, window, stride), lambda x: lp(x, 3, window, stride), np.abs(x))


@pytest.mark.parametrize("bins", [1, 3, 4, 12])
@in_dimensions
def test_adaptive_pooling(rank: int, bins: int) -> None:
    x = numbers(2, 3, *SPACE[:rank])
    most, mean = [getattr(F, f"adaptive_{kind}_pool{rank}d") for kind in ("max", "avg")]
    agree(lambda x: nn.adaptive_max_pool(x, bins), lambda x: most(x, bins), x)
    agree(lambda x: nn.adaptive_mean_pool(x, bins), lambda x: mean(x, bins), x)


@pytest.mark.parametrize("to", [dict(scale=2), dict(scale=1.5), dict(scale=0.4), dict(size=1), dict(size=13)], ids=str)
@in_dimensions
def test_upsampling(rank: int, to: dict[str, Any]) -> None:
    x = numbers(2, 3, *SPACE[:rank])
    said = {"scale_factor" if name == "scale" else name: value for name, value in to.items()}
    linear = ["linear", "bilinear", "trilinear"][rank - 1]
    agree(lambda x: nn.upsample(x, **to), lambda x: F.interpolate(x, **said), x)
    for corners in (False, True):
        agree(
            lambda x, corners=corners: nn.upsample(x, mode="linear", align_corners=corners, **to),
            lambda x, corners=corners: F.interpolate(x, mode=linear, align_corners=corners, **said),
            x,
        )


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@in_dimensions
def test_padding(rank: int, mode: str) -> None:
    agree(
        lambda x: nn.pad(x, ((2, 1),) * rank, mode),
        lambda x: F.pad(x, (2, 1) * rank, mode),
        numbers(2, 3, *SPACE[:rank]),
    )


def test_pixels() -> None:
    x = numbers(2, 12, 4, 6)
    agree(lambda x: nn.pixel_shuffle(x, 2), lambda x: F.pixel_shuffle(x, 2), x)
    agree(lambda x: nn.pixel_unshuffle(x, 2), lambda x: F.pixel_unshuffle(x, 2), x)


@pytest.mark.parametrize("options", [(2, 1, 0, 1), (3, 1, 1, 2), (2, 2, 1, 1), ((2, 3), (2, 1), (1, 0), (1, 2))])
def test_columns(options: tuple[Any, ...]) -> None:
    x = numbers(2, 3, 4, 6)
    agree(lambda x: nn.unfold(x, *options), lambda x: F.unfold(x, *options), x)
    agree(lambda x: nn.fold(x, (4, 6), *options), lambda x: F.fold(x, (4, 6), *options), nn.unfold(x, *options))


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("rank", [2, 3])
def test_sampling(rank: int, corners: bool, padding: str) -> None:
    x = numbers(2, 3, *SPACE[:rank])
    grid = np.random.default_rng(0).uniform(-1.4, 1.4, (2, *(4, 2, 3)[:rank], rank))
    agree(
        lambda x, grid: nn.grid_sample(x, grid, "linear", padding, corners),
        lambda x, grid: F.grid_sample(x, grid, "bilinear", padding, corners),
        x, grid,
    )  # fmt: skip

"""Arrays on space read at computed places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import wengert as wg
from tests.comparisons import close
from wengert import nn
from wengert.errors import ShapeError, StructureError

SPACE = (5, 4, 6)


def problem(rank: int, reach: float = 1.4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(rank)
    x = rng.standard_normal((2, 3, *SPACE[:rank]))
    return x, rng.uniform(-reach, reach, (2, *(4, 2, 3)[:rank], rank))


@pytest.mark.sampled(2, "a tenth of a second each")
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(
    ("padding", "of_scipy"), [("zeros", "grid-constant"), ("border", "nearest"), ("reflection", "reflect")]
)
@pytest.mark.parametrize(("mode", "order"), [("linear", 1), ("nearest", 0)])
def test_as_scipy_interpolates(rank: int, padding: str, of_scipy: Any, mode: str, order: int) -> None:
    x, grid = problem(rank)
    at = np.stack([((grid[..., rank - 1 - k] + 1) * n - 1) / 2 for k, n in enumerate(x.shape[2:])])
    want = np.zeros((2, 3, *grid.shape[1:-1]))
    for n, c in np.ndindex(2, 3):
        want[n, c] = ndimage.map_coordinates(x[n, c], at[:, n], order=order, mode=of_scipy)
    close(nn.grid_sample(x, grid, mode, padding), want)
    close(wg.jit(lambda x, grid: nn.grid_sample(x, grid, mode, padding))(x, grid), want)


def test_the_grid_of_the_elements_gives_them_back() -> None:
    x, _ = problem(2)
    rows, columns = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 4), indexing="ij")
    grid = np.broadcast_to(np.stack([columns, rows], -1), (2, 5, 4, 2))
    close(nn.grid_sample(x, grid, align_corners=True), x)


@pytest.mark.sampled(11, "every way is compiled")
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_derivatives_in_both(padding: str, align_corners: bool) -> None:
    x, grid = problem(2)
    wg.check_derivatives(lambda x, grid: nn.grid_sample(x, grid, "linear", padding, align_corners), x, grid)


def test_where_an_element_lies_the_slope_is_that_towards_the_next() -> None:
    x = np.array([[[0.0, 1.0, 5.0]]])
    at = lambda place: np.sum(nn.grid_sample(x, place.reshape(1, 1, 1), align_corners=True))
    assert wg.grad(at)(np.zeros(1)).tolist() == [4.0]


def test_dtypes_and_an_empty_batch() -> None:
    x, grid = problem(2)
    for dtype in (np.float32, np.float64):
        assert nn.grid_sample(x.astype(dtype), grid.astype(dtype)).dtype == dtype
    assert nn.grid_sample(x[:0], grid[:0]).shape == (0, 3, 4, 2)


def test_one_element() -> None:
    x = np.array([[[7.0]]])
    for padding in ("border", "reflection"):
        assert nn.grid_sample(x, np.array([[[0.3]]]), padding=padding, align_corners=True).tolist() == [[[7]]]


def test_bad_input() -> None:
    x, grid = problem(2)
    with pytest.raises(ShapeError, match=r"at the places float64\[2, 4, 2\]"):
        nn.grid_sample(x, grid[..., 0])
    with pytest.raises(ShapeError):
        nn.grid_sample(x, grid[:1])
    with pytest.raises(StructureError, match="mode 'cubic'"):
        nn.grid_sample(x, grid, "cubic")

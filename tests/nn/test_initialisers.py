"""What parameters begin as: deviations, ranges, right angles."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.nn import initialisers

SHAPE = (40, 30, 3, 3)
INTO, OUT_OF = 270, 360


@pytest.mark.parametrize(
    ("name", "variance"),
    [("glorot", 2 / (INTO + OUT_OF)), ("kaiming", 2 / INTO), ("lecun", 1 / INTO)],
)
@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_variances(name: str, variance: float, kind: str) -> None:
    x = nn.initialiser(f"{name}_{kind}")(np.random.default_rng(0), SHAPE, "float32")
    assert x.dtype == np.float32 and x.shape == SHAPE and abs(x.mean()) < 0.01
    assert abs(x.var() / variance - 1) < 0.05
    if kind == "uniform":
        assert np.abs(x).max() <= np.sqrt(3 * variance) * 1.0001


@pytest.mark.parametrize("shape", [(5, 8), (8, 5), (6, 6), (4, 2, 3)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    x = nn.initialiser("orthogonal")(np.random.default_rng(0), shape, "float64").reshape(shape[0], -1)
    product = x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x
    np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-12)


def test_the_others() -> None:
    rng = np.random.default_rng(0)
    x = initialisers.truncated_normal(0.5)(rng, (1000,), "float64")
    assert np.abs(x).max() <= 1 and 0.4 < x.std() < 0.5
    assert np.all(initialisers.constant(3)(rng, (2,), "f") == 3) and initialisers.fans(()) == (1, 1)
    assert not nn.initialiser("zeros")(rng, (2,), "f").any() and nn.initialiser("ones")(rng, (2,), "f").all()
    with pytest.raises(wg.errors.StructureError, match="'golrot'"):
        nn.initialiser("golrot")

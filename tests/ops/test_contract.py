from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.differences import check


def names(step: Any, *args: Any) -> list[str]:
    return [kernel.name for kernel in step.program(*args).kernels]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
@pytest.mark.parametrize("labels", ["i,j->ij", "i,j->ji", "ij,k->kij", "ij,i->ij", "ij,ji->ij", "i,i->i", ",i->i"])
def test_a_large_product_over_which_nothing_is_summed_is_a_map(monkeypatch: Any, labels: str, dtype: Any):
    monkeypatch.setattr("wengert.ops.contract.STORED_BELOW", 40 * 40 * 4)
    rng, lengths = np.random.default_rng(0), {"i": 40, "j": 40, "k": 40}
    given = [
        rng.integers(-9, 9, [lengths[c] for c in part]).astype(dtype) for part in labels[:-1].split("->")[0].split(",")
    ]
    step = wg.jit(lambda x, y: np.einsum(labels, x, y))
    np.testing.assert_array_equal(step(*given), np.einsum(labels, *given))
    assert "contract" not in "".join(names(step, *given))


def test_sums_of_outer_products_are_one_pass_that_stores_nothing_else():
    rng = np.random.default_rng(0)
    a, x, y = rng.standard_normal((160, 170)), rng.standard_normal(170), rng.standard_normal(160)

    def f(a: Any, x: Any, y: Any) -> Any:
        return np.sum((a @ x) ** 2) + np.sum((y @ a) ** 2)

    step = wg.jit(wg.grad(f))
    np.testing.assert_allclose(step(a, x, y), 2 * np.outer(a @ x, x) + 2 * np.outer(y, y @ a), rtol=1e-12, atol=1e-12)
    assert step.program(a, x, y).arena_bytes < a.nbytes
    assert sum("contract" in name for name in names(step, a, x, y)) == 2
    check(f, a, x, y)


def test_small_outer_products_share_the_kernels_of_products():
    a, x = np.ones((10, 12)), np.linspace(0, 1, 12)
    step = wg.jit(wg.grad(lambda a, x: np.sum(np.tanh(a @ x))))
    np.testing.assert_allclose(step(a, x), np.outer(1 - np.tanh(a @ x) ** 2, x), rtol=1e-12)
    assert names(step, a, x)[-1] == "contract"


def test_an_outer_product_may_be_empty_or_of_infinities(monkeypatch: Any):
    monkeypatch.setattr("wengert.ops.contract.STORED_BELOW", 0)
    outer = wg.jit(np.multiply.outer)
    assert outer(np.ones(0), np.ones(3)).shape == (0, 3)
    with np.errstate(invalid="ignore"):
        x, y = np.array([np.inf, -0.0, np.nan]), np.array([0.0, np.inf, -1.0])
        np.testing.assert_array_equal(wg.jit(np.outer)(x, y), np.outer(x, y))

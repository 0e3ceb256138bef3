"""Patterns of Jacobians have every entry that a Jacobian has, and no more where the steps are of known structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.hosts._sparsity import pattern

INDICES = np.array([0, 2, 1])


def dynamics(x: Any, a: Any) -> Any:
    out = np.zeros(5)
    for i in range(4):
        out[i] = x[i] * x[i + 1]
    out[4] = a
    y = np.concatenate([out, x[::-1]]).reshape(2, 5).T
    return np.sum(y, axis=1), np.diff(np.roll(x, 1), prepend=0), np.pad(x, 1)[1:-1] * 2, x[1:] - x[:-1] ** 2


EXACT: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "moves, writes and sums": (dynamics, ((5,), ())),
    "captured indices": (lambda x: x[INDICES] ** 2, ((4,),)),
    "a product with a constant": (lambda a: np.sin(a) @ np.arange(1, 4.0)[:, None], ((4, 3),)),
    "a product": (lambda a, b: a @ b, ((4, 3), (3, 2))),
    "numbers that would cancel": (lambda x: np.array([[1.0, -1.0]]) @ np.stack([x[0] * x[1], x[0]]), ((3,),)),
    "a gradient": (wg.grad(lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2)), ((6,),)),
    "a gradient of the long way": (wg.grad(lambda x: np.sum((x[2:] * x[:-2]) ** 2)), ((9,),)),
    "a selection": (lambda x: np.where(x > 0, x, 2 * x), ((4,),)),
    "a transpose": (lambda x: x.T.copy(), ((2, 3),)),
    "nothing": (lambda x: np.zeros(3) + 0 * np.argmax(x), ((3,),)),
}

DENSE: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "a sort": (np.sort, ((4,),)),
    "a cumulative sum": (np.cumsum, ((4,),)),
    "a scan": (lambda x: wg.scan(lambda c, v: (c + v, c * v), 0.0, x)[1], ((4,),)),
    "a solution": (lambda x: np.linalg.solve(np.eye(3) * x[0], x[1:]), ((4,),)),
    "a transform": (lambda x: np.fft.rfft(x).real, ((4,),)),
    "indices of values": (lambda x: x[np.argsort(x)], ((4,),)),
    "a captured matrix": (lambda x: np.einsum("ij,kj->ik", x, np.eye(3)[:2]), ((2, 3),)),
}


@pytest.mark.parametrize("name", [*EXACT, *DENSE])
def test_no_entry_is_missing(name: str) -> None:
    f, shapes = (EXACT | DENSE)[name]
    xs = [np.random.default_rng(1).normal(size=s) for s in shapes]
    found = pattern(f, shapes)
    assert found is not None
    flat = lambda *xs: tuple(wg.tree.leaves(f(*xs)))
    jacobian = wg.jacobian(flat, argnums=tuple(range(len(xs))))(*xs)
    for blocks, row in zip(jacobian, found.blocks, strict=True):
        for block, mask in zip(blocks, row, strict=True):
            assert block.shape == mask.shape and not np.any((block != 0) & ~mask)
            assert name in DENSE or np.array_equal(block != 0, mask)


def test_what_branches_on_values_has_no_pattern() -> None:
    assert pattern(lambda x: x if x[0] > 0 else -x, [(3,)]) is None


def test_captured_indices_are_remembered() -> None:
    indices = np.array([0, 1])
    found = pattern(lambda x: x[indices], [(3,)])
    assert found is not None and found.holds()
    indices[0] = 2
    assert not found.holds()

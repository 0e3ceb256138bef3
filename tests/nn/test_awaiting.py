"""Functions that wait for their array."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.nn.awaiting import Awaiting


def test_with_an_array_it_is_called() -> None:
    x = np.arange(8.0).reshape(1, 2, 4)
    assert nn.max_pool(x, 2).tolist() == [[[1, 3], [5, 7]]]
    assert nn.max_pool(x=x, window=2).tolist() == [[[1, 3], [5, 7]]]
    assert wg.jit(lambda x: nn.max_pool(x, 2))(x).tolist() == [[[1, 3], [5, 7]]]


def test_without_one_it_waits() -> None:
    pool = nn.max_pool(2, stride=1)
    assert isinstance(pool, Awaiting)
    assert pool(np.arange(4.0).reshape(1, 1, 4)).tolist() == [[[1, 2, 3]]]
    assert wg.jit(pool)(np.arange(4.0).reshape(1, 1, 4)).tolist() == [[[1, 2, 3]]]


@pytest.mark.parametrize(
    ("waiting", "text"),
    [
        (nn.max_pool(2), "max_pool(2)"),
        (nn.max_pool((2, 3), padding="same"), "max_pool((2, 3), padding='same')"),
        (nn.mean_pool(window=2), "mean_pool(window=2)"),
        (nn.lp_pool(2, 3), "lp_pool(2, 3)"),
        (nn.adaptive_mean_pool(1), "adaptive_mean_pool(1)"),
        (nn.upsample(size=(4, 4), mode="linear"), "upsample(size=(4, 4), mode='linear')"),
        (nn.pad(((1, 2),), "edge"), "pad(((1, 2),), 'edge')"),
    ],
    ids=repr,
)
def test_it_reads_as_it_was_written(waiting: Awaiting, text: str) -> None:
    assert repr(waiting) == text


def test_equal_ones_are_equal_and_one_of_another_process() -> None:
    assert nn.max_pool(2) == nn.max_pool(2) != nn.max_pool(3)
    assert hash(nn.max_pool(2)) == hash(nn.max_pool(2))
    assert nn.max_pool(2) != nn.mean_pool(2)
    assert pickle.loads(pickle.dumps(nn.max_pool(2, stride=1))) == nn.max_pool(2, stride=1)

"""What a layer is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from wengert import nn
from wengert.errors import StructureError
from wengert.nn.layers.base import FunctionLayer


@dataclass(frozen=True, repr=False)
class Shift(nn.Layer):
    by: float
    activation: Any = nn.identity
    twice: bool = False

    def apply(self, params: Any, state: Any, *xs: Any, train: bool = False) -> Any:
        return self.activation(xs[0] + self.by), state


def test_it_reads_as_it_was_written() -> None:
    assert repr(Shift(2.0)) == "Shift(2.0)"
    assert repr(Shift(2.0, nn.relu, twice=True)) == "Shift(2.0, activation=relu, twice=True)"


def test_equal_ones_are_equal() -> None:
    assert Shift(2.0, nn.relu) == Shift(2.0, nn.relu) != Shift(3.0, nn.relu)
    assert len({Shift(2.0), Shift(2.0)}) == 1


def test_without_parameters() -> None:
    assert Shift(2.0).init(0, np.ones(2)) == ({}, {})


def test_one_without_apply() -> None:
    with pytest.raises(StructureError, match="Layer has no apply"):
        nn.Layer().apply({}, {}, 1.0)


def test_functions_are_layers() -> None:
    layer = nn.as_layer(np.sin)
    assert layer == FunctionLayer(np.sin) and repr(layer) == "sin"
    assert layer.init(0, np.ones(2)) == ({}, {})
    y, state = layer.apply({}, {}, np.zeros(2))
    assert y.tolist() == [0, 0] and state == {}
    assert repr(nn.as_layer(nn.mean_pool(3, stride=1))) == "mean_pool(3, stride=1)"


def test_layers_stay_what_they_are() -> None:
    layer = Shift(1.0)
    assert nn.as_layer(layer) is layer


def test_what_is_none() -> None:
    with pytest.raises(StructureError, match="3 is no layer"):
        nn.as_layer(3)

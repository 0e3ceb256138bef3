"""Recorded graphs."""

from __future__ import annotations

import numpy as np

import wengert as wg
from wengert.autograd.misc import const_graph
from wengert.autograd.misc.tracers import full_graph


def test_a_graph_is_recorded_once() -> None:
    f = const_graph(lambda x, y, z: x + 2 * y + 3 * z, 1.0, z=3.0)
    assert [float(f(y)) for y in (2.0, 3.0, 4.0)] == [14.0, 16.0, 18.0]
    assert isinstance(full_graph(lambda x: np.sin(x), 1.0), wg.Tape)

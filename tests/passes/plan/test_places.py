"""Questions about places, asked of NumPy's views too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert.passes.plan.places import Buffer, Place, is_c_order, is_dense, is_there, overlap, reach, same_elements
from wengert.tape import Aval

F64 = np.dtype(float)
BASE = np.zeros((6, 8))
VIEWS = {
    "all of it": BASE,
    "a row": BASE[2],
    "a column": BASE[:, 3],
    "a block": BASE[1:4, 2:5],
    "turned": BASE.T,
    "backwards": BASE[::-1, ::-2],
    "a row backwards": BASE[4, ::-1],
    "an element": BASE[3, 3:4][0:1].reshape(()),
    "one row, with its axis": BASE[2:3],
    "repeated": np.broadcast_to(BASE[0], (3, 8)),
    "repeated once": np.broadcast_to(BASE[0], (1, 8)),
    "each repeated": np.broadcast_to(BASE[:, :1], (6, 5)),
    "of no axis that is long": BASE[5:, 7:],
}


def place_of(view: Any, buffer: Buffer) -> Place:
    offset = view.__array_interface__["data"][0] - BASE.__array_interface__["data"][0]
    return Place(buffer, offset, view.strides, Aval(view.shape, F64))


@pytest.mark.parametrize("name", VIEWS)
def test_what_is_said_of_a_place_is_so_of_numpys_view(name: str) -> None:
    view, buffer = VIEWS[name], Buffer("arena")
    place = place_of(view, buffer)
    first = BASE.__array_interface__["data"][0]
    low, high = np.lib.array_utils.byte_bounds(view)
    assert reach(place) == (low - first, high - first)
    assert is_c_order(place) == view.flags.c_contiguous
    lie_at = {view[(*at, ...)].__array_interface__["data"][0] for at in np.ndindex(view.shape)}
    assert is_dense(place) == (len(lie_at) == view.size)
    for other, second in VIEWS.items():
        beside = place_of(second, buffer)
        assert overlap(place, beside) == np.may_share_memory(view, second), other
        assert not overlap(place, place_of(second, Buffer("arena")))
        if view.shape == second.shape:
            alike = [x[(*at, ...)].__array_interface__["data"] for x in (view, second) for at in np.ndindex(view.shape)]
            assert is_there(place, beside) == (alike[: view.size] == alike[view.size :]), other


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("shape", [(6, 8), (48,), (8,), (1, 8), (8, 1), (3, 3), (9,), (6, 1, 8), (1,), ()])
def test_another_shape_has_the_same_elements_in_order_or_there_are_no_strides_for_it(
    name: str, shape: tuple[int, ...]
) -> None:
    view = VIEWS[name]
    if view.size != int(np.prod(shape)):
        return
    base = np.arange(48.0).reshape(6, 8)
    place = place_of(view, Buffer("arena"))
    strides = same_elements(place, Aval(shape, F64))
    if strides is None:
        assert not view.flags.c_contiguous
        return
    begin = base.reshape(-1)[place.offset // 8 :] if min((*strides, 0)) >= 0 else None
    if begin is not None:
        same = np.lib.stride_tricks.as_strided(begin, view.shape, view.strides)
        np.testing.assert_array_equal(np.lib.stride_tricks.as_strided(begin, shape, strides).ravel(), same.ravel())

"""Elements are described by what they are made of: places through views, parts of boxes, and the core."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.tapes import F64, tape
from wengert.ops.index import embed, slice_
from wengert.ops.shape import broadcast_to, diagonal, reshape, transpose
from wengert.passes.elements import AffineIndex, NotAffineError, core_of, everywhere, into_region, meet, through_view
from wengert.tape import Aval

SHAPE = (5, 6)
MATRIX = Aval(SHAPE, F64)


def places_of(f, *avals):
    """The places that the views of ``f`` read in its operand."""
    made = tape(f, *avals)
    at = everywhere(made.out_avals[0].shape)
    for instr in reversed(made.instrs):
        at = through_view(instr, at)
    return at


def read(x, at: AffineIndex, shape):
    """The elements of x at these places."""
    out = np.empty(shape)
    for i in np.ndindex(*shape):
        index = [
            o + sum(f * k for f, k in zip(row, i, strict=True)) for o, row in zip(at.offsets, at.factors, strict=True)
        ]
        out[i] = x[tuple(index)]
    return out


@pytest.mark.parametrize(
    "f",
    [
        lambda x: slice_(x, index=((1, 3, 1), (4, 2, -2))),
        lambda x: slice_(x, index=(2, (0, 6, 1))),
        lambda x: transpose(x, axes=(1, 0)),
        lambda x: reshape(x, shape=(5, 1, 6)),
        lambda x: reshape(slice_(x, index=(1, (0, 6, 1))), shape=(2, 3)),
        lambda x: broadcast_to(slice_(x, index=((1, 1, 1), (0, 6, 1))), shape=(4, 6)),
        lambda x: diagonal(slice_(x, index=((0, 5, 1), (1, 5, 1)))),
        lambda x: transpose(slice_(x, index=((4, 5, -1), (0, 3, 2))), axes=(1, 0)),
    ],
)
def test_a_view_is_read_where_numpy_reads_it(f):
    x = np.arange(30.0).reshape(SHAPE)
    made = tape(f, MATRIX)
    values = x
    for instr in made.instrs:
        values = instr.op.reference(values, **instr.params)
    np.testing.assert_array_equal(read(x, places_of(f, MATRIX), values.shape), values)


def test_a_reshape_that_joins_axes_is_not_affine():
    with pytest.raises(NotAffineError):
        places_of(lambda x: reshape(x, shape=(30,)), MATRIX)


def test_part_of_a_region():
    (instr,) = tape(lambda x: embed(x, shape=(8, 9), index=((2, 5, 1), (1, 6, 1))), MATRIX).instrs
    whole = ((0, 8), (0, 9))
    part = into_region(instr, everywhere((8, 9)), whole)
    assert part.box == ((2, 7), (1, 7))
    assert part.at.offsets == (-2, -1)
    assert part.shape == SHAPE
    assert into_region(instr, everywhere((8, 9)), ((0, 2), (0, 9))).box is None


def test_part_of_a_reversed_region():
    (instr,) = tape(lambda x: embed(x, shape=(8, 9), index=((6, 5, -1), (1, 6, 1))), MATRIX).instrs
    part = into_region(instr, everywhere((8, 9)), ((0, 8), (0, 9)))
    assert part.box == ((2, 7), (1, 7))
    assert part.at.offsets == (6, -1)
    assert part.at.factors[0] == (-1, 0)


def test_every_other_element_is_no_box():
    (instr,) = tape(lambda x: embed(x, shape=(10, 6), index=((0, 5, 2), (0, 6, 1))), MATRIX).instrs
    with pytest.raises(NotAffineError):
        into_region(instr, everywhere((10, 6)), ((0, 10), (0, 6)))


def test_one_row_is_a_box():
    (instr,) = tape(lambda x: embed(x, shape=(4, 3), index=(2, (0, 3, 1))), Aval((3,), F64)).instrs
    part = into_region(instr, everywhere((4, 3)), ((0, 4), (0, 3)))
    assert part.box == ((2, 3), (0, 3))
    assert part.at.offsets == (0,)


def test_core():
    assert core_of((10,), []) == ((0, 10),)
    assert core_of((10, 4), [((1, 9), (0, 4)), ((0, 10), (1, 4))]) == ((1, 9), (1, 4))
    assert core_of((), []) == ()
    assert meet(((0, 3),), ((3, 5),)) is None

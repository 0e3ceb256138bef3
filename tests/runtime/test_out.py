"""``out=``: what fits is written, and nothing is written where something does not fit."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ShapeError, StructureError
from wengert.runtime.out import targets_of, write_out


def test_results_are_written_into_arrays_of_their_structure() -> None:
    a, b = np.empty(2), np.empty(())
    out = {"a": a, "b": b}
    assert write_out(out, {"a": np.ones(2), "b": np.float64(3)}) is out
    assert a.tolist() == [1, 1] and b == 3
    with pytest.raises(StructureError, match=r'out\["a"\]: expected an array float64\[3\]'):
        write_out(out, {"a": np.ones(3), "b": np.float64(3)})
    with pytest.raises(StructureError, match="out="):
        write_out([a], (np.ones(2),))
    assert a.tolist() == [1, 1]  # nothing was written


def test_the_targets_of_a_program_are_its_outputs() -> None:
    tape = wg.trace(lambda x: {"a": x * 2, "b": np.sum(x)})(np.ones(2))
    a, b = np.empty(2), np.empty(())
    assert [x is y for x, y in zip(targets_of({"a": a, "b": b}, tape), (a, b), strict=True)] == [True, True]
    with pytest.raises(StructureError, match="out: "):
        targets_of([a, b], tape)
    with pytest.raises(ShapeError, match=r'out\["b"\]: expected float64\[\], got'):
        targets_of({"a": a, "b": a}, tape)
    with pytest.raises(StructureError, match="expected 2 arrays"):
        targets_of([a], tape.replace(out_tree=None))

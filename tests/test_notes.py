"""Notes are taken while they are asked for, and name the values that stand on the tape at last."""

from __future__ import annotations

import threading

import numpy as np

import wengert as wg
from wengert.notes import Notes, current, taken


def test_nothing_is_noted_but_within_the_block_and_in_this_thread() -> None:
    assert current() is None
    with taken() as notes:
        wg.jit(wg.grad(lambda x: np.sum(np.sin(x)))).program(np.ones(3))
        elsewhere: list[Notes | None] = []
        thread = threading.Thread(target=lambda: elsewhere.append(current()))
        thread.start()
        thread.join()
    assert current() is None and elsewhere == [None]
    assert len(notes.recorded) > 0 and len(notes.differentiated) == 1


def test_a_value_is_followed_through_a_chain_of_names() -> None:
    notes = Notes()
    notes.new_names.update(a="b", b="c")
    assert notes.now("a") == "c" and notes.now("d") == "d"
    notes.new_names["c"] = "a"  # a circle ends
    assert notes.now("a") in ("a", "b", "c")

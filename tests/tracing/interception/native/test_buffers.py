"""A class written in Python that has buffers: those of the arrays that its method ``memory`` gives."""

from __future__ import annotations

import gc
import weakref
import zlib
from typing import Any

import numpy as np
import pytest

from wengert.tracing.interception import _buffers


class Holder:
    def __init__(self, array: Any) -> None:
        self.array = array

    def memory(self) -> Any:
        return self.array


_buffers.lend_memory(Holder)


@pytest.mark.needs_extension("before Python 3.12 a class written in Python lends no memory")
def test_the_buffer_is_the_arrays() -> None:
    array: Any = np.arange(3.0)
    holder: Any = Holder(array)
    assert zlib.crc32(holder) == zlib.crc32(array)
    view = np.frombuffer(holder)
    view[0] = 7.0
    assert array[0] == 7.0


@pytest.mark.needs_extension("before Python 3.12 a class written in Python lends no memory")
def test_the_buffer_holds_the_array_and_lets_go_of_it() -> None:
    array: Any = np.arange(3.0)
    died = weakref.ref(array)
    holder: Any = Holder(array)
    view = np.frombuffer(holder)
    del array, holder
    gc.collect()
    assert died() is not None and view.tolist() == [0.0, 1.0, 2.0]
    del view
    gc.collect()
    assert died() is None


def test_what_is_no_memory_is_an_error() -> None:
    holder: Any = Holder(3)
    with pytest.raises(TypeError, match="bytes-like object is required"):
        zlib.crc32(holder)
    nothing: Any = type("Nothing", (Holder,), {"memory": None})(0)
    with pytest.raises(TypeError):
        zlib.crc32(nothing)


@pytest.mark.needs_extension("before Python 3.12 a class written in Python lends no memory")
def test_who_asks_as_numpy_does_is_sent_on() -> None:
    holder: Any = Holder(np.arange(3.0))
    with pytest.raises(BufferError, match="no memory of its own"):
        memoryview(holder)
    assert np.array(holder, dtype=object)[()] is holder


def test_a_class_of_c_is_refused() -> None:
    for one in (float, 3):
        with pytest.raises(TypeError, match="no class that was made at run time"):
            _buffers.lend_memory(one)

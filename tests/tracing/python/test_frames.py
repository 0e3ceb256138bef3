"""What is read of frames that are running, or that an error came through."""

from __future__ import annotations

import gc
import sys
from types import FrameType
from typing import Any

import pytest

from wengert.tracing.python import frames
from wengert.tracing.python.bytecode import code_of

IN_MODULE = "of the module"


def here() -> FrameType:
    return sys._getframe(1)


def test_the_call_of_the_users_function_is_told_from_others() -> None:
    assert frames.is_run(frames.run(lambda: sys._getframe(1), (), {}))
    assert not frames.is_run(here())


def test_what_runs_when_garbage_is_collected() -> None:
    found: list[bool] = []

    def called() -> None:
        found.append(frames.is_of_collector(here()))

    def callback(phase: str, info: Any) -> None:
        called()

    gc.callbacks.append(callback)
    try:
        gc.collect()
        called()
    finally:
        gc.callbacks.remove(callback)
    assert found == [True, True, False]  # it is called before and after


def test_what_a_frame_runs_and_is_called() -> None:
    class Model:
        def loss(self) -> FrameType:
            return here()

    frame = Model().loss()
    assert frames.function_name(frame) == "loss"
    assert frames.qualified_name(frame).endswith("<locals>.Model.loss")
    assert frames.code_in(frame) is code_of(Model.loss) is frames.place_of(frame).code


def test_which_frames_can_be_taken_up_again() -> None:
    def generator() -> Any:
        yield here()

    assert frames.is_generator(next(generator()))
    assert not frames.is_generator(here())


def test_a_variable_is_looked_up_as_python_does() -> None:
    def f(local: int) -> FrameType:
        return here()

    frame = f(3)
    assert frames.value_of(frame, "local") == 3
    assert frames.value_of(frame, "IN_MODULE") == IN_MODULE
    assert frames.value_of(frame, "len") is len
    assert frames.value_of(frame, "of nobody") is None


def test_the_object_whose_method_a_frame_runs() -> None:
    class Model:
        def loss(self, x: float) -> FrameType:
            return here()

    model = Model()
    assert frames.first_argument(model.loss(1.0)) is model
    assert frames.first_argument((lambda x, y: here())(3, 4)) == 3
    assert frames.first_argument((lambda: here())()) is None
    assert frames.first_argument((lambda *xs: here())(3)) is None


def test_the_frames_that_an_error_came_through() -> None:
    def inner() -> None:
        raise ValueError

    def outer() -> None:
        inner()

    with pytest.raises(ValueError) as caught:
        outer()
    found = frames.behind_error(caught.value)
    assert [frames.function_name(frame) for frame, _ in found][-2:] == ["outer", "inner"]
    assert [place.code for _, place in found][-2:] == [code_of(outer), code_of(inner)]
    assert frames.behind_error(ValueError()) == []

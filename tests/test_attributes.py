"""Attributes are read without running anybody's ``__getattr__``."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg
from wengert.attributes import held


class Options:
    """Attributes are the keys of a dict, and a missing one is a KeyError, as the dict says it."""

    asked: ClassVar[list[str]] = []

    def __init__(self, **values: Any) -> None:
        self.__dict__["values"] = values

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        return self.__dict__["values"][name]


class Layer(Options):
    @property
    def rate(self) -> float:
        return 0.5

    def __call__(self, x: Any) -> Any:
        return x * self.w * self.rate


def test_what_an_object_holds() -> None:
    layer = Layer(w=2.0)
    layer.asked.clear()
    assert held(layer, "rate") == 0.5 and held(layer, "values") == {"w": 2.0}
    assert held(layer, "w") is None and held(layer, "__self__", 1) == 1 and not layer.asked
    assert held(Layer, "asked") is Options.asked and held(np, "sin") is np.sin


@pytest.mark.parametrize("error", [KeyError, ValueError, RuntimeError])
def test_a_getattr_that_raises_another_error_than_attribute_error(error: type[Exception]) -> None:
    """KeyError: '__self__' came out of jit, '__name__' out of grad, '__signature__' out of jit of an object."""

    class Raises(Layer):
        def __getattr__(self, name: str) -> Any:
            if name not in self.__dict__["values"]:
                raise error(name)
            return self.__dict__["values"][name]

    options, layer = Raises(w=2.0), Raises(w=2.0)
    assert wg.jit(lambda x: x * options.w)(3.0) == 6
    assert wg.jit(lambda x, o: x * o.w)(3.0, options) == 6
    assert wg.grad(layer)(3.0) == 1 and wg.jit(layer)(3.0) == 3 and wg.jit(wg.grad(layer))(3.0) == 1
    assert wg.vmap(layer)(np.ones(2)).tolist() == [1, 1]
    assert wg.checkpoint(layer)(3.0) == 3 and wg.trace(layer)(3.0).name == "Raises"

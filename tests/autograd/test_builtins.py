"""Python's containers under autograd's names."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert.autograd as ag
from wengert.autograd import builtins


def test_containers_are_those_of_python() -> None:
    assert ag.list is list and ag.dict is dict and ag.tuple is tuple
    assert builtins.make_sequence(list, 1, 2) == [1, 2]
    assert ag.grad(lambda x: ag.dict({"a": x})["a"] + ag.tuple([x, x])[1])(1.0) == 2.0


def test_classes_are_those_of_the_values() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append((ag.type(x), ag.isinstance(x, np.ndarray), ag.isinstance([x], list)))
        return np.sum(x)

    ag.grad(f)(np.ones(2))
    ag.grad(f)(1.0)
    assert seen == [(np.ndarray, True, True), (float, False, True)]
    assert ag.type(1) is int and ag.isinstance({}, (dict, list))

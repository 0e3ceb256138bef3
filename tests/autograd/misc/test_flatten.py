"""Containers as vectors, and back."""

from __future__ import annotations

import numpy as np

import wengert.autograd as ag
from wengert.autograd.misc.flatten import flatten, flatten_func

VALUE = (1.0, np.arange(6.0).reshape(2, 3), [np.ones((1, 2)), {"b": 2.0, "a": np.zeros(2)}], ())


def test_there_and_back() -> None:
    vector, unflatten = flatten(VALUE)
    assert vector.tolist() == [1, 0, 1, 2, 3, 4, 5, 1, 1, 0, 0, 2]
    back = unflatten(vector)
    assert type(back) is tuple and back[1].shape == (2, 3) and back[2][1]["b"] == 2.0 and back[3] == ()
    assert flatten(back)[0].tolist() == vector.tolist()
    assert flatten(())[0].size == 0 and flatten(())[1](np.array([])) == ()


def test_complex_parts_stay_complex() -> None:
    vector, unflatten = flatten([1 + 1j, 2.0])
    assert unflatten(vector) == [1 + 1j, 2.0] and unflatten(vector)[1].dtype == float


def test_it_is_differentiated() -> None:
    assert ag.grad(lambda x, y: np.sum(flatten([x, y])[0] ** 2), (0, 1))(1.0, 2.0) == (2.0, 4.0)
    f, unflatten, vector = flatten_func(lambda p: {"out": p["a"] ** 2}, {"a": np.array([1.0, 2.0])})
    assert ag.jacobian(f)(vector).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert unflatten(vector)["a"].tolist() == [1.0, 2.0]

"""Functions that are made of the user's are called as the user's are."""

from __future__ import annotations

import inspect
from functools import partial

import numpy as np

import wengert as wg
from wengert.api.named import function_name, named_like


def loss(x):
    """The user's own words."""
    return np.sum(x * x)


class Model:
    """Callable, with weights of its own."""

    def __init__(self) -> None:
        self.weights = np.ones(3)

    def __call__(self, x):
        return np.sum(self.weights * x)


def test_a_derivative_has_the_name_and_the_words_of_its_function() -> None:
    for transform in (wg.grad, wg.value_and_grad, wg.jacobian, wg.hessian, wg.vmap, wg.trace):
        made = transform(loss)
        assert (made.__name__, made.__doc__, inspect.unwrap(made)) == ("loss", "The user's own words.", loss)


def test_what_hangs_on_a_function_is_handed_on_and_what_an_object_holds_is_not() -> None:
    def f(x):
        return x

    f.note = "hung"  # as people do
    assert named_like(f)(lambda x: x).note == "hung"
    model = Model()
    assert not hasattr(named_like(model)(lambda x: x), "weights")
    np.testing.assert_array_equal(wg.grad(model)(np.zeros(3)), model.weights)


def test_what_has_no_name_is_called_by_its_class() -> None:
    assert function_name(loss) == "loss"
    assert function_name(partial(loss)) == "partial"
    assert function_name(Model()) == "Model"

"""What transforms make of functions: names, and being pickled, copied and bound as functions are."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import tree
from wengert.api.named import title

X = np.array([1.0, 2.0])


def cubes(x: Any) -> Any:
    """The sum of the cubes."""
    return np.sum(x**3)


def first(pair: Any) -> Any:
    return pair[0]


@wg.grad
def slope(x: Any) -> Any:
    return cubes(x)


@wg.jit
@wg.value_and_grad
def value_and_slope(x: Any) -> Any:
    return cubes(x)


MADE = {
    "grad": wg.grad(cubes),
    "grad with options": wg.grad(cubes, wrt=first, nan_safe=True),
    "value_and_grad": wg.value_and_grad(cubes),
    "vmap": wg.vmap(np.square, out_axes=-1),
    "jacobian": wg.jacobian(np.sin, mode="reverse"),
    "hessian": wg.hessian(cubes),
    "vmap of grad": wg.vmap(wg.grad(cubes), in_axes=(0,)),
}


@pytest.mark.parametrize("name", MADE)
def test_what_a_transform_made_could_not_be_pickled(name: str) -> None:
    """Nor a jit of it, where a jit of the function alone could."""
    made = MADE[name]
    expected = made(np.ones((2, 2)) if "vmap" in name else X)
    for f in (made, wg.jit(made), functools.partial(made)):
        again = pickle.loads(pickle.dumps(f))
        for g in (again, copy.deepcopy(f), copy.copy(f)):
            got = g(np.ones((2, 2)) if "vmap" in name else X)
            for a, b in zip(tree.flatten(got)[0], tree.flatten(expected)[0], strict=True):
                np.testing.assert_array_equal(a, b)


def test_options_are_pickled_with_it() -> None:
    f = pickle.loads(pickle.dumps(wg.grad(np.vdot, 1)))
    np.testing.assert_array_equal(f(X, np.ones(2)), X)


def test_by_its_name_where_it_stands_for_its_function() -> None:
    assert pickle.loads(pickle.dumps(slope)) is slope
    assert pickle.loads(pickle.dumps(value_and_slope)) is value_and_slope
    assert copy.deepcopy([slope])[0] is slope


def test_of_a_function_without_a_name_it_is_as_with_functions() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(wg.grad(lambda x: x))


def test_it_goes_by_the_name_of_its_function() -> None:
    f = wg.grad(cubes)
    assert (f.__name__, f.__qualname__, f.__doc__, f.__module__) == ("cubes", "cubes", cubes.__doc__, __name__)
    assert f.__wrapped__ is cubes and inspect.signature(f) == inspect.signature(cubes)
    assert repr(f) == "<wengert.grad of cubes>" and repr(wg.vmap(f)) == "<wengert.vmap of cubes>"


class Model:
    scale = 3.0

    @wg.grad
    @staticmethod
    def squares(x: Any) -> Any:
        return np.sum(x**2)

    def loss(self, x: Any) -> Any:
        return self.scale * np.sum(x)

    @functools.partial(wg.grad, argnums=1)
    def pull(self, x: Any) -> Any:
        return self.loss(x)


def test_as_a_method() -> None:
    m = Model()
    np.testing.assert_array_equal(m.pull(X), [3.0, 3.0])
    np.testing.assert_array_equal(wg.jit(m.pull)(X), [3.0, 3.0])
    np.testing.assert_array_equal(wg.grad(m.loss)(X), [3.0, 3.0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(wg.jit(wg.grad(m.loss))))(X), [3.0, 3.0])


def test_what_it_captures_is_followed_inside_of_a_jit() -> None:
    weights = np.ones(2)
    pull = wg.grad(lambda x: np.sum(weights * x))
    f = wg.jit(lambda x: 2 * pull(x))
    np.testing.assert_array_equal(f(X), [2.0, 2.0])
    weights[:] = 5
    np.testing.assert_array_equal(f(X), [10.0, 10.0])
    assert f.stats()["traces"] == 1 and not f.stats()["unrepeatable"]


def test_a_title_says_which_transforms_a_function_has_been_through() -> None:
    model = Model()

    def loss(x: Any) -> Any:
        return np.sum(x * x)

    assert [title(f) for f in (loss, wg.grad(loss), wg.jit(wg.value_and_grad(loss)))] == [
        "loss",
        "gradient of loss",
        "value and gradient of loss",
    ]
    assert title(wg.vmap(wg.grad(loss))) == "vmap of gradient of loss"
    assert title(wg.hessian(loss)) == "Hessian of loss"
    assert title(wg.grad(model.loss)) == "gradient of loss"


def test_what_is_made_of_a_callable_object_has_the_name_of_its_class() -> None:
    class Quadratic:
        def __call__(self, x: Any) -> Any:
            return np.sum(x * x)

    pull = wg.grad(Quadratic())
    assert pull.__name__ == "Quadratic" and title(pull) == "gradient of Quadratic"
    np.testing.assert_array_equal(pull(X), 2 * X)

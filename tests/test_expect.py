"""What public functions take is checked at their doors, and refused in words."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ArgumentError, in_short
from wengert.expect import KINDS, _checks_of, _doors, _known, checked, checked_class, given, require

Array = Any
Count = Any
Seed = Any


@checked
def scaled(
    x: Array, axis: int = 0, rate: float = 1.0, how: str | Callable[[Any], Any] = "mean", on: bool = True
) -> Any:
    return x, axis, rate, how, on


@checked_class
@dataclass(frozen=True)
class Window:
    width: int
    shape: tuple[int, ...] = ()


HOLDS_ITSELF: list[Any] = []
HOLDS_ITSELF.append(HOLDS_ITSELF)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: scaled(None), "scaled: x is None; expected an array of numbers"),
        (lambda: scaled("a"), "scaled: x is 'a', a str; expected an array of numbers"),
        (lambda: scaled(np.array([None])), r"scaled: x is object\[1\]; expected an array of numbers"),
        (lambda: scaled([[1.0], [2.0, 3.0]]), "scaled: x is a list of 2; expected an array of numbers .*inhomogeneous"),
        (lambda: scaled(HOLDS_ITSELF), "scaled: x is a list of 1; expected an array of numbers"),
        (lambda: scaled(10**400), "scaled: x is an integer of 401 digits; expected an array of numbers"),
        (lambda: scaled(np.ones), "scaled: x is the function ones; expected an array of numbers"),
        (lambda: scaled(dict), "scaled: x is the class dict; expected an array of numbers"),
        (lambda: scaled(1.0, 1.5), "scaled: axis is 1.5; expected an integer"),
        (lambda: scaled(1.0, axis=10**400), "scaled: axis is an integer of 401 digits; expected an integer of 64 bits"),
        (lambda: scaled(1.0, rate=1j), "scaled: rate is 1j; expected a real number"),
        (lambda: scaled(1.0, how=3), "scaled: how is 3; expected a str or a function"),
        (lambda: scaled(1.0, on=[]), "scaled: on is a list of 0; expected True or False"),
        (lambda: Window("a"), "Window: width is 'a', a str; expected an integer"),
        (lambda: Window(1, 2), "Window: shape is 2; expected a tuple of integers"),
    ],
)
def test_an_argument_of_another_kind(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{says}"):
        call()


def test_what_is_taken_arrives_as_it_is() -> None:
    x = np.ones(3)
    assert scaled(x, np.int64(1), np.float32(2), np.tanh, np.True_)[0] is x
    assert scaled([1, 2])[0].tolist() == [1, 2] and type(scaled(2.0)[0]) is np.float64
    assert Window(3, (1, 2)) == Window(width=3, shape=(1, 2)) and pickle.loads(pickle.dumps(Window(3))) == Window(3)
    with pytest.raises(TypeError, match=r"scaled\(\) missing 1 required positional argument: 'x'"):
        scaled()


def test_traced_values_pass_the_door() -> None:
    assert wg.grad(lambda x: np.sum(scaled(x * 2, rate=x[0])[0]))(np.ones(3)).tolist() == [2, 2, 2]
    assert wg.jit(lambda n, x: scaled(x, axis=n)[0])(1, 2.0) == 2.0


def test_a_list_of_traced_values_is_stacked() -> None:
    assert wg.grad(lambda x: np.sum(scaled([x, 2 * x])[0]))(3.0) == 3


def test_a_kind_that_nobody_checks_is_a_mistake_of_ours() -> None:
    @checked
    def f(x: Nonsense) -> None:  # type: ignore[name-defined]  # noqa: F821
        pass

    with pytest.raises(NameError, match="Nonsense"):
        f(1)


def test_words_on_whatever_was_given() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise KeyError("x")

        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

    assert given(Broken()) == "a Broken" and in_short(Broken()) == "<Broken, whose repr raises KeyError>"
    assert given({"a": 1}) == "a dict of 1" and given(lambda: 0) == "the function <lambda>"
    assert len(in_short("x" * 1000)) == 60 and given(object()) == "an object"


def test_every_annotation_at_a_door_has_a_meaning() -> None:
    assert all((wg.nn, wg.ode, wg.optimize, wg.graph))
    ours = [k for k, (f, _, _) in enumerate(_doors) if f.__module__.startswith("wengert.")]
    assert len(ours) > 200 and all(_checks_of(k) is not None for k in ours)


@pytest.mark.parametrize(
    ("value", "annotation"), [(1.0, "float"), (True, "bool"), ("a", "str"), (np.sin, "F"), (len, "F"), (given, "F")]
)
def test_what_needs_no_look_is_what_a_look_takes_as_it_is(value: Any, annotation: str) -> None:
    assert id(type(value)) in _known([KINDS[annotation]])
    assert require("f", "x", value, annotation) is value


def test_numpys_integers_and_switches_arrive_as_pythons() -> None:
    """They overflow, cannot be hashed and cannot be told from arrays."""

    @checked
    def f(n: int, count: Count, flag: bool, seed: Seed) -> Any:
        return n, count, flag, seed

    found = f(np.array(2), np.int8(3), np.array(1), np.int8(4))
    assert found == (2, 3, True, 4)
    assert list(map(type, found)) == [int, int, bool, int]

"""Which functions are found that call ``type``, and what becomes of their code."""

from __future__ import annotations

import functools
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.tracing import callers
from wengert.tracing.callers import is_installed
from wengert.tracing.interception import type_of
from wengert.tracing.interception.type_of import answered, answering, asking, asking_in


def asks(x: Any) -> Any:
    return type(x)


def does_not_ask(x: Any) -> Any:
    return isinstance(x, type), x.type


def asks_twice(x: Any) -> Any:
    return type(x), x.type, isinstance(type(x), type), type("Made", (), {})


class Holder:
    def __init__(self, f: Any = None) -> None:
        self.f = f

    def method(self, x: Any) -> Any:
        return type(x)

    @property
    def attribute(self) -> Any:
        return type(self)


class Heir(Holder):
    pass


def through(f: Any) -> Callable[[Any], Any]:
    return lambda x: f(x)


HEIR = Heir()


@pytest.mark.parametrize(
    "root",
    [
        asks,
        through(asks),
        through(through([asks])),
        lambda x: asks(x),
        lambda x: [asks(v) for v in x],
        functools.partial(through(1), asks),
        Holder().method,
        Holder,
        Heir,
        through(SimpleNamespace(f=asks)),
        through({"f": asks}),
        functools.cache(asks),
        wg.jit(asks),
        wg.grad(asks),
        lambda x, f=asks: f(x),
        lambda x: HEIR.method(x),
        lambda x: type_of.__name__ + str(type(x)),
        lambda x: (lambda y: type(y))(x),
    ],
)
def test_what_calls_type_is_found(root: Any) -> None:
    assert asking(root)


@pytest.mark.parametrize("root", [does_not_ask, through(np.ones(3)), lambda x: np.sum(x), json.dumps, through(json), 3])
def test_what_does_not_is_not(root: Any) -> None:
    assert not asking(root)


def test_only_calls_are_exchanged() -> None:
    code = answering(asks_twice.__code__)
    assert code is not asks_twice.__code__
    assert code is answering(asks_twice.__code__)
    assert answering(does_not_ask.__code__) is does_not_ask.__code__
    thing = SimpleNamespace(type=3)
    with answered([asks_twice]):
        got = asks_twice(thing)
    assert got[:3] == (SimpleNamespace, 3, True)
    assert got[3].__name__ == "Made"


def test_of_what_is_not_traced_it_is_type() -> None:
    for x in (1, 1.0, np.float64(1), np.ones(2), None, type, Holder, asks):
        assert type_of.type_of(x) is type(x)
    with pytest.raises(TypeError):
        type_of.type_of()


def test_code_is_exchanged_while_any_thread_wants_it() -> None:
    own = asks.__code__
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        with answered([asks]):
            entered.set()
            leave.wait()

    thread = threading.Thread(target=work)
    with answered([asks]):
        thread.start()
        entered.wait()
    assert asks.__code__ is answering(own)
    leave.set()
    thread.join()
    assert asks.__code__ is own


def test_code_that_somebody_else_puts_there_stays() -> None:
    def f(x: Any) -> Any:
        return type(x)

    with answered([f]):
        f.__code__ = (lambda x: x).__code__
    assert f(3) == 3


def test_that_nothing_asks_is_remembered_until_a_cell_holds_something_new() -> None:
    walks: list[Any] = []

    def call_of(f: Any) -> Any:
        def call(x: Any) -> Any:
            return f(x)

        return call

    silent = through(lambda x: x)
    assert not asking_in(call_of(silent))
    real = type_of.asking
    type_of.asking = lambda *roots: (walks.append(roots), real(*roots))[1]
    try:
        assert not asking_in(call_of(silent))
        assert not walks
        assert asking_in(call_of(through(asks)))
        assert len(walks) == 1
    finally:
        type_of.asking = real


class Quiet:
    def __init__(self, *within: Any) -> None:
        self.within = within

    def call(self, x: Any) -> Any:
        return [f(x) for f in self.within]


def test_what_a_method_s_owner_holds_is_looked_at_each_time() -> None:
    """That a class is silent is remembered; of one instance, not of all."""

    def given(f: Any) -> Any:
        return lambda x: f(x)  # the cell that wengert's own calls have

    type_of._places.clear()
    assert asking_in(given(Quiet(np.sin, does_not_ask).call)) == []
    assert asking_in(given(Quiet(np.sin, does_not_ask).call)) == ()  # without a walk
    assert asking_in(given(Quiet(does_not_ask, asks).call)) == [asks]
    assert asking_in(given(Quiet(Quiet(), {"deeper": asks}).call)) == [asks]


def test_layers_of_ours_are_left_as_they_are_and_what_they_hold_is_not() -> None:
    from wengert import nn

    assert asking(nn.Chain(nn.Dense(3, np.tanh), nn.Dense(2)).apply) == []
    assert asking(nn.Chain(nn.Dense(3, asks), nn.Dense(2)).apply) == [asks]


def test_what_a_layer_holds_is_found_wherever_wengert_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files were judged by their folder: in site-packages a layer was a library's, and its activation was not
    looked at, so that ``type(x)`` was another class in a derivative than without it."""
    from wengert import nn

    package = Path(wg.__file__).parent
    monkeypatch.setattr(callers, "is_installed", lambda file: is_installed(file) or package in Path(file).parents)
    type_of._silent.clear()
    assert asking(nn.Chain(nn.Dense(3, asks), nn.Dense(2)).apply) == [asks]

    def scaled(x: Any) -> Any:
        return 2.0 * x if type(x) is np.ndarray else 3.0 * x

    layer = nn.Dense(2, scaled)
    x = np.ones((1, 3))
    params, state = layer.init(np.random.default_rng(0), x, dtype="float64")
    loss = lambda params: np.sum(layer.apply(params, state, x)[0])
    assert wg.value_and_grad(loss)(params)[0] == loss(params) == wg.jit(loss)(params)


@pytest.mark.parametrize(("folder", "expected"), [("site-packages", True), ("my-site-packages-demo", False)])
def test_installed_is_what_lies_in_a_folder_of_packages(folder: str, expected: bool) -> None:
    """And not what has a folder of a like name above it, as a checkout may."""
    assert is_installed(f"/home/me/{folder}/model.py") is expected
    assert is_installed(os.__file__) and not is_installed(f"{Path(os.__file__).parent}-mine/model.py")


def test_a_captured_list_that_holds_itself() -> None:
    """The second call of a function looks whether anything that it holds may ask for a type: it did not come back."""
    held: list[Any] = [2.0]
    held.append(held)
    for _ in range(3):
        assert wg.grad(lambda x: x * held[0] * held[1][1][0])(3.0) == 4


def test_a_function_of_the_users_that_is_called_type_was_taken_for_the_builtin() -> None:
    """A variable of the module stands before the builtin."""
    namespace: dict[str, Any] = {"__name__": "users_module", "type": lambda x: "mine"}
    exec("def f(x): return 3.0 * x if type(x) == 'mine' else -x", namespace)
    assert wg.grad(namespace["f"])(2.0) == 3.0 == wg.jit(wg.grad(namespace["f"]))(2.0)

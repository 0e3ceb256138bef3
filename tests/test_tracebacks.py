"""Tracebacks show the user's lines alone, and all of them; the whole is there when it is asked for."""

from __future__ import annotations

import gc
import linecache
import runpy
import subprocess
import sys
import threading
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.errors import InternalError
from wengert.tracebacks import fold

X = np.ones((3, 3))


@pytest.fixture(autouse=True)
def short_tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wg.config, "traceback", "short")


def fails(x: Any) -> Any:
    return inner(x)


def inner(x: Any) -> Any:
    raise KeyError("the user's")


def wrong_shape(x: Any) -> Any:
    return np.sum(x @ np.ones((7, 7)))


def wrong_keyword(x: Any) -> Any:
    return nn.softmax(x, dim=0)


def frames_of(call: Callable[[], Any]) -> list[str]:
    """The names of the functions in the traceback of the error that a call raises, without this one and pytest's."""
    try:
        call()
    except Exception as error:
        return [frame.name for frame in traceback.extract_tb(error.__traceback__)][1:]
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("call", "frames"),
    [
        (lambda: wg.grad(fails)(X), ["fails", "inner"]),
        (lambda: wg.value_and_grad(fails)(X), ["fails", "inner"]),
        (lambda: wg.jacobian(fails)(X), ["fails", "inner"]),
        (lambda: wg.hessian(wg.jit(fails))(X), ["fails", "inner"]),
        (lambda: wg.jit(wg.vmap(fails))(X), ["fails", "inner"]),
        (lambda: wg.vjp(fails, X), ["fails", "inner"]),
        (lambda: wg.trace(fails)(X), ["fails", "inner"]),
        (lambda: wg.checkpoint(fails)(X), ["fails", "inner"]),
        (lambda: wg.primitive(fails)(X), ["fails", "inner"]),
        (lambda: wg.grad(wrong_shape)(X), ["wrong_shape"]),
        (lambda: wg.jit(wrong_shape)(X), ["wrong_shape"]),
        (lambda: wg.jit(wg.grad(wrong_shape))(X), ["wrong_shape"]),
        (lambda: wg.jit(wrong_shape).program(X), ["wrong_shape"]),
        (lambda: wg.look(wg.jit(fails))(X), ["fails", "inner"]),
        (lambda: wg.grad(wrong_keyword)(X), ["wrong_keyword"]),
        (lambda: wg.grad(fails, X), []),
        (lambda: wg.compile(3), []),
        (lambda: wg.jacfwd, []),
        (lambda: nn.Dense("a"), []),
        (lambda: wg.vjp(np.sin, X)[1](X[0]), []),
        (lambda: wg.jit(np.sin).program(X)(X[0]), []),
        (lambda: wg.jit(np.sin).program(X).bind(X[0]), []),
    ],
)
def test_a_traceback_has_the_users_frames_alone(call: Callable[[], Any], frames: list[str]) -> None:
    assert frames_of(call) == ["<lambda>", *frames]


def test_a_path_that_is_new_to_a_compiled_function_fails() -> None:
    f = wg.jit(lambda x: x if x > 0 else inner(x))
    f(1.0)
    assert frames_of(lambda: f(-1.0)) == ["<lambda>", "<lambda>", "inner"]


def test_a_primitive_fails_in_a_compiled_program() -> None:
    @wg.primitive
    def halved(x: Any) -> Any:
        return x / 2 if x[0] < 2 else inner(x)

    f = wg.jit(lambda x: np.sum(halved(x)))
    f(np.ones(3))
    assert f(np.ones(3)) == 1.5
    assert frames_of(lambda: f(np.full(3, 2.0))) == ["<lambda>", "halved", "inner"]


def test_an_error_that_is_kept_holds_no_frames() -> None:
    jitted, given = wg.jit(wrong_shape), np.ones((3, 3))
    alive = weakref.ref(given)
    with pytest.raises(wg.errors.ShapeError):
        jitted(given)
    del given
    gc.collect()
    assert alive() is None


def test_the_whole_traceback_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wg.config, "traceback", "full")
    frames = frames_of(lambda: wg.grad(fails)(X))
    assert frames[-2:] == ["fails", "inner"] and "record_for_transform" in frames


def test_the_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, meant in ("full", "full"), ("short", "short"), ("", "short"):
        monkeypatch.setenv("WENGERT_TRACEBACK", value)
        assert runpy.run_path(str(wg.config.__file__))["traceback"] == meant


@pytest.mark.deep("two processes that import everything; a quick test reads the environment, others fold or do not")
def test_the_environment_asks_for_the_whole_traceback() -> None:
    code = "import wengert as wg\nwg.grad(3)"
    for value, n_files in ("full", 2), ("short", 1):
        ended = subprocess.run(
            [sys.executable, "-c", code], env={"WENGERT_TRACEBACK": value}, capture_output=True, text=True
        )
        assert ended.stderr.count("  File ") >= n_files and ("expect.py" in ended.stderr) == (value == "full")
        assert "ArgumentError: grad: f is 3; expected a function" in ended.stderr


def test_an_error_of_ours_that_is_a_bug_keeps_its_traceback() -> None:
    error = InternalError("a bug")
    try:
        raise error
    except InternalError:
        before = error.__traceback__
        fold(error)
    assert error.__traceback__ is before


def test_errors_behind_an_error_are_folded_too() -> None:
    def translated(x: Any) -> Any:
        try:
            return nn.softmax(x, dim=0)
        except TypeError as error:
            raise ValueError("mine") from error

    with pytest.raises(ValueError, match="mine") as raised:
        wg.grad(translated)(X)
    behind = raised.value.__cause__
    assert [f.name for f in traceback.extract_tb(behind.__traceback__)] == ["translated"]


def test_an_error_in_a_thread() -> None:
    found: list[list[str]] = []
    thread = threading.Thread(target=lambda: found.append(frames_of(lambda: wg.grad(fails)(X))))
    thread.start()
    thread.join()
    assert found == [["<lambda>", "fails", "inner"]]


def test_an_error_ends_at_the_line_that_called() -> None:
    with pytest.raises(wg.errors.ArgumentError) as raised:
        wg.grad(X)  # here
    last = raised.traceback[-1]
    assert linecache.getline(str(last.path), last.lineno + 1).strip() == "wg.grad(X)  # here"

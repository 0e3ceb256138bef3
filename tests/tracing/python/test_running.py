"""Functions that begin to run are noted, in this thread, and known by where they are written."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

from wengert.tracing.python.bytecode import code_of
from wengert.tracing.python.running import noting_what_runs, written_at


def outer(keys: Any) -> Any:
    return sorted(keys, key=inner)


def inner(key: Any) -> Any:
    return -key


def other() -> None: ...


class Model:
    def __init__(self) -> None:
        pass

    @property
    def size(self) -> int:
        return 1


def numbers() -> Any:
    yield 1


def test_what_runs_is_noted_and_nothing_else() -> None:
    generator = numbers()
    with noting_what_runs(True) as ran:
        outer([1, 2])
        assert Model().size + next(generator) == 2
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    names = (outer, inner, Model.__init__, vars(Model)["size"].fget, numbers, other)
    assert ran is not None
    assert [written_at(code_of(f)) in ran for f in names] == [True] * 5 + [False]
    assert sys.getprofile() is None


def test_nothing_is_noted_where_nobody_asks_or_somebody_else_does() -> None:
    with noting_what_runs(False) as ran:
        assert ran is None and sys.getprofile() is None
    profile = lambda *args: None
    sys.setprofile(profile)
    try:
        with noting_what_runs(True) as ran:
            assert ran is None and sys.getprofile() is profile
    finally:
        sys.setprofile(None)


def test_an_error_ends_it() -> None:
    with pytest.raises(KeyboardInterrupt), noting_what_runs(True):
        raise KeyboardInterrupt
    assert sys.getprofile() is None


def test_a_copy_of_a_function_with_other_code_is_the_same() -> None:
    code = code_of(outer)
    assert written_at(code.replace(co_stacksize=99)) == written_at(code) != written_at(code_of(inner))

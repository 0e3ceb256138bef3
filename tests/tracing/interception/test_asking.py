"""Who is asking for an array: the user's code, a library, or neither, for no trace is open."""

from __future__ import annotations

import threading
import types
from typing import Any

import numpy as np

import wengert as wg
from wengert.tracing.interception.asking import is_for_user

LIBRARY = types.ModuleType("scipy.made_up")
exec("def ask(f, *args): return f(*args)", vars(LIBRARY))


def answers(*converted: Any) -> list[bool]:
    found: list[Any] = []

    def f(x: Any) -> Any:
        given = tuple(x if one == "traced" else one for one in converted)
        found.extend([is_for_user(*given), LIBRARY.ask(is_for_user, *given)])
        thread = threading.Thread(target=lambda: found.append(is_for_user(*given)))
        thread.start()
        thread.join()
        return x

    wg.jvp(f, (np.ones(2),), (np.ones(2),))
    return found


def test_the_user_is_asking_in_the_thread_that_traces() -> None:
    assert answers() == [True, False, False]
    assert not is_for_user() and not is_for_user(1.0)


def test_a_library_may_convert_what_is_traced() -> None:
    assert answers("traced") == [True, True, False]
    assert answers(1.0) == [True, False, False]

"""The programs of a compiled function: for one signature in one environment, one a path."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg
from wengert.runtime.specialisation import Compiled, Specialisation

X = np.array([0.5, -1.0, 2.0])


def specialisations(f: Any) -> list[list[Specialisation]]:
    return list(f._specialisations.values())


def test_a_signature_in_two_environments_has_two() -> None:
    """The one that was made last is asked first."""
    scale = 2.0
    f = wg.jit(lambda x: x * scale)
    f(X)
    scale = 3.0
    f(X)
    ((second, first),) = specialisations(f)
    assert second.environment.holds() and not first.environment.holds()
    assert second.paths is not first.paths and (second.paths.count, first.paths.count) == (1, 1)


def test_a_branch_is_another_path_of_the_same() -> None:
    f = wg.jit(lambda x: x * 2 if x[0] > 0 else x * 3)
    for x in (X, -X, X):
        f(x)
    ((one,),) = specialisations(f)
    assert one.paths.count == 2
    path, compiled = one.paths.recent or ((), None)
    assert isinstance(compiled, Compiled) and compiled.path == path and compiled.special is one
    assert [e.value for e in path] == [True]


def test_another_signature_is_another_specialisation() -> None:
    f = wg.jit(lambda x: x * 2)
    f(X)
    f(X[:2])
    assert [len(known) for known in specialisations(f)] == [1, 1]


def test_what_the_function_writes_stands_with_its_program() -> None:
    def f(x: Any, y: Any) -> Any:
        y += x
        return y

    jitted = wg.jit(f)
    jitted(X, X + 1)
    (((one),),) = specialisations(jitted)
    recent = one.paths.recent
    assert recent is not None and recent[1].written == (1,)

"""The programs of a compiled function: for one signature in one environment, one a path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.runtime.specialisation import Compiled, Specialisation, check_not_shared

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


def compiled_of(f: Any) -> Compiled:
    ((one,),) = specialisations(f)
    assert one.paths.recent is not None
    return one.paths.recent[1]


def test_a_donated_input_that_shares_memory_is_copied_and_no_other() -> None:
    """It was written over where another was read from it."""
    captured = np.arange(6.0)
    f = wg.jit(lambda x, y: (x * 2 + captured[:3], y + 1), donate=lambda args: args[0])
    x, y = np.arange(3.0), np.arange(3.0)
    f(x.copy(), y)
    compiled = compiled_of(f)
    assert compiled.donated == (0,)
    inputs = [x, y]
    assert [a is b for a, b in zip(compiled.apart(inputs), inputs, strict=True)] == [True, True]
    whole = np.arange(4.0)
    for shared in ([whole[:3], whole[1:]], [captured[:3], y], [x, x]):
        apart = compiled.apart(shared)
        assert not np.shares_memory(apart[0], shared[0]) and apart[1] is shared[1]
        np.testing.assert_array_equal(apart[0], shared[0])
    before = whole.copy()
    got = f(whole[:3], whole[1:])
    np.testing.assert_array_equal(got[0], before[:3] * 2 + captured[:3])
    np.testing.assert_array_equal(got[1], before[1:] + 1)
    kept = wg.jit(lambda x: x * 2)
    kept(x)
    assert compiled_of(kept).apart(inputs) is inputs


def test_an_input_that_is_written_shares_its_memory_with_no_other() -> None:
    captured = np.arange(6.0)

    def f(x: Any, y: Any) -> Any:
        y += x + captured[:3]
        return y

    jitted = wg.jit(f)
    whole = np.arange(4.0)
    jitted(X, X + 1)
    compiled = compiled_of(jitted)
    check_not_shared(compiled, [X, X.copy()])
    for x, y in ((whole[:3], whole[1:]), (X, captured[:3]), (X, X)):
        with pytest.raises(wg.errors.MutationError):
            check_not_shared(compiled, [x, y])
    check_not_shared(compiled, [captured[:3], X.copy()])  # which is only read

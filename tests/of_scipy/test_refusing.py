"""Functions that are refused for a reason say it, with the user's line; of plain arguments they are SciPy's."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

import wengert as wg
from wengert.errors import UnsupportedFunctionError
from wengert.of_scipy.refusing import REASONS, refuses
from wengert.tracing.interception.intercept import TABLE, withdraw


@pytest.fixture
def module() -> Iterator[Any]:
    made = types.ModuleType("scipy.made_up_for_refusing")
    exec("def twice(x): return [x, x]", vars(made))
    sys.modules[made.__name__] = made
    refuses(made.__name__, ["twice"], "nothing is ever twice the same", "x")
    yield made
    withdraw(TABLE.pop(f"{made.__name__}.twice"))
    del sys.modules[made.__name__], REASONS[f"{made.__name__}.twice"]


def test_what_is_refused_says_why_where_and_what_to_write(module: Any) -> None:
    with pytest.raises(UnsupportedFunctionError) as error:
        wg.grad(lambda x: module.twice(x)[0])(1.0)
    assert str(error.value).startswith("scipy.made_up_for_refusing.twice: nothing is ever twice the same")
    assert "test_refusing.py" in str(error.value)
    assert wg.jit(lambda x: x * module.twice(3.0)[0])(2.0) == 6

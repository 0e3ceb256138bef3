"""The instructions of a code, and where each of them stands in the source."""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

import numpy as np
import pytest

from wengert.tracing.python import bytecode
from wengert.tracing.python.bytecode import CodePlace, code_of, free_variables, instructions, once_a_code
from wengert.tracing.python.frames import place_of

MANY_NAMES = "def f():\n    return (" + " + ".join([f"name_{k}" for k in range(300)]) + ")\n"


def made(text: str) -> Any:
    """The function ``f`` of a text."""
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    return namespace["f"]


def test_what_a_function_runs_is_its_code() -> None:
    def f() -> None: ...

    assert code_of(f) is f.__code__
    assert code_of(np.sum) is None and code_of(3) is None and code_of(len) is None


def test_variables_of_the_functions_around_one_with_their_cells() -> None:
    a, b = 1, 2

    def f() -> int:
        return b + a

    assert {name: cell.cell_contents for name, cell in free_variables(f)} == {"a": 1, "b": 2}
    assert list(free_variables(made("def f(): pass"))) == []


def test_parts_of_numbers_are_no_instructions() -> None:
    found = instructions(code_of(made(MANY_NAMES)))
    assert not {"EXTENDED_ARG", "CACHE"} & {i.opname for i in found}
    assert [i.argval for i in found if i.opname == "LOAD_GLOBAL"] == [f"name_{k}" for k in range(300)]


def test_codes_are_told_apart_by_identity_where_they_are_equal() -> None:
    """Two files may have equal functions in the same line, at other columns."""
    asked: list[CodeType] = []

    @once_a_code(most=2)
    def find(code: CodeType, k: int) -> int:
        asked.append(code)
        return k

    one, two = [compile("def f(): pass", file, "exec") for file in ("a.py", "b.py")]
    assert one == two
    assert [find(one, 1), find(one, 1), find(two, 1)] == [1, 1, 1]
    assert asked == [one, two] and asked[1] is two
    assert find(one, 2) == 2  # the third: the others are let go of
    assert find(one, 1) == 1 and len(asked) == 4


class Asked:
    """What notes the instruction that asks it for something."""

    def __init__(self) -> None:
        self.place: Any = None

    def __getitem__(self, k: Any) -> None:
        self.place = place_of(sys._getframe(1))

    __setitem__: Any = lambda self, k, value: self[k]

    def __add__(self, other: Any) -> None:
        self.place = place_of(sys._getframe(1))

    def __call__(self) -> None:
        self.place = place_of(sys._getframe(1))


def written(x: Any) -> None:
    x[0] = 1.0


@pytest.mark.parametrize(
    ("f", "is_operator", "is_indexing"),
    [
        (lambda x: x[0], False, True),
        (lambda x: x[1:2], False, True),
        (lambda x: x + 1, True, False),
        (lambda x: x(), False, False),
    ],
)
def test_operators_and_what_reads_items(f: Any, is_operator: bool, is_indexing: bool) -> None:
    x = Asked()
    f(x)
    assert bytecode.is_operator(x.place) == is_operator
    assert bytecode.is_indexing(x.place) == is_indexing


def test_what_writes_items_is_indexing() -> None:
    stores = [i.offset for i in instructions(code_of(written)) if i.opname.startswith("STORE_SUBSCR")]
    assert [bytecode.is_indexing(CodePlace(code_of(written), k)) for k in stores] == [True]


def test_where_an_expression_stands_in_the_source() -> None:
    x = Asked()

    def f() -> None:
        x()

    f()
    line = code_of(f).co_firstlineno + 1
    assert bytecode.span(x.place) == (line, line, 8, 11)
    assert bytecode.span(CodePlace(code_of(f).replace(co_linetable=b""), x.place.offset)) is None

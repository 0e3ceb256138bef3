"""A function is known by where it is written, whatever code a copy of it has."""

from __future__ import annotations

from wengert.tracing.python.bytecode import code_of
from wengert.tracing.python.running import written_at


def outer() -> None: ...


def inner() -> None: ...


def test_a_copy_of_a_function_with_other_code_is_the_same() -> None:
    code = code_of(outer)
    assert written_at(code.replace(co_stacksize=99)) == written_at(code) != written_at(code_of(inner))

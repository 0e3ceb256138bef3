"""The instructions of a code object, and where each of them stands in the source.

A *code* is what Python compiles a function to. What is found in one is remembered by its identity: two codes of
different files may be equal, and to compare or hash one takes microseconds.
"""

from __future__ import annotations

import dis
import functools
import re
from collections.abc import Callable, Iterator
from itertools import islice
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple, TypeVar, overload

from wengert.attributes import held

Found = TypeVar("Found")


class CodePlace(NamedTuple):
    """An instruction of a code."""

    code: CodeType
    offset: int
    """The offset is in bytes. It may lie behind the instruction, in what the interpreter keeps there for it."""


def once_a_code(most: int = 10_000) -> Callable[[Callable[..., Found]], Callable[..., Found]]:
    """Remember ``most`` of what ``find(code, ...)`` returns, by the identity of the code and the other arguments."""

    def decorate(find: Callable[..., Found]) -> Callable[..., Found]:
        known: dict[tuple[Any, ...], tuple[Found, CodeType]] = {}

        @functools.wraps(find)
        def found(code: CodeType, *rest: Any) -> Found:
            key = (id(code), *rest)
            answer = known.get(key)
            if answer is None:
                if len(known) >= most:  # bounded: code may be made up at run time
                    known.clear()
                answer = known[key] = (find(code, *rest), code)  # the code is kept, so that its id is
            return answer[0]

        return found

    return decorate


@overload
def code_of(f: FunctionType) -> CodeType: ...
@overload
def code_of(f: Any) -> CodeType | None: ...
def code_of(f: Any) -> CodeType | None:
    """Return the code that a function runs, which tells whether two functions do the same; None of anything else."""
    return f.__code__ if type(f) is FunctionType else held(f, "__code__")


def free_variables(f: FunctionType) -> Iterator[tuple[str, CellType]]:
    """Yield the variables that a function has from the functions around it, each with the cell that holds its value."""
    return zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)


def inner_codes(code: CodeType) -> list[CodeType]:
    """Return the codes of the functions and classes that are defined directly in this one."""
    return [c for c in code.co_consts if isinstance(c, CodeType)]


@once_a_code(most=100)  # of which each is long
def instructions(code: CodeType) -> tuple[dis.Instruction, ...]:
    """Return the instructions, each of one variable, without those that only carry a part of the next one's number."""
    found = [i for i in dis.get_instructions(code) if i.opname not in ("EXTENDED_ARG", "CACHE")]
    return tuple([one for i in found for one in _of_one_variable(i)])


def _of_one_variable(instr: dis.Instruction) -> tuple[dis.Instruction, ...]:
    """The two that an instruction stands for, ``STORE_FAST_LOAD_FAST``, as of Python 3.13."""
    names = _OF_TWO.fullmatch(instr.opname)
    if names is None:
        return (instr,)
    both = zip(names.groups(), instr.argval, strict=True)
    return tuple([instr._replace(opname=name, opcode=dis.opmap[name], argval=variable) for name, variable in both])


_OF_TWO = re.compile(r"((?:LOAD|STORE)_FAST(?:_BORROW)?)_((?:LOAD|STORE)_FAST(?:_BORROW)?)")


def instruction(place: CodePlace) -> dis.Instruction:
    return [i for i in instructions(place.code) if i.offset <= place.offset][-1]


def instructions_after(place: CodePlace) -> list[dis.Instruction]:
    return [i for i in instructions(place.code) if i.offset > place.offset]


def reads_variable(instr: dis.Instruction) -> bool:
    """Whether an instruction reads a variable, of whatever scope."""
    return instr.opname.startswith(_READING)


_READING = ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR")


Span = tuple[int, int, int, int]
"""Where something stands in the source: first and last line, first and last column, in bytes."""


def span(place: CodePlace) -> Span | None:
    """Return where the expression stands that an instruction is of; None where that is not known, as with
    ``python -X no_debug_ranges``."""
    found = next(islice(place.code.co_positions(), place.offset // 2, None), None)
    if found is None or None in found:
        return None
    return found  # type: ignore[return-value]  # no None in it


def is_operator(place: CodePlace) -> bool:
    """Whether an instruction is an arithmetic operator: ``"%g" % x``, and not ``float(x)``."""
    return _opname(place) == "BINARY_OP" and not is_indexing(place)


def is_indexing(place: CodePlace) -> bool:
    """Whether an instruction reads or writes ``a[i]``."""
    return _opname(place) in _INDEXING or instruction(place).argrepr == "[]"  # an operator, as of Python 3.14


def _opname(place: CodePlace) -> str:
    return dis.opname[place.code.co_code[place.offset]]


_INDEXING = frozenset({"BINARY_SUBSCR", "STORE_SUBSCR", "BINARY_SLICE", "STORE_SLICE"})

"""Functions of other people's that somebody else answers for, with no trace open: for the length of a context.

As in python_functions.py the *code* of a function is exchanged, so that ``from scipy.optimize import minimize``, long
before, is reached too, and the function stays the object that it is. What answers gets the function with its own code,
and the call's arguments as they are bound: it decides, for its own thread, what to do. While a trace is open the code
that asks for traced values stands in front of this one, and what it does not answer itself goes on to here.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from wengert.locks import lock
from wengert.tracing.copying import copied
from wengert.tracing.interception.python_functions import calling, can_ask, own_code, put_in_front

NAME = "_wengert_standing"
Answer = Callable[..., Any]
"""``answer(own, *args, **kwargs)``: the result of a call; ``own`` is the function with its own code."""


class Standing:
    """A function, a copy of it with its own code, the code that stands in it, and who answers."""

    def __init__(self, function: FunctionType, number: int) -> None:
        self.function, self.code = function, own_code(function)
        self.own = copied(function, self.code, function.__globals__, function.__closure__)
        self.asking = calling(NAME, number, self.code)
        self.answer: Answer | None = None
        self.wanted = 0


_all: list[Standing] = []
_numbers: dict[int, int] = {}  # by the id of a function, which is kept
_lock = lock()


def _answered(number: int, /, *args: Any, **kwargs: Any) -> Any:
    one = _all[number]
    answer = one.answer
    return one.own(*args, **kwargs) if answer is None else answer(one.own, *args, **kwargs)


setattr(builtins, NAME, _answered)


@contextmanager
def standing(answers: Iterable[tuple[FunctionType, Answer]]) -> Iterator[Callable[[FunctionType, Answer], None]]:
    """Let each answer be called in the place of its function until the context is left: in the whole process.

    Contexts may overlap, in several threads: the answer is that of the first of them, and the last one to leave puts
    the code back. What is yielded adds a function, of a module that was imported meanwhile.
    """
    added: list[Standing] = []

    def add(function: FunctionType, answer: Answer) -> None:
        with _lock:
            one = _enter(function, answer)
            if one is not None:
                added.append(one)

    try:
        for function, answer in answers:
            add(function, answer)
        yield add
    finally:
        with _lock:
            while added:
                _leave(added.pop())


def _enter(function: FunctionType, answer: Answer) -> Standing | None:
    number = _numbers.get(id(function))
    if number is None:
        if type(function) is not FunctionType or not can_ask(function):
            return None  # of a kind that some version to come has: it keeps its own code
        number = _numbers[id(function)] = len(_all)
        _all.append(Standing(function, number))
    one = _all[number]
    one.wanted += 1
    if one.wanted == 1:
        one.answer = answer
        put_in_front(function, one.code, one.asking)
    return one


def _leave(one: Standing) -> None:
    one.wanted -= 1
    if one.wanted == 0:
        put_in_front(one.function, one.asking, one.code)
        one.answer = None

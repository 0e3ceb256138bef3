"""What the source does with the value of the expression that a frame is evaluating."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from wengert.tracing.python import expressions
from wengert.tracing.python.expressions import Kind, Taker

found: list[list[Taker]] = []


class Asked:
    """What notes, whenever it is asked for its text, what the source does with that."""

    def __str__(self) -> str:
        self.note(sys._getframe(1))
        return "0.7"

    def __format__(self, spec: str) -> str:
        self.note(sys._getframe(1))
        return "0.7"

    def note(self, frame: FrameType) -> None:
        several = [list(one) for one in expressions.takers(frame)]
        found.append(max(several, key=len, default=[]))  # of an f-string and its parts, a part


class Log:
    def write(self, *texts: Any, file: Any = None) -> None: ...


def takes(*texts: Any, file: Any = None) -> None: ...


log = Log()
table = {"0.7": 1}


def raises(x: Any) -> None:
    raise ValueError("x is " + str(x))


def asserts(x: Any) -> None:
    assert False, str(x)  # noqa: B011, PT015


def returns(x: Any) -> str:
    return str(x)


def assigns(x: Any) -> None:
    text = str(x)
    del text


def to_a_local(x: Any) -> None:
    local = takes
    local(", ".join(str(v) for v in [x]))


CALL, METHOD, SUM, PART = Kind.CALL, Kind.METHOD, Kind.SUM, Kind.PART


def kinds(x: Any, f: Callable[[Any], Any]) -> list[Kind]:
    found.clear()
    with contextlib.suppress(ValueError, AssertionError):
        f(x)
    return [taker.kind for taker in found[0]]


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: takes(str(x)), [CALL, CALL]),
        (lambda x: takes("x is " + str(x)), [CALL, SUM, CALL]),
        (lambda x: takes("x is %s" % x), [SUM, CALL]),  # noqa: UP031
        (lambda x: takes(f"{x}".upper()), [PART, PART, METHOD, CALL]),
        (lambda x: takes(*[str(x)]), [CALL, PART, PART, CALL]),
        (lambda x: takes(file=str(x)), [CALL, PART, CALL]),
        (lambda x: takes(str(x) if x else ""), [CALL, Kind.CHOICE, CALL]),
        (lambda x: takes(1 if str(x) else 2), [CALL, Kind.OTHER]),
        (lambda x: table[str(x)], [CALL, Kind.OTHER]),
        (lambda x: str(x) == "0.7", [CALL, Kind.OTHER]),
        (raises, [CALL, SUM, CALL, Kind.RAISE]),
        (asserts, [CALL, Kind.MESSAGE]),
        (returns, [CALL, Kind.RETURN]),
        (assigns, [CALL, Kind.OTHER]),
        (eval("lambda x: takes(str(x))"), []),
    ],
)
def test_what_takes_a_text(f: Any, expected: list[Kind]) -> None:
    assert kinds(Asked(), f)[: len(expected)] == expected
    assert bool(found[0]) == bool(expected)


def test_what_is_called_is_found_without_running_anything() -> None:
    kinds(Asked(), lambda x: log.write(str(x), file=sys.stderr))
    assert found[0][0].function is str
    assert found[0][1] == Taker(CALL, "write", Log.write, log, (sys.stderr,))
    kinds(Asked(), lambda x: (takes, log)[0](str(x)))
    assert found[0][1] == Taker(CALL)


def test_a_comprehension_takes_its_variables_from_the_function_around_it() -> None:
    """A global variable of the same name was found first."""
    globals()["local"] = log
    try:
        kinds(Asked(), to_a_local)
    finally:
        del globals()["local"]
    assert [taker.function for taker in found[0] if taker.kind is CALL][-1] is takes


def consumer(texts: Any) -> None:
    takes = log  # of no concern to the comprehension
    ", ".join(texts)
    del takes


def test_a_comprehension_takes_no_variables_from_who_else_runs_it() -> None:
    x = Asked()
    found.clear()
    with contextlib.suppress(TypeError):  # it makes no texts
        consumer(takes(str(v)) for v in [x])
    assert found[0][1].function is takes


def here() -> Iterator[bool]:
    yield expressions.catches_by_name(sys._getframe(1))


def caught_by_name() -> bool:
    try:
        return next(here())
    except ValueError as error:
        raise TypeError from error


def caught_without_a_name() -> bool:
    try:
        return next(here())
    except ValueError:
        return False


def looked_at_without_a_name() -> bool:
    try:
        return next(here())
    except ValueError:
        return bool(traceback.format_exc())


def caught_elsewhere() -> bool:
    try:
        pass
    except ValueError as error:
        raise TypeError from error
    return next(here())


@pytest.mark.parametrize(
    ("f", "catches"),
    [
        (caught_by_name, True),
        (caught_without_a_name, False),
        (looked_at_without_a_name, True),
        (caught_elsewhere, False),
        (lambda: next(here()), False),
    ],
)
def test_who_may_look_at_an_exception(f: Any, catches: bool) -> None:
    assert f() == catches

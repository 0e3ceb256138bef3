"""Text for people is told from text that decides, by the expression in the source that it is part of."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import logging
import pprint
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import wengert as wg
from wengert.tracing import text
from wengert.tracing.python.bytecode import is_operator
from wengert.tracing.python.frames import place_of

LOG = logging.getLogger(__name__)


class Asked:
    """What notes, whenever it is asked for its text, whether that is for people."""

    def __init__(self) -> None:
        self.answers: list[bool] = []

    def __repr__(self) -> str:
        self.answers.append(text.use(sys._getframe(1)) == text.PEOPLE)
        return "0.7"

    def __str__(self) -> str:
        self.answers.append(text.use(sys._getframe(1)) == text.PEOPLE)
        return "0.7"

    def __format__(self, spec: str) -> str:
        self.answers.append(text.use(sys._getframe(1)) == text.PEOPLE)
        return "0.7"

    def __float__(self) -> float:
        self.answers.append(is_operator(place_of(sys._getframe(1))))
        return 0.7


@dataclasses.dataclass
class Point:
    x: Any


class Named:
    def __init__(self, x: Any) -> None:
        self.x = x
        self.log = LOG

    def __repr__(self) -> str:
        return f"Named({self.x})"

    def say(self) -> None:
        self.log.error(f"x is {self.x}")


def raises(x: Any) -> None:
    raise ValueError(f"bad x: {x}, " + str(x))


def asserts(x: Any) -> None:
    assert not x, f"x is {x}"


def warns(x: Any) -> None:
    with pytest.warns(UserWarning, match="x is"):
        warnings.warn(f"x is {x}", stacklevel=2)


def fails(f: Callable[[Any], Any]) -> Callable[[Any], None]:
    def failing(x: Any) -> None:
        with pytest.raises((ValueError, AssertionError)):
            f(x)

    return failing


FOR_PEOPLE = {
    "print": lambda x: print(x),
    "print of an f-string": lambda x: print(f"x = {x:.3f}", "and", f"{x!r}"),
    "print of a sum": lambda x: print("x = " + str(x) + "\n"),
    "print of a %": lambda x: print("x = %s" % x),  # noqa: UP031
    "print of a format": lambda x: print("x = {:.3f}".format(x)),  # noqa: UP032
    "print of a join": lambda x: print(", ".join(f"{v:.3f}" for v in [x, x])),
    "print of a list that is built": lambda x: print([str(v) for v in (x, x)]),
    "print of a map": lambda x: print(*map(str, [x, x])),
    "print of a container": lambda x: print({"x": [x]}),
    "print of a dataclass": lambda x: print(Point(x)),
    "print of an object": lambda x: print(f"{Named(x)!r:>10}"),
    "print over several lines": lambda x: print(
        f"""
        x = {x}, {"=" * 3} {x:.3f}
        """
    ),
    "logging": lambda x: LOG.error("x is %s", x),
    "logging of an f-string": lambda x: LOG.error(f"x is {x}"),
    "logging by an attribute": lambda x: Named(x).say(),
    "pprint": lambda x: pprint.pprint([x]),
    "an exception": fails(raises),
    "an assertion": fails(asserts),
    "a warning": warns,
}

DECIDES = {
    "a key": lambda x: {"0.7": 1}[f"{x}"],
    "a key in a print": lambda x: print({"0.7": 1}[f"{x}"]),
    "a key in an f-string in a print": lambda x: print(f"{ {'0.7': 1}[f'{x}'] } times"),
    "a comparison": lambda x: str(x) == "0.7",
    "a comparison in a print": lambda x: print("yes" if f"{x}" == "0.7" else "no"),
    "a length": lambda x: len(f"{x}"),
    "a number": lambda x: float(str(x)),
    "a variable": lambda x: [m := f"{x}", print(m)],
    "an argument of a function": lambda x: pprint.pformat(f"{x}") and vars().get(str(x)),
    "what is returned": lambda x: f"{x}",
    "another print": lambda x: Named(x).__dict__.setdefault(f"{x}", print),
    "no source": eval("lambda x: print(x)"),
}


@pytest.mark.parametrize("use", FOR_PEOPLE.values(), ids=FOR_PEOPLE)
def test_text_that_is_shown_is_for_people(use: Callable[[Any], Any]) -> None:
    x = Asked()
    use(x)
    assert x.answers
    assert all(x.answers)


@pytest.mark.parametrize("use", DECIDES.values(), ids=DECIDES)
def test_text_that_may_decide_something_is_not(use: Callable[[Any], Any]) -> None:
    x = Asked()
    use(x)
    assert x.answers
    assert not any(x.answers)


def test_a_percent_sign_asks_for_a_float_and_float_is_asked_for() -> None:
    x = Asked()
    "%g" % x  # noqa: UP031
    float(x)
    LOG.error("%.2f", x)
    assert x.answers[:3] == [True, False, True]  # then of every handler of logging


def _caught_by_name(x: Any) -> Any:
    try:
        raise ValueError(f"x = {x}")
    except ValueError as error:
        return x * len(str(error))


def _asserted(x: Any) -> Any:
    try:
        assert x < 0, f"{x}"
    except AssertionError as error:
        return x * len(error.args[0])


def _caught_by_the_caller(x: Any) -> Any:
    def g(x: Any) -> Any:
        raise ValueError(str(x))

    try:
        g(x)
    except ValueError as error:
        return x * len(str(error))


def _kept(x: Any) -> Any:
    errors = [ValueError(f"{x}")]
    return x * len(str(errors[0]))


def _printed_into_a_buffer(x: Any) -> Any:
    buffer = io.StringIO()
    print(x, file=buffer)
    return x * len(buffer.getvalue())


def _redirected(x: Any) -> Any:
    with contextlib.redirect_stdout(io.StringIO()) as buffer:
        print(x)
    return x * len(buffer.getvalue())


def _warned(x: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(f"{x}", stacklevel=1)
    return x * len(str(caught[0].message))


def _logged(x: Any) -> Any:
    buffer, log = io.StringIO(), logging.getLogger("of a test")
    log.propagate, log.handlers = False, [logging.StreamHandler(buffer)]
    log.warning("%s", x)
    return x * len(buffer.getvalue())


READ_AGAIN = [_caught_by_name, _asserted, _caught_by_the_caller, _kept]
READ_AGAIN += [_printed_into_a_buffer, _redirected, _warned, _logged]


@pytest.mark.filterwarnings("ignore::wengert.PerformanceWarning")
@pytest.mark.parametrize("f", READ_AGAIN)
def test_text_for_people_that_the_function_reads_again_was_that_of_the_first_call(f: Callable[[Any], Any]) -> None:
    compiled = wg.jit(f)
    assert [compiled(x) for x in (5.0, 9.125, 5.0)] == [f(5.0), f(9.125), f(5.0)]


def test_the_message_of_an_exception_that_nobody_reads_is_no_branch() -> None:
    def f(x: Any) -> Any:
        try:
            raise ValueError(f"{x}")
        except ValueError:
            return x * x

    compiled = wg.jit(f)
    try:
        assert [compiled(x) for x in (5.0, 9.125)] == [25.0, 83.265625]
    except ValueError as error:  # of which the function does not know
        raise AssertionError from error
    assert compiled.stats()["traces"] == 1

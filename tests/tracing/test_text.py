"""Text for people is told from text that decides, by the expression in the source that it is part of."""

from __future__ import annotations

import dataclasses
import logging
import pprint
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from wengert.tracing import text

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
        self.answers.append(text.is_formatting(sys._getframe(1)))
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

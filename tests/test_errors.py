"""Errors: each is documented, is what a Python user would catch, and says what, where and what to do."""

from __future__ import annotations

import inspect

import pytest

import wengert as wg
from wengert import errors
from wengert.errors import WengertError, message
from wengert.source import Source

CLASSES = [
    c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, Exception) and not issubclass(c, Warning)
]


@pytest.mark.parametrize("cls", CLASSES)
def test_every_error_is_ours_and_documented(cls: type[Exception]) -> None:
    assert issubclass(cls, WengertError | Warning)
    assert cls.__doc__ and cls.__doc__.strip()[-1] in ".)"
    assert cls.__module__ == "wengert.errors"
    if cls is not WengertError:
        assert len(cls.__mro__) > 3, "it is one of Python's, too"


@pytest.mark.parametrize(
    ("cls", "python"),
    [
        (errors.ShapeError, ValueError),
        (errors.DTypeError, TypeError),
        (errors.StructureError, TypeError),
        (errors.ScalarOutputError, ValueError),
        (errors.ConcretizationError, TypeError),
        (errors.MutationError, ValueError),
        (errors.UnsupportedFunctionError, TypeError),
        (errors.MissingRuleError, NotImplementedError),
        (errors.TooManyPathsError, RuntimeError),
        (errors.TooManyIterationsError, RuntimeError),
        (errors.ConfigError, ValueError),
        (errors.InternalError, AssertionError),
    ],
)
def test_an_error_may_be_caught_as_pythons(cls: type[Exception], python: type[Exception]) -> None:
    assert issubclass(cls, python)


def test_the_layout_of_a_message() -> None:
    assert message("what") == "what"
    text = message("what", Source("nowhere.py", 3, "f"), [("W", "float64[3]")], ["this", "that", "or that"])
    assert text.splitlines() == [
        "what",
        "  at     nowhere.py:3, in f:   ",
        "  W      float64[3]",
        "  try    this",
        "  or     that",
        "  or     or that",
    ]


def test_an_error_names_the_users_line() -> None:
    with pytest.raises(errors.ConcretizationError) as caught:
        wg.grad(lambda x: complex(x) * x)(1.0)
    first, at, *tries = str(caught.value).splitlines()
    assert first.startswith("complex() of a traced float64[]")
    assert at.startswith("  at     ") and "test_errors.py" in at and "complex(x) * x" in at
    assert tries[0].startswith("  try    ") and 1 <= len(tries) <= 3

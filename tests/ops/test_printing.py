"""Texts that a run shows to people are held while its path is in doubt, and dropped where steps run once more."""

from __future__ import annotations

import numpy as np
import pytest

from wengert import tree
from wengert.ops.control import Expected, GuardMiss
from wengert.ops.printing import Field, Form, deliver, formatted, held, quietly


def test_a_run_that_leaves_its_path_shows_nothing() -> None:
    seen: list[str] = []

    def show(what: str, error: Exception | None = None) -> None:
        deliver(lambda: seen.append(what))
        if error is not None:
            raise error

    with pytest.raises(GuardMiss):
        held(show, "wrong", GuardMiss(0, Expected(True)))
    held(lambda: (held(show, "right"), seen.append("first")))
    with pytest.raises(ZeroDivisionError):
        held(show, "before the error", ZeroDivisionError())
    show("at once")
    assert seen == ["first", "right", "before the error", "at once"]


def test_steps_that_are_run_once_more_show_nothing() -> None:
    seen: list[int] = []
    assert quietly(lambda x: (deliver(lambda: seen.append(2)), x + 1)[1], 1) == 2
    assert not seen


def test_a_form_is_equal_by_its_text_and_structure() -> None:
    def form(template: str, *given: object) -> Form:
        return Form(template, tree.flatten((given, {}))[1], given)

    one = form("{} {}", Field(None), "a")
    assert one == form("{} {}", Field(None), "a") and hash(one) == hash(form("{} {}", Field(None), "a"))
    assert one != form("{} {}", Field(float), "a") and one != form("{} {}", Field(None), "b")
    assert one.text([np.array(1.5)]) == "1.5 a"
    assert form("{!r}", Field(int)).text([np.array(2)]) == "2"


def test_a_format_of_numbers_holds_for_each_element() -> None:
    assert formatted("{:.2f} {x:.1f} {}", [np.array([1.0, 2.5]), "s"], {"x": 3.0}) == "[1.00 2.50] 3.0 s"

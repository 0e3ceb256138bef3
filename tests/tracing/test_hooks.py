"""Every slot is filled once, right below the definition of what fills it, and says so where it is not."""

from __future__ import annotations

import ast
import functools
import importlib
import runpy
from pathlib import Path
from typing import NamedTuple

import pytest

import wengert
from wengert.errors import InternalError
from wengert.tracing import hooks

TRACING = Path(hooks.__file__).parent
SLOTS = sorted(hooks.__annotations__)


class Fill(NamedTuple):
    """One assignment to a slot: where, of what, and the name of the definition that ends right before it."""

    file: str
    slot: str
    value: str
    defined_before: str


@functools.cache
def fills() -> list[Fill]:
    found = []
    for path in Path(wengert.__file__).parent.rglob("*.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for before, statement in zip(body, body[1:], strict=False):
            target = ast.unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
            if isinstance(statement, ast.Assign) and target.startswith("hooks."):
                file = path.relative_to(TRACING).as_posix()
                found.append(Fill(file, target.removeprefix("hooks."), ast.unparse(statement.value), name_of(before)))
    return found


def name_of(statement: ast.stmt) -> str:
    return statement.name if isinstance(statement, ast.FunctionDef | ast.ClassDef) else ""


def file_named_by(slot: str) -> str:
    """The file that a slot, while it is not filled, says should have filled it."""
    fresh = runpy.run_path(hooks.__file__)
    with pytest.raises(InternalError, match=rf"hooks\.{slot} is not filled") as error:
        fresh[slot](1, 2)
    return str(error.value).split("tracing/")[1].removesuffix(" has not been imported")


def test_there_are_slots() -> None:
    assert {"array", "getitem", "setitem", "call_ufunc", "of_constants", "Tracer", "Flat"} <= set(SLOTS)


@pytest.mark.parametrize("slot", SLOTS)
def test_a_slot_is_filled_once_below_the_definition_in_the_file_that_it_names(slot: str) -> None:
    assert [fill for fill in fills() if fill.slot == slot] == [Fill(file_named_by(slot), slot, slot, slot)]


@pytest.mark.parametrize("slot", SLOTS)
def test_a_slot_holds_what_its_file_defines(slot: str) -> None:
    module = file_named_by(slot).removesuffix(".py").replace("/", ".")
    assert getattr(hooks, slot) is getattr(importlib.import_module(f"wengert.tracing.{module}"), slot)

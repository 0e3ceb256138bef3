"""The libraries of these tests write no files beside them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wengert as wg

os.environ["OPENMDAO_REPORTS"] = "0"


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenMDAO makes a folder for each problem that it optimises."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def counted_double() -> tuple[Callable[[Any], Any], list[int]]:
    """A primitive that doubles, and of each of its calls the number of dimensions that it was given."""
    calls: list[int] = []

    @wg.primitive(type=lambda x: x)
    def double(x: Any) -> Any:
        calls.append(x.ndim)
        return x * 2

    @double.def_batch
    def _(batched: Any, x: Any) -> Any:
        return double(x)

    return lambda x: double(x), calls

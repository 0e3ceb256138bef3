"""The libraries of these tests write no files beside them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ["OPENMDAO_REPORTS"] = "0"


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenMDAO makes a folder for each problem that it optimises."""
    monkeypatch.chdir(tmp_path)

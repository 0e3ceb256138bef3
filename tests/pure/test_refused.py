"""Tracing without compiled modules refuses in words, and gives no other number."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from tests.pure.refusals import REFUSED

CODE = "from tests.pure import refusals as r; print(({name: r.raised(name) for name in r.REFUSED}, r.drawn()))"


@cache
def without() -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Return what a process without compiled modules of tracing says."""
    environment = {**os.environ, "WENGERT_PURE": "tracing"}
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: tuple[dict[str, list[str]], dict[str, Any]] = eval(done.stdout)
    return found


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_in_words(name: str) -> None:
    for message in without()[0][name]:
        assert message.startswith(REFUSED[name].error) and REFUSED[name].words in message


def test_a_generator_is_drawn_from_at_every_call() -> None:
    """The numbers are NumPy's, and it is said that no program was made."""
    drawn = without()[1]
    assert drawn["found"] == drawn["numpys"]
    assert any("answered without machine code" in text for text in drawn["said"])

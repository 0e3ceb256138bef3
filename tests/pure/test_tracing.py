"""Functions are traced without compiled modules as with them, in a process of its own: the same values and tapes."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import pytest

from tests.pure.functions import CASES, answers


@cache
def answers_without() -> dict[str, list[str]]:
    """Return what each case gives in a process without compiled modules of tracing."""
    code = "from tests.pure.functions import CASES, answers; print({name: answers(name) for name in CASES})"
    environment = {**os.environ, "WENGERT_PURE": "tracing"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = eval(done.stdout)
    return found


@pytest.mark.parametrize("name", CASES)
def test_what_is_traced_is_the_same(name: str) -> None:
    for with_them, without in zip(answers(name), answers_without()[name], strict=True):
        assert with_them == without

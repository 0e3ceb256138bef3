"""The switches, and the environment variables that set them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("text", ["abc", "0", "-1"])
def test_a_variable_that_is_no_number_is_named(text: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import wengert"],
        env={**os.environ, "WENGERT_THREADS": text},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0 and "WENGERT_THREADS" in done.stderr.splitlines()[-1]

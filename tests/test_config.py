"""The switches, and the environment variables that set them."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import wengert as wg
from wengert import config


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


@pytest.mark.usefixtures("no_other_thread_writes")
def test_the_switches_have_their_defaults_and_are_read_when_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.max_paths > 1 and config.max_programs > 1 and config.snapshot_bytes > 0
    c = np.ones(10)
    monkeypatch.setattr(config, "snapshot_bytes", 8)  # c is larger now: it is locked while the function runs

    def f(x: float) -> object:
        y = np.sum(x * c)
        assert not c.flags.writeable
        return y

    assert wg.grad(f)(2.0) == 10
    assert c.flags.writeable

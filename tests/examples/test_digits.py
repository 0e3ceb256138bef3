"""The examples on digits, a few epochs of them: they learn, and draw what they say."""

from __future__ import annotations

import importlib.util
import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wengert import nn

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")


def example(name: str) -> Any:
    path = Path(__file__).parents[2] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_convolutional_network_learns_to_read(tmp_path: Path) -> None:
    digits = example("digits_cnn")
    done = digits.train(3, progress=False)
    assert done.history[-1]["loss"] < done.history[0]["loss"]
    assert done.history[-1]["accuracy"] > 0.3
    _, (x, y) = digits.digits()
    digits.draw(done, x, y, tmp_path / "digits.png")
    assert (tmp_path / "digits.png").stat().st_size > 10_000


@pytest.mark.deep("half a minute of training")
def test_it_reads_98_of_100(tmp_path: Path) -> None:
    assert example("digits_cnn").train(30, progress=False).history[-1]["accuracy"] >= 0.98


def test_candidates_of_the_search_are_trained_and_measured() -> None:
    searched = example("search_digits")
    rng = np.random.default_rng(1)
    candidates = [searched.SPACE.sample(rng) for _ in range(3)]
    for candidate in candidates:
        assert searched.words(candidate)
    found = searched.evaluate(candidates[0], 0, epochs=1)
    assert found.keys() == {"loss", "error", "flops", "parameters", "latency"} and 0 <= found["error"] <= 1
    params, _ = searched.network(candidates[0]).init(0, np.zeros((1, 1, 8, 8), "f"))
    assert found["parameters"] == nn.count(params)


def searching(journal: Path, picture: Path) -> subprocess.Popen[bytes]:
    program = Path(__file__).parents[2] / "examples" / "search_digits.py"
    options = ["--evaluations", "24", "--workers", "2", "--journal", str(journal), "--picture", str(picture)]
    return subprocess.Popen([sys.executable, str(program), *options], stdout=subprocess.DEVNULL)


def tried(journal: Path) -> dict[int, tuple[str, dict[str, float]]]:
    """What has been tried, and what came of it, but for how long a picture took."""
    if not journal.exists():
        return {}
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as db:
        if not list(db.execute("select name from sqlite_master where name = 'trials'")):
            return {}
        rows = db.execute("select number, candidate, result from trials where state = 'done'").fetchall()
    return {n: (c, {k: v for k, v in json.loads(r).items() if k != "latency"}) for n, c, r in rows}


@pytest.mark.deep("it waits half a minute for the leases of the process that was killed")
def test_a_search_that_is_killed_ends_as_one_that_is_not(tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed.journal", tmp_path / "whole.journal"
    with searching(killed, tmp_path / "no.png") as process:
        while len(tried(killed)) < 3:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    before = tried(killed)
    assert 3 <= len(before) < 24 and not (tmp_path / "no.png").exists()
    for journal in (killed, whole):
        picture = journal.with_suffix(".png")
        with searching(journal, picture) as process:
            assert process.wait() == 0
        assert picture.stat().st_size > 10_000
    found = tried(killed)
    assert found == tried(whole) and len(found) == 24
    assert {n: found[n] for n in before} == before

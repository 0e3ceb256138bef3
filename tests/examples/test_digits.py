"""The examples on digits, a few epochs of them: they learn, and draw what they say."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.examples.loading import example
from wengert import nn

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")
TrialState = pytest.importorskip("optuna").trial.TrialState


@pytest.mark.deep("more than a second")
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


def searching(study: Path, picture: Path) -> subprocess.Popen[bytes]:
    program = Path(__file__).parents[2] / "examples" / "search_digits.py"
    options = ["--evaluations", "8", "--workers", "2", "--study", str(study), "--picture", str(picture)]
    return subprocess.Popen([sys.executable, str(program), *options], stdout=subprocess.DEVNULL)


def tried(study: Path) -> dict[int, tuple[str, float]]:
    """Return the kind of network, and its errors, of each trial that has ended."""
    if not study.exists():
        return {}
    trials = example("search_digits").opened(study).get_trials(states=[TrialState.COMPLETE])
    return {trial.number: (trial.params["activation"], trial.user_attrs["error"]) for trial in trials}


@pytest.mark.deep("a minute: ten networks are trained, in four processes one after another")
def test_a_search_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    study = tmp_path / "digits.db"
    with searching(study, tmp_path / "no.png") as process:
        while len(tried(study)) < 2:
            time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
    before = tried(study)
    assert 2 <= len(before) < 8 and not (tmp_path / "no.png").exists()
    with searching(study, tmp_path / "digits.png") as process:
        assert process.wait() == 0
    assert (tmp_path / "digits.png").stat().st_size > 10_000
    found = tried(study)
    assert 8 <= len(found) <= 10 and {number: found[number] for number in before} == before


@pytest.mark.deep("most of a minute: ten networks are trained, in three processes")
def test_a_worker_of_a_search_that_is_killed_is_replaced(tmp_path: Path) -> None:
    study = tmp_path / "digits.db"
    with searching(study, tmp_path / "digits.png") as process:
        while not tried(study):
            time.sleep(0.2)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        workers = [
            child for child in map(int, children) if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
        os.kill(workers[0], signal.SIGKILL)
        assert process.wait() == 0
    assert len(workers) == 2 and 8 <= len(tried(study)) <= 10

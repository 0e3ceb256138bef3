"""Optuna suggests what the space says, and a file keeps the trials, whatever becomes of the processes that run them."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.graph import search

optuna = pytest.importorskip("optuna")
SPACE = search.Space(
    {
        "x": search.Float(-2.0, 2.0),
        "n": search.Integer(1, 64, log=True),
        "kind": search.Choice("a", "b"),
        "depth": search.Integer(1, 3),
        "widths": search.Each("depth", search.Choice(8, 16)),
        "kernels": search.Each("depth", search.Choice((3, 3), (5, 5), None)),
        "more": search.When("kind", "a", search.Float(0.0, 1.0)),
    }
)
SMALL = search.Space({"x": search.Float(-2.0, 2.0), "n": search.Integer(1, 64, log=True)})
"""A file is written for each entry."""


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def bowl(candidate: Any, seed: int) -> dict[str, float]:
    return {"loss": candidate["x"] ** 2 + 1 / candidate["n"], "size": candidate["n"], "seed": seed}


def random(path: Path, **options: Any) -> Any:
    return search.study(path, sampler=optuna.samplers.RandomSampler(0), **options)


def test_any_name_of_a_file_is_one_and_a_missing_folder_is_told(tmp_path: Path) -> None:
    random(tmp_path / "a?b#c %.db")
    assert [one.name for one in tmp_path.iterdir()] == ["a?b#c %.db"]
    with pytest.raises(wg.errors.StorageError, match="there is no folder"):
        random(tmp_path / "no" / "search.db")


def test_a_study_keeps_no_file_open_between_trials(tmp_path: Path) -> None:
    path = tmp_path / "search.db"
    study = random(path)
    study.optimize(search.objective(SMALL, bowl), n_trials=2)
    opened = [os.path.realpath(one.path) for one in os.scandir("/proc/self/fd")]
    assert len(study.trials) == 2 and str(path) not in opened


def test_a_study() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0))
    study.optimize(search.objective(SPACE, bowl), n_trials=30)
    assert study.best_value < 1
    candidate = search.suggested(study.best_trial, SPACE)
    assert len(candidate["widths"]) == candidate["depth"] and (candidate["more"] is None) == (candidate["kind"] == "b")
    assert all(k in ([3, 3], [5, 5], None) for k in candidate["kernels"])
    np.testing.assert_allclose(bowl(candidate, 0)["loss"], study.best_value)
    assert study.best_trial.user_attrs == bowl(candidate, study.best_trial.number)
    both = optuna.create_study(directions=["minimize", "minimize"])
    both.optimize(search.objective(SPACE, bowl, ("loss", "size")), n_trials=3)
    assert len(both.trials[0].values) == 2


def test_a_study_goes_on_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "search.db"
    random(path).optimize(search.objective(SMALL, bowl), n_trials=3)
    study = random(path)
    tried = [search.suggested(trial, SMALL) for trial in study.trials]
    study.optimize(search.objective(SMALL, bowl), n_trials=1)
    assert len(tried) == 3 and [search.suggested(trial, SMALL) for trial in random(path).trials][:3] == tried
    assert [trial.user_attrs["seed"] for trial in study.trials] == [0, 1, 2, 3]


def test_an_evaluation_that_raises_has_failed_and_the_study_goes_on(tmp_path: Path) -> None:
    def raises_at_times(candidate: Any, seed: int) -> float:
        if seed % 2:
            raise ValueError("no")
        return 1.0

    study = random(tmp_path / "search.db")
    study.optimize(search.objective(SMALL, raises_at_times), n_trials=2, catch=ValueError)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "FAIL"]


def gone(path: Path, study: Any, trial: Any) -> None:
    """Make it look as if the process that runs a trial had been killed long ago."""
    study._storage.record_heartbeat(trial._trial_id)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("update trial_heartbeats set heartbeat = '2000-01-01 00:00:00'")


@pytest.mark.filterwarnings("ignore:Heartbeat of storage", "ignore:.*fail_stale_trials")  # optimize does not end midway
def test_a_trial_whose_process_is_gone_is_tried_again_and_has_failed_after_that(tmp_path: Path) -> None:
    path, tried = tmp_path / "search.db", []
    study = random(path, retries=1)
    for _ in range(3):
        optuna.storages.fail_stale_trials(study)  # as optimize does before each trial
        trial = study.ask()
        tried.append(search.suggested(trial, SMALL))
        gone(path, study, trial)
    assert tried[0] == tried[1] != tried[2]
    random(path).optimize(search.objective(SMALL, bowl), n_trials=1)
    assert [trial.state.name for trial in study.trials] == ["FAIL", "FAIL", "FAIL", "COMPLETE"]
    assert search.suggested(study.trials[3], SMALL) == tried[2]


def optimise(path: Path, barrier: Any) -> None:
    barrier.wait()  # both make the file at once
    search.study(path).optimize(search.objective(SMALL, bowl), n_trials=2)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")  # of a process that is forked
def test_two_processes_that_begin_one_study_at_once_share_it(tmp_path: Path) -> None:
    path, context = tmp_path / "search.db", multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    both = [context.Process(target=optimise, args=(path, barrier)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    assert [trial.state.name for trial in search.study(path).trials] == ["COMPLETE"] * 4


def test_a_pruner_ends_what_does_badly() -> None:
    def judged(trial: Any) -> float:
        x = search.suggested(trial, SPACE)["x"]
        for epoch in range(9):
            trial.report(x * x, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned
        return x * x

    pruner = optuna.pruners.SuccessiveHalvingPruner(reduction_factor=3)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0), pruner=pruner)
    study.optimize(judged, n_trials=27)
    states = [trial.state.name for trial in study.trials]
    assert 0 < states.count("COMPLETE") < states.count("PRUNED")


def test_what_does_not_fit_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = search.study(tmp_path / "search.db", directions=["minimize", "maximize"])
    with pytest.raises(
        wg.errors.StructureError, match=r"directions are \['minimize', 'maximize'\], not \['minimize'\]"
    ):
        search.study(tmp_path / "search.db")
    with pytest.raises(wg.errors.StructureError, match="returned no 'flops'"):
        study.optimize(search.objective(SMALL, bowl, ("loss", "flops")), n_trials=1)
    with pytest.raises(wg.errors.StructureError, match="cannot suggest the entry 'n'"):
        search.suggested(optuna.trial.FixedTrial({}), search.Space({"n": 3}))
    (tmp_path / "words").write_text("no database, and long enough to be told from an empty one" * 99)
    with pytest.raises(wg.errors.StorageError, match="cannot be read as a study"):
        search.study(tmp_path / "words")
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(
        wg.errors.StorageError, match=r"Optuna, which is not installed[\s\S]*pip install wengert\[search\]"
    ):
        search.study(tmp_path / "search.db")

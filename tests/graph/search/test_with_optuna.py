"""Optuna suggests what the space says."""

from __future__ import annotations

import numpy as np
import pytest

from tests.graph.search.evaluations import bowl
from wengert.graph import search

optuna = pytest.importorskip("optuna")
SPACE = search.Space(
    {
        "x": search.Float(-2.0, 2.0),
        "n": search.Integer(1, 64, log=True),
        "kind": search.Choice("a", "b"),
        "depth": search.Integer(1, 3),
        "widths": search.Each("depth", search.Choice(8, 16)),
        "more": search.When("kind", "a", search.Float(0.0, 1.0)),
    }
)


def test_a_study() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0))
    study.optimize(search.objective(SPACE, bowl), n_trials=30)
    assert study.best_value < 1
    candidate = search.suggested(study.best_trial, SPACE)
    assert len(candidate["widths"]) == candidate["depth"] and (candidate["more"] is None) == (candidate["kind"] == "b")
    np.testing.assert_allclose(bowl(candidate, 0)["loss"], study.best_value)
    both = optuna.create_study(directions=["minimize", "minimize"])
    both.optimize(search.objective(SPACE, bowl, ("loss", "size")), n_trials=3)
    assert len(both.trials[0].values) == 2

"""The example on a hierarchical model: it samples what it says, and draws it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.examples.loading import example

pytest.importorskip("matplotlib")


def test_a_hierarchical_model_is_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batting = example("batting")
    theta = np.linspace(-0.5, 0.5, 20)
    p = batting.averages(theta)
    hits = batting.HITS * np.log(p) + (45 - batting.HITS) * np.log1p(-p)
    by_hand = -0.5 * (theta[0] + 1) ** 2 - 0.5 * np.exp(2 * theta[1]) + theta[1] - 0.5 * np.sum(theta[2:] ** 2)
    other = theta + 0.1
    change = batting.log_density(other) - batting.log_density(theta)
    q = batting.averages(other)
    hits_of_other = batting.HITS * np.log(q) + (45 - batting.HITS) * np.log1p(-q)
    other_by_hand = -0.5 * (other[0] + 1) ** 2 - 0.5 * np.exp(2 * other[1]) + other[1] - 0.5 * np.sum(other[2:] ** 2)
    assert change == pytest.approx(other_by_hand + hits_of_other.sum() - by_hand - hits.sum(), rel=1e-12)

    samples, rate = batting.sample(400, iter)
    each = np.array([batting.averages(theta) for theta in samples])
    assert 0.5 < rate <= 1
    assert 0.24 < each.mean() < 0.29  # all players together hit 215 of 810
    assert each.mean(axis=0)[0] > each.mean(axis=0)[-1]
    monkeypatch.setattr(batting, "HERE", tmp_path)
    batting.draw(each.mean(axis=0), *np.quantile(each, [0.05, 0.95], axis=0), "batting.png")
    assert (tmp_path / "batting.png").stat().st_size > 10_000

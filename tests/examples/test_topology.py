"""The example of a beam, a few steps of it: its gradient is right, and it gets stiffer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from tests.examples.loading import example

pytest.importorskip("matplotlib")
pytest.importorskip("rich.console")


def test_a_beam_gets_stiffer(tmp_path: Path) -> None:
    beam = example("topology")
    density = np.random.default_rng(0).uniform(0.3, 1, beam.NX * beam.NY)
    along = np.random.default_rng(1).standard_normal(density.size)
    h = 1e-5
    difference = (beam.compliance(density + h * along) - beam.compliance(density - h * along)) / (2 * h)
    assert along @ wg.grad(beam.compliance)(density) == pytest.approx(difference, rel=1e-5)

    values: list[float] = []
    density, _ = beam.optimise(4, lambda k, value: values.append(float(value)))
    assert values[3] < 0.6 * values[0]
    assert density.mean() == pytest.approx(beam.VOLUME, rel=1e-3)
    beam.draw(density).savefig(tmp_path / "beam.png")
    assert (tmp_path / "beam.png").stat().st_size > 2_000

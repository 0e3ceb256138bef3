"""Spaces: what is drawn is in them, what is changed is near and whole."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.graph import search

SPACE = search.Space(
    {
        "kind": search.Choice("conv", "dense", "none"),
        "depth": search.Integer(1, 4),
        "widths": search.Each("depth", search.Integer(4, 64, log=True)),
        "rate": search.Float(1e-4, 1e-1, log=True),
        "shift": search.Float(-1.0, 1.0),
        "kernel": search.When("kind", "conv", search.Choice(3, 5)),
        "fixed": search.Integer(7, 7),
        "only": search.Choice("one"),
    }
)


def check(c: Any) -> None:
    assert c["kind"] in ("conv", "dense", "none") and c["depth"] in range(1, 5) and len(c["widths"]) == c["depth"]
    assert all(4 <= w <= 64 for w in c["widths"]) and 1e-4 <= c["rate"] <= 1e-1 and -1 <= c["shift"] <= 1
    assert (c["kernel"] in (3, 5)) == (c["kind"] == "conv") and c["fixed"] == 7 and c["only"] == "one"
    assert json.loads(json.dumps(c)) == c


def test_what_is_drawn_and_changed_is_in_the_space() -> None:
    rng = np.random.default_rng(0)
    c = SPACE.sample(rng)
    seen = set()
    for _ in range(500):
        new = SPACE.mutate(c, rng)
        check(new)
        seen |= {k for k in c if new[k] != c[k]}
        assert sum(new[k] != c[k] for k in ("depth", "rate", "shift", "kind")) <= 1
        c = new
    assert seen == set(c) - {"fixed", "only"}
    for _ in range(200):
        check(SPACE.sample(rng))


def test_octaves_are_as_frequent() -> None:
    rng = np.random.default_rng(0)
    drawn = np.array([search.Integer(1, 63, log=True).sample(rng, {}) for _ in range(6000)])
    counts = np.histogram(np.log2(drawn), bins=range(7))[0]
    assert drawn.min() == 1 and drawn.max() == 63 and np.all(np.abs(counts / 1000 - 1) < 0.2)


def test_a_seed_gives_the_same() -> None:
    assert SPACE.sample(np.random.default_rng(3)) == SPACE.sample(np.random.default_rng(3))


def test_evolution_by_changing_the_best_a_little_gets_better() -> None:
    rng = np.random.default_rng(0)
    loss = lambda c: abs(np.log10(c["rate"]) + 2) + abs(c["shift"] - 0.3)
    living = [SPACE.sample(rng) for _ in range(10)]
    begun = sum(map(loss, living))
    for _ in range(60):
        living = [*living[1:], SPACE.mutate(min(living, key=loss), rng)]
    assert sum(map(loss, living)) < begun / 2


def test_a_list_that_there_is_sometimes_follows_its_length() -> None:
    space = search.Space(
        {
            "kind": search.Choice("a", "b"),
            "depth": search.Integer(1, 4),
            "widths": search.When("kind", "a", search.Each("depth", search.Choice(8, 16))),
        }
    )
    rng = np.random.default_rng(0)
    c = space.sample(rng)
    for _ in range(300):
        c = space.mutate(c, rng)
        assert c["widths"] is None if c["kind"] == "b" else len(c["widths"]) == c["depth"]


def test_parts_that_make_no_sense_say_so_at_once() -> None:
    for wrong in (
        lambda: search.Float(0, 1, log=True),
        lambda: search.Integer(3, 2),
        lambda: search.Integer(0, 9, log=True),
    ):
        with pytest.raises(wg.errors.StructureError, match="no range"):
            wrong()
    with pytest.raises(wg.errors.StructureError, match="no options"):
        search.Choice()
    with pytest.raises(wg.errors.StructureError, match="int64"):
        search.Choice(np.int64(1))
    pair = search.Choice((3, 3), (5, 5))
    assert pair.near([3, 3], np.random.default_rng(0), {}) == [5, 5]
    alone = search.Space({"n": search.When("m", 1, search.Choice(2))})
    assert alone.mutate({"n": None}, np.random.default_rng(0)) == {"n": None}

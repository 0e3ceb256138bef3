"""Any odd value, anywhere, gives a result or an error that says what was wrong with it."""

from __future__ import annotations

import inspect
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.acceptance.odd_arguments import CALLS, Odd, odd_calls, outcome, saved_files
from wengert import graph, nn, ode, optimize
from wengert.graph import search

CHOSEN = 3_000
"""Of some 66,000 calls, by a seed that is the same in each run of this version."""


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Without warnings, in a folder of its own: "text" is a good name of a folder for what saves there."""
    monkeypatch.chdir(tmp_path)
    with np.errstate(all="ignore"):
        yield
    for path in saved_files():
        if os.path.exists(path):
            os.remove(path)


def failures(calls: list[Odd]) -> list[str]:
    found = []
    for odd in calls:
        how, error = outcome(odd)
        if how not in ("right", "ours"):
            found.append(f"{how}: {odd}: {type(error).__name__}: {str(error)[:200]}")
    return found


@pytest.mark.filterwarnings("ignore")
def test_odd_arguments_are_refused_in_words() -> None:
    """1,212 of 14,346 such calls raised AttributeError, KeyError and the like from within, and 1,484 a bare TypeError
    or ValueError."""
    assert not failures(random.Random(30).sample([*odd_calls()], CHOSEN))


INTEGER, HUGE, DEEP = "0-d integer", "10**400", "a list 5000 deep"
FAILED = [
    *[Odd(name, "nan_safe", INTEGER) for name in ("vjp", "jvp", "linearize", "hvp")],
    *[Odd(f"nn.{name}", "axis", INTEGER) for name in ("glu", "cosine", "layer_norm", "logsumexp", "softmax")],
    Odd("vmap(f, out_axes)(x)", 0, INTEGER),
    Odd("spec", 0, INTEGER),
    Odd("check_derivatives", "argnums", INTEGER),
    Odd("ode.solve_ivp", "max_steps", INTEGER),
    Odd("scan", "length", DEEP),
    *[Odd(name, 0, HUGE) for name in ("program", "bind")],
    *[Odd("broadcast", 1, value) for value in ("[[1.0], [2.0, 3.0]]", "a list that holds itself", DEEP)],
]
"""Of all of them, those that once were not."""


@pytest.mark.filterwarnings("ignore")
def test_odd_arguments_that_were_once_not_refused_in_words() -> None:
    """An array of shape () came through as an integer, an axis or a switch, and was found to be no number where it was
    hashed or iterated over; an integer of 8 bits overflowed; numbers were too large for a dtype, lists for a repr."""
    assert set(FAILED) <= {*odd_calls()}
    assert not failures(FAILED)


@pytest.mark.deep("66,000 calls: minutes")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(8))
def test_all_odd_arguments(part: int) -> None:
    assert not failures([*odd_calls()][part::8])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_the_good_calls_are_good(name: str) -> None:
    args, kwargs = CALLS[name].arguments()
    CALLS[name].function(*args, **kwargs)


NO_CALLS = {
    # what is made by others, and looked at
    "Tape", "FiniteDifferencesWarning", "PerformanceWarning",
    "SolverWarning", "Fitted", "Summary", "OdeResult", "Optimiser", "Difference",
    # data of graphs, whose makers are called: vertex, input, of
    "Vertex", "Wire", "Rule", "Own", "Same", "Joined", "Times", "Fixed",
    # without arguments, or made by subclassing
    "fastmath", "get_threads", "interceptions", "Layer", "watching",
    # which warns, for one release
    "dense_bias_act",
    # by a library that need not be there
    "suggested", "study",
}  # fmt: skip


@pytest.mark.parametrize("package", [wg, nn, optimize, ode, graph, search], ids=lambda m: m.__name__)
def test_every_public_function_has_a_good_call(package: Any) -> None:
    called = {name.split("(")[0].rpartition(".")[2] for name in CALLS}
    public = {name for name in package.__all__ if callable(getattr(package, name))} - NO_CALLS
    assert public <= called
    assert all(not inspect.ismodule(getattr(package, name)) for name in public)

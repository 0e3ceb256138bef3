"""What other processes are asked to evaluate, and a search of it."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from wengert.graph import search

SPACE = search.Space({"x": search.Float(-2.0, 2.0), "n": search.Integer(1, 64, log=True)})


def bowl(candidate: Any, seed: int) -> dict[str, float]:
    return {"loss": candidate["x"] ** 2 + 1 / candidate["n"], "size": candidate["n"]}


def slow_bowl(candidate: Any, seed: int) -> dict[str, float]:
    time.sleep(0.01 * (seed % 5))
    return bowl(candidate, seed)


def with_budget(candidate: Any, seed: int, budget: float) -> float:
    return bowl(candidate, seed)["loss"] / budget


def sometimes_raises(candidate: Any, seed: int) -> dict[str, float]:
    if candidate["n"] > 20:
        raise ValueError(f"too many: {candidate['n']}")
    return bowl(candidate, seed)


def sometimes_ends_its_process(candidate: Any, seed: int) -> dict[str, float]:
    if candidate["n"] > 30:
        os._exit(3)
    return slow_bowl(candidate, seed)


def always_ends_its_process(candidate: Any, seed: int) -> dict[str, float]:
    os._exit(3)


def counted(candidate: Any, seed: int) -> dict[str, float]:
    """Leaves a mark for each evaluation in the folder that COUNTED names."""
    Path(os.environ["COUNTED"], f"{seed}-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(0.02)
    return bowl(candidate, seed)


def counted_with_another(candidate: Any, seed: int) -> dict[str, float]:
    """The same; none ends before two processes have begun one."""
    found = counted(candidate, seed)
    while len({mark.name.split("-")[1] for mark in Path(os.environ["COUNTED"]).iterdir()}) < 2:
        time.sleep(0.01)
    return found


def tells_who_it_is_and_waits(candidate: Any, seed: int) -> float:
    Path(os.environ["COUNTED"], str(os.getpid())).touch()
    time.sleep(1000)
    return 0.0


beside: dict[int, int] = {}
alone = set[int]()
"""The seeds of those that are to run by themselves."""
_are_two = threading.Event()
_lock, _running = threading.Lock(), set[int]()


def noting_who_is_beside(candidate: Any, seed: int) -> dict[str, float]:
    """How many run at once, while this one does. The first of those that may run beside others wait for one."""
    with _lock:
        _running.add(seed)
        for other in _running:
            beside[other] = max(beside.get(other, 0), len(_running))
        if len(_running) > 1:
            _are_two.set()
    if seed in alone:
        time.sleep(0.02)
    else:
        _are_two.wait()
    with _lock:
        _running.remove(seed)
    return bowl(candidate, seed)


def run(evaluate: Any, workers: int = 2, **options: Any) -> Any:
    options = {"evaluations": 40, "seed": 4, "progress": False} | options
    if "threads" in options:
        with ThreadPoolExecutor(options.pop("threads")) as executor:
            return search.search(SPACE, evaluate, executor=executor, **options)
    return search.search(SPACE, evaluate, workers=workers, **options)

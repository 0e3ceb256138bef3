"""Searches: the same whatever the workers, and whatever becomes of them."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
import types
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import wengert as wg
from tests.graph.search import evaluations
from tests.graph.search.evaluations import SPACE, run
from wengert.graph import search
from wengert.graph.search import journal, running

ROOT = Path(__file__).parents[3]


def shown(found: Any) -> list[Any]:
    return [(t.number, t.candidate, t.budget, t.result) for t in found.trials]


@pytest.mark.parametrize("method", ["random", "evolution", search.Halving(9, 3)])
def test_the_number_of_workers_changes_nothing(method: Any) -> None:
    evaluate = evaluations.with_budget if isinstance(method, search.Halving) else evaluations.slow_bowl
    one, many = [shown(run(evaluate, threads=n, method=method)) for n in (1, 7)]
    assert one == many and len(one) == (13 if isinstance(method, search.Halving) else 40)


def test_in_processes_it_is_the_same_too() -> None:
    assert shown(run(evaluations.bowl, 2, evaluations=24)) == shown(run(evaluations.bowl, threads=1, evaluations=24))


def test_an_evaluation_that_raises_has_failed_and_the_search_goes_on() -> None:
    found = run(evaluations.sometimes_raises, threads=3)
    failed = [t for t in found.trials if t.state == "failed"]
    assert failed and all(t.candidate["n"] > 20 and "ValueError: too many" in t.error for t in failed)
    assert len(found.done()) + len(failed) == 40 and found.best().candidate["n"] <= 20


@pytest.mark.deep("processes end and are begun again: 8 s")
def test_a_worker_that_ends_loses_its_own_candidate_and_nothing_else() -> None:
    found = run(evaluations.sometimes_ends_its_process, 2, evaluations=16, method="random")
    for t in found.trials:
        assert t.state == ("failed" if t.candidate["n"] > 30 else "done"), t
    assert any("worker ended" in (t.error or "") for t in found.trials)


def test_a_search_goes_on_from_its_journal(tmp_path: Path) -> None:
    path = tmp_path / "search.db"
    run(evaluations.bowl, threads=2, evaluations=15, journal=path)
    rest = run(evaluations.bowl, threads=3, journal=path)
    assert shown(rest) == shown(run(evaluations.bowl, threads=1))
    with pytest.raises(wg.errors.StructureError, match="another search"):
        run(evaluations.bowl, threads=1, seed=5, journal=path)


PROGRAM = """
import sys
from concurrent.futures import ThreadPoolExecutor
from tests.graph.search import evaluations
from tests.graph.search.evaluations import SPACE, run
run(getattr(evaluations, sys.argv[3]), threads=2, evaluations=int(sys.argv[2]), journal=sys.argv[1])
"""


def started(path: Path, evaluations: int, evaluate: str = "counted") -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(path), str(evaluations), evaluate], cwd=ROOT)


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setenv("COUNTED", str(folder))
    return folder


def test_a_search_that_is_killed_ends_as_if_it_had_not_been(
    tmp_path: Path, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "search.db"
    with started(path, 40) as process:
        while len(list(marks.iterdir())) < 12:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    later = time.time() + 2 * journal.LEASE
    monkeypatch.setattr(journal.time, "time", lambda: later)  # its leases have run out
    rest = run(evaluations.counted, threads=2, journal=path)
    monkeypatch.undo()
    assert shown(rest) == shown(run(evaluations.bowl, threads=1))
    assert len(list(marks.iterdir())) <= 42  # at most those that were under way are run twice


ENDLESS = """
from tests.graph.search import evaluations
if __name__ == "__main__":
    evaluations.run(evaluations.tells_who_it_is_and_waits, 2)
"""


def test_workers_of_a_process_that_is_killed_end_too(tmp_path: Path, marks: Path) -> None:
    program = tmp_path / "endless.py"
    program.write_text(ENDLESS)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    with subprocess.Popen([sys.executable, str(program)], cwd=ROOT, env=environment) as process:
        while len(list(marks.iterdir())) < 2:
            time.sleep(0.02)
        workers = [os.pidfd_open(int(mark.name)) for mark in marks.iterdir()]  # no number is given again meanwhile
        process.send_signal(signal.SIGKILL)
    for worker in workers:
        assert select.select([worker], [], [])[0] == [worker]  # it has ended, or the test runs into its time limit
        os.close(worker)


def test_two_processes_share_a_journal(tmp_path: Path, marks: Path) -> None:
    path = tmp_path / "search.db"
    both = "counted_with_another"  # or the one that begins first may have done all
    with started(path, 30, both) as first, started(path, 30, both) as second:
        assert first.wait() == second.wait() == 0
    assert len(list(marks.iterdir())) == 30
    assert len({mark.name.split("-")[1] for mark in marks.iterdir()}) == 2
    expected = run(evaluations.bowl, threads=1, evaluations=30)
    assert shown(run(evaluations.bowl, threads=1, evaluations=30, journal=path)) == shown(expected)


def test_time_is_a_budget_too(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def takes_a_second(candidate: Any, seed: int) -> dict[str, float]:
        now[0] += 1.0
        return evaluations.bowl(candidate, seed)

    clock = types.SimpleNamespace(monotonic=lambda: now[0], perf_counter=time.perf_counter, sleep=time.sleep)
    monkeypatch.setattr(running, "time", clock)
    found = run(takes_a_second, threads=1, evaluations=10_000, seconds=7.5)
    assert [t.state for t in found.trials] == ["done"] * 8


def test_fronts_and_pictures(tmp_path: Path) -> None:
    found = run(evaluations.bowl, threads=2)
    front = found.front(("loss", "size"))
    values = [(t.result["loss"], t.result["size"]) for t in found.done()]
    beaten = lambda v: any(w[0] <= v[0] and w[1] <= v[1] and w != v for w in values)
    assert {(t.result["loss"], t.result["size"]) for t in front} == {v for v in values if not beaten(v)}
    assert [t.result["size"] for t in front] == sorted(t.result["size"] for t in front)
    assert found.best().result["loss"] == min(v[0] for v in values)
    with pytest.raises(wg.errors.StructureError, match="no 'flops'"):
        found.front()
    pytest.importorskip("matplotlib")
    found.plot(tmp_path / "front.png", ("loss", "size"))
    assert (tmp_path / "front.png").stat().st_size > 1000


def test_nothing_was_found() -> None:
    with pytest.raises(wg.errors.StructureError, match="no trial has a result"):
        run(lambda c, seed: 1 / 0, threads=1, evaluations=3).best()


def test_somebody_elses_executor_that_breaks_ends_the_search() -> None:
    with (
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor,
        pytest.raises(wg.errors.WorkerError, match="takes no more"),
    ):
        search.search(SPACE, evaluations.always_ends_its_process, evaluations=8, executor=executor, progress=False)


def test_halving_that_would_end_before_any_has_the_whole_budget() -> None:
    method = search.Halving(9, 3)
    with pytest.raises(wg.errors.StructureError, match="12 evaluations") as raised:
        run(evaluations.with_budget, threads=1, evaluations=12, method=method)
    assert "evaluations=13" in str(raised.value)
    found = run(evaluations.with_budget, threads=2, evaluations=13, method=method)
    assert found.best().budget == 1
    found = run(evaluations.with_budget, threads=1, evaluations=41, method=search.Halving(2, 5))
    assert len(found.done()) == len(found.trials) == 2  # one rung, of the whole budget


def test_what_several_processes_are_gone_with_is_run_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "search.db"
    about = {"space": SPACE.describe(), "method": repr(search.Random()), "seed": 4}
    now = time.time()
    for k in range(running.SUSPECT + 1):  # each claims all, and is gone
        monkeypatch.setattr(journal.time, "time", lambda k=k: now + 2 * k * journal.LEASE)
        kept = journal.Journal(path, about)
        for _ in range(3):
            kept.claim(lambda trials: search.Random().propose(len(trials), SPACE, 4, {}, {}), 3)
        kept.close()
    monkeypatch.setattr(journal.time, "time", lambda: now + 2 * (running.SUSPECT + 1) * journal.LEASE)
    evaluations.beside.clear()
    monkeypatch.setattr(evaluations, "alone", {4_000_012 + k for k in range(3)})
    found = run(evaluations.noting_who_is_beside, threads=4, evaluations=12, method="random", journal=path)
    assert all(t.state == "done" for t in found.trials) and len(found.trials) == 12
    suspects = {t.number for t in found.trials if t.gone >= running.SUSPECT}
    assert suspects == {0, 1, 2} and all(evaluations.beside[4_000_012 + k] == 1 for k in suspects)
    assert max(evaluations.beside.values()) > 1


def test_a_search_that_is_interrupted_gives_back_what_it_had(tmp_path: Path) -> None:
    path = tmp_path / "search.db"

    class Broken(search.Random):
        def propose(self, k: int, *others: Any) -> Any:
            if k == 3:
                raise KeyboardInterrupt
            return super().propose(k, *others)

        def __repr__(self) -> str:
            return repr(search.Random())

    with pytest.raises(KeyboardInterrupt):
        run(evaluations.bowl, threads=4, method=Broken(), journal=path)
    assert shown(run(evaluations.bowl, threads=1, method="random", evaluations=9, journal=path)) == shown(
        run(evaluations.bowl, threads=1, method="random", evaluations=9)
    )


def test_what_cannot_be_sent_or_is_not_known() -> None:
    with pytest.raises(wg.errors.StructureError, match="cannot be sent"):
        search.search(SPACE, lambda c, seed: 0.0, progress=False)
    with pytest.raises(wg.errors.StructureError, match="no method is called 'genetic'"):
        run(evaluations.bowl, method="genetic")

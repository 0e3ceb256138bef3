"""Journals: trials that are claimed once, leases that run out, files of something else."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import wengert as wg
from wengert.graph.search import journal
from wengert.graph.search.journal import Journal
from wengert.graph.search.methods import Proposal

ABOUT = {"space": {"x": [1, 2]}, "method": "m", "seed": 0}


def propose(trials: list[Any]) -> Proposal:
    return Proposal({"x": len(trials)})


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close what a test opens: since Python 3.13 the collector warns of a database that nobody closed."""
    opened, connect = list[sqlite3.Connection](), sqlite3.connect

    def noted(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        opened.append(connect(*args, **kwargs))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", noted)
    yield
    for one in opened:
        one.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "search.db"


def test_two_processes_never_run_the_same(path: Path) -> None:
    first, second = Journal(path, ABOUT), Journal(path, ABOUT)
    claimed = [j.claim(propose, 4) for j in (first, second, first, second, first)]
    assert [t and t.number for t in claimed] == [0, 1, 2, 3, None]
    second.finish(1, {"loss": 0.5}, None, 0.1)
    first.finish(1, {"loss": 9.0}, None, 0.1)  # not its own
    first.finish(0, None, "Traceback ...", 0.2)
    first.give_back(2, True)
    again = second.claim(propose, 4)
    assert again is not None and (again.number, again.attempts) == (2, 1)
    trials = first.trials()
    assert [t.state for t in trials] == ["failed", "done", "running", "running"]
    assert trials[0].error == "Traceback ..." and trials[1].result == {"loss": 0.5}
    first.close()
    second.close()


def test_a_file_that_another_process_begins_or_ends_to_use_was_locked(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")  # for who is about to write SQLite itself does not wait
    with ThreadPoolExecutor(1) as executor:
        opening = executor.submit(Journal, path, ABOUT)
        with pytest.raises(TimeoutError):
            opening.result(0.05)
        other.execute("commit")
        opening.result().close()
    other.close()


def test_what_a_process_that_is_gone_had_claimed_is_anothers(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Journal(path, ABOUT), Journal(path, ABOUT)
    monkeypatch.setattr(journal, "LEASE", -1.0)
    assert first.claim(propose, 1) is not None
    monkeypatch.undo()
    taken = second.claim(propose, 1)
    assert taken is not None and taken.number == 0
    first.finish(0, {"loss": 1.0}, None, 0.1)  # too late
    assert second.trials()[0].state == "running"
    first.renew()
    assert first.claim(propose, 1) is None


def lost(path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a process claims that is gone at once."""
    monkeypatch.setattr(journal, "LEASE", -1.0)
    process = Journal(path, ABOUT)
    claimed = process.claim(propose, 1)
    process.close()
    monkeypatch.undo()
    return claimed


def test_a_trial_that_every_process_is_gone_with_has_failed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [lost(path, monkeypatch).gone for _ in range(journal.MOST_GONE)] == list(range(journal.MOST_GONE))
    last = Journal(path, ABOUT)
    assert last.claim(propose, 1) is None
    [trial] = last.trials()
    assert trial.state == "failed" and trial.result is None and "are gone" in str(trial.error)


def test_one_that_is_given_back_is_not_blamed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Journal(path, ABOUT)
    for _ in range(2 * journal.MOST_GONE):
        claimed = kept.claim(propose, 1)
        assert claimed is not None and claimed.gone == claimed.attempts == 0
        kept.give_back(0, False)
    assert lost(path, monkeypatch).gone == 0 and lost(path, monkeypatch).gone == 1


def test_what_is_new_alone_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates are parsed once, whoever wrote them, and results when they are there."""
    first, second = Journal(path, ABOUT), Journal(path, ABOUT)
    parsed: list[str] = []
    loads = json.loads
    for k in range(20):
        first.claim(propose, 20)
        if k % 2:
            first.finish(k, {"loss": float(k)}, None, 0.1)
    assert len(second.trials()) == len(first.trials()) == 20
    monkeypatch.setattr(journal.json, "loads", lambda text: parsed.append(text) or loads(text))
    assert second.trials() == first.trials() and not parsed
    first.finish(4, {"loss": 4.5}, None, 0.1)
    assert second.trials()[4].result == {"loss": 4.5}
    assert sorted(parsed) == ['{"loss": 4.5}', '{"x": 4}']
    assert second.trials() == first.trials() == Journal(path, ABOUT).trials()


def test_a_proposal_that_raises_leaves_the_journal_as_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(trials: list[Any]) -> Proposal:
        raise ValueError("a method of somebody's")

    for _ in range(journal.MOST_GONE):
        lost(path, monkeypatch)
    kept = Journal(path, ABOUT)
    with pytest.raises(ValueError, match="somebody's"):
        kept.claim(refuse, 2)
    assert kept.trials() == Journal(path, ABOUT).trials() and kept.trials()[0].state == "running"


def test_of_another_search(path: Path) -> None:
    Journal(path, ABOUT).close()
    for name in ABOUT:
        with pytest.raises(wg.errors.StructureError, match=f"another search\n  differ {name}"):
            Journal(path, ABOUT | {name: "other"})
    Journal(path, ABOUT).close()


def test_files_that_are_no_journals(path: Path) -> None:
    path.write_bytes(b"no database at all, but long enough to be looked at" * 50)
    with pytest.raises(wg.errors.StorageError, match="no journal"):
        Journal(path, ABOUT)
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("create table somebody (els text)")
    other.close()
    with pytest.raises(wg.errors.StorageError, match="no journal"):
        Journal(path, ABOUT)
    path.unlink()
    kept = Journal(path, ABOUT)
    kept.claim(propose, 1)
    kept.close()
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(wg.errors.StorageError):
        Journal(path, ABOUT)


def test_a_later_version(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "VERSION", 99)
    Journal(path, ABOUT).close()
    monkeypatch.undo()
    with pytest.raises(wg.errors.StorageError, match="another version"):
        Journal(path, ABOUT)


def test_somebody_elses_file_is_left_as_it_is(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("create table somebody (els text)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(wg.errors.StorageError, match="no journal"):
        Journal(path, ABOUT)
    assert path.read_bytes() == before

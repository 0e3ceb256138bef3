"""What was tried, on disk: an SQLite file that survives its process, and that several processes may share.

A trial is *claimed* before it is run, with a lease that its process renews; a lease that has run out means that the
process is gone, and the trial is another's. One that several processes are gone with has failed: it may have ended
them.

Rows are numbered by their last change, so that a process reads again what is new alone.
"""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import wengert as wg
from wengert.graph.search.methods import Proposal

VERSION = 2
LEASE = 30.0  # s
PATIENCE = 60.0  # s, for which another process may have the file to itself
MOST_GONE = 4  # processes that claimed a trial and are gone; people end some, and mean no trial by it
SCHEMA = """
create table about (name text primary key, value text not null);
create table trials (
    number integer primary key, candidate text not null, budget real, state text not null,
    owner text, lease real, attempts integer not null default 0, gone integer not null default 0,
    result text, error text, seconds real, change integer not null
);
create index by_state on trials (state);
create index by_change on trials (change);
"""
NEXT = "(select coalesce(max(change), 0) + 1 from trials)"


@dataclass(frozen=True)
class Trial:
    """One candidate, and what became of it."""

    number: int
    candidate: Any
    budget: float | None
    state: str
    """ "waiting", "running", "done" or "failed"."""
    attempts: int = 0
    gone: int = 0
    """The processes that claimed it and are gone."""
    result: dict[str, float] | None = None
    error: str | None = None
    seconds: float | None = None


class Journal:
    """The trials of one search.

    Raises
    ------
    StructureError : the file is of another space, method or seed.
    StorageError : it is damaged, or of another kind or version.
    """

    def __init__(self, path: str | os.PathLike[str] | None, about: dict[str, Any]) -> None:
        self.path = None if path is None else Path(path)
        self.owner = f"{platform.node()}-{os.getpid()}-{time.monotonic_ns()}"
        self._lock = threading.RLock()
        self._known: list[Trial] = []
        self._change = 0
        """The last one that has been read."""
        with self._sound():
            self._db = sqlite3.connect(
                ":memory:" if path is None else os.fspath(path),
                timeout=PATIENCE,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            self._open(about)
        except BaseException:
            self.close()
            raise

    def _open(self, about: dict[str, Any]) -> None:
        with self._sound():
            if not self._is_new_or_ours():
                raise wg.errors.StorageError(wg.errors.message(f"{self.path} is no journal of a search"))
            self._share()
            self._db.execute("pragma synchronous = full")
            with self._writing():
                if not self._tables():
                    for statement in SCHEMA.split(";"):
                        self._db.execute(statement)
                    rows = [("version", VERSION), *about.items()]
                    self._db.executemany("insert into about values (?, ?)", [(k, json.dumps(v)) for k, v in rows])
        self._check(about)

    def _share(self) -> None:
        """Let others read while one writes. Here SQLite does not wait by itself for who does the same at this moment,
        or closes the file."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self._db.execute("pragma journal_mode = wal")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def _tables(self) -> set[str]:
        return {row[0] for row in self._db.execute("select name from sqlite_master where type = 'table'")}

    def _is_new_or_ours(self) -> bool:
        """Whether it may be written at all."""
        return self._tables() in (set(), {"about", "trials"})

    def _check(self, about: dict[str, Any]) -> None:
        with self._sound():
            found = {name: json.loads(value) for name, value in self._db.execute("select name, value from about")}
        if found.get("version") != VERSION:
            raise wg.errors.StorageError(wg.errors.message(f"{self.path} is a journal of another version"))
        wanted = json.loads(json.dumps(about))
        differ = [name for name in wanted if found.get(name) != wanted[name]]
        if differ:
            raise wg.errors.StructureError(
                wg.errors.message(
                    f"{self.path} is the journal of another search",
                    notes=[("differ", ", ".join(differ))],
                    tries=["another file for this one"],
                )
            )
        self.trials()  # all that is there can be read

    @contextmanager
    def _sound(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, json.JSONDecodeError) as error:
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                raise
            raise wg.errors.StorageError(
                wg.errors.message(f"{self.path} is no journal of a search: {error}")
            ) from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction that no other process interleaves with."""
        with self._lock, self._sound():
            self._db.execute("begin immediate")
            try:
                yield
            except BaseException:
                self._db.execute("rollback")
                self._known, self._change = [], 0  # what was read of it is not so
                raise
            self._db.execute("commit")

    def trials(self) -> list[Trial]:
        """All of them, by number."""
        with self._lock, self._sound():
            rows = self._db.execute(
                "select change, number, candidate, budget, state, attempts, gone, result, error, seconds from trials "
                "where change > ? order by +number",  # by the index of changes, then sorted
                (self._change,),
            ).fetchall()
            for change, number, candidate, budget, state, attempts, gone, result, error, seconds in rows:
                found = json.loads(result) if result else None
                made = Trial(number, json.loads(candidate), budget, state, attempts, gone, found, error, seconds)
                self._known[number : number + 1] = [made]  # numbers begin with 0, and none is left out
                self._change = max(self._change, change)
            return list(self._known)

    def claim(self, propose: Callable[[list[Trial]], Proposal | None], most: int) -> Trial | None:
        """A trial for this process to run: one that waits, one whose owner is gone, or a new one while there are fewer
        than ``most``. None: there is none now."""
        with self._writing():
            now = time.time()
            self._give_up(now)
            row = self._db.execute(
                "select number, candidate, budget, attempts, gone + (state = 'running') from trials "
                "where state = 'waiting' or (state = 'running' and lease < ?) order by number limit 1",
                (now,),
            ).fetchone()
            if row is None:
                known = self.trials()
                proposal = propose(known) if len(known) < most else None
                if proposal is None:
                    return None
                row = (len(known), json.dumps(proposal.candidate), proposal.budget, 0, 0)
                self._db.execute(
                    "insert into trials (number, candidate, budget, state, change) "
                    f"values (?, ?, ?, 'waiting', {NEXT})",
                    row[:3],
                )
            self._db.execute(
                f"update trials set state = 'running', owner = ?, lease = ?, gone = ?, change = {NEXT} "
                "where number = ?",
                (self.owner, now + LEASE, row[4], row[0]),
            )
        return Trial(row[0], json.loads(row[1]), row[2], "running", row[3], row[4])

    def _give_up(self, now: float) -> None:
        """Trials that too many processes are gone with have failed."""
        self._db.execute(
            f"update trials set state = 'failed', gone = gone + 1, error = ?, seconds = 0, change = {NEXT} "
            "where state = 'running' and lease < ? and gone + 1 >= ?",
            (f"{MOST_GONE} processes that ran it are gone", now, MOST_GONE),
        )

    def renew(self) -> None:
        """Say that this process is still there."""
        with self._writing():
            self._db.execute(
                "update trials set lease = ? where state = 'running' and owner = ?", (time.time() + LEASE, self.owner)
            )

    def finish(self, number: int, result: dict[str, float] | None, error: str | None, seconds: float) -> None:
        """Write down what became of a trial, if it is still this process's."""
        state = "failed" if result is None else "done"
        with self._writing():
            self._db.execute(
                f"update trials set state = ?, result = ?, error = ?, seconds = ?, change = {NEXT} "
                "where number = ? and owner = ? and state = 'running'",
                (state, None if result is None else json.dumps(result), error, seconds, number, self.owner),
            )

    def give_back(self, number: int, has_tried: bool) -> None:
        """Let a trial be claimed again; ``has_tried``: it counts as an attempt."""
        with self._writing():
            self._db.execute(
                f"update trials set state = 'waiting', owner = null, attempts = attempts + ?, change = {NEXT} "
                "where number = ? and owner = ?",
                (int(has_tried), number, self.owner),
            )

    def close(self) -> None:
        with self._lock:
            self._db.close()

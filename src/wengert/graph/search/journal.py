"""What was tried, on disk: an SQLite file that survives its process, and that several processes may share.

A trial is *claimed* before it is run, with a lease that its process renews; a lease that has run out means that the
process is gone, and the trial is another's.
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

VERSION = 1
LEASE = 30.0  # s
SCHEMA = """
create table about (name text primary key, value text not null);
create table trials (
    number integer primary key, candidate text not null, budget real, state text not null,
    owner text, lease real, attempts integer not null default 0, result text, error text, seconds real
);
"""


@dataclass(frozen=True)
class Trial:
    """One candidate, and what became of it."""

    number: int
    candidate: Any
    budget: float | None
    state: str
    """ "waiting", "running", "done" or "failed"."""
    attempts: int = 0
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
        with self._sound():
            self._db = sqlite3.connect(
                ":memory:" if path is None else os.fspath(path),
                timeout=60,
                isolation_level=None,
                check_same_thread=False,
            )
            if not self._is_new_or_ours():
                self.close()
                raise wg.errors.StorageError(wg.errors.message(f"{self.path} is no journal of a search"))
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma synchronous = full")
            with self._writing():
                if not self._tables():
                    for statement in SCHEMA.split(";"):
                        self._db.execute(statement)
                    rows = [("version", VERSION), *about.items()]
                    self._db.executemany("insert into about values (?, ?)", [(k, json.dumps(v)) for k, v in rows])
        self._check(about)

    def _tables(self) -> set[str]:
        return {row[0] for row in self._db.execute("select name from sqlite_master where type = 'table'")}

    def _is_new_or_ours(self) -> bool:
        """Whether it may be written at all."""
        return self._tables() in (set(), {"about", "trials"})

    def _check(self, about: dict[str, Any]) -> None:
        with self._sound():
            found = {name: json.loads(value) for name, value in self._db.execute("select name, value from about")}
            list(self._db.execute("select number, candidate, result from trials"))
        if found.get("version") != VERSION:
            self.close()
            raise wg.errors.StorageError(wg.errors.message(f"{self.path} is a journal of another version"))
        wanted = json.loads(json.dumps(about))
        differ = [name for name in wanted if found.get(name) != wanted[name]]
        if differ:
            self.close()
            raise wg.errors.StructureError(
                wg.errors.message(
                    f"{self.path} is the journal of another search",
                    notes=[("differ", ", ".join(differ))],
                    tries=["another file for this one"],
                )
            )

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
                raise
            self._db.execute("commit")

    def trials(self) -> list[Trial]:
        """All of them, by number."""
        with self._lock, self._sound():
            rows = self._db.execute(
                "select number, candidate, budget, state, attempts, result, error, seconds from trials order by number"
            ).fetchall()
        return [
            Trial(n, json.loads(c), b, state, attempts, json.loads(r) if r else None, error, seconds)
            for n, c, b, state, attempts, r, error, seconds in rows
        ]

    def claim(self, propose: Callable[[list[Trial]], Proposal | None], most: int) -> Trial | None:
        """A trial for this process to run: one that waits, one whose owner is gone, or a new one while there are fewer
        than ``most``. None: there is none now."""
        with self._writing():
            now = time.time()
            row = self._db.execute(
                "select number, candidate, budget, attempts from trials "
                "where state = 'waiting' or (state = 'running' and lease < ?) order by number limit 1",
                (now,),
            ).fetchone()
            if row is None:
                known = self.trials()
                proposal = propose(known) if len(known) < most else None
                if proposal is None:
                    return None
                row = (len(known), json.dumps(proposal.candidate), proposal.budget, 0)
                self._db.execute(
                    "insert into trials (number, candidate, budget, state) values (?, ?, ?, 'waiting')", row[:3]
                )
            self._db.execute(
                "update trials set state = 'running', owner = ?, lease = ? where number = ?",
                (self.owner, now + LEASE, row[0]),
            )
        return Trial(row[0], json.loads(row[1]), row[2], "running", row[3])

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
                "update trials set state = ?, result = ?, error = ?, seconds = ? "
                "where number = ? and owner = ? and state = 'running'",
                (state, None if result is None else json.dumps(result), error, seconds, number, self.owner),
            )

    def give_back(self, number: int, has_tried: bool) -> None:
        """Let a trial be claimed again; ``has_tried``: it counts as an attempt."""
        with self._writing():
            self._db.execute(
                "update trials set state = 'waiting', owner = null, attempts = attempts + ? "
                "where number = ? and owner = ?",
                (int(has_tried), number, self.owner),
            )

    def close(self) -> None:
        with self._lock:
            self._db.close()

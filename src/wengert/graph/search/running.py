"""Searches: proposals, handed to workers, and what they find."""

from __future__ import annotations

import math
import os
import pickle
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

import wengert as wg
from wengert.graph.search.journal import LEASE, Journal, Trial
from wengert.graph.search.methods import METHODS

Seed = int
Count = int
Searched = Any
wg.expect.kind(
    "Searched",
    lambda x: all(hasattr(type(x), name) for name in ("sample", "mutate", "describe")),
    "a Space, or what has sample, mutate and describe",
)
Method = Any
wg.expect.kind("Method", lambda x: hasattr(type(x), "propose"), "a method of wengert.graph.search")
Evaluate = Callable[..., float | dict[str, float]]
ATTEMPTS = 2  # of a trial whose worker ends
SUSPECT = 2  # processes that are gone with a trial: then it is run by itself, as it may have ended them


@dataclass(frozen=True)
class Found:
    """What :func:`search` returns: all trials, by number."""

    trials: tuple[Trial, ...]

    def done(self) -> list[Trial]:
        """Those that have a result of the whole budget."""
        return [t for t in self.trials if t.result is not None and t.budget in (None, 1.0)]

    def best(self, objective: str = "loss") -> Trial:
        """The one with the least of it. Raises StructureError if no trial has a result."""
        done = [t for t in self.done() if not math.isnan(_of(t, objective))]
        if not done:
            raise wg.errors.StructureError(wg.errors.message("no trial has a result of the whole budget"))
        return min(done, key=lambda t: (_of(t, objective), t.number))

    def front(self, objectives: Sequence[str] = ("loss", "flops")) -> list[Trial]:
        """Those that no other one is better than in one objective and as good in all the others (Pareto), by the last
        objective."""
        values = {t.number: tuple([_of(t, name) for name in objectives]) for t in self.done()}
        values = {n: v for n, v in values.items() if not any(map(math.isnan, v))}

        def is_beaten(n: int) -> bool:
            mine = values[n]
            return any(
                all(a <= b for a, b in zip(other, mine, strict=True)) and (other != mine or m < n)
                for m, other in values.items()
                if m != n
            )

        best = [t for t in self.done() if t.number in values and not is_beaten(t.number)]
        return sorted(best, key=lambda t: values[t.number][::-1])

    def plot(self, path: str | Path, objectives: Sequence[str] = ("loss", "flops")) -> None:
        """Draw all trials and the front. Needs matplotlib, of the extra ``wengert[nn]``."""
        from matplotlib.figure import Figure

        y, x = objectives
        front, done = self.front(objectives), self.done()
        figure = Figure(figsize=(5, 3.6), layout="constrained")
        axes = figure.add_subplot()
        axes.scatter([_of(t, x) for t in done], [_of(t, y) for t in done], s=14, alpha=0.4, label="trials")
        axes.step(
            [_of(t, x) for t in front], [_of(t, y) for t in front], where="post", marker="o", color="C1", label="front"
        )
        axes.set(xlabel=x, ylabel=y, xscale="log")
        axes.legend(frameon=False)
        figure.savefig(path, dpi=150)


def _of(trial: Trial, objective: str) -> float:
    assert trial.result is not None
    if objective not in trial.result:
        raise wg.errors.StructureError(
            wg.errors.message(f"the trials have no {objective!r}", notes=[("have", ", ".join(trial.result))])
        )
    return trial.result[objective]


@wg.expect.checked
def search(
    space: Searched,
    evaluate: Evaluate,
    *,
    method: str | Method = "evolution",
    evaluations: int = 100,
    seconds: float = math.inf,
    seed: Seed = 0,
    workers: Count | None = None,
    executor: Executor | None = None,
    journal: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Found:
    """Try candidates of a space, and keep what was found.

    Parameters
    ----------
    space : a :class:`Space`, or anything with ``sample(rng)``, ``mutate(candidate, rng)`` and ``describe()``.
    evaluate : ``evaluate(candidate, seed)`` gives a loss, or a dict with ``loss`` and whatever else is to be compared;
        for methods with budgets ``evaluate(candidate, seed, budget)``, with a part from 0 to 1. It is run by other
        processes, which import it by its name.
    method : "random", "evolution" or "halving", or an object of :mod:`~wengert.graph.search.methods`.
    evaluations, seconds : it ends after so many trials, or begins none after so long.
    seed : the search is the same for the same seed, whatever the number of workers.
    workers : processes on this machine, as many as processors if not given; they are started anew, not forked.
    executor : anybody else's, of :mod:`concurrent.futures`: Dask's is ``client.get_executor()``.
    journal : a file that keeps the trials. A search that was ended goes on from it; two processes may share it.
    progress : show how far it is, with rich if that is installed.

    A candidate whose evaluation raises has failed, and the search goes on; one whose worker ends is tried once more,
    and one that is under way each time that a whole process ends has failed after four.

    Raises
    ------
    StructureError : the journal is of another search; fewer evaluations than a method of budgets needs for a result.
    StorageError : it is damaged.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from wengert.graph import search
    >>> space = search.Space({"x": search.Float(-1.0, 1.0)})
    >>> with ThreadPoolExecutor(2) as executor:
    ...     found = search.search(space, lambda c, seed: c["x"] ** 2, evaluations=40, executor=executor, progress=False)
    >>> bool(found.best().result["loss"] < 0.05)
    True
    """
    if isinstance(method, str) and method not in METHODS:
        raise wg.errors.StructureError(wg.errors.message(f"no method is called {method!r}", tries=list(METHODS)))
    chosen = METHODS[method]() if isinstance(method, str) else method
    if executor is None:
        _check_sendable(evaluate)
    _check_enough(chosen, evaluations)
    about = {"space": space.describe(), "method": repr(chosen), "seed": int(seed)}
    with closing(_Pool(executor, workers)) as pool, closing(Journal(journal, about)) as kept:
        with _alive(kept), _shown(progress, evaluations) as show:
            _Search(kept, pool, space, evaluate, chosen, seed, evaluations, time.monotonic() + seconds).run(show)
        return Found(tuple(kept.trials()))


def _check_sendable(evaluate: Evaluate) -> None:
    """Other processes import it by its name."""
    try:
        pickle.dumps(evaluate)
    except Exception as error:  # of several classes
        raise wg.errors.StructureError(
            wg.errors.message(
                f"other processes cannot be sent {getattr(evaluate, '__name__', evaluate)!r}: {error}",
                tries=["a function that stands in a module", "executor=ThreadPoolExecutor()"],
            )
        ) from None


def _check_enough(method: Any, evaluations: int) -> None:
    """A method that gives the whole budget to few at the end must come so far."""
    fewest = getattr(method, "fewest", 0)
    if evaluations < fewest:
        raise wg.errors.StructureError(
            wg.errors.message(
                f"{evaluations} evaluations: {method} tries {fewest} before one of them has had the whole budget",
                tries=[f"evaluations={fewest}", "fewer that begin: Halving(first=...)"],
            )
        )


class _Search:
    """The loop: claim, submit, write down."""

    def __init__(
        self, kept: Journal, pool: _Pool, space: Any, evaluate: Evaluate, method: Any, seed: int, most: int, end: float
    ) -> None:
        self.kept, self.pool, self.space, self.evaluate = kept, pool, space, evaluate
        self.method, self.seed, self.most, self.end = method, seed, most, end
        self.running: dict[Future[Any], Trial] = {}
        self.is_exhausted = False
        self.alone: set[int] = set()
        """Trials that were running when a worker ended, or a process: each is run by itself, to see whose it was."""

    def run(self, show: Callable[[list[Trial]], None]) -> None:
        try:
            self._loop(show)
        except BaseException:  # whoever goes on need not wait for the leases
            for trial in self.running.values():
                self.kept.give_back(trial.number, False)
            raise

    def _loop(self, show: Callable[[list[Trial]], None]) -> None:
        while True:
            self._fill()
            if not self.running:
                if self._is_over():
                    return
                time.sleep(0.05)  # what is missing is another process's
                show(self.kept.trials())
                continue
            ready, _ = wait(self.running, timeout=0.5, return_when=FIRST_COMPLETED)
            if ready:
                self._take(list(ready))
            show(self.kept.trials())

    def _is_over(self) -> bool:
        trials = self.kept.trials()
        is_idle = all(t.state in ("done", "failed") for t in trials)
        return time.monotonic() >= self.end or (is_idle and (len(trials) >= self.most or self.is_exhausted))

    def _fill(self) -> None:
        room = min(self.pool.size, self.method.lag)
        if self.alone:  # but those that another process has taken
            waiting = {t.number for t in self.kept.trials() if t.state == "waiting"}
            self.alone &= waiting | {t.number for t in self.running.values()}
        while len(self.running) < (1 if self.alone else room) and time.monotonic() < self.end:
            trial = self.kept.claim(self._propose, self.most)
            if trial is None:
                self.alone.clear()  # they are another process's by now
                return
            if trial.gone >= SUSPECT:
                self.alone.add(trial.number)
            if self.alone and self.running:
                self.kept.give_back(trial.number, False)
                return
            seed = 1_000_003 * self.seed + trial.number
            try:
                future = self.pool.submit(evaluated, self.evaluate, trial.candidate, seed, trial.budget)
            except (BrokenExecutor, RuntimeError) as error:  # it broke, or was shut down
                self.kept.give_back(trial.number, False)
                if not self.pool.is_own:
                    raise wg.errors.WorkerError(
                        wg.errors.message(
                            f"the executor takes no more: {error}", tries=["a new one; the journal goes on"]
                        )
                    ) from error
                self.pool.renew()
                continue
            self.running[future] = trial

    def _propose(self, trials: list[Trial]) -> Any:
        candidates = {t.number: t.candidate for t in trials}
        results = {t.number: t.result for t in trials if t.state in ("done", "failed")}
        try:
            return self.method.propose(len(trials), self.space, self.seed, candidates, results)
        except StopIteration:
            self.is_exhausted = True
            return None

    def _take(self, ready: list[Future[Any]]) -> None:
        is_broken = False
        for future in ready:
            trial = self.running.pop(future)
            try:
                result, error, seconds = future.result()
            except Exception as problem:  # the worker's end, not the evaluation's
                is_broken = is_broken or isinstance(problem, BrokenExecutor)
                self._lost(trial, problem)
            else:
                self.alone.discard(trial.number)
                self.kept.finish(trial.number, result, error, seconds)
        if is_broken:
            for future, trial in list(self.running.items()):
                self.running.pop(future)
                self._lost(trial, BrokenExecutor("a worker ended"))
            self.pool.renew()

    def _lost(self, trial: Trial, problem: Exception) -> None:
        """A trial whose worker ended, or one that was under way beside it."""
        is_its_own = trial.number in self.alone or not self.running
        if is_its_own and trial.attempts + 1 >= ATTEMPTS:
            self.alone.discard(trial.number)
            self.kept.finish(trial.number, None, f"its worker ended: {type(problem).__name__}: {problem}", 0.0)
        else:
            self.alone.add(trial.number)
            self.kept.give_back(trial.number, is_its_own)


def evaluated(
    evaluate: Evaluate, candidate: Any, seed: int, budget: float | None
) -> tuple[dict[str, float] | None, str | None, float]:
    """What a worker runs: the result, or the text of what was raised, and how long it took."""
    start = time.perf_counter()
    try:
        found = evaluate(candidate, seed) if budget is None else evaluate(candidate, seed, budget)
        result = {k: float(v) for k, v in found.items()} if isinstance(found, dict) else {"loss": float(found)}
        if "loss" not in result:
            raise KeyError("an evaluation returns a loss, or a dict with one")
    except Exception:
        return None, traceback.format_exc(), time.perf_counter() - start
    return result, None, time.perf_counter() - start


def _end_with_parent() -> None:
    """Workers wait for work for ever, of a process that was killed too."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _Pool:
    """An executor of somebody else's, or one of our own, which is made anew when one of its processes ends."""

    def __init__(self, executor: Executor | None, workers: int | None) -> None:
        self.is_own = executor is None
        self.workers = workers or os.cpu_count() or 1
        self.executor = executor or self._new()
        self.size = self.workers if self.is_own or workers else getattr(executor, "_max_workers", 4)

    def _new(self) -> Executor:
        return ProcessPoolExecutor(self.workers, mp_context=get_context("spawn"), initializer=_end_with_parent)

    def submit(self, *call: Any) -> Future[Any]:
        return self.executor.submit(*call)

    def renew(self) -> None:
        if self.is_own:
            self.executor.shutdown(wait=False, cancel_futures=True)
            self.executor = self._new()

    def close(self) -> None:
        if self.is_own:
            self.executor.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _alive(kept: Journal) -> Iterator[None]:
    """Renew the leases until it is left."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(LEASE / 4):
            kept.renew()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def _shown(wanted: bool, total: int) -> Iterator[Callable[[list[Trial]], None]]:
    if not wanted:
        yield lambda trials: None
        return
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        yield lambda trials: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns) as bar:
        task = bar.add_task("", total=total)

        def show(trials: list[Trial]) -> None:
            losses = [t.result["loss"] for t in trials if t.result is not None]
            failed = sum(t.state == "failed" for t in trials)
            words = f"best {min(losses):.4g}" if losses else ""
            bar.update(
                task, completed=len(losses) + failed, description=words + (f", {failed} failed" if failed else "")
            )

        yield show

"""Search a space with Optuna: the space says what a candidate may be, a study of Optuna's chooses and keeps the trials.

Optuna does what a search needs beside that: samplers, pruners, several processes, retries, a dashboard. Functions that
are handed a trial do not import it; :func:`study` does.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import wengert as wg
from wengert.graph.search.spaces import Choice, Each, Float, Integer, Space, When

if TYPE_CHECKING:
    import optuna

Trial = Any
wg.expect.kind("Trial", lambda x: hasattr(x, "suggest_float"), "a trial of Optuna's")

BEAT_S = 10
"""A process that runs a trial says this often that it is alive."""
GONE_S = 60
"""A process that has not said so for this long is gone; a compilation may keep a live one silent for some seconds."""
PATIENCE_S = 60
"""Another process may have the file to itself for this long."""


@wg.expect.checked
def suggested(trial: Trial, space: Space) -> dict[str, Any]:
    """Return the candidate that an Optuna trial suggests; of a trial that has ended, the one that it tried.

    >>> import optuna
    >>> from wengert.graph import search
    >>> space = search.Space({"depth": search.Integer(1, 3), "widths": search.Each("depth", search.Choice(8, 16, 32))})
    >>> trial = optuna.trial.FixedTrial({"depth": 2, "widths.0": 16, "widths.1": 8})
    >>> search.suggested(trial, space)
    {'depth': 2, 'widths': [16, 8]}
    """
    chosen: dict[str, Any] = {}
    for name, part in space.entries.items():
        chosen[name] = _suggested(trial, name, part, chosen)
    return chosen


def _suggested(trial: optuna.Trial, name: str, part: Any, chosen: dict[str, Any]) -> Any:
    if isinstance(part, Choice):
        return _one_of(trial, name, part.options)
    if isinstance(part, Integer):
        return trial.suggest_int(name, part.low, part.high, log=part.log)
    if isinstance(part, Float):
        return trial.suggest_float(name, part.low, part.high, log=part.log)
    if isinstance(part, Each):
        return [_suggested(trial, f"{name}.{k}", part.part, chosen) for k in range(chosen[part.count])]
    if isinstance(part, When):
        return _suggested(trial, name, part.part, chosen) if chosen[part.entry] == part.value else None
    raise wg.errors.StructureError(
        wg.errors.message(
            f"suggested: Optuna cannot suggest the entry {name!r}, which is {wg.expect.given(part)}",
            tries=["search.Choice, Integer, Float, Each or When"],
        )
    )


def _one_of(trial: optuna.Trial, name: str, options: tuple[Any, ...]) -> Any:
    """Optuna's categories are single values; lists and dicts are suggested as their text in JSON."""
    if all(option is None or isinstance(option, bool | int | float | str) for option in options):
        return trial.suggest_categorical(name, options)
    return json.loads(trial.suggest_categorical(name, [json.dumps(option) for option in options]))


@wg.expect.checked
def objective(
    space: Space, evaluate: Callable[..., Any], objectives: Sequence[str] = ("loss",)
) -> Callable[[Any], float | tuple[float, ...]]:
    """Return the function that ``study.optimize`` takes.

    It calls ``evaluate(candidate, seed)``, where the seed is the number of the trial. That returns a loss, or a dict of
    numbers: those named in ``objectives`` are minimised, in this order, and all are kept as ``trial.user_attrs``.

    >>> import optuna
    >>> from wengert.graph import search
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    >>> study.optimize(search.objective(search.Space({"x": search.Float(-1, 1)}), lambda c, seed: c["x"] ** 2), 20)
    >>> study.best_value < 0.05
    True
    """

    def of_trial(trial: optuna.Trial) -> float | tuple[float, ...]:
        found = evaluate(suggested(trial, space), trial.number)
        if not isinstance(found, dict):
            found = {objectives[0]: found}
        missing = [name for name in objectives if name not in found]
        if missing:
            raise wg.errors.StructureError(
                wg.errors.message(
                    f"objective: the evaluation returned no {', '.join(map(repr, missing))}",
                    notes=[("has", ", ".join(map(repr, found)))],
                    tries=["return a dict with every name of objectives=", f"objectives={tuple(found)}"],
                )
            )
        numbers = {name: float(x) for name, x in found.items()}
        for name, x in numbers.items():
            trial.set_user_attr(name, x)
        values = tuple([numbers[name] for name in objectives])
        return values[0] if len(values) == 1 else values

    return of_trial


@wg.expect.checked
def study(path: str | os.PathLike[str], *, retries: int = 3, **options: Any) -> Any:
    """Open the Optuna study that a file keeps, or begin it there.

    Any number of processes of this machine may open the same file, at once or one after the other, and optimise: they
    share the trials. The candidate of a trial whose process was killed is tried again, as a new trial with another
    seed, by a process that asks for a trial a minute later.

    Parameters
    ----------
    path : a file of SQLite's, which ``optuna-dashboard sqlite:///path`` shows.
    retries : the most times that a candidate whose process ended is tried again: it may be what ends them.
    options : as ``optuna.create_study`` takes them: ``sampler``, ``pruner``, ``directions``.

    Raises
    ------
    StorageError : Optuna is not installed, the folder is missing, or the file is something else.
    StructureError : the study in the file has other directions.
    """
    optuna = _optuna()
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise wg.errors.StorageError(
            wg.errors.message(
                f"study: there is no folder {folder} for {os.fspath(path)}", tries=["make the folder first"]
            )
        )
    import sqlalchemy.exc
    from sqlalchemy.pool import NullPool

    with _alone_in(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # what they say of heartbeats
        try:
            storage = optuna.storages.RDBStorage(
                str(sqlalchemy.URL.create("sqlite", database=str(Path(path).absolute()))),
                engine_kwargs={
                    "connect_args": {"timeout": PATIENCE_S},
                    "poolclass": NullPool,  # nobody closes a study: a connection that is kept would be left open
                },
                heartbeat_interval=BEAT_S,
                grace_period=GONE_S,
                heartbeat_stale_trial_callback=optuna.storages.RetryHeartbeatStaleTrialCallback(max_retry=retries),
            )
            found = optuna.create_study(storage=storage, study_name="search", load_if_exists=True, **options)
        except sqlalchemy.exc.DatabaseError as error:
            raise wg.errors.StorageError(
                wg.errors.message(
                    f"study: {os.fspath(path)} cannot be read as a study: {error.orig}",
                    tries=["another file, which is made if there is none"],
                )
            ) from error
    _check_directions(found, path, options)
    return found


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process opens a study in this folder: two that make the same tables at once would fail."""
    if os.name == "posix":
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
        lock = partial(fcntl.flock, descriptor, fcntl.LOCK_EX)
    else:  # Windows locks no folders, and has not been tried
        import msvcrt

        descriptor = os.open(folder / "wengert.lock", os.O_RDWR | os.O_CREAT)
        lock = partial(msvcrt.locking, descriptor, msvcrt.LK_LOCK, 1)
    try:
        lock()
        yield
    finally:
        os.close(descriptor)


def _check_directions(found: optuna.Study, path: str | os.PathLike[str], options: dict[str, Any]) -> None:
    """Optuna ignores the directions that are asked for where a study is there already."""
    wanted = options.get("directions") or [options.get("direction") or "minimize"]
    names = [d if isinstance(d, str) else d.name.lower() for d in wanted]
    have = [d.name.lower() for d in found.directions]
    if names != have:
        raise wg.errors.StructureError(
            wg.errors.message(
                f"study: {os.fspath(path)} keeps a study whose directions are {have}, not {names}",
                tries=[f"directions={have}", "another file"],
            )
        )


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise wg.errors.StorageError(
            wg.errors.message(
                "study: trials are chosen and kept by Optuna, which is not installed",
                tries=["pip install wengert[search]"],
            )
        ) from None
    return optuna

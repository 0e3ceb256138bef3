"""Optuna in the place of our own methods: it suggests, the space says what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import wengert as wg
from wengert.graph.search.spaces import Choice, Each, Float, Integer, Space, When


@wg.expect.checked
def suggested(trial: Any, space: Space) -> dict[str, Any]:
    """A candidate that an ``optuna.Trial`` suggests."""
    chosen: dict[str, Any] = {}
    for name, part in space.entries.items():
        chosen[name] = _suggested(trial, name, part, chosen)
    return chosen


def _suggested(trial: Any, name: str, part: Any, chosen: dict[str, Any]) -> Any:
    if isinstance(part, Choice):
        return trial.suggest_categorical(name, list(part.options))
    if isinstance(part, Integer):
        return trial.suggest_int(name, part.low, part.high, log=part.log)
    if isinstance(part, Float):
        return trial.suggest_float(name, part.low, part.high, log=part.log)
    if isinstance(part, Each):
        return [_suggested(trial, f"{name}.{k}", part.part, chosen) for k in range(chosen[part.count])]
    if isinstance(part, When):
        return _suggested(trial, name, part.part, chosen) if chosen[part.entry] == part.value else None
    raise TypeError(f"{type(part).__name__} has no suggestion")


@wg.expect.checked
def objective(
    space: Space, evaluate: Callable[..., Any], objectives: Sequence[str] = ("loss",)
) -> Callable[[Any], float | tuple[float, ...]]:
    """What ``study.optimize`` takes: ``study.optimize(search.objective(space, evaluate), n_trials=100)``."""

    def of_trial(trial: Any) -> float | tuple[float, ...]:
        found = evaluate(suggested(trial, space), trial.number)
        values = tuple([found[name] for name in objectives]) if isinstance(found, dict) else (float(found),)
        return values[0] if len(values) == 1 else values

    return of_trial

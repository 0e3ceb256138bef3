"""Training: epochs of shuffled batches, with validation, checkpoints that survive, and a history to look at.

An epoch's order follows from the seed and its number alone, so a run that was ended goes on from its last checkpoint to
the same bits.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from wengert import optimize
from wengert.nn.layers.containers import check_finite, watching
from wengert.nn.losses import cross_entropy
from wengert.nn.params import Array, paths
from wengert.nn.storage import load_with_notes, save

Tree = Any
Arrays = Any
"""A tree of arrays."""
Model = Any
Seed = int
Count = int
Data = tuple[Any, Any] | Iterable[tuple[Any, Any]] | Callable[[int], Iterable[tuple[Any, Any]]]
CHECKPOINT = "checkpoint.safetensors"


@dataclass(repr=False)
class Fitted:
    """This is a trained model, as :func:`fit` returns it.

    ``params``, ``state`` and ``opt_state`` are trees of arrays, as the layer's ``init`` and the optimiser made them;
    ``history`` has one dict an epoch: ``epoch``, ``loss`` and, with validation, ``validation loss`` and the metrics;
    ``stopped`` says why it ended before its last epoch, and is empty if it did not.

    >>> import numpy as np
    >>> from wengert import nn
    >>> x = np.ones((4, 2), np.float32)
    >>> model = nn.Dense(1)
    >>> done = nn.fit(model, *model.init(0, x), (x, x[:, :1]), loss=nn.squared_error, epochs=2, progress=False)
    >>> [sorted(row) for row in done.history], done.stopped
    ([['epoch', 'loss'], ['epoch', 'loss']], '')
    >>> done.params["w"].shape
    (1, 2)
    """

    params: Tree
    state: Tree
    opt_state: Tree
    history: list[dict[str, float]] = field(default_factory=list)
    """One dict an epoch: ``epoch``, ``loss`` and, with validation, ``validation loss`` and the metrics."""
    stopped: str = ""
    """Why it ended before its last epoch; empty if it did not."""

    def __repr__(self) -> str:
        last = ", ".join(f"{name} {value:.4g}" for name, value in (self.history or [{}])[-1].items() if name != "epoch")
        stopped = f"; stopped: {self.stopped}" if self.stopped else ""
        return f"<fitted model: {len(self.history)} epochs, {wg.nn.count(self.params):,} parameters; {last}{stopped}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the history's last epochs."""
        names = list(self.history[-1]) if self.history else []
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        rows = ["".join(f"<td>{row.get(name, np.nan):.6g}</td>" for name in names) for row in self.history[-10:]]
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<p>{escape(repr(self))}</p><table><tr>{head}</tr>{body}</table>"

    def plot(self, path: str | Path) -> None:
        """Draw the history: losses, and the metrics beside them. Needs matplotlib, of the extra ``wengert[nn]``."""
        from matplotlib.figure import Figure

        losses = [k for k in self.history[0] if "loss" in k] if self.history else []
        others = [k for k in self.history[0] if k not in (*losses, "epoch")] if self.history else []
        figure = Figure(figsize=(4.5 * (1 + bool(others)), 3.2), layout="constrained")
        for k, names in enumerate([names for names in (losses, others) if names]):
            axes = figure.add_subplot(1, 1 + bool(others), k + 1)
            for name in names:
                axes.plot([h["epoch"] for h in self.history], [h[name] for h in self.history], label=name)
            axes.set_xlabel("epoch")
            axes.legend(frameon=False)
        figure.savefig(path)


@wg.expect.checked
def fit(
    model: Model,
    params: Arrays,
    state: Arrays,
    data: Data,
    *,
    loss: Callable[[Any, Any], Any] = cross_entropy,
    optimiser: optimize.Optimiser | None = None,
    epochs: int = 10,
    batch_size: Count = 32,
    seed: Seed = 0,
    validation: tuple[Any, Any] | None = None,
    metrics: Mapping[str, Callable[[Any, Any], Any]] | None = None,
    patience: int | None = None,
    wrt: Callable[[Any], Any] | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = True,
    callbacks: Iterable[Callable[[Fitted], Any]] = (),
) -> Fitted:
    """Train a layer on data, and return what it became, with the history of its losses.

    Parameters
    ----------
    model, params, state : a layer, and what its ``init`` made. The arrays are left as they are.
    data : ``(x, y)``, arrays whose first axis are samples, shuffled into batches anew each epoch; or batches
        ``(x, y)``: a list, or a function of the number of the epoch that gives them.
    loss : ``loss(prediction, y)``, a mean over the batch.
    optimiser : :func:`~wengert.optimize.adam` with a rate of 1e-3, if not given.
    epochs : how often all of the data is gone through, those of a checkpoint counted.
    batch_size : samples a batch, of arrays and of validation data; the last batch may be smaller.
    seed : what the order of the samples follows from, together with the number of the epoch.
    validation : ``(x, y)``, looked at after each epoch.
    metrics : functions ``(prediction, y)`` by name, means over the validation data.
    patience : end after so many epochs in which the validation loss was not its least, with the parameters of the best.
    wrt : which parameters are trained, :func:`~wengert.nn.trainable`.
    checkpoint : a folder, written after each epoch. Where it has one of this run, that is gone on from.
    progress : show how far it is, with rich if that is installed.
    callbacks : called after each epoch with what there is so far.

    Raises
    ------
    NonFiniteError : the loss, or its gradient, became infinite or NaN. The message says which layer made it; the error
        has the last good parameters as ``fitted``, and so does the checkpoint.
    ShapeError : there are no samples in an epoch or to validate with, or not as many inputs as targets.
    StorageError, StructureError : the checkpoint is damaged, or of another run.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn, optimize
    >>> x = np.random.default_rng(0).normal(size=(64, 2)).astype("float32")
    >>> model = nn.Chain(nn.Dense(8, np.tanh), nn.Dense(2))
    >>> done = nn.fit(
    ...     model,
    ...     *model.init(0, x),
    ...     (x, (x[:, 0] > 0).astype(int)),
    ...     optimiser=optimize.adam(0.05),
    ...     epochs=20,
    ...     progress=False,
    ... )
    >>> bool(done.history[-1]["loss"] < 0.1)
    True
    """

    params, state = wg.tree.map(np.asarray, params), wg.tree.map(np.asarray, state)
    if validation is not None:
        _samples(*validation, "validation")

    def loss_of(params: Tree, state: Tree, x: Any, y: Any) -> tuple[Any, Tree]:
        prediction, state = model.apply(params, state, x, train=True)
        return loss(prediction, y), state

    step = optimize.step(loss_of, optimiser or optimize.adam(1e-3), wrt=wrt, has_aux=True, keep_finite=True)
    judge = _judge(model, loss, metrics or {})
    made = Fitted(wg.tree.map(np.array, params), state, step.init(params))
    best: tuple[float, Tree, Tree] | None = None
    signature = _signature(model, made, batch_size, seed)
    target = None if checkpoint is None else Path(checkpoint) / CHECKPOINT
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            best = _gone_on(target, made, signature)
    with _shown(progress, epochs - len(made.history)) as show:
        for epoch in range(len(made.history), epochs):
            if _is_over(made, patience, best):
                break
            total, count = 0.0, 0
            for batch in _batches(data, batch_size, seed, epoch):
                if not isinstance(batch, tuple | list) or len(batch) != 2:
                    raise wg.expect.refused("fit", "a batch of data", batch, "a pair (x, y)")
                x, y = batch
                n = len(_first(y))
                made.params, made.opt_state, (value, new) = step(made.params, made.opt_state, made.state, x, y)
                if not np.isfinite(value):
                    raise _not_finite(model, loss, made, x, y, float(value), epoch)
                made.state = new
                total, count = total + n * float(value), count + n
            if count == 0:
                what = f"fit: data has no samples in epoch {epoch}"
                tries = ["a list of batches, since an iterator is at its end after one epoch", "lambda epoch: batches"]
                raise wg.errors.ShapeError(wg.errors.message(what, tries=tries))
            row = {"epoch": float(epoch), "loss": total / count}
            if validation is not None:
                row |= judge(made.params, made.state, validation, batch_size)
                if best is None or row["validation loss"] < best[0]:
                    best = row["validation loss"], wg.tree.map(np.array, made.params), wg.tree.map(np.array, made.state)
            made.history.append(row)
            if target is not None:
                _keep(target, made, best, signature)
            show(row)
            for callback in callbacks:
                callback(made)
    if patience is not None and best is not None:
        _is_over(made, patience, best)
        made.params, made.state = best[1], best[2]
    return made


# ------------------------------------------------------------------------------------------------------------ batches


def _batches(data: Data, size: int, seed: int, epoch: int) -> Iterator[tuple[Any, Any]]:
    """Return the batches of an epoch; the last may be smaller."""
    if callable(data):
        batches = data(epoch)
        if not isinstance(batches, Iterable):
            raise wg.expect.refused("fit", "data(epoch)", batches, "batches (x, y)")
        yield from batches
    elif isinstance(data, tuple):
        if len(data) != 2:
            raise wg.expect.refused("fit", "data", data, "a pair (x, y), or batches of such")
        x, y = data
        n = _samples(x, y, "data")
        order = np.random.default_rng([seed, epoch]).permutation(n)
        for start in range(0, n, size):
            chosen = order[start : start + size]
            yield wg.tree.map(lambda a: a[chosen], x), wg.tree.map(lambda a: a[chosen], y)  # noqa: B023  # used at once
    else:
        yield from data


def _samples(x: Tree, y: Tree, where: str) -> int:
    """Return how many samples there are. Raises ShapeError if there are none, or other numbers of x and y."""
    n = len(_first(y))
    if len(_first(x)) != n or n == 0:
        raise wg.errors.ShapeError(wg.errors.message(f"fit: {where} has {len(_first(x))} inputs and {n} targets"))
    return n


def _first(tree: Tree) -> Array:
    return wg.tree.leaves(tree)[0]


def _judge(model: Any, loss: Callable[..., Any], metrics: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Return the function that says how good parameters are: means over all samples."""

    @wg.jit
    def of_batch(params: Tree, state: Tree, x: Any, y: Any) -> dict[str, Any]:
        prediction, _ = model.apply(params, state, x)
        return {"validation loss": loss(prediction, y), **{name: f(prediction, y) for name, f in metrics.items()}}

    def judge(params: Tree, state: Tree, data: tuple[Any, Any], size: int) -> dict[str, float]:
        x, y = data
        n, totals = len(_first(y)), dict[str, float]()
        for start in range(0, n, size):
            part = lambda a: a[start : start + size]  # noqa: B023  # used at once
            y_part = wg.tree.map(part, y)
            found = of_batch(params, state, wg.tree.map(part, x), y_part)
            for name, value in found.items():
                totals[name] = totals.get(name, 0.0) + float(value) * len(_first(y_part)) / n
        return totals

    return judge


def _is_over(made: Fitted, patience: int | None, best: tuple[float, Tree, Tree] | None) -> bool:
    if patience is None or best is None:
        return False
    losses = [row["validation loss"] for row in made.history]
    if len(losses) - 1 - losses.index(min(losses)) < patience:
        return False
    made.stopped = f"the validation loss was least {patience} epochs ago"
    return True


def _not_finite(
    model: Any, loss: Callable[..., Any], made: Fitted, x: Any, y: Any, value: float, epoch: int
) -> wg.errors.NonFiniteError:
    """Return the error that says which layer made it."""
    where = "the loss of what the model makes, which is finite"
    try:
        with watching(check_finite), np.errstate(all="ignore"):
            model.apply(made.params, made.state, x, train=True)
    except wg.errors.NonFiniteError as error:
        where = str(error)
    wrong = wg.errors.NonFiniteError(
        wg.errors.message(
            f"fit: the loss is {value} in epoch {epoch}",
            notes=[("made", f"by {where}")],
            tries=["optimize.clip_by_norm before the optimiser", "a smaller learning rate"],
        )
    )
    wrong.fitted = made  # type: ignore[attr-defined]  # for whoever goes on from there
    return wrong


# --------------------------------------------------------------------------------------------------------- checkpoints


def _signature(model: Any, made: Fitted, batch_size: int, seed: int) -> dict[str, Any]:
    """Return what a run must have in common with the one whose checkpoint it goes on from."""
    shapes = {path: f"{x.dtype}{list(x.shape)}" for path, x in paths([made.params, made.state, made.opt_state]).items()}
    return {"model": repr(model), "batch size": batch_size, "seed": seed, "arrays": shapes}


def _keep(target: Path, made: Fitted, best: Any, signature: dict[str, Any]) -> None:
    tree = _trees(made, None if best is None else best[1:])
    notes = {"signature": signature, "history": made.history, "best": None if best is None else best[0]}
    save(target, tree, notes)


def _trees(made: Fitted, best: tuple[Tree, Tree] | None) -> dict[str, Tree]:
    """Return what a checkpoint holds; ``best`` are the parameters and the state of the best epoch."""
    tree = {"params": made.params, "state": made.state, "opt_state": made.opt_state}
    return tree if best is None else tree | {"best params": best[0], "best state": best[1]}


def _gone_on(target: Path, made: Fitted, signature: dict[str, Any]) -> tuple[float, Tree, Tree] | None:
    """Put the checkpoint in the place of what was to begin with."""

    def like_of(notes: Any) -> Tree:
        if not isinstance(notes, dict) or notes.get("signature") != json.loads(json.dumps(signature)):
            before = notes.get("signature", {}) if isinstance(notes, dict) else {}
            differ = [k for k in signature if before.get(k) != signature[k]]
            raise wg.errors.StructureError(
                wg.errors.message(
                    f"{target} is the checkpoint of another run",
                    notes=[("differ", ", ".join(differ))],
                    tries=["another folder for this run", "the arguments that that run was called with"],
                )
            )
        return _trees(made, None if notes["best"] is None else (made.params, made.state))

    tree, notes = load_with_notes(target, like_of)
    made.params, made.state, made.opt_state = tree["params"], tree["state"], tree["opt_state"]
    made.history = notes["history"]
    return None if notes["best"] is None else (notes["best"], tree["best params"], tree["best state"])


# ------------------------------------------------------------------------------------------------------------ progress


@contextmanager
def _shown(wanted: bool, epochs: int) -> Iterator[Callable[[dict[str, float]], None]]:
    """Yield the function that is told of each epoch after it."""
    if not wanted:
        yield lambda row: None
        return
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        start = time.perf_counter()
        yield lambda row: print(f"{time.perf_counter() - start:6.1f} s  {_words(row)}", flush=True)
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns) as bar:
        task = bar.add_task("epochs", total=epochs)
        yield lambda row: bar.update(task, advance=1, description=_words(row))


def _words(row: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in row.items())

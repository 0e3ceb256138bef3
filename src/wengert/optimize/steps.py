"""One step of training as one compiled program: value, gradient, and new parameters written over the old ones."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import lru_cache
from html import escape
from typing import Any

import numpy as np

import wengert as wg
from wengert.optimize.optimisers import Optimiser, apply
from wengert.optimize.trees import mapped

Tree = Any
Selector = Callable[[Any], Any]


class TrainingStep:
    """This is a compiled step, as :func:`step` makes it; ``init(params)`` is the optimiser's state."""

    def __init__(
        self,
        loss: Callable[..., Any],
        optimiser: Optimiser,
        wrt: Callable[[Any], Any] | None,
        has_aux: bool,
        donate: bool,
        keep_finite: bool,
    ) -> None:
        self.wrt, self.optimiser = wrt, optimiser
        gradient = wg.value_and_grad(loss, wrt=wrt, has_aux=has_aux)
        selector = (lambda args: (args[0], args[1])) if donate else None

        def whole(params: Tree, state: Tree, *args: Any) -> tuple[Tree, Tree, Any]:
            value, ct = gradient(params, *args)
            new = _changed(optimiser, wrt, params, state, ct, (value[0] if has_aux else value) if keep_finite else None)
            return *new, value

        whole.__name__ = f"step of {getattr(loss, '__name__', 'a loss')}"
        self.compiled = wg.jit(whole, donate=selector)

    def __repr__(self) -> str:
        done = repr(self.compiled)  # "<jit of step of loss: 1 program, 3 calls>"
        return f"<training {done.removeprefix('<jit of ')}"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a line, and the programs made so far."""
        return f"<p>{escape(repr(self))}</p>{self.compiled._repr_html_().partition('</p>')[2]}"

    def init(self, params: Tree) -> Tree:
        return self.optimiser.init(params if self.wrt is None else self.wrt((params,)))

    def __call__(self, params: Tree, state: Tree, *args: Any) -> tuple[Tree, Tree, Any]:
        return self.compiled(params, state, *args)


@wg.expect.checked
def step(
    loss: Callable[..., Any],
    optimiser: Optimiser,
    *,
    wrt: Callable[[Any], Any] | None = None,
    has_aux: bool = False,
    donate: bool = True,
    keep_finite: bool = False,
    executor: Executor | None = None,
    parts: int | None = None,
) -> Any:
    """Return the compiled function ``(params, state, *args) -> (params, state, value)`` of one step of training.

    Parameters
    ----------
    loss : ``loss(params, *args)`` returns one number, or ``(number, aux)`` with ``has_aux``.
    optimiser : what becomes of its gradient; ``step.init(params)`` is its state.
    wrt : which parameters are trained, :func:`wengert.nn.trainable`; the others are constants.
    has_aux : the third result is ``(value, aux)``.
    donate : the arrays of ``params`` and ``state`` are written over by machine code, and are those of the results; go
        on with these.
    keep_finite : where the value or its gradient is not finite, parameters and state stay what they were.
    executor : the batch, the arrays of ``args`` along their first axis, is split into ``parts``, one a worker, whose
        gradients are averaged by their sizes: the loss is a mean over the batch. Any executor of
        :mod:`concurrent.futures`; Dask's is ``client.get_executor()``. With ``has_aux``, the third result has the aux
        of each part.

    Raises
    ------
    DTypeError : parameters are complex.
    WorkerError : a part of the batch failed; nothing was changed.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import optimize
    >>> fit = optimize.step(lambda w, x, y: np.mean((x @ w - y) ** 2), optimize.adam(0.1))
    >>> w, x = np.zeros(2), np.eye(2)
    >>> state = fit.init(w)
    >>> for _ in range(100):
    ...     w, state, value = fit(w, state, x, np.array([1.0, 2.0]))
    >>> bool(value < 1e-2)
    True
    """
    if executor is None:
        return TrainingStep(loss, optimiser, wrt, has_aux, donate, keep_finite)
    n_parts = parts or getattr(executor, "_max_workers", 2)
    return SplitStep(loss, optimiser, wrt, has_aux, keep_finite, executor, n_parts)


def _changed(
    optimiser: Optimiser, wrt: Selector | None, params: Tree, state: Tree, ct: Tree, value: Any = None
) -> tuple[Tree, Tree]:
    """Return the new parameters and state: the old ones where a ``value`` is given, and it or ``ct`` is not finite."""
    leaves, treedef = wg.tree.flatten(params)
    numbers, trained_def = (range(len(leaves)), treedef) if wrt is None else wg.tree.select((params,), wrt)
    trained = wg.tree.unflatten(trained_def, [leaves[i] for i in numbers])
    updates, new_state = optimiser.update(ct, state, trained)
    for i, x in zip(numbers, wg.tree.leaves(apply(trained, updates)), strict=True):
        leaves[i] = x
    new = wg.tree.unflatten(treedef, leaves), new_state
    if value is None:
        return new
    is_fine = np.isfinite(value)
    for g in wg.tree.leaves(ct):
        is_fine = is_fine & np.isfinite(np.sum(g))
    return mapped(lambda x, before: np.where(is_fine, x, before), new, (params, state))


# ------------------------------------------------------------------------------------------------- over many workers


class SplitStep:
    """This is a step whose gradient is computed by the workers of an executor."""

    def __init__(
        self,
        loss: Callable[..., Any],
        optimiser: Optimiser,
        wrt: Callable[[Any], Any] | None,
        has_aux: bool,
        keep_finite: bool,
        executor: Executor,
        n_parts: int,
    ) -> None:
        self.loss, self.wrt, self.has_aux, self.optimiser = loss, wrt, has_aux, optimiser
        self.executor, self.n_parts = executor, n_parts
        self.change = wg.jit(
            lambda params, state, ct, value: _changed(optimiser, wrt, params, state, ct, value if keep_finite else None)
        )

    def init(self, params: Tree) -> Tree:
        return self.optimiser.init(params if self.wrt is None else self.wrt((params,)))

    def __call__(self, params: Tree, state: Tree, *args: Any) -> tuple[Tree, Tree, Any]:
        batches = _split(args, self.n_parts)
        futures: list[Future[Any]] = [
            self.executor.submit(gradient_of, self.loss, self.wrt, self.has_aux, params, part) for part, _ in batches
        ]
        total = sum(size for _, size in batches)
        value, ct, aux = 0.0, None, []
        try:
            for future, (_, size) in zip(futures, batches, strict=True):  # in their order, whoever is ready first
                of_part, ct_of_part = future.result()
                if self.has_aux:
                    of_part, more = of_part
                    aux.append(more)
                share = size / total
                value = value + share * of_part
                scaled = mapped(lambda g: np.asarray(g * g.dtype.type(share)), ct_of_part)  # noqa: B023  # used at once
                ct = scaled if ct is None else mapped(np.add, ct, scaled)
        except Exception as error:  # whatever a worker raises, or its end
            for future in futures:
                future.cancel()
            raise wg.errors.WorkerError(
                wg.errors.message(f"a part of the batch failed: {type(error).__name__}: {error}")
            ) from error
        params, state = self.change(params, state, ct, value)
        return params, state, ((value, aux) if self.has_aux else value)


def gradient_of(
    loss: Callable[..., Any], wrt: Callable[[Any], Any] | None, has_aux: bool, params: Tree, args: tuple[Any, ...]
) -> Any:
    """Return what a worker computes: value and gradient, as one array a leaf."""
    value, ct = _compiled(loss, wrt, has_aux)(params, *args)
    return value, mapped(np.asarray, ct)


@lru_cache(maxsize=64)
def _compiled(loss: Callable[..., Any], wrt: Callable[[Any], Any] | None, has_aux: bool) -> Any:
    """Return the compiled gradient, once a worker: functions are sent by name, and so are the same at every step."""
    return wg.jit(wg.value_and_grad(loss, wrt=wrt, has_aux=has_aux))


def _split(args: tuple[Any, ...], n: int) -> list[tuple[tuple[Any, ...], int]]:
    """Return the batch in at most ``n`` parts of nearly equal size, with their sizes."""
    batch: Any = args
    leaves, treedef = wg.tree.flatten(batch)
    sizes = {x.shape[0] for x in leaves if np.ndim(x)}
    if len(sizes) != 1:
        raise wg.errors.ShapeError(
            wg.errors.message(
                f"a batch is split along the first axis of its arrays; these have lengths {sorted(sizes)}",
                tries=["a function of the batch alone, with everything else in the parameters"],
            )
        )
    size = sizes.pop()
    edges = np.linspace(0, size, min(n, max(size, 1)) + 1).astype(int)
    found = []
    for start, stop in zip(edges, edges[1:], strict=False):
        part = [x[start:stop] if np.ndim(x) else x for x in leaves]
        found.append((wg.tree.unflatten(treedef, part), int(stop - start)))
    return found

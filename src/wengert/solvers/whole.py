"""The context in which solvers of other people's are given derivatives: ``with wg.exact():``."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ContextDecorator
from types import FunctionType
from typing import Any

from wengert.solvers import calls, equations, flows, hosted, minima, squares  # noqa: F401  # these fill the table of calls
from wengert.solvers.imports import when_imported
from wengert.solvers.tally import Tally
from wengert.tracing.interception.standing import standing
from wengert.tracing.stack import current_trace


class exact(ContextDecorator):  # called as a function is
    """Give the solvers that are called in a context exact derivatives in the place of finite differences.

    It is for code that never asked: a call of SciPy's solvers and integrators, of lmfit or iminuit, whose slot
    for a derivative is empty gets one, recorded from the function that it is given. Values stay those of the function,
    called by Python. Where it cannot be recorded the call goes on as it was written, and one
    :class:`~wengert.errors.FiniteDifferencesWarning` says why.

    Parameters
    ----------
    quiet : print no summary to stderr at the end.
    eager : record every function, however long that takes. By default functions are recorded as long as that takes a
        thirtieth of the time that the process has run, beside what wengert takes once to be ready in a process.

    Returns
    -------
    A context, or a decorator of functions. ``with ... as tally`` gives a ``wengert.solvers.tally.Tally``, which
    has the counts, and ``summary()``.

    Examples
    --------
    >>> import numpy as np, scipy.optimize
    >>> import wengert as wg
    >>> def distance(x):
    ...     return np.sum((x - np.arange(10)) ** 2)
    >>> scipy.optimize.minimize(distance, np.zeros(10)).nfev
    66
    >>> with wg.exact(quiet=True, eager=True) as tally:
    ...     found = scipy.optimize.minimize(distance, np.zeros(10))
    >>> found.nfev, tally.derivatives
    (4, 4)
    """

    def __init__(self, *, quiet: bool = False, eager: bool = False) -> None:
        self.quiet, self.eager = quiet, eager
        self._entered: list[tuple[Tally, list[AbstractContextManager[Any]]]] = []

    def __enter__(self) -> Tally:
        tally = Tally(eager=self.eager)
        contexts: list[AbstractContextManager[Any]] = []
        if current_trace() is None:  # what a traced function calls is traced
            exchanged = standing(())
            add = exchanged.__enter__()
            contexts.append(exchanged)
            noticing = when_imported(calls.MODULES, lambda name: _exchange(name, add))
            noticing.__enter__()
            contexts.append(noticing)
        self._entered.append((tally, contexts))
        _open.tallies = (*_open.tallies, tally)
        return tally

    def __exit__(self, *error: object) -> None:
        tally, contexts = self._entered.pop()
        _open.tallies = tuple([t for t in _open.tallies if t is not tally])
        for context in reversed(contexts):
            context.__exit__(None, None, None)
        if _open.tallies:
            _open.tallies[-1].add(tally)
        if tally.calls and not self.quiet:
            print(tally.summary(), file=sys.stderr)


class _Open(threading.local):
    tallies: tuple[Tally, ...] = ()
    depth = 0
    """How many solvers are running: those that others call are not counted."""


_open = _Open()


def _exchange(module: str, add: Callable[[FunctionType, Callable[..., Any]], None]) -> None:
    for path, fill in calls.of_module(module):
        found: Any = sys.modules[module]
        for name in path.split("."):
            found = getattr(found, name, None)
        if isinstance(found, FunctionType):
            add(found, _answer(fill))


def _answer(fill: calls.Fill) -> Callable[..., Any]:
    def answer(own: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not _open.tallies or current_trace() is not None:
            return own(*args, **kwargs)
        tally = _open.tallies[-1]
        tally.calls += _open.depth == 0
        _open.depth += 1
        try:
            return fill(calls.FilledCall(own, args, kwargs, tally))
        finally:
            _open.depth -= 1

    return answer

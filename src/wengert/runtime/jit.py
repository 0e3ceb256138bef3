"""A function that is traced once a signature and path, and then runs as programs.

A call is looked up by its *signature* (structure, shapes, dtypes, which leaves are Python numbers), then by the
*environment* it captured (see :mod:`wengert.tracing.captures`), then by its *path* through the branches (see
:mod:`wengert.tracing.guards`). What has not been seen is traced; nothing is ever run on a guess.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wengert import config, passes, tree
from wengert.errors import InternalError, StructureError, message
from wengert.ops.control import GuardMiss
from wengert.passes.simplify import fold_constants
from wengert.runtime.program import Program
from wengert.tape import Tape
from wengert.tracing.captures import Environment
from wengert.tracing.guards import Paths, number_guards
from wengert.tracing.record import input_of, record_call
from wengert.tracing.trace import current_trace
from wengert.tracing.tracer import Tracer

NUMBERS = (bool, int, float, complex)


@dataclass
class Stats:
    """What a jitted function has done so far. Times in seconds."""

    calls: int = 0
    traces: int = 0
    """Times the Python function ran, because something was new."""
    guard_misses: int = 0
    """Calls that left the path they began on."""
    sibling_hits: int = 0
    """Guard misses that ended on a path already compiled."""
    environment_misses: int = 0
    """Calls that found a captured variable changed."""
    specialisations: int = 0
    """Programs kept, over all signatures and paths."""
    compile_s: float = 0.0
    unrepeatable: str = ""
    """Why the function is traced again at every call; empty if it is not."""


@dataclass
class Compiled:
    """One path of one signature, ready to run."""

    program: Program
    out_tree: Any
    environment: Environment


class Specialisation:
    """The programs of one signature in one environment."""

    def __init__(self, name: str, environment: Environment) -> None:
        self.environment = environment
        self.paths: Paths[Compiled] = Paths(name)


class Jit:
    """The callable that ``wg.jit`` returns. ``__wrapped__`` is the user's function."""

    __wengert_transparent__ = True  # to the walk of an enclosing function's environment

    def __init__(self, f: Callable[..., Any]) -> None:
        self.__wrapped__ = f
        self.__name__ = getattr(f, "__name__", type(f).__name__)
        self.__doc__ = getattr(f, "__doc__", None)
        self.__module__ = getattr(f, "__module__", __name__)
        self._specialisations: OrderedDict[Any, list[Specialisation]] = OrderedDict()  # by signature, oldest use first
        self._lock = threading.RLock()
        self._stats = Stats()

    def __get__(self, owner: Any, cls: type | None = None) -> Any:
        """As a decorator of methods: ``self`` is the first argument."""
        if owner is None:
            return self
        from functools import partial

        return partial(self, owner)

    def __repr__(self) -> str:
        return f"<wengert.jit of {self.__name__}>"

    def stats(self) -> dict[str, Any]:
        """Calls, traces, guard misses, programs kept and compile time, as a dict."""
        with self._lock:
            kept = sum(special.paths.count for known in self._specialisations.values() for special in known)
        return {**asdict(self._stats), "specialisations": kept}

    def clear(self) -> None:
        """Forget every program."""
        with self._lock:
            self._specialisations.clear()
            self._stats = Stats()

    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        leaves, treedef = tree.flatten((args, kwargs) if kwargs else args)
        if current_trace() is not None and any(type(x) is Tracer for x in leaves):
            result = self.__wrapped__(*args, **kwargs)  # an enclosing transform records the steps themselves
        else:
            try:
                compiled, results = self._run(args, kwargs, leaves, treedef)
                result = tree.unflatten(compiled.out_tree, results)
            except ReadsEnclosingTrace:  # not by an argument, but by a variable it captured: likewise
                result = self.__wrapped__(*args, **kwargs)
        return result if out is None else write_out(out, result)

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """The program that this call would run; traced now if need be."""
        leaves, treedef = tree.flatten((args, kwargs) if kwargs else args)
        compiled, _ = self._run(args, kwargs, leaves, treedef)
        return compiled.program

    # ---------------------------------------------------------------------------------------------- the work

    def _run(self, args: Any, kwargs: Any, leaves: list[Any], treedef: Any) -> tuple[Compiled, list[Any]]:
        self._stats.calls += 1
        kinds = tuple([leaf_kind(x) for x in leaves])
        inputs = [np.asarray(x) if isinstance(x, NUMBERS) else x for x, k in zip(leaves, kinds, strict=True) if k[0]]
        special = self._specialisation((treedef, kinds))
        if special is not None:
            leaf = special.paths.recent
            missed = False
            position = -1
            while leaf is not None:
                path, compiled = leaf
                try:
                    results = compiled.program.run(inputs)
                except GuardMiss as miss:
                    if not missed:
                        self._stats.guard_misses += 1
                    missed = True
                    if miss.position <= position:  # each path agrees further than the one before, so this cannot be
                        raise InternalError(f"{self.__name__}: the paths of its guards disagree") from miss
                    position = miss.position
                    leaf = special.paths.after(path, miss)
                    continue
                if missed:
                    self._stats.sibling_hits += 1
                    special.paths.used(leaf)
                return compiled, results
        return self._trace(args, kwargs, leaves, treedef, kinds, inputs, special)

    def _specialisation(self, signature: Any) -> Specialisation | None:
        known = self._specialisations.get(signature)
        if not known:
            return None
        for special in known:
            if special.environment.holds():
                with self._lock:
                    if signature in self._specialisations:  # not forgotten by another thread meanwhile
                        self._specialisations.move_to_end(signature)
                return special
        self._stats.environment_misses += 1
        return None

    def _trace(
        self,
        args: Any,
        kwargs: Any,
        leaves: list[Any],
        treedef: Any,
        kinds: tuple[Any, ...],
        inputs: list[Any],
        special: Specialisation | None,
    ) -> tuple[Compiled, list[Any]]:
        start = time.perf_counter()
        tape, environment, unrepeatable = trace_whole(self.__wrapped__, self.__name__, leaves, treedef, bool(kwargs))
        tape, path = number_guards(fold_constants(tape))
        compiled = Compiled(Program(passes.run(tape)), tape.out_tree, environment)
        self._stats.traces += 1
        self._stats.compile_s += time.perf_counter() - start
        if unrepeatable:
            self._stats.unrepeatable = unrepeatable
            return compiled, compiled.program.run(inputs)
        with self._lock:
            if special is None or path == ():
                special = Specialisation(self.__name__, environment)
                known = self._specialisations.setdefault((treedef, kinds), [])
                known.insert(0, special)
                del known[MAX_ENVIRONMENTS:]
            last = next((i.source for i in reversed(tape.instrs) if i.op.effects), None)
            special.paths.add(path, compiled, last)
            self._specialisations.setdefault((treedef, kinds), [special])
            self._specialisations.move_to_end((treedef, kinds))
            while len(self._specialisations) > config.max_programs:
                self._specialisations.popitem(last=False)
        return compiled, compiled.program.run(inputs)


MAX_ENVIRONMENTS = 8


def leaf_kind(x: Any) -> tuple[Any, ...]:
    """What a signature says of a leaf: its type if it is traced, else (0, the value itself)."""
    t = type(x)
    if t is np.ndarray or isinstance(x, np.ndarray | np.generic):
        if x.ndim > 1 and not x.flags.c_contiguous:  # whether a reshape is a view or a copy depends on the strides
            return (1, x.shape, x.dtype, x.strides)
        return (1 if isinstance(x, np.ndarray) else 2, x.shape, x.dtype)
    if t is float or t is int or t is complex:
        return (3, t)
    try:
        hash(x)
    except TypeError:
        raise StructureError(
            message(
                f"a {t.__name__} among the arguments can be neither traced nor compared with the next call's",
                tries=["a tuple or a frozenset of settings", "an array of numbers"],
            )
        ) from None
    return (0, x)


class ReadsEnclosingTrace(StructureError):
    """A function captured a traced value, so it is no program of its own: its steps belong to the enclosing trace."""


def trace_whole(
    f: Callable[..., Any], name: str, leaves: Sequence[Any], treedef: Any, has_kwargs: bool
) -> tuple[Tape, Environment, str]:
    """The tape of ``f`` for a call's leaves, the environment it read, and why it cannot be repeated ("" if it can)."""
    environment = Environment()
    traced = [k for k, x in enumerate(leaves) if leaf_kind(x)[0]]

    def call(*tracers: Any) -> Any:
        trace = current_trace()
        assert trace is not None
        copy = environment.copy_for(f, trace)
        new = list(leaves)
        for k, x in enumerate(leaves):
            if not leaf_kind(x)[0]:
                new[k] = environment.copy_argument(x, f"argument{tree.path(treedef, k)}")
        for k, t in zip(traced, tracers, strict=True):
            new[k] = t
        given = tree.unflatten(treedef, new)
        return copy(*given[0], **given[1]) if has_kwargs else copy(*given)

    inputs = [input_of(leaves[k]) for k in traced]
    recording = record_call(call, inputs, name=name, known=environment.known)
    if recording.implicit:
        raise ReadsEnclosingTrace(
            message(
                f"{name} captured a value of a function that is being traced, so it has no tape of its own",
                tries=["the value as an argument"],
            )
        )
    environment.close()
    static = tuple((k, x) for k, x in enumerate(leaves) if not leaf_kind(x)[0])
    tape = recording.tape.replace(in_tree=treedef, in_static=static, out_tree=recording.out_treedef)
    return tape, environment, recording.unrepeatable


def write_out(out: Any, result: Any) -> Any:
    """Write results into the arrays given with ``out=``, which have their structure, shapes and dtypes."""
    difference = tree.mismatch(tree.flatten(result)[1], out)
    if difference is not None:
        raise StructureError(message(f"out= {difference}"))
    targets = tree.flatten(out)[0]
    values = [x if hasattr(x, "dtype") else np.asarray(x) for x in tree.flatten(result)[0]]
    for k, (target, value) in enumerate(zip(targets, values, strict=True)):
        wanted = f"{value.dtype}{list(value.shape)}"
        if isinstance(target, np.ndarray) and not target.flags.writeable:
            raise StructureError(message(f"out{tree.path(out, k)}: the array is read-only"))
        if not isinstance(target, np.ndarray | Tracer) or target.shape != value.shape or target.dtype != value.dtype:
            raise StructureError(
                message(f"out{tree.path(out, k)}: expected an array {wanted}, got {tree.describe(target)}")
            )
    for target, value in zip(targets, values, strict=True):
        target[...] = value
    return out

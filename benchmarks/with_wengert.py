"""Run the workloads with wengert, as a user would write them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.workloads import Workload, one_after_another


@cache
def gradient(w: Workload) -> Any:
    return wg.jit(wg.grad(w.closed(), argnums=argnums(w)))


def argnums(w: Workload) -> Any:
    return w.wrt if w.wrt == 0 else tuple(range(len(w.positions)))  # of the closed function


@cache
def function(w: Workload) -> Any:
    return wg.jit(w.closed() if w.positions else w.f)


def inputs(w: Workload) -> tuple[Any, ...]:
    return tuple(w.active) if w.positions else w.args


def called(w: Workload) -> Callable[[], Any]:
    """Call it, with results in fresh arrays."""
    return one_after_another(partial(partial, gradient(w) if w.positions else function(w)), inputs(w), w.copies)


def bound(w: Workload) -> Callable[[], Any]:
    """Bind it, with results in given arrays."""
    return one_after_another(
        (gradient(w) if w.positions else function(w)).program(*inputs(w)).bind, inputs(w), w.copies
    )


def into(w: Workload) -> Callable[[], Any]:
    """Call it, with results written into given arrays."""
    g = gradient(w) if w.positions else function(w)
    out = g(*inputs(w))
    return partial(g, *inputs(w), out=out) if has_arrays(out) else partial(g, *inputs(w))


def has_arrays(out: Any) -> bool:
    return all(map(has_arrays, out)) if isinstance(out, tuple | list) else isinstance(out, np.ndarray)


def forward(w: Workload) -> Callable[[], Any]:
    return partial(function(w), *inputs(w))


def forward_bound(w: Workload) -> Callable[[], Any]:
    return function(w).program(*inputs(w)).bind(*inputs(w))


def unjitted(w: Workload) -> Callable[[], Any] | None:
    """Call it un-jitted: the Python function runs at every call, and its programs are found again."""
    return partial(wg.grad(w.closed(), argnums=argnums(w)), *inputs(w)) if w.positions else None


KINDS = {
    "called": called,
    "bound": bound,
    "out=": into,
    "forward": forward,
    "forward bound": forward_bound,
    "un-jitted": unjitted,
}


def facts(w: Workload) -> dict[str, float]:
    """Return counts of the gradient's program."""
    from wengert.codegen.compiler import Counters

    compiled = Counters.compiled
    program = (gradient(w) if w.positions else function(w)).program(*inputs(w))
    return {
        "instructions": len(wg.trace(w.closed() if w.positions else w.f)(*inputs(w))),
        "kernels": len(program.kernels),
        "callbacks": sum(k.kind == "callback" for k in program.kernels),
        "compiled": compiled,
        "compile_s": Counters.compile_s,
        "arena_bytes": program.arena_bytes,
        "arrays": program.arena_bytes // array_bytes(w) + sum(x.nbytes >= array_bytes(w) for x in leaves(called(w)())),
    }


def array_bytes(w: Workload) -> int:
    """Return the size of the largest argument."""
    return max([1, *[np.asarray(x).nbytes for x in leaves(w.args)]])


def leaves(x: Any) -> list[Any]:
    return [leaf for item in x for leaf in leaves(item)] if isinstance(x, tuple | list) else [np.asarray(x)]

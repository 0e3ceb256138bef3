"""Run the workloads with JAX: ``jit(grad(f))``, in double precision where NumPy is."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.workloads import Workload

jax.config.update("jax_enable_x64", True)


@cache
def compiled(w: Workload) -> Any:
    f = partial(w.f, xp=jnp)
    return jax.jit(jax.grad(f, argnums=w.wrt) if w.positions else f)


def called(w: Workload) -> Callable[[], Any]:
    """Call it with JAX's own arrays in and out, which suits it best."""
    g = compiled(w)
    args = jax.tree.map(jnp.asarray, w.args)

    def call() -> Any:
        result = g(*args)
        last(result).block_until_ready()  # the results of one program are ready together
        return result

    return call


def last(result: Any) -> Any:
    while isinstance(result, tuple | list):
        result = result[-1]
    return result


def with_numpy(w: Workload) -> Callable[[], Any]:
    """Call it with NumPy's arrays in and out, as ours."""
    g = compiled(w)
    return lambda: jax.tree.map(np.asarray, g(*w.args))


KINDS = {"called": called, "NumPy in and out": with_numpy}

"""Run the workloads with PyTorch, eagerly: ``torch.autograd.grad``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.workloads import Workload

torch.set_num_threads(1)


def called(w: Workload) -> Callable[[], Any]:
    def tensor(x: Any, is_active: bool) -> Any:
        if isinstance(x, tuple | list):
            return [tensor(v, is_active) for v in x]
        t = torch.as_tensor(x) if hasattr(x, "shape") else torch.tensor(x, dtype=torch.float64)
        return t.requires_grad_(is_active)

    args = [tensor(x, k in w.positions) for k, x in enumerate(w.args)]
    active = [leaf for k in w.positions for leaf in leaves(args[k])]
    return lambda: torch.autograd.grad(w.f(*args, xp=torch), active, materialize_grads=True)  # zeros for the unused


def leaves(x: Any) -> list[Any]:
    return [leaf for v in x for leaf in leaves(v)] if isinstance(x, list) else [x]


KINDS = {"called": called}

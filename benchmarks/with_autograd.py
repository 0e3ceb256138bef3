"""Run the workloads with autograd."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import autograd
import autograd.numpy as anp

from benchmarks.workloads import Workload


def called(w: Workload) -> Callable[[], Any]:
    return partial(autograd.grad(partial(w.f, xp=anp), w.wrt), *w.args)


KINDS = {"called": called}

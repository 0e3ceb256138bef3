"""SciPy's functions on traced values, under SciPy's own names: a file for each of SciPy's modules.

A file is loaded before the first trace that finds SciPy's module imported, and fills the tables of
:mod:`wengert.tracing.interception`. It stands above all that differentiates, so it may use :mod:`wengert` as users do.

Functions that are NumPy's too (``scipy.fft``, ``scipy.integrate.trapezoid``) are in :mod:`wengert.tracing.functions`,
beside NumPy's; ufuncs of ``scipy.special`` are ops: :mod:`wengert.ops.special`.
"""

from __future__ import annotations

import functools
from importlib import import_module

from wengert.tracing.interception.intercept import when_imported
from wengert.tree.nodes import await_classes

MODULES = (
    "cluster",
    "constants",
    "fft",
    "fftpack",
    "integrate",
    "linalg",
    "interpolate",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
)
"""The files here, each by the name of SciPy's module that it is for."""

for _name in MODULES:
    when_imported(f"scipy.{_name}")(functools.partial(import_module, f"{__name__}.{_name}"))

await_classes("scipy.sparse", functools.partial(import_module, f"{__name__}.sparse"))

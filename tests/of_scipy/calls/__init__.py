"""Arguments for the functions of SciPy's that are intercepted: a file for each of SciPy's modules, each with ``CALLS``.

:mod:`tests.tracing.test_untraced` calls the functions with them, without a trace and beside one.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from wengert.of_scipy import MODULES

Call = tuple[tuple[Any, ...], dict[str, Any]]

OF_SCIPY: dict[str, list[Call]] = {
    name: calls for module in MODULES for name, calls in import_module(f"{__name__}.{module}").CALLS.items()
}

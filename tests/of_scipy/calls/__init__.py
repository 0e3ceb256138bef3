"""Arguments for the functions of SciPy's that are intercepted: a file for each of SciPy's modules, each with ``CALLS``.

:mod:`tests.tracing.test_untraced` calls the functions with them, without a trace and beside one.
"""

from __future__ import annotations

from typing import Any

from tests.of_scipy.calls import integrate, ndimage, special

Call = tuple[tuple[Any, ...], dict[str, Any]]

OF_SCIPY: dict[str, list[Call]] = {
    name: calls for module in (integrate, ndimage, special) for name, calls in module.CALLS.items()
}

"""Make our threads known to threadpoolctl: ``threadpool_info()`` lists them, and ``threadpool_limits(1)`` limits them,
as those of BLAS.

threadpoolctl is never imported here: a program that limits threads has imported it.
"""

from __future__ import annotations

import sys
from functools import cache
from types import ModuleType
from typing import Any


def register() -> None:
    """Make our threads known to threadpoolctl, if it has been imported; from then on this costs nothing."""
    threadpoolctl = sys.modules.get("threadpoolctl")
    if threadpoolctl is not None and hasattr(threadpoolctl, "register"):  # neither old nor only half imported
        _register(threadpoolctl)


@cache
def _register(threadpoolctl: ModuleType) -> None:
    base: Any = threadpoolctl.LibController

    class WengertController(base):
        user_api = internal_api = "wengert"
        filename_prefixes = ("_native",)  # the extension, and any other of that name, but for the symbols:
        check_symbols = ("wengert_get_threads", "wengert_set_threads")

        def get_num_threads(self) -> int:
            return self.dynlib.wengert_get_threads()

        def set_num_threads(self, num_threads: int) -> None:
            self.dynlib.wengert_set_threads(num_threads)

        def get_version(self) -> None:
            """None: reading it from the package's metadata takes longer than all else here."""

    threadpoolctl.register(WengertController)

"""A function that counts its calls, which therefore cannot be recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Counted:
    """``inner``, and how often it was called through this object."""

    def __init__(self, inner: Callable[..., Any]) -> None:
        self.inner, self.count = inner, 0

    def __call__(self, *args: Any) -> Any:
        self.count += 1
        return self.inner(*args)

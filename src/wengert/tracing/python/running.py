"""Which functions run: what stands in the others is no reason for anything.

A function is known by the place where it is written, since a copy of it that is traced may have code of its own.
"""

from __future__ import annotations

from types import CodeType
from typing import NamedTuple


class Written(NamedTuple):
    """Where a function is written."""

    file: str
    line: int
    name: str


def written_at(code: CodeType) -> Written:
    """Return where the function of this code is written."""
    return Written(code.co_filename, code.co_firstlineno, code.co_qualname)

"""Where in the user's code a step comes from."""

from __future__ import annotations

from typing import NamedTuple


class Source(NamedTuple):
    """Where in the user's code a step comes from; ``parent`` is the call that led there."""

    file: str
    line: int
    function: str
    parent: Source | None = None
    role: str = ""
    """"" for what the user wrote, "tangent" or "cotangent" for what a transform added to it, "9 iterations" for what
    stands in place of so many."""

    @property
    def where(self) -> str:
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}"

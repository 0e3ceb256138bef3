"""The programs of a compiled function: for one signature in one environment, one a path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wengert.runtime import _native
from wengert.runtime.paths import Path, Paths
from wengert.runtime.program import Program
from wengert.tracing.surroundings.environment import Environment


@dataclass
class Compiled:
    """One path of one signature, ready to run."""

    program: Program
    out_tree: Any
    environment: Environment
    path: Path = ()
    special: Specialisation | None = None
    entry: _native.Entry | None = None
    """For the runtime: when to run this without asking Python. None where its arguments have objects in them."""
    signature: Any = None
    written: tuple[int, ...] = ()
    """The inputs that the function writes: no other may share their memory."""
    calls_seen: int = 0
    """How many calls the runtime had answered with ``entry`` when somebody last looked."""


class Specialisation:
    """The programs of one signature in one environment."""

    def __init__(self, name: str, environment: Environment) -> None:
        self.environment = environment
        self.paths: Paths[Compiled] = Paths(name)

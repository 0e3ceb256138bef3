"""The programs of a compiled function: for one signature in one environment, one program for each path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wengert.ops.printing import quietly
from wengert.passes.number_guards import guards_alone
from wengert.runtime import _native
from wengert.runtime.paths import Path, Paths
from wengert.runtime.program import Program
from wengert.runtime.reference import Reference
from wengert.runtime.tiered import Earning
from wengert.tape import Tape
from wengert.tracing.record import same_memory, shares_memory, sharing
from wengert.tracing.signature import Signature
from wengert.tracing.surroundings.environment import Environment

MAX_ENVIRONMENTS = 8
"""The most specialisations that are kept of one signature. Captured variables may change to and fro among as many
values; if they take new values at every call, old specialisations are dropped."""


@dataclass(eq=False, repr=False)
class Compiled:
    """One path of one signature, with its tape and program."""

    tape: Tape
    environment: Environment
    path: Path = ()
    in_strides: Sequence[tuple[int, ...] | None] = ()
    is_fast: bool = False
    special: Specialisation | None = None
    entry: _native.Entry | None = None
    """The conditions under which the runtime runs this without asking Python; None if it cannot compare the
    arguments."""
    signature: Signature | None = None
    written: tuple[int, ...] = ()
    """The inputs that the function writes: no other may share their memory."""
    donated: tuple[int, ...] = ()
    """The inputs that results may be written over."""
    calls_seen: int = 0
    """The number of calls that the runtime had answered with ``entry`` when the order of use was last updated."""
    earning: Earning | None = None
    """The account of runs that NumPy answers for; None once there is machine code, or where none of them shall be."""
    _program: Program | None = None

    @property
    def program(self) -> Program:
        """The machine code, which is made when it is first asked for.

        Two threads may make it at once. It is not a ``cached_property``: in Python 3.11 that holds one lock for all
        objects of the class meanwhile, and a child process that is forked then would wait for it.
        """
        program = self._program
        if program is None:
            options = {"in_strides": self.in_strides, "is_fast": self.is_fast, "donated": self.donated}
            program = Program(self.tape, by_numpy=self.earning is not None, **options)
            self._program = program
        return program

    @property
    def made(self) -> Program | None:
        """The program, if it was asked for already."""
        return self._program

    def count_a_run(self) -> bool:
        """Count a run, and say whether machine code takes over from NumPy now."""
        is_earned = self.earning is not None and self.earning.is_earned()
        if is_earned:
            function = None if self._program is None else self._program.function
            self.earning = self._program = None
            self.program.function = function
        return is_earned

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Run the program; a donated input that shares memory with another one is not written."""
        return self.program.run(self.apart(inputs))

    def look(self, inputs: Sequence[Any]) -> list[Any]:
        """Raise GuardMiss if these inputs take another path. Only steps that guards depend on are run."""
        if self.path:
            quietly(Reference(guards_alone(self.tape)).run, inputs)
        return []

    def apart(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Return ``inputs`` with a copy of each donated one that shares memory with another or a captured array."""
        if not self.donated:
            return inputs
        shared = set(sharing([*inputs, *[c.array for c in self.tape.captures]])).intersection(self.donated)
        return [x.copy() if k in shared else x for k, x in enumerate(inputs)]


class Specialisation:
    """The programs of one signature in one environment."""

    def __init__(self, name: str, environment: Environment) -> None:
        self.environment = environment
        self.paths: Paths[Compiled] = Paths(name)


def check_not_shared(compiled: Compiled, inputs: Sequence[Any]) -> None:
    """Raise if an input that the function writes shares memory with another, or with an array that it captured."""
    captured = [c.array for c in compiled.tape.captures]
    if any(shares_memory(inputs[k], x) for k in compiled.written for x in (*inputs[:k], *inputs[k + 1 :], *captured)):
        raise same_memory(compiled.tape.name)

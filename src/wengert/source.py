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
    """"" for what the user wrote, "tangent" or "cotangent" for what a transform added to it."""
    of: str = ""
    """The op of the user's whose derivative the step belongs to, and which: "cotangent of sqrt"; empty for what the
    user wrote."""
    stands_for: str = ""
    """The iterations of a loop that one step does in the place of many: "9 iterations", "any number of iterations"."""

    def derived(self, role: str, name: str) -> Source:
        """The source of a step in a derivative of an op called ``name``, which has this source itself."""
        of = f"{role} of {name}"
        if self.of and " in the " not in self.of:  # one level more tells enough, however often it is differentiated
            of = f"{of} in the {self.of}"
        return Source(self.file, self.line, self.function, self.parent, role, of, self.stands_for)

    @property
    def what(self) -> str:
        """Return what is special about the step, for printing: its role, and what it stands for."""
        return ", ".join([text for text in (self.role, self.stands_for) if text])

    @property
    def where(self) -> str:
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}"

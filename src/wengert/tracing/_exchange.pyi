"""Functions of Python's that are C code, and classes of numbers, exchanged for others where a value is traced.

``looks`` says how much of its arguments a function looks at: 0 at themselves; 1 also at the items of lists and tuples;
2 the same, and any other iterable is handed on; 3 at the first of three; 5 of a method, at nothing: the replacement is
asked, with the object before the arguments, and says NotImplemented where the method shall run.
"""

from collections.abc import Callable
from typing import Any

def setup(traced: type, /) -> None: ...
def enroll(callee: Any, replacement: Callable[..., Any], looks: int = 0, /) -> bool: ...
def open() -> None: ...
def close() -> None: ...

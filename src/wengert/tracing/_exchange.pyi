"""Functions of Python's that are C code, classes of numbers, and attributes that C code sets, exchanged for others
where a value is traced.

``looks`` says how much of its arguments a function looks at: 0 at themselves; 1 also at the items of lists and tuples;
2 the same, and any other iterable is handed on; 3 at the first of three; 5 of a method, at nothing: the replacement is
asked, with the object before the arguments, and says NotImplemented where the method shall run. The replacement of an
attribute is asked so, too, with the object and the new value.
"""

from collections.abc import Callable
from typing import Any

def setup(traced: type, /) -> None: ...
def enroll(callee: Any, replacement: Callable[..., Any], looks: int = 0, /) -> bool: ...
def open() -> None: ...
def close() -> None: ...

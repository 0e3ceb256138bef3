"""A traced array needs functions of files that stand above it: each has a slot, which its file fills.

A step on a traced array makes traced arrays. So operators, indexing and the functions of NumPy import
:mod:`~wengert.tracing.tracer`, and the tracer, and what it stands on, cannot import them; it calls them by these names.
Beside the definition of each stands the one line that fills its slot: ``hooks.getitem = getitem``.

NumPy's functions are in ``HANDLED_FUNCTIONS``, by the function itself; of them only ``array`` stands here too.
A slot is a name of this module, which is read as fast as any other global.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from wengert.errors import InternalError

if TYPE_CHECKING:
    from types import FrameType

    import numpy as np

    from wengert.ops.op import Op
    from wengert.tracing.functions.flat import Flat as _Flat
    from wengert.tracing.functions.memory import Flags as _Flags
    from wengert.tracing.trace import Trace as _Trace
    from wengert.tracing.tracer import Tracer as _Tracer


class _Array(Protocol):
    def __call__(self, object: Any, dtype: Any = None, /) -> Any: ...


def _from(file: str, name: str) -> Any:
    """A slot holds this until ``file`` has been imported, which fills it."""

    def unfilled(*args: Any, **kwargs: Any) -> Any:
        raise InternalError(f"hooks.{name} is not filled, because tracing/{file} has not been imported")

    return unfilled


# The classes, to tell their objects by: ``type(x) is hooks.Tracer``. There is none before the slot is filled.
Tracer: type[_Tracer] = _from("tracer.py", "Tracer")
Flat: type[_Flat] = _from("functions/flat.py", "Flat")
Flags: type[_Flags] = _from("functions/memory.py", "Flags")

# Operators: ``binary(np.add, x, y)``.
unary: Callable[[Any, _Tracer], Any] = _from("operators.py", "unary")
binary: Callable[[Any, Any, Any], Any] = _from("operators.py", "binary")
compare: Callable[[Any, _Tracer, Any], Any] = _from("operators.py", "compare")
in_place: Callable[[Any, _Tracer, Any], Any] = _from("operators.py", "in_place")
python_number: Callable[[_Tracer], Any] = _from("operators.py", "python_number")

# Ufuncs: one op on its operands; any other call, or method, of one.
apply_ufunc: Callable[[Any, Op, Sequence[Any]], Any] = _from("operators.py", "apply_ufunc")
call_ufunc: Callable[[np.ufunc, str, Sequence[Any], dict[str, Any]], Any] = _from("functions/ufuncs.py", "call_ufunc")

# Indexing.
getitem: Callable[[_Tracer, Any], Any] = _from("indexing.py", "getitem")
setitem: Callable[[_Tracer, Any, Any], None] = _from("indexing.py", "setitem")

# What a list is stacked by, and what calls a function that nobody traces where nothing traced goes in.
array: _Array = _from("functions/creation.py", "array")
of_constants: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any] = _from(
    "functions/creation.py", "of_constants"
)

# How a step is recorded, and how a constant is made.
record: Callable[[Op, Sequence[Any], dict[str, Any]], Any] = _from("emit.py", "record")
new_constant: Callable[[_Trace, Any, bool], _Tracer] = _from("emit.py", "new_constant")

# Whether a frame runs the code of an intercepted function, which asks whether the replacement answers.
asks_who_answers: Callable[[FrameType], bool] = _from("interception/python_functions.py", "asks_who_answers")

"""A program that NumPy answers, bound to its arrays: the counterpart of the extension's ``Bound``.

A call reads the inputs where they lie, as they are then, and writes the results into the arrays that it was bound to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from wengert.tape import Aval, Tape
from wengert.tracing.record import shares_memory


class BoundReference:
    """A function of no arguments, which ``Program.bind`` returns without machine code. A call returns ``result``.

    Raises ValueError for arrays that cannot be read or written where they lie: machine code could not either.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Any]], list[Any]],
        tape: Tape,
        inputs: Sequence[Any],
        outputs: Sequence[np.ndarray[Any, Any]],
        result: Any,
    ) -> None:
        self._run, self._inputs, self._result = run, tuple(inputs), result
        self.outputs = tuple(outputs)
        """The arrays that each call writes."""
        for k, (x, v) in enumerate(zip(inputs, tape.inputs, strict=True)):
            if isinstance(x, np.ndarray) and x.size and not (x.flags.c_contiguous and x.flags.aligned):
                why = "it cannot be read where it lies; bind a contiguous copy"
                raise ValueError(f"input {k}: expected {v.aval}, got {Aval(x.shape, x.dtype)}: {why}")
        for k, x in enumerate(outputs):
            if not x.flags.writeable:
                raise ValueError(f"out {k}: the array is read-only")
            if not (x.flags.c_contiguous and x.flags.aligned):
                raise ValueError(f"out {k}: the array is not contiguous and aligned")
        for k, x in enumerate(outputs):
            others = chain(inputs, [c.array for c in tape.captures], outputs[:k])
            if any(shares_memory(x, other) for other in others if isinstance(other, np.ndarray)):
                raise ValueError(f"out {k} shares memory with an array that is read, or with another of out")

    def __call__(self) -> Any:
        for target, value in zip(self.outputs, self._run(self._inputs), strict=True):
            target[...] = value
        return self._result

"""``out=``: results are written into arrays of the caller's, which have their structure, shapes and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import tree
from wengert.errors import ShapeError, StructureError, message
from wengert.tape import Tape
from wengert.tracing.tracer import Tracer


def write_out(out: Any, result: Any) -> Any:
    """Write the results of a call into ``out``, and return it. Nothing is written unless all of them fit."""
    difference = tree.mismatch(tree.flatten(result)[1], out)
    if difference is not None:
        raise StructureError(message(f"out= {difference}"))
    targets = tree.flatten(out)[0]
    values = [x if hasattr(x, "dtype") else np.asarray(x) for x in tree.flatten(result)[0]]
    for k, (target, value) in enumerate(zip(targets, values, strict=True)):
        wanted = f"{value.dtype}{list(value.shape)}"
        if isinstance(target, np.ndarray) and not target.flags.writeable:
            raise StructureError(message(f"out{tree.path(out, k)}: the array is read-only"))
        if not isinstance(target, np.ndarray | Tracer) or target.shape != value.shape or target.dtype != value.dtype:
            raise StructureError(
                message(f"out{tree.path(out, k)}: expected an array {wanted}, got {tree.describe(target)}")
            )
    for target, value in zip(targets, values, strict=True):
        target[...] = value
    return out


def targets_of(out: Any, tape: Tape) -> list[Any]:
    """The arrays in ``out`` into which a program of ``tape`` can write its results without a copy."""
    if tape.out_tree is not None:
        difference = tree.mismatch(tape.out_tree, out)
        if difference is not None:
            raise StructureError(message(f"{tape.name}: out: {difference}"))
    targets = tree.flatten(out)[0]
    if len(targets) != len(tape.outputs):
        raise StructureError(message(f"{tape.name}: out: expected {len(tape.outputs)} arrays"))
    for k, (target, a) in enumerate(zip(targets, tape.outputs, strict=True)):
        if not isinstance(target, np.ndarray) or target.shape != a.aval.shape or target.dtype != a.aval.dtype:
            got = tree.describe(target)
            raise ShapeError(message(f"{tape.name}: out{tree.path(out, k)}: expected {a.aval}, got {got}"))
    return targets

"""The partial derivatives of an op, and the errors for a rule that is missing: both modes use these."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from wengert.errors import MissingRuleError, message
from wengert.ops.elementwise import isinf
from wengert.ops.op import NONE, ZERO, partials_of, rule_for
from wengert.tape import Instr, Lit


def partial_of(instr: Instr, k: int, nan_safe: bool = False) -> Any:
    """∂y/∂x_k of an elementwise instruction, emitted on the current builder: an atom, a number or a Masked.

    ``nan_safe`` is for the partials that are themselves made by reverse mode.
    """
    op, ins, outs, params, _ = instr
    rule = rule_for(partials_of(op, params), k)
    assert rule is not ZERO and rule is not NONE
    try:
        if nan_safe and op.has_derived_partials:
            return rule(*ins, outs[0], nan_safe=True)
        return rule(*ins, outs[0]) if callable(rule) else rule
    except MissingRuleError as error:
        name_missing(error, instr, k)


def name_missing(error: MissingRuleError, instr: Instr, k: int) -> NoReturn:
    """Raise ``error``, which says that a rule is not written, with the op, the operand and the user's line."""
    if error.__cause__ is not None or "\n" in str(error):  # it has been named
        raise error
    raise MissingRuleError(
        message(
            f"{instr.op.name}: the derivative with respect to operand {k} was not written: {error}",
            instr.source,
            tries=["wg.stop_gradient around the operand, if it is to count as a constant"],
        )
    ) from error


def fixed_at(instr: Instr, k: int) -> Any:
    """Emit the mask of where the result of an instruction is infinite whatever operand ``k`` is; None if nowhere."""
    op, ins, _, _, _ = instr
    by = op.fixed_by[k] if op.fixed_by else None
    if by is None or not (other := ins[by]).aval.is_inexact or (isinstance(other, Lit) and np.isfinite(other.value)):
        return None
    return isinf(other)


def no_rule(instr: Instr, kind: str) -> MissingRuleError:
    """The error for an op that has neither a transpose nor a ``kind``, which is "pushforward" or "pullback"."""
    return MissingRuleError(
        message(
            f"{instr.op.name} has no {kind}",
            instr.source,
            tries=["wg.primitive with a rule of your own", "wg.stop_gradient, if it is to count as a constant"],
        )
    )

"""What both modes ask of an op: its partial derivatives, which operands it is linear in, and what is said if a rule
is not there.
"""

from __future__ import annotations

from typing import Any

from wengert.ad.activity import has_derivative
from wengert.errors import MissingRuleError, WengertError, message
from wengert.ops.op import NONE, ZERO, partials_of, rule_for
from wengert.tape import Instr


def no_rule(instr: Instr, kind: str) -> WengertError:
    return MissingRuleError(
        message(
            f"{instr.op.name} has no {kind}",
            instr.source,
            tries=["wg.primitive with a rule of your own", "wg.stop_gradient, if it is to count as a constant"],
        )
    )


def partial_of(instr: Instr, k: int) -> Any:
    """∂y/∂x_k of an elementwise instruction, emitted on the current builder: an atom, a number or a Masked."""
    op, ins, outs, params, _ = instr
    rule = rule_for(partials_of(op, params), k)
    assert rule is not ZERO and rule is not NONE
    return rule(*ins, outs[0]) if callable(rule) else rule


def is_linear_operand(instr: Instr, k: int) -> bool:
    return has_derivative(instr.op, k, instr.params)

"""A user's scalar function as one op: what ``wg.broadcast(f, *arrays)`` records."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.ops.elementwise import convert, select
from wengert.ops.kernels import MapTape
from wengert.ops.op import NONE, ZERO, broadcast_shapes, elementwise, partials_of, rule_for
from wengert.ops.structured import Masked
from wengert.tape import Atom, Aval, Lit, Tape


def _map_reference(*xs: Any, body: Tape) -> Any:
    """Run the scalar tape once on whole arrays: its steps are elementwise, so they broadcast."""
    env: dict[Any, Any] = dict(zip(body.inputs, xs, strict=True))
    env.update((c.var, c.array) for c in body.captures)
    for op_, ins, outs, params, _ in body.instrs:
        env[outs[0]] = op_.reference(*[a.value if type(a) is Lit else env[a] for a in ins], **params)
    a = body.outputs[0]
    y = a.value if type(a) is Lit else env[a]
    return np.array(np.broadcast_to(y, np.broadcast_shapes(*[np.shape(x) for x in xs])))


def _map_type(*avals: Aval, body: Tape) -> Aval:
    return Aval(broadcast_shapes("broadcast", *avals), body.outputs[0].aval.dtype)


def _map_partials(body: Tape) -> list[Any]:
    """∂body/∂x_k as the formula itself: the body is replayed on the operands and differentiated there."""
    return [_body_partial(body, k) for k in range(len(body.inputs))]


def _body_partial(body: Tape, k: int) -> Any:
    def partial(*xs_y: Any) -> Any:
        xs = xs_y[:-1]
        env: dict[Atom, Atom] = dict(zip(body.inputs, xs, strict=True))
        tangents: dict[Atom, Any] = {body.inputs[k]: Lit(1, xs[k].aval.dtype)}
        for op_, ins, outs, params, _ in body.instrs:
            operands = [env.get(a, a) for a in ins]
            y = op_(*operands, **params)
            env[outs[0]] = y
            rules = partials_of(op_, params)
            total: Any = None
            for j, a in enumerate(ins):
                rule = rule_for(rules, j)
                if a not in tangents or rule is ZERO or rule is NONE:
                    continue
                term = _chain(rule, operands, y, tangents[a])
                total = term if total is None else total + term
            if total is not None:
                tangents[outs[0]] = convert(total, dtype=y.aval.dtype)
        return tangents.get(body.outputs[0], 0)

    return partial


def _chain(rule: Any, operands: list[Atom], y: Atom, dx: Atom) -> Any:
    p = rule(*operands, y) if callable(rule) else rule
    if isinstance(p, Masked):
        value, zero = dx if p.value == 1 else p.value * dx, Lit(0, dx.aval.dtype)
        return select(p.mask, value, zero) if p.holds else select(p.mask, zero, value)
    return p * dx


map_scalar = elementwise(  # wg.broadcast(f, *arrays): one instruction, whatever f is made of
    _map_reference,
    name="map",
    type=_map_type,
    partials=[],
    scalar_partials=_map_partials,
    kernel=MapTape(),
    is_variadic=True,
    cost=lambda *avals, body: len(body) * max((a.size for a in avals), default=1),
)

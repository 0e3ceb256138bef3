"""``map_scalar``: a user's scalar function as one op, which ``wg.broadcast(f, *arrays)`` records.

The parameter ``body`` is the function's tape, of numbers. Reverse mode with a cotangent of one turns it into its
partial derivatives: steps on numbers again. They are emitted anew on the operands, where they are a formula like that
of any elementwise op: it can be differentiated again, batched and fused. Where the body selects, its derivative selects
in the same way. ``nan_safe`` holds for the cotangents within the body too, in forward mode as well, since the partials
are made by reverse mode in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from wengert.ad.activity import active_operands
from wengert.ad.reverse import cotangents
from wengert.edit import ancestors, played
from wengert.ops.kernels import MapTape
from wengert.ops.op import ZERO, broadcast_shapes, elementwise
from wengert.ops.shape import broadcast_to
from wengert.ops.structured import Masked
from wengert.tape import Atom, Aval, Builder, Instr, Lit, Tape, Var, building

NOWHERE = Masked(Lit(False), 0)  # the partial of one branch of a selection within the other


def _map_reference(*xs: Any, body: Tape) -> Any:
    """Run the body once, on whole arrays: its steps are elementwise, so they broadcast."""
    y = played(body, *xs)[body.outputs[0]]
    return np.array(np.broadcast_to(y, np.broadcast_shapes(*[np.shape(x) for x in xs])))


def _map_type(*avals: Aval, body: Tape) -> Aval:
    return Aval(broadcast_shapes("broadcast", *avals), body.outputs[0].aval.dtype)


@lru_cache(maxsize=1024)
def _map_partials(body: Tape) -> Sequence[Any]:
    moving = _moving(body)
    return tuple([partial(_partial, body, k) if x in moving else ZERO for k, x in enumerate(body.inputs)])


def _moving(body: Tape) -> set[Atom]:
    """The values that the output depends on, through steps that have a derivative there."""
    found: set[Atom] = set(body.outputs)
    for instr in reversed(body.instrs):
        if not found.isdisjoint(instr.outs):
            found.update([instr.ins[k] for k in active_operands(instr, set(instr.ins))])
    return found


def _partial(body: Tape, k: int, *xs_y: Atom, nan_safe: bool = False) -> Any:
    """∂body/∂x_k at the operands, as a formula on the current builder; it may read the output."""
    steps, result = _derivative(body, k, nan_safe)
    values: dict[Atom, Atom] = dict(zip((*body.inputs, *body.outputs), xs_y, strict=True))
    for op, ins, outs, params, _ in steps:
        values[outs[0]] = op(*[values.get(a, a) for a in ins], **params)
    if isinstance(result, Masked):
        return result._replace(mask=values.get(result.mask, result.mask), value=values.get(result.value, result.value))
    return values.get(result, result)


@lru_cache(maxsize=1024)
def _derivative(body: Tape, k: int, nan_safe: bool) -> tuple[list[Instr], Any]:
    """Steps on numbers that compute ∂body/∂x_k, and their result: an atom, or a Masked where it counts in part.

    No step computes the output of the body again: a formula may read the output as it is."""
    (y,) = body.outputs
    with building(Builder(start=body.instrs)) as builder:
        (ct,) = cotangents(body, [body.inputs[k]], [y], [Lit(1, y.aval.dtype)], nan_safe)
    if ct is None:
        return [], NOWHERE
    steps = body.replace(instrs=tuple([i for i in builder.instrs if y not in i.outs]))
    results = ct[:2] if isinstance(ct, Masked) else [ct]
    return ancestors(steps, [a for a in results if type(a) is Var]), ct


def _unrolled(run: Any, look: Any, *xs: Atom, body: Tape) -> Any:
    """The steps of the body on whole arrays."""
    values: dict[Atom, Atom] = dict(zip(body.inputs, xs, strict=True))
    for op, ins, outs, params, _ in body.instrs:
        values[outs[0]] = op(*[values.get(a, a) for a in ins], **params)
    y = values.get(body.outputs[0], body.outputs[0])
    return [broadcast_to(y, shape=broadcast_shapes("broadcast", *[x.aval for x in xs]))]


map_scalar = elementwise(
    _map_reference,
    name="map",
    type=_map_type,
    partials=_map_partials,
    kernel=MapTape(),
    unrolled=_unrolled,
    is_variadic=True,
    has_derived_partials=True,
    cost=lambda *avals, body: len(body) * max((a.size for a in avals), default=1),
)

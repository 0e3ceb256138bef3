"""``cond``: one of several tapes, chosen when the program runs.

Its tangent is that of the branch that is taken, and so is its cotangent, for which the branch is run again. In a batch
whose examples choose differently, all branches are computed and selected from: a branch not taken leaks no NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from wengert.ad.activity import active_operands
from wengert.edit import played
from wengert.higher.bodies import batched, for_some, over_examples, pulled, pushed, select_outputs
from wengert.ops.control import Expected, guard
from wengert.ops.elementwise import equal, select
from wengert.ops.kernels import Alternatives
from wengert.ops.op import NONE, Body, Op, named
from wengert.ops.shape import broadcast_to
from wengert.tape import Atom, Aval, Instr, Lit, Tape, current_builder, splice


def _cond(index: Any, *operands: Any, branches: tuple[Tape, ...], wrt: Any) -> Any:
    """The branch number ``index``, clipped to those there are."""
    branch = branches[min(max(int(index), 0), len(branches) - 1)]
    values = played(branch, *operands)
    results = tuple([np.array(values[a]) for a in branch.outputs])
    return results if len(results) != 1 else results[0]


def _cond_type(index: Aval, *avals: Aval, branches: tuple[Tape, ...], wrt: Any) -> tuple[Aval, ...]:
    return branches[0].out_avals


def _cost(index: Aval, *avals: Aval, branches: tuple[Tape, ...], wrt: Any) -> float:
    return max(sum([float(i.op.cost(*[a.aval for a in i.ins], **i.params)) for i in b.instrs]) for b in branches)


def _inexact(branches: tuple[Tape, ...]) -> tuple[int, ...]:
    return tuple([k for k, a in enumerate(branches[0].outputs) if a.aval.is_inexact])


def _several(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def _pushforward(xs: Any, dxs: Any, y: Any, *, branches: tuple[Tape, ...], wrt: Any) -> Any:
    moving = tuple([k - 1 for k, dx in enumerate(dxs) if dx is not None and k])
    outputs, count = _inexact(branches), len(branches[0].outputs)
    joint = tuple([select_outputs(pushed(b, moving, outputs), range(count, count + len(outputs))) for b in branches])
    found = iter(_several(cond(*xs, *[dxs[k + 1] for k in moving], branches=joint, wrt=None)))
    tangents = [next(found) if k in outputs else None for k in range(count)]
    return tangents if count > 1 else tangents[0]


def keep(instr: Instr, active: Any) -> Instr:
    """Return the ``cond`` with a note of the operands for which a pullback will be asked."""
    wrt = tuple([k - 1 for k in active_operands(instr, active) if k])
    return instr._replace(params={**instr.params, "wrt": wrt})


@lru_cache(maxsize=4096)
def _back(branch: Tape, wrt: tuple[int, ...], outputs: tuple[int, ...]) -> Tape:
    count = len(branch.outputs)
    return select_outputs(pulled(branch, wrt, outputs), range(count, count + len(wrt)))


def _pullback(ct: Any, *xs_y: Any, operand: int, branches: tuple[Tape, ...], wrt: Any) -> Any:
    xs, outputs = xs_y[:-1], _inexact(branches)
    if wrt is None:
        wrt = tuple([k for k, x in enumerate(xs[1:]) if x.aval.is_inexact])
    joint = tuple([_back(b, wrt, outputs) for b in branches])
    results = _several(cond(*xs, *[_several(ct)[k] for k in outputs], branches=joint, wrt=None))
    return results[wrt.index(operand - 1)] if operand - 1 in wrt else None


def _batch(xs: Sequence[Atom], flags: Sequence[bool], size: int, *, branches: tuple[Tape, ...], wrt: Any) -> Any:
    wide = tuple([batched(b, tuple(flags[1:]), size) for b in branches])
    if not flags[0]:
        return cond(*xs, branches=wide, wrt=None)
    if len(wide) == 1:
        return tuple(splice(current_builder(), wide[0], xs[1:], ()))
    last = len(wide) - 1  # an index beyond the branches means the nearest one
    taken = [~(xs[0] > 0), *[equal(xs[0], k) for k in range(1, last)], xs[0] > last - 1]
    results = [
        splice(current_builder(), branch, for_some(is_taken, xs[1:], flags[1:]), ())
        for branch, is_taken in zip(wide, taken, strict=True)
    ]
    chosen = results[last]
    for k in reversed(range(last)):
        chosen = [
            select(broadcast_to(over_examples(taken[k], y), shape=y.aval.shape), y, z)
            for y, z in zip(results[k], chosen, strict=True)
        ]
    return tuple(chosen)


def _unrolled(run: Any, look: Any, index: Atom, *operands: Atom, branches: tuple[Tape, ...], wrt: Any) -> Any:
    """The branch that is taken, and a guard of its number."""
    taken = look(index)
    if type(index) is not Lit:
        guard(index, expected=Expected(taken), position=0, kind="cond")
    return run(branches[min(max(int(taken), 0), len(branches) - 1)], operands)


cond = named(
    Op(  # an index, and the operands that every branch takes -> the results of one branch
        name="cond",
        reference=_cond,
        type=_cond_type,
        kernel=Alternatives(),
        cost=_cost,
        pushforward=_pushforward,
        pullback=(NONE, _pullback),
        batch=_batch,
        keep=keep,
        kept_in="wrt",
        bodies=lambda branches, wrt: [Body(branch, 1) for branch in branches],
        unrolled=_unrolled,
        is_variadic=True,
    )
)

"""``chain``: the derivative of a recurrence whose states have been computed already.

An adaptive solver finds its steps as it goes; its decisions have no derivative, and the steps that it rejected are of
no interest. The recurrence ys[k+1] = step(ys[k], xs[k]) over the steps that it kept has a derivative. The value of a
chain is ``ys`` as it is. Forward mode carries tangents along the chain, reverse mode carries a cotangent from its end
back, one step at a time: both are loops over the states that are stored already.

Source: Hairer, Nørsett, Wanner (1993), Solving Ordinary Differential Equations I, section II.6 (the discrete adjoint).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from wengert.ad.activity import active_operands
from wengert.higher.bodies import alive, pulled, pushed
from wengert.higher.loops import TapeWhile, one_by_one, while_
from wengert.ops.elementwise import add, greater, less
from wengert.ops.index import INTP, gather, scatter_set
from wengert.ops.kernels import View, free, whole
from wengert.ops.op import Op, named
from wengert.ops.shape import zeros
from wengert.tape import Atom, Aval, Builder, Instr, Lit, Tape, Var, building, splice


class Recurrence(NamedTuple):
    """A step as a tape: it takes constants, a state and a slice of each stack, and gives the next state."""

    step: Tape
    constants: int

    @property
    def state(self) -> int:
        """The number of the state among the inputs of the step."""
        return self.constants


FIRST = 2
"""The number of the operand at which the inputs of the step begin. The operands are the stacked states, the number of
steps taken, then the inputs of the step: its constants, the first state, and whole stacks in the place of slices."""


def _tangent_loop(chain: Recurrence, avals: Sequence[Aval], wrt: tuple[int, ...]) -> TapeWhile:
    """The loop of forward mode. It carries k and the tangents of all states; it reads the states, the operands of the
    step, and the tangents of those operands that move."""
    return _made(chain, tuple(avals), wrt, _tangent_body)


def _cotangent_loop(chain: Recurrence, avals: Sequence[Aval], wrt: tuple[int, ...]) -> TapeWhile:
    """The loop of reverse mode. It carries k, the cotangent of state k, and the cotangents of the step's operands; it
    reads the states, the operands of the step, and the given cotangents of all states."""
    return _made(chain, tuple(avals), wrt, _cotangent_body)


@lru_cache(maxsize=1024)
def _made(
    chain: Recurrence, avals: tuple[Aval, ...], wrt: tuple[int, ...], make: Callable[..., TapeWhile]
) -> TapeWhile:
    return make(chain, avals, wrt)


def _at(chain: Recurrence, values: Sequence[Atom], states: Atom, k: Atom) -> list[Any]:
    """Return the inputs of step number ``k``: the constants, state ``k``, and slice ``k`` of each stack."""
    constants, stacks = values[: chain.state], values[chain.state + 1 :]
    return [*constants, gather(states, k), *[gather(x, k) for x in stacks]]


def _test(compare: Any, operands: Sequence[Aval], carries: Sequence[Aval]) -> Tape:
    inputs = [Var(a) for a in (*operands, *carries)]
    builder = Builder()
    with building(builder):
        holds = compare(inputs[len(operands)], inputs[0] if operands else Lit(0, INTP))
    return alive(Tape(inputs=tuple(inputs), captures=(), instrs=builder.instrs, outputs=(holds,)))


def _tangent_body(chain: Recurrence, avals: tuple[Aval, ...], wrt: tuple[int, ...]) -> TapeWhile:
    states, takes = avals[0], avals[FIRST:]
    moving = [k for k in wrt if k != chain.state]
    constants = [Var(a) for a in (states, *takes, *[takes[k] for k in moving])]
    k, tangents = Var(Aval((), INTP)), Var(states)
    all_wrt = tuple(sorted({*wrt, chain.state}))
    builder = Builder()
    with building(builder):
        given = dict(zip(moving, constants[1 + len(takes) :], strict=True))
        at = _at(chain, constants[1 : 1 + len(takes)], constants[0], k)
        d_at = [_slice_of(chain, j, given, tangents, k) for j in all_wrt]
        (_, following) = splice(builder, pushed(chain.step, all_wrt, (0,)), [*at, *d_at], ())
        after = add(k, 1)
        written = scatter_set(tangents, following, after)
    body = Tape(inputs=(*constants, k, tangents), captures=(), instrs=builder.instrs, outputs=(after, written))
    return TapeWhile(_test(less, [Aval((), INTP)], [k.aval, states]), alive(body), 1, len(constants))


def _slice_of(chain: Recurrence, j: int, given: dict[int, Var], tangents: Var, k: Var) -> Any:
    if j == chain.state:
        return gather(tangents, k)
    return given[j] if j < chain.state else gather(given[j], k)


def _cotangent_body(chain: Recurrence, avals: tuple[Aval, ...], wrt: tuple[int, ...]) -> TapeWhile:
    states, takes = avals[0], avals[FIRST:]
    moving = [j for j in wrt if j != chain.state]
    constants = [Var(a) for a in (states, *takes, states)]
    k, ct = Var(Aval((), INTP)), Var(Aval(states.shape[1:], states.dtype))
    totals = [Var(takes[j]) for j in moving]
    sums = [j for j in moving if j < chain.state]
    all_wrt = (*sums, chain.state, *[j for j in moving if j > chain.state])
    builder = Builder()
    with building(builder):
        before = add(k, -1)
        at = _at(chain, constants[1 : 1 + len(takes)], constants[0], before)
        joint = pulled(chain.step, all_wrt, (0,), len(sums))
        found = splice(builder, joint, [*at, ct, *totals[: len(sums)]], ())[1:]
        by = dict(zip(all_wrt, found, strict=True))
        following: Any = add(gather(constants[-1], before), by[chain.state])
        stacked = [scatter_set(x, by[j], before) for j, x in zip(moving, totals, strict=True) if j > chain.state]
    outputs = (before, following, *[by[j] for j in sums], *stacked)
    body = Tape(inputs=(*constants, k, ct, *totals), captures=(), instrs=builder.instrs, outputs=outputs)
    carries = [k.aval, ct.aval, *[t.aval for t in totals]]
    return TapeWhile(_test(greater, [], carries), alive(body), 0, len(constants))


def _pushforward(xs: Any, dxs: Any, y: Any, *, chain: Recurrence, wrt: Any) -> Any:
    takes, d_takes = xs[FIRST:], dxs[FIRST:]
    moving = tuple([k for k, d in enumerate(d_takes) if d is not None])
    if not moving:
        return None
    loop = _tangent_loop(chain, [x.aval for x in xs], moving)
    start = zeros(y.aval)
    if d_takes[chain.state] is not None:
        start = scatter_set(start, d_takes[chain.state], Lit(0, INTP))
    given = [d_takes[k] for k in moving if k != chain.state]
    return while_(xs[1], y, *takes, *given, Lit(0, INTP) * xs[1], start, loop=loop)[1]


def _keep(instr: Instr, active: Any) -> Instr:
    wrt = tuple([k - FIRST for k in active_operands(instr, active) if k >= FIRST])
    return instr._replace(params={**instr.params, "wrt": wrt})


def _pullback(ct: Any, *xs_y: Any, operand: int, chain: Recurrence, wrt: tuple[int, ...] | None) -> Any:
    xs, y = xs_y[:-1], xs_y[-1]
    if operand < FIRST:
        return None
    takes = xs[FIRST:]
    if wrt is None:
        wrt = tuple([k for k, x in enumerate(takes) if x.aval.is_inexact])
    moving = [k for k in wrt if k != chain.state]
    loop = _cotangent_loop(chain, [x.aval for x in xs], wrt)
    last = gather(ct, xs[1])
    results = while_(y, *takes, ct, xs[1], last, *[zeros(takes[k].aval) for k in moving], loop=loop)
    k = operand - FIRST
    return results[1] if k == chain.state else results[2 + moving.index(k)]


def _batch(xs: Sequence[Atom], flags: Sequence[bool], size: int, **params: Any) -> Any:
    """Apply the chain to one example after another, since each example has its own number of steps."""
    return one_by_one(chain, {**params, "wrt": None}, xs, flags, size)


chain = named(
    Op(  # states, their number but the first, constants, the first state, stacks -> states
        name="chain",
        reference=lambda ys, *rest, chain, wrt: ys,
        type=lambda ys, *rest, chain, wrt: ys,
        kernel=View(whole),
        cost=free,
        pushforward=_pushforward,
        pullback=(_pullback,),
        keep=_keep,
        kept_in="wrt",
        batch=_batch,
        expansion=lambda ys, *rest, chain, wrt: ys,
        is_variadic=True,
    )
)

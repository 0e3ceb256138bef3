"""The declaration of an op, which carries every rule, and the three shorthands that cover nearly all ops.

* :func:`elementwise`: partial derivatives as formulas in the inputs ``*xs`` or the output ``y``.
* :func:`linear`: the transpose is the whole derivative.
* :func:`op`: the few others, with a pushforward and one pullback an operand.

Rules are written in ops, never in NumPy: calling an op on atoms emits an instruction on the current builder, so
rules are differentiable again, batchable and fusible. Four answers that are not a formula are different things:
:data:`ZERO` (the derivative is zero), :data:`NONE` (there cannot be one: an index, a boolean), :data:`CONJUGATION`
(the derivative is no factor), and :func:`not_implemented` (nobody has written it).

For complex numbers a partial is the complex derivative; for a real result it is the p with dy = Re(p dx). Where a
tangent or cotangent reaches a real value, the engine takes its real part, forward and backward
(``ad/cotangents.project``); no rule does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import DTypeError, InternalError, MissingRuleError, ShapeError, message
from wengert.ops.kernels import Callback, CompiledLoop, Cost, Kernel, Map, flops, free
from wengert.ops.structured import Hole
from wengert.tape import OPERATORS, Atom, Aval, Instr, Lit, Tape, Var, current_builder, is_building

Rule = Callable[..., Any]


class _Answer:
    """A rule that answers why there is no formula: :data:`ZERO`, :data:`NONE` or :data:`CONJUGATION`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


ZERO = _Answer("ZERO")  # the derivative is zero (almost) everywhere: sign, floor, comparisons
NONE = _Answer("NONE")  # the operand cannot have a derivative: an index, a condition
CONJUGATION = _Answer("CONJUGATION")  # the derivative is not a factor: tangents and cotangents are conjugated


def not_implemented(reason: str) -> Rule:
    """A rule that exists in mathematics but is not written; it raises MissingRuleError if it is needed."""

    def missing(*args: Any, **params: Any) -> Any:
        raise MissingRuleError(reason)

    missing.is_missing = True
    return missing


class Body(NamedTuple):
    """A tape among the parameters of an op. Its results are the results of the op, or slices of them."""

    tape: Tape
    first_operand: int
    """The number of the operand that is the tape's first input, or of which that is a slice; the others follow."""
    first_carry: int = 0
    carries: int = 0
    """This many results, the first ones, are the tape's inputs from ``first_carry`` on in the next iteration."""


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
class Op:
    """A kind of step, with everything that is known about it.

    Rules get operands as atoms, in this order:

    - ``partials[k](*xs, y)``: ∂y/∂x_k, an atom that broadcasts to y, a number, or a :class:`Masked`; where they depend
      on parameters, ``partials(**params)`` gives them.
    - ``transpose[k](ct, *xs, **params)``: the cotangent of the linear operand ``k``.
    - ``pushforward(xs, dxs, y, **params)``: the tangent of y; ``dxs[k]`` is None where it is zero.
    - ``pullback[k](ct, *xs, y, **params)``: the cotangent of operand ``k``; evaluated only if it is active.
    - ``batch(xs, batched, size, **params)``: the op over a leading batch axis of the operands that ``batched`` marks.

    Ops with several outputs get and give tuples for ``y``, its tangent and its cotangent.

    A rule, or an edit of a tape, calls an op with atoms: that emits an instruction. A user may call it with arrays, as
    when running a tape step by step: that runs its reference, or records a step of the function being traced.
    """

    name: str
    reference: Callable[..., Any]
    type: Callable[..., Any]
    kernel: Kernel
    cost: Cost
    partials: Sequence[Any] | Callable[..., Sequence[Any]] | None = None
    transpose: Sequence[Any] | None = None
    pushforward: Any = None
    pullback: Sequence[Any] | None = None
    batch: Rule | None = None
    is_multilinear: bool = False
    """The op is linear in each operand alone (a product), rather than in all of them together (a concatenation)."""
    is_variadic: bool = False
    """The op takes any number of operands; the last rule holds for all further ones."""
    effects: bool = False
    """The op must stay on the tape, and in its order, even if nothing reads its outputs: guards. So must a loop or a
    branch with such a step in its body, of which ``wengert.tape.has_effects`` tells."""
    shows: bool = False
    """The op shows its operands to people, and has no results: steps that are run again are run without it."""
    is_watched: bool = False
    """The pullback shows the cotangent to people."""
    is_of_pullbacks: bool = False
    """The op stands in pullbacks alone. Where one is evaluated once for each of several operands, the equal loops or
    branches with this op in their bodies are one."""
    in_place: Callable[..., Any] | None = None
    """The reference, allowed to overwrite and return operand 0."""
    into: Callable[..., None] | None = None
    """``into(*xs, *results, **params)``: the reference, writing into arrays that it is given and does not keep."""
    shortcut: Callable[..., Atom | None] | None = None
    """An operand (or literal) that equals the result bit for bit, so that no instruction is needed."""
    magnitude: Callable[..., int] | None = None
    """``magnitude(*sizes)``: how large a result can be, of integers no larger than ``sizes``; None: nobody has said."""
    identity: Callable[..., tuple[Op, tuple[Atom, ...]] | None] | None = None
    """``identity(made, *ins)``: another op and its operands that give the same result faster, bit for bit (but for a
    NaN's payload), or None; ``made(x)`` is the instruction that x comes from."""
    output_mask: Callable[..., tuple[Op, Lit] | None] | None = None
    """``output_mask(made, mask, *ins)``, for a selection: a comparison op and a number, such that comparing the result
    with the number gives the mask, bit for bit; None if there are none. So the mask need not be kept."""
    is_commutative: bool = False
    """The op gives the same result, bit for bit, with its two operands exchanged."""
    bind: Callable[..., Callable[..., Any]] | None = None
    """``bind(avals, **params)``: the reference for operands of these types, with all decided that the types decide."""
    describe: Callable[[Instr], str] | None = None
    structured: Rule | None = None
    """``structured(ct, k, *xs, y, **params)``: the cotangent of operand ``k`` for a ct that is a :class:`Fill`,
    :class:`ScatteredSum` or :class:`Diagonal`; None where the dense rule is as good. If the op has several outputs,
    ``ct`` is a tuple: None for an output without a cotangent, else dense, or :class:`Masked` and clean where it counts
    in part."""
    keep: Callable[..., Instr] | None = None
    """``keep(instr, active)``, given the active values: the instruction with a note in its parameters of what its
    pullback will read, and with that as further outputs."""
    kept_in: str | None = None
    """The name of the parameter that holds the note of ``keep``. Its value is None while ``keep`` has not been called;
    then the pullback computes itself what it needs."""
    may_vary: bool = False
    """The results may depend on more than the operands, as a user's primitive may: the step runs at every call, also
    where its operands are constants."""
    is_stable: bool = True
    """The rules are fixed, so a tape of the same structure has the same derivative: false for the user's primitives,
    whose rules may read anything, and may be defined anew."""
    has_fixed_rules: bool = False
    """The rules do the same steps whenever they are called, be the op stable or not: a derivative is made once."""
    has_derived_partials: bool = False
    """The partials are made by reverse mode from a tape, and take ``nan_safe=`` as that does."""
    expansion: Callable[..., Any] | None = None
    """``expansion(*ins, **params)``: the steps with kernels that replace this op, which exists for its derivative
    rules; NotImplemented where it stays as it is."""
    is_holomorphic: bool = True
    """A complex result of complex operands has a complex derivative. An op with the partial :data:`CONJUGATION` has
    none, and need not say so here."""
    bodies: Callable[..., Sequence[Body]] | None = None
    """``bodies(**params)``: the tapes that the op runs, each of which gives all results of the op."""
    overwrites: Callable[..., Hole] | None = None
    """``overwrites(*ins, **params)``: the place at which the result is operand 1. Elsewhere it is operand 0."""
    saturates: bool = False
    """The op maps −∞ to a finite number, with a derivative there of exactly zero, as exp does."""
    fixed_by: tuple[int | None, ...] = ()
    """One entry for each operand, the number of another operand or None. Where that other operand is infinite, so is
    the result, whatever the first operand is: an infinite partial there says nothing about the result."""
    switches: Rule | None = None
    """``switches(*xs, y, **params)``: margins, each zero where the op switches from one smooth piece to another: the
    operand of ``abs``, x1 - x2 of a maximum or a comparison, the gaps between sorted elements. A margin is in the units
    of the operands where it can be, and None where the types of the operands leave nothing to switch."""
    unrolled: Callable[..., Any] | None = None
    """``unrolled(run, look, *ins, **params)``, for an op that runs tapes: emit the steps that it takes for the values
    that ``look(atom)`` gives. ``run(tape, atoms)`` emits those of a tape and returns its outputs."""
    rearranges: bool = False
    """The op only moves elements (reshape, transpose), so masks may move with their values."""
    doc: str = ""
    is_smooth: bool = field(init=False)
    """Whether the result has a derivative in every operand, whatever the parameters are."""

    def __call__(self, *ins: Any, **params: Any) -> Any:
        for a in ins:
            if type(a) is not Var and type(a) is not Lit:
                if not is_building():
                    return OPERATORS["on arrays"](self, ins, params)  # tracing/emit.py says how
                ins = self._with_numbers(ins)
                break
        outs = current_builder().emit(self, ins, params)
        return outs[0] if len(outs) == 1 else outs

    def _with_numbers(self, ins: Sequence[Any]) -> tuple[Atom, ...]:
        """Python numbers in a formula take the dtype of the atom beside them (NEP 50)."""
        for a in ins:
            if type(a) is Var or type(a) is Lit:
                dtype = a.aval.dtype
                if dtype.kind != "b":
                    return tuple([a if isinstance(a, Var | Lit) else Lit(a, dtype) for a in ins])
        for a in ins:
            if isinstance(a, Var | Lit):
                continue
            if not isinstance(a, bool | int | float | complex | np.generic):
                raise InternalError(f"{self.name}: {type(a).__name__} in a rule; expected an atom or a number")
        return tuple([a if isinstance(a, Var | Lit) else Lit(a) for a in ins])

    @property
    def is_elementwise(self) -> bool:
        return self.partials is not None

    @property
    def is_linear(self) -> bool:
        return self.transpose is not None

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_smooth", self._is_smooth())  # once: it is asked for at every step

    @property
    def only_adds(self) -> bool:
        """Whether the op is linear, and its results are sums of elements, as its kernel says.

        Then a mask can go through its transpose as numbers do. In other linear ops numbers may cancel, so that a zero
        does not say that nothing arrives."""
        return self.is_linear and not self.is_multilinear and self.kernel.only_adds

    def _is_smooth(self) -> bool:
        for rules in (self.partials, self.transpose, self.pullback):
            if rules is not None:
                return not callable(rules) and ZERO not in rules and NONE not in rules
        return self.pushforward is not None and self.pushforward is not ZERO

    @property
    def is_flat(self) -> bool:
        """Whether the derivative is zero or there is none, in every operand, whatever the parameters are."""
        rules = self.partials or self.transpose or self.pullback
        if rules is None:
            return self.pushforward is None or self.pushforward is ZERO
        return not callable(rules) and all(rule is ZERO or rule is NONE for rule in rules)

    @property
    def is_view(self) -> bool:
        return self.kernel.is_view

    def __reduce_ex__(self, protocol: int) -> Any:
        """Pickle an op of wengert's own by its name, and any other by its fields."""
        is_own = self is OPS.get(self.name) or self is UNLISTED.get(self.name)
        return (op_named, (self.name,)) if is_own else super().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def op_named(name: str) -> Op:
    """Return the op of wengert's own that has this name."""
    return OPS[name] if name in OPS else UNLISTED[name]


OPS: dict[str, Op] = {}
"""Every op by name, except the user's primitives."""

UFUNCS: dict[Any, Op] = {}
"""The op that a NumPy or SciPy ufunc becomes."""


UNLISTED: dict[str, Op] = {}
"""Ops by name that carry tapes or are made on the way to kernels: no table of tests goes through them."""


def register(new: Op) -> Op:
    """Add an op to the registry, and return it."""
    return _added(new, OPS)


def named(new: Op) -> Op:
    """Add an op to :data:`UNLISTED`, and return it."""
    return _added(new, UNLISTED)


def _added(new: Op, to: dict[str, Op]) -> Op:
    if new.name in OPS or new.name in UNLISTED:
        raise InternalError(f"two ops are called {new.name}")
    to[new.name] = new
    return new


# ------------------------------------------------------------------------------------------------- elementwise


def broadcast_shapes(name: str, *avals: Aval) -> tuple[int, ...]:
    shape = avals[0].shape
    for a in avals[1:]:
        if a.shape != shape:
            break
    else:
        return shape
    try:
        return np.broadcast_shapes(*[a.shape for a in avals])
    except ValueError:
        raise ShapeError(
            message(
                f"{name}: shapes do not broadcast: {', '.join(map(str, avals))}",
                tries=["x[:, None] or np.reshape, so that the lengths of each axis are equal or 1"],
            )
        ) from None


def _ufunc_type(ufunc: np.ufunc) -> Callable[..., Aval]:
    def result(*avals: Aval) -> Aval:
        shape = broadcast_shapes(ufunc.__name__, *avals)
        try:
            dtypes = ufunc.resolve_dtypes((*[a.dtype for a in avals], *[None] * ufunc.nout))
        except TypeError:
            raise DTypeError(f"{ufunc.__name__}: not defined for {', '.join(map(str, avals))}") from None
        return Aval(shape, dtypes[ufunc.nin])

    return result


def align(xs: Sequence[Atom], batched: Sequence[bool]) -> list[Atom]:
    """Operands of an elementwise op, reshaped so that their leading batch axes meet under broadcasting."""
    ndim = max(x.aval.ndim - b for x, b in zip(xs, batched, strict=True))
    out: list[Atom] = []
    for x, b in zip(xs, batched, strict=True):
        gap = ndim - (x.aval.ndim - 1)
        if b and gap:
            shape = (x.aval.shape[0], *[1] * gap, *x.aval.shape[1:])
            out.append(OPS["reshape"](x, shape=shape))
        else:
            out.append(x)
    return out


def elementwise_batch(op_: Op) -> Rule:
    def batch(xs: Sequence[Atom], batched: Sequence[bool], size: int, **params: Any) -> Any:
        return op_(*align(xs, batched), **params)

    return batch


def elementwise(
    reference: Any,
    *,
    partials: Sequence[Any] | Callable[..., Sequence[Any]],
    name: str | None = None,
    type: Callable[..., Any] | None = None,
    cost: Cost = flops(1),
    kernel: Kernel | None = None,
    **rules: Any,
) -> Op:
    """An op applied element by element under NumPy's broadcasting.

    A ufunc is name, reference, type rule and tracing key at once. ``partials`` has one formula an operand:
    ``[lambda x, y: 1 - y * y]`` says the derivative of tanh in terms of its output, so x need not be kept.
    """
    name = str(name or reference.__name__)
    new = Op(
        name=name,
        reference=reference,
        type=type or _ufunc_type(reference),
        kernel=kernel or Map(name, CompiledLoop(reference) if isinstance(reference, np.ufunc) else None),
        cost=cost,
        partials=partials if callable(partials) else tuple(partials),
        **rules,
    )
    if new.batch is None:
        object.__setattr__(new, "batch", elementwise_batch(new))  # the rule needs the op that it belongs to
    if isinstance(reference, np.ufunc):
        UFUNCS[reference] = new
    return register(new)


def operator(symbol: str, op_: Op) -> None:
    """Let formulas on atoms write ``op_`` as an operator; Python numbers take the other operand's dtype."""
    OPERATORS[symbol] = op_


# ------------------------------------------------------------------------------------------------------ linear


def linear(
    reference: Callable[..., Any],
    *,
    name: str,
    type: Callable[..., Any],
    transpose: Sequence[Any] | Rule,
    kernel: Kernel,
    batch: Rule,
    cost: Cost = free,
    **rules: Any,
) -> Op:
    """An op that is linear in the operands whose ``transpose`` is a rule; ``NONE`` marks the others."""
    rows = (transpose,) if callable(transpose) else tuple(transpose)
    return register(
        Op(
            name=name,
            reference=reference,
            type=type,
            kernel=kernel,
            cost=cost,
            transpose=rows,
            batch=batch,
            **rules,
        )
    )


# ------------------------------------------------------------------------------------------------------ others


def op(
    reference: Callable[..., Any],
    *,
    name: str,
    type: Callable[..., Any],
    kernel: Kernel | None = None,
    cost: Cost = flops(1),
    batch: Rule,
    pushforward: Rule | _Answer | None = None,
    pullback: Sequence[Any] | None = None,
    **rules: Any,
) -> Op:
    """An op that is neither elementwise nor linear."""
    return register(
        Op(
            name=name,
            reference=reference,
            type=type,
            kernel=kernel or Callback(),
            cost=cost,
            batch=batch,
            pushforward=pushforward,
            pullback=None if pullback is None else tuple(pullback),
            **rules,
        )
    )


def partials_of(op: Op, params: Mapping[str, Any]) -> Sequence[Any]:
    """The partials of an elementwise op, for :func:`rule_for`."""
    assert op.partials is not None
    return op.partials(**params) if callable(op.partials) else op.partials


def rule_for(rules: Sequence[Any], k: int) -> Any:
    """The rule of operand ``k``; the last one holds for the further operands of a variadic op."""
    return rules[k] if k < len(rules) else rules[-1]


def front(x: Atom, batched: bool, size: int) -> Atom:
    """``x`` with a leading batch axis, broadcast there if it has none."""
    if batched:
        return x
    return OPS["broadcast_to"](OPS["reshape"](x, shape=(1, *x.aval.shape)), shape=(size, *x.aval.shape))


Params = Mapping[str, Any]

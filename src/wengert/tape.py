"""The tape: a program as a flat list of elementary steps over typed values.

R. E. Wengert (1964) wrote a derivative as such a list. Here it is the only representation between the
user's function and the machine code:

* :class:`Aval`: shape and dtype, no data. Interned: equal avals are one object.
* :class:`Var`: a value assigned once. :class:`Lit`: a constant of shape ``()``. Both are *atoms*.
* :class:`Instr`: one step, ``outs = op(*ins, **params)``, with the user's :class:`Source` line.
* :class:`Tape`: inputs, captured arrays, instructions, outputs. Frozen; printing it is a feature.
* :class:`Builder`: the growing end of a tape; :func:`check` says whether a tape is well formed.

Nothing here recurses along the tape: a chain of 100,000 instructions is an ordinary tape. The parameters of an
instruction are hashable; a parameter may itself be a tape, and printing and checking descend into it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, final

import numpy as np

from wengert._contexts import replaced, silent
from wengert.collector import undisturbed
from wengert.errors import InternalError, RangeError, TooLongError, in_short, message
from wengert.expect import checked, kind
from wengert.notes import current as current_notes
from wengert.source import Source

if TYPE_CHECKING:
    from wengert.ops.op import Op


class Aval:
    """The type of a value: ``shape`` and ``dtype``. Interned, so that ``is`` means equal.

    >>> Aval((3, 4), np.dtype("float32"))
    float32[3, 4]
    """

    __slots__ = ("dtype", "is_inexact", "nbytes", "ndim", "shape", "size")
    _known: ClassVar[dict[tuple[tuple[int, ...], np.dtype[Any]], Aval]] = {}

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    ndim: int
    size: int
    """The number of elements."""
    nbytes: int
    is_inexact: bool
    """Whether values of this type have a neighbourhood: only these have derivatives."""

    def __new__(cls, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Aval:
        known = cls._known.get((shape, dtype))
        if known is not None:
            return known
        self = object.__new__(cls)
        size = math.prod(shape)
        facts = (shape, dtype, len(shape), size, size * dtype.itemsize, dtype.kind in "fc")
        for name, fact in zip(("shape", "dtype", "ndim", "size", "nbytes", "is_inexact"), facts, strict=True):
            object.__setattr__(self, name, fact)
        return cls._known.setdefault((shape, dtype), self)  # atomic, so two threads get one object

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Aval is frozen: cannot set {name}")

    def __reduce__(self) -> tuple[type[Aval], tuple[object, ...]]:
        return Aval, (self.shape, self.dtype)

    def __repr__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"


# Operators on atoms, so that rules read like formulas; ops/elementwise.py fills this table. And, from
# tracing/emit.py, what an op does that is called with arrays.
OPERATORS: dict[str, Callable[..., Any]] = {}


class _Formula:
    """Arithmetic on atoms emits instructions on the current builder (see :func:`building`)."""

    __slots__ = ()

    # fmt: off
    def __add__(self, other: Term) -> Any: return OPERATORS["add"](self, other)
    def __radd__(self, other: Term) -> Any: return OPERATORS["add"](other, self)
    def __sub__(self, other: Term) -> Any: return OPERATORS["subtract"](self, other)
    def __rsub__(self, other: Term) -> Any: return OPERATORS["subtract"](other, self)
    def __mul__(self, other: Term) -> Any: return OPERATORS["multiply"](self, other)
    def __rmul__(self, other: Term) -> Any: return OPERATORS["multiply"](other, self)
    def __truediv__(self, other: Term) -> Any: return OPERATORS["divide"](self, other)
    def __rtruediv__(self, other: Term) -> Any: return OPERATORS["divide"](other, self)
    def __pow__(self, other: Term) -> Any: return OPERATORS["power"](self, other)
    def __rpow__(self, other: Term) -> Any: return OPERATORS["power"](other, self)
    def __neg__(self) -> Any: return OPERATORS["negative"](self)
    def __gt__(self, other: Term) -> Any: return OPERATORS["greater"](self, other)
    def __ge__(self, other: Term) -> Any: return OPERATORS["greater_equal"](self, other)
    def __lt__(self, other: Term) -> Any: return OPERATORS["less"](self, other)
    def __le__(self, other: Term) -> Any: return OPERATORS["less_equal"](self, other)
    def __and__(self, other: Term) -> Any: return OPERATORS["logical_and"](self, other)
    def __or__(self, other: Term) -> Any: return OPERATORS["logical_or"](self, other)
    def __invert__(self) -> Any: return OPERATORS["logical_not"](self)
    # fmt: on


Scalar = complex | np.generic
"""A number of Python's or NumPy's."""

Term = _Formula | Scalar
"""A value that may stand in a formula beside an atom."""


kind("Spec", lambda x: isinstance(x, Aval), "a wg.spec")


@final
class Var(_Formula):
    """A value that one instruction (or the caller) assigns, once. Compared by identity."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var({self.aval})"


@final
class Lit(_Formula):
    """A literal: a NumPy scalar of shape ``()``, written into the tape. Compared by identity."""

    __slots__ = ("aval", "value")

    def __init__(self, value: Any, dtype: np.dtype[Any] | None = None) -> None:
        try:
            array = np.asarray(value, dtype)
        except OverflowError:
            array = None
        if array is None or array.dtype == object:
            what = f"{in_short(value)} has more than 64 bits, so it can be no element of an array"
            raise RangeError(message(what if dtype is None else f"{in_short(value)} is out of bounds for {dtype.name}"))
        self.value: np.generic = array[()]  # type: ignore[assignment]  # of shape (), so a scalar
        self.aval = Aval((), self.value.dtype)

    @property
    def key(self) -> tuple[str, bytes]:
        """Equal for literals of equal dtype and bits, so that 0.0 and -0.0 differ and NaN equals NaN."""
        return self.aval.dtype.str, self.value.tobytes()

    def __repr__(self) -> str:
        return str(self.value.item())


Atom = Var | Lit


def key_of(a: Atom) -> Any:
    """Equal for atoms that are the same value: a variable, or the key of a literal."""
    return a.key if type(a) is Lit else a


class Instr(NamedTuple):
    """One step: ``outs = op(*ins, **params)``."""

    op: Op
    ins: tuple[Atom, ...]
    outs: tuple[Var, ...]
    params: Mapping[str, Any]
    source: Source | None


class Capture(NamedTuple):
    """An array that the function did not get as an argument: read where it lies at every run."""

    var: Var
    array: np.ndarray[Any, Any]
    name: str = ""
    is_constant: bool = False
    """Promised never to change (read-only, or made while tracing): what depends on it alone is folded."""


def without_data(capture: Capture) -> Capture:
    """Return the capture with an array that stands for its type alone, so that a cache keeps no data alive."""
    aval = capture.var.aval
    return capture._replace(array=np.broadcast_to(np.empty((), aval.dtype), aval.shape))


@dataclass(frozen=True, eq=False)
class Tape:
    """A tape is a Wengert list: the flat list of elementary steps of one computation.

    ``len(tape)`` counts its instructions; ``print(tape)`` shows them. They are in an order in which each value is
    assigned before it is read. :func:`wengert.trace` records a tape, :func:`wengert.compile` makes a program of it.

    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(lambda x: np.sum(x * x))(np.zeros(3))
    >>> len(tape), [instr.op.name for instr in tape.instrs]
    (2, ['multiply', 'sum'])
    >>> tape.in_avals, tape.out_avals
    ((float64[3],), (float64[],))
    """

    inputs: tuple[Var, ...]
    captures: tuple[Capture, ...]
    instrs: tuple[Instr, ...]
    outputs: tuple[Atom, ...]
    name: str = "tape"
    runs_once: bool = False
    """The backward part is known to run exactly once for each forward part, so it may overwrite residuals."""
    any_length: bool = False
    """Loops were rolled up in it. Its lengths are those of loops, of which others are soon to come."""
    in_tree: Any = None
    """The structure of the arguments, where the tape is a whole function of the user's; else None."""
    in_static: tuple[tuple[int, Any], ...] = ()
    """Leaves of the arguments that are not traced (flags, strings), by number: the tape holds for these values."""
    out_tree: Any = None
    metadata: Mapping[Var, Any] = field(default_factory=dict)
    """The user's notes on values; transforms and passes hand them on."""

    def __len__(self) -> int:
        return len(self.instrs)

    def __str__(self) -> str:
        return format_tape(self)

    def __repr__(self) -> str:
        ins, outs = (", ".join(map(str, avals)) for avals in (self.in_avals, self.out_avals))
        return f"<tape {self.name}: {len(self)} step{'s' * (len(self) != 1)}, ({ins}) -> ({outs})>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the steps, of which a long tape shows the first."""
        lines = str(self).split("\n")
        shown = lines if len(lines) <= 100 else [*lines[:100], f"... {len(lines) - 100} lines more: print(tape)"]
        return f"<pre>{escape(chr(10).join(shown))}</pre>"

    def replace(self, **changes: Any) -> Tape:
        if not changes.keys() <= self.__dict__.keys():
            raise TypeError(f"a tape has no {', '.join(changes.keys() - self.__dict__.keys())}")
        new = object.__new__(Tape)  # dataclasses.replace takes ten times as long, and every pass replaces
        new.__dict__.update(self.__dict__, **changes)
        return new

    @property
    def in_avals(self) -> tuple[Aval, ...]:
        return tuple(v.aval for v in self.inputs)

    @property
    def out_avals(self) -> tuple[Aval, ...]:
        return tuple(a.aval for a in self.outputs)


# ---------------------------------------------------------------------------------------------------- building

_types: dict[Any, tuple[Aval, ...]] = {}  # (op, avals, params) -> avals of the outputs


def infer(op: Op, avals: Sequence[Aval], params: Mapping[str, Any]) -> tuple[Aval, ...]:
    """The avals of ``op(*avals, **params)``, from the op's type rule. Raises what the rule raises."""
    key = (op, *avals, *params.items()) if params else (op, *avals)
    known = _types.get(key)
    if known is None:
        out = op.type(*avals, **params)
        known = out if type(out) is tuple else (out,)
        if len(_types) > 100_000:  # bounded: every shape ever seen has an entry
            _types.clear()
        _types[key] = known
    return known


class EarlierSteps(Protocol):
    """The steps of earlier runs: see tracing/native/steps.h."""

    def step(self, op: Op, ins: tuple[Atom, ...], params: Mapping[str, Any]) -> tuple[Var, ...] | None: ...
    def learn(self, instr: Instr) -> None: ...


class _Most(threading.local):
    steps: int | None = None


_most = _Most()


def at_most(steps: int | None) -> AbstractContextManager[Any]:
    """A context in which a tape that this thread begins may have so many steps, for whoever will not wait for more:
    the next one raises TooLongError. None: any number."""
    return replaced(_most, "steps", steps)


def charge(steps: int, what: str) -> None:
    """Raise TooLongError if this thread may not spend as many steps: what begins now takes as long to prepare."""
    if _most.steps is not None and steps > _most.steps:
        raise TooLongError(message(f"{what} takes as long to prepare as {steps} steps"))


class _Bounded(list[Instr]):
    """A list of instructions that may not grow longer than ``most``."""

    most: int

    def append(self, instr: Instr) -> None:
        if len(self) >= self.most:
            raise TooLongError(message(f"more than {self.most} steps would be recorded", instr.source))
        super().append(instr)


class Builder:
    """The growing end of a tape.

    ``source`` is written on every instruction emitted, or what ``locate()`` says at that moment. ``start`` are
    instructions that what is emitted follows. ``steps`` are those of earlier runs: where the same step comes again, its
    instruction and variables are given out again, and nothing is built.
    """

    __slots__ = ("_instrs", "captures", "locate", "source", "steps")

    def __init__(self, start: Iterable[Instr] = ()) -> None:
        self._instrs: list[Instr] = [*start]
        if _most.steps is not None:
            self._instrs = _Bounded(self._instrs)
            self._instrs.most = _most.steps
        self.steps: EarlierSteps | None = None
        self.source: Source | None = None
        self.locate: Callable[[], Source | None] | None = None
        self.captures: list[Capture] = []
        """Arrays that the emitted steps read and that the tape at hand had not captured: a user's rule may."""

    def __len__(self) -> int:
        return len(self._instrs)

    @property
    def instrs(self) -> tuple[Instr, ...]:
        """The instructions so far: a copy, linear in them."""
        return tuple(self._instrs)

    def recorded(self) -> list[Instr]:
        """The list that grows: nobody else may change it but what gives out earlier steps again."""
        return self._instrs

    def since(self, number: int) -> list[Instr]:
        """The instructions from ``number`` on: linear in these, not in all that there are."""
        return self._instrs[number:]

    def append(self, instr: Instr) -> None:
        """Append an instruction as it is."""
        self._instrs.append(instr)

    def emit(self, op: Op, ins: tuple[Atom, ...], params: Mapping[str, Any]) -> tuple[Atom, ...]:
        """Append ``op(*ins, **params)`` and return its outputs.

        Nothing is appended where the op has a shortcut (``x * 1``) or every operand is a literal.
        """
        steps = self.steps
        if steps is not None:
            known = steps.step(op, ins, params)
            if known is not None:
                return known
        if op.shortcut is not None:
            short = op.shortcut(*ins, **params)
            if short is not None:
                return (short,)
        out_avals = infer(op, [a.aval for a in ins], params)
        for a in ins:
            if type(a) is Var:
                break
        else:
            folded = fold_literals(op, ins, params, out_avals)
            if folded is not None:
                return folded
        outs = (Var(out_avals[0]),) if len(out_avals) == 1 else tuple(map(Var, out_avals))
        source = self.source if self.locate is None else self.locate()
        instr = Instr(op, ins, outs, params, source)
        self._instrs.append(instr)
        if steps is not None:
            steps.learn(instr)
        return outs


def fold_literals(op: Op, ins: Sequence[Atom], params: Mapping[str, Any], out_avals: tuple[Aval, ...]) -> Any:
    """The literal that ``op`` makes of literals, or None where it makes an array, or has effects."""
    if not ins or op.effects or len(out_avals) != 1 or out_avals[0].shape or not op.is_elementwise:
        return None
    with silent():  # the run time warns where NumPy would; a literal is only arithmetic
        value = op.reference(*[a.value for a in ins], **params)  # type: ignore[union-attr]  # no Var among them
    return (literal(value.item(), out_avals[0].dtype),)


class _Current(threading.local):
    builder: Builder | None = None


_current = _Current()


def building(builder: Builder) -> AbstractContextManager[Builder]:
    """Make ``builder`` the one that ops called on atoms in this thread append to."""
    return replaced(_current, "builder", builder)


def is_building() -> bool:
    """Whether there is such a builder: a rule is being applied, or an edit made."""
    return _current.builder is not None


def current_builder() -> Builder:
    if _current.builder is None:
        raise InternalError("an op was applied to atoms with no tape being built")
    return _current.builder


_literals: dict[Any, Lit] = {}


def literal(value: Scalar, dtype: np.dtype[Any] | None) -> Lit:
    """A Python number as a literal; equal ones are one object, so that tapes can be compared by identity."""
    key = (type(value), value, dtype)
    if value == 0 or value != value:  # 0.0 equals -0.0, and NaN nothing
        key = (type(value), str(value), dtype)
    known = _literals.get(key)
    if known is None:
        if len(_literals) > 10_000:
            _literals.clear()
        known = _literals[key] = Lit(value, dtype)
    return known


@undisturbed
def splice(builder: Builder, tape: Tape, args: Sequence[Atom], captures: Sequence[Atom]) -> list[Atom]:
    """Append the instructions of ``tape`` to ``builder`` with fresh variables; return the outputs.

    ``args`` and ``captures`` stand in for the tape's inputs and captured arrays. Linear in the tape.
    """
    env: dict[Atom, Atom] = dict(zip(tape.inputs, args, strict=True))
    env.update(zip((c.var for c in tape.captures), captures, strict=True))
    append = builder.append
    for op, ins, outs, params, source in tape.instrs:
        new_outs = (Var(outs[0].aval),) if len(outs) == 1 else tuple(Var(v.aval) for v in outs)
        append(Instr(op, tuple([env.get(a, a) for a in ins]), new_outs, params, source))
        for old, new in zip(outs, new_outs, strict=True):
            env[old] = new
    notes = current_notes()
    if notes is not None:
        notes.new_names.update(env)
    return [env.get(a, a) for a in tape.outputs]


# --------------------------------------------------------------------------------------------------- structure


def structure(tape: Tape) -> tuple[Any, ...]:
    """A hashable key: equal for tapes that compute the same of equal inputs and captures.

    Names, source lines and the captured data are not part of it. Linear in the tape.
    """
    number: dict[Atom, Any] = {}
    for v in tape.inputs:
        number[v] = len(number)
    for c in tape.captures:
        number[c.var] = len(number)
    key: list[Any] = [tape.in_avals, tuple([c.var.aval for c in tape.captures]), tape.runs_once, tape.any_length]
    for op, ins, outs, params, _ in tape.instrs:
        key.append(op)
        key.append(tuple([number[a] if type(a) is Var else a.key for a in ins]))
        if params:
            key.append(tuple(params.items()))
        for v in outs:
            number[v] = len(number)
    key.append(tuple([number[a] if type(a) is Var else a.key for a in tape.outputs]))
    return tuple(key)


@checked
def definitions(tape: Tape) -> dict[Var, Instr]:
    """The instruction that assigns each variable. Inputs and captures have none."""
    return {v: instr for instr in tape.instrs for v in instr.outs}


# ---------------------------------------------------------------------------------------------------- printing


def tapes_in(value: object) -> list[Tape]:
    """The tapes in the parameter of an instruction: it is one, or a tuple with some."""
    if isinstance(value, tuple):
        return [tape for part in value if isinstance(part, tuple | Tape) for tape in tapes_in(part)]
    return [value] if isinstance(value, Tape) else []


def has_effects(instr: Instr) -> bool:
    """Whether a step must stay on the tape, and in its order, even if nothing reads its outputs: it has effects, or a
    step of a tape that it runs has."""
    return affects(instr.op, instr.params)


def affects(op: Op, params: Mapping[str, Any]) -> bool:
    """Whether a step of this op, with these parameters, has effects."""
    return op.effects or (bool(params) and any(map(_has_effects, tapes_in(tuple(params.values())))))


@lru_cache(maxsize=4096)
def _has_effects(tape: Tape) -> bool:
    return any(map(has_effects, tape.instrs))


def may_be_one(instr: Instr) -> bool:
    """Whether a step may stand once in place of several that are equal: it has no effects, or those of pullbacks, which
    are evaluated for one operand after another."""
    if instr.op.effects:
        return False
    tapes = tapes_in(tuple(instr.params.values())) if instr.params else []
    return all(i.op.is_of_pullbacks or may_be_one(i) for tape in tapes if _has_effects(tape) for i in tape.instrs)


def without_shows(tape: Tape) -> Tape:
    """Return ``tape`` for another run of the same steps: without those that show something to people, also in loops."""
    return _without_shows(tape) if any(map(has_effects, tape.instrs)) else tape


@lru_cache(maxsize=4096)
def _without_shows(tape: Tape) -> Tape:
    kept = [
        i._replace(params={name: _quiet(value) for name, value in i.params.items()}) if has_effects(i) else i
        for i in tape.instrs
        if not i.op.shows
    ]
    return tape.replace(instrs=tuple(kept))


def _quiet(value: Any) -> Any:
    """A parameter of a step, whose tapes show nothing."""
    if isinstance(value, Tape):
        return without_shows(value)
    if isinstance(value, tuple) and tapes_in(value):
        parts = [_quiet(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def format_param(value: object) -> str:
    if isinstance(value, Tape):
        return f"<{value.name}: {len(value)} instructions>"
    if isinstance(value, tuple) and tapes_in(value):
        names = getattr(value, "_fields", None)
        parts = [format_param(v) for v in value]
        return f"({', '.join(parts if names is None else [f'{n}={p}' for n, p in zip(names, parts, strict=True)])})"
    if isinstance(value, np.dtype):
        return value.name
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    return repr(value)


def format_tape(tape: Tape, indent: str = "") -> str:
    """One line an instruction: ``v3: float64[12] = cos(v2)    # model.py:12``; sub-tapes indented below theirs."""
    names: dict[Atom, str] = {}
    for v in tape.inputs:
        names[v] = f"v{len(names)}"
    header = ", ".join(f"{names[v]}: {v.aval}" for v in tape.inputs)
    rows: list[tuple[str, str]] = [(f"{tape.name}({header}):", "")]
    for k, c in enumerate(tape.captures):
        names[c.var] = f"c{k}"
        kind = "constant" if c.is_constant else "captured"
        rows.append((f"  c{k}: {c.var.aval} = {kind}{' ' + c.name if c.name else ''}", ""))
    nested: dict[int, list[Tape]] = {}
    for op, ins, outs, params, source in tape.instrs:
        for v in outs:
            names[v] = f"v{len(names) - len(tape.captures)}"
        left = ", ".join(f"{names[v]}: {v.aval}" for v in outs)
        args = [names[a] if type(a) is Var else repr(a) for a in ins]
        args += [f"{k}={format_param(p)}" for k, p in params.items()]
        text = f"{op.name}({', '.join(args)})"
        where = "" if source is None else f"# {source.where}{' ' + source.what if source.what else ''}"
        rows.append((f"  {left} = {text}" if left else f"  {text}", where))
        sub = [t for p in params.values() for t in tapes_in(p)]
        if sub:
            nested[len(rows) - 1] = sub
    outputs = ", ".join(names[a] if type(a) is Var else repr(a) for a in tape.outputs)
    rows.append((f"  return {outputs}", "# the backward part runs once" if tape.runs_once else ""))
    width = min(max(len(left) for left, _ in rows), 76)
    lines: list[str] = []
    for k, (left, right) in enumerate(rows):
        lines.append(f"{indent}{left:<{width}}  {right}".rstrip())
        lines += [format_tape(sub, indent + "    ") for sub in nested.get(k, ())]
    return "\n".join(lines)


# ---------------------------------------------------------------------------------------------------- checking


@checked
def check(tape: Tape, after: str = "") -> Tape:
    """Return ``tape`` if it is well formed. Linear.

    Every value is assigned once and before it is read; every instruction has the outputs that its op's type rule gives;
    parameters are hashable; captured arrays have the avals of their variables.

    Parameters
    ----------
    tape : recorded, or made by hand.
    after : which pass made it, for the error.

    Raises
    ------
    InternalError : it is not well formed; the message says where.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(lambda x: 2 * np.sin(x))(0.0)
    >>> wg.check(tape) is tape
    True
    >>> wg.check(tape.replace(instrs=tape.instrs[1:]))
    Traceback (most recent call last):
    wengert.errors.InternalError: ill-formed tape '<lambda>': instruction 0, multiply, reads a value that nothing ...
    """

    def fail(why: str) -> None:
        raise InternalError(f"ill-formed tape {tape.name!r}{f' after {after}' if after else ''}: {why}")

    known: set[Var] = set()
    for v in (*tape.inputs, *(c.var for c in tape.captures)):
        if v in known:
            fail(f"{v} is an input twice")
        known.add(v)
    for c in tape.captures:
        if c.array.shape != c.var.aval.shape or c.array.dtype != c.var.aval.dtype:
            fail(f"captured {c.name or c.var} is {Aval(c.array.shape, c.array.dtype)}")
    for k, (op, ins, outs, params, _) in enumerate(tape.instrs):
        for a in ins:
            if type(a) is Var and a not in known:
                fail(f"instruction {k}, {op.name}, reads a value that nothing has assigned")
        try:
            expected = infer(op, [a.aval for a in ins], params)
        except TypeError as error:
            raise InternalError(f"instruction {k}, {op.name}: {error}") from error
        if tuple(v.aval for v in outs) != expected:
            fail(f"instruction {k}, {op.name}, assigns {outs}, its type rule says {expected}")
        for v in outs:
            if v in known:
                fail(f"instruction {k}, {op.name}, assigns a value again")
            known.add(v)
        for p in params.values():
            for nested in tapes_in(p):
                check(nested, after)
    for a in tape.outputs:
        if type(a) is Var and a not in known:
            fail("an output is never assigned")
    return tape

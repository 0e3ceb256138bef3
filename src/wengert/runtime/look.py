"""A look at what a call would run, for reports: the program, the tape as it was recorded, and the reasons for both.

Looking runs the user's function once on traced values, as ``wg.jit(f).program(*args)`` does, in a compiled
function of its own: that of the user's keeps its programs and its counts as they are.
"""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from wengert import passes, tree
from wengert.ad.activity import Activity, reasons
from wengert.errors import WengertError
from wengert.notes import Notes, Unrolled, taken
from wengert.ops.control import Expected, GuardMiss, guard, values_of
from wengert.passes.fuse import why_apart
from wengert.runtime.jit import WITHOUT_CODE, Jit
from wengert.runtime.plain import NotTraced
from wengert.runtime.program import Program
from wengert.runtime.specialisation import Compiled, Specialisation
from wengert.source import Source
from wengert.tape import Atom, Instr, Tape, Var, structure
from wengert.tracing import foreign
from wengert.tracing.python.lines import definition
from wengert.tracing.signature import Array, Number, Scalar, Signature, signature_of

MOST_LINES = 3
"""The lines, or values, that a reason names; the others are counted."""


WHAT_IS_SEEN = {"b": "the branch", "i": "the integer", "u": "the integer"}
"""The word for what a guard looks at, by the kind of its dtype."""


class Decided(NamedTuple):
    """A guard of a path, and what it saw there."""

    guard: Instr
    seen: Any


class Look(NamedTuple):
    """A look at what a call of a function would run."""

    program: Program | None
    """None if the function itself answers such calls."""
    recorded: Tape | None = None
    """The tape as it was recorded, before the passes; None if it is not known."""
    why_plain: str = ""
    """The reason why the function itself answers every such call; else empty."""
    compile_s: float = 0.0
    wrt: tuple[int, ...] = ()
    """The inputs with respect to which a derivative is taken; empty if none is."""
    activity: Mapping[Var, Activity] = {}
    """Why each value is active, or not. Without a derivative: in one with respect to all inputs."""
    cotangents: Mapping[Var, Var] = {}
    """The value that is another's cotangent, or its first part."""
    not_rolled: tuple[Unrolled, ...] = ()
    """Steps that repeat, but did not become a loop."""
    paths: tuple[tuple[Decided, ...], ...] = ()
    """The paths of this signature that the function had programs for, with what was decided on each."""
    why_traced_again: tuple[str, ...] = ()
    """The reasons for which this call would be traced, though the function had programs; empty if it had none, or would
    not be traced."""
    is_known: bool = False
    """Whether the function had a program for this call."""
    stats: Mapping[str, Any] = {}
    """The counts of the compiled function, if one was looked at."""
    title: str = ""
    """The function that is looked at, in words: "gradient of loss"."""
    kept_apart: tuple[str, ...] = ()
    """The reasons for which the function has more than one program."""

    def why_not_fused(self, first: Var, second: Var) -> str:
        """Return the reason for which the steps that make two values are in different kernels; empty if they are in
        one, or if it is not known, since passes have changed one of the steps."""
        if self.program is None:
            return ""
        from wengert.codegen.lower import supports  # here: codegen takes long to import

        before = passes.BEFORE_KERNELS[: passes.BEFORE_KERNELS.index(passes.fuse)]
        return why_apart(passes.run(self.program.tape, before, supports), supports, first, second)


def look_at(jit: Jit, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Look:
    """Return what a call of ``jit`` would run. Errors of the user's function go on."""
    leaves, treedef = foreign.flatten((args, kwargs) if kwargs else args)
    shadow = type(jit)(jit.__wrapped__, jit._is_fast, False, jit._donate, jit._is_rolled)
    shadow._told.add(WITHOUT_CODE)  # the report says it
    try:
        signature = signature_of(leaves, treedef, bool(kwargs))
    except WengertError as error:
        return Look(None, why_plain=str(error), stats=jit.stats())
    own, why_again = known_program(jit, signature, leaves)
    with taken() as notes:
        try:
            compiled, _ = shadow._run(kwargs, leaves, treedef, is_look=True)
        except NotTraced as refusal:
            why = refusal.why
            if isinstance(why, TypeError) and not _may_bind(jit.__wrapped__, args, kwargs):
                raise why from None
            return Look(None, notes.recorded, str(why), why_traced_again=why_again, stats=jit.stats())
    program, recorded = compiled.program, notes.recorded
    if own is not None and structure(own.tape) != structure(program.tape):  # its loops are of any count, say
        found = of_program(own.program)
        return found._replace(
            recorded=recorded,
            paths=_paths_of(jit, own),
            is_known=True,
            stats=jit.stats(),
            kept_apart=differences(jit),
        )
    found = of_program(program, notes)
    return found._replace(
        recorded=recorded,
        why_plain=shadow._stats.unrepeatable,
        compile_s=shadow._stats.compile_s,
        not_rolled=tuple(notes.not_rolled),
        paths=() if own is None else _paths_of(jit, own),
        why_traced_again=why_again,
        is_known=own is not None,
        stats=jit.stats(),
        kept_apart=differences(jit),
    )


def of_program(program: Program, notes: Notes | None = None) -> Look:
    """Return a look at a program, with what was noted while its tape was made."""
    tape = program.tape
    notes = Notes() if notes is None else notes
    number = {v: k for k, v in enumerate(tape.inputs)}
    derivatives = [
        ([number[now] for v in wrt if (now := notes.now(v)) in number], [notes.now(a) for a in outputs])
        for wrt, outputs in notes.differentiated
    ]
    wrt = tuple(sorted({k for numbers, _ in derivatives for k in numbers}))
    outputs = [a for numbers, found in derivatives if numbers for a in found]
    made: set[Atom] = {*tape.inputs, *[v for i in tape.instrs for v in i.outs]}
    outputs = [a for a in outputs if a in made]
    activity = reasons(tape, wrt or range(len(tape.inputs)), outputs or tape.outputs)
    if wrt:
        active = {notes.now(a) for a in notes.active}
        activity = {v: a._replace(is_active=v in active) for v, a in activity.items()}
    cotangents: dict[Var, Var] = {}
    for v, ct in notes.cotangents.items():
        value, first = notes.now(v), _first_part(ct, notes, made)
        if value in made and first is not None and type(value) is Var:
            cotangents[value] = first
    return Look(program, wrt=wrt, activity=activity, cotangents=cotangents, title=tape.name)


def _first_part(ct: Any, notes: Notes, made: set[Atom]) -> Var | None:
    """The value of the tape that is a cotangent, or the first of those that it is made of."""
    if type(ct) is Var:
        now = notes.now(ct)
        return now if type(now) is Var and now in made else None
    if isinstance(ct, tuple):
        value = getattr(ct, "value", None)
        parts = list(ct) if value is None else [value]
        return next((v for part in parts if (v := _first_part(part, notes, made)) is not None), None)
    return None


def _may_bind(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        inspect.signature(f).bind(*args, **kwargs)
    except TypeError:
        return False
    except ValueError:  # a builtin does not say
        return True
    return True


# -------------------------------------------------------------------------------------------- what a jit knows


def known_program(jit: Jit, signature: Signature, leaves: Sequence[Any]) -> tuple[Compiled | None, tuple[str, ...]]:
    """Return the program that ``jit`` has for a call, and if it has none, why not. Nothing is counted."""
    with jit._lock:
        known = {s: list(specials) for s, specials in jit._specialisations.items()}
    if not known:
        return None, ()
    if signature not in known:
        return None, (_nearest(jit, signature, list(known)),)
    rebound: list[str] = []
    for special in known[signature]:
        if not special.environment.holds():
            rebound += [name for name in _changed(special) if name not in rebound]
            continue
        inputs = [
            x if type(leaf) is Array else np.asarray(x)
            for x, leaf in zip(leaves, signature.leaves, strict=True)
            if leaf.is_traced
        ]
        found, missed = special.paths.recent, None
        while found is not None:
            path, compiled = found
            try:
                compiled.look(inputs)
            except GuardMiss as miss:
                if missed is not None and miss.position <= missed[1].position:
                    break
                missed = compiled, miss
                found = special.paths.after(path, miss)
                continue
            return compiled, ()
        return None, () if missed is None else (_other_path(*missed),)
    names = "; ".join(rebound) or "what it read beside its arguments"
    return None, (f"{names} is no longer what it was when the function was traced",)


def differences(jit: Jit) -> tuple[str, ...]:
    """Return the reasons for which ``jit`` has more than one program."""
    with jit._lock:
        known = {s: list(specials) for s, specials in jit._specialisations.items()}
    found: list[str] = []
    signatures = list(known)
    found += [_nearest(jit, signatures[k], signatures[:k]) for k in range(1, len(signatures))]
    for specials in known.values():
        found += sorted({f"{name} has changed" for special in specials for name in _changed(special)})
        for special in specials:
            found += _forks([compiled for _, compiled in special.paths.all()])
    return tuple(dict.fromkeys(found))


def _changed(special: Specialisation) -> list[str]:
    """The slots that are no longer what they were when a function was traced, with the lines that read it."""
    texts = []
    for name in special.environment.changed():
        lines = [source.where for source in special.environment.read_at(name)]
        more = f" and {len(lines) - MOST_LINES} more lines" if len(lines) > MOST_LINES else ""
        texts.append(f"{name}, read at {', '.join(lines[:MOST_LINES])}{more}," if lines else name)
    return texts


def _forks(programs: Sequence[Compiled]) -> list[str]:
    """The guards at which paths part. Each path parts from the one before it in the tree as late as from any other."""
    seen: dict[str, dict[str, None]] = {}
    for before, after in pairwise(programs):
        for position, (one, other) in enumerate(zip(before.path, after.path, strict=False)):
            if one != other:
                what = _guard_at(after.tape, position)
                seen.setdefault(what, {}).update({repr(one): None, repr(other): None})
                break
    texts = []
    for what, values in seen.items():
        named = list(values)[:MOST_LINES]
        more = f", and {len(values) - MOST_LINES} others" if len(values) > MOST_LINES else ""
        texts.append(f"{what} was {' in one call, and '.join(named)} in another{more}")
    return texts


def _guard_at(tape: Tape, position: int) -> str:
    """The guard that looks at the value of this number on a path, with its line and the text of that."""
    at = 0
    for instr in tape.instrs:
        if instr.op is guard:
            values = values_of(instr)
            if at <= position < at + len(values):
                kind = np.asarray(values[position - at].value).dtype.kind
                return WHAT_IS_SEEN.get(kind, "the value") + _quoted(instr.source)
            at += len(values)
    return "a branch of the function"


def _quoted(source: Source | None) -> str:
    """Where a step is, with the text of the line."""
    if source is None:
        return ""
    text = linecache.getline(source.file, source.line).partition("  #")[0].strip()
    return f" at {source.where}" + (f" ({text})" if text else "")


def _nearest(jit: Jit, signature: Signature, known: Sequence[Signature]) -> str:
    """Say what tells a signature from the most similar one of those that are known."""
    texts = [_difference(jit, signature, other) for other in known]
    return min(texts, key=lambda t: (t[0], len(t[1])))[1]


def _difference(jit: Jit, new: Signature, old: Signature) -> tuple[int, str]:
    """How many leaves of two signatures differ, and which, in words."""
    function = _function(jit)
    if new.treedef != old.treedef or new.has_kwargs != old.has_kwargs or len(new.leaves) != len(old.leaves):
        return 1000, f"the structure of the arguments of {function} differs"
    if new.key_orders != old.key_orders:
        return 999, f"the keys of a dict among the arguments of {function} come in another order"
    pairs = [(k, a, b) for k, (a, b) in enumerate(zip(new.leaves, old.leaves, strict=True)) if a != b]
    texts = [f"argument {_argument(jit, new, k)} is {_words(a, b)}, not {_words(b, a)}" for k, a, b in pairs[:3]]
    more = f"; and {len(pairs) - 3} more" if len(pairs) > 3 else ""
    return len(pairs), f"{'; '.join(texts)}{more}, in a call of {function}"


def _function(jit: Jit) -> str:
    """The user's function that a jit compiles, with its line."""
    defined = definition(jit.__wrapped__)
    return jit.__name__ if defined is None else f"{jit.__name__} at {defined.where}"


def _argument(jit: Jit, signature: Signature, k: int) -> str:
    """The name of a leaf of the arguments: ``x``, ``W[0]``."""
    path = tree.path(signature.treedef, k)
    if signature.has_kwargs:
        which, _, path = path[1:].partition("]")
        if which == "1":  # a keyword
            return re.sub(r"""^\[["'](\w+)["']\]""", r"\1", path)
    head, _, rest = path[1:].partition("]")
    try:
        parameters = list(inspect.signature(jit.__wrapped__).parameters.values())
    except (TypeError, ValueError):  # a builtin
        return path
    is_named = head.isdigit() and int(head) < len(parameters)
    if not is_named or any(p.kind is p.VAR_POSITIONAL for p in parameters[: int(head) + 1]):
        return path
    return parameters[int(head)].name + rest


def _words(leaf: Any, beside: Any) -> str:
    """A leaf of a signature in words, as far as it differs from another."""
    if isinstance(leaf, Array):
        text = f"{leaf.dtype.name}[{', '.join(map(str, leaf.shape))}]"
        if isinstance(beside, Array) and (leaf.shape, leaf.dtype) == (beside.shape, beside.dtype):
            text += " in C order" if leaf.strides is None else f" with strides {leaf.strides}"
        return text
    if isinstance(leaf, Scalar):
        return f"a NumPy {leaf.dtype.name}"
    return f"a Python {leaf.type.__name__}" if isinstance(leaf, Number) else repr(leaf.value)


def _other_path(compiled: Compiled, miss: GuardMiss) -> str:
    expected = compiled.path[miss.position]
    what = _guard_at(compiled.tape, miss.position)
    return f"{what} was {expected!r} on the path that is known, and is {miss.value!r} here"


def _paths_of(jit: Jit, own: Compiled) -> tuple[tuple[Decided, ...], ...]:
    """The decisions of each path beside that of ``own``, its own first."""
    special = own.special
    if special is None:
        return ()
    programs = [own, *[compiled for _, compiled in special.paths.all() if compiled is not own]]
    return tuple([tuple(_decisions(compiled.tape)) for compiled in programs])


def _decisions(tape: Tape) -> Iterable[Decided]:
    for instr in tape.instrs:
        if instr.op is guard:
            expected: Expected
            for expected in values_of(instr):
                yield Decided(instr, expected.value)

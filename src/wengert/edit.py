"""Looking into a tape and changing it by hand: queries, surgery, and a step-by-step player.

Variables are stable references: they stay what they are through insertions, replacements and deletions, and through
passes, unless the step that assigns them is merged with an equal one or removed. Every edit returns a new tape and
checks it.

    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(lambda x: np.sum(np.exp(x)))(np.zeros(3))
    >>> (exp,) = wg.edit.find(tape, op="exp")
    >>> def cosine(x):
    ...     return wg.ops.OPS["cos"](x)
    >>> edited = wg.edit.replace_step(tape, exp.outs[0], cosine, exp.ins[0])
    >>> wg.compile(edited)(np.zeros(3))
    np.float64(3.0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.errors import InternalError, ShapeError, StructureError, message, say_where
from wengert.expect import checked, given, refused
from wengert.notes import current as current_notes
from wengert.source import Source
from wengert.tape import (
    Atom,
    Builder,
    Instr,
    Lit,
    Tape,
    Var,
    building,
    check,
    definitions,
    format_param,
    key_of,
    may_be_one,
    tapes_in,
    without_shows,
)

Array = ArrayLike

# ----------------------------------------------------------------------------------------------------- queries


@checked
def find(
    tape: Tape,
    *,
    op: str | None = None,
    line: int | None = None,
    function: str | None = None,
    where: Callable[[Instr], bool] | None = None,
) -> list[Instr]:
    """Return the instructions that match everything given, in the tape's order.

    Parameters
    ----------
    tape : of :func:`wengert.trace`.
    op : the name of the op.
    line, function : the user's line, and the name of the user's function.
    where : a predicate of the instruction.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(lambda x: np.sin(x) * np.sin(2 * x))(0.0)
    >>> [instr.op.name for instr in wg.edit.find(tape, op="sin")]
    ['sin', 'sin']
    """

    def matches(instr: Instr) -> bool:
        source = instr.source
        return (
            (op is None or instr.op.name == op)
            and (line is None or (source is not None and source.line == line))
            and (function is None or (source is not None and source.function == function))
            and (where is None or where(instr))
        )

    return [instr for instr in tape.instrs if matches(instr)]


@checked
def ancestors(tape: Tape, of: Var | Iterable[Var]) -> list[Instr]:
    """Return the instructions that the given values depend on, their own included, in the tape's order. Linear.

    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(lambda x, y: np.exp(x) * np.sin(y))(0.0, 0.0)
    >>> (sin,) = wg.edit.find(tape, op="sin")
    >>> [instr.op.name for instr in wg.edit.ancestors(tape, sin.outs)]
    ['sin']
    >>> len(wg.edit.ancestors(tape, tape.outputs))
    3
    """
    needed: set[Atom] = {of} if isinstance(of, Var) else set(of)
    found = []
    for instr in reversed(tape.instrs):
        if not needed.isdisjoint(instr.outs):
            needed.update(instr.ins)
            found.append(instr)
    return found[::-1]


@checked
def descendants(tape: Tape, of: Var | Iterable[Var]) -> list[Instr]:
    """Return the instructions that depend on the given values, in the tape's order. Linear.

    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(lambda x, y: np.exp(x) * np.sin(y))(0.0, 0.0)
    >>> [instr.op.name for instr in wg.edit.descendants(tape, tape.inputs[1])]
    ['sin', 'multiply']
    """
    reached: set[Atom] = {of} if isinstance(of, Var) else set(of)
    found = []
    for instr in tape.instrs:
        if not reached.isdisjoint(instr.ins):
            reached.update(instr.outs)
            found.append(instr)
    return found


@checked
def explain(tape: Tape, var: Var, wrt: Iterable[int] | None = None) -> str:
    """Return why a value is active, in words: which inputs it depends on, and by which steps of the user's code.

    Parameters
    ----------
    tape : of :func:`wengert.trace`.
    var : one of its values.
    wrt : numbers of inputs; all by default.

    Raises
    ------
    ArgumentError : ``wrt`` has a number that is none of an input.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(lambda x, y: np.exp(x) * y)(0.0, 0.0)
    >>> (exp,) = wg.edit.find(tape, op="exp")
    >>> print(wg.edit.explain(tape, exp.outs[0], wrt=[1]))
    float64[] depends on none of the inputs: it is a constant to every derivative
    >>> print(wg.edit.explain(tape, exp.outs[0]))
    float64[] is active: it depends on input 0
      by exp at ...
    """
    chosen = range(len(tape.inputs)) if wrt is None else list(wrt)
    if not all(isinstance(k, int | np.integer) and 0 <= k < len(tape.inputs) for k in chosen):
        raise refused("explain", "wrt", wrt, f"numbers of inputs, of which {tape.name} has {len(tape.inputs)}")
    steps = ancestors(tape, var)
    read: set[Atom] = {a for instr in steps for a in instr.ins} | {var}
    sources = [k for k in chosen if tape.inputs[k] in read]
    if not sources:
        return f"{var.aval} depends on none of the inputs: it is a constant to every derivative"
    through: set[Atom] = {tape.inputs[k] for k in sources}
    lines = [f"{var.aval} is active: it depends on input {', '.join(map(str, sources))}"]
    for instr in steps:
        if not through.isdisjoint(instr.ins):
            through.update(instr.outs)
            lines.append(f"  by {instr.op.name} at {instr.source.where if instr.source else '?'}")
    return "\n".join(lines)


@checked
def bodies(instr: Instr) -> list[tuple[str, Tape]]:
    """Return the tapes that an instruction holds, with their names: the body of a loop, the branches of a choice.

    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(lambda x: wg.cond(x > 0, np.sin, np.cos, x))(1.0)
    >>> [(name, len(body)) for instr in tape.instrs for name, body in wg.edit.bodies(instr)]
    [('branch 0', 1), ('branch 1', 1)]
    """
    found: list[tuple[str, Tape]] = []

    def look(name: str, value: object) -> None:
        fields = getattr(value, "_fields", None)
        if isinstance(value, Tape):
            found.append((name, value))
        elif fields is not None:
            for field, part in zip(fields, value, strict=True):  # type: ignore[call-overload]  # a named tuple
                look(field, part)
        elif isinstance(value, tuple) and tapes_in(value):
            for k, part in enumerate(value):
                look(f"{'branch' if name == 'branches' else name} {k}", part)

    for name, value in instr.params.items():
        look(name, value)
    return found


@checked
def params(instr: Instr) -> list[str]:
    """Return the parameters of an instruction as a tape prints them.

    >>> import numpy as np, wengert as wg
    >>> (instr,) = wg.trace(lambda x: np.sum(x, axis=0))(np.ones((2, 3))).instrs
    >>> wg.edit.params(instr)
    ['axis=(0,)']
    """
    return [f"{name}={format_param(value)}" for name, value in instr.params.items()]


# ----------------------------------------------------------------------------------------------------- surgery


def _position(tape: Tape, var: Var) -> int:
    for k, instr in enumerate(tape.instrs):
        if var in instr.outs:
            return k
    raise StructureError(
        message("no instruction of the tape assigns this value", tries=["a value from wg.edit.find(tape, ...)"])
    )


def _well_formed(tape: Tape, after: str) -> Tape:
    """Check the tape that an edit made; a mistake in it comes from the values that the user has put there."""
    try:
        return check(tape, after=after)
    except InternalError as error:
        tries = ["values that the tape assigns before they are read"]
        raise StructureError(message(str(error), tries=tries)) from None


@checked
def insert_after(tape: Tape, var: Var | None, step: Callable[..., Any], *operands: Atom) -> tuple[Tape, Atom]:
    """Return a tape with the steps of ``step(*operands)`` behind the one that assigns ``var``, and the new value.

    No instruction reads the new value yet: :func:`replace_value` puts it in the place of another one.

    Parameters
    ----------
    tape : of :func:`wengert.trace`.
    var : a value that is assigned, or an input; None inserts at the beginning.
    step : a function written in ops, such as ``wg.ops.OPS["cos"]``.
    operands : values of the tape.

    Raises
    ------
    ArgumentError : ``step`` is a function of NumPy's, or returns something other than one value.
    StructureError : the tape does not assign ``var``, or reads an operand before it is assigned.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(np.sin)(0.0)
    >>> x, y = tape.inputs[0], tape.outputs[0]
    >>> longer, new = wg.edit.insert_after(tape, y, wg.ops.OPS["exp"], x)
    >>> [instr.op.name for instr in longer.instrs], longer.outputs == tape.outputs, new.aval
    (['sin', 'exp'], True, float64[])
    """
    at = 0 if var is None or var in tape.inputs else _position(tape, var) + 1
    builder = Builder()
    if isinstance(step, np.ufunc):
        name = step.__name__
        raise refused("insert_after", "step", step, "a function written in ops", f'wg.ops.OPS["{name}"]')
    with building(builder):
        new = step(*operands)
    if not isinstance(new, Var | Lit):
        raise refused("insert_after", "step(*operands)", new, "one value of the tape")
    instrs = (*tape.instrs[:at], *builder.instrs, *tape.instrs[at:])
    return _well_formed(tape.replace(instrs=instrs), after="insert_after"), new


@checked
def replace_value(tape: Tape, old: Var, new: Atom) -> Tape:
    """Return a tape in which all that read ``old`` read ``new``, which has the same type and is assigned before.

    Raises
    ------
    ShapeError : ``new`` has another type.
    StructureError : ``old`` is read before ``new`` is assigned.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(lambda x, y: np.sin(x) + y)(0.0, 0.0)
    >>> swapped = wg.edit.replace_value(tape, tape.inputs[0], tape.inputs[1])
    >>> wg.compile(swapped)(0.0, np.pi / 2) == 1 + np.pi / 2
    np.True_
    """
    if new.aval is not old.aval:
        raise ShapeError(message(f"a value of type {old.aval} cannot be replaced by one of type {new.aval}"))
    defined = definitions(tape).get(new) if isinstance(new, Var) else None
    if defined is not None:
        for instr in takewhile(lambda i: i is not defined, tape.instrs):
            if old in instr.ins:
                raise StructureError(
                    message(
                        f"{instr.op.name} would read the new value before {defined.op.name} computes it",
                        instr.source,
                        tries=["wg.edit.insert_after, to compute the new value before it is read"],
                    )
                )
    instrs = tuple(
        instr if instr is defined or old not in instr.ins else instr._replace(ins=_swap(instr.ins, old, new))
        for instr in tape.instrs
    )
    return _well_formed(tape.replace(instrs=instrs, outputs=_swap(tape.outputs, old, new)), after="replace_value")


def _swap(atoms: tuple[Atom, ...], old: Var, new: Atom) -> tuple[Atom, ...]:
    return tuple([new if a is old else a for a in atoms])


@checked
def replace_step(tape: Tape, var: Var, step: Callable[..., Any], *operands: Atom) -> Tape:
    """Return a tape in which ``var`` is computed by ``step(*operands)`` instead.

    Parameters and errors are those of :func:`insert_after`; the new value has the type of ``var``.

    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(np.sin)(0.0)
    >>> wg.compile(wg.edit.replace_step(tape, tape.outputs[0], wg.ops.OPS["exp"], tape.inputs[0]))(0.0)
    np.float64(1.0)
    """
    inserted, new = insert_after(tape, var, step, *operands)
    return delete(replace_value(inserted, var, new), var)


@checked
def delete(tape: Tape, var: Var) -> Tape:
    """Return a tape without the instruction that assigns ``var``. Raises StructureError if the tape reads ``var``.

    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(np.sin)(0.0)
    >>> longer, new = wg.edit.insert_after(tape, None, wg.ops.OPS["exp"], tape.inputs[0])
    >>> len(longer), len(wg.edit.delete(longer, new))
    (2, 1)
    """
    at = _position(tape, var)
    readers = [instr for instr in tape.instrs if not set(tape.instrs[at].outs).isdisjoint(instr.ins)]
    if readers or not set(tape.instrs[at].outs).isdisjoint(tape.outputs):
        who = readers[0].op.name if readers else "the tape's output"
        raise StructureError(
            message(f"{var.aval} cannot be deleted: {who} reads it", tries=["wg.edit.replace_value first"])
        )
    return check(tape.replace(instrs=(*tape.instrs[:at], *tape.instrs[at + 1 :])), after="delete")


@checked
def merge_common(tape: Tape) -> Tape:
    """Return a tape that computes equal expressions once: same op, same operands, same parameters, no effects. Linear.

    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(lambda x: np.sin(x) * np.sin(x))(0.0)
    >>> len(tape), len(wg.edit.merge_common(tape))
    (3, 2)
    """
    same: dict[Atom, Atom] = {}
    seen: dict[Any, tuple[Var, ...]] = {}
    kept: list[Instr] = []
    for instr in tape.instrs:
        op, ins, outs, params, source = instr
        if not same.keys().isdisjoint(ins):
            ins = tuple([same.get(a, a) for a in ins])
            instr = Instr(op, ins, outs, params, source)
        if may_be_one(instr):
            operands: Any = list(map(key_of, ins))
            if op.is_commutative:
                operands = [frozenset(operands)]  # one of them, if they are the same
            key = (op, *operands, *params.items())
            known = seen.setdefault(key, outs)
            if known is not outs:
                same.update(zip(outs, known, strict=True))
                continue
        kept.append(instr)
    notes = current_notes()
    if notes is not None:
        notes.new_names.update(same)
    metadata = {same.get(v, v): note for v, note in tape.metadata.items()}
    return tape.replace(
        instrs=tuple(kept),
        outputs=tuple(same.get(a, a) for a in tape.outputs),
        metadata=metadata,
    )


@checked
def annotate(tape: Tape, notes: Mapping[Var, Any]) -> Tape:
    """Return a tape whose ``metadata`` has ``notes`` on values as well; transforms and passes hand them on.

    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(np.sin)(0.0)
    >>> wg.edit.annotate(tape, {tape.outputs[0]: "height in m"}).metadata[tape.outputs[0]]
    'height in m'
    """
    return tape.replace(metadata={**tape.metadata, **notes})


# ------------------------------------------------------------------------------------------------------ playing


@checked
def play(tape: Tape, *inputs: Array) -> dict[Atom, Any]:
    """Run the tape step by step through the references of its ops; return the value of every variable.

    It is made for inspection and tests: nothing is freed or reused. An error of a step goes on, with a note of the
    user's line.

    Parameters
    ----------
    tape : of :func:`wengert.trace`.
    inputs : arrays, one for each of ``tape.inputs``.

    Raises
    ------
    ShapeError : there are not as many inputs, or one has another shape.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(lambda x: 2 * np.exp(x))(0.0)
    >>> values = wg.edit.play(tape, 0.0)
    >>> [float(values[instr.outs[0]]) for instr in tape.instrs]
    [1.0, 2.0]
    """
    _check_count("play", tape, inputs)
    for k, (x, v) in enumerate(zip(inputs, tape.inputs, strict=True)):
        if np.shape(x) != v.aval.shape and not tape.any_length:
            raise ShapeError(message(f"play: input {k} is {given(x)}; {tape.name} takes {v.aval}"))
    return played(tape, *inputs)


def _check_count(what: str, tape: Tape, inputs: Sequence[Any]) -> None:
    if len(inputs) != len(tape.inputs):
        raise ShapeError(message(f"{what}: {len(inputs)} inputs; {tape.name} takes {len(tape.inputs)}"))


def played(tape: Tape, *inputs: Any) -> dict[Atom, Any]:
    """Run a tape as :func:`play` does, without checks, for ops that hold a tape and know that their inputs fit."""
    values: dict[Atom, Any] = dict(zip(tape.inputs, inputs, strict=True))
    for c in tape.captures:
        values[c.var] = c.array
    for instr in tape.instrs:
        values.update(zip(instr.outs, _reference_of(instr, values), strict=True))
    for a in tape.outputs:
        if type(a) is Lit:
            values[a] = a.value
    return values


@checked
def unroll(tape: Tape, *inputs: Array) -> Tape:
    """Return the tape without its loops and branches: each iteration and the branch that ``inputs`` take, as steps.

    What decided stays as a guard. It is made for inspection: every value of the run is held meanwhile, and the tape is
    as long as the run. Steps of solvers (roots, integrals) stay as they are; those that print or watch are left out.

    Parameters
    ----------
    tape : of :func:`wengert.trace`.
    inputs : arrays, one for each of ``tape.inputs``.

    Raises
    ------
    ShapeError : there are not as many inputs.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(lambda x: wg.fori_loop(0, 3, lambda i, c: np.sin(c), x))(1.0)
    >>> [instr.op.name for instr in wg.edit.unroll(tape, 1.0).instrs]
    ['slice', 'sin', 'slice', 'sin', 'slice', 'sin']
    """
    _check_count("unroll", tape, inputs)
    tape = without_shows(tape)
    values: dict[Atom, Any] = dict(zip(tape.inputs, inputs, strict=True))
    values.update([(c.var, c.array) for c in tape.captures])
    builder = Builder()
    done = 0

    def look(a: Atom) -> Any:
        """The value of an atom, after the steps that have been emitted and not yet run."""
        nonlocal done
        for instr in builder.since(done):
            results = _reference_of(instr, values)
            values.update(zip(instr.outs, results, strict=True))
        done = len(builder)
        return a.value if type(a) is Lit else values[a]

    def run(body: Tape, atoms: Iterable[Atom]) -> list[Atom]:
        new: dict[Atom, Atom] = dict(zip(body.inputs, atoms, strict=True))
        around = builder.source
        for instr in body.instrs:
            op, ins, outs, params, source = instr
            given = tuple([new.get(a, a) for a in ins])
            builder.source = source or around
            if op.unrolled is None:
                results = tuple([Var(v.aval) for v in outs])
                builder.append(Instr(op, given, results, params, builder.source))
            else:
                results = op.unrolled(run, look, *given, **params)
            new.update(zip(outs, results, strict=True))
        builder.source = around
        return [new.get(a, a) for a in body.outputs]

    with building(builder):
        outputs = run(tape, tape.inputs)
    return tape.replace(instrs=builder.instrs, outputs=tuple(outputs), captures=(*tape.captures, *builder.captures))


@checked
def margins(tape: Tape, of: Iterable[Instr]) -> tuple[Tape, list[tuple[Instr, Atom]]]:
    """Return a longer tape that computes margins as well, and these: pairs of an instruction and a margin of it.

    A margin is zero where the step switches from one smooth piece to another: the operand of ``abs``, the difference
    of the operands of a comparison. A step that is smooth everywhere has none, and loops have none themselves: see
    :func:`unroll`.

    Parameters
    ----------
    tape : of :func:`wengert.trace`.
    of : instructions of it.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> tape = wg.trace(lambda x: np.maximum(np.sin(x), 0.5))(1.0)
    >>> longer, ((instr, margin),) = wg.edit.margins(tape, tape.instrs)
    >>> instr.op.name, float(wg.edit.play(longer, 1.0)[margin])
    ('maximum', 0.3414709848078965)
    """
    builder = Builder(start=tape.instrs)
    found: list[tuple[Instr, Atom]] = []
    with building(builder):
        for instr in of:
            op, ins, outs, params, source = instr
            if op.switches is not None:
                builder.source = source
                y = outs if len(outs) > 1 else outs[0]
                margins = op.switches(*ins, y, **params)
                found += [(instr, margin) for margin in margins if isinstance(margin, Var)]
    return tape.replace(instrs=builder.instrs), found


def _reference_of(instr: Instr, values: Mapping[Atom, Any]) -> tuple[Any, ...]:
    """The results of a step by the reference of its op."""
    try:
        operands = [a.value if type(a) is Lit else values[a] for a in instr.ins]
        result = instr.op.reference(*operands, **instr.params)
    except Exception as error:  # whatever NumPy or the user's code raises goes on, with a note
        say_where(error, instr.source)
        raise
    return (result,) if len(instr.outs) == 1 else tuple(result)


@checked
def format_tree(tape: Tape, depth: int | None = None) -> str:
    """Return the tape as a tree of the user's calls, in text, guards shown as the branches they took.

    Each line is a call or a step with the user's line.

    Parameters
    ----------
    tape : of :func:`wengert.trace`.
    depth : how many levels of calls are shown; steps below are counted. None: all.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> __name__ = "model"  # what follows is as in a module of yours
    >>> def wave(x):
    ...     return np.sin(x)
    >>> def twice(x):
    ...     return 2 * wave(x)
    >>> print(wg.format_tree(wg.trace(twice)(0.0)))
    twice
      wave()   # called at ...
        sin -> float64[]   # ...
      multiply -> float64[]   # ...
    """

    def chain(source: Source | None) -> list[Source]:
        calls: list[Source] = []
        while source is not None:
            calls.append(source)
            source = source.parent
        return calls[::-1]

    lines = [tape.name]
    shown: list[Source] = []
    hidden = 0

    def flush() -> None:
        nonlocal hidden
        if hidden:
            lines.append("  " * ((depth or 0) + 1) + f"... {hidden} steps")
            hidden = 0

    for instr in tape.instrs:
        *calls, last = chain(instr.source) or [Source("?", 0, "?")]
        visible = calls if depth is None else calls[:depth]
        common = 0
        while common < min(len(visible), len(shown)) and visible[common] == shown[common]:
            common += 1
        if visible != shown:
            flush()
            for level in range(common, len(visible)):
                inner = (calls + [last])[level + 1]
                lines.append("  " * (level + 1) + f"{inner.function}()   # called at {visible[level].where}")
            shown = visible
        if depth is not None and len(calls) > depth:
            hidden += 1
            continue
        flush()
        text = instr.op.describe(instr) if instr.op.describe else instr.op.name
        out = ", ".join(str(v.aval) for v in instr.outs)
        role = f" {last.what}" if last.what else ""
        lines.append("  " * (len(visible) + 1) + f"{text}{' -> ' + out if out else ''}   # {last.where}{role}")
    flush()
    return "\n".join(lines)


__all__ = [
    # looking
    "find",
    "ancestors",
    "descendants",
    "explain",
    "bodies",
    "params",
    "format_tree",
    "Instr",
    # changing
    "insert_after",
    "replace_value",
    "replace_step",
    "delete",
    "merge_common",
    "annotate",
    # running step by step
    "play",
    "unroll",
    "margins",
]


def __dir__() -> list[str]:
    return list(__all__)

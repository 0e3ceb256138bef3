"""Sentences on what makes a program slow, and on what would avoid it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from wengert.report.data import Advice, ReportData
from wengert.report.loops import returns_of

if TYPE_CHECKING:
    from wengert.report.gather import Gatherer

LARGE = 1 << 12
"""The bytes of a copy that is worth a sentence."""
MANY = 64
"""The steps of a loop that is worth a sentence."""


def advice_of(gatherer: Gatherer, report: ReportData) -> Iterator[Advice]:
    """Yield a sentence for each thing that makes the program slow: callbacks, copies, loops on the tape, retraces."""
    yield from of_calls(gatherer.look)
    for kernel in report.kernels:
        file, line = kernel.lines[0] if kernel.lines else (-1, 0)
        if kernel.kind == "callback":
            text = f"{kernel.name} runs in Python at every call: {kernel.why}"
            yield Advice("callback", file, line, text, _instead_of_callback(kernel.why))
    yield from _of_copies(gatherer)
    for loop in report.loops:
        steps = gatherer.unrolled.get((loop.file, loop.line), 0)
        if not loop.became and steps >= MANY:
            count = f"{loop.iterations} " if loop.iterations >= 0 else ""
            text = f"the {count}iterations of a loop are {steps} steps of the tape: {loop.why}"
            yield Advice(
                "unrolled loop", loop.file, loop.line, text, "wg.scan or wg.fori_loop: one step, compiled once"
            )


def of_calls(look: Any) -> Iterator[Advice]:
    """Yield what makes calls of the function slow, whatever its program is."""
    if look.why_plain:
        text, instead = parts_of_error(look.why_plain)
        yield Advice("plain call", -1, 0, f"the function itself answers such calls: {text}", instead)
    for why in look.why_traced_again:
        yield Advice("retrace", -1, 0, f"this call would be traced anew: {why}", instead_of_trace(why))
    stats = look.stats
    if stats.get("undecided"):
        text = f"{stats['undecided']} calls were answered by NumPy, since rounding may decide a branch"
        yield Advice("undecided", -1, 0, text, "np.where or wg.cond, or a comparison with some tolerance")
    if stats.get("environment_misses"):
        names = "; ".join([w for w in look.kept_apart if w.endswith("has changed")]) or "what it captured was rebound"
        text = f"{stats['environment_misses']} calls were traced anew: {names}"
        yield Advice("retrace", -1, 0, text, "the captured value as an argument")
    if stats.get("plain") and not look.why_plain:
        text, instead = parts_of_error(stats["why_plain"])
        yield Advice(
            "plain call", -1, 0, f"{stats['plain']} calls were answered by the function itself: {text}", instead
        )


def instead_of_trace(why: str) -> str:
    """Return what avoids that calls are traced for this reason."""
    if why.startswith(("the branch", "a branch", "the integer", "the value")):
        return "np.where or wg.cond for the branch, if there are many paths"
    if "argument" in why:
        return "arguments of one type and shape, padded with a mask, say"
    return "it as an argument, which is traced once"


def _of_copies(gatherer: Gatherer) -> Iterator[Advice]:
    plan = gatherer.program.plan
    for info in gatherer.infos:
        copy = info.planned
        if copy is None or copy.what != "copy" or copy.outs[0].aval.nbytes < LARGE:
            continue
        if copy.ins[0].buffer.kind == "literal":  # memory is filled with a number
            continue
        what = f"{_copied(gatherer, copy)}, {copy.outs[0].aval.nbytes} bytes, is copied at every call"
        if copy.number < len(plan.tape.instrs):
            instr = plan.tape.instrs[copy.number]
            source = instr.source
            file, line = (-1, 0) if source is None else (gatherer.file(source.file), source.line)
            why, instead = _of_step(gatherer, copy, instr, info)
            yield Advice("copy", file, line, f"{what}: {why}", instead)
        else:
            path, line = _returned(gatherer, copy)
            file = gatherer.file(path) if path else -1
            at = f" at {path.rsplit('/', 1)[-1]}:{line}" if path else ""
            if copy.ins[0].buffer.kind in ("input", "capture"):
                why = f"it is returned{at}, and results never share memory with arguments or captured arrays"
                instead = "a function that returns what it computes alone, since the caller has this array"
            else:
                why = f"it is returned{at}, and a result is an array of its own, in C order"
                instead = "a result in the order of axes in which it is computed, returned once"
            yield Advice("copy", file, line, f"{what}: {why}", instead)


def _of_step(gatherer: Gatherer, copy: Any, instr: Any, info: Any) -> tuple[str, str]:
    """Why a step makes a copy necessary, and what would avoid that."""
    kernel = instr.op.kernel
    step = instr.op.name + (f" at {instr.source.where}" if instr.source is not None else "")
    if kernel.joins:
        why = f"{step} puts its operands side by side, and this one is not computed where it is to stand"
        return why, "the steps that follow, done on each part alone, or parts that are computed and read only there"
    if kernel.is_update and copy.outs[0].aval == instr.outs[0].aval:
        why = f"{step} writes into it, and it is the caller's or is read afterwards"
        return why, "a write into an array that nothing else reads, or np.where"
    if kernel.is_update or (not kernel.is_view and copy.outs[0].aval.size < instr.outs[0].aval.size):
        return f"{step} puts it into a larger array", "an expression of the whole array, in place of its parts"
    name = _argument(gatherer, copy)
    if kernel.is_view:
        why = f"{step} takes its elements in C order, and they do not lie so"
    else:
        why = f"{step} needs it in C order, and it does not lie so"
    if name and not _lies_in_c_order(gatherer, copy.ins[0].buffer.number):
        return why, f"np.ascontiguousarray({name}) once, before the calls"
    return why, "the array in the order of axes in which it is used, neither transposed nor reversed before"


def _copied(gatherer: Gatherer, copy: Any) -> str:
    """The value that is copied, in words: an argument, or the step that made it."""
    buffer, plan = copy.ins[0].buffer, gatherer.program.plan
    name = _argument(gatherer, copy)
    if name:
        return name
    if buffer.kind == "capture":
        captured = plan.tape.captures[buffer.number]
        return captured.name or "a captured array"
    made = {v: i for i in plan.tape.instrs for v in i.outs}
    place = next((v for v, p in plan.places.items() if p == copy.ins[0] and v in made), None)
    while place is not None and made[place].op.kernel.is_view and made[place].ins[0] in made:
        place = made[place].ins[0]  # a view has no memory of its own
    if place is None:
        return "a value"
    number = gatherer.number.get(place, -1)
    if number >= 0 and gatherer.values[number].step >= 0:
        step = gatherer.instrs[gatherer.values[number].step]
        at = f" at {step.source.where}" if step.source is not None else ""
        return f"{gatherer.values[number].name} ({step.op.name}{at})"
    instr = made[place]
    return instr.op.name + (f" at {instr.source.where}" if instr.source is not None else "")


def _argument(gatherer: Gatherer, copy: Any) -> str:
    """The name of the argument that is copied; empty if it is none."""
    buffer = copy.ins[0].buffer
    if buffer.kind != "input":
        return ""
    names = gatherer.argument_names
    return names[int(buffer.number)] if buffer.number < len(names) else f"argument {buffer.number}"


def _lies_in_c_order(gatherer: Gatherer, number: int) -> bool:
    plan = gatherer.program.plan
    place = plan.places[plan.tape.inputs[number]]
    step = place.aval.dtype.itemsize
    for n, stride in zip(reversed(place.aval.shape), reversed(place.strides), strict=True):
        if n != 1 and stride != step:
            return False
        step *= n
    return True


def _returned(gatherer: Gatherer, copy: Any) -> tuple[str, int]:
    """The line on which the function returns what is copied: its only return, or the only one that names it."""
    defined = gatherer.program.defined_at
    if defined is None:
        return "", 0
    lines = returns_of(defined.file, defined.line, defined.function, _argument(gatherer, copy))
    return defined.file, lines[0] if len(lines) == 1 else defined.line


def _instead_of_callback(why: str) -> str:
    if "dtype" in why:
        return "arrays of float64, float32, integers or booleans"
    if "in its body" in why:
        return "a body of steps that have machine code"
    return "an equivalent of steps that have machine code, if it takes long"


def parts_of_error(error: str) -> tuple[str, str]:
    """Return the first sentence of an error with its line, and what it says to try."""
    first, *lines = error.split("\n")
    at = next((m[1] for line in lines if (m := re.match(r"\s+at\s+(.*?)(,|$)", line))), "")
    tries = [m[2] for line in lines if (m := re.match(r"\s+(try|or)\s+(.*)", line))]
    return first + (f" at {at.rsplit('/', 1)[-1]}" if at else ""), ", or ".join(tries)

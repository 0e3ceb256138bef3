"""Sentences on what makes a program slow, and on what would avoid it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from wengert.report.data import Advice, ReportData

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
        text, instead = _parts(look.why_plain)
        yield Advice("plain call", -1, 0, f"the function itself answers such calls: {text}", instead)
    for why in look.why_traced_again:
        yield Advice("retrace", -1, 0, f"this call would be traced anew: {why}", instead_of_trace(why))
    stats = look.stats
    if stats.get("undecided"):
        text = f"{stats['undecided']} calls were answered by NumPy, since rounding may decide a branch"
        yield Advice("undecided", -1, 0, text, "np.where or wg.cond, or a comparison with some tolerance")
    if stats.get("environment_misses"):
        names = "; ".join([w for w in look.kept_apart if "rebound" in w]) or "what it captured was rebound"
        text = f"{stats['environment_misses']} calls were traced anew: {names}"
        yield Advice("retrace", -1, 0, text, "the captured value as an argument")
    if stats.get("plain") and not look.why_plain:
        text, instead = _parts(stats["why_plain"])
        yield Advice(
            "plain call", -1, 0, f"{stats['plain']} calls were answered by the function itself: {text}", instead
        )


def instead_of_trace(why: str) -> str:
    """Return what avoids that calls are traced for this reason."""
    if why.startswith(("the branch", "a branch")):
        return "np.where or wg.cond for the branch, if there are many paths"
    if "argument" in why:
        return "arguments of one type and shape, padded with a mask, say"
    return "it as an argument, which is traced once"


def _of_copies(gatherer: Gatherer) -> Iterator[Advice]:
    names = gatherer.argument_names
    for info in gatherer.program.kernels:
        step = info.planned
        if step is None or step.what != "copy" or step.outs[0].aval.nbytes < LARGE:
            continue
        buffer = step.ins[0].buffer
        nbytes = step.outs[0].aval.nbytes
        if buffer.kind == "input":
            name = names[buffer.number] if buffer.number < len(names) else f"argument {buffer.number}"
            text = f"{name}, {nbytes} bytes, is copied at every call: a step needs it in C order, or it is returned"
            yield Advice("copy", -1, 0, text, f"np.ascontiguousarray({name}) once, before the calls")
        else:
            text = f"{nbytes} bytes are copied, since a step needs its operand in C order"
            yield Advice("copy", -1, 0, text, "the array in the order of axes in which it is used")


def _instead_of_callback(why: str) -> str:
    if "dtype" in why:
        return "arrays of float64, float32, integers or booleans"
    if "in its body" in why:
        return "a body of steps that have machine code"
    return "an equivalent of steps that have machine code, if it takes long"


def _parts(error: str) -> tuple[str, str]:
    """The first sentence of an error with its line, and what it says to try."""
    first, *lines = error.split("\n")
    at = next((m[1] for line in lines if (m := re.match(r"\s+at\s+(.*?)(,|$)", line))), "")
    tries = [m[2] for line in lines if (m := re.match(r"\s+(try|or)\s+(.*)", line))]
    return first + (f" at {at.rsplit('/', 1)[-1]}" if at else ""), ", or ".join(tries)

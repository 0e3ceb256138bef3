"""Loops of the user's code: those that became steps of the tape, and those of which every iteration is on it, with the
reason.

A loop is found in the user's source, around the lines of recorded steps. What was recorded says how often it ran.
"""

from __future__ import annotations

import ast
import linecache
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

FEWEST = 8
"""Fewer iterations are never made a loop."""
LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class LoopAt(NamedTuple):
    """A loop of the user's source, and the lines of its body."""

    file: str
    line: int
    last: int


class UnrolledLoop(NamedTuple):
    """A loop of which the iterations are on the tape."""

    at: LoopAt
    iterations: int
    steps: int
    """The steps of the tape that come from it."""
    why: str


@lru_cache(64)
def loops_in(path: str) -> tuple[LoopAt, ...]:
    """Return the loops of a file, those inside others last."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except SyntaxError:  # a cell of a notebook, say
        return ()
    found = [LoopAt(path, n.lineno, n.end_lineno or n.lineno) for n in ast.walk(tree) if isinstance(n, LOOPS)]
    return tuple(sorted(set(found), key=lambda loop: (loop.line, -loop.last)))


def loop_around(path: str, line: int) -> LoopAt | None:
    """Return the innermost loop around a line."""
    return next((loop for loop in reversed(loops_in(path)) if loop.line <= line <= loop.last), None)


def unrolled(instrs: Sequence[Any], notes: Sequence[Any]) -> list[UnrolledLoop]:
    """Return the loops whose iterations are on the tape, of its steps and the notes on what was not rolled up."""
    seen: dict[LoopAt, Counter[Any]] = defaultdict(Counter)
    types: dict[LoopAt, dict[Any, set[Any]]] = defaultdict(lambda: defaultdict(set))
    around: dict[Any, LoopAt | None] = {}
    chains: dict[Any, tuple[LoopAt, ...]] = {}
    for instr in instrs:
        source = instr.source
        if source is None or source.role:  # of a derivative, or in the place of several
            continue
        loops = chains.get(source)
        if loops is None:
            found = dict[LoopAt, None]()
            call = source
            while call is not None:
                place = call.file, call.line
                if place not in around:
                    around[place] = loop_around(*place)
                loop = around[place]
                if loop is not None:
                    found[loop] = None
                call = call.parent
            loops = chains[source] = tuple(found)
        key = source, instr.op.name
        for loop in loops:
            seen[loop][key] += 1
            types[loop][key].add(tuple([v.aval for v in instr.outs]))
    made = []
    for loop, counts in seen.items():
        most = max(counts.values())
        iterations = min([n for n in counts.values() if 2 * n > most])  # a step may stand in the loop several times
        if iterations > 2:
            why = _why(loop, iterations, counts, types[loop], notes)
            made.append(UnrolledLoop(loop, iterations, counts.total(), why))
    return sorted(made)


def _why(loop: LoopAt, iterations: int, counts: Counter[Any], types: dict[Any, set[Any]], notes: Sequence[Any]) -> str:
    if iterations < FEWEST:
        return f"{iterations} iterations are fewer than the {FEWEST} of which a loop is made"
    lines = {(source.file, source.line) for source, _ in counts}
    for note in notes:  # the first is that of the function; those of its derivative come later
        if not note.sources.isdisjoint(lines):
            return note.why
    for (source, op), n in counts.items():
        if n % iterations:
            return f"its iterations differ: {op} at {source.where} was done {n} times in {iterations} iterations"
    for (source, op), found in types.items():
        if len(found) > 1:
            first, second = [str(avals[0]) if avals else "" for avals in sorted(found, key=str)[:2]]
            return f"its iterations differ: {op} at {source.where} gives {first} in one and {second} in another"
    return "its steps do not follow one another in the same way in all iterations"

"""Loops of the user's code: those that became steps of the tape, and those of which every iteration is on it, with the
reason.

A loop is found in the user's source, around the lines of recorded steps. What was recorded says how often it ran.
"""

from __future__ import annotations

import ast
import linecache
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

FEWEST = 8
"""Fewer iterations are never made a loop."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
BRANCHES = (
    *(ast.If, ast.IfExp, ast.BoolOp, ast.Match, ast.Try, ast.Break, ast.Continue, ast.Return),
    *(ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Yield, ast.YieldFrom),
)
LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class LoopAt(NamedTuple):
    """A loop of the user's source, and the lines of its body."""

    file: str
    line: int
    last: int
    within: tuple[int, int, str] = (0, 0, "<module>")
    """The function that the loop stands in: its first and last line, and its name."""
    iterations: int = -1
    """The iterations that the source fixes, as ``for k in range(20)`` does; else -1."""
    is_straight: bool = False
    """Whether each iteration does the same steps, as far as the source tells: there is no branch in it."""


class UnrolledLoop(NamedTuple):
    """A loop of which the iterations are on the tape."""

    at: LoopAt
    iterations: int
    """-1 if it is not known."""
    steps: int
    """The steps of the tape that come from it."""
    why: str


@lru_cache(64)
def _parsed(path: str) -> tuple[tuple[LoopAt, ...], tuple[tuple[int, int, str], ...]]:
    """The loops of a file, and its functions; those inside others last."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except SyntaxError:  # a cell of a notebook, say
        return (), ()
    loops, functions = set[LoopAt](), list[tuple[int, int, str]]()
    todo: list[tuple[ast.AST, tuple[int, int, str]]] = [(tree, (0, 0, "<module>"))]
    while todo:
        node, within = todo.pop()
        if isinstance(node, FUNCTIONS):
            within = node.lineno, node.end_lineno or node.lineno, getattr(node, "name", "<lambda>")
            functions.append(within)
        elif isinstance(node, LOOPS):
            last = node.end_lineno or node.lineno
            loops.add(LoopAt(path, node.lineno, last, within, _fixed(node), _is_straight(node)))
        todo += [(child, within) for child in ast.iter_child_nodes(node)]
    by_line = sorted(loops, key=lambda loop: (loop.line, -loop.last))
    return tuple(by_line), tuple(sorted(set(functions), key=lambda f: (f[0], -f[1])))


def loops_in(path: str) -> tuple[LoopAt, ...]:
    """Return the loops of a file, those inside others last."""
    return _parsed(path)[0]


def loop_around(path: str, line: int, function: str = "") -> LoopAt | None:
    """Return the innermost loop around a line, which stands in the function of that name, if one is given.

    A loop in which the function is defined, or called, is not around its lines.
    """
    loops, functions = _parsed(path)
    around = [loop for loop in reversed(loops) if loop.line <= line <= loop.last]
    if not around or not function:
        return around[0] if around else None
    found = [f for f in functions if f[0] <= line <= f[1]]
    named = [f for f in found if f[2] == function]  # a comprehension has a name of its own
    within = named or [f for f in found if f[2] != "<lambda>"] or [(0, 0, "<module>")]
    return next((loop for loop in around if loop.within == within[-1]), None)


def returns_of(path: str, first: int, name: str, value: str = "") -> list[int]:
    """Return the lines on which a function returns, which begins at a line: those that name a value, if any does."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except SyntaxError:  # a cell of a notebook, say
        return []
    found = list[tuple[int, bool]]()
    for f in ast.walk(tree):
        if not isinstance(f, FUNCTIONS) or getattr(f, "name", "<lambda>") != name:
            continue
        if min([f.lineno, *[d.lineno for d in getattr(f, "decorator_list", ())]]) != first:
            continue
        if isinstance(f, ast.Lambda):
            return [f.body.lineno]
        todo = list[ast.AST](f.body)
        while todo:
            node = todo.pop()
            if isinstance(node, ast.Return):
                found.append((node.lineno, any(isinstance(n, ast.Name) and n.id == value for n in ast.walk(node))))
            elif not isinstance(node, FUNCTIONS):
                todo += ast.iter_child_nodes(node)
    return [line for line, names_it in found if names_it] or [line for line, _ in found]


def source_of(path: str, lines: Iterable[int]) -> tuple[int, tuple[str, ...]]:
    """Return the lines of a file's functions in which ``lines`` are, and the number of the first."""
    text = linecache.getlines(path)
    lines = [n for n in lines if 0 < n <= len(text)]
    if not lines:
        return 1, ()
    first, last = min(lines), max(lines)
    try:
        nodes = [n for n in ast.walk(ast.parse("".join(text))) if isinstance(n, FUNCTIONS)]
    except SyntaxError:  # a cell with commands of a notebook, say
        nodes = []
    for node in nodes:
        end = node.end_lineno or node.lineno
        if any(node.lineno <= n <= end for n in lines):
            first = min([first, node.lineno, *[d.lineno for d in getattr(node, "decorator_list", ())]])
            last = max(last, end)
    return first, tuple([line.rstrip("\n") for line in text[first - 1 : last]])


def _fixed(loop: ast.AST) -> int:
    """The number of iterations of a loop, if its source fixes it."""
    if not isinstance(loop, ast.For) or any(isinstance(n, ast.Break | ast.Return) for n in ast.walk(loop)):
        return -1
    over = loop.iter
    if isinstance(over, ast.Tuple | ast.List) and not any(isinstance(x, ast.Starred) for x in over.elts):
        return len(over.elts)
    if not isinstance(over, ast.Call) or not isinstance(over.func, ast.Name) or over.func.id != "range":
        return -1
    try:
        return len(range(*[ast.literal_eval(x) for x in over.args]))
    except (TypeError, ValueError, SyntaxError):  # no literal numbers
        return -1


def _is_straight(loop: ast.AST) -> bool:
    """Whether nothing in a loop branches, and no function is called that may be another in each iteration."""
    inner = [n for n in ast.walk(loop) if n is not loop]
    if any(isinstance(n, BRANCHES) for n in inner):
        return False
    bound = {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    called = [n.func for n in inner if isinstance(n, ast.Call)]
    return all(
        (isinstance(f, ast.Name) and f.id not in bound) or (isinstance(f, ast.Attribute) and _root(f)) for f in called
    )


def _root(f: ast.AST) -> bool:
    """Whether a function is an attribute of a name, as ``np.sin`` is."""
    while isinstance(f, ast.Attribute):
        f = f.value
    return isinstance(f, ast.Name)


def unrolled(
    instrs: Sequence[Any], notes: Sequence[Any], recorded: Mapping[LoopAt, int] | None = None
) -> list[UnrolledLoop]:
    """Return the loops whose iterations are on the tape, of its steps and the notes on what was not rolled up.

    ``recorded``: the iterations of loops as the tape had them before the passes, which may do without some.
    """
    recorded = {} if recorded is None else recorded
    seen: dict[LoopAt, Counter[Any]] = defaultdict(Counter)
    types: dict[LoopAt, dict[Any, set[Any]]] = defaultdict(lambda: defaultdict(set))
    around: dict[Any, LoopAt | None] = {}
    chains: dict[Any, tuple[LoopAt, ...]] = {}
    for instr in instrs:
        source = instr.source
        if source is None or source.what:  # of a derivative, or in the place of several
            continue
        loops = chains.get(source)
        if loops is None:
            found = dict[LoopAt, None]()
            call = source
            while call is not None:
                place = call.file, call.line, call.function
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
        if max(counts.values()) > 2:
            iterations = recorded[loop] if loop in recorded else _iterations(loop, counts)
            why = _why(loop, iterations, counts, types[loop], notes)
            made.append(UnrolledLoop(loop, iterations, counts.total(), why))
    return sorted(made)


def _iterations(loop: LoopAt, counts: Counter[Any]) -> int:
    """How often a loop ran, if that is certain: the source fixes it, or every step was done equally often, or several
    times as often as the rarest, as a step is that stands in a loop without branches several times. Else -1."""
    if loop.iterations >= 0:
        return loop.iterations
    own = [n for (source, _), n in counts.items() if source.file == loop.file and loop.line <= source.line <= loop.last]
    fewest = min(own or counts.values())
    if all(n == fewest for n in own or counts.values()):
        return fewest
    return fewest if own and loop.is_straight and all(n % fewest == 0 for n in own) else -1


def _why(loop: LoopAt, iterations: int, counts: Counter[Any], types: dict[Any, set[Any]], notes: Sequence[Any]) -> str:
    if 0 <= iterations < FEWEST:
        return f"{iterations} iterations are fewer than the {FEWEST} of which a loop is made"
    lines = {(source.file, source.line) for source, _ in counts}
    for note in notes:  # the first is that of the function; those of its derivative come later
        if not note.sources.isdisjoint(lines):
            return note.why
    most = max(counts.values())
    for (source, op), n in counts.items():
        if iterations > 0 and n % iterations:
            return f"its iterations differ: {op} at {source.where} was done {n} times in {iterations} iterations"
        if iterations < 0 and 2 * n < most:
            return f"its iterations differ: {op} at {source.where} was done {n} times, and another step {most} times"
    for (source, op), found in types.items():
        if len(found) > 1:
            first, second = [str(avals[0]) if avals else "" for avals in sorted(found, key=str)[:2]]
            return f"its iterations differ: {op} at {source.where} gives {first} in one and {second} in another"
    return "its steps do not follow one another in the same way in all iterations"

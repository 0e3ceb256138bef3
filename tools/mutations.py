"""The changes of a syntax tree that make a mutant: a sign, a factor, an index, an order of operands, a mask, a missing
case, a comparison.

No mutant is made of what no value depends on: messages and all that is raised, docstrings, annotations, assertions,
what prints, costs, ``__all__`` and ``__slots__``.
"""

from __future__ import annotations

import ast
import copy
import difflib
import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple


class Mutant(NamedTuple):
    """The change number ``number`` of a file, in the order of :func:`edits`."""

    file: str
    line: int
    function_line: int
    """Where the function begins that the change is in; 0: it is in none, and runs when the file is imported."""
    kind: str
    change: str
    number: int
    names: tuple[str, ...]
    """Of the functions that the change is in, or of what is defined there: tests of the like are tried first."""
    key: str
    """Of the function's name, the change, and how many of its like stand before it: it holds when lines move."""

    def diff(self, text: str) -> str:
        before = ast.unparse(ast.parse(text)).splitlines()
        after = ast.unparse(mutant_tree(self, text)).splitlines()
        return "\n".join(list(difflib.unified_diff(before, after, lineterm="", n=1))[2:])


class Edit(NamedTuple):
    """``parent.field`` becomes ``new``; of a list, its item ``item``."""

    kind: str
    parent: ast.AST
    field: str
    item: int | None
    old: ast.AST
    new: ast.AST
    functions: tuple[ast.AST, ...]
    statement: ast.AST
    """Of the module, the one that it is in."""


SWAPPED: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
COMPARED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult, ast.LShift, ast.RShift)
SELECTIONS = ("select", "where", "Masked")
SYMMETRIC = (
    "equal",
    "not_equal",
    "add",
    "multiply",
    "maximum",
    "minimum",
    "max",
    "min",
    "two_sum",
    "array_equal",
    "zip",
)
"""Functions that take their operands in any order; for ``zip`` nearly so: what is left over is an error."""

MESSAGES = ("message", "warn", "Unsupported", "not_implemented", "flops", "log", "debug", "cast", "TypeVar", "NewType")
"""What is called for people or for types, not for values."""
PRINTING = ("__repr__", "__str__", "describe", "format", "words", "why")
LEFT_OUT = ("cost", "why", "name", "label", "describe", "doc", "stacklevel", "strict", "title")
"""Keywords that say what something costs or is called, or that lengths are alike."""


def is_for_people(name: str) -> bool:
    return name in PRINTING or name.strip("_").startswith(("describe", "format", "explain")) or name.endswith("cost")


def called_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_type(node: ast.AST | None) -> bool:
    """Whether an expression may be a type: ``A | B`` is no union of sets then."""
    if isinstance(node, ast.BinOp):
        return is_type(node.left) or is_type(node.right)
    text = called_name(node) if node is not None else ""
    return text[:1].isupper() or text in ("int", "float", "str", "bytes", "list", "dict", "tuple", "complex", "bool")


def children(node: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    """The children that values depend on."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "ctx", "op", "ops", "type_params"):
            continue
        items = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for k, child in items:
            if isinstance(child, ast.AST):
                yield field, k, child


def is_left_out(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.AnnAssign):
        return not isinstance(node, ast.AnnAssign) or node.value is None
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return is_for_people(node.name)
    if isinstance(node, ast.keyword):
        return node.arg in LEFT_OUT
    if isinstance(node, ast.Call):
        name = called_name(node.func)
        return name in MESSAGES or name.endswith(("Error", "Warning")) or is_for_people(name)
    if isinstance(node, ast.Assign):
        names = [called_name(t) for t in node.targets]
        return any(n in ("__all__", "__slots__", "__match_args__") or n.lower().endswith("cost") for n in names)
    if isinstance(node, ast.If):
        return called_name(node.test) in ("TYPE_CHECKING", "check") or _only_raises(node)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _only_raises(node: ast.If) -> bool:
    """A check that says what a user did wrong; what it refuses belongs to the tests of errors."""
    return all(isinstance(s, ast.Raise) for s in node.body) and not node.orelse


def edits(tree: ast.AST) -> Iterator[Edit]:
    """Every change of the tree, in an order that depends on it alone."""

    def walk(node: ast.AST, functions: tuple[ast.AST, ...], statement: ast.AST | None) -> Iterator[Edit]:
        inner = (
            (*functions, node) if isinstance(node, ast.FunctionDef | ast.Lambda | ast.AsyncFunctionDef) else functions
        )
        for field, k, child in children(node):
            if is_left_out(child):
                continue
            for kind, new in changes(child, node, field):
                at = functions if isinstance(node, ast.FunctionDef | ast.Lambda) and field == "args" else inner
                yield Edit(kind, node, field, k, child, new, at, statement or child)
            yield from walk(child, inner, statement or child)

    yield from walk(tree, (), None)


def changes(node: ast.AST, parent: ast.AST, field: str) -> Iterator[tuple[str, ast.AST]]:
    """What may stand in the place of ``node``, each with its kind."""

    def changed(**values: Any) -> Any:
        new = copy.copy(node)
        for name, value in values.items():
            setattr(new, name, value)
        return new

    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
            return
        is_union = isinstance(node.op, ast.BitOr) and (is_type(node.left) or is_type(node.right))
        if is_union:
            if isinstance(parent, ast.Call):
                yield "missing case", node.left
            return
        if type(node.op) in SWAPPED:
            kind = "mask" if isinstance(node.op, ast.BitAnd | ast.BitOr) else "sign"
            yield "factor" if isinstance(node.op, ast.Mult | ast.Div) else kind, changed(op=SWAPPED[type(node.op)]())
        if isinstance(node.op, ast.Mult | ast.Div | ast.MatMult):
            yield "factor", node.left
        if isinstance(node.op, ORDERED):
            yield "order", changed(left=node.right, right=node.left)
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.USub):
            yield "sign", node.operand
        elif isinstance(node.op, ast.Not | ast.Invert):
            yield "mask", node.operand
    elif isinstance(node, ast.AugAssign) and type(node.op) in SWAPPED:
        if not isinstance(node.value, ast.List | ast.ListComp | ast.Tuple) and not _is_text(node.value):
            yield "sign", changed(op=SWAPPED[type(node.op)]())
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARED:
        yield "comparison", changed(ops=[COMPARED[type(node.ops[0])]()])
        if isinstance(node.ops[0], ast.Lt | ast.GtE):
            yield "comparison", changed(ops=[ast.Gt() if isinstance(node.ops[0], ast.Lt) else ast.LtE()])
    elif isinstance(node, ast.BoolOp):
        yield "mask", changed(op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        for k in range(len(node.values)):
            rest = node.values[:k] + node.values[k + 1 :]
            yield "missing case", rest[0] if len(rest) == 1 else changed(values=rest)
    elif isinstance(node, ast.IfExp):
        yield "missing case", node.body
        yield "missing case", node.orelse
    elif isinstance(node, ast.If):
        yield "missing case", changed(test=ast.Constant(False))
        if not node.orelse:
            yield "missing case", changed(test=ast.Constant(True))
    elif isinstance(node, ast.Continue | ast.Break) or is_call_alone(node):
        yield "missing case", ast.Pass()
    elif isinstance(node, ast.Call):
        name, args = called_name(node.func), node.args
        if any(isinstance(a, ast.Starred) for a in args) or name in ("isinstance", "getattr", "hasattr", "setattr"):
            return
        if len(args) == 3 and name in SELECTIONS:
            yield "mask", changed(args=[args[0], args[2], args[1]])
        elif len(args) == 2 and ast.dump(args[0]) != ast.dump(args[1]) and name not in SYMMETRIC:
            yield "order", changed(args=args[::-1])
        if name == "reversed" and len(args) == 1:
            yield "order", changed(func=ast.Name("list", ast.Load()))
    elif isinstance(node, ast.Constant):
        if type(node.value) is bool:
            yield "missing case", changed(value=not node.value)
        elif type(node.value) is int:
            yield "index" if isinstance(parent, ast.Subscript | ast.Slice) else "factor", changed(value=node.value + 1)
        elif type(node.value) is float:
            yield "factor", changed(value=node.value * 1.5 if node.value else 1.0)
    elif isinstance(node, ast.Slice):
        if node.lower is not None and not isinstance(node.lower, ast.Constant):
            yield "index", changed(lower=ast.BinOp(node.lower, ast.Add(), ast.Constant(1)))
        if node.upper is not None and not isinstance(node.upper, ast.Constant):
            yield "index", changed(upper=ast.BinOp(node.upper, ast.Sub(), ast.Constant(1)))
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield "missing case", changed(ifs=node.ifs[1:])


def is_call_alone(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def begins(function: ast.AST) -> int:
    """The first line of a function's code object."""
    decorators = getattr(function, "decorator_list", [])
    return (decorators[0] if decorators else function).lineno


def mutants_in(file: str, text: str) -> list[Mutant]:
    """All mutants of a source file."""
    found, seen = [], Counter[str]()
    for number, edit in enumerate(edits(ast.parse(text))):
        change = " ".join(f"{_short(edit.old)} -> {_short(edit.new)}".split())
        names = ".".join(getattr(f, "name", "lambda") for f in edit.functions)
        what = f"{file} {names} {change}"
        key = hashlib.blake2b(f"{what} {seen[what]}".encode(), digest_size=8).hexdigest()
        seen[what] += 1
        line = getattr(edit.old, "lineno", getattr(edit.parent, "lineno", 0))
        function_line = begins(edit.functions[-1]) if edit.functions else 0
        targets = [called_name(t) for t in getattr(edit.statement, "targets", [])]
        own = [*targets, *[getattr(f, "name", "") for f in (edit.statement, *edit.functions)]]
        found.append(Mutant(file, line, function_line, edit.kind, change, number, tuple(dict.fromkeys(own)), key))
    return found


def _short(node: ast.AST) -> str:
    """A node as code, a block by its first line."""
    lines = ast.unparse(node).strip().splitlines() or [""]
    return lines[0] if len(lines) == 1 else f"{lines[0]} ..."


def mutant_tree(mutant: Mutant, text: str) -> Any:
    """The syntax tree of a file with a mutant in it, its lines where they were."""
    tree = ast.parse(text)
    edit = next(e for k, e in enumerate(edits(tree)) if k == mutant.number)
    new: Any = ast.copy_location(edit.new, edit.old)
    if edit.item is None:
        setattr(edit.parent, edit.field, new)
    else:
        getattr(edit.parent, edit.field)[edit.item] = new
    return ast.fix_missing_locations(tree)

"""Counts of what should become fewer in the house: ``python -m tools.counts`` fails if one rises above its ceiling.

A ceiling is lowered with the change that makes it possible, and never raised. ``--list NAME`` prints where each of one
count stands.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import math
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path("src/wengert")

CEILINGS = {
    "isinstance of kernels": 1,
    "files that ask isinstance of kernels": 1,
    "class names met twice": 0,
    "docstrings that begin without a subject": 0,
    "public functions without an example": 0,
    "parameters of type Any, in percent": 10,
    "codes in names of tests": 0,
}

WITHOUT_SUBJECT = re.compile(r"(What|Of|By|The same|And|As|With|For|In|To)\b")
CODE = re.compile(r"test_([a-z]{1,3}_\d+)(_|$)")


def files(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield path, ast.parse(path.read_text(), str(path))


def kernel_classes() -> set[str]:
    """The names of the classes of ``ops/kernels.py``."""
    tree = ast.parse((SOURCE / "ops/kernels.py").read_text())
    return {node.name for node in tree.body if isinstance(node, ast.ClassDef)}


def imported_kernels(tree: ast.Module, classes: set[str]) -> set[str]:
    """The names under which a file knows classes of ``ops/kernels.py``, be it by way of the module."""
    found = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "wengert.ops.kernels":
            found |= {a.asname or a.name for a in node.names if a.name in classes}
        elif isinstance(node, ast.ImportFrom) and node.module == "wengert.ops":
            found |= classes if any(a.name == "kernels" for a in node.names) else set()
    return found


def names_in(node: ast.expr) -> set[str]:
    """The last names of what a class argument of ``isinstance`` mentions: ``kernels.Map | View`` is Map and View."""
    return {
        n.attr if isinstance(n, ast.Attribute) else n.id
        for n in ast.walk(node)
        if isinstance(n, ast.Attribute | ast.Name)
    }


def kernel_questions() -> list[str]:
    classes = kernel_classes()
    found = []
    for path, tree in files(SOURCE):
        if path == SOURCE / "ops/kernels.py":
            continue
        known = imported_kernels(tree, classes)
        for node in ast.walk(tree):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
            if is_call and names_in(node.args[1]) & known:
                found.append(f"{path}:{node.lineno}")
            elif isinstance(node, ast.MatchClass) and names_in(node.cls) & known:
                found.append(f"{path}:{node.cls.lineno}")
    return found


def classes_met_twice() -> list[str]:
    met: dict[str, list[str]] = defaultdict(list)
    for path, tree in files(SOURCE):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                met[node.name].append(f"{path}:{node.lineno}")
    return [f"{name}: {', '.join(places)}" for name, places in sorted(met.items()) if len(places) > 1]


def docstrings() -> Iterator[tuple[str, str]]:
    """Each docstring with its place; a string that stands after a constant counts as well."""
    for path, tree in files(SOURCE):
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield f"{path}:{node.lineno}", node.value.value.strip()


def without_subject() -> list[str]:
    return [f"{place}: {text.splitlines()[0]}" for place, text in docstrings() if WITHOUT_SUBJECT.match(text)]


def public_functions() -> Iterator[tuple[str, object]]:
    """The functions and classes that ``wengert`` and its public packages export."""
    on_top = ("nn", "nn.layers", "optimize", "ode", "graph")
    for package in ("wengert", "wengert.tree", *[f"wengert.{name}" for name in on_top]):
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if (inspect.isfunction(thing) or inspect.isclass(thing)) and thing.__module__.startswith("wengert"):
                yield f"{package}.{name}", thing


def without_example() -> list[str]:
    return [name for name, thing in public_functions() if ">>>" not in (thing.__doc__ or "")]


def aliases_of_any(trees: dict[Path, ast.Module]) -> dict[str, set[str]]:
    """The names that stand for ``Any`` in each module: its own aliases, and those that it imports from another."""
    names: dict[str, set[str]] = {"typing": {"Any"}, **{module_name(path): set() for path in trees}}
    is_settled = False
    while not is_settled:
        is_settled = True
        for path, tree in trees.items():
            known = names[module_name(path)]
            before = len(known)
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom):
                    known |= {a.asname or a.name for a in node.names if a.name in names.get(node.module or "", ())}
            for node in tree.body:
                if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    if not isinstance(node.value, ast.Constant) and is_any(node.value, known):
                        known |= {target.id for target in targets if isinstance(target, ast.Name)}
            is_settled = is_settled and len(known) == before
    return names


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


def is_any(annotation: ast.expr, known: set[str]) -> bool:
    """Whether a type is ``Any``, by whatever name, or a union that ``Any`` swallows; ``list[Any]`` is not."""
    match annotation:
        case ast.Name(id=name):
            return name in known
        case ast.Attribute(attr="Any"):
            return True
        case ast.Constant(value=str(text)):
            return is_any(ast.parse(text, mode="eval").body, known)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return is_any(left, known) or is_any(right, known)
        case ast.Subscript(value=ast.Name(id="Optional" | "Union" | "Annotated"), slice=inner):
            return any(is_any(e, known) for e in (inner.elts if isinstance(inner, ast.Tuple) else [inner]))
    return False


def parameters() -> Iterator[tuple[str, bool]]:
    """Each annotated parameter of each function, and whether its type is ``Any``, be it by way of an alias."""
    trees = dict(files(SOURCE))
    names = aliases_of_any(trees)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = node.args
                for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                    if a.annotation is not None:
                        yield f"{path}:{a.lineno}: {node.name}({a.arg})", is_any(a.annotation, names[module_name(path)])


def codes() -> list[str]:
    return [
        f"{path}:{node.lineno}: {node.name}"
        for path, tree in files(Path("tests"))
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and CODE.match(node.name)
    ]


def counts() -> dict[str, tuple[int, list[str]]]:
    questions, any_or_not = kernel_questions(), list(parameters())
    asking = sorted({q.split(":")[0] for q in questions})
    of_any = [place for place, is_any in any_or_not if is_any]
    found = {
        "isinstance of kernels": questions,
        "files that ask isinstance of kernels": asking,
        "class names met twice": classes_met_twice(),
        "docstrings that begin without a subject": without_subject(),
        "public functions without an example": without_example(),
        "codes in names of tests": codes(),
    }
    percent = math.ceil(100 * len(of_any) / len(any_or_not))
    return {name: (len(where), where) for name, where in found.items()} | {
        "parameters of type Any, in percent": (percent, of_any)
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", choices=list(CEILINGS))
    asked = parser.parse_args().list
    found = counts()
    if asked:
        print(*found[asked][1], sep="\n")
    for name, most in CEILINGS.items():
        print(f"{found[name][0]:5} of at most {most:5}  {name}")
    sys.exit(any(found[name][0] > most for name, most in CEILINGS.items()))

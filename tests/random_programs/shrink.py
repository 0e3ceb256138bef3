"""Make a failing program small: drop its statements, one after the other, while it still fails."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from tests.random_programs.module import Written


def shrunk(written: Written, fails: Callable[[Written], bool]) -> Written:
    """The program without the edits and statements that the failure does not need."""
    before = None
    while written != before:
        before = written
        for k in (0, 1):
            for edit in written.edits[k]:
                fewer = tuple(e for e in written.edits[k] if e != edit)
                edits = (fewer, written.edits[1]) if k == 0 else (written.edits[0], fewer)
                written = _better(written._replace(edits=edits), written, fails)
        at = 0
        while (text := without(written.text, at)) is not None:
            smaller = written._replace(text=text)
            if text != written.text and is_code(text) and fails(smaller):
                written = smaller
            else:
                at += 1
    return written


def _better(smaller: Written, written: Written, fails: Callable[[Written], bool]) -> Written:
    return smaller if fails(smaller) else written


def is_code(text: str) -> bool:
    try:
        compile(text, "<smaller>", "exec")
    except SyntaxError:  # a nonlocal whose variable was dropped
        return False
    return True


def without(text: str, n: int) -> str | None:
    """The text without its ``n``-th part: a statement, from the last on, or a value that a call takes by keyword; None
    if there are not so many."""
    module = ast.parse(text)
    parts = [(block, k) for block in blocks(module) for k in reversed(range(len(block)))]
    if n >= len(parts):
        return None
    block, k = parts[n]
    del block[k]
    if not block and not isinstance(block, Keywords):
        block.append(ast.Pass())
    return ast.unparse(module)


class Keywords(list[Any]):
    """The keywords of a call, which may become none."""


def blocks(node: ast.AST) -> Iterator[list[Any]]:
    """The lists of statements in a tree, and of the keywords of ``dict(...)``."""
    for child in ast.walk(node):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(child, field, None)
            if isinstance(block, list) and block and not (len(block) == 1 and isinstance(block[0], ast.Pass)):
                yield block
        for handler in getattr(child, "handlers", []):
            yield handler.body
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id == "dict":
            child.keywords = Keywords(child.keywords)
            yield child.keywords

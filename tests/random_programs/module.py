"""A random program as the text of a module: state beside the functions, and what changes it between calls.

A module is made of the statements of :mod:`tests.programs` and those in the files ``rows/KIND.txt``: text with names in
it, ``$a`` an array of the program, ``$v`` the new one. In such a file

    ----    divides rows
    ====    divides groups of rows: of each group one row is chosen, and they follow each other
    ####    divides blocks of groups: one block is chosen

A row that defines ``g$u``, a function of an array that keeps its shape, stands at the module's level, and is called by
a loop, as ``$g``: so every kind of state meets every kind of loop. ``$h`` is a function without state of its own. Of a
row's comments ``# edit:`` changes its state between calls, ``# undo:`` puts back what reaches beyond the module,
``# body`` ends what stands at the module's level, ``# mutates`` says that calling it twice is not calling it once, so
that no transform may call it, and ``# order 2`` how often it differentiates.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from random import Random
from string import Template
from typing import Any, NamedTuple

import numpy as np

from tests.programs import PRELUDE, SHAPES, SMOOTH_STATEMENTS, Program, Refused, Writer, arguments, statement

IMPORTS = """\
import builtins, collections, contextlib, contextvars, copy, dataclasses, enum, functools, itertools, math, operator
import os, random, sys, threading, types
import scipy.fft, scipy.integrate, scipy.linalg, scipy.signal, scipy.special
import wengert as T

"""

HEAD = compile(IMPORTS + PRELUDE, "<head>", "exec")

MIX: dict[str, tuple[str, ...]] = {
    "state": ("state", "state", "loops"),
    "loops": ("loops", "loops", "loops", "state"),
    "complex": ("complex", "complex", "loops"),
    "fourier": ("fourier", "fourier", "complex"),
    "linalg": ("linalg", "linalg", "loops"),
    "special": ("special", "special"),
    "random": ("random", "random", "loops", "state"),
    "control": ("control", "control", "state", "loops"),
    "transform": ("state", "loops"),
    "bodies": ("state", "loops"),
    "solver": ("state", "loops"),
    "all": ("state", "loops", "complex", "fourier", "linalg", "special", "random", "control"),
}
"""The kinds of programs, and of which statements they are made beside the common ones."""

DEAR = ("transform", "bodies", "solver")
"""Kinds of which a statement costs as much as a program of others."""

MAX_ORDER = {"transform": 2, "bodies": 3}
"""Derivatives of one in the other: what they are held against are differences, or derivatives of loops of Python's."""


class Row(NamedTuple):
    """A statement: what stands at the module's level, what in the function, and its comments."""

    module: str
    body: str
    edits: tuple[str, ...]
    undo: tuple[str, ...]
    mutates: bool
    order: int


def row_of(text: str) -> Row:
    lines = text.split("\n")
    marks = [line[2:] for line in lines if re.match("# (edit:|undo:|mutates|order)", line)]
    code = "\n".join(line for line in lines if not line.startswith("# ") or line == "# body")
    module, mark, body = code.partition("# body\n")
    if not mark and "def g$u(" not in code and "g$u =" not in code and "g$u, " not in code:
        module, body = "", code
    said = lambda what: tuple(m.removeprefix(what).strip() for m in marks if m.startswith(what))
    order = int(*said("order") or "0")
    return Row(module.strip("\n"), body.strip("\n"), said("edit:"), said("undo:"), "mutates" in marks, order)


@cache
def rows(kind: str) -> list[list[list[Row]]]:
    """The blocks of the groups of the rows of a kind."""
    text = (Path(__file__).parent / "rows" / f"{kind}.txt").read_text().rstrip("\n")
    groups = [block.split("\n====\n") for block in text.split("\n####\n")]
    return [[[row_of(row) for row in group.split("\n----\n")] for group in block] for block in groups]


class Module(Writer):
    """A module being written."""

    def __init__(self, program: Program, plain: Any) -> None:
        """``plain`` stands for wengert's transforms while the program is written."""
        self.plain = plain
        self.module: list[str] = []
        self.edits: list[str] = []
        self.undo: list[str] = []
        self.functions: list[tuple[str, bool]] = [("squash", False), ("np.sin", False), ("centred", False)]
        super().__init__(program)

    def beginning(self) -> dict[str, Any]:
        env: dict[str, Any] = {"__name__": "program"}
        exec(HEAD, env)
        env["T"] = self.plain
        env.update(zip(("x0", "x1", "p", "t", "idx", "k"), arguments(self.program), strict=True))
        for text in self.module:
            exec(text, env)
        return env

    def write(self, name: str, seed: int) -> None:
        parts = self.module, self.edits, self.undo, self.functions
        kept = [len(part) for part in parts]
        n, names = len(self.lines), list(self.names)
        try:
            super().write(name, seed)
        except (TypeError, AttributeError, LookupError, RuntimeError, ArithmeticError):  # does not fit after all
            del self.lines[n:]
            self.names = names
        if len(self.lines) == n and name != "pass":
            for part, length in zip(parts, kept, strict=True):
                del part[length:]
            self._restart()

    def fill(self, kind: str, r: Random) -> None:
        """Write a statement of that kind: choose its rows, names and numbers."""
        chosen: list[Row] = []
        while not chosen or sum(row.order for row in chosen) > MAX_ORDER.get(kind, 0):
            chosen = [r.choice(group) for group in r.choice(rows(kind))]
        u = self.fresh()[1:]
        a = self.array(r)
        pure = [g for g, mutates in self.functions if not mutates]
        names = {
            "u": u,
            "v": f"v{u}",
            "a": a,
            "b": self.like(r, self.shape(a)),
            "s": self.scalar(r),
            "n": str(r.randrange(2, 5)),
            "m": str(r.choice((5, 8, 12, 17))),
            "i": self.integer(r, 4),
            "h": r.choice(pure[-3:]),
            **{key: str(r.choice((0.25, -0.5, 0.75, 1.25, -1.5, 0.9, 1.0, -0.3))) for key in ("c", "d", "e")},
        }
        put = lambda text: Template(text).substitute(names)
        own = [row for row in chosen if row.module]
        for row in own:
            self._define(put(row.module), row, r)
            self.edits += [put(edit) for edit in row.edits if r.random() < 0.7]
            self.undo += [put(undo) for undo in row.undo]
            if "g$u" in row.module:
                self.functions.append((f"g{u}", row.mutates))
                names["g"] = f"g{u}"
        bodies = [row.body for row in chosen if row.body]
        if not bodies:
            loops = [row.body for row in rows("loops")[0][0] if "$g" in row.body]
            bodies = ["$v = g$u($a)" if r.random() < 0.4 else r.choice(loops)]
        names.setdefault("g", r.choice(self.functions[-4:])[0] if r.random() < 0.7 else r.choice(self.functions)[0])
        for k, body in enumerate(bodies):
            names |= {"next": f"f{u}_{k}", "last": f"f{u}_{k - 1}"}
            with np.errstate(under="ignore"):  # SciPy's solvers ask for the next number after 0
                self.run(put(body))
        self.keep(f"v{u}")

    def _define(self, text: str, row: Row, r: Random) -> None:
        """At the module's level; or, now and then, in the function."""
        if not row.edits and "global " not in text and r.random() < 0.4:
            self.run(text)
            return
        exec(text, self.env)
        self.module.append(text)

    def keep(self, name: str) -> None:
        y = self.env[name]
        if np.asarray(y).dtype != np.float64 or np.size(y) > 40:
            raise Refused
        super().keep(name)

    def text(self) -> str:
        beside = "".join(f"{text}\n\n\n" for text in self.module)
        return IMPORTS + PRELUDE + "\n\n" + beside + super().text()[len(PRELUDE) :].lstrip("\n")


class Written(NamedTuple):
    """The text of a module, the edits before its second and its fourth call, what undoes those that reach beyond it,
    and the program whose arguments it takes."""

    text: str
    edits: tuple[tuple[str, ...], tuple[str, ...]]
    undo: tuple[str, ...]
    program: Program


def write(kind: str, seed: int, plain: Any) -> Written:
    """The program of that kind and seed."""
    r = Random(f"{kind} {seed}")
    shapes = (r.choice(SHAPES), r.choice(SHAPES), r.choice(SHAPES))
    statements: list[tuple[str, int]] = []
    for _ in range(r.randrange(2) if kind in DEAR else r.randrange(1, 5)):
        name = r.choice(MIX[kind]) if r.random() < 0.7 else r.choice(SMOOTH_STATEMENTS)
        statements.append((name, r.randrange(2**16)))
    if kind != "all":
        statements.append((kind, r.randrange(2**16)))  # last: it may call functions of the others
    program = Program(shapes, seed, tuple(statements))
    w = Module(program, plain)
    for name, n in program.statements:
        w.write(name, n)
    r.shuffle(w.edits)
    half = r.randrange(len(w.edits) + 1)
    return Written(w.text(), (tuple(w.edits[:half]), tuple(w.edits[half:])), tuple(w.undo), program)


def _register(kind: str) -> None:
    def fill(w: Any, r: Random) -> None:
        w.fill(kind, r)

    fill.__name__ = kind
    statement(kind)(fill)


for _kind in {*MIX, *(name for names in MIX.values() for name in names)} - {"all"}:
    _register(_kind)

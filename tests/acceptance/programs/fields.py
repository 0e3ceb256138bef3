"""All programs of this folder, field by field."""

from __future__ import annotations

import importlib

from tests.acceptance.programs.entries import Entry

FIELDS = (
    *("mechanics", "physics", "chemistry", "earth", "astronomy", "biology"),
    *("statistics", "learning", "signals", "waves", "engineering", "economics", "computing", "idioms"),
    *("scipy_statistics", "scipy_matrices", "scipy_solutions", "scipy_signals", "scipy_shapes"),
)

PROGRAMS: list[Entry] = [
    entry for name in FIELDS for entry in importlib.import_module(f"tests.acceptance.programs.{name}").PROGRAMS
]

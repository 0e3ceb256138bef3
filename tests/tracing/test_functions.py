"""What NumPy's functions become: each module of the folder fills the tables."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np

from wengert.tracing import functions
from wengert.tracing.tracer import HANDLED_FUNCTIONS

FOLDER = Path(functions.__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


def test_importing_the_folder_imports_every_module_in_it() -> None:
    assert sorted(name for name in vars(functions) if name in MODULES) == MODULES and "statistics" in MODULES


def test_no_function_is_implemented_twice() -> None:
    """The later one would win, by the order of imports."""
    found: dict[str, str] = {}
    for name in MODULES:
        for node in ast.walk(ast.parse((FOLDER / f"{name}.py").read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "implements":
                for function in map(ast.unparse, node.args):
                    assert found.setdefault(function, name) == name
    assert found["np.var"] == "statistics"
    assert all(eval(function, {"np": np}) in HANDLED_FUNCTIONS for function in found if function.startswith("np."))

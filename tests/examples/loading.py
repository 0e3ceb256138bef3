"""An example as a module, which it is not: it is run as a script."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any


def example(name: str) -> Any:
    path = Path(__file__).parents[2] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

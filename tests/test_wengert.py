"""The public names: each is there, documented, and what it returns goes by the name of the function."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np
import pytest

import wengert as wg


def test_every_public_name_exists_and_is_documented() -> None:
    assert len(set(wg.__all__)) == len(wg.__all__)
    for name in wg.__all__:
        assert inspect.getdoc(getattr(wg, name)), name
    assert wg.__version__.count(".") >= 2


def test_what_is_returned_goes_by_the_name_of_the_function() -> None:
    def area(r: Any) -> Any:
        """Of a circle."""
        return np.pi * r**2

    for made in (
        wg.grad(area),
        wg.value_and_grad(area),
        wg.jacobian(area),
        wg.vmap(area),
        wg.trace(area),
        wg.jit(area),
    ):
        assert made.__name__ == "area"
        assert made.__doc__ == "Of a circle."
    assert wg.trace(area)(1.0).name == "area"
    assert "area" in repr(wg.jit(area))


MODULES = (
    "", "config", "edit", "errors", "expect", "graph", "graph.search", "hosts", "nn", "ode", "ops", "optimize",
    "report",
)  # fmt: skip


@pytest.mark.parametrize("name", [*MODULES, "tree"])
def test_a_module_shows_the_names_alone_that_are_public_on_purpose(name: str) -> None:
    module = importlib.import_module(f"wengert.{name}".rstrip("."))
    packages = {"graph", "hosts", "nn", "ode", "optimize", "report"} if not name else set()
    if not name:
        packages.add("print")  # not in __all__, since import * would hide Python's
    assert len(set(module.__all__)) == len(module.__all__)
    assert set(dir(module)) == set(module.__all__) | packages
    for one in module.__all__:
        assert getattr(module, one, None) is not None or module is wg.config


def test_every_error_is_public() -> None:
    classes = {
        name for name, x in vars(wg.errors).items() if isinstance(x, type) and issubclass(x, Exception | Warning)
    }
    assert classes <= set(wg.errors.__all__)

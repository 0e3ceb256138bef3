"""How the widths of the layers of :mod:`wengert.nn` follow from one another.

Layers without parameters need no line here: they are tried, as plain functions are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from wengert import nn
from wengert.graph.rules import Own, Rule, Times, rule


def register_layers() -> None:
    """Give each layer of nn its rule."""
    for cls, found in RULES.items():
        rule.register(cls, found)


def _wide(part: Any, width: int) -> Any:
    return replace(part, width=width)


def _conv(part: Any, operands: Sequence[Any]) -> Rule:
    """A depthwise one has as many groups as it reads channels, and follows them."""
    kernel = (None,) * (operands[0].ndim - 2 if operands else 0)
    if operands and part.groups == operands[0].shape[1] > 1:
        count = part.width // part.groups
        params = {"w": ("out", None, *kernel), "b": ("out",)}
        return Times(1, params, widened=lambda part, n: replace(part, width=n * count, groups=n), count=count)
    return Own(1, {"w": ("out", "in", *kernel), "b": ("out",)}, widened=_wide, groups=part.groups)


def _conv_transpose(part: Any, operands: Sequence[Any]) -> Rule:
    kernel = (None,) * (operands[0].ndim - 2 if operands else 0)
    return Own(1, {"w": ("in", "out", *kernel), "b": ("out",)}, widened=_wide, groups=part.groups)


RULES: dict[type, Callable[[Any, Sequence[Any]], Rule]] = {
    nn.Conv: _conv,
    nn.ConvTranspose: _conv_transpose,
}

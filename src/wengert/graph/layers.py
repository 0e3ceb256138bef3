"""How the widths of the layers of :mod:`wengert.nn` follow from one another.

Layers without parameters need no line here: they are tried, as plain functions are. A layer that is not here keeps its
widths: a chain, a transformer block. Their parts can be vertices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from wengert import nn
from wengert.graph.rules import Fixed, Own, Rule, Same, Times, rule

LAST = -1
CHANNELS = 1


def register_layers() -> None:
    """Give each layer of nn its rule."""
    for cls, found in RULES.items():
        rule.register(cls, found)


def _wide(part: Any, width: int) -> Any:
    return replace(part, width=width)


def _always(found: Rule) -> Callable[[Any, Sequence[Any]], Rule]:
    return lambda part, operands: found


def _conv(part: Any, operands: Sequence[Any]) -> Rule:
    """Return the rule of a convolution: a depthwise one has as many groups as it reads channels, and follows them."""
    kernel = (None,) * (operands[0].ndim - 2 if operands else 0)
    if operands and part.groups == operands[0].shape[1] > 1:
        count = part.width // part.groups
        params = {"w": ("out", None, *kernel), "b": ("out",)}
        grow = lambda part, n: replace(part, width=n * count, groups=n)
        return Times(CHANNELS, params, widened=grow, count=count)
    return Own(CHANNELS, {"w": ("out", "in", *kernel), "b": ("out",)}, widened=_wide, groups=part.groups)


def _conv_transpose(part: Any, operands: Sequence[Any]) -> Rule:
    kernel = (None,) * (operands[0].ndim - 2 if operands else 0)
    return Own(CHANNELS, {"w": ("in", "out", *kernel), "b": ("out",)}, widened=_wide, groups=part.groups)


def _recurrent(part: Any, operands: Sequence[Any]) -> Rule:
    """Return the rule of a recurrent layer: gates are blocks of rows, and each layer reads the one below it."""
    if part.bidirectional or len(operands) > 1:
        return Fixed(LAST)
    rows = ("out", part.GATES)
    params: dict[str, tuple[Any, ...]] = {}
    for k in range(part.layers):
        cell = {"w": (rows, "out" if k else "in"), "u": (rows, "out"), "b": (rows,), "c": ("out",)}
        params |= {f"layers.{k}.{name}": axes for name, axes in cell.items()}
    return Own(LAST, params, widened=_wide)


def _attention(part: Any, operands: Sequence[Any]) -> Rule:
    """Return the rule of attention: it gives what is as wide as what it reads; the width of all heads stays."""
    if len(operands) > 1:
        return Fixed(LAST)
    params = {f"{name}.w": (None, "in") for name in "qkv"}
    keep = lambda part, n: replace(part, width=part.width or operands[0].shape[LAST])
    return Same(LAST, {**params, "out.w": ("out", None), "out.b": ("out",)}, widened=keep)


_SCALED = {"scale": ("out",), "bias": ("out",)}

RULES: dict[type, Callable[[Any, Sequence[Any]], Rule]] = {
    nn.Dense: _always(Own(LAST, {"w": ("out", "in"), "b": ("out",)}, widened=_wide)),
    nn.Embedding: _always(Own(LAST, {"table": (None, "out")}, widened=_wide)),
    nn.Conv: _conv,
    nn.ConvTranspose: _conv_transpose,
    nn.RNN: _recurrent,
    nn.LSTM: _recurrent,
    nn.GRU: _recurrent,
    nn.MultiHeadAttention: _attention,
    nn.Scale: _always(Same(LAST, _SCALED)),
    nn.PositionalEmbedding: _always(Same(LAST, {"table": (None, "out")})),
    nn.BatchNorm: _always(Same(CHANNELS, _SCALED, {"mean": ("out",), "var": ("out",)})),
    nn.InstanceNorm: _always(Same(CHANNELS, _SCALED)),
    nn.GroupNorm: lambda part, operands: Same(CHANNELS, _SCALED, groups=part.groups),
    nn.LayerNorm: _always(Same(LAST, _SCALED)),
    nn.RMSNorm: _always(Same(LAST, _SCALED)),
}

"""A summary is a table of what a model is made of: each part with its output, parameters, arithmetic and memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg
from wengert.nn.layers.base import as_layer
from wengert.nn.layers.containers import as_inputs, specs, watching
from wengert.nn.params import Array, count

Model = Any
"""An object with ``init`` and ``apply``."""
Spec = Any
"""Shape and dtype, as ``wg.spec`` returns them."""


@dataclass(frozen=True)
class SummaryRow:
    """One part of a model."""

    path: str
    layer: str
    output: str
    """Shapes and dtypes of what it makes."""
    parameters: int
    flops: float
    """Floating-point operations of one call."""
    nbytes: int
    """Bytes of its output."""


@dataclass(frozen=True)
class Summary:
    """A summary is a table of the parts of a model, inner ones before what they are in; print it.

    :func:`summary` makes it.

    Its fields are ``rows``, one a part, with ``path``, ``layer``, ``output``, ``parameters``, ``flops`` and ``nbytes``,
    and of the whole model ``parameters`` (how many numbers), ``flops`` of one call and ``parameter_bytes``.

    >>> import wengert as wg
    >>> from wengert import nn
    >>> table = nn.summary(nn.Chain(nn.Dense(16, nn.relu), nn.Dense(10)), wg.spec((32, 64), "float32"))
    >>> table.parameters, table.parameter_bytes
    (1210, 4840)
    >>> [(row.path, row.nbytes) for row in table.rows]
    [('layers.0', 2048), ('layers.1', 1280)]
    """

    rows: tuple[SummaryRow, ...]
    parameters: int
    flops: float
    parameter_bytes: int

    def __str__(self) -> str:
        head = ("path", "layer", "output", "parameters", "flops", "bytes")
        lines = [
            (r.path, r.layer, r.output, f"{r.parameters:,}", f"{r.flops:,.0f}", f"{r.nbytes:,}") for r in self.rows
        ]
        widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
        shown = []
        for line in (head, *lines):
            cells = [c.ljust(w) if k < 3 else c.rjust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True))]
            shown.append("  ".join(cells).rstrip())
        total = f"{self.parameters:,} parameters of {self.parameter_bytes:,} bytes, {self.flops:,.0f} flops"
        return "\n".join([*shown, total])


@wg.expect.checked
def summary(model: Model | Callable[..., Any], *xs: Array | Spec) -> Summary:
    """Return a table of what a layer is made of, for inputs of the shapes of ``xs``.

    Nothing is computed: parameters are made, and the steps of each part counted.

    Parameters
    ----------
    model : a layer, or a function.
    xs : arrays or :func:`wengert.spec`; a spec of floats says a shape alone, and takes the dtype of the parameters.

    Examples
    --------
    >>> import wengert as wg
    >>> from wengert import nn
    >>> print(nn.summary(nn.Chain(nn.Dense(16, nn.relu), nn.Dense(10)), wg.spec((32, 64))))
    path      layer                       output           parameters   flops  bytes
    layers.0  Dense(16, activation=relu)  float32[32, 16]       1,040  67,072  2,048
    layers.1  Dense(10)                   float32[32, 10]         170  10,560  1,280
    1,210 parameters of 4,840 bytes, 77,632 flops
    """
    model = as_layer(model)
    params, state = model.init(0, *specs(xs))
    xs = _as_exact_as(params, xs)
    seen: list[tuple[Any, ...]] = []

    def see(path: str, part: Any, own: Any, own_state: Any, inputs: tuple[Any, ...], output: Any) -> None:
        seen.append((path, part, own, own_state, specs(inputs), specs(as_inputs(output))))

    with watching(see):
        wg.spec_of(model.apply)(params, state, *specs(xs))
    rows = [
        SummaryRow(
            path,
            repr(part) if len(repr(part)) < 60 else type(part).__name__,
            ", ".join(map(str, made)),
            count(own),
            flops(part, own, own_state, *inputs),
            sum(x.nbytes for x in made),
        )
        for path, part, own, own_state, inputs, made in seen
    ]
    return Summary(tuple(rows), count(params), flops(model, params, state, *specs(xs)), _nbytes(params))


def _as_exact_as(params: Any, xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the specs of inputs, with the dtype of the parameters where a spec of floats was given.

    ``wg.spec(shape)`` is float64 and parameters are float32, and who writes it means the shape. An array means what it
    is: with a float64 one the model computes in float64."""
    own = {p.dtype for p in wg.tree.leaves(params) if isinstance(p, np.ndarray) and p.dtype.kind == "f"}
    if len(own) != 1:
        return specs(xs)
    (dtype,), spec_type = own, type(wg.spec(()))
    return specs([wg.spec(x.shape, dtype) if type(x) is spec_type and x.dtype.kind == "f" else x for x in xs])


@wg.expect.checked
def flops(model: Model, params: Any, state: Any, *xs: Array | Spec) -> float:
    """Return the floating-point operations of one call of a layer, by the costs of its steps; nothing is computed.

    Parameters
    ----------
    model, params, state : a layer, and what its ``init`` made.
    xs : inputs, arrays or :func:`wengert.spec`; a spec of floats takes the dtype of the parameters.

    Examples
    --------
    >>> import wengert as wg
    >>> from wengert import nn
    >>> layer, x = nn.Dense(16), wg.spec((32, 64), "float32")
    >>> nn.flops(layer, *layer.init(0, x), x)  # 2 · 32 · 64 · 16 for the product, 32 · 16 for the bias
    66048.0
    """
    tape = wg.trace(lambda params, state, *xs: model.apply(params, state, *xs)[0])(
        params, state, *_as_exact_as(params, xs)
    )
    return sum(i.op.cost(*[a.aval for a in i.ins], **i.params) for i in tape.instrs)


def _nbytes(params: Any) -> int:
    return sum(
        math.prod(np.shape(x)) * (x if hasattr(x, "dtype") else np.asarray(x)).dtype.itemsize
        for x in wg.tree.leaves(params)
    )

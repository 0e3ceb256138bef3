"""Chains of layers as graphs, to be edited."""

from __future__ import annotations

import wengert as wg
from wengert import nn
from wengert.graph.graph import Graph
from wengert.graph.vertices import InputPart, Vertex
from wengert.graph.wires import taken_twice


@wg.expect.checked
def from_chain(chain: nn.Chain) -> Graph:
    """Return the graph of a chain: a vertex for each part, under its name, of the input ``x``.

    Its parameters and state are those of the chain under ``"layers"``. Raises GraphError for a part that is called x.

    >>> import numpy as np
    >>> from wengert import graph, nn
    >>> chain, x = nn.Chain(nn.Dense(8, nn.relu), nn.Dense(2)), np.ones((1, 3), np.float32)
    >>> params, state = chain.init(0, x)
    >>> g = graph.from_chain(chain)
    >>> g.names
    ('x', '0', '1')
    >>> y, _ = g.apply(params["layers"], state.get("layers", {}), x)
    >>> bool(np.all(y == chain.apply(params, state, x)[0]))
    True
    """
    vertices = {"x": Vertex("x", InputPart())}
    last = "x"
    for name, part in chain.parts.items():
        if name in vertices:
            raise taken_twice(name)
        vertices[name] = Vertex(name, part, (last,))
        last = name
    return Graph.made_of(vertices, ["x"], [last])

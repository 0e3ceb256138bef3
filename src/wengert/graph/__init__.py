"""Computation graphs of named vertices: built, looked at, edited, differentiated, compiled.

A vertex is any callable (a function of NumPy's or of yours, a layer, a whole model, another graph) and the names of
what it reads. Graphs never change: an edit returns another graph, which shares the vertices that stayed what they were.

    >>> import numpy as np, wengert as wg
    >>> from wengert import graph
    >>> x = graph.input("x")
    >>> h = graph.vertex(np.tanh, "h")(x)
    >>> g = graph.Graph(inputs=[x], outputs=[h + x])
    >>> g(np.zeros(3))
    array([0., 0., 0.])
    >>> wg.grad(lambda x: np.sum(g(x)))(np.zeros(3))
    array([2., 2., 2.])
    >>> edited = g.replace("h", np.sin).insert("twice", lambda h: 2 * h, after="h")
    >>> edited.names
    ('x', 'h', 'twice', 'add')
    >>> edited(np.array([0.5])) == 2 * np.sin(0.5) + 0.5
    array([ True])

Files: ``vertices`` is the data, ``wires`` builds by calling, ``recorded`` and ``chains`` make graphs of functions and
chains; ``graph`` holds, ``evaluation`` computes, ``specs`` looks at shapes alone, ``blocks`` differentiate what is
being edited; ``order`` sorts, ``edits`` changes, ``inheriting`` carries parameters over, ``difference`` compares;
``table`` and ``drawing`` show. Widths: ``rules`` of parts and of ``layers``, ``couplings`` of features, and
``widths``, which changes them.
"""

from typing import TYPE_CHECKING

import wengert as wg
from wengert.graph.blocks import ValueAndGrad
from wengert.graph.chains import from_chain
from wengert.graph.difference import Difference
from wengert.graph.graph import Graph, empty
from wengert.graph.inheriting import inherit
from wengert.graph.layers import register_layers
from wengert.graph.recorded import of
from wengert.graph.rules import Fixed, Joined, Own, Rule, Same, Times, rule
from wengert.graph.vertices import Call, Constant, Vertex
from wengert.graph.wires import Wire, concat, input, vertex

__all__ = [
    # building
    "Graph",
    "Vertex",
    "Wire",
    "Call",
    "Constant",
    "input",
    "vertex",
    "concat",
    "empty",
    "of",
    "from_chain",
    # editing
    "inherit",
    "Difference",
    "ValueAndGrad",
    # how widths follow from one another
    "rule",
    "Rule",
    "Own",
    "Same",
    "Joined",
    "Times",
    "Fixed",
]

if not TYPE_CHECKING:
    __getattr__ = wg.expect.missing(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)


register_layers()

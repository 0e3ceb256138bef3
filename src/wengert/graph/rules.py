"""A part's rule says how the width of its value follows from those that it reads, and which parameters follow.

The *width* of a value is the length of its axis of features, or channels. A rule is one of

* :class:`Own`: the part has a width of its own, as a dense layer does, and takes any width.
* :class:`Same`: the value is as wide as each of what is read, feature by feature: activations, sums, norms.
* :class:`Joined`: what is read stands side by side: concatenation.
* :class:`Times`: each feature becomes ``count`` neighbouring ones: flattening, where it is the number of pixels.
* :class:`Fixed`: nobody knows, so nothing may change.

:func:`rule_of` finds it: layers have theirs by :func:`rule`, which dispatches on the type of the part, so that a layer
of your own gets one by ``graph.rule.register``. A plain function is tried with twice the width; how the width of its
value changes says which rule it has, on the understanding that it leaves the order of the features as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np

import wengert as wg
from wengert.graph.vertices import Constant, InputPart, is_layer
from wengert.graph.wires import Concatenate

Axes = Mapping[str, tuple[Any, ...]]
"""The axes of parameters, by their paths ("w", "cell.b"): each follows "out", "in" or None; or ("out", 4) where it has
that four times over, one block behind the other."""


@dataclass(frozen=True)
class Rule:
    """A rule says how the width of a part's value follows from what it reads. It is one of the five classes below.

    Parameters
    ----------
    axis : the axis of the features in what is read and in the value; None: as in what is read.
    params, state : what each axis of each array follows, by its path: "out", "in" or None; ("out", 4) for four blocks.
    widened : ``widened(part, width)`` is the part with another width of its value, where it has to know; of
        :class:`Times`: of what it reads.
    groups : what is read and the value have as many equal pieces, and each piece follows from one.

    Examples
    --------
    >>> from wengert import graph, nn
    >>> isinstance(graph.rule(nn.Dense(4), ()), graph.Rule)
    True
    """

    axis: int | None = None
    params: Axes = field(default_factory=dict)
    state: Axes = field(default_factory=dict)
    widened: Callable[[Any, int], Any] | None = None
    groups: int = 1


@dataclass(frozen=True)
class Own(Rule):
    """This rule is that of a part with a width of its own, as a dense layer has it.

    >>> from wengert import graph, nn
    >>> found = graph.rule(nn.Dense(4), ())
    >>> type(found) is graph.Own, found.params, found.widened(nn.Dense(4), 7)
    (True, {'w': ('out', 'in'), 'b': ('out',)}, Dense(7))
    """


@dataclass(frozen=True)
class Same(Rule):
    """This rule is that of a part whose value is as wide as each of what it reads: activations, sums, norms.

    >>> from wengert import graph, nn
    >>> found = graph.rule(nn.BatchNorm(), ())
    >>> type(found) is graph.Same, found.params["scale"], found.state["mean"]
    (True, ('out',), ('out',))
    """


@dataclass(frozen=True)
class Joined(Rule):
    """This rule is that of a part that puts what it reads side by side: the width is the sum of the widths.

    >>> import numpy as np
    >>> from wengert import graph, nn
    >>> x, y = graph.input("x"), graph.input("y")
    >>> a, b = graph.vertex(nn.Dense(3), "a")(x), graph.vertex(nn.Dense(5), "b")(y)
    >>> g = graph.Graph([x, y], graph.vertex(nn.Dense(2), "out")(graph.concat(a, b, name="both")))
    >>> params, state = g.init(0, np.ones((1, 1)), np.ones((1, 1)))
    >>> wide, *_ = g.resize({"both": 6}, params, state, np.ones((1, 1)), np.ones((1, 1)))
    >>> wide["a"].part.width + wide["b"].part.width
    6
    """


@dataclass(frozen=True)
class Times(Rule):
    """This rule is that of a part that makes ``count`` neighbouring features of each: flattening, as many as pixels.

    >>> from wengert import graph
    >>> graph.Times(axis=1, count=9).count
    9
    """

    count: int = 1


@dataclass(frozen=True)
class Fixed(Rule):
    """This rule is that of a part of which nobody knows more: the widths of what it reads and gives stay.

    >>> from wengert import graph, nn, spec
    >>> type(graph.rule(nn.LSTM(4, bidirectional=True), (spec((1, 2, 3), "float32"),))) is graph.Fixed
    True
    """


def rule_of(part: Any, operands: Sequence[Any], axes: Sequence[int]) -> Rule:
    """Return the rule of a part that reads values of these specs, whose features are along ``axes``."""
    found = rule(part, operands)
    if found is not None:
        return found
    if isinstance(part, InputPart | Constant):
        return Fixed()
    if is_layer(part):
        if part.init(0, *operands)[0]:
            return Fixed()
        return _tried(_without_parameters(part, operands), operands, axes)
    if isinstance(part, Concatenate):
        is_of_features = operands and part.axis % operands[0].ndim == axes[0] % operands[0].ndim
        return Joined() if is_of_features else Same()
    return _tried(part, operands, axes)


@wg.expect.checked
@singledispatch
def rule(part: Any, operands: Sequence[Any]) -> Rule | None:
    """Return the rule of a part by its type, for what it reads; None where there is none.

    ``graph.rule.register`` adds that of a layer of yours.

    Parameters
    ----------
    part : a layer.
    operands : specs of what it reads.

    Examples
    --------
    >>> from wengert import graph
    >>> class Scaled:
    ...     def init(self, rng, x): ...
    ...     def apply(self, params, state, x, train=False): ...
    >>> @graph.rule.register
    ... def _(part: Scaled, operands):
    ...     return graph.Same(params={"scale": ("out",)})
    >>> graph.rule(Scaled(), ()).params
    {'scale': ('out',)}
    """
    return None


def _without_parameters(layer: Any, operands: Sequence[Any]) -> Callable[..., Any]:
    state = layer.init(0, *operands)[1]
    return lambda *xs: layer.apply({}, state, *xs)[0]


def _tried(part: Any, operands: Sequence[Any], axes: Sequence[int]) -> Rule:
    """Return the rule of a function, from what it gives for values of twice the width."""
    if not operands or any(x.ndim == 0 for x in operands):
        return Fixed()
    widths = [x.shape[axis] for x, axis in zip(operands, axes, strict=True)]
    grown = [2 * n if n > 1 or max(widths) == 1 else 1 for n in widths]  # one of width 1 may be meant for all features
    try:
        once = wg.spec_of(part)(*operands)
        twice = wg.spec_of(part)(*[widened(x, k, n) for x, k, n in zip(operands, axes, grown, strict=True)])
        axis = axes[0] if once.ndim == operands[0].ndim else min(1, once.ndim - 1)
        before, after = once.shape[axis], twice.shape[axis]
    except (ValueError, TypeError, IndexError, AttributeError):  # it takes no other width, or gives no array
        return Fixed()
    if after != 2 * before:
        return Fixed()
    if len({width for width in widths if width != 1} | {before}) == 1:
        return Same(axis=axis)
    if len(widths) == 1 and before % widths[0] == 0:
        return Times(axis=axis, count=before // widths[0])
    return Joined(axis=axis) if before == sum(widths) else Fixed()


def widened(x: Any, axis: int, width: int) -> Any:
    """Return the spec of another width."""
    shape = list(x.shape)
    shape[axis] = width
    return wg.spec(tuple(shape), x.dtype)


# -------------------------------------------------------------------------------------------- parameters that follow


def followed(tree: Any, rule: Rule, ins: Any, out: Any, fresh: Any, of_state: bool = False) -> Any:
    """Return parameters, or state, with the features that ``ins`` and ``out`` select, by old numbers, -1 for new ones.

    What is of new features comes from ``fresh``, a tree of the new shapes, where the feature of the value is new, and
    is zero where one that is read is: so the value of the old features is what it was. ``fresh=None``: zero too.
    """
    axes = rule.state if of_state else rule.params

    def of(leaf: Any, path: str, new: Any) -> Any:
        if isinstance(leaf, Mapping):
            inner = {k: f"{path}.{k}" if path else k for k in leaf}
            return {k: of(x, inner[k], None if new is None else new[k]) for k, x in leaf.items()}
        return _selected(leaf, axes.get(path, ()), ins, out, new, rule.groups)

    return of(tree, "", fresh)


def _selected(leaf: Any, axes: Sequence[Any], ins: Any, out: Any, new: Any, groups: int) -> Any:
    if groups > 1 and "in" in axes and "out" in axes:
        return _of_pieces(leaf, axes, ins, out, new, groups)
    selected, is_new = leaf, None
    for axis, what in enumerate(axes):
        if what is None:
            continue
        name, copies = what if isinstance(what, tuple) else (what, 1)
        index = _in_blocks(out if name == "out" else ins, leaf.shape[axis] // copies, copies)
        gone = index < 0
        along = gone.reshape([-1 if k == axis else 1 for k in range(leaf.ndim)])
        taken = np.take(selected, np.where(gone, 0, index), axis=axis)
        selected = np.where(along, np.zeros((), leaf.dtype), taken)
        if name == "out" and is_new is None:  # a second one, as of what a cell carries, is read as what is read is
            is_new = along
    if new is not None and is_new is not None and is_new.any():
        selected = np.where(is_new, np.asarray(new, leaf.dtype), selected)
    return np.ascontiguousarray(selected)


def _in_blocks(index: Any, width: int, copies: int) -> Any:
    """Repeat a selection in each of several blocks of ``width``."""
    return np.concatenate([np.where(index < 0, -1, index + k * width) for k in range(copies)])


def _of_pieces(leaf: Any, axes: Sequence[Any], ins: Any, out: Any, new: Any, groups: int) -> Any:
    """Select from a leaf whose first axis of features has all of them, piece by piece, and the other one piece's."""
    whole = min(axes.index("in"), axes.index("out"))
    lengths = {axes[k]: n // groups if k == whole else n for k, n in enumerate(leaf.shape) if axes[k] is not None}
    pieces = np.split(leaf, groups, axis=whole)
    fresh = [None] * groups if new is None else np.split(new, groups, axis=whole)
    selected = [
        _selected(
            pieces[k],
            axes,
            _in_piece(ins, k, groups, lengths["in"]),
            _in_piece(out, k, groups, lengths["out"]),
            fresh[k],
            1,
        )
        for k in range(groups)
    ]
    return np.concatenate(selected, axis=whole)


def _in_piece(index: Any, number: int, groups: int, length: int) -> Any:
    """Return the part of a selection that is of one of several equal pieces of ``length``, counted from its start."""
    size = len(index) // groups
    piece = index[number * size : (number + 1) * size]
    return np.where(piece < 0, -1, piece - number * length)

"""Weights exchanged with PyTorch's state dicts, by name.

A module of PyTorch's and a dict of arrays of ours correspond by their paths, ``features.0`` and
``layers.features.layers.0`` (the word ``layers`` itself is left out), or as ``names`` says; in there arrays correspond
by the table below. Shapes are the same on both sides, so arrays are copied as they are. PyTorch itself is not needed:
an array is whatever ``np.asarray`` takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from wengert.nn.windows import described

Tree = dict[str, Any]

_PARAMETERS = {"w": "weight", "scale": "weight", "table": "weight", "b": "bias", "bias": "bias"}
_STATE = {"mean": "running_mean", "var": "running_var"}
_COUNT = "num_batches_tracked"  # PyTorch's norms have it beside running means; nothing depends on it here


class _Place(NamedTuple):
    """Where an array stands in our trees: in the parameters or the state, on a path of keys."""

    tree: str
    path: tuple[str, ...]


def from_torch(
    params: Tree, state: Tree, state_dict: Mapping[str, Any], names: Mapping[str, str] | None = None
) -> tuple[Tree, Tree]:
    """``params`` and ``state`` of a model with the numbers of the same model in PyTorch.

    Parameters
    ----------
    params, state : of ``model.init``; they say which arrays there are, and stay what they are.
    state_dict : ``module.state_dict()``, tensors by name.
    names : PyTorch's names of modules by paths of ours, where they are not the same:
        ``{"layers.0": "features.0", "layers.5": "classifier"}``. A path stands for all below it.

    Returns
    -------
    params, state
        New trees of the same structure, shapes and dtypes.

    Raises
    ------
    StructureError : names are missing, or too many, or one of ``names`` is no path; all are listed.
    ShapeError : an array has another shape.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> params = {"layers": {"0": {"w": np.zeros((1, 2)), "b": np.zeros(1)}}}
    >>> params, state = nn.from_torch(params, {}, {"0.weight": np.array([[1.0, 2.0]]), "0.bias": np.array([3.0])})
    >>> params["layers"]["0"]["w"]
    array([[1., 2.]])
    """
    places = _places(params, state, names)
    given = [name for name in state_dict if name.rpartition(".")[2] != _COUNT]
    missing, unknown = [n for n in places if n not in state_dict], [n for n in given if n not in places]
    if missing or unknown:
        raise wg.errors.StructureError(
            wg.errors.message(
                "from_torch: the state dict has other names than the parameters",
                notes=[("miss", ", ".join(missing) or "none"), ("extra", ", ".join(unknown) or "none")],
                tries=[f"names={{{_parent(places[missing[0]])!r}: 'the name of the module'}}"] if missing else (),
            )
        )
    filled = {place: _filled(name, place, params, state, state_dict[name]) for name, place in places.items()}
    return _rebuilt(params, "params", (), filled), _rebuilt(state, "state", (), filled)


def to_torch(params: Tree, state: Tree, names: Mapping[str, str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of a model by PyTorch's names: ``module.load_state_dict({n: torch.tensor(a) for n, a in ...})``.

    The inverse of :func:`from_torch`, with the same ``names``; it copies.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.to_torch({"layers": {"norm": {"scale": np.ones(2)}}}, {"layers": {"norm": {"mean": np.zeros(2)}}})
    {'norm.weight': array([1., 1.]), 'norm.running_mean': array([0., 0.]), 'norm.num_batches_tracked': array(0)}
    """
    result: dict[str, np.ndarray] = {}
    for name, place in _places(params, state, names).items():
        result[name] = np.array(_at(params, state, place))
        if place.path[-1] in _STATE and (module := name.rpartition(".")[0]):
            result.pop(f"{module}.{_COUNT}", None)  # last of its module, as PyTorch has it
            result[f"{module}.{_COUNT}"] = np.array(0)
    return result


# ------------------------------------------------------------------------------------------------------------- names


def _places(params: Tree, state: Tree, names: Mapping[str, str] | None) -> dict[str, _Place]:
    """Where each array stands, by PyTorch's name of it."""
    names = names or {}
    places: dict[str, _Place] = {}
    used: set[str] = set()
    leaves = [_Place("params", path) for path in _leaves(params)] + [_Place("state", path) for path in _leaves(state)]
    for place in leaves:
        table = _PARAMETERS if place.tree == "params" else _STATE
        leaf = place.path[-1]
        if leaf == "key":
            continue  # random numbers: PyTorch keeps none with a model
        if leaf not in table:
            raise wg.errors.StructureError(
                wg.errors.message(f"PyTorch has no name for {'.'.join(place.path)}, of the {place.tree}")
            )
        above = [".".join(place.path[:k]) for k in range(len(place.path))]
        said = next((path for path in reversed(above) if path in names), None)  # the nearest
        below = place.path[0 if said is None else above.index(said) : -1]
        if said is not None:
            used.add(said)
        module = [] if said is None else [names[said]]
        name = ".".join([*module, *[key for key in below if key != "layers"], table[leaf]])
        if name in places:
            both = f"{'.'.join(places[name].path)} and {'.'.join(place.path)}"
            raise wg.errors.StructureError(wg.errors.message(f"names: {both} would both be {name}"))
        places[name] = place
    if unused := set(names) - used:
        raise wg.errors.StructureError(
            wg.errors.message(f"names: there are no parameters at {', '.join(sorted(unused))}")
        )
    return places


def _leaves(tree: Tree, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key)


def _parent(place: _Place) -> str:
    return ".".join(place.path[:-1])


# ------------------------------------------------------------------------------------------------------------- arrays


def _at(params: Tree, state: Tree, place: _Place) -> Any:
    node = params if place.tree == "params" else state
    for key in place.path:
        node = node[key]
    return node


def _filled(name: str, place: _Place, params: Tree, state: Tree, value: Any) -> np.ndarray:
    """What stands at a place, with other numbers."""
    old, new = _at(params, state, place), np.asarray(value)
    if new.shape != old.shape:
        raise wg.errors.ShapeError(
            wg.errors.message(f"from_torch: {name} is {described(new)}, {'.'.join(place.path)} {described(old)}")
        )
    return np.array(new, dtype=old.dtype)


def _rebuilt(tree: Tree, which: str, path: tuple[str, ...], filled: Mapping[_Place, np.ndarray]) -> Tree:
    return {
        key: _rebuilt(value, which, (*path, key), filled)
        if isinstance(value, dict)
        else filled.get(_Place(which, (*path, key)), value)
        for key, value in tree.items()
    }

"""Weights exchanged with PyTorch's state dicts, by name.

A module of PyTorch's and a dict of arrays of ours correspond by their paths, ``features.0`` and
``layers.features.layers.0`` (the word ``layers`` itself is left out), or as ``names`` says. What is in them is known by
the names of the arrays: most are the same ones by another name; the queries, keys and values of attention are one array
there; a recurrent cell has two biases there, which are added. PyTorch itself is not needed: an array is whatever
``np.asarray`` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from wengert.nn.windows import described

Tree = dict[str, Any]
Params = dict[str, Any]
Path = tuple[str, ...]
Ours = dict[Path, Any]
"""Arrays by their paths in a module."""
Theirs = dict[str, Any]
"""Arrays by the names that PyTorch's module has for them."""


@wg.expect.checked
def from_torch(
    params: Params, state: Params, state_dict: Mapping[str, Any], names: Mapping[str, str] | None = None
) -> tuple[Tree, Tree]:
    """Return ``params`` and ``state`` of a model with the numbers of the same model in PyTorch.

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
    parts = _parts(params, state, names)
    expected = _by_name(parts)
    given = {name: np.asarray(value) for name, value in state_dict.items()}
    _check(expected, given, parts)
    new: Ours = {}
    for part in parts:
        theirs = {name: given[part.called(name)] for name in part.kind.theirs(part.arrays) if name != _COUNT}
        for path, array in part.kind.ours(theirs, part.arrays).items():
            new[(*part.path, *path)] = np.array(array, dtype=part.arrays[path].dtype)
    return _rebuilt(params, (), new), _rebuilt(state, (), new)


@wg.expect.checked
def to_torch(params: Params, state: Params, names: Mapping[str, str] | None = None) -> dict[str, np.ndarray]:
    """Return copies of a model's arrays by PyTorch's names: the inverse of :func:`from_torch`, with the same ``names``.

    ``module.load_state_dict({name: torch.tensor(array) for name, array in ...})`` puts them into a module.

    Parameters
    ----------
    params, state : a model's.
    names : as of :func:`from_torch`.

    Raises
    ------
    StructureError : PyTorch has no name for an array, two would have one, or one of ``names`` is no path.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.to_torch({"layers": {"norm": {"scale": np.ones(2)}}}, {"layers": {"norm": {"mean": np.zeros(2)}}})
    {'norm.weight': array([1., 1.]), 'norm.running_mean': array([0., 0.]), 'norm.num_batches_tracked': array(0)}
    """
    return {name: np.array(array) for name, array in _by_name(_parts(params, state, names)).items()}


# ------------------------------------------------------------------------------------------------- kinds of modules


class _Kind(NamedTuple):
    """Two functions translate the arrays of a module, there and back."""

    theirs: Callable[[Ours], Theirs]
    ours: Callable[[Theirs, Ours], Ours]
    """It returns what ``theirs`` says, in the structure of other arrays."""


_NAMES = {
    "w": "weight", "scale": "weight", "table": "weight", "b": "bias", "bias": "bias",
    "mean": "running_mean", "var": "running_var",
}  # fmt: skip
_COUNT = "num_batches_tracked"  # PyTorch's norms have it beside running means; nothing depends on it here


def _theirs_of_plain(arrays: Ours) -> Theirs:
    count = {_COUNT: np.array(0)} if ("mean",) in arrays else {}
    return {**{_NAMES[name]: array for (name,), array in arrays.items()}, **count}


_PLAIN = _Kind(_theirs_of_plain, lambda theirs, arrays: {path: theirs[_NAMES[path[0]]] for path in arrays})


def _theirs_of_attention(arrays: Ours) -> Theirs:
    """Return PyTorch's arrays of attention: the weights of queries, keys and values are one, one after the other."""
    result = {}
    for leaf, name in (("w", "weight"), ("b", "bias")):
        if ("q", leaf) in arrays:
            result[f"in_proj_{name}"] = np.concatenate([arrays[key, leaf] for key in "qkv"])
            result[f"out_proj.{name}"] = arrays["out", leaf]
    return result


def _ours_of_attention(theirs: Theirs, arrays: Ours) -> Ours:
    result: Ours = {}
    for leaf, name in (("w", "weight"), ("b", "bias")):
        if ("q", leaf) in arrays:
            q, k, v = np.split(theirs[f"in_proj_{name}"], 3)
            result |= {("q", leaf): q, ("k", leaf): k, ("v", leaf): v, ("out", leaf): theirs[f"out_proj.{name}"]}
    return result


_ATTENTION = _Kind(_theirs_of_attention, _ours_of_attention)


def _cell(name: str) -> _Kind:
    """Return how a cell of a recurrent layer is translated.

    PyTorch adds a bias to the product with the input and one to that with what is carried; here one will do, but for
    the part ``c`` of a GRU, which is added before it is reset.
    """
    end = f"l{name.replace(' reversed', '_reverse')}"

    def theirs(arrays: Ours) -> Theirs:
        b, second = arrays["b",], np.zeros_like(arrays["b",])
        if ("c",) in arrays:
            second[-len(arrays["c",]) :] = arrays["c",]
        return {
            f"weight_ih_{end}": arrays["w",], f"weight_hh_{end}": arrays["u",],
            f"bias_ih_{end}": b, f"bias_hh_{end}": second,
        }  # fmt: skip

    def ours(theirs: Theirs, arrays: Ours) -> Ours:
        first, second = theirs[f"bias_ih_{end}"], np.array(theirs[f"bias_hh_{end}"])
        result: Ours = {("w",): theirs[f"weight_ih_{end}"], ("u",): theirs[f"weight_hh_{end}"]}
        if ("c",) in arrays:
            n = len(arrays["c",])
            result["c",] = second[-n:].copy()
            second[-n:] = 0
        return {**result, ("b",): first + second}

    return _Kind(theirs, ours)


# ------------------------------------------------------------------------------------------------------------- modules


class _Part(NamedTuple):
    """The arrays of one module, which stand at ``path`` here and are called ``module`` there."""

    path: Path
    module: str
    kind: _Kind
    arrays: Ours

    def called(self, name: str) -> str:
        return f"{self.module}.{name}" if self.module else name


_BLOCK = {"norm1": "norm1", "attention": "self_attn", "norm2": "norm2", "hidden": "linear1", "out": "linear2"}
"""The parts of a TransformerBlock, and of PyTorch's TransformerEncoderLayer."""


def _parts(params: Tree, state: Tree, names: Mapping[str, str] | None) -> list[_Part]:
    names = dict(names or {})
    parts = list(_modules(_merged(params, state), (), "", names))
    if names:  # those that were used are gone
        raise wg.errors.StructureError(
            wg.errors.message(f"names: there are no parameters at {', '.join(sorted(names))}")
        )
    return parts


def _modules(node: Tree, path: Path, module: str, names: dict[str, str]) -> Iterator[_Part]:
    """Yield the modules in a tree. Takes out of ``names`` what it uses."""
    module = names.pop(".".join(path), module)
    arrays = {(key,): value for key, value in node.items() if not isinstance(value, dict)}
    if {"q", "k", "v", "out"} <= set(node):
        yield _Part(path, module, _ATTENTION, {(k, leaf): a for k in node for leaf, a in node[k].items()})
        return
    if {"w", "u"} <= set(node):
        yield _Part(path, module, _cell(path[-1]), arrays)
        return
    arrays.pop(("key",), None)  # random numbers: PyTorch keeps none with a model
    if unknown := [".".join((*path, *leaf)) for leaf in arrays if leaf[0] not in _NAMES]:
        raise wg.errors.StructureError(wg.errors.message(f"PyTorch has no name for {', '.join(unknown)}"))
    if arrays:
        yield _Part(path, module, _PLAIN, arrays)
    called = _BLOCK if set(_BLOCK) <= set(node) else {}
    for key, below in node.items():
        if isinstance(below, dict):
            is_between = key == "layers" or {"w", "u"} <= set(below)  # PyTorch has no module of its own for it
            name = called.get(key, key)
            inside = module if is_between else f"{module}.{name}" if module else name
            yield from _modules(below, (*path, key), inside, names)


def _merged(params: Tree, state: Tree) -> Tree:
    """Return the arrays of both, parameters first."""
    merged = dict(params)
    for key, value in state.items():
        merged[key] = _merged(params.get(key, {}), value) if isinstance(value, dict) else value
    return merged


def _rebuilt(tree: Tree, path: Path, new: Ours) -> Tree:
    """Return ``tree`` with the new arrays."""
    return {
        key: _rebuilt(value, (*path, key), new) if isinstance(value, dict) else new.get((*path, key), value)
        for key, value in tree.items()
    }


def _by_name(parts: list[_Part]) -> Theirs:
    result: Theirs = {}
    for part in parts:
        for name, array in part.kind.theirs(part.arrays).items():
            if part.called(name) in result:
                raise wg.errors.StructureError(
                    wg.errors.message(
                        f"names: two arrays would both be {part.called(name)}: one at {'.'.join(part.path)}"
                    )
                )
            result[part.called(name)] = array
    return result


def _check(expected: Theirs, given: Theirs, parts: list[_Part]) -> None:
    """Raise unless the names, but for counts, and the shapes are the same on both sides."""
    is_count = lambda name: name.rpartition(".")[2] == _COUNT
    missing = [name for name in expected if name not in given and not is_count(name)]
    unknown = [name for name in given if name not in expected and not is_count(name)]
    if missing or unknown:
        path = next((".".join(part.path) for part in parts if missing and missing[0].startswith(part.module)), None)
        raise wg.errors.StructureError(
            wg.errors.message(
                "from_torch: the state dict has other names than the parameters",
                notes=[("miss", ", ".join(missing) or "none"), ("extra", ", ".join(unknown) or "none")],
                tries=[f"names={{{path!r}: 'the name of the module'}}"] if path is not None else (),
            )
        )
    for name, array in expected.items():
        if not is_count(name) and given[name].shape != array.shape:
            raise wg.errors.ShapeError(
                wg.errors.message(f"from_torch: {name} is {described(given[name])}; the model has {described(array)}")
            )

"""Trees of arrays on disk, as safetensors: arrays by their dotted paths, and how they are nested; never a pickle.

A file is written beside its place and then put there, so there is always a whole one, the old or the new.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg

Tree = Any
STRUCTURE, NOTES, CHECKSUM = "wengert.structure", "wengert.notes", "wengert.checksum"


@wg.expect.checked
def save(path: str | os.PathLike[str], tree: Tree, notes: Any = None) -> None:
    """Write a tree of arrays to a file of safetensors, as a whole or not at all.

    Parameters
    ----------
    path : where the file stands afterwards.
    tree : its leaves are arrays and numbers, its keys strings. Dicts, lists and tuples come back as they are; objects,
        such as dataclasses, come back as dicts unless :func:`load` has one ``like`` them.
    notes : anything that JSON knows.

    Raises
    ------
    StructureError : a leaf is no array or number, or a key of a dict no string.
    StorageError : safetensors, of the extra ``wengert[nn]``, is not installed.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from wengert import nn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nn.save(f"{folder}/model.safetensors", {"w": np.ones(2)})
    ...     nn.load(f"{folder}/model.safetensors")
    {'w': array([1., 1.])}
    """
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    skeleton = _skeleton(tree, "", arrays)
    try:
        about = {STRUCTURE: json.dumps(skeleton), NOTES: json.dumps(notes)}
    except (TypeError, ValueError, RecursionError) as error:
        raise wg.expect.refused("save", "notes", notes, "what JSON can hold") from error
    about[CHECKSUM] = _checksum(about, arrays)
    data = _safetensors().save(arrays, about)
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # that it stands there, too
    finally:
        os.close(folder)


@wg.expect.checked
def load(path: str | os.PathLike[str], like: Tree = None) -> Tree:
    """Return the tree that :func:`save` wrote; of a file of somebody else's, nested dicts by the dots in its names.

    Parameters
    ----------
    path : of a file of safetensors.
    like : a tree whose paths, shapes and dtypes it must have; the result has its structure.

    Raises
    ------
    FileNotFoundError : there is no file.
    StorageError : it is damaged, cut off, or no file of arrays; or safetensors is not installed.
    StructureError : it is not like ``like``: which paths are missing, which too many, which have other shapes.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from wengert import nn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nn.save(f"{folder}/model.safetensors", {"w": np.ones(2), "steps": [3, 4]})
    ...     nn.load(f"{folder}/model.safetensors", like={"w": np.zeros(2), "steps": [0, 0]})
    {'w': array([1., 1.]), 'steps': [array(3), array(4)]}
    """
    return load_with_notes(path, lambda notes: like)[0]


def load_with_notes(
    path: str | os.PathLike[str], like_of: Callable[[Any], Tree] = lambda notes: None
) -> tuple[Tree, Any]:
    """Return the tree, in the structure of ``like_of(notes)`` if that is one, and the notes that were saved with it."""
    data = Path(path).read_bytes()
    library = _safetensors()
    try:
        arrays = {name: np.array(x) for name, x in library.load(data).items()}  # of their own: the others are read-only
        length = int.from_bytes(data[:8], "little")
        about = json.loads(data[8 : 8 + length]).get("__metadata__") or {}
        if CHECKSUM in about and about[CHECKSUM] != _checksum(about, arrays):
            raise ValueError("its checksum does not match")
        notes = json.loads(about.get(NOTES, "null"))
        skeleton = json.loads(about[STRUCTURE]) if STRUCTURE in about else _by_dots(arrays)
        tree = _filled(skeleton, arrays)
    except Exception as error:  # whatever a damaged file makes the reader raise
        raise wg.errors.StorageError(
            wg.errors.message(f"{os.fspath(path)} holds no arrays that can be read: {type(error).__name__}: {error}")
        ) from error
    like = like_of(notes)
    return (tree if like is None else _in_structure(os.fspath(path), arrays, like)), notes


def _checksum(about: dict[str, str], arrays: dict[str, Any]) -> str:
    found = hashlib.blake2b((about.get(STRUCTURE, "") + about.get(NOTES, "")).encode())
    for name in sorted(arrays):
        found.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        found.update(arrays[name].tobytes())
    return found.hexdigest()


def _skeleton(tree: Tree, path: str, arrays: dict[str, Any]) -> Any:
    """Return the structure as JSON, with the names of the arrays, which are put into ``arrays``."""
    if tree is None:
        return None
    if isinstance(tree, dict) and not all(isinstance(k, str) for k in tree):
        raise wg.errors.StructureError(wg.errors.message(f"save: the keys of {path or 'the tree'} are no strings"))
    children = wg.tree.children(tree)
    if children is not None:
        inner = {str(k): _skeleton(x, f"{path}.{k}" if path else str(k), arrays) for k, x in children.items()}
        kind = "list" if isinstance(tree, list) else "tuple" if isinstance(tree, tuple) else "dict"
        return {kind: inner if kind == "dict" else [*inner.values()]}
    if not isinstance(tree, np.ndarray | np.generic | bool | int | float) or not _is_kept(np.asarray(tree).dtype):
        raise wg.errors.StructureError(
            wg.errors.message(f"save: {path or 'the tree'} is {wg.expect.given(tree)}; expected arrays of numbers")
        )
    name = _new_name(path, arrays)
    arrays[name] = np.ascontiguousarray(tree).reshape(np.shape(tree))
    return name


def _new_name(path: str, known: Container[str]) -> str:
    """Return the name in the file of the array at a path."""
    name = path or "array"
    while name in known:  # where a key has a dot in it
        name += "'"
    return name


def _is_kept(dtype: Any) -> bool:
    """Return whether files of this format have the dtype."""
    return dtype.kind in "fiub" and dtype.itemsize <= 8


def _filled(skeleton: Any, arrays: dict[str, Any]) -> Tree:
    if skeleton is None:
        return None
    if isinstance(skeleton, str):
        return arrays[skeleton]
    ((kind, inner),) = skeleton.items()
    if kind == "dict":
        return {k: _filled(x, arrays) for k, x in inner.items()}
    return (list if kind == "list" else tuple)([_filled(x, arrays) for x in inner])


def _by_dots(arrays: dict[str, Any]) -> Any:
    tree: dict[str, Any] = {"dict": {}}
    for name in sorted(arrays):
        *above, last = name.split(".")
        here = tree
        for part in above:
            here = here["dict"].setdefault(part, {"dict": {}})
        here["dict"][last] = name
    return tree


def _in_structure(path: str, arrays: dict[str, Any], like: Tree) -> Tree:
    """Return the arrays in the structure of ``like``. Raises if there are others, or of other shapes or dtypes."""
    leaves, treedef = wg.tree.flatten(like)
    names = wg.tree.names(treedef)
    wanted: dict[str, int] = {}
    for i in wg.tree.own_order(treedef):  # as `_skeleton` named them
        wanted[_new_name(".".join(map(str, names[i])), wanted)] = i
    both = {k: leaves[i] for k, i in wanted.items() if k in arrays}
    differ = [_words(k, arrays[k], x) for k, x in both.items() if not _fits(arrays[k], x)]
    notes = [
        ("lacks", ", ".join(k for k in wanted if k not in arrays)),
        ("has", ", ".join(k for k in arrays if k not in wanted)),
        ("differ", ", ".join(differ)),
    ]
    notes = [(name, text) for name, text in notes if text]
    if notes:
        raise wg.errors.StructureError(
            wg.errors.message(f"{path} holds other arrays than are to be loaded", notes=notes)
        )
    for name, i in wanted.items():
        leaves[i] = arrays[name]
    return wg.tree.unflatten(treedef, leaves)


def _fits(a: Any, b: Any) -> bool:
    return a.shape == np.shape(b) and a.dtype == np.asarray(b).dtype


def _words(path: str, a: Any, b: Any) -> str:
    return f"{path} ({a.dtype}{list(a.shape)}, expected {np.asarray(b).dtype}{list(np.shape(b))})"


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise wg.errors.StorageError(
            wg.errors.message(
                "arrays are saved and loaded by safetensors, which is not installed", tries=["pip install wengert[nn]"]
            )
        ) from None
    return safetensors.numpy

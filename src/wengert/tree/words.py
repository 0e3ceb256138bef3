"""Structures in words, for messages: the path of a leaf, what a tree holds, where two structures differ."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import optree
from optree import PyTreeKind, PyTreeSpec

from wengert.tree.nodes import Static, Tree, TreeDef, flatten, is_object, kept_of, node_types, one_level

# ------------------------------------------------------------------------------------------------------ paths


def paths(tree: Tree) -> list[str]:
    """Return the path of each leaf of a tree, or of a :data:`TreeDef`: the text to write behind it to get the leaf.

    Parameters
    ----------
    tree : any nest of containers, or its structure.

    Returns
    -------
    A list of texts, one a leaf, in the order of :func:`flatten`.

    Raises
    ------
    StructureError : the tree is nested deeper than 1000 levels, or contains itself.

    Examples
    --------
    >>> from wengert.tree import paths
    >>> paths({"W": 1.0, "layers": [2.0, (3.0,)]})
    ['["W"]', '["layers"][0]', '["layers"][1][0]']
    >>> paths(1.0)
    ['']
    """
    return ["".join(map(_step, accessor)) for accessor in _treedef(tree).accessors()]


def path(tree: Tree, i: int) -> str:
    """The path of leaf ``i`` of a tree, or of a :data:`TreeDef`; see :func:`paths`.

    >>> path(([1.0, 2.0], {"b": 3.0}), 2)
    '[1]["b"]'
    """
    return "".join(map(_step, _treedef(tree).accessors()[i]))


def names(tree: Tree) -> list[tuple[Any, ...]]:
    """Return the names that lead to each leaf of a tree, or of a :data:`TreeDef`, in the order of :func:`flatten`.

    They are keys of dicts, numbers of elements, fields of named tuples and attributes of objects.

    Parameters
    ----------
    tree : any nest of containers, or its structure.

    Returns
    -------
    A list of tuples, one a leaf.

    Raises
    ------
    StructureError : the tree is nested deeper than 1000 levels, or contains itself.

    Examples
    --------
    >>> import wengert as wg
    >>> wg.tree.names({"W": 1.0, "layers": [2.0, (3.0,)]})
    [('W',), ('layers', 0), ('layers', 1, 0)]
    """
    treedef = _treedef(tree)
    if any(issubclass(cls, tuple) and cls is not tuple for cls in node_types(treedef)):
        return [tuple(_name(entry) for entry in accessor) for accessor in treedef.accessors()]
    return treedef.paths()  # a hundred times as fast, but of named tuples it has the numbers


def _treedef(tree: Tree) -> TreeDef:
    return tree if isinstance(tree, PyTreeSpec) else flatten(tree)[1]


def _step(entry: optree.PyTreeEntry) -> str:
    """One access: ``["W"]``, ``[0]`` or ``.weight``."""
    if isinstance(entry, (optree.NamedTupleEntry, optree.StructSequenceEntry)):
        return f".{entry.field}"
    if isinstance(entry, optree.GetItemEntry):
        return f"[{_key(entry.entry)}]"
    if isinstance(entry, optree.GetAttrEntry):
        return f".{entry.name}"
    return f".{entry.entry}" if isinstance(entry.entry, str) else f"<child {entry.entry}>"


def level_names(level: TreeDef) -> list[Any]:
    """Return the names of the children of a node, one level deep."""
    return [_name(accessor[0]) for accessor in level.accessors()]


def _name(entry: optree.PyTreeEntry) -> Any:
    """Return the name of a child in the node that holds it."""
    is_field = isinstance(entry, (optree.NamedTupleEntry, optree.StructSequenceEntry))
    return entry.field if is_field else entry.entry


def _key(key: Any) -> str:
    """Strings in double quotes, as in the code that we print elsewhere."""
    if type(key) is not str:
        return repr(key)
    from json import dumps  # for messages alone

    return dumps(key, ensure_ascii=False)


# ---------------------------------------------------------------------------------------- structures in words


def describe(tree: Tree, limit: int = 200) -> str:
    """One line about ``tree``: its structure with the kinds of its leaves, at most ``limit`` characters.

    Examples
    --------
    >>> describe({"W": np.ones((3, 4)), "layers": [np.float32(1), 2.0, "relu"], "bias": None})
    '{"W": float64[3, 4], "layers": [float32[], float, "relu"], "bias": None}'
    >>> describe([np.ones(2)] * 10_000)
    '[float64[2], float64[2], float64[2], float64[2], float64[2], float64[2], ... 9994 more]'
    """
    for width, depth in ((6, 6), (3, 4), (2, 2), (1, 1)):
        text = ""
        for piece in _pieces(tree, width, depth):
            text += piece
            if len(text) > limit:  # at once, so that a huge tree costs no more than its line
                break
        else:
            return text
    return text[: max(limit - 3, 0)] + "..."


def mismatch(expected: TreeDef, got: Tree) -> str | None:
    """Where and how the structure of ``got`` first differs from ``expected``, in words; None if it does not.

    Examples
    --------
    >>> _, expected = flatten((1.0, {"b": {"x": 2.0, "y": 3.0}}))
    >>> mismatch(expected, (1.0, {"b": [2.0, 3.0]}))
    'at [1]["b"]: expected a dict with keys x, y; got a list of 2'
    >>> mismatch(expected, (0.0, {"b": {"x": 0.0, "y": 0.0}})) is None
    True
    """
    return None if flatten(got)[1] == expected else align(expected, got)[1]


ABSENT = object()
"""The part that :func:`align` returns where the tree has nothing."""


def align(
    expected: TreeDef,
    got: Tree,
    *,
    subtrees: bool = False,
    attributes: bool = False,
    more_keys: bool = False,
    fewer_keys: bool = False,
) -> tuple[list[Any], str | None]:
    """Return the parts of ``got`` at the leaves of ``expected``, and the first difference in words.

    ``subtrees`` allows nodes where ``expected`` has leaves; ``attributes`` any value in the attributes of objects;
    ``more_keys`` dicts with further entries; ``fewer_keys`` dicts that leave entries out, where the parts are ABSENT,
    and that stand for other nodes, by the names of their children. Linear in the tree, and without recursion.
    """
    parts: list[Any] = []
    stack = [("", expected, got)]
    while stack:
        where, wanted, found = stack.pop()
        if found is ABSENT:
            parts += [ABSENT] * wanted.num_leaves
            continue
        children, level = one_level(found)
        if wanted.kind == PyTreeKind.LEAF:
            if not subtrees and level.kind != PyTreeKind.LEAF:
                return parts, f"{_at(where)}expected a leaf; got {_node_words(level)}"
            parts.append(found)
            continue
        wanted_level = wanted.one_level()
        assert wanted_level is not None  # it is no leaf
        if level != wanted_level:
            in_place = None
            if fewer_keys and isinstance(found, dict):
                known = level_names(wanted_level)
                keys = [name if name in found else str(name) for name in known]
                if unknown := found.keys() - set(keys):
                    called = ", ".join(sorted(map(repr, unknown)))
                    return parts, f"{_at(where)}nothing is called {called} among {_listed(known) or 'no names'}"
                in_place = [found.get(key, ABSENT) for key in keys]
            elif more_keys and isinstance(found, dict) and wanted.kind in _MAPPINGS:
                in_place = _entries(wanted_level, found)
            elif attributes and type(found) is wanted.type and is_object(wanted.type):
                kept = kept_of(wanted_level)
                state, found_kept = _attributes(kept, kept_of(level), children)
                if found_kept != kept:
                    return parts, _attribute_difference(where, kept, found_kept)
                in_place = [state[name] for name in kept[0]]
            if in_place is None:
                got_words = leaf_words(found) if level.kind == PyTreeKind.LEAF else _node_words(level)
                return parts, _difference(where, wanted_level, level, got_words)
            children = in_place
        steps = [where + _step(accessor[0]) for accessor in wanted_level.accessors()]
        stack.extend(reversed([*zip(steps, wanted.children(), children, strict=True)]))
    return parts, None


def _entries(wanted: TreeDef, found: dict[Any, Any]) -> list[Any] | None:
    """The entries of a dict under the keys of another; None if it lacks one."""
    keys = wanted.entries()
    return [found[key] for key in keys] if found.keys() >= set(keys) else None


def _attributes(wanted: Static, found: Static, children: list[Any]) -> tuple[dict[str, Any], Static]:
    """The attributes of an object, and what its structure keeps if those that are children in another are children."""
    state = dict(zip(found[0], children, strict=True)) | {name: value for name, _, value in found[1]}
    names = [name for name in wanted[0] if name in state] + [name for name in found[0] if name not in wanted[0]]
    return state, (tuple(names), tuple([each for each in found[1] if each[0] not in wanted[0]]))


def _difference(where: str, wanted: TreeDef, found: TreeDef, got_words: str) -> str:
    """Words for two nodes that differ, each one level deep."""
    if wanted.type is not found.type:
        return f"{_at(where)}expected {_node_words(wanted)}; got {got_words}"
    if is_object(wanted.type):
        return _attribute_difference(where, kept_of(wanted), kept_of(found))
    if wanted.kind in _MAPPINGS:
        absent = [key for key in wanted.entries() if key not in found.entries()]
        extra = [key for key in found.entries() if key not in wanted.entries()]
        how = " and ".join(f"{word} {_listed(keys)}" for word, keys in (("without", absent), ("with", extra)) if keys)
        if how:
            return f"{_at(where)}expected {_node_words(wanted)}; got one {how}"
    wanted_words = _node_words(wanted)
    if wanted_words == got_words:
        wanted_words += f" and static {_short(kept_of(wanted))}"
        got_words = f"static {_short(kept_of(found))}"
    return f"{_at(where)}expected {wanted_words}; got {got_words}"


def _attribute_difference(where: str, wanted: Static, found: Static) -> str:
    """Words for the first attribute in which two objects of one class differ."""
    child = "an array, a number or a container"

    def by_name(names: tuple[str, ...], static: tuple[tuple[str, type, Any], ...]) -> dict[str, Any]:
        return dict.fromkeys(names, child) | {name: (cls, value) for name, cls, value in static}

    first, second = by_name(*wanted), by_name(*found)
    name = next(name for name in first | second if first.get(name) != second.get(name))

    def words(state: dict[str, Any]) -> str:
        known = state.get(name, "no such attribute")
        return known if isinstance(known, str) else _short(known[1])

    return f"{_at(f'{where}.{name}')}expected {words(first)}; got {words(second)}"


_MAPPINGS = (PyTreeKind.DICT, PyTreeKind.ORDEREDDICT, PyTreeKind.DEFAULTDICT)
_SEQUENCES = (PyTreeKind.TUPLE, PyTreeKind.LIST, PyTreeKind.DEQUE)


def _at(where: str) -> str:
    return f"at {where}: " if where else ""


def _node_words(level: TreeDef) -> str:
    """A node one level deep: ``a list of 2``, ``a dict with keys a, b``, ``a Model with W, b``."""
    if level.type is type(None) or level.type is None:
        return "None"
    name = f"{'an' if level.type.__name__[0] in 'AEIOUaeiou' else 'a'} {level.type.__name__}"
    if level.kind in _SEQUENCES:
        return f"{name} of {level.num_children}"
    if level.num_children == 0:
        return f"{name} without leaves" if level.kind == PyTreeKind.CUSTOM else f"{name} without keys"
    if level.kind in _MAPPINGS:
        return f"{name} with keys {_listed(level.entries())}"
    return f"{name} with {_listed([_step(accessor[0]).lstrip('.') for accessor in level.accessors()])}"


def _listed(keys: Sequence[Any], most: int = 8) -> str:
    words = [key if type(key) is str and key.isidentifier() else _short(key) for key in keys[:most]]
    return ", ".join(words) + (f", ... {len(keys) - most} more" if len(keys) > most else "")


def leaf_words(leaf: Any) -> str:
    """The kind of a leaf: ``float64[3, 4]``, ``float``, ``"relu"``, ``function tanh``, ``Optimizer``."""
    cls = type(leaf)
    if isinstance(leaf, type):
        return f"class {leaf.__name__}"
    if isinstance(leaf, str):
        return _short(leaf)
    if isinstance(leaf, (types.FunctionType, types.BuiltinFunctionType, types.MethodType, np.ufunc)):
        return f"function {leaf.__name__}"
    if hasattr(cls, "shape") and hasattr(cls, "dtype"):
        return f"{leaf.dtype}[{', '.join(map(str, leaf.shape))}]"
    return cls.__name__


def _short(value: Any, most: int = 40) -> str:
    """A static value or a key in at most about ``most`` characters."""
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type, np.ufunc)):
        return value.__name__
    text = " ".join(_key(value).splitlines())
    return text if len(text) <= most else text[: most - 3] + "..."


def _pieces(tree: Tree, width: int, depth: int) -> Iterator[str]:
    """The text of :func:`describe` bit by bit: at most ``width`` children a node, and ``depth`` levels."""
    children, level = one_level(tree)
    if level.kind == PyTreeKind.LEAF:
        yield leaf_words(tree)
        return
    if tree is None:
        yield "None"
        return
    labels = [f"{_step(accessor[0]).lstrip('.')}=" for accessor in level.accessors()]
    name = type(tree).__name__
    opening, closing = f"{name}(", ")"
    after = ""
    if level.kind in _MAPPINGS:
        children, labels = list(tree.values()), [f"{_key(key)}: " for key in tree]
        opening, closing = ("{", "}") if type(tree) is dict else (f"{name}({{", "})")
    elif level.kind in _SEQUENCES:
        labels = [""] * len(children)
        opening, closing = {list: ("[", "]"), tuple: ("(", ")")}.get(type(tree), (f"{name}([", "])"))
        after = "," if type(tree) is tuple and len(children) == 1 else ""
    elif is_object(type(tree)):
        static = [f"{attribute}={_short(value)}" for attribute, _, value in kept_of(level)[1]]
        after = ", " * bool(children and static) + ", ".join(static)
    yield opening
    if depth == 0 and children:
        yield "..." + closing
        return
    for position, (label, child) in enumerate(zip(labels[:width], children[:width], strict=True)):
        yield (", " if position else "") + label
        yield from _pieces(child, width, depth - 1)
    if len(children) > width:
        yield f", ... {len(children) - width} more"
    yield after + closing

"""Trees: containers of arrays, taken apart into a flat list of leaves and put together again.

A model, a batch or a state is a nest of containers. Everything below works on flat lists of arrays, so a tree
is flattened once at the door and rebuilt once on the way out:

    leaves, treedef = flatten(tree)        # [array, array, ...], and the structure without them
    tree = unflatten(treedef, leaves)

* *Nodes* are dict, OrderedDict, defaultdict, list, tuple, namedtuple, deque, None (which has no leaves),
  classes given to :func:`register` or to optree's global namespace, and, without registration, *objects*:
  instances of dataclasses, and of the user's own classes that define ``__call__`` (layers, models).
* *Leaves* are everything else: arrays, NumPy scalars, Python numbers, strings, functions, any other object.
* :data:`TreeDef` is the structure. It is hashable and comparable: programs are cached under it.
* :func:`paths` names a leaf the way the user writes it, ``[0].layers[2].weight``; :func:`describe` and
  :func:`mismatch` put structures in words for error messages; :func:`select` turns a lambda into numbers of
  leaves.

The state of an object is its attributes: the fields of a dataclass in their order, then whatever else it
holds, by name. An attribute that is an array, a number or a node is a *child*. Anything else (a string, a
function, None, an enum) is *static*: part of the structure, hashable, compared by ``==`` and by type. A
Python bool is static too: as an attribute it is a switch that steers code (``use_bias=True``), not a number.
An object is rebuilt without ``__init__`` or ``__post_init__``, attribute by attribute. Values of
``functools.cached_property`` are left out and computed again on demand: as children they would be inputs of
their own, and the derivative through what they are computed from would be lost.

What always holds:

* ``unflatten(treedef, leaves)`` equals the tree that was flattened, with dicts in their own key order. The
  leaves of a dict come in sorted key order, so that two dicts with the same keys have one structure.
* Flattening a rebuilt tree gives the structure back, if every leaf was replaced by an array, a number or
  anything array-like (a class with NumPy's protocols, or with shape and dtype). An object whose arrays were
  replaced by strings, bools or None has another structure: those are static. Keep such values as flat lists.
* Whether a class is a node is decided once, on first sight, under a lock. :func:`register` may change it
  later; a registration with optree has to come before.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import numbers
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeAlias, TypeVar

import numpy as np
import optree
from optree import PyTreeKind, PyTreeSpec

from wengert.errors import StructureError, message

Tree: TypeAlias = Any
TreeDef: TypeAlias = PyTreeSpec
Class = TypeVar("Class", bound=type)

NAMESPACE = "wengert"

_lock = threading.RLock()  # guards what is decided about classes: the sets below and optree's registry

# optree's registry holds classes strongly and frees them only by `unregister_pytree_node`, so a class once
# registered lives as long as the process; weak containers here would cost time and free next to nothing.
_BASIC_LEAVES = frozenset(
    [np.ndarray, bool, int, float, complex, str, bytes, types.FunctionType, *np.sctypeDict.values()]
)
_leaf_types: set[type] = set(_BASIC_LEAVES)
_is_child_type: dict[type, bool] = {}  # type of an attribute's value -> child, or static
_object_types: set[type] = set()  # registered here, on first sight; `register` may still override
_declared_leaves: set[type] = set()  # by `register_leaf`


def _structure(tree: Tree) -> TreeDef:
    return optree.tree_structure(tree, namespace=NAMESPACE)


# The structures of the fast paths in `flatten`. They are optree's own, so equality and hash hold.
_LEAF = _structure(0.0)
_flat_list = functools.lru_cache(maxsize=64)(lambda n: _structure([0.0] * n))
_flat_tuple = functools.lru_cache(maxsize=64)(lambda n: _structure((0.0,) * n))


# --------------------------------------------------------------------------------------- flat lists and trees


def flatten(tree: Tree) -> tuple[list[Any], TreeDef]:
    """The leaves of ``tree``, in order, and its structure.

    Raises
    ------
    StructureError
        If the tree is nested deeper than 1000 levels or contains itself, or a static attribute has no hash.

    Examples
    --------
    >>> leaves, treedef = flatten({"w": 1.0, "b": [2.0, None]})
    >>> leaves
    [2.0, 1.0]
    >>> unflatten(treedef, [20.0, 10.0])
    {'w': 10.0, 'b': [20.0, None]}
    """
    # A lone array and a flat tuple or list of arrays are most of the calls: 2 to 5 times optree's speed.
    cls = type(tree)
    if cls in _leaf_types:
        return [tree], _LEAF
    if (cls is tuple or cls is list) and _leaf_types.issuperset(map(type, tree)):
        return list(tree), (_flat_tuple if cls is tuple else _flat_list)(len(tree))
    try:
        leaves, treedef = optree.tree_flatten(tree, namespace=NAMESPACE)
        while not _leaf_types.issuperset(map(type, leaves)):  # first sight: decide, and look again
            if any(_is_node_type(leaf_type) for leaf_type in set(map(type, leaves)) - _leaf_types):
                leaves, treedef = optree.tree_flatten(tree, namespace=NAMESPACE)
    except RecursionError as error:
        raise _too_deep(tree) from error
    return leaves, treedef


def unflatten(treedef: TreeDef, leaves: Sequence[Any]) -> Tree:
    """The tree of structure ``treedef`` with these ``leaves``.

    Examples
    --------
    >>> _, treedef = flatten((1.0, [2.0]))
    >>> unflatten(treedef, "ab")
    ('a', ['b'])
    """
    if len(leaves) != treedef.num_leaves:
        raise StructureError(f"unflatten: {treedef.num_leaves} leaves expected, {len(leaves)} given")
    return treedef.unflatten(leaves)


def node_types(treedef: TreeDef) -> set[type]:
    """The classes of the containers.

    Examples
    --------
    >>> sorted(cls.__name__ for cls in node_types(flatten(({"a": 1.0}, None))[1]))
    ['NoneType', 'dict', 'tuple']
    """
    found, todo = set[type](), [treedef]
    while todo:
        node = todo.pop()
        if node.type is not None:
            found.add(node.type)
            todo += node.children()
    return found


def tree_map(f: Callable[..., Any], tree: Tree, *rest: Tree) -> Tree:
    """The tree of ``f(leaf, *leaves_of_rest)``, of the structure of ``tree``.

    Each tree of ``rest`` has the structure of ``tree``, or a deeper one: then ``f`` gets its subtree.

    Raises
    ------
    StructureError
        If a tree of ``rest`` has another structure; the message says where.

    Examples
    --------
    >>> tree_map(lambda x, dx: x - 0.5 * dx, {"w": 1.0, "b": 2.0}, {"w": 4.0, "b": 2.0})
    {'w': -1.0, 'b': 1.0}
    """
    leaves, treedef = flatten(tree)
    columns = [leaves]
    for number, other in enumerate(rest, start=2):
        column, other_def = flatten(other)
        if other_def != treedef:
            column, difference = _align(treedef, other, subtrees=True)
            if difference:
                raise StructureError(message(f"tree_map: tree {number} differs from the first: {difference}"))
        columns.append(column)
    return treedef.unflatten(map(f, *columns))


def _too_deep(tree: Tree) -> StructureError:
    depth = optree.MAX_RECURSION_DEPTH
    return StructureError(
        message(
            f"a {type(tree).__name__} is nested deeper than {depth} levels, or contains itself",
            tries=[
                "a list for a chain of many like parts",
                "for a link back to a parent: keep it out of the object's attributes",
            ],
        )
    )


# ------------------------------------------------------------------------------------ which classes are nodes


def register(
    cls: Class,
    flatten: Callable[[Any], tuple[Any, ...]],
    unflatten: Callable[[Any, Any], Any],
) -> Class:
    """Make instances of ``cls`` nodes.

    Parameters
    ----------
    cls
        The class itself; subclasses are registered on their own.
    flatten
        ``obj -> (children, static)`` or ``(children, static, names)``. ``static`` is hashable and compared by
        ``==``; ``names`` are the attributes that paths show for the children.
    unflatten
        ``(static, children) -> obj``. Children may be anything, so it should not look at them.

    Returns
    -------
    cls

    Raises
    ------
    StructureError
        If ``cls`` is registered already, here or with optree, or is an array, number or string.

    Examples
    --------
    >>> class Interval:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = low, high
    >>> _ = register(
    ...     Interval,
    ...     flatten=lambda interval: ((interval.low, interval.high), None, ("low", "high")),
    ...     unflatten=lambda static, children: Interval(*children),
    ... )
    >>> paths([Interval(0.0, 1.0)])
    ['[0].low', '[0].high']
    """

    def checked_flatten(obj: Any) -> tuple[Any, ...]:
        parts = flatten(obj)
        try:
            hash(parts[1])
        except TypeError as error:
            raise _unhashable(cls, "the static part that its registered flatten returns", error) from error
        return parts

    with _lock:
        _forget(cls, "register")
        optree.register_pytree_node(
            cls, checked_flatten, unflatten, path_entry_type=optree.FlattenedEntry, namespace=NAMESPACE
        )
    return cls


def register_leaf(cls: Class, *, is_child: bool = True) -> Class:
    """Make instances of ``cls`` and of its subclasses leaves, even if they are dataclasses or callable.

    ``is_child`` says what they are as attributes of an object: children (stand-ins for arrays), or static
    (compiled functions). For classes of this library; a class decorator if ``is_child`` is as it should be.

    >>> @register_leaf
    ... @dataclasses.dataclass
    ... class OneHot:
    ...     index: int
    >>> flatten([OneHot(3)])[0]
    [OneHot(index=3)]
    """
    with _lock:
        _forget(cls, "register_leaf")
        _declared_leaves.add(cls)
        _leaf_types.add(cls)
        _is_child_type[cls] = is_child
    return cls


def _forget(cls: type, caller: str) -> None:
    """Take back what was decided about ``cls`` on first sight. What the user has decided stands."""
    if cls in _BASIC_LEAVES:
        raise StructureError(f"{caller}: {cls.__qualname__} is always a leaf")
    if cls in _declared_leaves or (_registration(cls) is not None and cls not in _object_types):
        raise StructureError(f"{caller}: {cls.__qualname__} is registered already")
    if cls in _object_types:
        _object_types.discard(cls)
        optree.unregister_pytree_node(cls, namespace=NAMESPACE)
    _leaf_types.discard(cls)
    _is_child_type.pop(cls, None)


def _registration(cls: type) -> Any:
    """What optree knows about ``cls``, in our namespace or the global one; None if it is a leaf to optree."""
    if optree.is_namedtuple_class(cls) or optree.is_structseq_class(cls):
        return cls
    return optree.register_pytree_node.get(cls, namespace=NAMESPACE)


def _is_node_type(cls: type) -> bool:
    """Whether instances of ``cls`` are nodes; on first sight, decide and tell optree."""
    with _lock:
        if _registration(cls) is not None:
            return True
        if _is_object_type(cls):
            flatten_object, unflatten_object = _object_functions(cls)
            optree.register_pytree_node(
                cls,
                flatten_object,
                unflatten_object,
                path_entry_type=optree.FlattenedEntry,
                namespace=NAMESPACE,
            )
            _object_types.add(cls)
            return True
        _leaf_types.add(cls)
        return False


def _is_object_type(cls: type) -> bool:
    """Whether instances of ``cls`` are taken apart by attributes: dataclasses, and callables of users."""
    if issubclass(cls, (type, enum.Enum)) or not _declared_leaves.isdisjoint(cls.__mro__):
        return False
    if any(isinstance(vars(base).get("__new__"), types.BuiltinFunctionType) for base in cls.__mro__[:-1]):
        return False  # inherits from dict, Exception, ndarray ...: `object.__new__` cannot rebuild it
    if dataclasses.is_dataclass(cls):
        return True
    package = str(cls.__module__).partition(".")[0]
    if _is_array_type(cls) or package in sys.stdlib_module_names or package == "numpy":
        return False
    call = next((vars(base)["__call__"] for base in cls.__mro__ if "__call__" in vars(base)), None)
    return call is not None and not isinstance(call, types.WrapperDescriptorType) and cls.__dictoffset__ != 0


def _is_array_type(cls: type) -> bool:
    """Whether instances of ``cls`` stand for an array or a number. Traced arrays do, by NumPy's protocols."""
    if issubclass(cls, numbers.Number):
        return not issubclass(cls, (bool, enum.Enum))
    protocols = ("__array_ufunc__", "__array_function__", "__array__")
    return any(hasattr(cls, name) for name in protocols) or (hasattr(cls, "shape") and hasattr(cls, "dtype"))


def _decide_child(cls: type) -> bool:
    """Whether a value of this type is a child of the object that holds it. Registers nothing: see `flatten`.

    None is static although it is a node, so that a message can say ``.bias: expected an array; got None``.
    """
    with _lock:
        is_node = cls is not type(None) and (_registration(cls) is not None or _is_object_type(cls))
        declared = next((base for base in cls.__mro__ if base in _declared_leaves), None)
        is_child = _is_child_type[declared] if declared else is_node or _is_array_type(cls)
        return _is_child_type.setdefault(cls, is_child)


# ------------------------------------------------------------------------- objects: dataclasses and callables

Static: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, type, Any], ...]]
"""What a structure keeps of an object: the names of its children, and (name, type, value) of the rest.

The type is there because ``==`` is too lenient for a cache key: ``Mode.FAST == 1`` for an IntEnum."""


def _object_functions(cls: type) -> tuple[Callable[[Any], tuple[Any, ...]], Callable[[Any, Any], Any]]:
    """How optree takes instances of ``cls`` apart, into (children, static, names), and rebuilds them."""
    fields = tuple(field.name for field in dataclasses.fields(cls)) if dataclasses.is_dataclass(cls) else ()
    members = [(name, value) for base in reversed(cls.__mro__) for name, value in vars(base).items()]
    slots = {name for name, value in members if isinstance(value, types.MemberDescriptorType)}
    cached = {name for name, value in members if isinstance(value, functools.cached_property)}
    has_dict = cls.__dictoffset__ != 0

    def with_slots(obj: Any) -> dict[str, Any]:
        state = dict(vars(obj)) if has_dict else {}
        return state | {name: getattr(obj, name) for name in slots if hasattr(obj, name)}

    @functools.lru_cache(maxsize=64)
    def in_order(names: tuple[str, ...]) -> list[str]:
        """Whatever order they were set in: two objects with the same attributes have one structure."""
        return [name for name in fields if name in names] + sorted(set(names) - cached.union(fields))

    def flatten_object(obj: Any) -> tuple[list[Any], Static, tuple[str, ...]]:
        state = with_slots(obj) if slots else vars(obj)
        children, names, static = [], [], []
        for name in in_order(tuple(state)):
            value = state[name]
            value_type = type(value)
            is_child = _is_child_type.get(value_type)
            if is_child is None:
                is_child = _decide_child(value_type)
            if is_child:
                children.append(value)
                names.append(name)
            else:
                static.append((name, value_type, value))
        child_names = tuple(names)
        kept = child_names, tuple(static)
        try:
            hash(kept)
        except TypeError as error:
            raise _unhashable(cls, _unhashable_name(kept), error) from error
        return children, kept, child_names

    def unflatten_object(kept: Any, children: Any) -> Any:
        child_names, static = kept
        obj = object.__new__(cls)
        state = dict(zip(child_names, children, strict=True))
        for name, _, value in static:
            state[name] = value
        for name in slots & state.keys():
            object.__setattr__(obj, name, state.pop(name))  # frozen dataclasses forbid only their own setattr
        if has_dict:
            vars(obj).update(state)
        return obj

    return flatten_object, unflatten_object


def _unhashable_name(kept: Static) -> str:
    for name, value_type, value in kept[1]:
        try:
            hash(value)
        except TypeError:
            return f".{name}, a {value_type.__name__}"
    return "a static attribute"


def _unhashable(cls: type, what: str, error: TypeError) -> StructureError:
    return StructureError(
        message(
            f"{cls.__qualname__} has no comparable structure: {what}, has no hash ({error})",
            tries=[
                "a hashable value, such as a frozenset for a set",
                f"wengert.tree.register({cls.__qualname__}, ...), to say which parts are arrays",
            ],
        )
    )


# ------------------------------------------------------------------------------------------------------ paths


def paths(tree: Tree) -> list[str]:
    """For each leaf of a tree, or of a :data:`TreeDef`, what to write after the tree to get it.

    Examples
    --------
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
    return None if flatten(got)[1] == expected else _align(expected, got, subtrees=False)[1]


def _align(expected: TreeDef, got: Tree, *, subtrees: bool) -> tuple[list[Any], str | None]:
    """The parts of ``got`` at the leaves of ``expected``, and the first difference.

    ``subtrees`` allows nodes where ``expected`` has leaves. Linear in the tree, and without recursion.
    """
    parts: list[Any] = []
    stack = [("", expected, got)]
    while stack:
        where, wanted, found = stack.pop()
        children, level = _one_level(found)
        if wanted.kind == PyTreeKind.LEAF:
            if not subtrees and level.kind != PyTreeKind.LEAF:
                return parts, f"{_at(where)}expected a leaf; got {_node_words(level)}"
            parts.append(found)
            continue
        wanted_level = wanted.one_level()
        assert wanted_level is not None  # it is no leaf
        if level != wanted_level:
            got_words = _leaf_words(found) if level.kind == PyTreeKind.LEAF else _node_words(level)
            return parts, _difference(where, wanted_level, level, got_words)
        steps = [where + _step(accessor[0]) for accessor in level.accessors()]
        stack.extend(reversed([*zip(steps, wanted.children(), children, strict=True)]))
    return parts, None


def _one_level(tree: Tree) -> tuple[list[Any], TreeDef]:
    """The children of the node ``tree``, and its structure with leaves in their place.

    A leaf is its only child.
    """
    if type(tree) not in _leaf_types:
        _is_node_type(type(tree))
    asked = itertools.count()  # optree asks about the root first; identity would fail for a list in itself
    return optree.tree_flatten(tree, is_leaf=lambda _: next(asked) > 0, namespace=NAMESPACE)


def _kept(level: TreeDef) -> Any:
    """What optree keeps of a node beside its children: the keys of a dict, the `Static` of an object."""
    return level.walk([None] * level.num_leaves, lambda _, kept, __: kept)


def _difference(where: str, wanted: TreeDef, found: TreeDef, got_words: str) -> str:
    """Words for two nodes that differ, each one level deep."""
    if wanted.type is not found.type:
        return f"{_at(where)}expected {_node_words(wanted)}; got {got_words}"
    if wanted.type in _object_types:
        return _attribute_difference(where, _kept(wanted), _kept(found))
    if wanted.kind in _MAPPINGS:
        absent = [key for key in wanted.entries() if key not in found.entries()]
        extra = [key for key in found.entries() if key not in wanted.entries()]
        how = " and ".join(f"{word} {_listed(keys)}" for word, keys in (("without", absent), ("with", extra)) if keys)
        if how:
            return f"{_at(where)}expected {_node_words(wanted)}; got one {how}"
    wanted_words = _node_words(wanted)
    if wanted_words == got_words:
        wanted_words += f" and static {_short(_kept(wanted))}"
        got_words = f"static {_short(_kept(found))}"
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


def _leaf_words(leaf: Any) -> str:
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
    children, level = _one_level(tree)
    if level.kind == PyTreeKind.LEAF:
        yield _leaf_words(tree)
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
    elif type(tree) in _object_types:
        static = [f"{attribute}={_short(value)}" for attribute, _, value in _kept(level)[1]]
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


# -------------------------------------------------------------------------------------------- parts of a tree


def select(tree: Tree, selector: Callable[[Tree], Tree]) -> tuple[list[int], TreeDef]:
    """Which leaves ``selector`` picks: their numbers in :func:`flatten`, and how it arranged them.

    The selector gets the tree with a marker for every leaf and returns a marker, a subtree, or a container of
    such. A leaf may be picked twice.

    Raises
    ------
    StructureError
        If the selector computes with a leaf, looks inside one, returns something else, or nothing.

    Examples
    --------
    >>> args = ({"W": 1.0, "b": 2.0}, 3.0)
    >>> select(args, lambda args: args[0]["b"])
    ([1], PyTreeSpec(*))
    >>> indices, treedef = select(args, lambda args: [args[1], args[0]])
    >>> indices
    [2, 0, 1]
    >>> unflatten(treedef, [30.0, 10.0, 20.0])
    [30.0, {'W': 10.0, 'b': 20.0}]
    """
    leaves, treedef = flatten(tree)
    marks = [_Mark(treedef, i) for i in range(len(leaves))]
    try:
        picked, picked_def = flatten(selector(unflatten(treedef, marks)))
    except (AttributeError, LookupError) as error:
        raise _cannot_select(treedef, f"the selector failed, {type(error).__name__}: {error}") from error
    if not picked:
        raise _cannot_select(treedef, "the selector picked no leaf")
    mine = set(map(id, marks))
    for leaf in picked:
        if id(leaf) not in mine:
            raise _cannot_select(treedef, f"{_leaf_words(leaf)}, which the selector returned, is no leaf")
    return [mark._index for mark in picked], picked_def


def _cannot_select(treedef: TreeDef, what: str) -> StructureError:
    examples = [f"lambda args: args{path}" for path in paths(treedef)[:3]]
    return StructureError(message(f"select: {what}", tries=examples))


@register_leaf
class _Mark:
    """Stands for leaf number ``index`` while a selector runs: it can be picked, and nothing else."""

    def __init__(self, treedef: TreeDef, index: int) -> None:
        self._treedef = treedef
        self._index = index

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        where = "args" + path(self._treedef, self._index)
        raise StructureError(
            message(
                f"select: a selector only picks leaves and subtrees, and {where} is a whole leaf",
                tries=[f"lambda args: {where}, and index or compute in the function or on its derivative"],
            )
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # protocols ask for these, and take AttributeError for a no
            raise AttributeError(name)
        self._refuse()

    __getitem__ = __iter__ = __len__ = __bool__ = __call__ = _refuse
    __array__ = __array_ufunc__ = __array_function__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __neg__ = __abs__ = __float__ = __int__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse

"""Trees are taken apart into flat lists of leaves, and put together again; which classes are nodes is decided here."""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import numbers
import sys
import types
from collections import defaultdict, namedtuple
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import optree
from optree import PyTreeSpec

from wengert.attributes import held
from wengert.errors import StructureError, message
from wengert.expect import refused
from wengert.locks import lock
from wengert.tree import models

Tree: TypeAlias = Any
TreeDef: TypeAlias = PyTreeSpec
Class = TypeVar("Class", bound=type)

NAMESPACE = "wengert"
_lock = lock()  # guards the decisions about classes: the sets below and optree's registry

# optree's registry holds classes strongly and frees them only by `unregister_pytree_node`, so a class once
# registered lives as long as the process; weak containers here would cost time and free next to nothing.
_BASIC_LEAVES = frozenset(
    [np.ndarray, bool, int, float, complex, str, bytes, types.FunctionType, *np.sctypeDict.values()]
)
_leaf_types: set[type] = set(_BASIC_LEAVES)
_is_child_type: dict[type, bool] = {}  # type of an attribute's value -> child, or static
_object_types: set[type] = set()  # registered here, on first sight; `register` may still override
_declared_leaves: set[type] = set()  # by `register_leaf`


_awaited: dict[str, Callable[[], Any]] = {}


def await_classes(module: str, enrolls: Callable[[], Any]) -> None:
    """Call ``enrolls``, which registers classes of ``module`` and of the modules within it, before the first object of
    one of them is looked at."""
    _awaited[module] = enrolls


_while_traced: set[type] = set()


def note_while_traced(cls: type) -> None:
    """Note that objects of a class stand for those of another while they hold traced values: a structure with them is
    that of the others, which are what it is rebuilt with."""
    _while_traced.add(cls)


def _of_others_kind(treedef: TreeDef) -> TreeDef:
    if _while_traced.isdisjoint(node_types(treedef)):
        return treedef
    return _structure(treedef.unflatten([object() for _ in range(treedef.num_leaves)]))


_with_units: set[type] = set()


def has_units(treedef: TreeDef) -> bool:
    """Whether a structure has nodes whose numbers are of a unit: a derivative by them, or of them, has another."""
    return bool(_with_units) and not _with_units.isdisjoint(node_types(treedef))


def note_units(cls: type) -> None:
    """Note that the numbers in the objects of a class are of a unit, which is structure."""
    _with_units.add(cls)


_awaited_bases: dict[str, Callable[[type], Any]] = {}


def await_bases(package: str, enroll: Callable[[type], Any]) -> None:
    """Call ``enroll`` with each class that is of a package, or has a base there, before an object of it is looked at:
    it registers the class, or lets it be."""
    _awaited_bases[package] = enroll


def _enroll_awaited(cls: type) -> None:
    """Register what is awaited of the module of ``cls``. What fails, or is interrupted, is tried again."""
    name = cls.__module__
    for base in cls.__mro__:
        enroll = _awaited_bases.get(str(base.__module__).partition(".")[0])
        if enroll is not None and _registration(cls) is None:
            enroll(cls)
            break
    for module in [m for m in _awaited if isinstance(name, str) and f"{name}.".startswith(f"{m}.")]:
        _awaited[module]()
        _awaited.pop(module, None)


def _structure(tree: Tree) -> TreeDef:
    return optree.tree_structure(tree, namespace=NAMESPACE)


# The structures of the fast paths in `flatten`. They are optree's own, so equality and hash hold.
_LEAF = _structure(0.0)
_flat_list = functools.lru_cache(maxsize=64)(lambda n: _structure([0.0] * n))
_flat_tuple = functools.lru_cache(maxsize=64)(lambda n: _structure((0.0,) * n))


# --------------------------------------------------------------------------------------- flat lists and trees


def flatten(tree: Tree) -> tuple[list[Any], TreeDef]:
    """Return the leaves of ``tree``, in order, and its structure.

    Parameters
    ----------
    tree : any nest of containers; see :mod:`wengert.tree` for what they are.

    Returns
    -------
    leaves, treedef
        The leaves of a dict come in the order of its sorted keys. The structure is hashable and comparable.

    Raises
    ------
    StructureError : the tree is nested deeper than 1000 levels or contains itself, or a static attribute has no hash.

    Examples
    --------
    >>> from wengert.tree import flatten, unflatten
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
        while not _leaf_types.issuperset(map(type, leaves)):  # a class is met for the first time: decide, and repeat
            if any(_is_node_type(leaf_type) for leaf_type in set(map(type, leaves)) - _leaf_types):
                leaves, treedef = optree.tree_flatten(tree, namespace=NAMESPACE)
    except RecursionError as error:
        raise _too_deep(tree) from error
    return leaves, (_of_others_kind(treedef) if _while_traced else treedef)


def unflatten(treedef: TreeDef, leaves: Sequence[Any]) -> Tree:
    """Return the tree of structure ``treedef`` with these ``leaves``.

    Parameters
    ----------
    treedef : a structure, as :func:`flatten` returns it.
    leaves : as many as the structure has, of any kind.

    Returns
    -------
    New containers around the leaves, which are not copied; dicts have the order of keys of the tree that was flattened.

    Raises
    ------
    StructureError : there are more leaves, or fewer.

    Examples
    --------
    >>> from wengert.tree import flatten, unflatten
    >>> _, treedef = flatten((1.0, [2.0]))
    >>> unflatten(treedef, "ab")
    ('a', ['b'])
    """
    if treedef is _LEAF and len(leaves) == 1:
        return leaves[0]
    check_treedef("unflatten", treedef)
    if len(leaves) != treedef.num_leaves:
        what = f"unflatten: {treedef.num_leaves} leaves expected, {len(leaves)} given"
        raise StructureError(message(what, tries=["as many as wg.tree.flatten returned with the structure"]))
    return treedef.unflatten(leaves)


def check_treedef(where: str, treedef: Any) -> None:
    """Raise in the name of the function ``where`` unless its argument is a structure."""
    if not isinstance(treedef, PyTreeSpec):
        raise refused(where, "treedef", treedef, "a structure, as wg.tree.flatten(tree)[1] is")


def node_types(treedef: TreeDef) -> set[type]:
    """The classes of the containers in a structure.

    Examples
    --------
    >>> sorted(cls.__name__ for cls in node_types(flatten(({"a": 1.0}, None))[1]))
    ['NoneType', 'dict', 'tuple']
    """
    found = set[type]()
    treedef.walk([None] * treedef.num_leaves, lambda cls, *_: found.add(cls))
    return found


def own_order(treedef: TreeDef) -> list[int]:
    """Return the numbers of the leaves in the order in which the containers hold them.

    It differs from the order of :func:`flatten` where the keys of a dict are not sorted.

    Parameters
    ----------
    treedef : a structure, as :func:`flatten` returns it.

    Returns
    -------
    Each number from 0 to the number of leaves once.

    Examples
    --------
    >>> import wengert as wg
    >>> leaves, treedef = wg.tree.flatten({"w": 1.0, "b": 2.0})
    >>> [leaves[i] for i in wg.tree.own_order(treedef)]
    [1.0, 2.0]
    """

    check_treedef("own_order", treedef)
    if treedef.num_leaves == 1:
        return [0]

    def numbers(node: Any) -> list[int]:
        if isinstance(node, dict):
            parts = node.values()
        else:
            parts = node if isinstance(node, (tuple, list)) else one_level(node)[0]
        return [*itertools.chain.from_iterable(parts)]

    return treedef.traverse([[i] for i in range(treedef.num_leaves)], numbers)


def key_orders(treedef: TreeDef) -> Any:
    """The keys of each dict in its own order, and of their exact types: equal structures may differ in both.

    None where there is no dict.

    Examples
    --------
    >>> key_orders(flatten({"b": 1.0, "a": 2.0})[1]) == key_orders(flatten({"a": 2.0, "b": 1.0})[1])
    False
    """
    if treedef.num_nodes == 1:
        return None
    is_flat = treedef.num_nodes == treedef.num_leaves + 1  # then its children, which take long to make, are leaves
    inner = [None] * treedef.num_children if is_flat else [key_orders(child) for child in treedef.children()]
    level = treedef.one_level()
    if level is not None and treedef.type in (dict, defaultdict):
        own: Any = tuple([exact_key(key) for key in level.unflatten([None] * treedef.num_children)])
    elif all(found is None for found in inner):
        return None
    else:
        own = None
    return own, *inner


def exact_key(value: Any) -> Any:
    """A key that is equal only for values of equal types: 1, 1.0 and True differ, and so do 0.0 and -0.0.

    Values of other classes than Python's own are compared as they compare themselves, if they are of one class.

    Examples
    --------
    >>> exact_key((1,)) == exact_key((True,))
    False
    """
    cls = type(value)
    inside: Any = None
    if isinstance(value, tuple):
        inside = tuple([exact_key(v) for v in value])
    elif isinstance(value, frozenset):
        inside = frozenset([exact_key(v) for v in value])
    elif isinstance(value, float):
        inside = float.__repr__(value)  # says the sign of zero
    elif isinstance(value, complex):
        inside = complex.__repr__(value)
    return (cls, inside) if cls in _TOLD_BY_WHAT_IS_INSIDE else (cls, inside, value)


_TOLD_BY_WHAT_IS_INSIDE = (tuple, frozenset, float, complex, np.float64, np.complex128)


def one_level(tree: Tree) -> tuple[list[Any], TreeDef]:
    """The children of the node ``tree``, and its structure with leaves in their place.

    A leaf is its only child.
    """
    if type(tree) not in _leaf_types:
        _is_node_type(type(tree))
    asked = itertools.count()  # optree asks about the root first; identity would fail for a list in itself
    return optree.tree_flatten(tree, is_leaf=lambda _: next(asked) > 0, namespace=NAMESPACE)


def kept_of(level: TreeDef) -> Any:
    """The data that optree keeps of a node beside its children: the keys of a dict, the :data:`Static` of an object."""
    return level.walk([None] * level.num_leaves, lambda _, kept, __: kept)


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
    >>> from wengert.tree import paths
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

    for name, value in (("flatten", flatten), ("unflatten", unflatten)):
        if not callable(value):
            raise refused("register", name, value, "a function")
    if not isinstance(cls, type):
        raise refused("register", "cls", cls, "a class")
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
    """The registration of ``cls`` with optree, in our namespace or the global one; None if it is a leaf to optree."""
    if optree.is_namedtuple_class(cls) or optree.is_structseq_class(cls):
        return cls
    return optree.register_pytree_node.get(cls, namespace=NAMESPACE)


def is_named_tuple(cls: type) -> bool:
    """Whether instances of ``cls`` are named tuples, whose children are their items: no other way is registered."""
    registered: Any = optree.register_pytree_node
    kinds = registered.get(cls, namespace=NAMESPACE), registered.get(namedtuple)
    return optree.is_namedtuple_class(cls) and kinds[0] is kinds[1]


def _is_node_type(cls: type) -> bool:
    """Whether instances of ``cls`` are nodes; on first sight, decide and tell optree."""
    if _awaited:
        _enroll_awaited(cls)
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


def is_object(cls: type | None) -> bool:
    """Whether instances of ``cls`` have been taken apart by attributes: their structure keeps a :data:`Static`."""
    return cls in _object_types


def _is_object_type(cls: type) -> bool:
    """Whether instances of ``cls`` are taken apart by attributes: dataclasses, classes of attrs, models of pydantic,
    and callables of users."""
    if issubclass(cls, (type, enum.Enum)) or not _declared_leaves.isdisjoint(cls.__mro__):
        return False
    if any(isinstance(vars(base).get("__new__"), types.BuiltinFunctionType) for base in cls.__mro__[:-1]):
        return False  # inherits from dict, Exception, ndarray ...: `object.__new__` cannot rebuild it
    if dataclasses.is_dataclass(cls) or models.is_attrs(cls) or models.is_pydantic(cls):
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
    if _awaited:
        _enroll_awaited(cls)
    with _lock:
        is_node = cls is not type(None) and (_registration(cls) is not None or _is_object_type(cls))
        declared = next((base for base in cls.__mro__ if base in _declared_leaves), None)
        is_child = _is_child_type[declared] if declared else is_node or _is_array_type(cls)
        return _is_child_type.setdefault(cls, is_child)


# ------------------------------------------------------------------------- objects: dataclasses and callables

Static: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, type, Any], ...]]
"""The part of an object that its structure keeps: the names of its children, and (name, type, value) of the rest.

The type is there because ``==`` is too lenient for a cache key: ``Mode.FAST == 1`` for an IntEnum."""


def _object_functions(cls: type) -> tuple[Callable[[Any], tuple[Any, ...]], Callable[[Any, Any], Any]]:
    """The functions by which optree takes instances of ``cls`` apart, into (children, static, names), and rebuilds
    them."""
    is_model = models.is_pydantic(cls)
    fields = tuple(field.name for field in dataclasses.fields(cls)) if dataclasses.is_dataclass(cls) else ()
    fields = fields or models.attrs_fields(cls) or models.pydantic_fields(cls)
    forget_hash = models.forget_hash(cls) if models.is_attrs(cls) else None
    members = [(name, value) for base in reversed(cls.__mro__) for name, value in vars(base).items()]
    slots = {name for name, value in members if isinstance(value, types.MemberDescriptorType)}
    cached = {name for name, value in members if isinstance(value, functools.cached_property)}
    if models.is_attrs(cls):
        cached |= models.kept_by_attrs(cls)
    has_dict = cls.__dictoffset__ != 0

    def with_slots(obj: Any) -> dict[str, Any]:
        state = dict(vars(obj)) if has_dict else {}
        return state | {name: held(obj, name) for name in slots if held(obj, name, slots) is not slots}

    @functools.lru_cache(maxsize=64)
    def in_order(names: tuple[str, ...]) -> list[str]:
        """The names in the same order whatever order they were set in, so that two objects with the same attributes
        have one structure."""
        return [name for name in fields if name in names] + sorted(set(names) - cached.union(fields))

    def flatten_object(obj: Any) -> tuple[list[Any], Static, tuple[str, ...]]:
        state = models.held_by_model(obj) if is_model else with_slots(obj) if slots else vars(obj)
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
        if is_model:
            models.fill_model(obj, state)
            return obj
        for name in slots & state.keys():
            object.__setattr__(obj, name, state.pop(name))  # frozen dataclasses forbid only their own setattr
        if has_dict:
            vars(obj).update(state)
        if forget_hash is not None:
            forget_hash(obj)
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

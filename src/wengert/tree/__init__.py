"""Trees: containers of arrays, taken apart into a flat list of leaves and put together again.

A model, a batch or a state is a nest of containers. Everything below works on flat lists of arrays, so a tree
is flattened once at the door and rebuilt once on the way out:

    leaves, treedef = flatten(tree)        # [array, array, ...], and the structure without them
    tree = unflatten(treedef, leaves)

* *Nodes* are dict, OrderedDict, defaultdict, list, tuple, namedtuple, deque, None (which has no leaves),
  classes given to :func:`register` or to optree's global namespace, and, without registration, *objects*:
  instances of dataclasses, of classes that attrs writes, of pydantic's models, and of the user's own classes that
  define ``__call__`` (layers, models).
* *Leaves* are everything else: arrays, NumPy scalars, Python numbers, strings, functions, any other object.
* :data:`TreeDef` is the structure. It is hashable and comparable: programs are cached under it.
* :func:`map` computes with the leaves of several trees of one structure, :func:`flatten_up_to` takes a deeper tree
  apart by the structure of another, and :func:`merge` changes a part of the leaves.
* :func:`paths` names a leaf the way the user writes it, ``[0].layers[2].weight``, and :func:`names` by the keys that
  lead to it; :func:`own_order` is the order in which dicts hold their leaves; :func:`describe` and :func:`mismatch`
  put structures in words for error messages; :func:`select` turns a lambda into numbers of leaves.

The state of an object is its attributes: the fields of a dataclass, an attrs class or a model in their order, then
whatever else it holds, by name. An attribute that is an array, a number or a node is a *child*. Anything else (a
string, a function, None, an enum) is *static*: part of the structure, hashable, compared by ``==`` and by type. A
Python bool is static too: as an attribute it is a switch that steers code (``use_bias=True``), not a number. An object
is rebuilt without ``__init__``, ``__post_init__``, a converter or a validator, attribute by attribute. Values of
``functools.cached_property`` are left out and computed again on demand: as children they would be inputs of their own,
and the derivative through what they are computed from would be lost.

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

from collections.abc import Callable
from typing import Any, NoReturn

from wengert.errors import StructureError, message
from wengert.expect import leaves_of, refused
from wengert.tree.maps import children, flatten_up_to, leaves, map, merge
from wengert.tree.nodes import (
    Tree,
    TreeDef,
    exact_key,
    flatten,
    key_orders,
    node_types,
    own_order,
    register,
    register_leaf,
    unflatten,
)
from wengert.tree.words import describe, leaf_words, mismatch, names, path, paths

__all__ = [
    "Tree",
    "TreeDef",
    "children",
    "describe",
    "exact_key",
    "flatten",
    "flatten_up_to",
    "key_orders",
    "leaves",
    "map",
    "merge",
    "mismatch",
    "names",
    "node_types",
    "own_order",
    "path",
    "paths",
    "register",
    "register_leaf",
    "select",
    "unflatten",
]


def __dir__() -> list[str]:
    return list(__all__)


leaves_of(flatten, path)

# -------------------------------------------------------------------------------------------- parts of a tree


def select(tree: Tree, selector: Callable[[Tree], Tree]) -> tuple[list[int], TreeDef]:
    """Return the leaves that ``selector`` picks: their numbers in :func:`flatten`, and how it arranged them.

    Parameters
    ----------
    tree : any nest of containers.
    selector : gets the tree with a marker for every leaf, and returns a marker, a subtree, or a container of such. A
        leaf may be picked twice.

    Returns
    -------
    The numbers of the leaves that were picked, and the structure in which they were returned.

    Raises
    ------
    StructureError : the selector computes with a leaf, looks inside one, returns something else, or nothing.

    Examples
    --------
    >>> from wengert.tree import select, unflatten
    >>> args = ({"W": 1.0, "b": 2.0}, 3.0)
    >>> select(args, lambda args: args[0]["b"])
    ([1], PyTreeSpec(*))
    >>> indices, treedef = select(args, lambda args: [args[1], args[0]])
    >>> indices
    [2, 0, 1]
    >>> unflatten(treedef, [30.0, 10.0, 20.0])
    [30.0, {'W': 10.0, 'b': 20.0}]
    """
    if not callable(selector):
        raise refused("select", "selector", selector, "a function")
    leaves, treedef = flatten(tree)
    marks = [_Mark(treedef, i) for i in range(len(leaves))]
    try:
        picked, picked_def = flatten(selector(unflatten(treedef, marks)))
    except (AttributeError, LookupError) as error:
        raise _cannot_select(treedef, f"the selector failed, {type(error).__name__}: {error}") from error
    if not picked:
        raise _cannot_select(treedef, "the selector picked no leaf")
    mine = {id(mark) for mark in marks}
    for leaf in picked:
        if id(leaf) not in mine:
            raise _cannot_select(treedef, f"{leaf_words(leaf)}, which the selector returned, is no leaf")
    return [mark._index for mark in picked], picked_def


def _cannot_select(treedef: TreeDef, what: str) -> StructureError:
    examples = [f"lambda args: args{path}" for path in paths(treedef)[:3]]
    return StructureError(message(f"select: {what}", tries=examples))


@register_leaf
class _Mark:
    """A stand-in for leaf number ``index`` while a selector runs: the selector can pick it, and do nothing else."""

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

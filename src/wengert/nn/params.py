"""Parameters as a whole: paths of leaves, which are trained, one vector that is all of them, gradients that add up."""

from __future__ import annotations

import difflib
import fnmatch
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

Array = Any
Tree = Any
Arrays = Any
"""A tree of arrays."""


@wg.expect.checked
def paths(params: Tree) -> dict[str, Array]:
    """Return the leaves of nested dicts, lists and tuples by their dotted paths.

    >>> import numpy as np
    >>> from wengert import nn
    >>> list(nn.paths({"layers": {"0": {"w": np.ones(2), "b": np.ones(1)}}}))
    ['layers.0.w', 'layers.0.b']
    """
    return dict(_leaves(params, ""))


def _leaves(tree: Tree, path: str) -> Iterable[tuple[str, Array]]:
    if isinstance(tree, dict):
        parts = tree.items()
    elif isinstance(tree, tuple) and hasattr(tree, "_fields"):
        parts = zip(tree._fields, tree, strict=True)  # type: ignore[attr-defined]  # a named tuple's
    elif isinstance(tree, list | tuple):
        parts = enumerate(tree)
    elif tree is None:
        parts = ()
    else:
        yield path, tree
        return
    for name, part in parts:
        yield from _leaves(part, f"{path}.{name}" if path else str(name))


@wg.expect.checked
def count(params: Arrays) -> int:
    """Return how many numbers a tree of arrays holds in all.

    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.count({"w": np.ones((2, 3)), "b": np.ones(2)})
    8
    """
    return sum(math.prod(np.shape(x)) for x in paths(params).values())


@wg.expect.checked
def trainable(params: Tree, *patterns: str, frozen: str | Iterable[str] = ()) -> Callable[[Any], Any]:
    """Return a selector of what to differentiate with respect to: ``wrt=nn.trainable(params, "layers.3.*")``.

    Parameters
    ----------
    params : the parameters, of which the paths are looked at.
    patterns : what is trained, as of :mod:`fnmatch`; without any, everything.
    frozen : patterns of what of that is not.

    Returns
    -------
    A selector for ``wrt=`` of functions whose first argument are the parameters: the leaves that match, in nested
    dicts. The others are constants, and have no cotangent.

    Raises
    ------
    StructureError : a pattern matches nothing, or nothing is left.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> from wengert import nn
    >>> params = {"a": np.ones(2), "b": np.ones(3)}
    >>> wg.grad(lambda p: np.sum(p["a"]) * np.sum(p["b"]), wrt=nn.trainable(params, "a"))(params)
    {'a': array([3., 3.])}
    """
    known = list(paths(params))
    chosen = _matched(known, patterns) if patterns else set(known)
    chosen -= _matched(known, (frozen,) if isinstance(frozen, str) else frozen)
    if not chosen:
        raise wg.errors.StructureError(wg.errors.message("trainable: all of the parameters are frozen"))

    return _Selector(frozenset(chosen))


class _Selector(NamedTuple):
    """This selector picks leaves by their paths. It is equal to others of the same paths, and can be sent elsewhere."""

    chosen: frozenset[str]

    def __call__(self, args: Any) -> Any:
        picked: dict[str, Any] = {}
        for path, leaf in paths(args[0]).items():
            if path in self.chosen:
                *above, name = path.split(".")
                here = picked
                for part in above:
                    here = here.setdefault(part, {})
                here[name] = leaf
        return picked


def _matched(known: list[str], patterns: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for pattern in patterns:
        matched = fnmatch.filter(known, pattern)
        if not matched:
            near = difflib.get_close_matches(pattern, known, 3, 0.3) or known[:3]
            raise wg.errors.StructureError(wg.errors.message(f"no parameter matches {pattern!r}", tries=near))
        found.update(matched)
    return found


@wg.expect.checked
def flat(params: Arrays) -> tuple[np.ndarray[Any, Any], Tree]:
    """Return one vector with all the parameters, and a tree of their structure whose arrays are parts of it.

    What is written into the one is in the other; nothing else is copied. A gradient becomes one vector in the same way:
    ``vector, tree = nn.flat(params); gradient(params, out=tree)``.

    Raises
    ------
    DTypeError : the arrays are not of one dtype.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> vector, tree = nn.flat({"w": np.ones((2, 2)), "b": np.zeros(3)})
    >>> tree["w"][0, 1] = 5
    >>> vector
    array([1., 5., 1., 1., 0., 0., 0.])
    """
    arrays = mapped(np.asarray, params)
    leaves = list(paths(arrays).values())
    dtypes = {np.dtype(x.dtype) for x in leaves}
    if len(dtypes) > 1:
        raise wg.errors.DTypeError(
            wg.errors.message(
                f"flat: one vector has one dtype, and these are {', '.join(sorted(d.name for d in dtypes))}",
                tries=["nn.flat of the parts of one dtype"],
            )
        )
    vector = np.empty(sum(math.prod(x.shape) for x in leaves), dtypes.pop() if dtypes else np.float32)
    start = 0

    def part(x: Array) -> Array:
        nonlocal start
        view = vector[start : start + math.prod(x.shape)].reshape(x.shape)
        view[...] = x
        start += view.size
        return view

    return vector, mapped(part, arrays)


def _check_alike(tree: Tree, other: Tree) -> None:
    """Raise unless ``other`` is, at this level, a container like ``tree``."""
    if isinstance(tree, dict):
        is_alike = isinstance(other, dict) and tree.keys() <= other.keys()
    elif isinstance(tree, list | tuple):
        is_alike = isinstance(other, list | tuple) and len(other) == len(tree)
    else:
        is_alike = tree is None or not isinstance(other, dict | list | tuple)
    if not is_alike:
        words = wg.expect.given
        what = f"mapped: one tree has {words(tree)} where another has {words(other)}; expected one structure"
        raise wg.errors.StructureError(wg.errors.message(what))


@wg.expect.checked
def mapped(f: Callable[..., Any], tree: Tree, *others: Tree) -> Tree:
    """Return ``f`` of each leaf, and of those of other trees of the same structure, in a tree of that structure.

    Parameters
    ----------
    f : takes one leaf of each tree.
    tree : nested dicts, lists and tuples; None stands for no leaf, and stays.
    others : trees with the same keys and lengths; a dict may have more keys, which are not looked at.

    Raises
    ------
    StructureError : another tree has another structure.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import nn
    >>> nn.mapped(np.add, {"w": np.ones(2), "b": [1.0, None]}, {"w": np.ones(2), "b": [2.0, None]})
    {'w': array([2., 2.]), 'b': [np.float64(3.0), None]}
    """
    return _mapped(f, tree, *others)


def _mapped(f: Callable[..., Any], tree: Tree, *others: Tree) -> Tree:
    for other in others:
        _check_alike(tree, other)
    if isinstance(tree, dict):
        return {k: _mapped(f, x, *[o[k] for o in others]) for k, x in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[_mapped(f, *xs) for xs in zip(tree, *others, strict=True)])
    if isinstance(tree, list | tuple):
        return type(tree)(_mapped(f, *xs) for xs in zip(tree, *others, strict=True))
    return None if tree is None else f(tree, *others)


@wg.expect.checked
def accumulate(gradient: Callable[..., Tree]) -> Callable[..., Tree]:
    """Return the compiled function ``(total, *args) -> total + gradient(*args)``, which adds in place.

    The arrays of ``total`` are its result, so gradients of any number of micro-batches take the memory of one.

    >>> import numpy as np, wengert as wg
    >>> from wengert import nn
    >>> add = nn.accumulate(wg.grad(lambda w, x: np.sum(w * x)))
    >>> total = np.zeros(2)
    >>> for x in (np.array([1.0, 2.0]), np.array([10.0, 20.0])):
    ...     total = add(total, np.ones(2), x)
    >>> total
    array([11., 22.])
    """

    def added(total: Tree, *args: Any) -> Tree:
        return mapped(lambda a, b: a + b, total, gradient(*args))

    return wg.jit(added, donate=lambda args: args[0])

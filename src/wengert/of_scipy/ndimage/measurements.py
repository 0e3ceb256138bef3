"""Statistics of the elements that a label is of, and tables of what lies where, which have no derivative.

Labels are looked at, and guarded: they say which elements go together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wengert.of_scipy.ndimage.borders import table
from wengert.tracing.arguments import Traced, array, as_dtype, concrete, is_traced, unsupported
from wengert.tracing.interception.asking import AT_FUNCTIONS
from wengert.tracing.interception.intercept import intercepts
from wengert.tracing.tracer import Tracer

PLACE = "scipy.ndimage"
Index = int | Sequence[int] | Traced | None


class Groups:
    """Elements of an array that go together: for each group, their places in the flat array."""

    def __init__(self, input: ArrayLike, labels: ArrayLike | None, index: Index) -> None:
        x = array(input)
        self.shape: tuple[int, ...] = ()
        self.is_alone = labels is None or index is None or np.ndim(index) == 0
        given = None if labels is None else concrete(labels, "labels")
        if given is not None:
            shape = np.broadcast_shapes(x.shape, given.shape)
            given = np.broadcast_to(given, shape).ravel()
            x = x if x.shape == shape else np.broadcast_to(x, shape)
        self.x: Any = x
        self.values: Any = np.reshape(x, (-1,))
        if given is None:
            self.places = [np.arange(x.size)]
        elif index is None:
            self.places = [np.flatnonzero(given > 0)]
        else:
            wanted = concrete(index, "index")
            self.shape = () if self.is_alone else wanted.shape
            order = np.argsort(given, kind="stable")
            ranked = given[order]
            wanted = np.ravel(wanted)
            first, last = np.searchsorted(ranked, wanted, "left"), np.searchsorted(ranked, wanted, "right")
            self.places = [order[a:b] for a, b in zip(first, last, strict=True)]
        self.counts = np.array([len(p) for p in self.places])

    def of(self, k: int) -> Any:
        """The elements of a group."""
        return self.values[table(self.places[k], self.x)]

    def sums(self, values: Traced) -> Any:
        """The sum of each group, of values in the flat array."""
        if self.is_alone:
            picked = values if len(self.places[0]) == self.values.size else values[table(self.places[0], self.x)]
            return np.sum(picked)
        every = np.concatenate(self.places) if self.places else np.zeros(0, int)
        which = np.repeat(np.arange(len(self.places)), self.counts)
        picked = values[table(every, self.x)]
        return np.bincount(table(which, self.x), weights=picked, minlength=len(self.places))

    def shaped(self, found: Traced) -> Any:
        """A value for each group, in the shape of the index."""
        return found if self.is_alone else np.reshape(found, self.shape)

    def each(self, f: Callable[[Any], Any], otherwise: Any, dtype: Any = None) -> Any:
        """``f`` of the elements of each group; of an empty one, ``otherwise``."""
        if self.is_alone:
            return f(self.of(0))
        found = [f(self.of(k)) if self.counts[k] else otherwise for k in range(len(self.places))]
        stacked = np.stack([array(v, (self.x,)) for v in found]) if found else table(np.zeros(0), self.x)
        return self.shaped(stacked if dtype is None else as_dtype(stacked, dtype))


def _sums(groups: Groups) -> Any:
    return groups.sums(groups.values)


def _counts(groups: Groups) -> Any:
    return table(np.float64(groups.counts[0]) if groups.is_alone else groups.counts.astype(np.float64), groups.x)


def sum_labels(input: ArrayLike, labels: ArrayLike | None = None, index: Index = None) -> Any:
    groups = Groups(input, labels, index)
    return groups.shaped(_sums(groups))


intercepts(f"{PLACE}:sum_labels")(sum_labels)
intercepts(f"{PLACE}:sum")(sum_labels)


@intercepts(f"{PLACE}:mean")
def mean(input: ArrayLike, labels: ArrayLike | None = None, index: Index = None) -> Any:
    groups = Groups(input, labels, index)
    return groups.shaped(_sums(groups) / _counts(groups))


def variance(input: ArrayLike, labels: ArrayLike | None = None, index: Index = None) -> Any:
    groups = Groups(input, labels, index)
    means = _sums(groups) / _counts(groups)
    if groups.is_alone:
        centered = groups.values - means
    else:
        owner = np.zeros(groups.values.size, int)
        for k, places in enumerate(groups.places):
            owner[places] = k
        centered = groups.values - means[table(owner, groups.x)]
    return groups.shaped(groups.sums(np.real(centered * np.conj(centered))) / _counts(groups))


intercepts(f"{PLACE}:variance")(variance)


@intercepts(f"{PLACE}:standard_deviation")
def standard_deviation(input: ArrayLike, labels: ArrayLike | None = None, index: Index = None) -> Any:
    return np.sqrt(variance(input, labels, index))


@intercepts(f"{PLACE}:minimum")
def minimum(input: ArrayLike, labels: ArrayLike | None = None, index: Index = None) -> Any:
    return Groups(input, labels, index).each(np.min, 0.0)


@intercepts(f"{PLACE}:maximum")
def maximum(input: ArrayLike, labels: ArrayLike | None = None, index: Index = None) -> Any:
    return Groups(input, labels, index).each(np.max, 0.0)


@intercepts(f"{PLACE}:median")
def median(input: ArrayLike, labels: ArrayLike | None = None, index: Index = None) -> Any:
    return Groups(input, labels, index).each(np.median, 0.0)


def _positions(groups: Groups, of: Callable[..., Any]) -> Any:
    """The indices of one element of each group, as SciPy returns them: a tuple for each."""
    found = []
    for k, places in enumerate(groups.places):
        if not len(places):
            found.append(tuple([0] * groups.x.ndim))
            continue
        place = table(places, groups.x)[of(groups.of(k))]
        found.append(tuple(np.unravel_index(place, groups.x.shape)))
    return found[0] if groups.is_alone else found


@intercepts(f"{PLACE}:minimum_position")
def minimum_position(input: ArrayLike, labels: ArrayLike | None = None, index: Index = None) -> Any:
    return _positions(Groups(input, labels, index), np.argmin)


@intercepts(f"{PLACE}:maximum_position")
def maximum_position(input: ArrayLike, labels: ArrayLike | None = None, index: Index = None) -> Any:
    return _positions(Groups(input, labels, index), np.argmax)


@intercepts(f"{PLACE}:extrema")
def extrema(input: ArrayLike, labels: ArrayLike | None = None, index: Index = None) -> Any:
    groups = Groups(input, labels, index)
    least, most = groups.each(np.min, 0.0), groups.each(np.max, 0.0)
    return least, most, _positions(groups, np.argmin), _positions(groups, np.argmax)


@intercepts(f"{PLACE}:center_of_mass")
def center_of_mass(input: ArrayLike, labels: ArrayLike | None = None, index: Index = None) -> Any:
    groups = Groups(input, labels, index)
    total = _sums(groups)
    grids = [np.broadcast_to(g, groups.x.shape).ravel() for g in np.indices(groups.x.shape, float, sparse=True)]
    found = [groups.sums(groups.values * table(grid, groups.x)) / total for grid in grids]
    return tuple(found) if groups.is_alone else [tuple([c[k] for c in found]) for k in range(len(groups.places))]


@intercepts(f"{PLACE}:labeled_comprehension", AT_FUNCTIONS)
def labeled_comprehension(
    input: ArrayLike,
    labels: ArrayLike | None,
    index: Index,
    func: Callable[..., Any],
    out_dtype: Any,
    default: Any,
    pass_positions: bool = False,
) -> Any:
    """``func`` of the elements of each label, and of their places, if these are wanted."""
    if labels is None and index is not None:
        raise ValueError("index without defined labels")
    groups = Groups(input, labels, index)

    def call(k: int) -> Any:
        return func(groups.of(k), groups.places[k]) if pass_positions else func(groups.of(k))

    if labels is None or index is None:
        return call(0)
    found = [call(k) if groups.counts[k] else default for k in range(len(groups.places))]
    if groups.is_alone:
        return as_dtype(array(found[0], (groups.x,)), out_dtype)
    stacked = np.stack([array(v, (groups.x,)) for v in found]) if found else table(np.zeros(0), groups.x)
    return groups.shaped(as_dtype(stacked, out_dtype))


# ----------------------------------------------------------------------------------------------- without derivative


@intercepts(f"{PLACE}:histogram")
def histogram(
    input: ArrayLike,
    min: float,
    max: float,
    bins: int,
    labels: ArrayLike | None = None,
    index: Index = None,
) -> Any:
    groups = Groups(input, labels, index)
    if not groups.is_alone:
        raise unsupported("scipy.ndimage.histogram of several labels is an array of arrays, which is not traced",
                          "[ndimage.histogram(x, low, high, bins, labels, i) for i in index]")  # fmt: skip
    return np.histogram(groups.of(0), np.linspace(min, max, bins + 1))[0]


def _of_values(name: str, is_of_truths: bool) -> Callable[..., Any]:
    """A function of looked-at values: what it returns is a constant under the guard of what it was given. Of numbers
    that stand for truths it is their truth that is guarded."""

    def looked_at(x: Any, is_first: bool = False) -> Any:
        if not is_traced(x):
            return x.constant() if type(x) is Tracer else x  # an array made inside, which nobody has traced
        is_number = x.dtype.kind in "fc"
        if is_number and not is_first:
            raise unsupported(f"scipy.ndimage.{name}: an option is traced", "a number that is a constant")
        return np.asarray(concrete(x != 0 if is_number and is_first and is_of_truths else x, "what it finds"))

    def answer(*args: Any, **kwargs: Any) -> Any:
        known = [looked_at(x, k == 0) for k, x in enumerate(args)]
        given = {key: looked_at(x, key == "input") for key, x in kwargs.items()}
        return getattr(import_module(PLACE), name)(*known, **given)

    return answer


_OF_TRUTHS = (
    "binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss binary_opening "
    "binary_propagation distance_transform_bf distance_transform_cdt distance_transform_edt label"
)
_OF_INTEGERS = "find_objects iterate_structure value_indices watershed_ift"
for _name in [*_OF_TRUTHS.split(), *_OF_INTEGERS.split()]:
    intercepts(f"{PLACE}:{_name}")(_of_values(_name, _name in _OF_TRUTHS.split()))

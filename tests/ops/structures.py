"""Every kind of structured cotangent and tangent that may reach an op, over values of one type.

Values, masks and index arrays are inputs of the tape that is being built, with the numbers drawn for them, so that a
rule can see nothing but the structure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from wengert.ops.structured import Diagonal, Fill, Masked, ScatteredSum, ScatteredTerm
from wengert.tape import Aval, Var

INTP, BOOL = np.dtype(np.intp), np.dtype(bool)


class Given:
    """Inputs of a tape, with the arrays that are passed for them."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.inputs: list[Var] = []
        self.arrays: list[Any] = []

    def array(self, array: Any) -> Var:
        array = np.asarray(array)
        self.inputs.append(Var(Aval(array.shape, array.dtype)))
        self.arrays.append(array)
        return self.inputs[-1]

    def normal(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Var:
        x = self.rng.standard_normal(shape)
        return self.array((x + 1j * self.rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype))

    def mask(self, shape: tuple[int, ...]) -> Var:
        """True of about half of the elements: of the first, and not of the last, where there are two."""
        mask = self.rng.integers(0, 2, shape).astype(bool)
        if mask.size:
            mask.flat[-1], mask.flat[0] = False, True
        return self.array(mask)


Make = Callable[[Given, Aval], Any]
"""Makes a cotangent of one kind for a value of that type; None where there is none of that kind."""


def fill(given: Given, y: Aval) -> Any:
    return Fill(given.normal((), y.dtype), y) if y.shape else None


def dense(given: Given, y: Aval) -> Any:
    return given.normal(y.shape, y.dtype)


# ------------------------------------------------------------------------------------------------------------- parts


def whole(y: Aval) -> list[Any]:
    return [(0, n, 1) for n in y.shape]


def region(entry: Callable[[int], Any], axes: slice = slice(None)) -> Callable[[Aval], tuple[Any, ...] | None]:
    """A static index that has ``entry(length)`` for some axes, and all of the others; None where an axis is empty."""

    def of(y: Aval) -> tuple[Any, ...] | None:
        index = whole(y)
        for k in range(y.ndim)[axes]:
            index[k] = entry(y.shape[k])
        return tuple(index) if y.size and y.ndim else None

    return of


START = region(lambda n: (0, (n + 1) // 2, 1))
MIDDLE = region(lambda n: (n // 4, max(n // 2, 1), 1))
END = region(lambda n: (n // 2, n - n // 2, 1))
STRIDED = region(lambda n: ((n - 1) % 2, (n + 1) // 2, 2))
REVERSED = region(lambda n: (n - 1, n, -1))
BACKWARDS = region(lambda n: (n - 1, (n + 1) // 2, -2))
ONE_HOT = region(lambda n: n // 2)
ROW = region(lambda n: n - 1, slice(0, 1))
COLUMN = region(lambda n: 0, slice(-1, None))
LAST_AXIS = region(lambda n: (n // 2, n - n // 2, 1), slice(-1, None))
NOTHING = region(lambda n: (0, 0, 1), slice(0, 1))


def taken(index: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple([entry[1] for entry in index if type(entry) is not int])


def parts(*regions: Callable[[Aval], tuple[Any, ...] | None], base: Make | None = None, numbers: bool = False) -> Make:
    """Values at static indices; ``numbers``: each is one number over its region."""

    def make(given: Given, y: Aval) -> Any:
        found = [of(y) for of in regions]
        if None in found:
            return None
        under = None if base is None else base(given, y)
        if base is not None and under is None:
            return None
        shapes = [() if numbers else taken(index) for index in found if index is not None]
        return ScatteredSum(
            under,
            tuple([ScatteredTerm(given.normal(s, y.dtype), index) for s, index in zip(shapes, found, strict=True)]),
            y,
        )

    return make


def at_arrays(count: int, repeats: bool) -> Make:
    """Values at ``count`` index arrays, in which an element may stand more than once, and others count from the end."""

    def make(given: Given, y: Aval) -> Any:
        if y.ndim < count or not y.size:
            return None
        rows = [given.rng.permutation(n)[: (n + 1) // 2] for n in y.shape[:count]]
        length = min(map(len, rows))
        places = [r[:length] - n * (k % 2) for k, (r, n) in enumerate(zip(rows, y.shape[:count], strict=True))]
        if repeats:
            places = [np.concatenate([p, p]) for p in places]
        value = given.normal((len(places[0]), *y.shape[count:]), y.dtype)
        return ScatteredSum(
            None, (ScatteredTerm(value, None, tuple([given.array(p.astype(INTP)) for p in places])),), y
        )

    return make


# ------------------------------------------------------------------------------------------------- diagonals and masks


def diagonal(is_scalar: bool) -> Make:
    def make(given: Given, y: Aval) -> Any:
        if y.ndim != 2 or y.shape[0] != y.shape[1] or not y.size:
            return None
        return Diagonal(given.normal(() if is_scalar else y.shape[:1], y.dtype), y)

    return make


def masked(
    mask_of: Callable[[tuple[int, ...]], tuple[int, ...]] = lambda shape: shape,
    value_of: Callable[[tuple[int, ...]], tuple[int, ...]] = lambda shape: shape,
    holds: bool = True,
) -> Make:
    """A value that counts where a mask holds, or does not; both may be of shapes that broadcast."""

    def make(given: Given, y: Aval) -> Any:
        mask, value = mask_of(y.shape), value_of(y.shape)
        if np.broadcast_shapes(mask, value) != y.shape:
            return None
        return Masked(given.mask(mask), given.normal(value, y.dtype), holds)

    return make


def clean(given: Given, y: Aval) -> Any:
    """The value is zero already where it does not count."""
    mask, value = given.mask(y.shape), given.normal(y.shape, y.dtype)
    given.arrays[-1] = np.where(given.arrays[-2], given.arrays[-1], 0).astype(y.dtype)
    return Masked(mask, value, is_clean=True)


def a_row(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape[-1:]


def a_column(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:-1], 1) if shape else ()


def a_number(shape: tuple[int, ...]) -> tuple[int, ...]:
    return ()


COTANGENTS: dict[str, Make] = {
    "fill": fill,
    "one-hot": parts(ONE_HOT),
    "part at the start": parts(START),
    "part in the middle": parts(MIDDLE),
    "part at the end": parts(END),
    "part of the last axis": parts(LAST_AXIS),
    "strided part": parts(STRIDED),
    "reversed part": parts(REVERSED),
    "strided part, reversed": parts(BACKWARDS),
    "row": parts(ROW),
    "column": parts(COLUMN),
    "part of nothing": parts(NOTHING),
    "number at a part": parts(STRIDED, numbers=True),
    "two parts side by side": parts(START, END),
    "two parts that overlap": parts(MIDDLE, BACKWARDS, ONE_HOT),
    "many parts": parts(START, ONE_HOT, END, ROW, STRIDED, MIDDLE),
    "part on a dense one": parts(MIDDLE, base=dense),
    "part on a fill": parts(ROW, base=fill),
    "part on a mask": parts(START, base=masked()),
    "part on a diagonal": parts(ONE_HOT, base=diagonal(False)),
    "index array": at_arrays(1, False),
    "index array with repeats": at_arrays(1, True),
    "two index arrays": at_arrays(2, True),
    "diagonal": diagonal(False),
    "multiple of the identity": diagonal(True),
    "masked": masked(),
    "masked where it does not hold": masked(holds=False),
    "masked and clean": clean,
    "masked number": masked(value_of=a_number),
    "masked as a whole": masked(mask_of=a_number),
    "masked rows": masked(mask_of=a_column),
    "masked columns of one row": masked(mask_of=a_column, value_of=a_row),
}


def every_cotangent(given: Given, y: Aval, names: Iterable[str] = COTANGENTS) -> Iterator[tuple[str, Any]]:
    """The cotangents that there are of these kinds for a value of that type."""
    for name in names:
        ct = COTANGENTS[name](given, y)
        if ct is not None:
            yield name, ct


def every_tangent(given: Given, x: Aval) -> Iterator[tuple[str, Any]]:
    """Those that forward mode knows."""
    return every_cotangent(given, x, [name for name in COTANGENTS if name.startswith("masked")])

"""Code that is refused without compiled modules, or answered in another way, and what is said."""

from __future__ import annotations

import statistics
import sys
import warnings
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import interpolate, signal, sparse, special
from scipy.spatial import ConvexHull, cKDTree

import wengert as wg

TABLE, TREE = {"zeros": np.zeros}, cKDTree(np.eye(3))
PLANE = interpolate.LinearNDInterpolator(np.eye(3)[:, :2], np.arange(3.0))
FACTORS = sparse.linalg.splu(sparse.eye_array(3, format="csc"))
LARGE = np.zeros(wg.config.snapshot_bytes // 8 + 1)
GENERATOR = np.random.default_rng(0)


def written(y: Any, x: Any) -> Any:
    y[0] = x
    return np.sum(y)


def reads_and(write: Callable[[], Any], x: Any) -> Any:
    before = np.sum(LARGE * x)
    write()
    return before + np.sum(LARGE * x)


def sets_a_flag() -> None:
    LARGE.flags.writeable = True
    LARGE[0] = 1.0
    LARGE.flags.writeable = False


class Refused(NamedTuple):
    """``f`` raises an error of this class with these words, at 1.5; jitted too, unless it says there what it does with
    the extension."""

    f: Callable[[Any], Any]
    error: str
    words: str
    is_jitted_too: bool = True


BY_UFUNC_AT = ("WrittenMeanwhileError", "was written")
if np.lib.NumpyVersion(np.__version__) >= "2.5.0":  # which asks whether the array may be written
    BY_UFUNC_AT = ("MutationError", "read-only")

REFUSED: dict[str, Refused] = {
    "a ufunc of a list": Refused(
        lambda x: np.sum(np.exp([x, 2.0 * x])), "ConcretizationError", "np.array([x, y]) for a list of traced values"
    ),
    "a method of a ufunc": Refused(
        lambda x: np.add.reduce([x, x]), "ConcretizationError", "np.array([x, y]) for a list"
    ),
    "a ufunc of SciPy's of a list": Refused(
        lambda x: np.sum(special.erf([x, x])), "ConcretizationError", "np.array([x, y])"
    ),
    "a class of numbers": Refused(lambda x: np.float64(x) * 2, "ConcretizationError", "x.astype(np.float64)"),
    "the class of arrays": Refused(lambda x: written(np.ndarray(2), x), "MutationError", "made inside, by np.zeros"),
    "a maker in a table": Refused(lambda x: written(TABLE["zeros"](2), x), "MutationError", "made inside, by np.zeros"),
    "a parameter of a draw": Refused(
        lambda x: GENERATOR.normal(x, 1.0), "ConcretizationError", "np.random.Generator.normal is not traced"
    ),
    "a method of a tree": Refused(
        lambda x: TREE.query(np.array([x, x, x]))[0], "ConcretizationError", "scipy.spatial.cKDTree.query is not traced"
    ),
    "a hull": Refused(
        lambda x: ConvexHull(np.array([[0.0, 0.0], [x, 0.0], [0.0, x]])).volume,
        "ConcretizationError",
        "scipy.spatial.ConvexHull is not traced",
    ),
    "triangles made outside": Refused(
        lambda x: PLANE(np.array([x, x]) / 9)[0], "ConcretizationError", "scipy.interpolate.LinearNDInterpolator"
    ),
    "factors of a sparse matrix": Refused(
        lambda x: FACTORS.solve(np.array([x, x, x]))[0], "UnsupportedFunctionError", "is not traced"
    ),
    "a number of the standard library's": Refused(
        lambda x: statistics.NormalDist(x, 1.0).cdf(0.3), "ConcretizationError", "statistics.NormalDist is not traced"
    ),
    "a number of SciPy's": Refused(
        lambda x: signal.iircomb(0.25, x)[0][0], "ConcretizationError", "scipy.signal.iircomb is not traced"
    ),
    "a write by np.add.at": Refused(lambda x: reads_and(lambda: np.add.at(LARGE, [0], 1.0), x), *BY_UFUNC_AT, False),
    "a write by way of a flag": Refused(
        lambda x: reads_and(sets_a_flag, x), "WrittenMeanwhileError", "was written", False
    ),
    "a shape that is set": Refused(
        lambda x: reads_and(lambda: setattr(LARGE, "shape", (1, -1)), x), "WrittenMeanwhileError", "was written", False
    ),
}
if sys.version_info < (3, 12):
    REFUSED["the bytes of a value"] = Refused(
        lambda x: x * zlib.crc32(x), "UnsupportedFunctionError", "zlib.crc32 is not traced"
    )


def raised(name: str) -> list[str]:
    """Return the class and the words of the error that each way of differentiating raises."""
    global LARGE
    found = []
    ways = (wg.grad, lambda f: wg.jit(wg.grad(f), strict=True))
    for way in ways[: 1 + REFUSED[name].is_jitted_too]:
        LARGE = np.zeros(LARGE.size)
        try:
            found.append(f"no error: {way(REFUSED[name].f)(1.5)}")
        except Exception as error:  # any: its class is what is asked
            found.append(f"{type(error).__name__}: {error}")
    return found


def drawn() -> dict[str, Any]:
    """Return what a jitted function gives that draws, call by call, the numbers of NumPy, and what was said."""
    f = wg.jit(lambda x: x * GENERATOR.normal())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = [float(f(2.0)) for _ in range(4)]
    mine = np.random.default_rng(0)
    return {
        "found": found,
        "numpys": [2.0 * mine.normal() for _ in range(4)],
        "said": [str(one.message) for one in said],
    }

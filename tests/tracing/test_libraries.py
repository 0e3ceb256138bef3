"""What is refused is called by its full public name, and the first remedy is one that works."""

from __future__ import annotations

import importlib
import inspect
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.cluster.hierarchy
import scipy.cluster.vq
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse.csgraph
import scipy.sparse.linalg
import scipy.spatial
import scipy.special
import scipy.stats
from scipy.cluster import hierarchy as clusters
from scipy.cluster.hierarchy import leaves_list as imported

import wengert as wg
from wengert.tracing.libraries import _of_method, instead_of

A = np.array([[2.0, 0.3, 0.1], [0.3, 3.0, 0.2], [0.1, 0.2, 4.0]])
V = np.array([0.3, 0.5, 0.9])
OLD = np.random.RandomState(0)
MASK = V > 0.5
MAKERS = {"less": np.ma.masked_less}  # by no name that the line has
LINKED = clusters.linkage(A)
TABLE = {"leaves": clusters.leaves_list}
LEAVES = "scipy.cluster.hierarchy.leaves_list"

REFUSED: list[tuple[str, Callable[[Any], Any], Any, str, str]] = [
    ("a decorated function", lambda x: clusters.optimal_leaf_ordering(LINKED * x[0], V), V,
     "scipy.cluster.hierarchy.optimal_leaf_ordering", "wg.primitive"),
    ("a name of a module", lambda z: clusters.leaves_list(z), LINKED, LEAVES, "wg.primitive"),
    ("an imported name", lambda z: imported(z), LINKED, LEAVES, "wg.primitive"),
    ("a table of functions", lambda z: TABLE["leaves"](z), LINKED, LEAVES, "wg.primitive"),
    ("a call over lines", lambda z: scipy.cluster.hierarchy.leaves_list(
        z,
    ), LINKED, LEAVES, "wg.primitive"),
    ("a masked array", lambda x: np.ma.masked_array(x, MASK).sum(), V, "np.ma.masked_array", "np.where(mask"),
    ("what makes a masked array", lambda x: MAKERS["less"](x, 0.5).sum(), V, "np.ma.masked_less", "np.where(mask"),
    ("what masked arrays have", lambda x: np.ma.average(x), V, "np.ma.average", "np.where(mask"),
    ("what asks for memory", lambda a: np.ctypeslib.as_ctypes(a), A, "np.ctypeslib.as_ctypes", "wg.primitive"),
    ("what asks for an attribute", lambda a: np.matrix.getA(a), A, "np.matrix.getA", "wg.primitive"),
    ("float() inside of a library", lambda x: np.format_float_positional(x), 0.5, "np.format_float_positional", "wg."),
    ("a write inside of a library", lambda x: scipy.stats.dunnett(x, V, control=V).statistic, V, "scipy.stats.dunnett",
     "wg.primitive"),
    ("compiled code of a module", lambda x: np.random.normal(x), V, "np.random.normal", "numbers"),  # noqa: NPY002
    ("compiled code of an object", lambda x: OLD.normal(x), V, "np.random.RandomState.normal", "numbers drawn"),
    ("cython", lambda a: scipy.sparse.csgraph.min_weight_full_bipartite_matching(scipy.sparse.csr_array(a))[0], A,
     "scipy.sparse.csgraph.min_weight_full_bipartite_matching", "wg.primitive"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x", "name", "remedy"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_a_refused_function_had_another_name(f: Any, x: Any, name: str, remedy: str) -> None:
    for gradient in (wg.grad(lambda x: np.sum(f(x))), wg.jit(wg.grad(lambda x: np.sum(f(x))))):
        with pytest.raises(wg.errors.WengertError) as caught:
            gradient(x)
        first, *rest = str(caught.value).split("\n")
        assert first.startswith(f"{name} is not traced")
        assert any(line.startswith("  at     ") and "test_libraries.py" in line for line in rest)
        (tried,) = [line for line in rest if line.startswith("  try ")]
        assert tried.split(maxsplit=1)[1].startswith(remedy)


REMEDIES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "scipy.spatial.distance.cdist": (
        lambda a: scipy.spatial.distance.cdist(a, A + 1), lambda a: np.linalg.norm(a[:, None] - (A + 1), axis=-1)
    ),
    "scipy.integrate.trapezoid": (scipy.integrate.trapezoid, np.trapezoid),
    "np.asmatrix": (np.asmatrix, lambda a: np.asarray(a)),
    "np.require": (np.require, lambda a: np.asarray(a)),
    "np.asarray_chkfinite": (np.asarray_chkfinite, lambda a: np.asarray(a)),
}  # fmt: skip


@pytest.mark.parametrize("name", REMEDIES)
def test_the_first_remedy_works(name: str) -> None:
    refused, remedy = REMEDIES[name]
    warnings.simplefilter("ignore", PendingDeprecationWarning)  # np.matrix's; pytest restores what is shown
    assert instead_of(name)
    np.testing.assert_allclose(remedy(A), refused(A), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(wg.vjp(remedy, A)[0], refused(A), rtol=1e-12, atol=1e-15)


def test_a_remedy_that_is_not_traced_either_is_not_named() -> None:
    assert instead_of(LEAVES) == []


def test_errors_of_the_users_own_stay_what_they_are() -> None:
    """A TypeError of the user's is none of a library's, nor is what a library says of plain numbers."""

    def mine(x: Any) -> Any:
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        wg.grad(mine)(1.0)
    with pytest.raises(TypeError, match="missing"):
        wg.grad(lambda x: scipy.linalg.solve(A) * x)(1.0)
    with pytest.raises(AttributeError, match="no_such"):
        wg.grad(lambda x: x * scipy.linalg.no_such)(1.0)
    with pytest.raises(TypeError, match=r"^mine$"):
        wg.grad(lambda x: scipy.optimize.brentq(lambda t: mine(t * x), 0.0, 1.0))(1.0)


# ---------------------------------------------------------------------------------------------- all of some modules

MODULES = ["scipy.linalg", "scipy.spatial.distance", "scipy.fft", "numpy.linalg", "numpy.fft", "numpy.random",
           "numpy.polynomial.polynomial", "scipy.integrate", "scipy.sparse.linalg"]  # fmt: skip
OTHER_NAMES = {"scipy.linalg.solve_lyapunov": "scipy.linalg.solve_continuous_lyapunov"}


def public(module: str) -> Iterator[tuple[str, Any]]:
    found = importlib.import_module(module)
    for name in sorted(getattr(found, "__all__", dir(found))):
        f = getattr(found, name)
        if not name.startswith("_") and callable(f) and not isinstance(f, type | types.ModuleType):
            if name not in ("test", "seed", "set_state", "shuffle", "qmc_quad", "show_config"):
                yield (f"np.{module[6:]}.{name}" if module.startswith("numpy") else f"{module}.{name}"), f


def plausible(f: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Arguments that it may take: a matrix, a vector or a number, and as many more as it wants."""
    try:
        parameters = inspect.signature(f).parameters.values()
        needed = sum(
            p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters
        )
    except (ValueError, TypeError):
        needed = 1
    for first in (A, V, np.float64(0.5)):
        for rest in (first, 1, V):
            yield first, [np.array(rest) if isinstance(rest, np.ndarray) else rest] * (max(needed, 1) - 1)


def too_long(*_: Any) -> None:
    raise TimeoutError


@pytest.mark.sampled(2, "a tenth of a second each")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # an alarm in a weakref's callback
@pytest.mark.parametrize("module", MODULES)
def test_every_public_function_is_traced_or_refused_by_its_name(module: str) -> None:
    wrong = []
    old = signal.signal(signal.SIGALRM, too_long)
    try:
        for name, f in public(module):
            for first, rest in plausible(f):
                signal.setitimer(signal.ITIMER_REAL, 0.5)
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        f(first, *rest)
                        wg.grad(lambda x, f=f, rest=rest: (f(x, *rest), np.sum(x))[1])(first)
                except wg.errors.WengertError as error:
                    line = str(error).split("\n")[0]
                    if OTHER_NAMES.get(name, name) not in line:
                        wrong.append((name, line))
                except Exception as error:  # whatever a library raises of arguments that it does not take
                    if "Tracer" in str(error):
                        wrong.append((name, str(error)))
                    continue
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                break
    finally:
        signal.signal(signal.SIGALRM, old)
    assert not wrong


def test_a_librarys_function_that_is_differentiated_itself_is_refused_by_its_name() -> None:
    """It was "wengert.api.chosen.choose.<locals>...", or SciPy's "No matching signature found"."""
    leaves = clusters.leaves_list
    for derivative in (
        lambda: wg.grad(leaves)(LINKED),
        lambda: wg.vjp(leaves, LINKED),
        lambda: wg.jacobian(leaves)(LINKED),
    ):
        with pytest.raises(wg.errors.WengertError, match=rf"^{LEAVES} is not traced"):
            derivative()


def test_a_package_of_columns_gets_memory_or_a_refusal() -> None:
    """pandas asks again for an array until it has one: np.asarray gave it traced values, until the stack was full."""
    code = "def column(x):\n    return x if type(x) is np.ndarray else column(np.asarray(x))"
    pandas: dict[str, Any] = {"__name__": "pandas.core.frame", "np": np}
    exec(code, pandas)
    column = pandas["column"]
    with pytest.raises(wg.errors.ConcretizationError):
        wg.grad(lambda x: np.sum(column(x)))(np.ones(3))
    assert wg.grad(lambda x: np.sum(x * column(np.ones(3))))(np.ones(3)).tolist() == [1, 1, 1]


def test_a_method_is_called_by_the_class_that_its_package_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it is a base's; what makes an object is called by the class alone, and what is not shown by neither."""
    core: dict[str, Any] = {"__name__": "package_of_a_test.core", "sys": sys}
    exec(
        "class Base:\n"
        "    def __init__(self): self.made = sys._getframe()\n"
        "    def total(self): return sys._getframe()\n"
        "class Column(Base): pass\n"
        "def helper(self): return sys._getframe()\n"
        "def alone(x): return sys._getframe()\n",
        core,
    )
    package: Any = types.ModuleType("package_of_a_test")
    package.Column = core["Column"]
    monkeypatch.setitem(sys.modules, "package_of_a_test", package)
    column = core["Column"]()
    assert _of_method(column.total()) == "package_of_a_test.Column.total"
    assert _of_method(column.made) == "package_of_a_test.Column"
    assert _of_method(core["helper"](column)) == "package_of_a_test.Column"
    for frame in (core["Base"]().total(), core["alone"](column), core["helper"](1.0), core["helper"](package)):
        assert _of_method(frame) is None

"""Who is calling: the user's code, a library, or compiled code that was called from the user's.

While a trace is open, ``np.zeros`` makes traced arrays for the user's code alone. Libraries hand their arrays to
compiled code, which cannot take a traced one, so they get NumPy's own. Python frames tell the two apart; compiled code
has no frame, and stands between the user's frame and a function of C on the machine's stack, where that function finds
it (interception/native/calling.h). Of a function written in Python the instruction tells that the user's code executes.

Which packages are not the user's is asked three times, and answered here alone: who gets NumPy's own arrays
(:func:`is_library`), whose lines are not named as the place of a step or an error (:func:`is_internal`), and whose
insides a compiled function does not watch (:func:`is_opaque`).
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import types
from typing import Any

from wengert.attributes import held
from wengert.tracing import hooks
from wengert.tracing.python.calls import called_object, callee
from wengert.tracing.python.frames import is_run, place_of, run

_OURS = frozenset(["wengert", "numpy", "scipy", "optree"])
"""wengert, and what it stands on: yes to all three questions."""

_BETWEEN = frozenset(["contextlib"])
"""Python code that stands between the user's ``with`` and what the user runs in it."""

_HANDS_TO_COMPILED = frozenset(
    ["numba", "numexpr", "cupy", "jax", "jaxlib", "torch", "tensorflow", "autograd", "casadi", "pandas", "polars"]
    + ["pyarrow", "h5py", "xarray", "statsmodels", "sklearn", "skimage", "PIL", "cv2", "networkx", "shapely"]
    + ["matplotlib", "mpl_toolkits"]
)
"""Packages that hand arrays to compiled code. What they read or call in the user's name may change all the same."""

_WANTS_MEMORY = frozenset(["pandas", "polars", "pyarrow"])
"""Packages whose columns are memory: what converts a value for them must give an ndarray, or refuse."""

_TAKES_NUMBERS = frozenset(
    ["statistics", "fractions", "decimal", "_pydecimal", "random", "json", "struct", "datetime", "_pydatetime"]
    + ["colorsys", "ctypes", "array", "collections", "copy", "dataclasses", "heapq", "bisect", "numbers", "csv"]
    + ["mpmath", "sympy", "gmpy2", "uncertainties", "pint", "astropy", "numba", "pandas", "polars", "torch", "jax"]
)
"""Packages of Python code that compute with numbers of Python's. What works on a traced value there is traced; what
does not is refused under the name of the function, at the user's line."""

_OF_PYTHON = frozenset(["builtins", "functools", "itertools", "math", "operator"])
"""Modules that hold nothing that changes, and make no arrays."""

_WARNS = frozenset(["warnings", "_py_warnings"])  # the second since Python 3.14

_LOGS = _WARNS | {"logging"}
"""Modules whose contents and output are for people: nothing is computed from them."""

_TRUSTED = frozenset(
    ["matplotlib", "mpl_toolkits", "tqdm", "rich"]  # they draw and write for people, and nothing is computed of that
    + ["_pytest", "pytest", "coverage", "debugpy", "pydevd", "_pydevd_bundle", "IPython"]  # they look on
    + ["_distutils_hack", "_editable_skbc_wengert"]  # they find modules that are imported
    + ["typing_extensions"]  # it is what Python's own typing is in a later version
)
"""Packages of Python code that is not followed."""

_NOT_FOLLOWED = frozenset(["pandas.core.flags"])
"""Modules of packages that are not followed: the flags of a Series lead back to it, and say nothing of numbers."""

_IN_PYTHON = (
    "numpy.polynomial",
    *("sklearn", "statsmodels", "xarray", "networkx"),
    *("scipy.signal", "scipy.interpolate"),
    "scipy._lib._array_api",  # SciPy's own names of NumPy's functions
    *("scipy._lib.array_api_extra", "scipy._external.array_api_extra"),  # the second since SciPy 1.18, as below
    *("scipy._lib.array_api_compat.common", "scipy._external.array_api_compat.common"),
    *("scipy._lib.array_api_compat._internal", "scipy._external.array_api_compat._internal"),
    *("scipy._lib.array_api_compat.numpy._aliases", "scipy._external.array_api_compat.numpy._aliases"),
)
"""Packages of Python code on arrays, with compiled code behind some of it. With a traced value in its hands theirs is
traced as the user's code is; without one it gets NumPy's own arrays, which compiled code takes, and which may be kept
(``leggauss(5)``)."""

GETS_NUMPYS_ARRAYS = _OURS | _BETWEEN | _HANDS_TO_COMPILED
NO_LINES_OF_THE_USERS = _OURS | _BETWEEN | _TAKES_NUMBERS | _WARNS
OPAQUE = _OURS | _OF_PYTHON | _LOGS

BUILT_ON_TOP = frozenset(["nn", "graph", "ode", "optimize", "hosts", "solvers"])
"""Parts of wengert that use its public API alone: they are traced as a user's code is. But an error in one is placed
at the user's line that called it, and of their functions nothing is watched; of a layer, what it holds is."""


def _is_among(packages: frozenset[str], module: str) -> bool:
    """Whether a module is in one of ``packages``, and is not built on top of wengert."""
    return module.partition(".")[0] in packages and not is_on_top(module)


def is_on_top(module: str) -> bool:
    """Whether a module is one of ours that are built on top."""
    top, _, rest = module.partition(".")
    return top == "wengert" and rest.partition(".")[0] in BUILT_ON_TOP


ALWAYS_LIBRARIES: set[str] = set()
"""Modules of which all code has been found to get NumPy's own arrays: code of C asks there first."""

# By the name of a module: a frame is asked at every array that is made.
_is_library: dict[Any, bool | tuple[str, ...]] = {}


def is_library(frame: types.FrameType) -> bool:
    """Whether a frame runs code that must get NumPy's own arrays."""
    name = frame.f_globals.get("__name__")
    known = _is_library.get(name)
    if known is None:
        known = _IN_PYTHON if _is_in_python(str(name)) else is_library_module(str(name))
        if len(_is_library) > 10_000:  # bounded: modules may be made up at run time
            _is_library.clear()
            ALWAYS_LIBRARIES.clear()
        _is_library[name] = known
        if known is True and type(name) is str and name != run.__module__:  # for the user
            ALWAYS_LIBRARIES.add(name)
    if known is _IN_PYTHON:
        return not _has_traced_in_hand(frame)
    return known is True and not is_run(frame)


def _is_in_python(module: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in _IN_PYTHON)


def _has_traced_in_hand(frame: types.FrameType | None) -> bool:
    """Whether a frame of ``_IN_PYTHON``, or one there that has called it, has a traced value, or a list with one."""
    while frame is not None and _is_in_python(str(frame.f_globals.get("__name__"))):
        if any(map(_is_in_hand, frame.f_locals.values())):
            return True
        frame = frame.f_back
    return False


def _is_in_hand(x: Any) -> bool:
    """Whether a local variable is a traced value, a list with one, or an object of such a package that holds one."""
    if type(x) in (list, tuple):
        return any(type(one) is hooks.Tracer for one in x)
    if type(x) is hooks.Tracer:
        return True
    return _is_in_python(module_of(type(x))) and any(type(one) is hooks.Tracer for one in values_of(x))


def values_of(x: Any) -> list[Any]:
    """Return the values that an object holds itself, in its ``__dict__`` or in slots."""
    slots = [name for cls in type(x).__mro__ for name in vars(cls).get("__slots__", ())]
    return [
        *getattr(x, "__dict__", {}).values(),
        *[held(x, name) for name in slots],
    ]  # whose class may be asked for others


def wants_memory(frame: types.FrameType) -> bool:
    """Whether a library's code asks NumPy for memory, and again as long as it gets anything else."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] in _WANTS_MEMORY


def is_library_module(name: str) -> bool:
    """Whether a module's code must get NumPy's own arrays."""
    return _is_among(GETS_NUMPYS_ARRAYS, name)


KNOWN_INTERNAL: dict[Any, bool] = {}
"""The answers of :func:`is_internal` by the name of a module: frames are asked at every step."""


def is_internal(frame: types.FrameType) -> bool:
    """Whether a frame's line is ours or NumPy's, so that the user's line is looked for among its callers."""
    name = frame.f_globals.get("__name__")
    known = KNOWN_INTERNAL.get(name)
    if known is None:
        known = str(name).partition(".")[0] in NO_LINES_OF_THE_USERS
        if len(KNOWN_INTERNAL) > 10_000:  # bounded: modules may be made up at run time
            KNOWN_INTERNAL.clear()
        KNOWN_INTERNAL[name] = known
    return known


@functools.lru_cache(maxsize=4096)
def is_opaque(module: str) -> bool:
    """Whether what lies inside of a module is its own affair: a compiled function does not watch it for changes."""
    return _is_among(OPAQUE, module)


_STDLIB = os.path.join(os.path.dirname(os.__file__), "")  # sysconfig would say the same, in a twentieth of our import
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def is_of_package(module: str, file: str) -> bool:
    """Whether a module is Python code of an installed package: of none of those that are trusted, nor of Python's."""
    is_python = file.endswith(".py") and any(folder in file for folder in _PACKAGES)
    is_trusted = module in _NOT_FOLLOWED or module.partition(".")[0] in _TRUSTED
    return is_python and not is_opaque(module) and not is_on_top(module) and not is_trusted


def is_installed(file: str) -> bool:
    """Whether a module's file was installed, or came with Python: it is not of the program that the user works on."""
    return file.startswith(_STDLIB) or any(folder in file for folder in _PACKAGES)


def is_ours(frame: types.FrameType) -> bool:
    return is_own_module(str(frame.f_globals.get("__name__")))


def module_of(cls: type) -> str:
    """The name of the module that a class is of; empty where it says none, as the functions that Cython before 3.2
    compiles: there ``__module__`` is what each of them has, found by a descriptor."""
    module: object = cls.__module__
    return module if isinstance(module, str) else ""


def is_own_module(name: str) -> bool:
    return name.partition(".")[0] == "wengert"


def is_of_library(frame: types.FrameType) -> bool:
    """Whether a frame's function is a library's, be it one whose arrays are traced or not."""
    return (is_library(frame) or is_internal(frame)) and not is_run(frame)


def _entry(frame: types.FrameType | None) -> types.FrameType | None:
    """The frame of the library's function that the user's code called and ``frame`` is part of."""
    outermost = None
    while frame is not None and is_of_library(frame):
        if not is_ours(frame):
            outermost = frame
        frame = frame.f_back
    return outermost


def handed_to_library(frame: types.FrameType) -> list[Any]:
    """Return the values in the hands of the library's function that the user's code called and ``frame`` is part of."""
    outermost = _entry(frame)
    local = [] if outermost is None else list(outermost.f_locals.values())
    return [*local, *itertools.chain.from_iterable(list(x.values()) for x in local if type(x) is dict)]


def is_called_for_library(frame: types.FrameType, name: str) -> bool:
    """Whether compiled code of a library's, which ``frame`` has called, calls a function ``name`` written in Python.

    This is as far as the instruction tells. Of functions of C it is known for certain: interception/native/calling.h.
    """
    if callee(place_of(frame)) == ("attribute", name):  # most often: np.ones
        return False
    found = called_object(frame)
    return found is not None and _is_compiled(found)


def is_called_by_code(frame: types.FrameType, function: Any) -> bool:
    """Whether the instruction that ``frame`` is at calls ``function``, or a partial of it, for certain. False where
    compiled code may call it, which takes what it gets for memory without a look: of what ``map`` calls, or what was
    taken from a table, nothing is certain."""
    found = called_object(frame)
    if isinstance(found, functools.partial):
        found = found.func
    return found is not None and found == function


_MADE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that was made at run time, as those are that are written in Python


def _is_compiled(found: Any) -> bool:
    """Whether something that is called is compiled code of a library's, and not Python's own, which may call it for the
    user: ``map(np.ones, lengths)``."""
    found = getattr(found, "__func__", found)
    if isinstance(found, types.FunctionType | functools.partial):
        return False
    if isinstance(found, type) and found.__flags__ & _MADE:
        return False
    module = getattr(found, "__module__", None) or getattr(getattr(found, "__objclass__", None), "__module__", None)
    return str(module or module_of(type(found))).partition(".")[0] not in _OF_PYTHON


def is_the_users(namespace: dict[str, Any]) -> bool:
    """Whether code of a module's namespace is the user's: no library's, whose own affair its values' classes are. What
    is built on top of wengert counts as the user's wherever it is installed, for its objects hold the user's code."""
    name = str(namespace.get("__name__"))
    return is_on_top(name) or (
        not is_installed(namespace.get("__file__") or "")
        and name not in sys.builtin_module_names
        and not is_library_module(name)
    )

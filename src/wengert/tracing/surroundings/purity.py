"""Whether what a function takes from libraries can be another thing at the next call.

A compiled function is traced once, and a number that Python or NumPy computed meanwhile, the ``np.sqrt(d)`` of a Python
number, say, is a constant of its program. That is right if nothing that the number was made of can change unseen:

* What the function reads of the *user's* code and data is looked at before every call: variables, attributes, items,
  the code of functions, methods and properties (:mod:`~wengert.tracing.surroundings.environment`). The walk follows
  every name that such code has, so what it cannot see, no code of the user's reads.
* What it reads of a *library* it reads by name as well: ``np.sqrt``, ``os.environ``, ``rng.normal``. Here is said, for
  every name of NumPy's, SciPy's and the standard library's, which of three it is:

  - **pure**: depends on its operands alone. A result of theirs from constants is a constant.
  - **changing**: the clock, files, the environment, random numbers, what Python knows of itself. Where the
    run comes to code that reads it, the function is run by Python at every call, and says why. Of the standard
    library, this is whatever is not known to be pure.
  - **unknown**, as compiled code of other packages. A NumPy value that appears while tracing may come from there, so
    the function is answered by itself at every call. Python's numbers of theirs are taken as they are. Python code of
    packages is followed: :mod:`~wengert.tracing.surroundings.entering`.

* Code that can get at things by other ways than by name (``__globals__``, ``f_back``, a name that is computed, of a
  library) makes everything unknown.

So what is missing here costs time. What must never happen is that something is called pure which is not.
"""

from __future__ import annotations

import enum
import functools
import random
import sys
import types
from collections import OrderedDict, defaultdict, deque
from typing import Any, NamedTuple

import numpy as np

from wengert.attributes import held

_IMMUTABLE = frozenset({int, float, complex, bool, str, bytes, type(None), type(Ellipsis), range})

PURE = ""
"""The verdict on what depends on its operands alone; one on what changes says what it reads. None: unknown."""
DRAWS = "draws random numbers"
"""The verdict on what draws, unless it is given another, from one of the generators that all share."""

# fmt: off
_PURE = (
    "_pytest.assertion.rewrite", "_pytest.assertion.util",  # what stands in the place of ``assert`` in tests
    "argparse.Namespace", "ast", "configparser", "pathlib", "tomllib",
    "__future__", "_collections_abc", "_operator", "abc", "array", "base64", "binascii", "bisect", "builtins",
    "calendar", "cmath", "collections",
    "colorsys", "contextlib", "copy", "copyreg", "dataclasses", "datetime", "difflib",
    "enum", "errno", "fnmatch", "fractions", "functools", "genericpath", "graphlib", "hashlib", "heapq", "html",
    "itertools", "json", "keyword", "logging", "math", "numbers", "numpy", "operator", "optree", "os.path", "posixpath",
    "ntpath", "pickle", "pprint", "re", "reprlib", "scipy", "statistics", "string", "struct", "textwrap",
    "threading.Lock", "threading.RLock", "threading.allocate_lock", "threading.lock", "traceback", "types",
    "typing", "unicodedata", "warnings", "wengert", "zlib",
    "threading.Condition", "threading.Semaphore", "sys.exc_info", "sys.intern", "sys.getsizeof", "os.fspath",
    "time.sleep", "time.struct_time", "random.Random", "threading.local", "threading._local", "decimal",
    "contextvars", "inspect.signature", "inspect.Parameter", "inspect.Signature", "inspect.isclass", "os.PathLike",
    "inspect.isfunction", "inspect.BoundArguments", "inspect._empty", "inspect._ParameterKind", "inspect.cleandoc",
    "inspect.getattr_static", "inspect.getfullargspec", "inspect.getmro", "inspect.isbuiltin", "inspect.ismethod",
    "inspect.isroutine", "inspect.isgeneratorfunction", "inspect.iscoroutinefunction", "inspect.unwrap",
    "importlib.metadata", "io.BytesIO", "io.StringIO", "io._IOBase", "io._BufferedIOBase", "io._TextIOBase",
    "inspect.ismodule", "token", "tokenize", "csv", "ipaddress", "urllib.parse",
    "packaging", "typing_extensions", "pyarrow._compute.FunctionRegistry", "pyarrow._compute.HashAggregateFunction",
    "pyarrow._compute.MetaFunction", "pyarrow._compute.ScalarAggregateFunction", "pyarrow._compute.ScalarFunction",
    "pyarrow._compute.VectorFunction", "pyarrow.lib._PandasAPIShim",
    "sys.float_info", "sys.int_info", "sys.hash_info", "sys.flags", "sys.version_info",
    "os.getenv",
    "sys.implementation", "sys.thread_info", "sys.stdout", "sys.stderr", "os._Environ", "os.getcwd", "sys.exit",
    "sys.getrecursionlimit", "locale.getlocale", "locale.localeconv", "numpy.geterr", "numpy.get_printoptions",
)
CHANGING_BUILTINS = {
    **dict.fromkeys(("__import__", "eval", "exec", "globals"), "can reach what the code does not name"),
    **dict.fromkeys(("hash", "id"), "differs from object to object"),
    **dict.fromkeys(("input", "open", "breakpoint"), "reads from outside of the program"),
}
_BY_NAME = {
    **{f"builtins.{name}": why for name, why in CHANGING_BUILTINS.items()},
    **dict.fromkeys(("datetime.now", "datetime.today", "datetime.utcnow"), "reads the clock"),
    **dict.fromkeys(("genericpath.exists", "genericpath.getatime", "genericpath.getctime", "genericpath.getmtime",
                     "genericpath.getsize", "genericpath.isdir", "genericpath.isfile", "genericpath.samefile",
                     "posixpath.abspath", "posixpath.expanduser", "posixpath.expandvars", "posixpath.ismount",
                     "posixpath.lexists", "posixpath.realpath", "posixpath.relpath", "posixpath.islink",
                     "ntpath.abspath", "ntpath.expanduser", "ntpath.expandvars", "ntpath.realpath", "ntpath.relpath"),
                    "asks the file system"),
    **dict.fromkeys(("contextlib.chdir", "logging.config", "logging.handlers"), "reads from outside of the program"),
    **dict.fromkeys(("hashlib.file_digest", "pickle.load", "pickle.loads", "json.load"), "reads a file"),
    **dict.fromkeys(("traceback.extract_stack", "traceback.format_stack", "traceback.walk_stack"), "reads the stack"),
    "sys.modules": "depends on what was imported",
    "numpy.DataSource": "reads a file", "numpy.fromfile": "reads a file", "numpy.fromregex": "reads a file",
    "numpy.genfromtxt": "reads a file", "numpy.load": "reads a file", "numpy.loadtxt": "reads a file",
    "numpy.memmap": "reads a file", "numpy.lib.format": "reads a file", "numpy.lib.npyio": "reads a file",
    "numpy.geterrcall": "is set outside of the function", "numpy.getbufsize": "is set outside of the function",
    "numpy.show_config": "asks the machine",
    "numpy.ctypeslib": "runs code that cannot be followed", "numpy.f2py": "runs code that cannot be followed",
    "scipy.io": "reads a file", "scipy.datasets": "reads a file", "scipy.sparse.load_npz": "reads a file",
    "scipy.LowLevelCallable": "runs code that cannot be followed",
    **dict.fromkeys(("pyarrow.CompressedInputStream", "pyarrow.MemoryMappedFile", "pyarrow.NativeFile",
                     "pyarrow.OSFile", "pyarrow.PythonFile", "pyarrow.csv", "pyarrow.dataset", "pyarrow.feather",
                     "pyarrow.flight", "pyarrow.fs", "pyarrow.input_stream", "pyarrow.ipc", "pyarrow.json",
                     "pyarrow.memory_map", "pyarrow.orc", "pyarrow.parquet"), "reads a file"),
    "scipy.special.errstate": PURE, "scipy.special.geterr": "is set outside of the function",
    **dict.fromkeys(("random", "numpy.random", "scipy.cluster.vq.kmeans", "scipy.cluster.vq.kmeans2",
                     "scipy.linalg.interpolative", "scipy.optimize.basinhopping",
                     "scipy.optimize.differential_evolution",
                     "scipy.optimize.dual_annealing", "scipy.sparse.rand", "scipy.sparse.random",
                     "scipy.sparse.random_array", "scipy.stats.Halton", "scipy.stats.LatinHypercube",
                     "scipy.stats.PoissonDisk", "scipy.stats.Sobol", "scipy.stats.bootstrap",
                     "scipy.stats.monte_carlo_test", "scipy.stats.permutation_test", "scipy.stats.power",
                     "scipy.stats.qmc", "scipy.stats.sampling"), DRAWS),
    **dict.fromkeys(("secrets", "uuid", "os.urandom"), "asks the system for random numbers"),
    "time": "reads the clock", "socket": "reads from a network",
    **dict.fromkeys(("gc", "inspect", "sys"), "depends on the state of Python"),
    "subprocess": "runs another program", "weakref": "may refer to an object that is gone",
    "locale": "is set outside of the function",
    "threading": "differs from thread to thread", "platform": "asks the machine",
    "signal": "is set outside of the function", "tempfile": "reads a file",
    "os": "asks the operating system", "io": "reads a file", "importlib": "imports what the code does not name",
}
SEEDED = frozenset({
    "default_rng", "RandomState", "SeedSequence", "Generator", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"
})
_BY_NAME |= {f"numpy.random.{name}": PURE for name in SEEDED}
"""These make generators of numpy.random: from a given seed, always the same one."""

DRAWING_METHODS = frozenset({"rvs", "resample", "samples"})
LOCAL_TIMES = frozenset({"astimezone", "timestamp"})
"""Methods that read the time zone of the process."""
_METHODS = {
    "scipy.stats": DRAWING_METHODS,
    "datetime": LOCAL_TIMES | {"now", "today", "utcnow", "fromtimestamp"},
    "statistics": DRAWING_METHODS,
    "logging": frozenset({"getEffectiveLevel", "isEnabledFor", "hasHandlers"}),
    "pickle": frozenset({"Unpickler"}),
    "threading": frozenset({"locked"}),
    "configparser": frozenset({"read", "read_file"}),
    "pathlib": frozenset({
        "absolute", "cwd", "exists", "expanduser", "glob", "group", "home", "is_dir", "is_file", "is_mount",
        "is_symlink", "iterdir", "lstat", "open", "owner", "read_bytes", "read_text", "readlink", "resolve", "rglob",
        "samefile", "stat", "walk",
    }),
}
"""Methods, by the library that their objects are of, that read what their objects do not hold."""

_LOOKS_BEHIND = frozenset({
    "__builtins__", "__closure__", "__code__", "__func__", "__globals__", "__import__", "__kwdefaults__",
    "__loader__", "__reduce__", "__reduce_ex__", "__self__", "__spec__", "__subclasses__", "__subclasshook__",
    "__weakref__", "ag_frame", "cr_frame", "f_back", "f_builtins", "f_globals", "f_locals", "gi_frame", "tb_frame",
})
"""Attributes by which code gets at what it does not name."""
# fmt: on


class Origin(NamedTuple):
    """Where something of a library's is from: the dotted name of its module, and its own there."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module


_OTHER_NAMES = {
    "posix": "os",
    "nt": "os",
    "_thread": "threading",
    "_io": "io",
    "_sre": "re",
    "_threading_local": "threading",
}
_WALKED = frozenset(
    {
        *(list, tuple, dict, set, frozenset, deque, defaultdict, OrderedDict, slice),
        *(types.MethodType, types.MappingProxyType, types.GenericAlias, types.UnionType, types.SimpleNamespace),
        *(property, staticmethod, classmethod, functools.partial, functools.partialmethod, functools.cached_property),
        *(bytearray, memoryview, functools.singledispatchmethod, types.CodeType, object, super, types.CellType),
        *(
            functools._lru_cache_wrapper,
            types.MemberDescriptorType,
            types.GetSetDescriptorType,
            types.MethodWrapperType,
            types.TracebackType,
        ),
    }
)
"""Types whose objects consist of nothing but their parts, all of which are looked at."""


_OURS = ("__wengert_transparent__", "__wengert_function__", "__wengert_cache__")
"""Marks of classes of ours: what a jit and the other transforms make, and what these remember."""


def is_immutable(value: Any) -> bool:
    """Whether it is a value that cannot change."""
    cls = type(value)
    if cls is tuple:
        return all(map(is_immutable, value))
    return cls in _IMMUTABLE or (isinstance(value, np.generic) and value.dtype.kind in "fiubc")


def is_walked(value: Any) -> bool:
    """Whether no number comes in through ``value`` but by its parts, all of which are looked at apart."""
    cls = type(value)
    if cls in _WALKED or isinstance(value, types.ModuleType) or is_immutable(value):
        return True
    return cls is not types.FunctionType and cls is not np.ndarray and any(hasattr(cls, mark) for mark in _OURS)


@functools.lru_cache(maxsize=8192)
def verdict(origin: Origin) -> str | None:
    """Return PURE if what a library holds under this name depends on its operands alone, or what it reads otherwise, in
    words; None if nothing is known.

    A name without a verdict of its own has that of the nearest module or class around it. In the standard library, what
    has none there either counts as changing.
    """
    if str(origin) in _PURE_NAMES:
        return PURE
    dotted = ".".join(
        part for part in str(origin).split(".") if not part.startswith("_") or part in ("_Environ", "_local", "_pytest")
    )
    while dotted:
        found = _BY_NAME.get(dotted)
        if found is not None:
            return found
        if dotted in _PURE_NAMES:
            return PURE
        dotted = dotted.rpartition(".")[0]
    top = origin.module.partition(".")[0]
    if top in _PURE_NAMES:
        return PURE
    return "is not known to be the same at the next call" if top in sys.stdlib_module_names else None


def is_changing_by_name(origin: Origin) -> bool:
    """Whether it is called changing by its own name, whatever it is: ``sys.modules``."""
    return bool(_BY_NAME.get(str(origin)))


def is_listed(origin: Origin | None) -> bool:
    """Whether it is called pure by its own name, whatever it is: ``sys.stdout``."""
    return origin is not None and str(origin) in _PURE_NAMES


_PURE_NAMES = frozenset(_PURE)


def origin_of(value: Any) -> Origin:
    """Where a value of a library's is from, or the class of an object."""
    if isinstance(value, types.ModuleType):
        return Origin(_public(value.__name__), "")
    if isinstance(value, types.FunctionType):
        home = str(value.__globals__.get("__name__"))
        public = str(value.__module__)  # NumPy says ``numpy`` of what stands in numpy.lib._npyio_impl
        is_there = public.partition(".")[0] == home.partition(".")[0]
        return Origin(_public(public if is_there else home), value.__qualname__)
    if isinstance(value, type):
        return Origin(_public(value.__module__), value.__qualname__)
    if isinstance(value, np.ufunc):
        return Origin("numpy" if vars(np).get(value.__name__) is value else _home_of(value), value.__name__)
    owner = held(value, "__self__")
    name = held(value, "__name__")
    if isinstance(owner, types.ModuleType) and isinstance(name, str):
        return Origin(_public(owner.__name__), name)
    if isinstance(owner, type) and name == "__new__":
        return origin_of(owner)
    if owner is not None and isinstance(name, str):
        return Origin(*origin_of(owner if isinstance(owner, type) else type(owner))[:1], name)
    module = held(value, "__module__")
    if callable(value) and isinstance(name, str) and isinstance(module, str):  # a function that Cython made
        return Origin(_public(module), name)
    return origin_of(type(value))


def _home_of(ufunc: np.ufunc) -> str:
    special = sys.modules.get("scipy.special")
    return "scipy.special" if getattr(special, ufunc.__name__, None) is ufunc else "?"


def _public(module: str) -> str:
    """The public name of a module of the standard library that is written in C: ``posix`` is ``os``."""
    if module in _OTHER_NAMES:
        return _OTHER_NAMES[module]
    public = module.lstrip("_")
    return public if public in sys.stdlib_module_names and module != "__future__" else module


def verdict_on(value: Any) -> str | None:
    """Return the verdict on something that is no code of the user's: a library's function, class, or object."""
    cls = type(value)
    if is_walked(value):
        return PURE
    if isinstance(value, np.ndarray):
        return PURE if cls is np.ndarray else "is no plain array" if cls is not np.memmap else "reads a file"
    if isinstance(value, np.dtype):
        return PURE if value.metadata is None else None
    if hasattr(cls, "__wengert_parts__") or isinstance(value, enum.Enum):
        return PURE
    if isinstance(value, type) and value.__module__ == "builtins" and value.__flags__ & _IS_MADE_BY_CODE:
        return None  # of code that says not where it is from
    if isinstance(value, np.ufunc) and any("O" not in types for types in value.types):
        return PURE  # of numbers, in compiled code, whoever made it
    origin = origin_of(value)
    if origin.module.startswith("numpy.random"):
        is_maker = origin.name in SEEDED or isinstance(value, np.random.Generator | np.random.BitGenerator)
        is_maker = is_maker or isinstance(value, np.random.RandomState | np.random.SeedSequence)
        return PURE if is_maker else verdict(origin)  # of a generator that is there, the state is watched
    if isinstance(value, random.Random) and not isinstance(value, random.SystemRandom):
        return PURE
    if origin.module.partition(".")[0] in _COMPILED and (callable(value) or hasattr(cls, "__get__")):
        return PURE
    return verdict(origin)


_COMPILED = frozenset({"astropy", "erfa", "pandas", "pyarrow", "sklearn", "statsmodels"})
"""Packages with compiled code that depends on its operands alone; their Python code is followed. Not so their objects,
of which nobody knows what they hold."""

_IS_MADE_BY_CODE = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def reading_methods(origin: Origin) -> frozenset[str]:
    """The methods of what is from there that read what their object does not hold."""
    module = origin.module
    while module:
        if module in _METHODS:
            return _METHODS[module]
        module = module.rpartition(".")[0]
    return frozenset()


def looks_behind(named: tuple[str, ...]) -> str:
    """An attribute by which code gets at what it does not name; empty if there is none."""
    if _LOOKS_BEHIND.isdisjoint(named):
        return ""
    return next(name for name in named if name in _LOOKS_BEHIND)

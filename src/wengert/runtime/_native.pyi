"""The C++ runtime: programs as lists of steps over numbered memory, and the fast path of a call.

Memory *bases* are numbered: 0 is the arena of a run, then come inputs, captures, constants and outputs. A pointer is a
base and an offset in bytes. A kernel is the address of ``int32_t (char *const *pointers, const int64_t *sizes,
int64_t begin, int64_t end)``; it returns 0, or a status.
"""

from collections.abc import Callable, Sequence
from types import CellType, MemberDescriptorType
from typing import Any, Literal, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
DType: TypeAlias = np.dtype[Any]
Shape: TypeAlias = Sequence[int]
Pointer: TypeAlias = tuple[int, int]

View: TypeAlias = tuple[Pointer, DType, Shape, Shape | None, bool]
"""What Python is shown: pointer, dtype, shape, strides (None: of C order), and whether it gets a copy of its own.

A view is read-only. It may be kept: then it stays valid and constant (the run goes on in another arena).
"""

Result: TypeAlias = tuple[Pointer, DType, Shape, Shape | None]
"""Where a value that Python returns is copied to; shape and dtype are checked, the byte order is converted."""

Check: TypeAlias = tuple[int, Pointer, DType, Shape, Shape | None, int]
"""The floats that are looked at behind a step: its number, pointer, dtype, shape, strides (None: of C order)."""

Failure: TypeAlias = tuple[Callable[..., Any], Sequence[View], Sequence[Result]]
"""What happens when a kernel fails: ``function(*views)`` computes the results instead; where there are none,
``function(status, *views)`` raises the error."""

Step: TypeAlias = (
    tuple[Literal["kernel"], int, Sequence[Pointer], Sequence[int], int, int, Failure | None]
    | tuple[Literal["guard"], Pointer, int, bytes, int]
    | tuple[Literal["callback", "writing"], Callable[..., Any], Sequence[View], Sequence[Result]]
    | tuple[Literal["while"], Sequence[Step], Pointer, Sequence[Step]]
    | tuple[Literal["switch"], Pointer, Sequence[Sequence[Step]]]
)
"""One step of a program.

* ``("kernel", address, pointers, sizes, extent, grain, on_failure)``: runs over [0, extent). If extent >= 2 |grain|
  and the grain is not 0, it is run in parts that begin and end at multiples of the grain, so that the call can be
  interrupted between them. Threads may share the parts; those of a negative grain are run in order, by one thread.
  If it returns a status, on_failure is called.
* ``("guard", pointer, nbytes, expected, position)``: the run stops if the bytes differ.
* ``("callback", function, ins, outs)``: one result, or as many as ``outs`` in a tuple or list.
* ``("writing", function, ins, outs)``: the function is given arrays to write its results into, behind its operands. It
  does not keep them: they have no owner.
* ``("while", condition, flag, body)``: the steps of condition; then, if the byte at flag is not 0, body, and again.
* ``("switch", index, branches)``: the branch that the int64 at index says, clipped to those there are.
"""

Structure: TypeAlias = (
    int
    | tuple[Literal["tuple", "list"], Sequence[Structure]]
    | tuple[Literal["dict"], Sequence[tuple[Any, Structure]]]
    | tuple[Literal["named"], type[tuple[Any, ...]], Sequence[Structure]]
    | tuple[Literal["none"]]
)
"""A tree of exact builtin containers; an int is the number of a leaf (of an argument, or of an output)."""

Leaf: TypeAlias = (
    tuple[Literal["array"], DType, Shape, Shape | None]
    | tuple[Literal["scalar"], DType]
    | tuple[Literal["float"]]
    | tuple[Literal["int"]]
    | tuple[Literal["complex"]]
    | tuple[Literal["same"], Any]
)
"""Which values fit: an exact ndarray (strides None: any if ndim <= 1, else C order; given: exactly these, and not of C
order), a NumPy scalar, a Python number of exactly that type (an int within int64), or one object."""

Place: TypeAlias = (
    tuple[Literal["cell"], CellType, Any]
    | tuple[Literal["kind", "__dict__"], Any, Any]
    | tuple[Literal["member"], Any, MemberDescriptorType]
    | tuple[Literal["member"], Any, MemberDescriptorType, Any]
    | tuple[Literal["code", "defaults", "kwdefaults"], Callable[..., Any], Any]
    | tuple[Literal["class"], type, tuple[type, tuple[type, ...], str, str]]
    | tuple[Literal["list"], list[Any], tuple[Any, ...]]
    | tuple[Literal["set"], set[Any], frozenset[Any]]
    | tuple[Literal["form"], Array, DType, Shape]
    | tuple[Literal["readonly"], Array, Any]
    | tuple[Literal["content"], Array, bytes]
    | tuple[Literal["counted"], Callable[[], int], Callable[[], Any], Any]
    | tuple[Literal["call"], Callable[[], Any], Any]
    | tuple[Literal["item"], dict[Any, Any] | type, Any, Any]
    | tuple[Literal["dict"], dict[Any, Any], tuple[Any, ...], tuple[Any, ...]]
    | tuple[Literal["keys"], dict[Any, Any] | type, tuple[Any, ...]]
    | tuple[Literal["absent"], dict[Any, Any], tuple[Any, ...]]
)
"""Where to look again before a run, and what must be there; of numbers and texts, what equals it. At every call: the
content of a cell; the class of an object and its ``__dict__``; what a descriptor of a slot reads of one (of three
items: nothing); the code and texts of a function, its defaults; the class, bases and names of a class; the items of a
list, the members of a set; the form of an array, its bytes, that it is not writeable; a call's result, that of the
second call where the first gave another number. After a change of the dict alone, which is a class's where a class is
given: an item; all items, or all keys; that there are no such keys."""

class Executable:
    """A program's code; immutable, and safe to run from several threads at once."""

    def __init__(
        self,
        *,
        arena_bytes: int,
        inputs: Sequence[tuple[DType, Shape, Shape | None]],
        captures: Sequence[Array],
        constants: Sequence[Array],
        outputs: Sequence[tuple[DType, Shape] | tuple[DType, Shape, bool]],
        steps: Sequence[Step],
        is_long: bool,
        keeps_arena: bool = True,
        code: Any = None,
        donated: Sequence[tuple[int, int]] = (),
        commits_at: int = -1,
    ) -> None:
        """An output is (dtype, shape), and whether it is zeros when a run begins. ``keeps_arena``: between runs, even
        a large one. ``code``: what keeps the kernels' machine code in memory, kept as long as this is. ``donated``:
        pairs (output, input); where the input of a run is an array in C order that may be written, that output is this
        very array. From step ``commits_at`` on a run is not interrupted."""

    def run(
        self,
        inputs: Sequence[Any],
        captures: Sequence[Array] | None = None,
        out: Sequence[Array | None] | None = None,
    ) -> list[Any]:
        """The outputs: fresh arrays (NumPy scalars for shape ``()``), or those of ``out``, which may share no memory
        with what is read. Raises TypeError or ValueError for operands that do not fit, before anything runs."""

    owner: Any
    """A callable that gives the Program whose code this is, or None. Its ``_make_checks()`` is called when a run looks
    for NaNs first, and ``_found(reads, check, mode)`` when one is found, which raises or lets the run go on."""

    def look_at(self, checks: Sequence[Check], /) -> None:
        """Set where runs look for NaNs, in the order of the steps. Only the first call counts."""

    @property
    def address(self) -> int:
        """What the kernel "scan" is given whose body this is: constants, carries and slices in, carries and slices out,
        and kernels alone."""

    def bind(
        self,
        inputs: Sequence[Any],
        captures: Sequence[Array] | None = None,
        out: Sequence[Array] | None = None,
        result: Any = None,
    ) -> Bound:
        """The program bound to its arrays, each read and written where it lies."""

    def start_timing(self) -> None:
        """From now on the steps of some runs are timed, so few that runs take at most a few percent longer. Times of
        before are forgotten. Raises RuntimeError if they are timed already."""

    def stop_timing(self) -> None:
        """No more runs are timed; the times stay."""

    def times(self) -> tuple[int, bytes, bytes] | None:
        """How many runs there were while steps were timed; for each step, and at the end for whole runs, 64-bit
        numbers: how many of its calls were timed, the ticks of these, of the shortest, how many are kept, and room for
        64 of these; events of the first runs that were timed, as numbers: begin, end, step, thread. None if it was
        never timed. The first two runs are left out once there are more."""

    @property
    def n_steps(self) -> int:
        """How many steps there are, those in blocks included; each comes behind those in its own blocks."""

    @property
    def arena_bytes(self) -> int: ...
    @property
    def is_long(self) -> bool: ...
    @property
    def runs(self) -> int: ...
    @property
    def captures(self) -> list[Array]: ...
    @property
    def constants(self) -> list[Array]: ...

class Bound:
    """Made by :meth:`Executable.bind`. A call runs the program and returns ``result``."""

    def __call__(self) -> Any: ...
    @property
    def outputs(self) -> tuple[Array, ...]: ...
    @property
    def executable(self) -> Executable: ...

class Entry:
    """For which arguments and in which surroundings an executable is the function. Immutable."""

    def __init__(
        self,
        structure: Structure,
        leaves: Sequence[Leaf],
        places: Sequence[Place],
        executable: Executable,
        input_leaves: Sequence[int],
        result: Structure | Callable[[list[Any]], Any],
        token: Any,
        keywords: tuple[str, ...] = (),
        written: Sequence[int] = (),
    ) -> None:
        """``structure`` is of the positional arguments, and then of those that are given by name, in that order.

        ``written`` are inputs that must not share memory with the others and with the captured arrays.
        """

    @property
    def calls(self) -> int: ...
    @property
    def token(self) -> Any: ...
    @property
    def executable(self) -> Executable: ...
    @property
    def looks(self) -> tuple[int, int, int]:
        """How many places are compared at every call, how many after a change alone, and how often those were."""

class Dispatcher:
    """A callable: the first entry that fits is run; what fits none is ``self._slow(args, kwargs)``, and a guard miss
    is ``self._missed(token, position, bytes, args, kwargs)``. Both are the subclass's."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any: ...
    def _install(self, entry: Entry, /) -> None:
        """Try this entry first; the four that were installed last are kept."""

    def _forget(self) -> None: ...
    _finds_nans: bool
    """Whether every call looks for NaNs and infinities."""
    @property
    def _entries(self) -> tuple[Entry, ...]: ...
    @property
    def calls(self) -> int: ...

def now() -> tuple[int, int, int]:
    """The clock of :meth:`Executable.times`: its ticks, and the nanoseconds of a monotonic clock at that moment."""

def setup(*, guard_miss: Callable[[int, bytes], BaseException]) -> None:
    """Set what makes the exception of a guard miss."""

def n_watched_dicts() -> int:
    """How many dicts CPython tells the programs of; before Python 3.12 none, since dicts are numbered."""

def set_threads(n: int) -> None:
    """How many threads share a large step. Results do not depend on it."""

def kept_bytes() -> int:
    """How many bytes are kept for large results, of such that were dropped; at most 256 MiB."""

class Finding:
    """Whether runs look for NaNs: 0 not at all, 1 for NaNs, 2 for infinities too."""

    here: int
    """In this thread; -1: as everywhere."""
    everywhere: int
    """In threads that have not said anything."""
    @property
    def mode(self) -> int:
        """How this thread looks."""

finding: Finding

def get_threads() -> int:
    """How many threads share a large step; at first one a processor."""

def set_routines(addresses: dict[str, int]) -> None:
    """Set the routines that the kernels of :func:`kernel_address` call: dgemm, dgemv, dtrsm, dpotrf, dgetrf and the
    same with s, and dsyevd. They take the arguments of Fortran's, as those of scipy.linalg.cython_blas and
    cython_lapack do."""

def ufunc_loop(ufunc: np.ufunc | str, number: int) -> tuple[int, int] | None:
    """The addresses of the loop for ``ufunc.types[number]`` and of its data, for the kernels "elements" and "stacks".
    Of a name those of the runtime's own loop, in the variant ``number``. None if there is no such loop."""

def kernel_address(name: str) -> int:
    """The address of a kernel, or KeyError. Names end in ``_f64`` or ``_f32``; matrices are in C order, a batch of them
    lies one after the other, and extents run over the batch.

    ======== ===================== =============================================================================
    name     pointers              sizes
    ======== ===================== =============================================================================
    gemm     a, b, c               m, n, k, a_row_stride, a_column_stride, b_row_stride, b_column_stride,
                                   c_row_stride, batch, a_batch_stride, b_batch_stride, c_batch_stride,
                                   accumulate, block_rows, block_columns
    potrf    a, lower              n, batch
    getrf    a, factors, pivots    n, batch; factors lie by columns, and pivots count rows from 1
    getrs    factors, pivots, b, x n, k, batch, transpose; b and x are [n, k]
    getri    factors, pivots, x    n, batch
    slogdet  factors, pivots,      n, batch
             sign, log
    syevd    a, w, v, work         n, batch, lower; reads one triangle of a; float64 alone
    jacobi   a, w, v               n, batch, lower; n is at most 16
    det      a, det, work          n, batch
    cofactor a, c, work            n, batch; c is the derivative of det
    trsm     a, b, x               n, k, batch, lower, transpose; reads one triangle of a; x may be b
    ======== ===================== =============================================================================

    gemm is ``c = a @ b``, or ``c += a @ b`` to accumulate. Strides count elements; of a and of b one is 1 (the other
    one may be padded), the elements of a row of c are contiguous. Its extent is batch * ceil(m / block_rows) *
    ceil(n / block_columns) blocks of c (0: all rows, all columns); the bits depend on their size, not on who computes
    which. All the others have extent batch. Those with a work area (:func:`work_bytes` bytes, aligned to 8)
    cannot be shared by threads: give them a negative grain, or 0.

    The status is > 0 where a matrix is singular (getrs, getri, trsm), not positive definite (potrf) or not finite
    (jacobi), or where eigenvalues did not converge; -1 where a routine
    was not set, -2 for strides that BLAS does not take, -3 for lengths beyond its int, -4 (cofactor) for a matrix of
    more than 3 rows whose inverse is not accurate enough.
    """

def reduce_huge_address() -> int:
    """The address of the routine that generated code calls for huge angles (:mod:`wengert.codegen.vecmath.angles`)."""

def loop_routine_address(name: str) -> int:
    """The address of a routine that generated loops call (:mod:`wengert.codegen.loops`)."""

def prepare_fourier(logarithm: int) -> bool:
    """Makes the tables for transforms of 2**logarithm numbers; False: there is no kernel for them."""

def for_c(executable: Executable, read_only: list[Array]) -> tuple[Any, int]:
    """Return ``(owner, address)``: the address is the ``data`` that the functions of :func:`c_function` are given, as
    long as the owner lives. A run ends with status 4 if one of the arrays ``read_only`` can be written by then."""

def c_function(name: str) -> int:
    """The address of a function that C code calls to run a program, or KeyError. They run in the calling thread alone,
    and need no GIL; any number of threads may call at once.

    ========== ========================================================= ==========================
    name       function                                                  the program takes
    ========== ========================================================= ==========================
    call       int32_t (void *data, char *const *ins, char *const *outs) any arrays, in C order
    of_number  double (double, void *data)                               float64[]
    of_numbers double (int n, double *, void *data)                      n of float64[]
    of_array   double (int n, double *, void *data)                      float64[n]
    of_window  int (double *, npy_intp n, double *, void *data)          float64[n]
    ========== ========================================================= ==========================

    The status is 0, or says why there are no results: 1 a guard did not hold, 2 a kernel refused its operands, 3 there
    is no memory, 4 an array of ``read_only`` can be written, 5 a captured array has changed its shape or dtype, 6 a
    step calls Python. The others, whose programs give one float64[], then set a Python error, for which they take the
    GIL, and give NaN; of_window returns 0.
    """

def work_bytes(name: str, n: int) -> int:
    """How many bytes the work area of a kernel takes, for matrices [n, n]."""

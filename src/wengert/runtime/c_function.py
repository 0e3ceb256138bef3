"""A program as functions of C, which code outside of Python calls without the GIL: :meth:`Program.c_function`.

A program of kernels alone needs no Python: the C code gives it the addresses of arguments and results, and any number
of threads may run it at once. What would need Python ends a run with a status, which :data:`FAILURES` explains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from wengert.errors import StructureError, message
from wengert.runtime import _native, machine_code

if TYPE_CHECKING:
    from wengert.runtime.program import Program

FAILURES = {
    1: "a branch goes another way than with the arguments that it was compiled for; np.where or wg.cond takes both",
    2: "a step refused its operands, such as a singular matrix",
    3: "there is no memory for a run",
    4: "an array that was read-only when it was compiled can be written now",
    5: "a captured array has another shape or dtype than when it was compiled",
    6: "a step calls Python",
}


class CFunction(NamedTuple):
    """The addresses by which C code runs a program.

    ``call`` is ``int32_t (void *data, char *const *inputs, char *const *outputs)``: it is given ``data``, and the
    addresses of the arrays of the program's arguments and results, in their order. These are in C order, of exactly the
    program's shapes and dtypes, and results share no memory. It returns 0, or a number of :data:`FAILURES`.

    The others are what SciPy's ``LowLevelCallable`` takes, for float64: ``of_number`` is ``double (double, void
    *data)``, of a program of one number; ``of_numbers`` is ``double (int, double *, void *data)``, of one of several;
    ``of_array`` is the same, of one of a vector, and so is ``of_window``, ``int (double *, intptr_t, double *, void
    *data)``. Where a run fails they set a Python error, for which they take the GIL, and give NaN.
    """

    program: Program
    """The program, whose ``tape`` says what it takes and returns."""
    owner: Any
    """The object that keeps ``data`` valid: C code must not call after it has gone."""
    data: int
    call: int
    of_number: int
    of_numbers: int
    of_array: int
    of_window: int


def c_function(program: Program, read_only: list[Any]) -> CFunction:
    """Return how C code calls ``program``, or raise StructureError if a run of it needs Python."""
    name = program.tape.name
    if program.executable is None:
        why = machine_code.why_none()
        raise StructureError(
            message(f"{name}: NumPy runs this program, without a C function: {why}", tries=[machine_code.remedy()])
        )
    called = next((kernel for kernel in program.kernels if kernel.kind == "callback"), None)
    if called is not None:
        raise StructureError(
            message(
                f"{name}: its step {called.name} calls Python, so it cannot run without: {called.why}",
                tries=["program.kernels, the steps and why each of them is a callback"],
            )
        )
    owner, data = _native.for_c(program.executable, read_only)
    names = ("call", "of_number", "of_numbers", "of_array", "of_window")
    return CFunction(program, owner, data, *[_native.c_function(name) for name in names])

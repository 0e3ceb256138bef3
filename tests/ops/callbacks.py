"""Which ops call Python back in compiled programs: in the cases of the tables of tests, and in their pullbacks.

Programs are lowered and not compiled, so that all ops take seconds. Run as a module, it prints what it finds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.ops import linalg_cases, special_cases
from tests.ops.cases import CASES
from tests.ops.check_op import Case, active_inputs, cast, dtypes_of, inexact_outputs, tape_of
from wengert import passes
from wengert.ad.reverse import vjp
from wengert.codegen.calls import CallbackCall
from wengert.codegen.lowered import lowered_tape
from wengert.codegen.target import target
from wengert.tape import Tape

ALL = (*CASES, *special_cases.CASES, *linalg_cases.CASES)
DTYPES = "dfDF"


def called_back(tape: Tape) -> Iterator[tuple[str, str]]:
    """The ops that a program of ``tape`` calls back, in bodies too, and for which dtypes of operands."""
    found = [lowered_tape(passes.run(tape), target())]
    while found:
        one = found.pop()
        found += one.bodies
        for call in one.calls:
            if isinstance(call, CallbackCall):
                name = call.instr.op.name if call.instr is not None else call.name
                yield name, "complex" if any(p.aval.dtype.kind == "c" for p in (*call.ins, *call.outs)) else "real"


def of_case(case: Case) -> Iterator[tuple[str, str]]:
    for code in dtypes_of(case):
        if code not in DTYPES:
            continue
        xs = [cast(x, code, case) for x in case.draw(case.rng())]
        tape, _, number = tape_of(case, xs)
        yield from called_back(tape)
        wrt, outputs = active_inputs(case, tape, number), inexact_outputs(tape)
        if not wrt or not outputs or (case.name in REAL_DERIVATIVES and code in "DF"):
            continue
        yield from called_back(vjp(tape, wrt, outputs))


REAL_DERIVATIVES = frozenset(["psi", "riemann_zeta"])
"""Functions of which the complex derivative is not SciPy's to compute, and is refused."""


def every_callback() -> dict[str, set[str]]:
    """The ops that are called back, each with "real", "complex" or both."""
    found: dict[str, set[str]] = defaultdict(set)
    for case in ALL:
        for name, kind in of_case(case):
            found[name].add(kind)
    return found


if __name__ == "__main__":
    for name, kinds in sorted(every_callback().items()):
        print(f"{name:32} {' '.join(sorted(kinds))}")

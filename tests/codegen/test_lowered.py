"""A lowered program is data: it goes to another process as bytes, and is made for processors that are not here."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

import wengert as wg
from wengert.codegen import compiler
from wengert.codegen.bodies import parts_of
from wengert.codegen.lower import text_of
from wengert.codegen.lowered import Lowered, lowered_tape
from wengert.codegen.target import AARCH64, level, target

RNG = np.random.default_rng(0)
W, X = RNG.normal(size=(30, 30)) / 10, RNG.normal(size=(4, 30))


def of_kernels(w: Any, x: Any) -> Any:
    """Loops, a contraction, a gather, a sort, a solve, constants: kernels, routines and literals."""
    y = np.tanh(w @ x[0]) * 0.3 + np.cumsum(x[1])
    return np.sum(np.linalg.solve(w + 10 * np.eye(30), y)) + np.sum(np.sort(x[2])[np.array([3, 1])] ** 2)


def of_a_loop_of_kernels(w: Any, x: Any) -> Any:
    """A body that is too large for one kernel: the program has bodies, which its calls name."""

    def step(c: Any, row: Any) -> Any:
        c = np.tanh(np.linalg.solve(w + 10 * np.eye(30), c + row))
        return c, np.sum(c)

    c, sums = wg.scan(step, np.ones(30), x)
    return np.sum(c) + np.sum(sums)


def of_any_count(w: Any, x: Any) -> Any:
    """A loop of any count, and a branch, with LAPACK in both."""
    y = wg.while_loop(lambda y: np.sum(y) > 1.0, lambda y: np.linalg.solve(w + 4 * np.eye(30), y), np.abs(x[0]))
    return wg.cond(np.sum(y) > 0, lambda y: np.sum(np.linalg.solve(w + 3 * np.eye(30), y)), lambda y: -np.sum(y), y)


def of_a_callback(w: Any, x: Any) -> Any:
    """Complex eigenvalues have no kernel: NumPy is called back."""
    return np.sum(np.abs(np.linalg.eigvals(w)) ** 2) + np.sum(x)


PROGRAMS = {f.__name__: f for f in (of_kernels, of_a_loop_of_kernels, of_any_count, of_a_callback)}

SCRIPT = """
    import pickle, sys
    from pathlib import Path
    import numpy as np
    from wengert.runtime.assemble import link
    from wengert.tracing import trace

    def none(*args, **kwargs):
        raise AssertionError("something is traced here")

    trace.Trace.__init__ = none
    lowered, arguments, expected = pickle.loads(Path(sys.argv[1]).read_bytes())
    linked = link(lowered)
    for value, wanted in zip(linked.executable.run(arguments), expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-12)
    print(len(linked.kernels))
"""


def tape_of(f: Any) -> Any:
    return wg.jit(wg.value_and_grad(f)).program(W, X).tape


@pytest.mark.sampled(3, "half a second each")
@pytest.mark.machine_code("native programs are lowered")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_in_a_process_that_has_traced_nothing(name: str, tmp_path: Path) -> None:
    f = PROGRAMS[name]
    lowered = lowered_tape(tape_of(f), target())
    assert bool(lowered.bodies) == (name in ("of_a_loop_of_kernels", "of_any_count"))
    expected = wg.value_and_grad(f)(W, X)
    path = tmp_path / "program"
    path.write_bytes(pickle.dumps((lowered, [W, X], expected)))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(SCRIPT), str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(lowered.calls)


def kernels_of(lowered: Lowered) -> list[Any]:
    own = [part.kernel for call in lowered.calls for part in parts_of(call) if not isinstance(part.kernel, str)]
    return [*own, *[kernel for body in lowered.bodies for kernel in kernels_of(body)]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_made_for_two_kinds_of_processor_in_one_process(name: str) -> None:
    """The object code of each is that of its machine, and holds every kernel."""
    tape = tape_of(PROGRAMS[name])
    for processor, machine in ((level("x86-64-v3"), 0x3E), (AARCH64, 0xB7)):
        kernels = kernels_of(lowered_tape(tape, processor))
        assert kernels or name == "of_a_callback"
        for k, kernel in enumerate(dict.fromkeys(kernels)):
            code = compiler.object_code(text_of(kernel, f"kernel_{k}", processor), processor)
            assert code[:4] == b"\x7fELF" and int.from_bytes(code[18:20], "little") == machine
            sections = llvm.ObjectFileRef.from_data(code).sections()
            assert sum(s.size() for s in sections if (s.name() or b"").startswith(b".text")) > 0
            assert f"kernel_{k}\0".encode() in code


def test_the_target_decides_what_a_product_becomes() -> None:
    """Not the machine that lowers it: with vectors of 64 bytes a nest multiplies what BLAS does with 16."""
    tape = wg.jit(lambda x, y: x @ y).program(np.ones((100, 300)), np.ones((300, 100))).tape
    wide, narrow = [lowered_tape(tape, level(name)).calls[0].kernel for name in ("x86-64-v4", "x86-64-v2")]
    assert isinstance(narrow, str) and not isinstance(wide, str)


ADDRESSES = """
    import wengert as wg, numpy as np
    from wengert.codegen.bodies import parts_of
    from wengert.codegen.lowered import lowered_tape
    from wengert.codegen.target import target

    def f(w, x):
        step = lambda c, row: (np.tanh(np.linalg.solve(w + 10 * np.eye(30), c + row)), np.sum(c))
        c, sums = wg.scan(step, np.ones(30), x)
        return np.sum(c) + np.sum(sums)

    def shown(lowered):
        own = [(p.kernel, p.sizes, p.extent, p.grain, p.bodies) for call in lowered.calls for p in parts_of(call)]
        return [own, *map(shown, lowered.bodies)]

    program = wg.jit(wg.grad(f)).program(np.eye(30), np.ones((4, 30)))
    print(shown(lowered_tape(program.tape, target())))
"""


def test_no_address_is_in_a_lowered_program() -> None:
    """Processes whose memory lies elsewhere lower a program to the same data."""
    call = [sys.executable, "-c", textwrap.dedent(ADDRESSES)]
    first, second = [subprocess.run(call, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert first == second and "scan" in first

"""Kernels that no other test has, and processes of their own that compile them."""

from __future__ import annotations

import ctypes
import itertools
import os
import subprocess
import sys
import textwrap

import numpy as np

from wengert.codegen import compiler
from wengert.codegen.compiler import Code
from wengert.codegen.nests.emit import emit
from wengert.codegen.nests.nest import Load, Nest, Operation, Store
from wengert.codegen.target import target

PROGRAM = """
    import numpy as np, wengert as wg
    from wengert.codegen.compiler import Counters
    x = np.linspace(0.1, 1, 100)
    y, g = wg.jit(wg.value_and_grad(lambda x: np.sum(np.sin(x) * np.exp(x)) / np.max(x)))(x)
    print(Counters.compiled, Counters.loaded, y.hex(), g.tobytes().hex())
"""


def python(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )


def run_program(script: str = PROGRAM) -> tuple[int, int, list[str]]:
    """How many kernels a process of its own compiled, how many it loaded, and the bits of its results."""
    done = python(script)
    assert done.returncode == 0, done.stderr
    compiled, loaded, *bits = done.stdout.split()
    return int(compiled), int(loaded), bits


_factors = itertools.count(1.123456789)


def new_nest() -> Nest:
    """A kernel that no other test has: y = x * (some number), 1.123456789 in the first of a process."""
    number = np.float64(next(_factors)).tobytes()
    steps = (Operation("multiply", (0, 1), "f8"),)
    return Nest((4,), 1, 0, (Load("f8", (1,)),), (("f8", number),), steps, (Store(2, "f8", (1,)),))


def factor(nest: Nest) -> float:
    return float(np.frombuffer(nest.literals[0][1])[0])


def code_of(nest: Nest) -> Code | str:
    key = compiler.key_of(nest, target())
    return compiler.machine_code({key: lambda name: emit(nest, name, target())}, target())[key]


def call(code: Code | str) -> list[float]:
    assert isinstance(code, Code), code
    x, y = np.arange(4.0), np.empty(4)
    pointers = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    assert run(code.address)(ctypes.addressof(pointers), None, 0, 4) == 0
    return y.tolist()

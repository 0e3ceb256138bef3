"""The processor that code is made for, which one switch names: its kernels, its key, and what is refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import wengert as wg
from wengert import config, errors
from wengert.codegen import compiler
from wengert.codegen import target as processors
from wengert.codegen.nests.emit import emit
from wengert.codegen.nests.nest import Load, Nest, Operation, Store
from wengert.codegen.target import AARCH64, LEVELS, host, lacking, level, target

DOUBLED = Nest((4,), 1, 0, (Load("f8", (1,)),), (), (Operation("add", (0, 0), "f8"),), (Store(1, "f8", (1,)),))

PROGRAM = """
    import numpy as np, wengert as wg
    from wengert.codegen import compiler
    from wengert.codegen.target import target

    texts, object_code = [], compiler.object_code
    compiler.object_code = lambda text, target: texts.append(text) or object_code(text, target)
    x = np.linspace(0.1, 1, 1001)
    y, g = wg.jit(wg.value_and_grad(lambda x: np.sum(np.exp(x) * x)))(x)
    np.testing.assert_allclose(g, np.exp(x) * (1 + x), rtol=1e-15)
    machine = compiler._machine(target())
    assembly = "".join(machine.emit_assembly(compiler.llvm.parse_assembly(text)) for text in texts)
    print(*target().features.split(","), target().cpu, target().vector_bytes)
    print(len(texts), *[f"{name}:{assembly.count(name)}" for name in ("%xmm", "%ymm", "%zmm", "vfmadd", "vscalef")])
    print("".join(texts))
"""


def python(name: str, script: str = PROGRAM) -> subprocess.CompletedProcess[str]:
    """A process that makes code for a target of that name, and keeps none of it."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "WENGERT_TARGET": name, "WENGERT_CACHE_DIR": ""},
    )


def is_run_here(name: str) -> bool:
    return not lacking(name)


# ------------------------------------------------------------------------------------------------------- levels


@pytest.mark.parametrize("name", LEVELS)
def test_a_process_makes_code_for_the_level_it_is_told(name: str) -> None:
    """And with none of what only the processor that it runs on has."""
    if not is_run_here(name):
        pytest.skip(f"this machine does not run code for {name}")
    done = python(name)
    assert done.returncode == 0, done.stderr
    processor, found, text = done.stdout.split("\n", 2)
    *features, cpu, vector_bytes = processor.split()
    assert cpu == name and features == [f"+{feature}" for feature in LEVELS[name][0]]
    bits = 8 * int(vector_bytes)
    assert bits == {"x86-64-v2": 128, "x86-64-v3": 256, "x86-64-v4": 512}[name]
    assert f'"prefer-vector-width"="{bits}"' in text and f"<{bits // 64} x double>" in text
    assert ("call" in text and "@llvm.fma" in text) == (name != "x86-64-v2")
    n_texts, *counts = found.split()
    assert int(n_texts) > 0
    used = {register for register, count in (c.split(":") for c in counts) if int(count)} - {"%xmm"}
    wide = {"x86-64-v2": set(), "x86-64-v3": {"%ymm", "vfmadd"}, "x86-64-v4": {"%ymm", "%zmm", "vfmadd", "vscalef"}}
    assert used == wide[name]


def arm_assembly(nest: Nest) -> str:
    """The assembly of a nest for 64-bit ARM, whatever this machine is."""
    text = emit(nest, "kernel", AARCH64)
    assert "llvm.x86" not in text
    return compiler._machine(AARCH64).emit_assembly(compiler.llvm.parse_assembly(text))


@pytest.mark.parametrize(("dtype", "lanes"), [("f8", "2d"), ("f4", "4s")])
def test_kernels_for_64_bit_arm_use_the_vectors_of_neon(dtype: str, lanes: str) -> None:
    """Loads, arithmetic and stores are of whole registers."""
    loads = tuple(Load(dtype, (1,)) for _ in range(3))
    steps = Operation("multiply", (0, 1), dtype), Operation("add", (3, 2), dtype)
    assembly = arm_assembly(Nest((1000,), 1, 0, loads, (), steps, (Store(4, dtype, (1,)),)))
    for instruction in ("fmul", "fadd"):
        assert re.search(rf"{instruction}\tv\d+\.{lanes}, v\d+\.{lanes}, v\d+\.{lanes}", assembly)
    assert re.search(r"ld[rp]\tq\d+", assembly) and re.search(r"st[rp]\tq\d+", assembly)


@pytest.mark.parametrize(
    "name", ["exp", "log", "log1p", "expm1", "sin", "cos", "tan", "arctan", "tanh", "erf", "sqrt", "rint"]
)
def test_functions_are_written_for_neon(name: str) -> None:
    """None names an instruction of x86-64, and each is made of vectors of two numbers."""
    step = Operation(name, (0,), "f8")
    assembly = arm_assembly(Nest((1000,), 1, 0, (Load("f8", (1,)),), (), (step,), (Store(1, "f8", (1,)),)))
    assert len(re.findall(r"v\d+\.2d", assembly)) > 0


def test_levels_are_data_that_asks_for_no_such_machine() -> None:
    """Each has what the one below has, and LLVM knows it."""
    widths = [level(name).vector_bytes for name in LEVELS]
    assert widths == [16, 32, 64]
    assert [level(name).has_fma for name in LEVELS] == [False, True, True]
    features = [set(level(name).features.split(",")) for name in LEVELS]
    assert features[0] < features[1] < features[2]


def test_without_the_switch_it_is_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "target", "")
    assert target() is host()


def test_it_takes_effect_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For code that is made from then on; each processor has keys of its own."""
    keys, x = set(), np.linspace(0.0, 1.0, 100)
    for name in ("", *filter(is_run_here, LEVELS)):
        monkeypatch.setattr(config, "target", name)
        keys.add(compiler.key_of(DOUBLED, target()))
        np.testing.assert_allclose(wg.jit(lambda x: np.exp(x) * 1.25)(x), np.exp(x) * 1.25, rtol=1e-15)
    assert len(keys) == 1 + sum(map(is_run_here, LEVELS))


def test_products_are_tiled_for_wide_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is emitted rather than left to BLAS depends on the processor that code is made for, not on this one; the
    same step of the same process is decided anew."""
    x, y = np.ones((40, 40)), np.ones((40, 40))
    for name in filter(is_run_here, LEVELS):
        monkeypatch.setattr(config, "target", name)
        kinds = [kernel.kind for kernel in wg.jit(lambda x, y: x @ y).program(x, y).kernels]
        assert kinds == ["BLAS" if name == "x86-64-v2" else "loops"]


# ------------------------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize("name", ["x86-64-v5", "haswell", "v3", "X86-64-V3", "7"])
def test_a_name_that_is_none_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "target", name)
    before = compiler.Counters.compiled
    with pytest.raises(errors.ConfigError) as caught:
        wg.jit(lambda x: np.exp(x) * 3.14159)(np.ones(3))
    lines = str(caught.value).splitlines()
    assert lines[0] == f"config.target is {name!r}, which names no processor"
    assert lines[1] == "  known  x86-64-v2, x86-64-v3, x86-64-v4"
    assert lines[-1].endswith('"", or no WENGERT_TARGET: this machine itself')
    assert compiler.Counters.compiled == before


def test_a_level_that_this_machine_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is compiled, by name, with what is missing and what would do; and afterwards all is well."""
    monkeypatch.setattr(processors, "host", lambda: level("x86-64-v3"))
    processors._runnable.cache_clear()
    monkeypatch.setattr(config, "target", "x86-64-v4")
    function = wg.jit(lambda x: np.exp(x) * 2.71828)
    before = compiler.Counters.compiled
    with pytest.raises(errors.ConfigError) as caught:
        function(np.ones(3))
    assert str(caught.value).splitlines() == [
        "config.target is 'x86-64-v4': this machine cannot run its code",
        "  lacks  avx512bw, avx512cd, avx512dq, avx512f, avx512vl",
        '  try    "x86-64-v3", the most that this machine runs',
        '  or     "", or no WENGERT_TARGET: this machine itself',
    ]
    assert compiler.Counters.compiled == before
    monkeypatch.undo()
    processors._runnable.cache_clear()
    np.testing.assert_allclose(function(np.ones(3)), np.exp(np.ones(3)) * 2.71828)


def test_another_kind_of_processor_runs_no_level(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = processors.Target("aarch64-unknown-linux-gnu", "neoverse-n1", "+neon,+lse", 16, True)
    monkeypatch.setattr(processors, "host", lambda: arm)
    processors._runnable.cache_clear()
    monkeypatch.setattr(config, "target", "x86-64-v2")
    with pytest.raises(errors.ConfigError, match="this machine cannot run its code") as caught:
        target()
    assert str(caught.value).splitlines()[2:] == ['  try    "", or no WENGERT_TARGET: this machine itself']


def test_a_variable_with_a_wrong_name_ends_in_a_sentence() -> None:
    """wengert is imported, and traces; what fails is the first thing that needs machine code."""
    script = """
        import numpy as np, wengert as wg
        print(len(wg.trace(np.sin)(1.0)))
        wg.jit(np.sin)(1.0)
    """
    done = python("x86-64-v9", script)
    assert done.returncode == 1 and done.stdout == "1\n"
    assert "wengert.errors.ConfigError: config.target is 'x86-64-v9', which names no processor" in done.stderr


def test_a_kernel_under_suspicion_is_tried_for_the_same_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that tries it is told: registers of 64 bytes would end one that makes code for less."""
    told: list[str] = []

    def run(*args: object, env: dict[str, str], **kwargs: object) -> subprocess.CompletedProcess[bytes]:
        told.append(env["WENGERT_TARGET"])
        return subprocess.CompletedProcess([], 0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(config, "target", "x86-64-v2")
    assert compiler.survives("no IR")
    assert told == ["x86-64-v2"]

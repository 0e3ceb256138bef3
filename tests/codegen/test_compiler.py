"""Kernels are compiled once per process, known by their keys; and what happens when LLVM refuses one."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.codegen.new_kernels import address_of, call, factor, new_nest, python
from wengert.codegen import cache, compiler, lower
from wengert.codegen.compiler import Counters
from wengert.codegen.nests.emit import emit
from wengert.codegen.nests.nest import Nest
from wengert.codegen.target import target

# ----------------------------------------------------------------------------------------------------------------- keys


def test_a_kernel_is_compiled_once(folder: Path) -> None:
    nest, before = new_nest(), Counters.compiled
    first = address_of(nest)
    assert address_of(nest) == first
    assert Counters.compiled == before + 1
    assert call(first) == [k * factor(nest) for k in range(4)]
    assert len(list(folder.glob("*.o"))) == 1
    assert not list(folder.glob("*.compiling")) and not list(folder.glob("*.tmp"))


def test_a_second_program_of_the_same_structure_compiles_nothing(folder: Path) -> None:
    """Other lengths beyond the short ones, other coefficients, another function of the same steps."""
    layer = lambda x: np.tanh(x * 1.7) + x * 0.31
    wg.jit(layer)(np.ones(5000))
    before = Counters.compiled
    for f in (lambda x: np.tanh(x * 1.3) + x * 0.77, layer):
        x = np.linspace(0, 1, 7001)
        np.testing.assert_allclose(wg.jit(f)(x), f(x), rtol=1e-14)
    assert Counters.compiled == before


def test_a_key_is_the_same_in_every_process(folder: Path) -> None:
    script = """
        from tests.codegen.new_kernels import new_nest
        from wengert.codegen.compiler import key_of
        print(key_of(new_nest()).hex())
    """
    keys = {python(script, PYTHONHASHSEED=seed, PYTHONPATH=os.getcwd()).stdout for seed in ("0", "1")}
    assert len(keys) == 1 and len(keys.pop().strip()) == 40


def test_other_processors_have_other_keys(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nest = new_nest()
    before = compiler.key_of(nest)
    monkeypatch.setattr(cache, "stamp", lambda: b"another processor")
    assert compiler.key_of(nest) != before
    assert compiler.key_of(new_nest()) != compiler.key_of(nest)


# --------------------------------------------------------------------------------------------------- kernels in trouble


def test_a_kernel_that_llvm_refuses_runs_as_numpy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a warning that names it; the rest of the program is native."""

    def spoiled(nest: Nest, name: str, target: Any) -> str:
        text = emit(nest, name, target)
        return text.replace("ret i32 0", "ret i32 %nothing") if any(s.function == "tanh" for s in nest.steps) else text

    monkeypatch.setattr(lower, "emit_nest", spoiled)
    f = lambda x: np.sum(np.tanh(np.reshape(x * 3.123, (2, 3)).T), axis=0)
    x = np.linspace(0, 1, 6)
    jitted = wg.jit(f)
    with pytest.warns(UserWarning, match="tanh.*could not be compiled"):
        y = jitted(x)
    np.testing.assert_allclose(y, f(x), rtol=1e-14)
    kinds = [k.kind for k in jitted.program(x).kernels]
    assert "callback" in kinds and "loops" in kinds
    assert all(k.why for k in jitted.program(x).kernels if k.kind == "callback")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(jitted(x), y)


def test_what_is_refused_is_refused_once(folder: Path) -> None:
    nest, before = new_nest(), Counters.compiled
    key = compiler.key_of(nest)
    texts: list[str] = []

    def broken(name: str) -> str:
        texts.append(name)
        return "this is no LLVM IR"

    for _ in range(2):
        why = compiler.addresses({key: broken})[key]
        assert isinstance(why, str) and why
    assert texts == [compiler.name_of(key)]
    assert Counters.compiled == before
    assert not list(folder.glob("*.o")) and not list(folder.glob("*.compiling"))


def test_a_kernel_beside_a_broken_one_is_compiled(folder: Path) -> None:
    good, bad = new_nest(), new_nest()
    keys = compiler.key_of(good), compiler.key_of(bad)
    found = compiler.addresses({keys[1]: lambda name: "no IR", keys[0]: lambda name: emit(good, name, target())})
    assert isinstance(found[keys[1]], str)
    assert call(found[keys[0]])[0] == 0.0


def test_survives_asks_a_process_of_its_own() -> None:
    nest = new_nest()
    assert compiler.survives(emit(nest, "k1", target()))
    assert compiler.survives("no IR at all")  # refused, but nobody died

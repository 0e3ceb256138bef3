"""Kernels are compiled once per process, known by their keys; and what happens when LLVM refuses one."""

from __future__ import annotations

import gc
import io
import itertools
import os
import sys
import threading
import warnings
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import special

import wengert as wg
from tests.codegen.new_kernels import call, code_of, factor, new_nest, python
from wengert.codegen import cache, compiler, lower
from wengert.codegen.compiler import Code, Counters
from wengert.codegen.nests.emit import emit
from wengert.codegen.nests.nest import Nest, Operation, Store
from wengert.codegen.target import target
from wengert.codegen.vecmath import called

# ----------------------------------------------------------------------------------------------------------------- keys


def test_a_kernel_is_compiled_once(folder: Path) -> None:
    nest, before = new_nest(), Counters.compiled
    first = code_of(nest)
    assert code_of(nest) == first
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
        from wengert.codegen.target import target
        print(key_of(new_nest(), target()).hex())
    """
    keys = {python(script, PYTHONHASHSEED=seed, PYTHONPATH=os.getcwd()).stdout for seed in ("0", "1")}
    assert len(keys) == 1 and len(keys.pop().strip()) == 40


def test_other_processors_have_other_keys(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nest = new_nest()
    before = compiler.key_of(nest, target())
    monkeypatch.setattr(cache, "stamp", lambda target: b"another processor")
    assert compiler.key_of(nest, target()) != before
    assert compiler.key_of(new_nest(), target()) != compiler.key_of(nest, target())


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
    key = compiler.key_of(nest, target())
    texts: list[str] = []

    def broken(name: str) -> str:
        texts.append(name)
        return "this is no LLVM IR"

    for _ in range(2):
        why = compiler.machine_code({key: broken}, target())[key]
        assert isinstance(why, str) and why
    assert texts == [compiler.name_of(key)]
    assert Counters.compiled == before
    assert not list(folder.glob("*.o")) and not list(folder.glob("*.compiling"))


def test_a_kernel_beside_a_broken_one_is_compiled(folder: Path) -> None:
    good, bad = new_nest(), new_nest()
    keys = compiler.key_of(good, target()), compiler.key_of(bad, target())
    found = compiler.machine_code(
        {keys[1]: lambda name: "no IR", keys[0]: lambda name: emit(good, name, target())}, target()
    )
    assert isinstance(found[keys[1]], str)
    assert call(found[keys[0]])[0] == 0.0


def test_survives_asks_a_process_of_its_own() -> None:
    nest = new_nest()
    assert compiler.survives(emit(nest, "k1", target()))
    assert compiler.survives("no IR at all")  # refused, but nobody died


# ------------------------------------------------------------------------------------------ functions that kernels call


def calling(*functions: str) -> Nest:
    """A kernel that no other test has, of functions one after the other: it calls them."""
    nest = new_nest()
    steps = [*nest.steps, *[Operation(function, (2 + k,), "f8") for k, function in enumerate(functions)]]
    return nest._replace(steps=tuple(steps), stores=(Store(1 + len(steps), "f8", (1,)),))


def made(nest: Nest) -> Code:
    code = code_of(nest)
    assert isinstance(code, Code), code
    return code


def test_a_callee_is_compiled_once_for_all_that_call_it(folder: Path) -> None:
    forget()
    before = Counters.compiled
    first = made(calling("erfcx", "cosm1"))
    assert Counters.compiled == before + 3
    second = made(calling("cosm1", "erfcx"))
    assert Counters.compiled == before + 4
    assert {*first.callees.values()} == {*second.callees.values()}
    nest = calling("erfcx", "cosm1")
    want = special.cosm1(special.erfcx(np.arange(4) * factor(nest)))
    np.testing.assert_allclose(call(code_of(nest)), want, rtol=1e-13)


def test_a_second_process_compiles_neither_kernels_nor_callees(folder: Path) -> None:
    forget()
    nest = calling("erfcx", "cosm1")
    code_of(nest)
    forget()
    before = Counters.compiled, Counters.loaded
    code_of(nest)
    assert (Counters.compiled, Counters.loaded) == (before[0], before[1] + 3)


@pytest.mark.parametrize("how", ["gone", "damaged"])
def test_a_callee_that_is_not_on_disk_is_compiled_anew(folder: Path, how: str) -> None:
    forget()
    nest = calling("erfcx", "cosm1")
    want = list(call(code_of(nest)))
    path = folder / f"{compiler.key_of(next(iter(made(nest).callees)), target()).hex()}.o"
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-9])
    forget()
    before = Counters.compiled, Counters.loaded
    assert list(call(code_of(nest))) == want
    assert (Counters.compiled, Counters.loaded) == (before[0] + 1, before[1] + 2)


def test_a_kernel_whose_callee_llvm_refuses_runs_as_numpy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    text_of = called.text_of
    broken = lambda symbol, *rest: "no IR" if "arctanh" in symbol else text_of(symbol, *rest)
    monkeypatch.setattr(called, "text_of", broken)
    x = np.linspace(0.1, 0.5, 6)
    with pytest.warns(UserWarning, match="could not be compiled, and runs as NumPy: wengert.arctanh"):
        y = wg.jit(lambda x: np.exp(np.arctanh(x * 0.71234)))(x)
    np.testing.assert_allclose(y, np.exp(np.arctanh(x * 0.71234)), rtol=1e-14)
    compiler._refused.clear()


def test_callees_live_as_long_as_a_kernel_that_calls_them(folder: Path) -> None:
    forget()
    code = made(calling("erfcx", "cosm1"))
    keys = [compiler.key_of(symbol, target()) for symbol in code.callees]
    compiler._recent.clear()
    gc.collect()
    assert all(key in compiler._codes for key in keys)
    del code
    gc.collect()
    assert not any(key in compiler._codes for key in keys) and not compiler._dropped


def forget() -> None:
    """What this process has in memory, as if it were another."""
    compiler._recent.clear()
    compiler._codes.clear()


# ---------------------------------------------------------------------------------------------------- freed when unused


def alive() -> int:
    gc.collect()
    return len(compiler._codes)


def executable_bytes() -> int:
    """Of memory that holds code and is no file's."""
    total = 0
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, rights, _, _, inode, *name = line.split()
        if "x" in rights and int(inode) == 0 and not name:
            begin, end = span.split("-")
            total += int(end, 16) - int(begin, 16)
    return total


OPS = (np.sin, np.cos, np.sqrt, np.abs, np.square, np.negative)


def different_programs(n: int) -> None:
    """n functions, none like another, compiled, run and dropped."""
    x = np.linspace(0.1, 1, 5)
    for a, b, c, d in itertools.islice(itertools.product(OPS, repeat=4), n):
        f = lambda x, a=a, b=b, c=c, d=d: d(c(b(a(x)) + 1) + 2) + 3
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(wg.jit(f)(x), f(x), rtol=1e-13)


@pytest.mark.deep("three hundred programs are compiled; when code is freed is tested in quick ones")
def test_machine_code_of_dropped_programs_was_never_freed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """9 KB each. Those that were asked for last are kept, the same number at any time."""
    monkeypatch.setattr(compiler, "RECENT", most := 64)
    different_programs(100)
    before = alive()
    bytes_before = executable_bytes() if sys.platform == "linux" else 0
    different_programs(200)
    assert alive() <= before
    assert len(compiler._recent) == most
    if sys.platform == "linux":
        assert executable_bytes() <= bytes_before + most * 4096  # some take two pages


def test_what_is_asked_for_again_is_kept_before_what_is_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once, however often it is asked for."""
    monkeypatch.setattr(compiler, "RECENT", 4)
    compiler._recent.clear()
    codes = {b"%d" % k: Code(k, io.BytesIO(), None, {}) for k in range(6)}  # what they refer to is only closed
    for asked in ("01", "23", "01", "0", "45"):
        compiler._keep({key: codes[key] for key in (k.encode() for k in asked)})
    assert list(compiler._recent) == [b"1", b"0", b"4", b"5"]
    compiler._keep({b"0": "refused", b"2": codes[b"2"]})
    assert list(compiler._recent) == [b"1", b"4", b"5", b"2"]
    compiler._recent.clear()


def test_linkers_go_with_the_last_of_their_libraries(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each keeps 14 KB of every kernel that it has linked, those included that are freed."""
    monkeypatch.setattr(compiler, "LINKED", 10)
    compiler._linkers.clear()
    seen = weakref.WeakSet[Any]()
    for _ in range(20):
        different_programs(5)
        seen.add(compiler._linkers[0])
        compiler._recent.clear()
    gc.collect()
    assert len(seen) <= 2


def test_code_is_freed_with_the_last_that_refers_to_it(folder: Path) -> None:
    nest = new_nest()
    key = compiler.key_of(nest, target())
    code, again = code_of(nest), code_of(nest)
    assert code is again
    compiler._recent.clear()
    del code
    assert key in compiler._codes
    assert call(again)[1] == factor(nest)
    del again
    gc.collect()
    assert key not in compiler._codes and not compiler._dropped
    assert call(code_of(nest))[1] == factor(nest)  # from disk


def test_a_program_keeps_the_code_that_it_shares_with_a_dropped_one(folder: Path) -> None:
    x = np.linspace(0, 1, 100)
    f = lambda x: np.tanh(x * 3) + np.sin(x)
    first, second = wg.jit(f), wg.jit(lambda x: np.tanh(x * 3) + np.sin(x))
    y = first(x)
    call = second.program(x).bind(x)
    np.testing.assert_array_equal(call(), y)
    del first, second, f
    compiler._recent.clear()
    different_programs(20)
    np.testing.assert_array_equal(call(), y)


@pytest.mark.deep("thousands of programs are made: 6 s")
def test_a_program_is_dropped_while_another_thread_runs_it(folder: Path) -> None:
    x = np.linspace(0, 1, 200_000)
    wrong: list[str] = []

    def work(number: int) -> None:
        for k in range(6):
            f = lambda x, k=k, number=number: [np.sin, np.cos, np.exp][number](x) * (x + [1, 2, 3][k % 3])
            jitted = wg.jit(f)
            if not np.allclose(jitted(x), f(x), rtol=1e-14):
                wrong.append(f"{number} {k}")
            del jitted
            compiler._recent.clear()
            gc.collect()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    compiler.machine_code({}, target())
    assert not compiler._dropped


def test_code_that_is_dropped_while_another_thread_links_is_freed_later(folder: Path) -> None:
    code = code_of(new_nest())
    compiler._recent.clear()
    held, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with compiler.LINKER:
            held.set()
            go_on.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    del code
    gc.collect()
    assert compiler._dropped  # with what others have left, perhaps
    go_on.set()
    thread.join()
    compiler.machine_code({}, target())
    assert not compiler._dropped


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_a_forked_child_compiles_and_frees(folder: Path) -> None:
    script = """
        import gc, os, sys
        sys.path.insert(0, os.getcwd())
        from tests.codegen.new_kernels import call, code_of, factor, new_nest
        from wengert.codegen import compiler

        nests = [new_nest() for _ in range(3)]
        codes = [code_of(nest) for nest in nests[:2]]
        pid = os.fork()
        compiler._recent.clear()
        del codes[0]
        right = call(codes[0])[1] == factor(nests[1]) and call(code_of(nests[2]))[1] == factor(nests[2])
        right = right and call(code_of(nests[0]))[1] == factor(nests[0])
        if not pid:
            os._exit(0 if right else 3)
        print(right, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """
    done = python(script)
    assert done.stdout == "True 0\n", done.stderr


def test_a_process_ends_while_a_thread_runs_code(folder: Path) -> None:
    """And while programs are alive, dropped, or in cycles."""
    script = """
        import threading, time
        import numpy as np, wengert as wg

        x = np.linspace(0, 1, 1_000_000)
        jitted = wg.jit(lambda x: np.sin(x) * np.exp(x))
        jitted(x)
        cycle = [wg.jit(lambda x: np.cos(x) + 1)]
        cycle.append(cycle)
        cycle[0](x)

        def work():
            while True:
                jitted(x)

        threading.Thread(target=work, daemon=True).start()
        time.sleep(0.05)
        print("end")
    """
    done = python(script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@pytest.mark.parametrize("can", [True, False])
def test_memory_is_given_back_where_the_c_library_can(monkeypatch: pytest.MonkeyPatch, can: bool) -> None:
    asked: list[int] = []
    library = SimpleNamespace(malloc_trim=asked.append) if can else SimpleNamespace()
    monkeypatch.setattr(compiler.ctypes, "CDLL", lambda name: library)
    compiler._give_back()
    assert asked == ([0] if can else [])

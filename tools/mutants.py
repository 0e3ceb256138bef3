"""Mutants: small mistakes put into the source on purpose, to see whether the tests notice.

``python -m tools.mutants --count 30`` draws mutants of the files of :data:`GROUPS`, runs for each the tests that cover
its file (its mirror, as :mod:`tests.mirror` says, and then those of :data:`FURTHER`), and fails if less than
:data:`SCORE` of them are caught.

* A mutant is one change of a syntax tree (:mod:`tools.mutations`), compiled in memory: the checkout is never written.
* Each runs in a process of its own, forked from one that has NumPy, SciPy, LLVM and pytest imported already, and
  imports wengert only then. It ends with the first test that fails.
* The tests come first whose names have that of the mutated function or op in them. Where many mutants of a file are
  drawn, its tests run once without one. They must pass, and it is noted which functions each runs and for how long:
  then the tests that run the mutated function come first, the fastest first, and then the others of the mirror.
* No kernel is read from a user's cache or written to it. Object files are kept by the text that they were made of.
* Which mutants are drawn depends on the seed and on each mutant's own text, so that an edit changes only those of the
  lines it touches. With ``--results`` what ran is appended to a file, and a run that was cut goes on.
* A mutant that runs out of time or memory, or ends its process, is caught.

What cannot be caught because it computes the same is listed in :data:`tools.mutants_equal.EQUAL`, with the reason.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import pytest

from tests.mirror import COVERED
from tools.mutants_equal import EQUAL
from tools.mutations import Mutant, mutant_tree, mutants_in

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "wengert"
SCORE = 0.98

GROUPS = {
    "rules": ["ops/**/*.py", "higher/*.py", "batching.py"],
    "ad": ["ad/*.py"],
    "passes": ["passes/**/*.py"],
    "codegen": ["codegen/nests/*.py", "codegen/specs/*.py", "codegen/vecmath/*.py"]
    + ["codegen/bodies.py", "codegen/contract.py", "codegen/fourier.py", "codegen/ir.py", "codegen/lapack.py"]
    + ["codegen/loops.py", "codegen/lower.py", "codegen/memory.py", "codegen/sorting.py", "codegen/strides.py"],
    "watching": ["tracing/surroundings/*.py", "tracing/decisions.py", "tracing/counted.py", "tracing/libraries.py"]
    + ["tracing/python/*.py"]
    + ["runtime/paths.py", "runtime/specialisation.py", "runtime/tiered.py"],
}
"""The files that are mutated; of each group as many mutants are drawn."""

FURTHER = {
    "rules": ["tests/api/test_derivatives.py", "tests/passes/test_simplify.py", "tests/passes/test_recompute.py"]
    + ["tests/higher/test_recording.py", "tests/api/test_loops.py"],
    "ad": ["tests/api/test_derivatives.py", "tests/api/test_matrices.py", "tests/higher/test_loops.py"],
    "passes": ["tests/codegen/test_sorting.py", "tests/codegen/test_lapack.py", "tests/acceptance/test_native.py"],
    "codegen": ["tests/codegen/nests/test_emit.py", "tests/codegen/test_contract.py", "tests/codegen/test_strides.py"]
    + ["tests/codegen/specs"],
    "watching": [
        "tests/tracing/surroundings",
        "tests/acceptance/test_captures.py",
        "tests/acceptance/test_mutation.py",
    ],
}
"""Tests of what a group is for, which run where the mirror has not noticed. They are counted apart."""
ELSEWHERE = "elsewhere: "

PRELOADED = (
    *("numpy", "scipy", "scipy.special", "scipy.linalg", "scipy.fft", "scipy.linalg.cython_blas", "optree", "mpmath"),
    *("scipy.linalg.cython_lapack", "llvmlite.binding", "hypothesis", "hypothesis.extra.numpy"),
    *("_pytest.doctest", "_pytest.assertion.rewrite", "numpy.testing", "scipy.stats", "scipy.signal"),
)
MANY = 8
"""Mutants of one test file that are worth a run of it that notes which test runs what."""
PATIENCE_S = 15
"""Seconds of processor time that one test gets."""
LONGEST_S = 600
"""And all of them."""
WALL = 6.0
"""How much longer it may take by the clock: other processes may be at work."""
MEMORY = 12 << 30


class Result(NamedTuple):
    key: str
    file: str
    where: str
    kind: str
    change: str
    caught_by: str
    """The test that failed; "" of a survivor."""
    seconds: float

    @property
    def is_caught(self) -> bool:
        return bool(self.caught_by)

    @property
    def is_caught_by_mirror(self) -> bool:
        return self.is_caught and not self.caught_by.startswith(ELSEWHERE)


# ------------------------------------------------------------------------------------------------------- drawing


def files_of(patterns: Sequence[str]) -> list[str]:
    return sorted({p.relative_to(SOURCE).as_posix() for pattern in patterns for p in SOURCE.glob(pattern)})


def mirror_of(file: str) -> str | None:
    """The test file that covers a source file, as ``tests/test_mirror.py`` has it."""
    path = Path(file)
    folder, name = (path.parent.parent, path.parent.name) if path.stem == "__init__" else (path.parent, path.stem)
    own = Path("tests", folder, f"test_{name}.py").as_posix()
    if (ROOT / own).exists():
        return own
    return next((row.test for row in COVERED if file in row.sources), None)


def drawn(count: int, seed: int, only: Sequence[str] = ()) -> list[Mutant]:
    """``count`` mutants, of each group as many, in an order that the seed decides."""
    piles = []
    for patterns in GROUPS.values():
        files = [f for f in files_of(patterns) if mirror_of(f) and (not only or any(f.startswith(o) for o in only))]
        pile = [m for f in files for m in mutants_in(f, (SOURCE / f).read_text()) if m.key not in EQUAL]
        piles.append(sorted(pile, key=lambda m: hashlib.blake2b(f"{seed} {m.key}".encode()).digest()))
    rounds = max(map(len, piles))
    mixed = [pile[k] for k in range(rounds) for pile in piles if k < len(pile)]
    return mixed[:count]


# ----------------------------------------------------------------------------------------------- in the forked process


class MutantFinder(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Finds one module of wengert, and compiles it with a mutant in it."""

    def __init__(self, mutant: Mutant) -> None:
        parts = ("wengert", *Path(mutant.file).with_suffix("").parts)
        self.mutant = mutant
        self.is_a_package = parts[-1] == "__init__"
        super().__init__(".".join(parts[:-1] if self.is_a_package else parts), str(SOURCE / mutant.file))

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != self.name:
            return None
        folders = [str(Path(self.path).parent)] if self.is_a_package else None
        return importlib.util.spec_from_file_location(
            fullname, self.path, loader=self, submodule_search_locations=folders
        )

    def get_code(self, fullname: str) -> CodeType:
        return compile(mutant_tree(self.mutant, Path(self.path).read_text()), self.path, "exec", dont_inherit=True)


class Order:
    """A plugin of pytest: runs these tests first, in this order, and says which failed."""

    def __init__(self, first: Sequence[str], names: Sequence[str]) -> None:
        self.rank = {test: k for k, test in enumerate(first)}
        self.names = [name.strip("_").lower() for name in names if len(name.strip("_")) > 2]
        self.failed = ""
        self.count = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: (self.rank.get(item.nodeid, len(self.rank)), not self._is_named(item)))
        self.count = len(items)

    def _is_named(self, item: pytest.Item) -> bool:
        return any(name in item.name.lower() for name in self.names)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE_S)  # it ends the process
        result = yield
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = f"{report.nodeid} (collecting)"


class Profile:
    """A plugin of pytest: notes which functions of wengert each test runs, and the seconds that it takes."""

    def __init__(self) -> None:
        self.before: set[str] = set()
        """What runs while wengert is imported and tests are collected."""
        self.tests: dict[str, tuple[float, list[str]]] = {}
        self.failed = ""
        self._profiler = cProfile.Profile(subcalls=False, builtins=False)

    def taken(self) -> list[str]:
        """The functions that ran since the last time."""
        self._profiler.disable()
        prefix = f"{SOURCE}{os.sep}"
        codes = [entry.code for entry in self._profiler.getstats() if isinstance(entry.code, CodeType)]
        ours = [c for c in codes if c.co_filename.startswith(prefix)]
        self._profiler.clear()
        self._profiler.enable()
        return sorted({f"{c.co_filename.removeprefix(prefix)}:{c.co_firstlineno}" for c in ours})

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.before.update(self.taken())
        start = time.process_time()
        result = yield
        self.tests[item.nodeid] = (time.process_time() - start, self.taken())
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


def keep_objects(folder: Path) -> None:
    """Compile a text to machine code once for all mutants, whichever of them it is written by."""
    from wengert.codegen import compiler
    from wengert.codegen.target import target

    compile_text = compiler.object_code

    def object_code(text: str) -> bytes:
        what = repr((text, target(), compiler.is_to_be_optimised(text)))
        path = folder / hashlib.blake2b(what.encode(), digest_size=20).hexdigest()
        if path.exists():
            return path.read_bytes()
        code = compile_text(text)
        aside = path.with_suffix(f".{os.getpid()}")
        aside.write_bytes(code)
        aside.rename(path)
        return code

    compiler.object_code = object_code


def run_tests(files: Sequence[str], plugin: Any, cache: Path, mutant: Mutant | None) -> str:
    """Run test files in this process. The name of what failed, or ""."""
    if mutant is not None:
        sys.meta_path.insert(0, MutantFinder(mutant))
    else:
        plugin.taken()
    try:
        keep_objects(cache)
    except BaseException as error:  # whatever a mutant raises: it does not even import
        return f"import: {type(error).__name__}"
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        options = ["-q", "-x", "-m", "not deep", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={folder}/t"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of hypothesis, which is imported already
        code = pytest.main([*options, *files], plugins=[plugin])
    if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return plugin.failed
    return plugin.failed or f"pytest: exit code {int(code)}"


# ------------------------------------------------------------------------------------------------------- processes


TOOL_FAILED = 77


def forked(work: Callable[[], Any], cpu_s: float, log: Path) -> tuple[Any, str]:
    """What ``work`` returns in a process of its own, or why there is nothing, in words."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(out)
            os.setpgid(0, 0)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for fd in (1, 2):
                os.dup2(output, fd)
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s) + 1, int(cpu_s) + 3))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with open(into, "wb") as pipe:
                pipe.write(json.dumps(work()).encode())
        except BaseException:  # of this tool: what the mutant raises is pytest's
            os.write(2, traceback.format_exc().encode())
            os._exit(TOOL_FAILED)
        finally:
            os._exit(0)
    os.close(into)
    timer = threading.Timer(cpu_s * WALL + 30, _end, [pid])
    timer.start()
    with open(out, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(pid, 0)
    timer.cancel()
    _end(pid)  # what it has started itself
    if text:
        return json.loads(text), ""
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == TOOL_FAILED:
        raise RuntimeError(log.read_text())
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    slow = number in (signal.SIGXCPU, signal.SIGVTALRM, signal.SIGKILL)
    return None, "out of time" if slow else f"ended by signal {number}" if number else "ended"


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=12).hexdigest()


class Mirror(NamedTuple):
    """What a run of a test file without mutants has shown."""

    before: set[str]
    tests: dict[str, tuple[float, list[str]]]

    def order(self, mutant: Mutant) -> list[str]:
        """The tests, those that run the mutated function first."""
        function = f"{mutant.file}:{mutant.function_line}"
        everywhere = mutant.function_line == 0 or function in self.before
        reach = [t for t, (_, functions) in self.tests.items() if everywhere or function in functions]
        reach.sort(key=lambda t: self.tests[t][0])
        rest = sorted(set(self.tests) - set(reach), key=lambda t: self.tests[t][0])
        return reach + rest


def profile(test: str, cache: Path) -> dict[str, Any]:
    plugin = Profile()
    failed = run_tests([test], plugin, cache, None)
    return {"failed": failed, "before": sorted(plugin.before), "tests": plugin.tests}


def mirror(test: str, file: str, cache: Path, is_worth_it: bool) -> Mirror | None:
    """What is known of a test file; if it or the source file has changed since, it runs first, or nothing is known."""
    stamp = [digest(ROOT / test), digest(SOURCE / file)]
    path = cache / "mirrors" / f"{(test + ' ' + file).replace('/', '.')}.json"
    found = json.loads(path.read_text()) if path.exists() else None
    if found is None or found["stamp"] != stamp:
        if not is_worth_it:
            return None
        found, why = forked(lambda: profile(test, cache / "objects"), LONGEST_S, cache / "log")
        if found is None or found["failed"] or not found["tests"]:
            raise SystemExit(f"{test} does not pass without a mutant: {why or found['failed'] or 'no tests'}")
        for source in {s for s in files_of([p for ps in GROUPS.values() for p in ps]) if mirror_of(s) == test}:
            other = cache / "mirrors" / f"{(test + ' ' + source).replace('/', '.')}.json"
            other.write_text(json.dumps({**found, "stamp": [stamp[0], digest(SOURCE / source)]}))
    return Mirror(set(found["before"]), {t: (s, f) for t, (s, f) in found["tests"].items()})


def run(mutant: Mutant, cache: Path, are_many: bool) -> Result:
    test = mirror_of(mutant.file)
    assert test is not None
    known = mirror(test, mutant.file, cache, are_many)
    order = Order(known.order(mutant) if known is not None else (), mutant.names)
    start = time.perf_counter()
    failed, why = forked(lambda: run_tests([test], order, cache / "objects", mutant), LONGEST_S, cache / "log")
    if not failed and not why:
        others = next(FURTHER[name] for name, patterns in GROUPS.items() if mutant.file in files_of(patterns))
        others = [other for other in others if other != test]
        order = Order((), mutant.names)
        failed, why = forked(lambda: run_tests(others, order, cache / "objects", mutant), LONGEST_S, cache / "log")
        failed = failed and ELSEWHERE + failed
    took = round(time.perf_counter() - start, 2)
    where = f"{mutant.file}:{mutant.line}"
    return Result(mutant.key, mutant.file, where, mutant.kind, mutant.change, failed or why, took)


# ------------------------------------------------------------------------------------------------------------ main


def shown(result: Result, mutants: Sequence[Mutant]) -> str:
    """A survivor as a difference of lines."""
    mutant = next((m for m in mutants if m.key == result.key), None)
    text = "" if mutant is None else mutant.diff((SOURCE / mutant.file).read_text())
    return f"{result.where}  {result.kind}: {result.change}\n{text}"


def known(path: Path | None) -> dict[str, Result]:
    if path is None or not path.exists():
        return {}
    results = [Result(**json.loads(line)) for line in path.read_text().splitlines()]
    return {r.key: r for r in results}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=30, help="how many mutants, of all groups together")
    parser.add_argument("--seed", type=int, default=0, help="which")
    parser.add_argument("--files", nargs="*", default=[], help="only of files that begin so, as ops/ or ad/reverse.py")
    parser.add_argument("--results", type=Path, help="a file of JSON lines: what stands there is not run again")
    parser.add_argument("--again", action="store_true", help="run the survivors of --results again, and no others")
    parser.add_argument("--survivors", action="store_true", help="run nothing, print the survivors of --results")
    parser.add_argument("--score", type=float, default=SCORE, help="the share that must be caught")
    chosen = parser.parse_args(arguments)

    os.environ.update(WENGERT_CACHE_DIR="", HYPOTHESIS_PROFILE="few", OPENBLAS_NUM_THREADS="1")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(base, "wengert-mutants")
    for folder in ("objects", "mirrors"):
        (cache / folder).mkdir(parents=True, exist_ok=True)

    mutants = drawn(chosen.count, chosen.seed, chosen.files)
    results = known(chosen.results)
    if not chosen.survivors:
        os.chdir(ROOT)
        for name in PRELOADED:
            importlib.import_module(name)
        assert "wengert" not in sys.modules
        pending = [m for m in mutants if m.key not in results]
        if chosen.again:
            pending = [m for m in mutants if m.key in results and not results[m.key].is_caught]
        count = Counter([mirror_of(m.file) for m in pending])
        for mutant in pending:
            result = results[mutant.key] = run(mutant, cache, count[mirror_of(mutant.file)] >= MANY)
            if chosen.results is not None:
                with chosen.results.open("a") as file:
                    file.write(json.dumps(result._asdict()) + "\n")
            print("." if result.is_caught else f"\nsurvived: {shown(result, mutants)}", end="", flush=True)
    ran = [results[m.key] for m in mutants if m.key in results]
    survivors = [r for r in ran if not r.is_caught]
    print()
    for result in survivors:
        print(shown(result, mutants))
    caught = len(ran) - len(survivors)
    print(f"{len(ran)} of {len(mutants)} mutants ran, {caught} were caught: {caught / max(1, len(ran)):.1%}")
    print(f"  by the mirror of their file: {sum([r.is_caught_by_mirror for r in ran])}")
    for name, patterns in GROUPS.items():
        of_group = [r for r in ran if r.file in set(files_of(patterns))]
        by_mirror = sum([r.is_caught_by_mirror for r in of_group])
        print(f"  {name}: {sum([r.is_caught for r in of_group])} of {len(of_group)}, {by_mirror} by the mirror")
    return 0 if caught >= chosen.score * len(ran) else 1


if __name__ == "__main__":
    sys.exit(main())

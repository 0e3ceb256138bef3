"""``python -m tests.packages.autograd_users``: test suites of packages written for autograd, with it and with wengert.

Each package is a row of ``PACKAGES``. Its tests are run twice, in processes of their own: with the real autograd, and
after ``wengert.autograd.install()``. A test that passes with autograd must pass with wengert. ``--sources`` is the
folder of the unpacked sdists, or checkouts, of the packages, ``--python`` an interpreter that has the packages,
autograd, pytest, pytest-timeout and wengert; ``--out`` keeps what was found, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple


class Package(NamedTuple):
    """The tests of a package: ``folder`` among the sources, and arguments of pytest that choose some."""

    name: str
    folder: str
    tests: str


PACKAGES = [
    Package("autograd", "autograd-1.9.1/tests", "."),
    Package("autograd-gamma", "autograd-gamma", "tests"),
    Package("ceviche", "ceviche", "tests"),
    Package("grcwa", "grcwa-0.1.2", "tests"),
    Package("legume-gme", "legume_gme-1.0.3", "tests/test_gme_grad.py tests/test_primitives.py"),
    Package("lifelines", "lifelines-0.30.3", "lifelines/tests/test_estimation.py -o addopts= -k 'Fitter and not Cox'"),
    Package("lifetimes", "lifetimes", "tests/test_estimation.py"),
    Package("mici", "mici-0.4.1", "tests"),
    Package("pyerrors", "pyerrors", "tests -o addopts="),
    Package(
        "pymanopt", "pymanopt-2.2.1", "tests/manifolds tests/optimizers tests/backends/test_autograd.py -o addopts="
    ),
    Package("pymoo", "pymoo", "tests/gradients -o addopts="),
    Package("reliability", "reliability-0.9.0", "tests"),
    Package("sampyl-mcmc", "sampyl", "."),
    Package("surpyval", "surpyval-0.25", "surpyval/tests/univariate/parametric -o addopts="),
]
"""Folders with a version are sdists, the others checkouts: of packages whose sdist has no tests."""

SECONDS = 600
"""For one side of a package; the tests that were not reached by either side are not counted."""

RUN = """
import sys
side, out, *args = sys.argv[1:]
if side == "wengert":
    import wengert.autograd
    wengert.autograd.install()
import pytest
class Report:
    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            with open(out, "a") as file:
                print(report.nodeid, report.outcome, sep="\\t", file=file)
sys.path.insert(0, ".")
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--timeout=120", *args], plugins=[Report()]))
"""


def run(package: Package, side: str, python: str, sources: Path, out: Path) -> dict[str, Any]:
    """Run the tests of a package on one side; return their outcomes and the seconds."""
    found = out / f"{package.name}-{side}.json"
    if not found.exists():
        lines = found.with_suffix(".lines")
        lines.write_text("")
        call = [python, "-c", RUN, side, str(lines.absolute()), *shlex.split(package.tests)]
        start = time.perf_counter()
        with found.with_suffix(".log").open("w") as log:
            try:
                subprocess.run(call, cwd=sources / package.folder, stdout=log, stderr=log, timeout=SECONDS, check=False)
            except subprocess.TimeoutExpired:
                log.write("\nout of time\n")
        seconds = time.perf_counter() - start
        outcomes: dict[str, str] = {}
        for line in lines.read_text().splitlines():
            name, outcome = line.rsplit("\t", 1)
            outcomes[name] = outcome if outcomes.get(name, "passed") == "passed" else "failed"
        found.write_text(json.dumps({"seconds": seconds, "outcomes": outcomes}))
    read: dict[str, Any] = json.loads(found.read_text())
    return read


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.packages.autograd_users")
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--out", type=Path, default=Path("build/autograd-users"))
    parser.add_argument("--only", nargs="*", help="names of packages")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    total = right = 0
    for package in [p for p in PACKAGES if not options.only or p.name in options.only]:
        theirs, ours = (
            run(package, side, options.python, options.sources, options.out) for side in ("autograd", "wengert")
        )
        passed = [name for name, outcome in theirs["outcomes"].items() if outcome == "passed"]
        reached = [name for name in passed if name in ours["outcomes"]]
        failed = [name for name in reached if ours["outcomes"][name] != "passed"]
        total, right = total + len(reached), right + len(reached) - len(failed)
        share = 100 * (len(reached) - len(failed)) / max(1, len(reached))
        print(
            f"{package.name:20} {len(passed):5} pass with autograd, {len(reached):5} of them reached, "
            f"{len(reached) - len(failed):5} pass with wengert, {share:5.1f} %; "
            f"{theirs['seconds']:6.0f} s and {ours['seconds']:6.0f} s"
        )
        for name in failed:
            print(f"    {name}")
    print(f"all: {right} of {total}, {100 * right / max(1, total):.1f} %")


if __name__ == "__main__":
    main()

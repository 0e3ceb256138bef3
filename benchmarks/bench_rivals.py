"""Compare wengert with its rivals, and with the targets that it must reach.

    python -m benchmarks.bench_rivals [--quick] [--json FILE]

Every figure is the least and the median of many samples on one core; the least ones are
judged. A rival is called in the way that suits it best (its own arrays in and out) unless a row says otherwise.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.processes import Results, is_installed, is_wrong, run, run_cold_and_warm, seconds_to_import
from benchmarks.timing import Timing, show

from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip

SMALL = ("8-vector", "network", "Poly9", "sum(exp(x))", "dense")
LIBRARIES: dict[str, tuple[str, ...]] = {
    "network": ("jax", "casadi", "pytorch", "autograd", "numpy"),
    "8-vector": ("jax", "casadi", "pytorch", "autograd", "numpy"),
    **{f"c[0]*p, n=1e{k}": ("jax",) for k in range(3, 9)},
    "c[0]*p in both, n=1e7": ("jax",),
    "Poly9": ("jax", "casadi", "pytorch", "autograd", "numpy"),
    "sum(exp(x))": ("jax", "casadi", "pytorch", "autograd", "numpy"),
    "dense": ("jax", "pytorch", "autograd", "numpy"),
    "DAG": ("jax", "pytorch", "autograd"),
    "20 steps": ("jax", "pytorch", "autograd", "numpy"),
    "20 steps, forward": ("jax", "numpy"),
    # A processor with a large cache copies the array above within it, faster than its vector units do twenty steps.
    # What follows is bound by memory: every call gets an array that no cache holds, or one that is beyond any cache.
    "20 steps, from memory": ("numpy",),
    "20 steps, from memory, forward": ("numpy",),
    "20 steps, n=1e7": ("jax", "numpy"),
    "20 steps, n=1e7, forward": ("jax", "numpy"),
}
SLOW = {("jax", "DAG"), ("wengert", "c[0]*p, n=1e8"), ("jax", "c[0]*p, n=1e8")}  # left out by --quick


class Row(NamedTuple):
    """One line of the table of targets."""

    workload: str
    what: str
    ours: Any
    theirs: Any
    value: float | None
    """The ratio, time or count that is judged; None: not measured."""
    must: float
    at_least: bool
    unit: str

    @property
    def is_reached(self) -> bool | None:
        if self.value is None:
            return None
        return self.value >= self.must if self.at_least else self.value <= self.must


class Figures:
    """Rows made of results, with a hole where something was not measured."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.rows: list[Row] = []

    def get(self, library: str, workload: str, kind: str) -> Any:
        return self.results.get((library, workload), {}).get(kind)

    def faster(self, workload: str, library: str, times: float, ours: str = "called", theirs: str = "called") -> None:
        """Return the row that asks ours to be at least ``times`` times as fast as a rival."""
        a, b = self.get("wengert", workload, ours), self.get(library, workload, theirs)
        value = least(b) / least(a) if a and b else None
        self.rows.append(Row(workload, f"{ours} / {library} {theirs}", a, b, value, times, True, "x faster"))

    def within(self, workload: str, library: str, times: float, ours: str = "called", theirs: str = "called") -> None:
        """Return the row that allows ours at most ``times`` times as long as something else."""
        a, b = self.get("wengert", workload, ours), self.get(library, workload, theirs)
        value = least(a) / least(b) if a and b else None
        self.rows.append(Row(workload, f"{ours} / {library} {theirs}", a, b, value, times, False, "x as long"))

    def seconds(self, workload: str, most: float, kind: str = "called", library: str = "", theirs: str = "") -> None:
        """Return the row that allows ours so many seconds; a rival's time stands beside it."""
        a, b = self.get("wengert", workload, kind), self.get(library, workload, theirs)
        self.rows.append(Row(workload, kind, a, b, least(a) if a else None, most, False, "s"))

    def count(self, workload: str, fact: str, most: float) -> None:
        a = self.get("wengert", workload, fact)
        self.rows.append(Row(workload, fact, a, None, a, most, False, ""))


def least(x: Timing | float) -> float:
    return x.least if isinstance(x, Timing) else x


def targets(results: Results) -> list[Row]:
    """Return the targets, each beside what was measured."""
    f = Figures(results)
    f.faster("network", "jax", 20, theirs="NumPy in and out")
    f.faster("network", "jax", 20)
    f.faster("network", "casadi", 12, theirs="NumPy in and out")
    f.faster("network", "casadi", 12)
    f.within("network", "wengert", 4, theirs="forward")
    f.seconds("network", 1.2e-6, "bound")
    f.faster("network", "casadi", 1, "bound", "bound")
    f.faster("network", "casadi", 1, "bound", "bound, compiled by gcc")
    f.seconds("8-vector", 1e-6, "called", "jax", "called")
    f.seconds("8-vector", 0.35e-6, "bound", "casadi", "bound")
    for k in range(3, 9):
        f.seconds(f"c[0]*p, n=1e{k}", 0.6e-6, "called", "jax", "called")
        f.faster(f"c[0]*p, n=1e{k}", "jax", 15)
    f.faster("c[0]*p in both, n=1e7", "jax", 500)
    f.faster("Poly9", "jax", 20, theirs="NumPy in and out")
    f.faster("Poly9", "jax", 20)
    f.within("Poly9", "numpy", 1.5, theirs="(x*x).sum()")
    f.count("Poly9", "kernels", 1)
    f.faster("sum(exp(x))", "jax", 10, theirs="NumPy in and out")
    f.faster("sum(exp(x))", "jax", 10)
    f.faster("sum(exp(x))", "numpy", 1)
    f.count("sum(exp(x))", "instructions", 2)
    f.faster("dense", "numpy", 1)
    f.faster("dense", "jax", 1.5, theirs="NumPy in and out")
    f.faster("dense", "jax", 1.5)
    f.count("dense", "arrays", 3)
    f.seconds("DAG", 1.0, "cold_s", "jax", "first_s")
    f.seconds("DAG", 0.6, "warm_s", "jax", "first_s")
    f.count("DAG", "compiled", 12)
    f.faster("DAG", "jax", 4)
    for name in SMALL:
        f.seconds(name, 60e-3, "cold_s", "jax", "first_s")
        f.seconds(name, 10e-3, "warm_s", "jax", "first_s")
    f.seconds("import", 0.25, "import", "jax", "import")
    f.count("import", "files compiled", 0)
    for name in ("20 steps", "20 steps, from memory", "20 steps, n=1e7"):
        for workload in (f"{name}, forward", name):
            f.within(workload, "numpy", 1.3, "bound", "copy into")
            f.within(workload, "numpy", 1.3, "called", "copy")
            f.faster(workload, "numpy", 3)
    return f.rows


def gather(names: Sequence[str], quick: bool, say: Callable[[str], None]) -> Results:
    results: Results = {}
    for name in names:
        for library in ("wengert", *LIBRARIES[name]):
            if (quick and (library, name) in SLOW) or not is_installed(library):
                continue
            if library == "wengert":
                found = run_cold_and_warm(name, rounds=1 if quick else 3)
            else:
                found = run(library, name, timeout_s=600)
            results[library, name] = found
            if "failed" in found:
                say(f"{library}, {name}: {found['failed']}")
            elif is_wrong(found, results["wengert", name]):
                say(f"{library}, {name}: WRONG, or another result than ours; error {found['error']}")
                found["wrong"] = True
    results["wengert", "import"] = {"import": seconds_to_import("wengert"), "files compiled": files_after_import()}
    for library in ("jax", "casadi", "autograd", "torch"):
        if is_installed(library):
            results[library.replace("torch", "pytorch"), "import"] = {"import": seconds_to_import(library)}
    return results


def files_after_import() -> int:
    """Return how many files importing wengert writes into an empty cache of kernels."""
    with tempfile.TemporaryDirectory() as folder:
        code = f"import os; os.environ['WENGERT_CACHE_DIR'] = {folder!r}; import wengert"
        subprocess.run([sys.executable, "-c", code], check=True)
        return len(list(Path(folder).iterdir()))


# --------------------------------------------------------------------------------------------------------- printing


def all_figures(results: Results) -> Table:
    table = Table(title="least / median of a call; first: from the function to its first gradient, in a fresh process")
    for title in ("workload", "library", "first", "called", "NumPy in and out", "bound", "error", "others"):
        table.add_column(title, no_wrap=title != "others")
    last = ""
    for (library, name), found in sorted(results.items(), key=lambda item: list(LIBRARIES).index(item[0][1])):
        named = ("called", "NumPy in and out", "bound")
        first = [found[k] for k in ("cold_s", "warm_s") if k in found] or [found[k] for k in ("first_s",) if k in found]
        others = [f"{k} {v}" for k, v in found.items() if isinstance(v, Timing) and k not in named]
        cells = [str(found.get(k, "")) for k in named]
        table.add_row(
            "" if name == last else name,
            library,
            found.get("failed", "")[:30] or " / ".join(map(show, first)),
            *cells,
            shown(found.get("error"), "wrong" in found),
            "; ".join(others),
            end_section=False,
        )
        last = name
    return table


def shown(error: float | None, wrong: bool) -> str:
    words = "" if error is None else f"{error:.0e}"
    return f"[bold red]WRONG {words}[/]" if wrong else words


def judged(rows: Sequence[Row]) -> Table:
    table = Table(title="ours against what must be reached")
    for title in ("workload", "what", "ours", "theirs", "measured", "must reach", "reached"):
        table.add_column(title, no_wrap=True, justify="right" if title in ("measured", "must reach") else "left")
    last = ""
    for row in rows:
        sign = ">=" if row.at_least else "<="
        verdict = {None: "not measured", True: "[green]yes[/]", False: "[bold red]NO[/]"}[row.is_reached]
        table.add_row(
            "" if row.workload == last else row.workload,
            row.what,
            figure(row.ours),
            figure(row.theirs),
            "" if row.value is None else amount(row.value, row.unit),
            f"{sign} {amount(row.must, row.unit)}",
            verdict,
        )
        last = row.workload
    return table


def figure(x: Any) -> str:
    if x is None:
        return ""
    return show(x) if isinstance(x, float) else str(x)


def amount(value: float, unit: str) -> str:
    return show(value) if unit == "s" else f"{value:.3g} {unit}".strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workloads", nargs="*", help="only these")
    parser.add_argument("--quick", action="store_true", help="one round, without what takes minutes or gigabytes")
    parser.add_argument("--json", type=Path, help="also write all figures there")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 170)
    results = gather(options.workloads or list(LIBRARIES), options.quick, console.print)
    console.print(all_figures({k: v for k, v in results.items() if k[1] != "import"}))
    rows = [r for r in targets(results) if not options.workloads or r.workload in options.workloads]
    console.print(judged(rows))
    missed = [r for r in rows if r.is_reached is False]
    console.print(f"{sum(r.is_reached is True for r in rows)} reached, {len(missed)} not, of {len(rows)}")
    wrong = [f"{library}: {name}" for (library, name), found in results.items() if "wrong" in found]
    if options.json:
        options.json.write_text(
            json.dumps({f"{library}: {name}": found for (library, name), found in results.items()}, indent=1)
        )
    if wrong:
        sys.exit(f"wrong results: {'; '.join(wrong)}")


if __name__ == "__main__":
    main()

"""Compare libraries on rows of one table, each row and library in a process of its own.

    python -m benchmarks.rows MODULE NUMBER LIBRARY WORK SECONDS BYTES    (one of these processes)

A module has a function ``rows(quick)`` that returns its rows. What a library computes is compared with the row's
reference, so that no time stands in a table beside a wrong result; not even NaN, unless the reference has it too.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import measuring
from benchmarks.checks import between, worst
from benchmarks.measuring import Figures, load, megabytes, ratio, seconds
from benchmarks.picture import picture

Make = Callable[..., Callable[[], Any]]
"""Given the inputs, return the call that is timed; what it returns is compared, and it waits for it."""


@dataclass(frozen=True)
class Row:
    """One problem, and how each library solves it; the first is ours, the second the one to compare with."""

    name: str
    inputs: Callable[[], tuple[Any, ...]]
    by: dict[str, Make]
    near: float = 1e-6
    """The greatest relative error of a right result."""
    reference: str | Callable[..., Any] = ""
    """The library whose result is right, or a function of the inputs that returns it; else the second library."""
    why: dict[str, str] = field(default_factory=dict)
    """The reason why a library is not there."""

    @property
    def measured_against(self) -> str:
        return self.reference if isinstance(self.reference, str) and self.reference else "a function"


def one(module: str, number: str, library: str, work: str, budget: str, bytes_: str) -> None:
    measuring.limit_memory(float(bytes_))
    row = importlib.import_module(f"benchmarks.{module}").rows("--quick" in sys.argv)[int(number)]
    inputs = row.inputs()
    if library == "reference":
        measuring.save(Path(work), "reference", row.reference(*inputs))
        return
    call = row.by[library](*inputs)
    found = measuring.timed(call, float(budget))
    measuring.save(Path(work), library, found)


def compared(module: str, number: int, row: Row, args: argparse.Namespace) -> Figures:
    """Measure a row with all of its libraries, in turns."""
    quick = ["--quick"] if args.quick else []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        found: dict[str, Figures] = {}

        def task(library: str, budget: float) -> Figures:
            at_most = args.memory_gb * 1e9
            words = (module, number, library, work, budget, at_most, *quick)
            return measuring.run_task("benchmarks.rows", *words, timeout_s=args.timeout)

        if callable(row.reference):
            said = task("reference", 0)
            if "failed" in said:
                print(f"{row.name}, reference: {said['failed']}", file=sys.stderr)
        for k in range(args.rounds):
            for library in row.by:
                before = found.get(library, {})
                if k and ("failed" in before or before["first_s"] > 20):
                    continue
                found[library] = measuring.least(before, task(library, args.seconds))
        names = list(row.by)
        right = "reference" if callable(row.reference) else row.reference or names[min(1, len(names) - 1)]
        wanted = load(work, right)
        for library, figures in found.items():
            got = load(work, library)
            if got and wanted:
                figures["error"] = between(got, wanted)
                figures["right"] = worst(figures["error"]) <= row.near
        return {"name": row.name, "by": found, "reference": right}


def verdict(row: Figures, library: str) -> str:
    figures = row["by"][library]
    if "failed" in figures:
        return f"{library}: {figures['failed'][:90]}"
    if "right" not in figures:
        return f"{library}: nothing to compare with"
    return "" if figures["right"] else f"{library}: WRONG, {figures['error']:.1e} from {row['reference']}"


def table(rows: list[Figures], why: dict[str, dict[str, str]]) -> str:
    lines = [["row", "library", "first", "each", "median", "times ours", "first/ours", "MB", "MB in runs", "error"]]
    lines[0].append("")
    for row in rows:
        ours = next(iter(row["by"].values()))
        for k, (library, f) in enumerate(row["by"].items()):
            error = f.get("error")
            lines.append([
                row["name"] if not k else "", library, seconds(f.get("first_s")), seconds(f.get("each_s")),
                seconds(f.get("median_s")), ratio(f.get("each_s"), ours.get("each_s")) if k else "",
                ratio(f.get("first_s"), ours.get("first_s")) if k else "", megabytes(f.get("first_peak")),
                megabytes(f.get("peak")), "-" if error is None else "0" if not error else f"{error:.0e}",
                verdict(row, library),
            ])  # fmt: skip
    said = [f"{name}: {library}: {words}" for name, reasons in why.items() for library, words in reasons.items()]
    return "\n".join([measuring.aligned(lines), *said])


def summary(rows: list[Figures]) -> list[str]:
    """Return the geometric means of the ratios of each other library to ours, where both are right."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        ours = next(iter(row["by"].values()))
        for library, f in list(row["by"].items())[1:]:
            if ours.get("right") and f.get("right") and "each_s" in f and "each_s" in ours:
                pair = f["each_s"] / ours["each_s"], f["first_s"] / ours["first_s"]
                found.setdefault(library, []).append(pair)
    lines = []
    for library, pairs in found.items():
        each, first = ([p[k] for p in pairs] for k in (0, 1))
        lines.append(
            f"{library} / ours: each {measuring.mean(each)}, slower on {sum(e < 1 for e in each)}; "
            f"first {measuring.mean(first)}, slower on {sum(e < 1 for e in first)}"
        )
    return lines


def main(module: str, title: str, describe: str | None) -> list[Figures]:
    parser = argparse.ArgumentParser(description=describe, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of rows")
    parser.add_argument("--quick", action="store_true", help="smaller inputs")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5, help="of calls that are timed, for each library")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for each process")
    parser.add_argument("--memory-gb", type=float, default=8.0, help="for each process")
    parser.add_argument("--json", type=Path, help="write the figures into this file; rows in it are not measured again")
    parser.add_argument("--picture", type=Path, help=f"draw the ratios into this SVG; else into build/{module}.svg")
    parser.add_argument("--cpu", action="store_true", help="show the times of the processor, on a machine that is busy")
    args = parser.parse_args()
    rows = importlib.import_module(f"benchmarks.{module}").rows(args.quick)
    known: dict[str, Figures] = json.loads(args.json.read_text()) if args.json and args.json.exists() else {}
    found: list[Figures] = []
    for k, row in enumerate(rows):
        if args.names and not any(part in row.name for part in args.names):
            continue
        start = time.perf_counter()
        if row.name not in known:
            known[row.name] = compared(module, k, row, args)
            if args.json:
                args.json.write_text(json.dumps(known, indent=1))
            print(f"{row.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        found.append(known[row.name])
    if args.cpu:
        found = measuring.of_processor(found)
    print(title)
    print(table(found, {row.name: row.why for row in rows if row.why and row.name in known}))
    print("\n".join(summary(found)))
    drawn = args.picture or measuring.HERE / "build" / f"{module}.svg"
    drawn.parent.mkdir(parents=True, exist_ok=True)
    drawn.write_text(picture(title, found))
    print(f"the picture is {drawn}")
    wrong = [row["name"] for row in found if not next(iter(row["by"].values())).get("right")]
    if wrong:
        sys.exit(f"no results, or wrong ones: {', '.join(wrong)}")
    return found


if __name__ == "__main__":
    one(*[a for a in sys.argv[1:] if a != "--quick"])

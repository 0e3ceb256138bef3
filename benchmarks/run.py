"""Run every benchmark in a process of its own: ``make bench``; ``--quick`` leaves out what is slow.

A benchmark that fails, or finds a wrong result, does not stop the others; they are named at the end.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FIRST = ("tape", "passes", "first_calls", "calls", "contract", "memory", "watching", "unrolled", "loops")
LAST = ("gradbench", "workloads", "ratios", "rivals")  # what must be reached
APART = ("npbench", "nist")  # they need a folder (make bench-npbench), and a package


def in_order() -> list[str]:
    """Return the names of all benchmarks that there are."""
    there = {path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py")}
    return [*FIRST, *sorted(there - {*FIRST, *LAST, *APART}), *LAST]


def main() -> None:
    failed = []
    for name in in_order():
        print(f"== {name} ==", flush=True)
        command = [sys.executable, "-m", f"benchmarks.bench_{name}", *sys.argv[1:]]
        if subprocess.run(command, cwd=Path(__file__).parent.parent, check=False).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"failed, or wrong: {', '.join(failed)}")


if __name__ == "__main__":
    main()

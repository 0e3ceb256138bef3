"""Run every benchmark in a process of its own: ``make bench``; ``--quick`` leaves out what is slow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# What must be reached comes last.
IN_ORDER = ("tape", "passes", "first_calls", "calls", "contract", "memory", "ratios", "unrolled", "scipy", "rivals")

if __name__ == "__main__":
    for name in IN_ORDER:
        print(f"== {name} ==", flush=True)
        command = [sys.executable, "-m", f"benchmarks.bench_{name}", *sys.argv[1:]]
        subprocess.run(command, cwd=Path(__file__).parent.parent, check=True)

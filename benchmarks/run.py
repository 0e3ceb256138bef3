"""Every benchmark, one after the other, each in a process of its own: ``make bench``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    here = Path(__file__).parent
    for path in sorted(here.glob("bench_*.py")):
        print(f"== {path.stem} ==", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{path.stem}"], cwd=here.parent, check=True)

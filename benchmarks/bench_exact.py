"""Measure the hundred scripts of ``tests/acceptance/scripts`` as they are, and inside ``wg.exact()``.

``python -m benchmarks.bench_exact [--quick] [--fresh] [--eager] [WORD ...]``: of scripts whose names have a word. Each
is run in one process by turns, plain and exact, and the least time of the processor is taken; its evaluations are
counted in runs of their own. ``--fresh`` measures whole processes as well: ``python script.py``, the same after
``import wengert``, and ``python -m wengert run script.py``.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # so that times of the processor are those of one thread

from tests.acceptance.exact_scripts import SCRIPTS, run, same

OF_A_PROCESS = {
    "python": lambda path: [sys.executable, path],
    "import": lambda path: [
        sys.executable, "-c", f"import wengert, runpy; runpy.run_path({path!r}, run_name='__main__')",
    ],
    "exact": lambda path: [
        sys.executable, "-c",
        f"import wengert as wg, runpy\nwith wg.exact(quiet=True): runpy.run_path({path!r}, run_name='__main__')",
    ],
    "run": lambda path: [sys.executable, "-m", "wengert", "run", "--quiet", path],
}  # fmt: skip


def of_process(command: list[str]) -> float:
    """Return the seconds of the processor that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    for option in ("quick", "fresh", "eager"):
        parser.add_argument(f"--{option}", action="store_true")
    given = parser.parse_args()
    names = [n for n in SCRIPTS if not given.words or any(word in n for word in given.words)]
    names = names[::7] if given.quick else names
    wrong, ratios, fewer, fresh, total = [], [], [], {k: [] for k in OF_A_PROCESS}, [0.0, 0.0]
    for name in names:
        calls = [run(name, is_exact=e, is_eager=given.eager, counts=True).calls for e in (False, True)]
        plain, exact = [], []
        for _ in range(3):
            plain.append(run(name, is_exact=False))
            exact.append(run(name, is_exact=True, is_eager=given.eager))
        seconds = [min(r.seconds for r in runs) for runs in (plain, exact)]
        is_same = same(plain[0].result, exact[0].result)
        wrong += [] if is_same else [name]
        ratios.append(seconds[1] / seconds[0])
        fewer.append(calls[0] / max(calls[1], 1))
        total = [a + b for a, b in zip(total, seconds, strict=True)]
        row = f"{name:30s} {'same' if is_same else 'OTHER':5s} calls {calls[0]:7d} {calls[1]:6d} x{fewer[-1]:5.1f}"
        row += f"   s {seconds[0]:7.4f} {seconds[1]:7.4f} x{ratios[-1]:5.2f}"
        if given.fresh:
            found = {k: min(of_process(make(str(SCRIPTS[name]))) for _ in range(2)) for k, make in OF_A_PROCESS.items()}
            for k, s in found.items():
                fresh[k].append(s)
            row += "   fresh s " + " ".join([f"{k} {s:.3f}" for k, s in found.items()])
        print(row, "; ".join(exact[0].kept.values())[:60], flush=True)
    print(f"{len(names)} scripts, {len(names) - len(wrong)} with the same result; evaluations divided by", end=" ")
    print(f"{statistics.median(fewer):.1f} in the median, {max(fewer):.0f} at most")
    print(f"warm, all together: {total[0]:.2f} s plain, {total[1]:.2f} s exact, x{total[1] / total[0]:.2f}")
    if given.fresh:
        for a, b in (("import", "exact"), ("python", "run")):
            each = [y / x for x, y in zip(fresh[a], fresh[b], strict=True)]
            print(f"fresh, {b} beside {a}: median x{statistics.median(each):.2f}, at most x{max(each):.2f}", end="; ")
            print(f"all together x{sum(fresh[b]) / sum(fresh[a]):.2f}")
    if wrong:
        sys.exit(f"other results: {', '.join(wrong)}")


if __name__ == "__main__":
    main()

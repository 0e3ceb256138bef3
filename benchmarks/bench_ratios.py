"""Compare the cost of a gradient with that of its function, both compiled, for a dozen kinds of program.

They are loops over elements, views, Kronecker products, scalar code, a perceptron, a Gaussian process. No gradient may
take more than ten times as long as its function, called or bound. Each is compared with differences of the NumPy
function before it is timed.
"""

from __future__ import annotations

import sys

from benchmarks.processes import is_wrong, run
from benchmarks.workloads import COLLECTION

from rich.console import Console  # isort: skip
from rich.table import Table  # isort: skip

MOST = 10.0


def main() -> None:
    table = Table(title=f"gradient / function, at most {MOST:.0f}")
    titles = ("workload", "instructions", "kernels", "forward bound", "bound", "ratio", "forward", "called", "ratio")
    wrong = []
    for title in (*titles, "error", "reached"):
        table.add_column(title, no_wrap=True)
    for name in COLLECTION:
        found = run("wengert", name)
        if "failed" in found:
            table.add_row(name, found["failed"][:100])
            continue
        bound = found["bound"].least / found["forward bound"].least
        called = found["called"].least / found["forward"].least
        table.add_row(
            name,
            str(found["instructions"]),
            f"{found['kernels']}" + (f" ({found['callbacks']} callbacks)" if found["callbacks"] else ""),
            str(found["forward bound"]),
            str(found["bound"]),
            f"{bound:.2f}",
            str(found["forward"]),
            str(found["called"]),
            f"{called:.2f}",
            f"{found['error']:.0e}",
            "WRONG" if is_wrong(found) else "[green]yes[/]" if max(bound, called) <= MOST else "[bold red]NO[/]",
        )
        if is_wrong(found):
            wrong.append(name)
    Console(width=None if sys.stdout.isatty() else 170).print(table)
    if wrong:
        sys.exit(f"wrong results: {'; '.join(wrong)}")


if __name__ == "__main__":
    main()

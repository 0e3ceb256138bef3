"""``python -m tests.packages``: every package in a process of its own, and the table of what was found.

``--out`` has the lines of each package, so that a run that was stopped goes on; ``--only`` names packages; ``--users``
measures in a second process what a call costs where the package's files are the user's own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.packages.cases import GROUPS

SECONDS = 1200
"""For one package."""
MOST = 1.1
"""Times what the same code costs in the user's file, a call may cost."""

Row = dict[str, Any]


def rows_of(name: str, out: Path, is_users: bool) -> list[Row]:
    """What was found of a package, now or before."""
    path = out / f"{name}{'-users' if is_users else ''}.jsonl"
    done = out / f"{path.stem}.done"
    if not done.exists():
        path.unlink(missing_ok=True)
        call = [sys.executable, "-m", "tests.packages.check", name, "--out", str(path)]
        with (out / f"{path.stem}.log").open("w") as log:
            ended = subprocess.run(
                [*call, *["--users"] * is_users], stdout=log, stderr=log, timeout=SECONDS, check=False
            ).returncode
        if ended != 0:
            with path.open("a") as lines:
                lines.write(json.dumps({"package": name, "kind": "process", "jit": f"DIED with {ended}"}) + "\n")
        done.touch()
    return [json.loads(line) for line in path.read_text().splitlines()]


def kind_of(verdict: str) -> str:
    return verdict.split()[0].rstrip(":") if verdict else ""


def is_again(row: Row) -> bool:
    """Whether a jitted function that is right was traced again at calls that differ in nothing but numbers."""
    return row["kind"] == "function" and row["jit"] == "right" and (bool(row["again"]) or row["traces"] > 2)


def report(rows: list[Row], users: list[Row]) -> str:
    by_case = {(row["package"], row.get("case")): row for row in users}
    lines = []
    for row in rows:
        notes = []
        if row["kind"] == "function":
            known = by_case.get((row["package"], row["case"]), {})
            if "call_s" in row and "call_s" in known:
                notes.append(f"{row['call_s'] / known['call_s']:.2f} of the user's")
            if "first_s" in row:
                notes.append(f"first {row['first_s']:.2f} s")
            if is_again(row):
                notes.append(f"AGAIN {row['traces']} {row['again']}"[:160])
            if row.get("plain_calls"):
                notes.append(f"{row['plain_calls']} calls by Python")
        what = row.get("change") or row.get("call", "")
        verdicts = {row.get("plain"), row["jit"]} - {None}
        lines.append(f"{row['package']:16} {what[:70]:70} {' / '.join(sorted(verdicts))[:240]}  {'; '.join(notes)}")
    functions = [row for row in rows if row["kind"] == "function"]
    changes = [row for row in rows if row["kind"] == "change"]
    rights = [row for row in functions if row["jit"] == "right"]
    ratios = [
        row["call_s"] / by_case[row["package"], row["case"]]["call_s"]
        for row in rights
        if "call_s" in row and "call_s" in by_case.get((row["package"], row["case"]), {})
    ]
    lines += [
        "",
        f"packages {len({row['package'] for row in rows})}",
        f"functions {len(functions)}: plain {dict(Counter(kind_of(row['plain']) for row in functions))}, "
        f"jitted {dict(Counter(kind_of(row['jit']) for row in functions))}",
        f"traced again {sum(map(is_again, rights))}; answered by Python {sum(bool(r['plain_calls']) for r in rights)}",
        f"changes {len(changes)}: {dict(Counter(kind_of(row['jit']) for row in changes))}",
        f"calls that cost more than {MOST} times the user's: {sum(r > MOST for r in ratios)} of {len(ratios)}",
        "",
        "refused, by reason:",
        *(
            f"{count:4} {why}"
            for why, count in Counter(
                verdict.partition(": ")[2][:110] or verdict
                for row in rows
                for verdict in {row.get("plain", ""), row["jit"]}
                if verdict.startswith(("refused", "absent", "table"))
            ).most_common()
        ),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.packages")
    parser.add_argument("--out", type=Path, default=Path("/tmp/packages"))
    parser.add_argument("--only", nargs="*", choices=[g.name for g in GROUPS])
    parser.add_argument("--users", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    users: list[Row] = []
    for group in GROUPS:
        if not options.only or group.name in options.only:
            rows += rows_of(group.name, options.out, False)
            if options.users:
                users += rows_of(group.name, options.out, True)
            print(group.name, flush=True)
    text = report(rows, users)
    (options.out / "table.txt").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()

"""``python -m tests.random_programs --kind state --count 1000 --seed 1``: many programs, each by its kind and number.

Where it stopped stands in the folder ``--out``, with the counts; the same call goes on from there. A failure becomes a
file there: the program, made small, and what it gave.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import signal
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from tests.random_programs.check import SECONDS, Failure, Pick, Run, Skipped, chosen, in_every_way, in_time
from tests.random_programs.module import MIX, Written, write
from tests.random_programs.plain import stand_in
from tests.random_programs.shrink import shrunk


def outcome(written: Written, kind: str, ways: Pick) -> tuple[str, Counter[str]]:
    """How a program ends: "right", "skipped" with a reason, or what failed."""
    run = Run(written, kind)
    try:
        in_every_way(run, ways)
    except Skipped as why:
        return f"skipped {why}", run.found
    except Failure as failure:
        return f"FAILED {failure.way}", run.found
    except Exception as error:  # any is a finding, and the next program is run
        return f"FAILED {type(error).__name__} {place(error)}", run.found
    return "right", run.found


def place(error: BaseException) -> str:
    """Where an error was raised, in wengert's files if it was there."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f for f in frames if "/wengert/" in f.filename] or list(frames)
    return f"{Path(inside[-1].filename).name}:{inside[-1].name}"


def report(written: Written, kind: str, ways: Pick) -> str:
    """The program and its failure, as text that runs."""
    run = Run(written, kind)
    try:
        in_every_way(run, ways)
        said = "not again"
    except Exception:  # any: its text is what is asked for
        said = traceback.format_exc()
    edits = "\n".join(f"# edits {k + 1}: {e}" for k, e in enumerate(written.edits))
    of = f"# shapes {written.program.shapes}, seed {written.program.seed}"
    return f"{of}\n{edits}\n\n{written.text}\n\n'''\n{said}\n'''\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.random_programs")
    parser.add_argument("--kind", choices=[*MIX, "each"], default="each")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("/tmp/random_programs"))
    parser.add_argument("--no-shrink", action="store_true")
    options = parser.parse_args()
    faulthandler.enable()
    for kind in MIX if options.kind == "each" else [options.kind]:
        many(kind, options)


def many(kind: str, options: Any) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    kept = options.out / f"{kind}-{options.seed}.json"
    state: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {"done": 0, "found": {}, "seconds": 0.0}
    found = Counter[str](state["found"])
    start = time.monotonic() - state["seconds"]
    at = options.out / f"{kind}-{options.seed}.at"
    if at.exists():  # the process ended in the middle of a program
        n = int(at.read_text() or 0)
        found["FAILED crash"] += 1
        (options.out / f"{kind}-{n}-crash.txt").write_text(f"{kind} {n}")
        state["done"] = max(state["done"], n - options.seed * 10**7 + 1)
    stops: list[int] = []
    signal.signal(signal.SIGTERM, lambda n, _: stops.append(n))  # between two programs
    for n in range(state["done"], options.count):
        seed = options.seed * 10**7 + n
        at.write_text(str(seed))
        one(kind, seed, found, options)
        if (n + 1) % 50 == 0 or n + 1 == options.count or stops:
            state |= {"done": n + 1, "found": dict(found.most_common()), "seconds": time.monotonic() - start}
            kept.write_text(json.dumps(state, indent=1))
        if stops:
            at.unlink()
            raise SystemExit(1)
    at.unlink(missing_ok=True)
    failed = sum(v for k, v in found.items() if k.startswith("FAILED"))
    seconds = time.monotonic() - start
    print(f"{kind}: {options.count} programs, {found['right']} right, {failed} failed, {seconds:.0f} s", flush=True)


def one(kind: str, seed: int, found: Counter[str], options: Any) -> None:
    try:
        with in_time():
            written = write(kind, seed, stand_in(kind))
    except AssertionError:
        found["skipped writing takes long"] += 1
        return
    ways = chosen(seed)
    said, ran = outcome(written, kind, ways)
    found.update(ran)
    found[said] += 1
    if not said.startswith("FAILED"):
        return
    if found[said] <= 6 and not options.no_shrink:
        until = time.monotonic() + SECONDS
        written = shrunk(written, lambda w: time.monotonic() < until and outcome(w, kind, ways)[0] == said)
    if found[said] <= 40:
        name = "".join(c if c.isalnum() else "_" for c in said)[:60]
        (options.out / f"{kind}-{seed}-{name}.py").write_text(report(written, kind, ways))
    print(f"{kind} {seed}: {said}", flush=True)


if __name__ == "__main__":
    main()

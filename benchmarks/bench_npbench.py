"""Compare NPBench's NumPy programs, unmodified, with their ports to JAX: gradients, values, first calls and memory.

    make bench-npbench NPBENCH=folder
    python -m benchmarks.bench_npbench FOLDER [name ...] [--size M] [--rounds 2] [--out FILE] [--fresh] [--cpu]

The folder is a clone of https://github.com/spcl/npbench. :mod:`benchmarks.npbench` says what is measured. Each task of
a program runs in a process of its own, on one core, with an empty cache of kernels, a limit of time and one of memory.

The objective is made of those outputs that the port returns with the values that NumPy computes; the rest are named
below the table, as is a port that returns none, or has no reverse mode. A gradient is right if it is near the port's,
or if its slope along a random direction is that of differences. What has been measured is kept in a file, and is not
measured again; ``--fresh`` does.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.checks import Arrays, distance, worst
from benchmarks.measuring import (
    HERE,
    aligned,
    least,
    load,
    mean,
    megabytes,
    of_processor,
    ratio,
    run_task,
    seconds,
)

import numpy as np  # isort: skip

Row = dict[str, Any]
Output = tuple[str, int]
FLOOR = 1e-6
"""Below this part of the objective, for a relative change of the inputs, a gradient counts as zero."""


def measured(args: argparse.Namespace, name: str) -> Row:
    """Return all figures of a program, and the verdict."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)

        def task(what: str) -> Row:
            words = (args.folder, name, args.size, what, work, args.seconds, args.memory_gb * 1e9)
            return run_task("benchmarks.npbench", *words, timeout_s=args.timeout)

        numpy = task("numpy")
        row: Row = {"name": name, "size": args.size, "numpy": numpy}
        if "outputs" not in numpy:
            return row
        if not numpy["active"] or not numpy["outputs"]:
            row["skipped"] = "no arrays of floats come in" if not numpy["active"] else "no floats come out"
            return row
        outputs: list[Output] = [(kind, k) for kind, k in numpy["outputs"]]
        ports = {suffix: task(f"{suffix} forward") for suffix in numpy["suffixes"]}
        wanted = in_common(outputs, list(ports.values()))
        (work / "objective.json").write_text(json.dumps(wanted))
        for suffix, port in ports.items():
            matched = port.get("matched") or [None] * len(outputs)
            places = [matched[outputs.index(o)] for o in wanted]
            port["fits"] = None not in places
            (work / f"places-{suffix}.json").write_text(json.dumps(places))
        for k in range(args.rounds):
            for library in ["wengert", *[s for s in ports if ports[s]["fits"]]]:
                before = row.get(library, {})
                if not k or ("failed" not in before and before["first_s"] < 20):
                    row[library] = least(before, task(library))
        row["wengert"] |= task("wengert forward")
        row |= {"ports": ports, "objective": wanted, "differences": task("differences")}
        values = [v for o, v in zip(outputs, load(work, "outputs"), strict=True) if o in wanted]
        return row | judged(row, work, values)


def in_common(outputs: list[Output], ports: list[Row]) -> list[Output]:
    """Return the outputs that all ports have that have any; all outputs if there is no such port."""
    fitting = [p["matched"] for p in ports if any(m is not None for m in p.get("matched") or [])]
    return [o for k, o in enumerate(outputs) if all(matched[k] is not None for matched in fitting)] or outputs


def judged(row: Row, work: Path, values: Arrays) -> Row:
    """Return whether gradient and values are right, and how far they are from what they were compared with."""
    numpy, ours = row["numpy"], load(work, "gradient-wengert")
    near, wide = (2e-3, 3e-2) if numpy["single"] else (1e-6, 1e-4)
    floors = [FLOOR * abs(numpy["objective"]) / (numpy["sizes"][k] or 1.0) for k in numpy["active"]]
    errors = {}
    for suffix in row["ports"]:
        theirs = load(work, f"gradient-{suffix}")
        if ours and theirs:
            errors[suffix] = max(map(distance, ours, theirs, floors), key=worst)
    slope, error = (row["differences"].get(key, math.nan) for key in ("slope", "slope_error"))
    along = row["differences"].get("along", {})
    size = max([abs(v) for v in [*along.values(), slope] if math.isfinite(v)], default=0.0)
    size = max(size, FLOOR * abs(numpy["objective"]), 1e-300)
    steady = error < wide * size
    gaps = {library: abs(v - slope) / size for library, v in along.items()}
    found: Row = {"errors": errors, "steady": steady, "from_differences": gaps}
    if not ours:
        return found | {"verdict": "refused"}
    if numpy["finite"] and not all(np.isfinite(g).all() for g in ours):
        return found | {"verdict": "WRONG: not finite"}
    agrees = [suffix for suffix, e in errors.items() if worst(e) < near]
    if agrees:
        verdict = "right"
    elif steady and gaps.get("wengert", math.inf) < wide:
        verdict = "right by differences"
    elif steady or any(math.isfinite(e) for e in errors.values()):
        verdict = "WRONG"
    else:  # differences do not settle, and the port's gradient is NaN, or there is none
        forward = row["differences"].get("forward_mode", math.nan)
        gap = abs(forward - along.get("wengert", math.nan)) / max(abs(forward), 1e-300)
        verdict = "as forward mode" if gap < near else "not checked"
    computed = load(work, "values-wengert")
    found["value_error"] = max(map(distance, computed, values), key=worst, default=math.nan)
    return found | {"verdict": verdict if worst(found["value_error"]) < near else f"{verdict}; value WRONG"}


# The table


def best_port(row: Row) -> tuple[str, Row]:
    """Return the port with the fastest gradient, and its figures; nothing if no port has one."""
    there = [s for s in row.get("ports", {}) if "each_s" in row.get(s, {})]
    suffix = min(there, key=lambda s: row[s]["each_s"], default="")
    return suffix, row[suffix] if suffix else {}


COLUMNS = (
    "program", "first", "jax", "jax/ours", "each", "median", "jax", "median", "jax/ours", "MB", "jax", "MB later",
    "jax", "numpy", "forward", "numpy/ours", "jax", "grad/numpy", "kernels", "verdict, with the error",
)  # fmt: skip


def cells(row: Row) -> list[str]:
    if "skipped" in row or "ports" not in row:
        said = f"left out: {row['skipped']}" if "skipped" in row else f"NumPy: {row['numpy'].get('failed')}"
        return [row["name"], *["-"] * (len(COLUMNS) - 2), said]
    ours, (suffix, jax) = row["wengert"], best_port(row)
    forward = row["ports"].get(suffix) or next(iter(row["ports"].values()), {})
    plain, name = row["numpy"].get("numpy_forward_each_s"), row["name"] + (" (lib)" if suffix.endswith("lib") else "")
    f, j = ours.get, jax.get
    return [
        name, seconds(f("first_s")), seconds(j("first_s")), ratio(j("first_s"), f("first_s")),
        seconds(f("each_s")), seconds(f("median_s")), seconds(j("each_s")), seconds(j("median_s")),
        ratio(j("each_s"), f("each_s")),
        megabytes(f("first_peak")), megabytes(j("first_peak")), megabytes(f("peak")), megabytes(j("peak")),
        seconds(plain), seconds(f("forward_each_s")), ratio(plain, f("forward_each_s")),
        seconds(forward.get("forward_each_s")), ratio(f("each_s"), plain), str(f("kernels", "-")),
        row["verdict"] + accuracy(row),
    ]  # fmt: skip


def accuracy(row: Row) -> str:
    if row["verdict"] == "right" and row["errors"]:
        return f", {min(row['errors'].values(), key=worst):.0e} from JAX"
    gap = row["from_differences"].get("wengert")
    return "" if gap is None else f", {gap:.0e} from differences"


def notes(row: Row) -> list[str]:
    """Return what has to be said of a program beside its figures."""
    if "ports" not in row:
        return []
    said, ours = [], row["wengert"]
    if "failed" in ours:
        said.append(f"wengert: {ours['failed']}")
    if any(key in ours for key in ("unrepeatable", "why_plain")):
        said.append(f"wengert: {ours.get('unrepeatable', '')} {ours.get('why_plain', '')}")
    if not row["ports"]:
        said.append("there is no port to JAX")
    names, wanted = row["numpy"]["names"], [tuple(o) for o in row["objective"]]
    for kind, k in row["numpy"]["outputs"]:
        if (kind, k) not in wanted:
            what = f"what is written to {names[k]}" if kind == "written" else f"result {k}"
            said.append(f"the objective leaves out {what}, which a port does not return")
    for suffix, port in row["ports"].items():
        theirs = row.get(suffix, {})
        if "failed" in port:
            said.append(f"{suffix}, forward: {port['failed']}")
        elif not port["fits"]:
            said.append(f"{suffix} does not return what NumPy computes: nearest {port.get('nearest')}")
        if strict := theirs.get("strict") or port.get("strict"):
            said.append(f"{suffix} runs without its outermost jit, with which: {strict[:120]}")
        if "failed" in theirs:
            said.append(f"{suffix}, gradient: {theirs['failed']}")
        gap, error = row["from_differences"].get(suffix), row["errors"].get(suffix)
        if gap is not None and row["steady"] and not gap < 3e-2:
            said.append(f"{suffix}: its gradient is {gap:.0e} from differences")
        elif error is not None and not error < 2e-3:
            said.append(f"{suffix}: its gradient is {error:.0e} from ours")
    if not row["steady"]:
        said.append("differences of NumPy's program do not settle")
    return said


def summary(rows: list[Row]) -> list[str]:
    of_floats = [r for r in rows if "ports" in r]
    right = [r for r in of_floats if r["verdict"].startswith("right")]
    pairs = [(r["wengert"], best_port(r)[1]) for r in right if best_port(r)[0] and "each_s" in r["wengert"]]
    forward = [
        (r["numpy"]["numpy_forward_each_s"], r["wengert"]["forward_each_s"])
        for r in of_floats
        if "forward_each_s" in r["wengert"]
    ]

    def compared(key: str, least: float = 0.0) -> str:
        ratios = [max(jax[key], least) / max(ours[key], least) for ours, jax in pairs]
        return (
            f"{mean(ratios)}, below 1 on {sum(r < 1 for r in ratios)}, below a half on {sum(r < 0.5 for r in ratios)}"
        )

    total = sum(jax["each_s"] for _, jax in pairs) / max(sum(ours["each_s"] for ours, _ in pairs), 1e-12)
    return [
        f"right: {len(right)} of {len(of_floats)} programs with arrays of floats",
        f"JAX / ours, each gradient: {compared('each_s')}; of the sum {total:.2f}",
        f"JAX / ours, first gradient: {compared('first_s')}",
        f"JAX / ours, peak memory of the first gradient: {compared('first_peak', 1e6)}",
        f"JAX / ours, peak memory of later ones: {compared('peak', 1e6)}",
        f"NumPy / ours, the program itself: {mean([n / o for n, o in forward])}, below 1 on "
        f"{sum(n < o for n, o in forward)}",
    ]


def table(rows: list[Row]) -> str:
    rows = sorted(rows, key=lambda r: r["name"])
    said = [f"{row['name']}: {note}" for row in rows for note in notes(row)]
    return "\n".join([aligned([list(COLUMNS), *map(cells, rows)]), "", *summary(rows), "", *said])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--size", default="S", choices=["S", "M", "L", "paper"])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0, help="of calls that are timed, for each task")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for each task")
    parser.add_argument("--memory-gb", type=float, default=8.0, help="for each task")
    parser.add_argument("--out", type=Path, help="the file of results: build/npbench-SIZE.json, if none is given")
    parser.add_argument("--fresh", action="store_true", help="measure again what stands in the file")
    parser.add_argument("--cpu", action="store_true", help="show the times of the processor, on a machine that is busy")
    args = parser.parse_args()
    args.folder = args.folder.resolve()
    out = args.out or HERE / "build" / f"npbench-{args.size}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    known: dict[str, Row] = json.loads(out.read_text()) if out.exists() else {}
    names = sorted(p.stem for p in (args.folder / "bench_info").glob("*.json"))
    if not names:
        parser.error(f"{args.folder} is no clone of NPBench: it has no bench_info")
    names = [n for n in names if n in args.names or not args.names]
    for name in names:
        if name not in known or args.fresh:
            start = time.perf_counter()
            known[name] = measured(args, name)
            out.write_text(json.dumps(known, indent=1))
            said = known[name].get("verdict", "left out")
            print(f"{name}: {said}, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    rows = [known[name] for name in names]
    print(table([of_processor(row) for row in rows] if args.cpu else rows))


if __name__ == "__main__":
    main()

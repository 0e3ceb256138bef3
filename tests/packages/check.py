"""Run one package's cases, in this process, and write what was found, a line of JSON each.

``python -m tests.packages.check psychrolib --out found.jsonl``. With ``--users`` the package's files are linked into
the folder of the user's module, before those that are installed, so that they count as the user's own: what a call
costs there is what it may cost here.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import json
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from tests.packages.cases import GROUPS, Change, Function, Group

SECONDS = 60
"""For one case."""
CALLS = 5
"""With other inputs each."""
Found = dict[str, Any]


class TooLong(BaseException):
    """No Exception, so that no package catches it."""


def module_of(group: Group, folder: Path) -> Any:
    """The user's module: the package's import, and a function for each case."""
    lines = ["import numpy as np", *group.setup.splitlines()]
    for k, case in enumerate((*group.functions, *group.changes)):
        lines += ["", "", f"def f{k}(x):", f"    return np.sum({case.call})"]
    (folder / "users_module.py").write_text("\n".join(lines) + "\n")
    return importlib.import_module("users_module")


def link_as_users(group: Group, folder: Path) -> None:
    """Let the package be found in ``folder``, under the path that it has there."""
    for name in group.modules:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise ImportError(name)
        path = Path(spec.origin)
        path = path.parent if path.name == "__init__.py" else path
        (folder / path.name).symlink_to(path)


# ------------------------------------------------------------------------------------------------------- derivatives


def differences(f: Callable[[Any], Any], x: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The gradient by central differences of fourth order, and what may be wrong with it, by a second step."""
    first, second = (np.array([_slope(f, x, k, step) for k in range(x.size)]).reshape(x.shape) for step in (1e-4, 3e-4))
    return first, np.abs(first - second)


def _slope(f: Callable[[Any], Any], x: np.ndarray[Any, Any], k: int, step: float) -> float:
    h = step * max(1e-3, abs(float(x.flat[k])))
    values = []
    for times in (-2, -1, 1, 2):
        at = x.copy()
        at.flat[k] += times * h
        values.append(float(f(at)))
    return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)


def is_gradient(g: Any, expected: np.ndarray[Any, Any], doubt: np.ndarray[Any, Any]) -> bool:
    scale = float(np.max(np.abs(expected))) + 1e-300
    return bool(np.all(np.abs(np.asarray(g) - expected) <= 1e-6 * np.abs(expected) + 1e-7 * scale + 20 * doubt))


def is_value(y: Any, expected: Any) -> bool:
    return bool(np.allclose(y, expected, rtol=1e-10, atol=1e-12 * abs(float(expected))))


# ------------------------------------------------------------------------------------------------------------- cases


def said(error: BaseException) -> str:
    """The first line of an error, and whose it is."""
    line = (str(error).splitlines() or [""])[0]
    return f"{type(error).__module__}.{type(error).__name__}: {line}"[:300]


def attempt(what: Callable[[], str]) -> str:
    """What ``what`` says; "refused ..." if it raises."""
    try:
        return what()
    except Exception as error:  # whatever a package makes of a refusal: its text is what is counted
        return f"refused {said(error)}"


def function_found(f: Callable[[Any], Any], case: Function) -> Found:
    x = np.array(case.inputs, dtype=float)
    points = [x * (1 + 0.004 * k * np.cos(np.arange(x.size) + k)).reshape(x.shape) for k in range(CALLS)]
    values = [float(f(p)) for p in points]
    slopes = [differences(f, p) for p in points[:2]]
    if float(np.max(slopes[0][1])) > 1e-4 * float(np.max(np.abs(slopes[0][0])) + 1e-300):
        return {"plain": "unsmooth", "jit": "unsmooth"}

    def plain() -> str:
        y, g = wg.value_and_grad(f)(points[0])
        if not is_value(y, values[0]):
            return f"WRONG value {y} for {values[0]}"
        if not is_gradient(g, *slopes[0]):
            return f"WRONG gradient {np.asarray(g)} for {slopes[0][0]}"
        return "right"

    step = wg.jit(wg.value_and_grad(f))
    found: Found = {"plain": attempt(plain)}

    def jitted() -> str:
        for k, p in enumerate(points):
            start = time.perf_counter()
            y, g = step(p)
            if k == 0:
                found["first_s"] = time.perf_counter() - start
            if not is_value(y, values[k]):
                return f"WRONG value {y} for {values[k]}"
            if k < len(slopes) and not is_gradient(g, *slopes[k]):
                return f"WRONG gradient {np.asarray(g)} for {slopes[k][0]}"
        return "right"

    found["jit"] = attempt(jitted)
    stats = step.stats()
    found |= {"traces": stats["traces"], "again": stats["unrepeatable"], "plain_calls": stats["plain"]}
    if found["jit"] == "right":
        value = attempt(lambda: value_alone(f, points, values, found))
        found["jit"] = value if value != "right" else "right"
        found["call_s"] = least(lambda: step(points[0]))
        if found["plain"] == "right":
            unjitted = wg.value_and_grad(f)
            found["unjitted_s"] = least(lambda: unjitted(points[0]))
        found["numpy_s"] = least(lambda: f(points[0]))
    return found


def value_alone(f: Callable[[Any], Any], points: list[Any], values: list[float], found: Found) -> str:
    """The function itself jitted: the way on which a refusal is answered by Python."""
    step = wg.jit(f)
    for p, value in zip(points, values, strict=True):
        if not is_value(step(p), value):
            return f"WRONG value {step(p)} for {value}, of jit(f)"
    found["plain_calls"] += step.stats()["plain"]
    return "right"


def least(call: Callable[[], Any]) -> float:
    """The least seconds of a call."""
    best, end, count = 1e9, time.perf_counter() + 0.15, 0
    while count < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        count += 1
    return best


def change_found(f: Callable[[Any], Any], case: Change, namespace: dict[str, Any]) -> Found:
    """Whether a jitted function sees that the package's state was changed, and changed back."""
    x = np.array(case.inputs, dtype=float)
    step = wg.jit(f)
    before = float(f(x))
    found: Found = {}
    undo = undoing(case, namespace)

    def jitted() -> str:
        if not is_value(step(x), before) or not is_value(step(x), before):
            return "WRONG value before the change"
        traces = step.stats()["traces"]
        exec(case.change, namespace)
        after = float(f(x))
        if is_value(after, before):
            return "unseen: the change changes nothing"
        first, again = step(x), step(x)
        found["again"] = step.stats()["unrepeatable"]
        found["traces"] = step.stats()["traces"] - traces
        found["plain_calls"] = step.stats()["plain"]
        if not is_value(first, after) or not is_value(again, after):
            return f"STALE {first} for {after}"
        exec(undo, namespace)
        return "right" if is_value(step(x), before) else f"STALE when changed back, {step(x)} for {before}"

    try:
        found["jit"] = attempt(jitted)
    finally:
        exec(undo, namespace)
    return found


def undoing(case: Change, namespace: dict[str, Any]) -> str:
    """The statement that undoes a change; of an assignment, what puts back what was there."""
    if case.undo:
        return case.undo
    (node,) = ast.parse(case.change).body
    assert isinstance(node, ast.Assign | ast.AugAssign), case.change
    target = ast.unparse(node.target if isinstance(node, ast.AugAssign) else node.targets[0])
    exec(f"_was = {target}", namespace)
    was = namespace["_was"]
    if isinstance(was, np.ndarray):
        namespace["_was"] = was.copy()
    return f"{target} = _was"


# --------------------------------------------------------------------------------------------------------- one group


def run(group: Group, out: Path, is_users: bool) -> None:
    folder = Path(tempfile.mkdtemp(prefix="packages-"))
    if is_users:
        link_as_users(group, folder)
    sys.path.insert(0, str(folder))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")

    def too_long(*_: Any) -> None:
        raise TooLong

    signal.signal(signal.SIGALRM, too_long)
    with out.open("a") as lines:
        try:
            module = module_of(group, folder)
        except Exception as error:  # a package that is not there, or does not load, is a line of the table
            lines.write(json.dumps({"package": group.name, "kind": "import", "jit": f"absent {said(error)}"}) + "\n")
            return
        for k, case in enumerate((*group.functions, *group.changes)):
            f = getattr(module, f"f{k}")
            is_change = isinstance(case, Change)
            row = {"package": group.name, "kind": "change" if is_change else "function", "call": case.call, "case": k}
            if is_change:
                row["change"] = case.change
            signal.alarm(SECONDS)
            try:
                row |= change_found(f, case, vars(module)) if is_change else function_found(f, case)
            except TooLong:
                row |= {"plain": "too long", "jit": "too long"}
            except Exception as error:  # NumPy alone does not do it: a mistake of the table
                row |= {"plain": f"table {said(error)}", "jit": f"table {said(error)}"}
            finally:
                signal.alarm(0)
            lines.write(json.dumps(row) + "\n")
            lines.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.packages.check")
    parser.add_argument("package", choices=[g.name for g in GROUPS])
    parser.add_argument("--out", type=Path, default=Path("/dev/stdout"))
    parser.add_argument("--users", action="store_true", help="as if the package lay in the user's folder")
    options = parser.parse_args()
    run(next(g for g in GROUPS if g.name == options.package), options.out, options.users)


if __name__ == "__main__":
    main()

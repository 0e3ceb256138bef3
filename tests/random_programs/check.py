"""Run a module in every way there is: by Python, un-jitted, jitted, not rolled up, by machine code, in both modes of
derivatives, against differences. What is not right, and is not refused by an error of :mod:`wengert.errors`, raises.

A run is five calls, as a user makes them: at the same arguments, at others, and with the module's state edited before
the second and the fourth. Each way has a module of its own, since a program may count its calls. Not every program is
run in every way (:func:`chosen`): machine code takes a hundred times as long as the rest.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import linecache
import signal
import sys
import time
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np

import wengert as wg
from tests.comparisons import leaves
from tests.programs import arguments
from tests.random_nesting import fine, one_sided
from tests.random_programs.module import Written
from tests.random_programs.plain import Plain, stand_in
from wengert import tree

FLOATS = (0, 1, 2, 3)
SECONDS = 60.0
"""What a program may take in one way before it is called a hang."""

TOLERANCES = {"transform": (1e-6, 1e-3), "solver": (1e-5, 1e-3)}
"""Between ways of wengert's, and against Python, where that is by differences or other steps."""

count = itertools.count()


class Failure(AssertionError):
    """What wengert gave, and what Python did; ``way`` says how it was called."""

    def __init__(self, way: str, what: str) -> None:
        super().__init__(f"{way}: {what}")
        self.way = way


class Skipped(Exception):
    """The program is no measure: NumPy raises, or what it gives is not finite."""


Args = tuple[Any, ...]
Pick = Callable[[str, int], int]


def chosen(seed: int) -> Pick:
    """Which ways the program of that number is run in."""
    return lambda way, n: Random(f"{seed} {way}").randrange(n)


class Run:
    """A written program, and what each way of running it gave."""

    def __init__(self, written: Written, kind: str) -> None:
        self.written, self.kind = written, kind
        self.stand_in = stand_in(kind)
        self.name = f"random_program_{next(count)}"
        self.file = f"<{self.name}>"
        text = written.text
        linecache.cache[self.file] = (len(text), None, text.splitlines(keepends=True), self.file)
        self.code = compile(text, self.file, "exec")
        seed = written.program.seed
        one, two, three = (arguments(written.program, s) for s in (seed, seed + 1, seed + 2))
        early, late = written.edits
        self.calls: list[tuple[Args, tuple[str, ...]]] = [(one, ()), (one, early), (two, ()), (three, late), (one, ())]
        self.tolerance, self.rough = TOLERANCES.get(kind, (1e-7, 1e-7))
        self.found = Counter[str]()

    def close(self) -> None:
        linecache.cache.pop(self.file, None)
        for name in [n for n in sys.modules if n.startswith(("random_program_", "beside"))]:
            del sys.modules[name]

    def module(self, transforms: Any = wg) -> dict[str, Any]:
        """A fresh module."""
        made = types.ModuleType(self.name)
        sys.modules[self.name] = made
        exec(self.code, made.__dict__)
        made.__dict__["T"] = transforms
        return made.__dict__

    def values(self, of: Callable[[dict[str, Any]], Callable[..., Any]], transforms: Any = wg, n: int = 5) -> list[Any]:
        """What the first ``n`` calls return."""
        module = self.module(transforms)
        f = of(module)
        got: list[Any] = []
        try:
            for args, edits in self.calls[:n]:
                for edit in edits:
                    exec(edit, module)
                given = copy.deepcopy(args)
                got.append(copy.deepcopy(f(*given)))
                if not all(np.array_equal(a, b) for a, b in zip(leaves(given), leaves(args), strict=True)):
                    raise Failure("arguments", "the caller's arguments were written to")
        finally:
            for undo in self.written.undo:
                with contextlib.suppress(Exception):
                    exec(undo, module)
        return got

    def by_python(self, name: str, transforms: Any = wg, n: int = 5) -> list[Any]:
        """What Python returns; it may write its arguments."""

        def on_copies(module: dict[str, Any]) -> Callable[..., Any]:
            return lambda *args: module[name](*copy.deepcopy(args))

        try:
            with np.errstate(all="ignore"):
                got = self.values(on_copies, transforms, n)
        except Exception as error:  # whatever a random program raises in plain NumPy: it is none to compare
            raise Skipped(f"{type(error).__name__}") from error
        if not all(np.all(np.isfinite(y)) and np.all(np.abs(y) < 1e6) for y in leaves(got)):
            raise Skipped("not finite")
        return got

    def way(self, name: str, of: Callable[[dict[str, Any]], Callable[..., Any]], n: int = 5) -> list[Any] | None:
        """What a way of wengert's gives; None where it refuses, which is counted."""
        self.found[f"{name} run"] += 1
        began = time.process_time_ns()
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self.values(of, n=n)
        except Failure as failure:
            raise Failure(name, str(failure)) from None
        except wg.errors.InternalError:
            raise
        except wg.errors.WengertError as error:
            self.found[f"{name} refused {type(error).__name__}: {str(error).splitlines()[0][:90]}"] += 1
            return None
        finally:
            self.found[f"{name} us"] += (time.process_time_ns() - began) // 1000

    def compare(self, way: str, got: list[Any] | None, want: list[Any], tolerance: float) -> None:
        if got is None:
            return
        for k, (a, b) in enumerate(zip(got, want, strict=False)):
            ours, theirs = leaves(a), leaves(b)
            if tree.flatten(a)[1] != tree.flatten(b)[1]:
                raise Failure(way, f"call {k}: another structure")
            scale = max([1.0, *(float(np.max(np.abs(y), initial=0.0)) for y in theirs if np.all(np.isfinite(y)))])
            for n, (x, y) in enumerate(zip(ours, theirs, strict=True)):
                if np.shape(x) != np.shape(y):
                    raise Failure(way, f"call {k}: shape {np.shape(x)} instead of {np.shape(y)}, leaf {n}")
                if not np.allclose(x, y, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
                    raise Failure(way, f"call {k}: {x} instead of {y}, leaf {n}")


def in_every_way(run: Run, pick: Pick) -> Counter[str]:
    """Run a program in all ways; ``pick(way, n)`` chooses: a dear way is taken where it is 0."""
    before = wg.config.native, wg.config.tiered, wg.config.check
    wg.config.native, wg.config.tiered, wg.config.check = False, True, pick("check", 16) == 0
    try:
        with in_time():
            _check(run, pick)
    finally:
        wg.config.native, wg.config.tiered, wg.config.check = before
        run.close()
    return run.found


def _check(run: Run, pick: Pick) -> None:
    whole = run.by_python("f", run.stand_in)
    losses = run.by_python("loss", run.stand_in)
    try:
        _values(run, pick, whole, losses)
    except Failure:
        if run.kind in TOLERANCES:
            by_other_steps(run, losses)
        raise


def by_other_steps(run: Run, losses: list[Any]) -> None:
    """Raises Skipped where Python's values, which are made of differences, depend on the step: near a kink."""
    for other in (fine(2, 0.6), one_sided(2, 1), one_sided(2, -1)):
        again = run.by_python("loss", Plain(other[0].h, other[0].weights))
        if not np.allclose(again, losses, rtol=run.rough, atol=run.rough):
            raise Skipped("kink")


def _values(run: Run, pick: Pick, whole: list[Any], losses: list[Any]) -> None:
    of_loss = lambda m: wg.value_and_grad(m["loss"], FLOATS)
    jitted: list[Any] = []

    def compiled(m: dict[str, Any]) -> Any:
        jitted.append(wg.jit(of_loss(m)))
        return jitted[-1]

    together = run.way("jit grad", compiled)
    if together is not None:
        stats = jitted[-1].stats()
        by = "by Python" if stats["plain"] else "unrepeatable" if stats["unrepeatable"] else "compiled"
        run.found[f"jit grad {by}"] += 1
        run.compare("jit grad", [v for v, _ in together], losses, run.rough)
    plainly = None
    if pick("whole", 2) == 0 or together is None:
        plainly = run.way("grad", of_loss, 5 if pick("all calls", 3) == 0 else 1)
        if plainly is not None:
            run.compare("grad", [v for v, _ in plainly], losses, run.rough)
            run.compare("jit grad", together, plainly, max(run.rough, run.tolerance))
        kind = ("jit", "reroll=False", "reroll=False grad")[pick("compiled", 3)]
        if kind != "reroll=False grad":
            run.compare(kind, run.way(kind, lambda m: wg.jit(m["f"], reroll=kind == "jit")), whole, run.rough)
        elif plainly is not None:
            flat = run.way(kind, lambda m: wg.jit(of_loss(m), reroll=False))
            run.compare(kind, flat, plainly, max(run.rough, run.tolerance))
    first = plainly or together
    if first is None:
        return
    if pick("native", 32) == 0:
        wg.config.native = True
        by_machine = run.way("native", lambda m: wg.jit(of_loss(m)))
        run.compare("native", by_machine, first, run.tolerance)
        if pick("tiered", 3) == 0:
            run.compare("tiered", run.way("tiered", of_loss), first, run.tolerance)
        wg.config.native = False
    _derivatives(run, first, losses, pick)


def _derivatives(run: Run, plainly: list[Any], losses: list[Any], pick: Pick) -> None:
    args = run.calls[0][0]
    dx = direction(args)
    gradient = plainly[0][1]
    along, scale = inner(gradient, dx)

    def tangent(m: dict[str, Any]) -> Any:
        return lambda *xs: wg.jvp(lambda *ys: m["loss"](*ys, *xs[4:]), xs[:4], dx)

    forward = run.way("jvp", tangent, 1) if pick("jvp", 2) == 0 else None
    if forward is not None:
        got = float(forward[0][1])
        if not (abs(got - along) <= 1e-7 * (1 + scale) or (np.isnan(got) and np.isnan(along))):
            raise Failure("jvp", f"{got} instead of {along}")

    def at(h: float, last: int) -> float:
        calls = run.calls
        run.calls = [*calls[:last], (moved(args, dx, h), calls[last][1])]
        try:
            return float(run.by_python("loss", n=last + 1)[last])
        finally:
            run.calls = calls

    for last in (0, 4) if len(plainly) == 5 and pick("edited", 4) == 0 else (0,):
        along, scale = inner(plainly[last][1], dx)
        run.found["differences tried"] += 1
        try:
            want = by_differences(lambda h, last=last: at(h, last), losses[last], scale)
        except Skipped:
            run.found["differences skipped"] += 1
            continue
        if not abs(along - want) <= 1e-4 * (1 + scale + abs(want)):
            raise Failure("differences", f"call {last}: {along} instead of {want}")
    if pick("second", 16) == 0:
        _second(run, dx)
    if pick("matrix", 16) == 0:
        _matrices(run)
    if pick("vmap", 8) == 0:
        _mapped(run)


def _second(run: Run, dx: Any) -> None:
    """Second derivatives along ``dx`` against differences of gradients."""
    args = run.calls[0][0]

    def product(m: dict[str, Any]) -> Any:
        return lambda *xs: wg.hvp(lambda *ys: m["loss"](*ys, *xs[4:]), xs[:4], dx)

    got = run.way("hvp", product, 1)
    if got is None:
        return
    calls = run.calls

    def at(h: float) -> float:
        run.calls = [(moved(args, dx, h), ())]
        try:
            value = run.way("grad moved", lambda m: wg.value_and_grad(m["loss"], FLOATS), 1)
        finally:
            run.calls = calls
        if value is None:
            raise Skipped
        return inner(value[0][1], dx)[0]

    along, scale = inner(got[0], dx)
    run.found["second tried"] += 1
    try:
        want = by_differences(at, at(0.0), scale)
    except Skipped:
        run.found["second skipped"] += 1
        return
    if not abs(along - want) <= 1e-3 * (1 + scale + abs(want)):
        raise Failure("hvp", f"{along} instead of {want}")


def _matrices(run: Run) -> None:
    """The Jacobian of all that the program returns with respect to its first argument, by both modes, and compiled."""

    def jacobian(mode: str, compiled: bool) -> Callable[[dict[str, Any]], Any]:
        def of(m: dict[str, Any]) -> Any:
            def all_of(x: Any, *others: Any) -> Any:
                return np.concatenate([np.ravel(y) for y in m["f"](x, *others).values()])

            made: Any = wg.jacobian(all_of, mode=mode or None)
            return wg.jit(made) if compiled else made

        return of

    forward = run.way("jacobian forward", jacobian("forward", False), 1)
    backward = run.way("jacobian reverse", jacobian("reverse", False), 1)
    compiled = run.way("jit jacobian", jacobian("", True), 1)
    first = forward or backward
    if first is not None:
        run.compare("jacobian reverse", backward, first, run.tolerance)
        run.compare("jit jacobian", compiled, first, run.tolerance)


def _mapped(run: Run) -> None:
    """A batch of two, where calling the program does not change it."""
    args, calls = run.calls[0][0], run.calls
    other = (np.asarray(-0.7 * args[0] + 0.1), *args[1:])
    try:
        run.calls = [*[(args, ())] * 8, (other, ())]  # again at once: what it draws may come again later
        *again, first, second = run.by_python("loss", n=9)
        if any(not np.array_equal(y, first) for y in again):
            return
        want = [first, second]
        run.calls = [((np.stack([args[0], other[0]]), *args[1:]), ())]
        axes = (0, None, None, None, None, None)
        got = run.way("vmap", lambda m: wg.vmap(m["loss"], in_axes=axes), 1)
    finally:
        run.calls = calls
    run.compare("vmap", got, [np.array(want)], max(run.rough, run.tolerance))


def by_differences(of: Callable[[float], float], here: float, scale: float) -> float:
    """The derivative of ``of`` at 0, by differences. Raises Skipped where two steps, or the two sides, disagree."""
    h = 2.5e-6
    above, below, far_above, far_below = (of(n * h) for n in (1, -1, 4, -4))
    want = (above - below) / (2 * h)
    jump, kink = (far_above - far_below) / (8 * h) - want, (above - 2 * here + below) / h
    if not (abs(jump) <= 1e-5 * (1 + scale) and abs(kink) <= 1e-4 * (1 + scale)):
        raise Skipped("kink")
    return want


def moved(args: Args, dx: Any, h: float) -> Args:
    """The arguments, ``h`` further in the direction ``dx``; arrays of shape () stay arrays."""
    step = lambda x, d: np.array(x + h * d) if isinstance(x, np.ndarray) else x + h * d
    return (*tree.map(step, args[:4], dx), *args[4:])


def direction(args: Args, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return tree.map(lambda x: rng.standard_normal(np.shape(x)) if np.ndim(x) else rng.standard_normal(), args[:4])


def inner(a: Any, b: Any) -> tuple[float, float]:
    """⟨a, b⟩, and the sum of the sizes of its terms."""
    terms = [np.asarray(x) * y for x, y in zip(leaves(a), leaves(b), strict=True)]
    return sum(float(np.sum(t)) for t in terms), sum(float(np.sum(np.abs(t))) for t in terms)


class Hang(AssertionError):
    """A program did not come back."""


@contextlib.contextmanager
def in_time() -> Iterator[None]:
    """Raises Hang in what takes longer than SECONDS."""

    def ring(*_: Any) -> None:
        raise Hang(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

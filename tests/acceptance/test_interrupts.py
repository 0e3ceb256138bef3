"""Ctrl-C leaves nothing behind: not in NumPy, not in Python's functions, not in the user's arrays, at once.

A signal is handled between two instructions of the interpreter. The quick test raises at each of them in turn, where a
trace is opened and closed; the deep one sends real signals at random times, which ``python -m
tests.acceptance.test_interrupts 10000`` does as often as it is told.
"""

from __future__ import annotations

import ast
import copy
import gc
import math
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest
from scipy import special

import wengert as wg
from tests.tracing.interception.addresses import address

LARGE = np.linspace(0.1, 1.0, 2_000)  # which an un-jitted call is lent
X = np.array([0.25, 0.5, -0.75])


class Count(int):
    pass


def asks_type(x: Any) -> Any:
    return 2 * x if type(x) is float else 3 * x


def plain(x: Any, scale: Any = 1.0) -> Any:
    a = np.zeros(3)
    a[0] = math.sin(x[0])
    return np.sum(a) + np.sum(x * LARGE[:3]) + special.logsumexp(x) + np.sum(LARGE * x[0]) * np.sum(scale)


def nested(x: Any) -> Any:
    return plain(x) + np.sum(wg.grad(plain)(x) * x) + asks_type(x[1])


def branching(x: Any) -> Any:
    return wg.cond(x[0] > 0, lambda x: x[0] * 2, lambda x: x[1], x) if x[0] > 0.1 else x[2]


CALLS: dict[str, Callable[[], Any]] = {
    "grad": lambda: wg.grad(plain)(X, scale=LARGE[:3]),
    "value_and_grad": lambda: wg.value_and_grad(nested)(X),
    "branch": lambda: wg.grad(branching)(X),
    "jvp": lambda: wg.jvp(plain, (X,), (X,)),
    "vmap": lambda: wg.vmap(plain)(np.stack([X, X])),
    "jit": lambda: wg.jit(wg.grad(nested))(X),
}


class Process:
    """What a call may not change; taken before, and compared afterwards."""

    FUNCTIONS = (special.logsumexp, special.softmax, np.vectorize.__call__, np.ones, np.eye, asks_type, plain)
    COMPILED = (math.sin, hasattr, np.zeros, np.array, np.asarray, np.random.Generator.normal, np.add.at)

    def __init__(self) -> None:
        self.namespace = dict(np.__dict__)
        self.code = [f.__code__ for f in self.FUNCTIONS]
        self.addresses = [address(f) for f in self.COMPILED]
        self.collector = gc.isenabled(), gc.get_threshold(), len(gc.callbacks)
        self.errors = np.geterr()
        self.lost = list[threading.Thread]()

    def differences(self) -> list[str]:
        for thread in threading.enumerate():  # one of ours may be compiling, with the collector put off
            if thread is threading.current_thread() or thread in self.lost:
                continue
            if thread._started.wait(2):
                thread.join()
            else:  # Thread.start() was interrupted before there was one, and Python keeps it among those to come
                self.lost.append(thread)
        found = [f"np.{name}" for name, x in self.namespace.items() if np.__dict__.get(name) is not x]
        found += [f.__name__ for f, code in zip(self.FUNCTIONS, self.code, strict=True) if f.__code__ is not code]
        found += [f.__name__ for f, at in zip(self.COMPILED, self.addresses, strict=True) if address(f) != at]
        if self.collector != (gc.isenabled(), gc.get_threshold(), len(gc.callbacks)):
            found.append("the collector")
        if self.errors != np.geterr():
            found.append("np.errstate")
        if not (X.flags.writeable and LARGE.flags.writeable):
            found.append("an array is read-only")
        if type(copy.copy(Count(5))) is not Count or float("1.5") != 1.5 or math.sin(0.5) != np.sin(0.5):
            found.append("numbers")
        try:
            if wg.grad(math.sin)(0.5) != math.cos(0.5) or wg.trace(math.sin)(0.5).instrs[0].op.name != "sin":
                found.append("math.sin")
        except (TypeError, wg.errors.WengertError) as error:
            found.append(repr(error))
        return found


def raising_at(number: int, codes: set[CodeType] | None) -> tuple[Callable[..., Any], list[int]]:
    """What ``sys.settrace`` takes to raise KeyboardInterrupt before the instruction of this number, of those in frames
    of ``codes`` (None: in all of ours); and how many have come."""
    come = [0]

    def local(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "opcode":
            if come[0] == number:
                come[0] += 1
                raise KeyboardInterrupt
            come[0] += 1
        return local

    def begin(frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code in codes if codes is not None else "wengert" in str(frame.f_globals.get("__name__")):
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
            return local
        return None

    return begin, come


def n_instructions(call: Callable[[], Any], codes: set[CodeType] | None) -> int:
    trace, come = raising_at(-1, codes)
    sys._getframe().f_trace_opcodes = True  # so that Python 3.12 and later look for frames that want it
    sys.settrace(trace)
    call()
    sys.settrace(None)
    return come[0]


def left_behind(call: Callable[[], Any], codes: set[CodeType] | None, most: int = 10_000) -> tuple[int, list[Any]]:
    """At how many instructions the call was interrupted, evenly spread if there are more than ``most``, and what some
    of them left."""
    call()
    before, left = Process(), list[Any]()
    n_instructions(call, codes)  # Python 3.13 begins with some of them
    numbers = range(0, n := n_instructions(call, codes), n // most + 1)
    for number in numbers:
        trace, _ = raising_at(number, codes)
        sys._getframe().f_trace_opcodes = True  # as above
        sys.settrace(trace)
        try:
            call()
        except KeyboardInterrupt:  # its traceback lives: nothing waits for that to go
            sys.settrace(None)
            left += [(number, what) for what in before.differences()]
        finally:
            sys.settrace(None)
    return len(numbers), left


def of_opening() -> set[CodeType]:
    """The functions that open and close traces, and what is lent to them."""
    from wengert import tape
    from wengert.tracing import lifting, looking, read_only, record, stack, trace, ways
    from wengert.tracing.interception import intercept, type_of

    functions = [
        record.record_call,
        intercept.opened,
        intercept._enroll_waiting,
        type_of.answered,
    ]
    functions += [trace.Trace.opened, trace.Trace._ended, trace.Trace.own_all]
    functions += [read_only.ReadOnly.lock, read_only.ReadOnly.locked_view, read_only.ReadOnly.end]
    functions += [lifting.Lifted.end, looking.Looking.end]
    functions += [stack.suspended, tape.building, ways._as_they_are, ways._lent]
    return {f.__code__ for f in functions}


def test_an_interrupt_at_any_instruction_leaves_nothing_behind() -> None:
    """A second, for it is one call for each of 600 instructions."""
    n_places, left = left_behind(CALLS["grad"], of_opening())
    assert n_places > 100 and not left


def test_an_interrupted_run_of_a_compiled_function_leaves_no_value_of_its_own() -> None:
    """A variable that it had bound kept a traced value, which no later call could use."""
    last: Any = 0.5
    is_interrupted = True
    generator = np.random.default_rng(0)

    def f(x: Any) -> Any:
        nonlocal last
        previous, last = last, x + generator.normal()
        if is_interrupted:
            raise KeyboardInterrupt
        return previous * x

    with pytest.raises(KeyboardInterrupt):
        wg.jit(f)(2.0)
    assert last == 0.5 and generator.normal() == np.random.default_rng(0).normal()


@pytest.mark.deep("hundreds of instructions of ours in each kind of call: minutes")
@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_anywhere_in_ours_leaves_nothing_behind(name: str) -> None:
    """In a process of its own: some locks are left held where an exception, but no signal, can come: between a block
    and its ``__exit__``."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.acceptance.test_interrupts", name], cwd=root, capture_output=True, text=True
    )
    n_places, left = ast.literal_eval(done.stdout)
    assert n_places > 100 and not left


def works_elsewhere(stop: threading.Event, wrong: list[Any]) -> None:
    """What another thread does meanwhile, which nothing may disturb."""
    own = [np.ndarray, np.ndarray, np.ndarray, float, float, np.float64]
    while not stop.is_set():
        made = np.zeros(2), np.ones(2), np.linspace(0, 1, 2), math.sin(0.5), float("1.5"), special.logsumexp([0.0, 1.0])
        again = pickle.loads(pickle.dumps((np.zeros, np.ones, math.sin, float)))
        if [*map(type, made)] != own or again != (np.zeros, np.ones, math.sin, float):
            wrong.append(made)
        time.sleep(0.001)


def real_signals(n: int, seed: int = 0) -> tuple[int, dict[str, int]]:
    """Send ``n`` signals at random times into calls; how many came while one ran, and what they left, how often."""
    stop, wrong = threading.Event(), list[Any]()
    other = threading.Thread(target=works_elsewhere, args=(stop, wrong))
    chance, before, left = random.Random(seed), Process(), dict[str, int]()

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    longest = {}
    for name, call in CALLS.items():
        call()
        begin = time.perf_counter()
        call()
        longest[name] = time.perf_counter() - begin
    before.lost.append(other)
    other.start()
    n_came, handler = 0, signal.signal(signal.SIGALRM, interrupt)
    try:
        while n_came < n:
            name = chance.choice([*CALLS])
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-6 + chance.random() * longest[name])
                CALLS[name]()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                n_came += 1
                for what in before.differences():
                    left[what] = left.get(what, 0) + 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        stop.set()
        other.join()
    if wrong:
        left["in another thread"] = len(wrong)
    return n_came, left


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the platform has no timers")
@pytest.mark.deep("real signals by the thousand, of which few come where it matters")
def test_real_signals_at_random_times_leave_nothing_behind() -> None:
    assert real_signals(1_000) == (1_000, {})


if __name__ == "__main__":
    asked = sys.argv[1]
    print(repr(left_behind(CALLS[asked], None, most=300) if asked in CALLS else real_signals(int(asked))))

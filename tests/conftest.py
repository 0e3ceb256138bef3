"""What holds for every test: tapes are checked after each transform, machine code answers, and nothing is random
without a seed; and which tests are left out: those that are *deep*, which take long and whose like the others have, by
`make test`, and those of machine code where there is none."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from wengert import config, extension
from wengert.errors import StructureError
from wengert.tracing.interception import _opened

settings.register_profile("default", max_examples=40, derandomize=True, deadline=None)
settings.register_profile("few", max_examples=6, derandomize=True, deadline=None)  # in `make test`
settings.register_profile("thorough", max_examples=1000, derandomize=False, deadline=None)  # by HYPOTHESIS_PROFILE
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_configure(config: pytest.Config) -> None:
    if settings.get_current_profile_name() == "thorough":  # a thousand examples may take their time
        config.option.timeout = 0


def pytest_collection_finish() -> None:
    """Leave thirty thousand collected tests out of every collection of garbage to come: each takes half a second with
    them, and some tests ask for several."""
    gc.collect()
    gc.freeze()


WANTED = {
    "deep": ("deep(reason)", (str,)),
    "sampled": ("sampled(k, reason)", (int, str)),
    "machine_code": ("machine_code(reason)", (str,)),
    "needs_extension": ("needs_extension(reason)", (str,)),
}

IS_TRACED_BY_EXTENSION = not set(extension.python_forms()) & set(extension.GROUPS["tracing"])

OF_MACHINE_CODE = {
    "codegen": "kernels are written and compiled",
    "runtime/native": "the extension is driven by hand",
    "runtime/native_kernels.py": "its kernels are compiled by LLVM",
    "runtime/test_assemble.py": "kernels become executables",
    "runtime/test_c_function.py": "C code runs kernels without Python",
    "runtime/test_entry.py": "the runtime runs kernels without asking Python",
    "acceptance/test_adding_an_op.py": "an op is given a kernel",
    "runtime/test_tiered.py": "un-jitted calls earn machine code",
}
"""The folders and files, and why, that are not even imported where there is no machine code."""


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what cannot be imported without machine code."""
    here = Path(__file__).parent
    if config.native or not collection_path.is_relative_to(here):
        return None
    return True if collection_path.relative_to(here).as_posix() in OF_MACHINE_CODE else None


@pytest.hookimpl(tryfirst=True)  # before ``-m`` is looked at
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Every k-th case of a test marked ``sampled(k, reason)`` stays, and the others become deep. What is marked
    ``machine_code(reason)`` is left out where there is none, and what is marked ``needs_extension(reason)`` where
    tracing has its Python forms: what is refused there is tested in tests/pure. Refuses marks without a reason."""
    count = Counter[Any]()
    left_out: list[pytest.Item] = []
    for item in items:
        for deep in item.iter_markers("deep"):
            arguments_of(deep, item)
        sampled = item.get_closest_marker("sampled")
        if sampled is not None:
            every, why = arguments_of(sampled, item)
            test = item.parent, getattr(item, "originalname", item.name)
            if count[test] % every:
                item.add_marker(pytest.mark.deep(why))
            count[test] += 1
        for name, is_there in {"machine_code": config.native, "needs_extension": IS_TRACED_BY_EXTENSION}.items():
            for mark in item.iter_markers(name):
                arguments_of(mark, item)
                if not is_there and item not in left_out:
                    left_out.append(item)
    if left_out:
        items[:] = [item for item in items if item not in set(left_out)]
        session.config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """Where there is no machine code a test that asks a program for its kernels, its plan or its times is skipped: the
    program says that it has none. What wengert itself asks for stays an error."""
    report = yield
    found = call.excinfo
    if not config.native and found is not None and found.errisinstance(StructureError):
        asked_by = Path(found.traceback[-2].path) if len(found.traceback) > 1 else Path()
        if NONE_HERE.search(str(found.value)) and asked_by.is_relative_to(Path(__file__).parent):
            report.outcome = "skipped"
            report.longrepr = str(item.path), item.location[1], "Skipped: it asks for what machine code alone has"
    return report


NONE_HERE = re.compile("NumPy runs this program, without|the steps of machine code are timed, and there is none")
"""The errors of a program that is asked for its kernels, of a block that is to time them."""


def arguments_of(mark: pytest.Mark, item: pytest.Item) -> tuple[Any, ...]:
    """What the mark says. Raises UsageError if it is not what it should."""
    wanted, types = WANTED[mark.name]
    if mark.kwargs or tuple(map(type, mark.args)) != types or not all(mark.args):
        needed = {"machine_code": "it needs machine code", "needs_extension": "it needs the extension"}
        why = needed.get(mark.name, "it takes long")
        raise pytest.UsageError(f"{item.nodeid}: write @pytest.mark.{wanted}, with the reason why {why}")
    return mark.args


@pytest.fixture(autouse=True)
def checked_tapes_and_machine_code() -> Iterator[None]:
    """``config.check`` is on: an ill-formed tape fails where it is made, not where it is run. ``config.tiered`` is off:
    machine code answers every call, which is what there is to test; tests of first calls turn it on. Tracebacks are
    whole: who mends wengert looks for its lines."""
    before = config.check, config.tiered, config.traceback
    config.check, config.tiered, config.traceback = True, False, "full"
    try:
        yield
    finally:
        config.check, config.tiered, config.traceback = before


@pytest.fixture
def no_other_thread_writes() -> Iterator[None]:
    """Say that no other thread writes an array: pytest-xdist has some. So traces are lent arrays, as where there is one
    thread, rather than compare them."""
    with ExitStack() as stack:
        for _ in range(len(sys._current_frames()) - 1):
            stack.enter_context(_opened.harmless())
        yield

"""What holds for every test: tapes are checked after each transform, machine code answers, and nothing is random
without a seed; and which tests are *deep*: those that take long and whose like the others have, so that `make test`
leaves them out."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import settings

from wengert import config
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


WANTED = {"deep": ("deep(reason)", (str,)), "sampled": ("sampled(k, reason)", (int, str))}


@pytest.hookimpl(tryfirst=True)  # before ``-m`` is looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the cases of a test marked ``sampled(k, reason)`` all but every k-th become deep. Refuses marks without a
    reason."""
    count = Counter[Any]()
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


def arguments_of(mark: pytest.Mark, item: pytest.Item) -> tuple[Any, ...]:
    """What the mark says. Raises UsageError if it is not what it should."""
    wanted, types = WANTED[mark.name]
    if mark.kwargs or tuple(map(type, mark.args)) != types or not all(mark.args):
        raise pytest.UsageError(f"{item.nodeid}: write @pytest.mark.{wanted}, with the reason why it takes long")
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

"""What holds for every test: tapes are checked after each transform, and nothing is random without a seed."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from wengert import config

settings.register_profile("default", max_examples=40, derandomize=True, deadline=None)
settings.register_profile("thorough", max_examples=1000, derandomize=False, deadline=None)  # by HYPOTHESIS_PROFILE
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_configure(config: pytest.Config) -> None:
    if settings.get_current_profile_name() == "thorough":  # a thousand examples may take their time
        config.option.timeout = 0


@pytest.fixture(autouse=True)
def checked_tapes() -> Iterator[None]:
    """``config.check`` is on: an ill-formed tape fails where it is made, not where it is run."""
    before, config.check = config.check, True
    try:
        yield
    finally:
        config.check = before

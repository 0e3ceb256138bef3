from collections.abc import Iterator

import pytest

from wengert import config


@pytest.fixture
def no_cache() -> Iterator[None]:
    """Nothing is read from disk: what is tested is the code as it is now."""
    before, config.cache_dir = config.cache_dir, ""
    yield
    config.cache_dir = before

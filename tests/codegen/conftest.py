from collections.abc import Iterator
from pathlib import Path

import pytest

from wengert import config
from wengert.codegen import cache


@pytest.fixture
def no_cache() -> Iterator[None]:
    """Nothing is read from disk: what is tested is the code as it is now."""
    before, config.cache_dir = config.cache_dir, ""
    yield
    config.cache_dir = before


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, in this process and in those it starts."""
    monkeypatch.setattr(config, "cache_dir", str(tmp_path / "cache"))
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(tmp_path / "cache"))
    cache.suspects.cache_clear()
    cache._open_to_all.cache_clear()
    monkeypatch.setattr(cache, "_distrusted", set())
    yield tmp_path / "cache"
    cache.suspects.cache_clear()

"""Where compiled kernels are kept on disk."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

from wengert import config


def cache_folder() -> Path | None:
    """Return the folder that ``config.cache_dir`` names, by default the user's; None if kernels are kept nowhere."""
    if config.cache_dir is None:
        return users_folder()
    return Path(config.cache_dir) if config.cache_dir else None


@cache
def users_folder() -> Path:
    """Return the user's own folder, where each system has what programs may make again."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "").strip() or Path.home() / "AppData" / "Local"
        return Path(local) / "wengert" / "wengert" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "wengert"
    named = os.environ.get("XDG_CACHE_HOME", "").strip()  # https://specifications.freedesktop.org/basedir-spec
    return (Path(named) if named else Path.home() / ".cache") / "wengert"

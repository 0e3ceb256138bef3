"""A browser for tests of pages: the Chromium that is installed here, through Playwright."""

from __future__ import annotations

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def chromium() -> str | None:
    """Return the path of a Chromium: ``WENGERT_CHROMIUM``, or the first of the usual names that is found."""
    return os.environ.get("WENGERT_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)

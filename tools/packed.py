"""Compress wheels again, by Zopfli: it looks for the shortest way to write what any zip program reads.

    python -m tools.packed dist/*.whl

A wheel has 600 files of source, and gets 4 % shorter, in half a minute. What is in it stays the same.
"""

from __future__ import annotations

import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED
from zipfile import ZipFile as Plain

from zopfli import ZipFile


def pack(wheel: Path) -> None:
    """Write a wheel anew, each file in its place."""
    aside = wheel.with_suffix(".packed")
    with Plain(wheel) as read, ZipFile(aside, "w", ZIP_DEFLATED) as written:
        for item in read.infolist():
            written.writestr(item, read.read(item), compress_type=ZIP_DEFLATED)
    aside.replace(wheel)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        pack(Path(name))

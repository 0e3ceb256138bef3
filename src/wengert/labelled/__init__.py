"""Arrays with labels or units are nodes of trees: xarray's, pandas', pint's, each when its library is loaded.

The numbers are the children, and the labels are structure. So a traced function sees the object that it was written
for, around traced numbers, and what it returns has labels again; a compiled function is recorded anew for other labels.
"""

from __future__ import annotations

import sys
from importlib import import_module

from wengert.tree.nodes import await_bases

LIBRARIES = ("pandas", "pint", "xarray")
"""The libraries, each with a file of its name here: ``of_xarray.py``."""


def _enroll(library: str, cls: type) -> None:
    if library in sys.modules:  # a class may say that it is of a library which is not there
        import_module(f"{__name__}.of_{library}").enroll(cls)


for _name in LIBRARIES:
    await_bases(_name, lambda cls, library=_name: _enroll(library, cls))

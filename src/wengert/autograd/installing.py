"""``install()``: packages that import ``autograd`` find wengert under that name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

_OURS = "wengert.autograd"


class _Alias(MetaPathFinder, Loader):
    """Gives the module of ours that stands under a name of autograd's, once it has been imported under its own."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        ours = _OURS + fullname.removeprefix("autograd")
        is_there = fullname.split(".")[0] == "autograd" and (ours in sys.modules or find_spec(ours) is not None)
        return ModuleSpec(fullname, self, is_package=True) if is_there else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(_OURS + spec.name.removeprefix("autograd"))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state  # its own, which the import has replaced


_alias = _Alias()


def install() -> None:
    """Let every import of ``autograd`` from now on find ``wengert.autograd``, in the whole process.

    It comes before the imports of the packages that are written for autograd. Calling it twice does nothing more.

    Raises
    ------
    ImportError : autograd itself has been imported already, so that packages hold its functions.

    Examples
    --------
    >>> import wengert.autograd
    >>> wengert.autograd.install()
    >>> from autograd import grad
    >>> grad(lambda x: x**3)(2.0)
    np.float64(12.0)
    >>> wengert.autograd.uninstall()
    """
    if sys.modules.get("autograd", sys.modules[_OURS]) is not sys.modules[_OURS]:
        what = "autograd has been imported already, and what imported it holds its functions"
        raise ImportError(f"{what}: call wengert.autograd.install() first, at the top of the program", name="autograd")
    if _alias not in sys.meta_path:
        sys.meta_path.insert(0, _alias)


def uninstall() -> None:
    """Undo :func:`install`: imports from now on find autograd itself. Packages keep what they have imported."""
    if _alias in sys.meta_path:
        sys.meta_path.remove(_alias)
        for name in [name for name in sys.modules if name.split(".")[0] == "autograd"]:
            del sys.modules[name]


@contextmanager
def installed() -> Iterator[None]:
    """Return a context in which imports of ``autograd`` find ``wengert.autograd``: see :func:`install`."""
    was = _alias in sys.meta_path
    install()
    try:
        yield
    finally:
        if not was:
            uninstall()

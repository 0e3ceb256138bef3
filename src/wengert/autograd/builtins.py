"""Python's containers, which wengert traces as they are, and autograd's names for the boxes and spaces of them."""

from __future__ import annotations

import builtins
from builtins import dict as dict
from builtins import list as list
from builtins import tuple as tuple
from typing import Any

from wengert.autograd.core import Box, getval
from wengert.autograd.spaces import ContainerVSpace
from wengert.tracing.tracer import Tracer

__all__ = ["dict", "isinstance", "list", "tuple", "type"]

SequenceBox = DictBox = Box
SequenceVSpace = ListVSpace = TupleVSpace = NamedTupleVSpace = DictVSpace = ContainerVSpace


def isinstance(x: object, cls: Any) -> bool:
    """Return whether the value behind ``x`` is of a class."""
    return builtins.isinstance(getval(x), cls)


def type(x: object, *args: object) -> Any:
    """Return the class of the value behind ``x``."""
    return x.seen_class() if builtins.type(x) is Tracer else builtins.type(x, *args)


def make_sequence(seq_type: Any, *args: object) -> Any:
    """Return a list or tuple of the arguments."""
    return seq_type(args)

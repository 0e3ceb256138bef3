"""Traced values and primitives, under autograd's name for the module."""

from wengert.autograd.core import *  # noqa: F403

"""Helpers for the arguments of a call, under autograd's name for the module."""

from wengert.autograd.core import *  # noqa: F403

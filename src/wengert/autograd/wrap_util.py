"""Operators on functions of one argument, made operators on functions of many, under autograd's name for the module."""

from wengert.autograd.core import *  # noqa: F403

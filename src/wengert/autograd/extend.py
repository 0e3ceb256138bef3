"""What autograd is extended by: primitives with rules of their own, and vector spaces; its name for the module."""

from wengert.autograd.core import *  # noqa: F403

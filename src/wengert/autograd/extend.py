"""Names that autograd is extended by: primitives with rules of their own, and vector spaces."""

from wengert.autograd.core import *  # noqa: F403

"""Names that autograd has in its module of this name, and more."""

from wengert.autograd.numpy import *  # noqa: F403

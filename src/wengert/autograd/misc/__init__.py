"""autograd's helpers for containers of parameters, optimisers and graphs."""

from wengert.autograd.misc.flatten import flatten as flatten
from wengert.autograd.misc.tracers import const_graph as const_graph

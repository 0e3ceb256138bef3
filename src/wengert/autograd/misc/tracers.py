"""autograd's recorded graphs, which are wengert's compiled functions and tapes."""

from functools import partial

import wengert as wg
from wengert.autograd.core import F

const_graph: F = lambda fun, *args, **kwargs: wg.jit(partial(fun, *args, **kwargs))
full_graph: F = lambda fun, *args, **kwargs: wg.trace(partial(fun, **kwargs))(*args)

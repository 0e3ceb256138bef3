"""autograd's names on wengert: ``import wengert.autograd.numpy as np``, and ``from wengert.autograd import grad``.

Names, argument orders, results and errors are autograd's; derivatives are wengert's, of NumPy and SciPy as they are. A
list of traced values is a list. :func:`install` lets packages that one does not own find it under ``autograd``.
"""

from wengert.autograd.builtins import *  # noqa: F403
from wengert.autograd.core import primitive as primitive
from wengert.autograd.differential_operators import *  # noqa: F403
from wengert.autograd.installing import install as install
from wengert.autograd.installing import installed as installed
from wengert.autograd.installing import uninstall as uninstall

"""The locks of LLVM, which is imported late.

They are made when wengert is imported: a fork waits for the locks alone that were there when it began. Who holds one
may take those above it in this file, and not those below.
"""

from wengert.locks import lock

LOADING = lock()
"""Held while llvmlite and what writes kernels are imported."""
TARGET = lock()
"""Held while LLVM looks at the processor: its own lock a fork would not leave free."""
LINKER = lock()
"""Held while kernels are compiled and linked: LLVM's linker is used by one thread at a time."""

"""It stands before the real llvmlite on the path of processes that shall do without: see the Makefile."""

raise ImportError("llvmlite is kept away from this process")

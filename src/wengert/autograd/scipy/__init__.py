"""SciPy, which wengert traces: the modules that autograd has."""

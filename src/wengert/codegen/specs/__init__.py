"""Kernels that are no loop nest over maps and folds, a kind a file."""

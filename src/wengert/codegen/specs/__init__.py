"""Kernels that are not loop nests over maps and folds, one kind in each file."""

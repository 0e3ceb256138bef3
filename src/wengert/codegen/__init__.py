"""Tape -> machine code: interprets the vocabulary of lowerings, :mod:`wengert.ops.kernels`; knows no op by name."""

"""Ops whose rules transform a tape: they call differentiation and batching, which know no op by name."""

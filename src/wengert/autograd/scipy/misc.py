"""A function that SciPy had here once."""

from scipy.special import logsumexp as logsumexp

"""``scipy.sparse`` on traced values. The files here fill the tables of :mod:`wengert.tracing.interception`:

* values.py: what a traced sparse matrix is;
* making.py: constructors, and functions that make matrices of others;
* methods.py: conversions, indexing, arithmetic, products, sums;
* trees.py: matrices as arguments and results;
* solving.py: solutions of linear equations by factorisation;
* iterating.py: those by iteration, and least squares;
* spectra.py: some eigenvalues and singular values;
* graphs.py: shortest paths and trees of ``scipy.sparse.csgraph``.
"""

from wengert.of_scipy.sparse import graphs, iterating, making, methods, solving, spectra, trees, values

__all__ = ["graphs", "iterating", "making", "methods", "solving", "spectra", "trees", "values"]

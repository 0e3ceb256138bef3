"""``scipy.sparse`` on traced values. The files here fill the tables of :mod:`wengert.tracing.interception`:

* values.py: what a traced sparse matrix is;
* making.py: constructors, and functions that make matrices of others;
* methods.py: conversions, indexing, arithmetic, products, sums;
* trees.py: matrices as arguments and results;
* solving.py: solutions of linear equations.
"""

from wengert.of_scipy.sparse import making, methods, solving, trees, values

__all__ = ["making", "methods", "solving", "trees", "values"]

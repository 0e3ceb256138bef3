"""Reports: what became of a function, in the user's own lines.

Built on the public API alone. :mod:`~wengert.report.data` has the records of which everything else is made.
"""

from wengert.report.explain import Explanation, explain

__all__ = ["Explanation", "explain"]

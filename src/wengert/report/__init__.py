"""Reports: what became of a function, in the user's own lines.

Built on the public API alone. :mod:`~wengert.report.data` has the records of which everything else is made.
:mod:`~wengert.report.smooth` says where a function switches, :mod:`~wengert.report.digits` which digits hold.
"""

from wengert.report.explain import Explanation, explain
from wengert.report.smooth import Smoothness, Switch, smooth

__all__ = ["Explanation", "Smoothness", "Switch", "explain", "smooth"]

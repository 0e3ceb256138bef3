"""``scipy.stats``, which wengert traces: ``norm.logpdf`` and the like are functions of modules here, too."""

import sys
from types import ModuleType

import scipy.stats
from scipy.stats import *  # noqa: F403

__path__: list[str] = []

for _name in ("norm", "t", "beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "poisson"):
    _module, _owner = ModuleType(f"{__name__}.{_name}"), getattr(scipy.stats, _name)
    vars(_module).update({name: getattr(_owner, name) for name in dir(_owner) if not name.startswith("_")})
    globals()[_name] = sys.modules[_module.__name__] = _module

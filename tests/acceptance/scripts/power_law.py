"""A power law with errors, from SciPy's cookbook."""

import numpy as np
from scipy import optimize

num_points = 20
xdata = np.linspace(1.1, 10.1, num_points)
rng = np.random.default_rng(9)
ydata = 10.0 * xdata**-2.0
yerr = 0.2 * ydata
ydata = ydata + rng.normal(size=num_points) * yerr
logx, logy, logyerr = np.log10(xdata), np.log10(ydata), yerr / ydata
fitfunc = lambda p, x: p[0] + p[1] * x
errfunc = lambda p, x, y, err: (y - fitfunc(p, x)) / err
out = optimize.leastsq(errfunc, [1.0, -1.0], args=(logx, logy, logyerr), full_output=1)
result = out[0]
print(result)

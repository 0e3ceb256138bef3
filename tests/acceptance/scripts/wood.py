"""Wood's function of four variables."""

from scipy.optimize import fmin_bfgs


def wood(x):
    return (
        100 * (x[0] ** 2 - x[1]) ** 2
        + (x[0] - 1) ** 2
        + (x[2] - 1) ** 2
        + 90 * (x[2] ** 2 - x[3]) ** 2
        + 10.1 * ((x[1] - 1) ** 2 + (x[3] - 1) ** 2)
        + 19.8 * (x[1] - 1) * (x[3] - 1)
    )


result = fmin_bfgs(wood, [-3.0, -1.0, -3.0, -1.0], gtol=1e-4, disp=False)
print(result)

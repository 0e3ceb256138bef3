"""Price an American put and all of its Greeks: derivatives through a binomial tree with early exercise.

The tree is a loop over arrays; at each node the holder exercises if that is worth more. The Greeks are derivatives of
the price: delta, vega, rho, theta in reverse mode, gamma and vanna by differentiating once more. They are drawn over
prices of the share, all of which wg.vmap computes at once.

    python examples/greeks.py
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import wengert as wg

STEPS, STRIKE = 100, 100.0


def price(share, volatility, interest, years):
    """Return the price of an American put by the tree of Leisen and Reimer (1996), which is smooth in its inputs."""
    dt, n = years / STEPS, STEPS + 1  # an odd number
    root = volatility * np.sqrt(years)
    d = (np.log(share / STRIKE) + interest * years) / root
    inverted = lambda z: 0.5 + np.sign(z) * 0.5 * np.sqrt(1 - np.exp(-((z / (n + 1 / 3)) ** 2) * (n + 1 / 6)))
    up_measured, up_priced = inverted(d + root / 2), inverted(d - root / 2)
    growth = np.exp(interest * dt)
    up = growth * up_measured / up_priced
    down = growth * (1 - up_measured) / (1 - up_priced)
    k = np.arange(STEPS + 1.0)
    value = np.maximum(STRIKE - share * up ** (STEPS - k) * down**k, 0)

    def earlier(value, left):  # what lies beyond the tree is computed too, and never read
        kept = (up_priced * value + (1 - up_priced) * np.append(value[1:], 0.0)) / growth
        return np.maximum(kept, STRIKE - share * up ** (left - k) * down**k), None

    return wg.scan(earlier, value, np.arange(STEPS - 1.0, -1, -1))[0][0]


def greeks(share, volatility=0.25, interest=0.04, years=1.0):
    """Return a dict of the price and its derivatives, each an array like ``share``."""
    first = wg.grad(price, argnums=(0, 1, 2, 3))
    second = wg.grad(lambda *args: first(*args)[0], argnums=(0, 1))

    def all_of_them(share):
        args = share, volatility, interest, years
        (delta, vega, rho, theta), (gamma, vanna) = first(*args), second(*args)
        return dict(price=price(*args), delta=delta, gamma=gamma, vega=vega, rho=rho, theta=-theta, vanna=vanna)

    return wg.jit(wg.vmap(all_of_them))(share)


def draw(share, found):
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.subplots(2, 4).ravel()
    axes[-1].set_axis_off()
    for at, (name, values) in zip(axes, found.items(), strict=False):
        at.plot(share, values)
        at.axvline(STRIKE, color="C7", lw=0.8, ls=":")
        at.set(title=name)
    figure.supxlabel("price of the share; the strike is 100")
    return figure


if __name__ == "__main__":
    shares = np.linspace(70, 140, 141)
    draw(shares, greeks(shares)).savefig(Path(__file__).with_suffix(".png"), dpi=100)

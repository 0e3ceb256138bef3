"""Programs on scipy.optimize and scipy.integrate: equations that are solved, functions that are fitted, integrals."""

# SciPy has no types, and what is inferred of its code is more than it returns.
# pyright: reportOperatorIssue=false, reportAssignmentType=false, reportOptionalIterable=false

import numpy as np
from scipy import integrate, optimize

from tests.acceptance.programs.entries import program

RNG = np.random.default_rng(103)


def van_der_waals(p):
    """The molar volume of a gas at a temperature and pressure."""
    T, a, b = p
    volume = optimize.brentq(lambda v: (1.0 + a / v**2) * (v - b) - 0.08 * T, 0.5, 60.0)
    return 1.0 / volume


def kepler(e, anomalies):
    return sum(np.cos(optimize.newton(lambda E, M=M: E - e * np.sin(E) - M, M)) for M in anomalies)


def implied_volatility(price, spot, strike):
    from scipy.stats import norm

    def error(vol):
        d = np.log(spot / strike) / vol + vol / 2
        return spot * norm.cdf(d) - strike * norm.cdf(d - vol) - price

    return optimize.root_scalar(error, bracket=(0.01, 3.0), xtol=1e-14).root


def chemical_equilibrium(log_k, total):
    """Two reactions, solved for concentrations."""

    def balance(x):
        return np.array([x[0] * x[1] - np.exp(log_k[0]) * (total - x[0]), x[1] ** 2 + x[0] - np.exp(log_k[1])])

    return np.sum(optimize.fsolve(balance, np.array([0.5, 0.5]), xtol=1e-12))


def cournot(costs):
    """Quantities in equilibrium of firms with unequal costs."""

    def response(q):
        return 2.0 / (1 + q.sum()) - q / (1 + q.sum()) ** 2 - costs

    return optimize.root(response, np.full(len(costs), 0.3), tol=1e-12).x @ costs


def steady_reactor(k):
    return optimize.fixed_point(lambda c: np.exp(-k * c) / (1 + 0.1 * c), 0.5, xtol=1e-12)


def decay_fit(noise, t, y):
    (amplitude, rate), _ = optimize.curve_fit(lambda t, a, b: a * np.exp(-b * t), t, y + noise, p0=[1.0, 1.0])
    return amplitude / rate


def circle_fit(points):
    """The circle closest to points: its radius."""
    found = optimize.least_squares(
        lambda c: np.hypot(points[:, 0] - c[0], points[:, 1] - c[1]) - c[2],
        [0.0, 0.0, 1.0],
        xtol=1e-13,
        ftol=1e-13,
        gtol=1e-13,
    )
    return found.x[2]


def best_response(p):
    """The value of a quadratic game at its optimum, and where it is."""
    found = optimize.minimize(lambda x: np.sum((x - p) ** 2) + np.sum(x**4) / 4 + x[0] * x[1], np.zeros(2), tol=1e-12)
    return found.fun + found.x[0]


def bounded_portfolio(mean, cov):
    risk = lambda w: 0.5 * w @ cov @ w - mean @ w
    found = optimize.minimize(risk, np.full(3, 0.3), method="L-BFGS-B", bounds=[(0, 1)] * 3, tol=1e-14)
    return found.x @ mean


def budget(prices):
    """Demand of a consumer: the best basket that the budget allows."""
    spent = {"type": "eq", "fun": lambda x: x @ prices - 1.0}
    utility = lambda x: -np.sum(np.sqrt(x + 0.1))
    found = optimize.minimize(
        utility, np.full(3, 0.3), bounds=[(0, 2)] * 3, constraints=[spent], method="SLSQP", tol=1e-14
    )
    return found.x[0]


def golden_section(p):
    return optimize.minimize_scalar(lambda x: np.cosh(x - p[0]) + p[1] * x**2, tol=1e-10).x


def nonnegative(b):
    x, _ = optimize.nnls(np.array([[1.0, 0.2], [0.3, 1.0], [0.5, 0.5]]), b)
    return np.sum(x**2)


def diet(costs):
    """A linear program: the least cost of two nutrients."""
    found = optimize.linprog(costs, A_ub=-np.array([[2.0, 1.0], [1.0, 3.0]]), b_ub=-np.array([4.0, 6.0]))
    return found.fun


def assignment(costs):
    rows, cols = optimize.linear_sum_assignment(costs)
    return costs[rows, cols].sum()


def pendulum_period(angle):
    """The period of a pendulum: a complete elliptic integral."""
    k = np.sin(angle / 2)
    return 4 * integrate.quad(lambda t: 1 / np.sqrt(1 - (k * np.sin(t)) ** 2), 0, np.pi / 2)[0]


def blackbody(T, edges):
    return sum(integrate.quad(lambda x: x**3 / np.expm1(x / T), a, b)[0] for a, b in zip(edges[:-1], edges[1:]))


def tail(p):
    return integrate.quad(lambda x: np.exp(-p[0] * x) * x ** p[1], 0, np.inf)[0]


def moving_limits(p):
    return integrate.quad(lambda x, a: np.cos(a * x), p[0], p[1], args=(p[2],))[0]


def inertia(a):
    return integrate.dblquad(lambda y, x: a[0] * x**2 + a[1] * y**2, 0, 1, 0, lambda x: 1 - x)[0]


def expected_payoff(p):
    x = np.linspace(-4, 4, 201)
    return integrate.simpson(np.maximum(np.exp(p[0] + p[1] * x) - 1, 0) * np.exp(-(x**2) / 2), x=x)


def work_done(force, x):
    return integrate.trapezoid(force, x) + integrate.cumulative_trapezoid(force, x)[-2]


def gauss_rule(a):
    return integrate.fixed_quad(lambda x: np.exp(-a * x**2), 0.0, 1.0, n=7)[0]


def vector_integral(p):
    value, _ = integrate.quad_vec(lambda t: np.sin(p * t) / (1 + t), 0.0, 2.0)
    return np.sum(value)


def epidemic(p, days):
    """SIR by SciPy's solver."""

    def rate(t, y):
        new = p[0] * y[0] * y[1]
        return [-new, new - p[1] * y[1], p[1] * y[1]]

    found = integrate.solve_ivp(rate, (0.0, days[-1]), [0.99, 0.01, 0.0], t_eval=days, rtol=1e-9, atol=1e-9)
    return np.sum(found.y[1])


PROGRAMS = [
    program("van der Waals's gas", van_der_waals, np.array([300.0, 1.4, 0.04])),
    program("Kepler's equation by Newton", kepler, 0.3, np.array([0.4, 1.7])),
    program("implied volatility by a root", implied_volatility, 12.0, 100.0, 105.0),
    program("a chemical equilibrium", chemical_equilibrium, np.array([-0.3, 0.2]), 1.0),
    program("a Cournot equilibrium", cournot, np.array([0.3, 0.35, 0.4])),
    program("a steady reactor", steady_reactor, 0.8),
    program(
        "a fit of a decay",
        decay_fit,
        RNG.normal(size=8) * 0.01,
        np.linspace(0, 2, 8),
        2 * np.exp(-1.3 * np.linspace(0, 2, 8)),
        h=1e-3,
        rtol=1e-4,
        value_rtol=1e-6,
    ),
    program(
        "a fit of a circle",
        circle_fit,
        np.column_stack([np.cos(np.arange(7.0)), 1.2 * np.sin(np.arange(7.0))]),
        h=1e-3,
        rtol=1e-4,
        value_rtol=1e-6,
    ),
    program("a best response", best_response, np.array([0.7, -0.4]), h=1e-3, rtol=1e-4, value_rtol=1e-6),
    program(
        "a bounded portfolio",
        bounded_portfolio,
        np.array([0.5, 0.3, -0.9]),
        np.diag([1.0, 2.0, 3.0]) + 0.1,
        h=1e-3,
        rtol=1e-4,
        value_rtol=1e-6,
    ),
    program("demand of a consumer", budget, np.array([1.0, 1.5, 0.7]), h=1e-3, rtol=1e-4, value_rtol=1e-6),
    program("a search in one variable", golden_section, np.array([0.5, 0.3]), h=1e-3, rtol=1e-4, value_rtol=1e-6),
    program("nonnegative least squares", nonnegative, np.array([1.0, 0.7, 0.9])),
    program("the cheapest diet", diet, np.array([1.0, 1.4])),
    program("an assignment of jobs", assignment, RNG.uniform(1, 2, (3, 3))),
    program("the period of a pendulum", pendulum_period, 1.1),
    program("a black body", blackbody, 0.7, np.array([0.1, 1.0, 2.5])),
    program("an infinite tail", tail, np.array([1.3, 0.7])),
    program("an integral with moving limits", moving_limits, np.array([0.2, 1.4, 2.0])),
    program("a moment of inertia", inertia, np.array([1.2, 0.4])),
    program("an expected payoff", expected_payoff, np.array([0.1, 0.3])),
    program("work along a path", work_done, RNG.normal(size=7), np.linspace(0, 1, 7)),
    program("Gauss's rule", gauss_rule, 0.8),
    program("an integral of vectors", vector_integral, np.array([0.5, 1.5])),
    program("an epidemic by scipy", epidemic, np.array([0.6, 0.2]), np.array([0.0, 5.0, 12.0])),
]

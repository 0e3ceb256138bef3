"""Programs on scipy.linalg and scipy.sparse: Gaussian processes, control, networks, finite elements."""

# SciPy has no types, and what is inferred of its code is more than it returns.
# pyright: reportOperatorIssue=false, reportAssignmentType=false, reportOptionalIterable=false

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import linalg as splinalg
from scipy.spatial.distance import cdist

from tests.acceptance.programs.entries import program

RNG = np.random.default_rng(102)


def gaussian_process(p, x, y):
    """Rasmussen and Williams (2006), algorithm 2.1."""
    length, amplitude, noise = np.exp(p)
    K = amplitude**2 * np.exp(-0.5 * cdist(x, x, "sqeuclidean") / length**2) + noise**2 * np.eye(len(x))
    factor = linalg.cho_factor(K, lower=True)
    alpha = linalg.cho_solve(factor, y)
    return 0.5 * y @ alpha + np.log(np.diag(factor[0])).sum()


def markov_jump(rates, start, times):
    Q = np.array([[-rates[0], rates[0], 0.0], [rates[1], -rates[1] - rates[2], rates[2]], [0.0, 0.0, 0.0]])
    return sum(np.log((start @ linalg.expm(Q * t))[2]) for t in times)


def regulator(p, A, B):
    """The cost to go of a linear quadratic regulator."""
    P = linalg.solve_continuous_are(A, B, np.diag(np.exp(p[:2])), np.exp(p[2:])[:, None])
    return np.trace(P)


def stationary_covariance(a, Q):
    A = np.array([[a[0], a[1]], [1.0, 0.0]])
    return linalg.solve_discrete_lyapunov(A, Q)[0, 0]


def gramian(p, B):
    A = np.array([[-np.exp(p[0]), p[1]], [p[2], -1.5]])
    return np.trace(linalg.solve_continuous_lyapunov(A, -B @ B.T))


def beam(stiffness, load):
    """A chain of springs as a banded system."""
    bands = np.zeros((2, len(load)))
    bands[0] = stiffness[:-1] + stiffness[1:]
    bands[1, :-1] = -stiffness[1:-1]
    return load @ linalg.solveh_banded(bands, load, lower=True)


def tridiagonal(diagonal, b):
    bands = np.vstack([np.full(len(b), -1.0), diagonal, np.full(len(b), -1.0)])
    return np.sum(linalg.solve_banded((1, 1), bands, b) ** 2)


def procrustes(p, A):
    rotation = np.array([[np.cos(p[0]), -np.sin(p[0])], [np.sin(p[0]), np.cos(p[0])]])
    _, s, _ = linalg.svd(A @ rotation * p[1])
    return np.sum(s * np.array([1.0, 0.5])) + linalg.norm(A * p[1])


def vibrations(k, m):
    """The lowest frequencies of a chain of masses."""
    K = np.diag(k[:-1] + k[1:]) - np.diag(k[1:-1], 1) - np.diag(k[1:-1], -1)
    return np.sum(np.sqrt(linalg.eigh(K, np.diag(m), eigvals_only=True)))


def autoregression(r, b):
    return np.sum(linalg.solve_toeplitz(r, b))


def geodesic(p):
    A = np.array([[np.exp(p[0]), p[1]], [p[1], 2 + np.exp(p[2])]])
    return np.sum(linalg.logm(A) ** 2) + np.trace(linalg.sqrtm(A))


def matrix_cosine(p):
    A = np.array([[p[0], 0.3], [0.2, p[1]]])
    return np.sum(linalg.cosm(A) @ linalg.sinm(A))


def blocks(p):
    M = linalg.block_diag(np.outer(p, p) + np.eye(2), linalg.toeplitz(p))
    return np.log(linalg.det(M + np.eye(4)))


def whitening(p, x):
    L = linalg.cholesky(np.array([[np.exp(p[0]), 0.2], [0.2, np.exp(p[1])]]), lower=True)
    z = linalg.solve_triangular(L, x.T, lower=True)
    return 0.5 * np.sum(z**2) + len(x) * np.log(np.diag(L)).sum()


def lu_solution(p, b):
    lu = linalg.lu_factor(np.array([[2 + p[0], p[1]], [p[2], 3.0]]))
    return np.sum(linalg.lu_solve(lu, b) ** 2)


def network_flow(conductance, edges, source):
    """Potentials of a resistor network from its incidence matrix."""
    n = edges.max() + 1
    count = len(conductance)
    D = sparse.coo_matrix(
        (np.r_[np.ones(count), -np.ones(count)], (np.r_[range(count), range(count)], edges.T.ravel())), (count, n)
    ).tocsr()
    L = (D.T @ sparse.diags(conductance) @ D + sparse.identity(n)).tocsc()
    return source @ splinalg.spsolve(L, source)


def finite_elements(density, load):
    """A bar of linear elements, assembled from triplets."""
    n = len(density)
    local = np.array([[1.0, -1.0], [-1.0, 1.0]])
    i = (np.arange(n)[:, None, None] + np.array([[0, 0], [1, 1]])).ravel()
    j = (np.arange(n)[:, None, None] + np.array([[0, 1], [0, 1]])).ravel()
    K = sparse.coo_matrix(((density[:, None, None] ** 3 * local).ravel(), (i, j))).tocsc()[1:, 1:]
    return load @ splinalg.spsolve(K, load)


def diffusion_step(kappa, u):
    n = len(u)
    A = sparse.diags([-kappa[1:-1], kappa[:-1] + kappa[1:], -kappa[1:-1]], [-1, 0, 1], format="csc")
    lu = splinalg.splu((sparse.eye(n) + 0.1 * A).tocsc())
    for _ in range(3):
        u = lu.solve(u)
    return np.sum(u**2)


def pagerank_energy(weights, rows, cols, x):
    W = sparse.csr_matrix((np.exp(weights), (rows, cols)), (4, 4))
    return np.sum((W @ x - W.T @ x) ** 2) + W.sum()


def conjugate_gradients(k, b):
    n = len(b)
    A = sparse.diags([np.full(n - 1, -1.0), 2 + np.exp(k), np.full(n - 1, -1.0)], [-1, 0, 1]).tocsr()
    x, _ = splinalg.cg(A, b, rtol=1e-12)
    return b @ x


PROGRAMS = [
    program(
        "a Gaussian process of scipy",
        gaussian_process,
        np.array([0.0, 0.2, -1.0]),
        RNG.normal(size=(9, 2)),
        RNG.normal(size=9),
    ),
    program(
        "a Markov jump process", markov_jump, np.array([0.8, 0.3, 0.5]), np.array([1.0, 0, 0]), np.array([0.7, 1.9])
    ),
    program(
        "a linear regulator",
        regulator,
        np.array([0.2, -0.1, 0.3]),
        np.array([[0.0, 1.0], [-1.0, -0.2]]),
        np.array([[0.0], [1.0]]),
    ),
    program("a stationary covariance", stationary_covariance, np.array([0.5, -0.2]), np.diag([1.0, 0.0])),
    program("a gramian", gramian, np.array([0.1, 0.4, -0.3]), np.array([[1.0], [0.5]])),
    program("a chain of springs", beam, RNG.uniform(1, 2, 7), np.ones(6)),
    program("a tridiagonal system", tridiagonal, RNG.uniform(3, 4, 5), np.ones(5)),
    program("singular values of a rotation", procrustes, np.array([0.4, 1.2]), RNG.normal(size=(3, 2))),
    program("vibrations of a chain", vibrations, RNG.uniform(1, 2, 5), RNG.uniform(1, 2, 4)),
    program("an autoregression", autoregression, np.array([2.0, 0.7, 0.2]), np.array([1.0, -1, 2])),
    program("a logarithm of a matrix", geodesic, np.array([0.2, 0.3, 0.1])),
    program("a cosine of a matrix", matrix_cosine, np.array([0.5, -0.3])),
    program("block matrices", blocks, np.array([0.7, 0.3])),
    program("whitened data", whitening, np.array([0.2, 0.4]), RNG.normal(size=(5, 2))),
    program("a factored system", lu_solution, np.array([0.3, 0.5, -0.4]), np.array([1.0, 2.0])),
    program(
        "a resistor network",
        network_flow,
        RNG.uniform(0.5, 2, 5),
        np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]]),
        np.array([1.0, 0, -1, 0]),
    ),
    program("a bar of finite elements", finite_elements, RNG.uniform(0.5, 1, 6), np.ones(6)),
    program("implicit diffusion", diffusion_step, RNG.uniform(0.5, 1, 7), RNG.normal(size=6)),
    program(
        "energy on a graph",
        pagerank_energy,
        RNG.normal(size=4),
        np.array([0, 1, 2, 3]),
        np.array([1, 2, 3, 0]),
        RNG.normal(size=4),
    ),
    program("conjugate gradients", conjugate_gradients, RNG.normal(size=5), np.ones(5), rtol=1e-4),
]

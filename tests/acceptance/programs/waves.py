"""Complex amplitudes, Fourier transforms, eigenvalues and singular values."""

import cmath
from functools import reduce

import numpy as np
import scipy.fft
from numpy.linalg import eigh

from tests.acceptance.programs.entries import program

# ----------------------------------------------------------------------------------------------- quantum circuits

X, Z = np.array([[0, 1], [1, 0]], complex), np.array([[1, 0], [0, -1]], complex)
Y, ONE = -1j * Z @ X, np.eye(2)


def pauli_string(*factors):
    return reduce(np.kron, factors)


HAMILTONIAN = sum(
    [pauli_string(*[Z if k in (i, i + 1) else ONE for k in range(4)]) for i in range(3)]
    + [0.7 * pauli_string(*[X if k == i else ONE for k in range(4)]) for i in range(4)]
)


def rotation(pauli, angle):
    return np.cos(angle / 2) * ONE - 1j * np.sin(angle / 2) * pauli


def apply(state, gate, *qubits):
    """A gate on some of the qubits of a state that has an axis for each."""
    n = len(qubits)
    gate = gate.reshape((2,) * (2 * n))
    state = np.tensordot(gate, state, axes=(range(n, 2 * n), qubits))
    return np.moveaxis(state, range(n), qubits)


def vqe_energy(angles, layers=2):
    """The energy of an Ising chain of 4 qubits in the state that a circuit of rotations and CNOTs makes."""
    cnot = np.eye(4)[[0, 1, 3, 2]]
    state = np.zeros((2,) * 4, dtype=complex)
    state[0, 0, 0, 0] = 1.0
    k = 0
    for _ in range(layers):
        for qubit in range(4):
            for pauli in (Y, Z):
                state = apply(state, rotation(pauli, angles[k]), qubit)
                k += 1
        for qubit in range(3):
            state = apply(state, cnot, qubit, qubit + 1)
    psi = state.ravel()
    return np.vdot(psi, HAMILTONIAN @ psi).real


# --------------------------------------------------------------------------------------------- wave packets, fluids


def schroedinger_control(pulse, n=32, dt=0.05):
    """How little of a packet in a trap arrives where it should, pushed by a pulse: split steps."""
    x = np.linspace(-5, 5, n, endpoint=False)
    k = 2 * np.pi * np.fft.fftfreq(n, d=x[1] - x[0])
    psi = np.exp(-((x + 1) ** 2)).astype(complex)
    psi /= np.sqrt(np.sum(np.abs(psi) ** 2))
    goal = np.exp(-((x - 1) ** 2))
    goal = goal / np.linalg.norm(goal)
    kinetic = np.exp(-0.5j * dt * k**2)
    for force in pulse:
        potential = 0.5 * x**2 - force * x
        psi = np.exp(-0.5j * dt * potential) * psi
        psi = np.fft.ifft(kinetic * np.fft.fft(psi))
        psi *= np.exp(-0.5j * dt * potential)
    return 1 - abs(np.vdot(goal, psi)) ** 2 + 1e-3 * np.sum(pulse**2)


def burgers(u, steps=4, nu=0.1, dt=0.01):
    """Enstrophy after some steps of Burgers' equation: derivatives by rfft, Heun's method, two thirds kept."""
    n = len(u)
    k = np.fft.rfftfreq(n, 1 / n)
    kept = k < n / 3

    def rate(v_hat):
        v = np.fft.irfft(v_hat, n)
        return (-1j * k * np.fft.rfft(0.5 * v**2) - nu * k**2 * v_hat) * kept

    u_hat = np.fft.rfft(u)
    for _ in range(steps):
        first = rate(u_hat)
        u_hat = u_hat + 0.5 * dt * (first + rate(u_hat + dt * first))
    return np.mean(np.fft.irfft(1j * k * u_hat, n) ** 2)


def poisson_energy(charges):
    """The energy of charges in a box with walls, by sine transforms."""
    n = charges.shape[0]
    k = 2 - 2 * np.cos(np.pi * np.arange(1, n + 1) / (n + 1))
    potential = scipy.fft.idstn(scipy.fft.dstn(charges, type=1) / (k[:, None] + k), type=1)
    return 0.5 * (charges * potential).sum()


# ------------------------------------------------------------------------------------------------------- molecules


def hueckel(bonds, electrons=6, temperature=0.0):
    """The energy of the π electrons of a ring, with what stretching its bonds costs, and the charge at one atom."""
    n = len(bonds)
    h = np.zeros((n, n))
    for i, length in enumerate(bonds):
        j = (i + 1) % n
        h[i, j] = h[j, i] = -2.5 * np.exp(-(length - 1.4) / 0.3)
    h[0, 0] = 0.3
    energies, orbitals = eigh(h)
    occupied = orbitals[:, : electrons // 2]
    charge = 2 * np.sum(occupied[0] ** 2)
    return 2 * energies[: electrons // 2].sum() + 20 * np.sum((bonds - 1.45) ** 2) + (charge - 1) ** 2


# ------------------------------------------------------------------------------------------------ data and signals

DATA = np.random.default_rng(0).normal(size=(12, 5)) @ np.diag([3.0, 2.0, 1.0, 0.5, 0.3])


def pca_loss(scales):
    """What two principal components leave of scaled data, and how far the first is from a direction."""
    x = DATA * scales
    x = x - x.mean(axis=0)
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    rest = x - (u[:, :2] * s[:2]) @ vt[:2]
    return (rest**2).sum() / (x**2).sum() - (vt[0] @ np.ones(5) / np.sqrt(5)) ** 2


TIMES = np.linspace(0, 3, 15)
SIGNAL = 1.3 * np.exp(-0.7 * TIMES) + 0.4 * np.exp(-2.9 * TIMES) + 0.01 * np.cos(40 * TIMES)


def variable_projection(rates):
    """The misfit of a sum of exponentials whose amplitudes are the best for their rates."""
    basis = np.exp(-np.outer(TIMES, rates))
    amplitudes, _, rank, _ = np.linalg.lstsq(basis, SIGNAL, rcond=None)
    assert rank == len(rates)
    return np.sum((SIGNAL - basis @ amplitudes) ** 2)


MEASURED = np.abs(np.fft.fft2(np.pad(np.random.default_rng(1).uniform(size=(4, 4)), 2)))


def phase_retrieval(image):
    """How far the magnitudes of an image's spectrum are from measured ones."""
    magnitudes = np.abs(np.fft.fft2(np.pad(image, 2)))
    return np.sum((magnitudes - MEASURED) ** 2) / MEASURED.size


def equaliser(gains, fs=48000.0):
    """A cascade of peaking filters, its response on the unit circle, against a target in decibels."""
    w = 2 * np.pi * np.geomspace(50, 15000, 12) / fs
    z = np.exp(-1j * w)
    response = np.ones_like(z)
    for f0, gain in zip((100.0, 1000.0, 8000.0), gains, strict=True):
        a = 10 ** (gain / 40)
        alpha = np.sin(2 * np.pi * f0 / fs) / 1.4
        c = -2 * np.cos(2 * np.pi * f0 / fs)
        response *= (1 + alpha * a + c * z + (1 - alpha * a) * z**2) / (1 + alpha / a + c * z + (1 - alpha / a) * z**2)
    level = 20 * np.log10(np.abs(response))
    group = -np.diff(np.unwrap(np.angle(response)))
    return np.mean((level - 3 * np.sin(np.log(w))) ** 2) + 10 * np.sum(group**2)


def thin_films(thicknesses):
    """What layers on glass reflect, averaged over colours: characteristic matrices."""
    indices = [1.38, 2.1 + 0.01j, 1.45]
    total = 0.0
    for wavelength in (450.0, 550.0, 650.0):
        m = np.eye(2, dtype=complex)
        for n, d in zip(indices, thicknesses, strict=True):
            delta = 2 * np.pi * n * d / wavelength
            m = m @ np.array([[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]])
        b, c = m @ np.array([1.0, 1.52])
        total += abs((b - c) / (b + c)) ** 2
    return total / 3


def lift(shape):
    """The circulation around a Joukowski profile, and the width of it."""
    centre = complex(-0.1, 0.1) + shape[0] * cmath.exp(1j * 0.3)
    radius = abs(1.0 - centre)
    theta = np.linspace(0, 2 * np.pi, 20, endpoint=False)
    circle = centre + radius * np.exp(1j * theta)
    profile = circle + 1 / circle
    beta = np.arcsin(centre.imag / radius)
    return 4 * np.pi * radius * np.sin(shape[1] + beta) + 0.1 * np.ptp(profile.real)


# ------------------------------------------------------------------------------------------------------- control

PLANT = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [2.0, -1.0, 0.5]])
INPUT = np.array([[0.0], [0.3], [1.0]])


def pole_placement(gains):
    """How far the poles of a controlled plant lie from where they should, and how fast the slowest of them decays."""
    values, vectors = np.linalg.eig(PLANT - INPUT @ gains[None, :])
    wanted = np.array([-1.0 + 1.0j, -1.0 - 1.0j, -2.0])
    order, target = np.lexsort((values.imag, values.real)), np.lexsort((wanted.imag, wanted.real))
    misfit = np.sum(np.abs(values[order] - wanted[target]) ** 2)
    slowest = vectors[:, np.argmax(values.real)]
    return misfit + 0.1 * np.max(values.real) + 0.01 * np.abs(slowest[0] / slowest[2]) ** 2


def flutter(stiffness):
    """The damping of the least damped mode of two coupled oscillators, of the roots of their polynomial."""
    k1, k2 = stiffness
    roots = np.roots([1.0, 0.4, k1 + k2 + 0.3, 0.2 * k1 + 0.1, k1 * k2])
    return np.max(roots.real) + 0.1 * np.min(np.abs(roots))


PROGRAMS = [
    program("pole placement", pole_placement, np.array([5.0, 6.0, 4.0])),
    program("flutter", flutter, np.array([1.3, 2.1])),
    program("variational eigensolver", vqe_energy, np.linspace(0.1, 1.4, 16)),
    program("quantum control", schroedinger_control, np.array([0.5, -0.2, 0.8, 0.3, 0.1])),
    program("spectral Burgers", burgers, np.sin(np.arange(16) * 2 * np.pi / 16) + 0.3),
    program("sine transforms", poisson_energy, np.outer(np.arange(4.0), np.ones(4)) - 1.2),
    program("Hueckel orbitals", hueckel, np.array([1.38, 1.44, 1.37, 1.46, 1.39, 1.43])),
    program("truncated components", pca_loss, np.array([1.0, 0.8, 1.1, 1.3, 0.7])),
    program("variable projection", variable_projection, np.array([0.6, 3.1])),
    program("phase retrieval", phase_retrieval, np.random.default_rng(2).uniform(size=(4, 4))),
    program("equaliser", equaliser, np.array([3.0, -2.0, 4.0])),
    program("antireflective coating", thin_films, np.array([99.0, 65.0, 30.0])),
    program("Joukowski profile", lift, np.array([0.05, 0.1])),
]

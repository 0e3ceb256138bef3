"""Results of benchmarks are compared before they are timed, and NaN is seen."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("benchmarks.checks", reason="the benchmarks are not there")
from benchmarks import applications, gradbench
from benchmarks.checks import between, distance, leaves, slope_error, worst
from tests.differences import check

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ([1.0, 2.0], [1.0, 4.0], 0.5),
        ([np.nan, 2.0], [np.nan, 2.0], 0.0),
        ([np.inf, 2.0], [np.inf, 2.0], 0.0),
        ([np.inf, 2.0], [1.0, 2.0], math.inf),
        ([], [], 0.0),
        ([1.0], [1.0, 1.0], math.inf),
        (1e-20, 0.0, 1e-20),
    ],
)
def test_the_distance_is_the_greatest_relative_to_the_greatest(x: Any, y: Any, expected: float) -> None:
    assert distance(np.array(x), np.array(y)) == expected


def test_nan_on_one_side_is_an_error() -> None:
    for x, y in (([np.nan, 1.0], [0.0, 1.0]), ([0.0, 1.0], [np.nan, 1.0])):
        assert math.isnan(distance(np.array(x), np.array(y)))
        assert worst(distance(np.array(x), np.array(y))) == math.inf
        assert math.isnan(between([np.array([5.0]), np.array(x)], [np.array([1.0]), np.array(y)]))


def test_results_of_another_number_are_an_error() -> None:
    assert between([np.ones(2)], [np.ones(2), np.ones(2)]) == math.inf


def test_determinants_by_minors() -> None:
    a = np.random.default_rng(0).random((5, 5))
    for f in (gradbench.det, gradbench.det_of_stacks):
        np.testing.assert_allclose(f(a), np.linalg.det(a), rtol=1e-12)


def test_the_mixture_is_its_densities() -> None:
    from scipy import stats

    alpha, mu, q, l, x = gradbench.gmm_inputs(2, 3, n=7)
    total = 0.0
    weights = np.exp(alpha) / np.sum(np.exp(alpha))
    factors = [np.array([[np.exp(a[0]), 0.0], [b[0], np.exp(a[1])]]) for a, b in zip(q, l, strict=True)]
    for point in x:
        each = [
            w * stats.multivariate_normal.pdf(point, m, np.linalg.inv(f.T @ f))
            for w, m, f in zip(weights, mu, factors, strict=True)
        ]
        total += np.log(np.sum(each))
    for f in factors:
        total += stats.wishart.logpdf(f.T @ f, df=2 + 0 + 1, scale=np.eye(2) / 1.5**2)
    np.testing.assert_allclose(gradbench.gmm(alpha, mu, q, l, x, 0, 1.5), total, rtol=1e-10)


def test_torques_at_rest_hold_the_weight() -> None:
    """One joint about y, with its mass along x."""
    one = np.array([[1.0, 0.0, 0.0]])
    arm = 0 * one, one, np.array([2.0]), np.zeros((1, 3, 3)), np.array([[0.0, 1.0, 0.0]])
    zero = np.zeros(1)
    np.testing.assert_allclose(applications.torques(zero, zero, zero, arm), [-2.0 * 9.81])


g, a = gradbench, applications
HAND, MIXTURE, LSTM, ARM = g.Hand(5, 3), g.gmm_inputs(2, 2, 4), g.lstm_inputs(2, 5, 3), a.arm_inputs(3)
OPTION, HIDDEN, FEATURE, SYMBOLS = (
    a.asian_inputs(5, 7),
    a.hidden_markov_inputs(3, 4, 3),
    np.array([2.0, 8.0]),
    [0, 2, 1],
)
OBSERVED = np.array([-0.8, -1.1, -0.8, 3.6, 3.7, 5.9, 4.2, 5.9, -8.5, 0.088, 0.0027, 7.2, 0.001, 3.0, 0.4])
POINTS = np.linspace(-1.0, 1.0, 6)
SMALL: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "gmm": (lambda *x: g.gmm(*x, MIXTURE[4], 1, 1.0), MIXTURE[:4]),
    "reprojection": (lambda z: g.reprojection(z, FEATURE), (OBSERVED,)),
    "hand": (lambda z: g.hand_complicated(z, HAND), (np.concatenate([np.zeros(2), HAND.theta]),)),
    "llsq": (lambda x: g.llsq(x, POINTS), (np.arange(4.0),)),
    "ode": (lambda x: g.ode(x, 3), (np.linspace(0.5, 1.0, 5),)),
    "lstm": (lambda m, e: g.lstm(m, e, LSTM[2], LSTM[3]), LSTM[:2]),
    "asian": (lambda p: a.asian(p, OPTION[1]), OPTION[:1]),
    "diffusion": (lambda u: a.diffusion(u, 3), (np.random.default_rng(0).random((4, 5)),)),
    "hidden Markov": (lambda x, y: a.hidden_markov(x, y, SYMBOLS), HIDDEN[:2]),
    "closest points": (lambda x, y: a.closest_points(x, y, 2), a.closest_points_inputs(6)),
    "cart": (a.cart_cost, a.cart_inputs(4)),
    "arm": (lambda q, dq: a.torques(q, dq, q, ARM[3]), ARM[:2]),
}


@pytest.mark.sampled(5, "their parts are tested elsewhere")
@pytest.mark.parametrize("name", SMALL)
def test_derivatives_of_a_program_of_the_benchmarks(name: str) -> None:
    f, args = SMALL[name]
    check(f, *args)


FAKE = {
    "bench_info/scaled.json": json.dumps({"benchmark": {
        "relative_path": "scaled", "module_name": "scaled", "func_name": "kernel", "parameters": {"S": {"N": 6}},
        "init": {"func_name": "initialize", "input_args": ["N"], "output_args": ["A", "b"]},
        "input_args": ["N", "A", "b"], "output_args": ["A"],
    }}),
    "npbench/benchmarks/scaled/scaled.py": """
        import numpy as np
        def initialize(N):
            return np.arange(1.0, N + 1), np.float64(3.0)
        """,
    "npbench/benchmarks/scaled/scaled_numpy.py": """
        import numpy as np
        def kernel(N, A, b):
            for i in range(1, N):
                A[i] += b * np.sin(A[i - 1])
            return A.sum(), np.arange(N)
        """,
}  # fmt: skip


@pytest.mark.deep("starts a process for each task")
def test_a_program_in_a_folder_like_npbench_is_right_by_differences(tmp_path: Path) -> None:
    for name, text in FAKE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    out = tmp_path / "out.json"
    command = [sys.executable, "-m", "benchmarks.bench_npbench", str(tmp_path), "--rounds", "1", "--seconds", "0.01"]
    done = subprocess.run(
        [*command, "--out", str(out)], cwd=ROOT, env=os.environ, capture_output=True, text=True, check=True
    )
    row = json.loads(out.read_text())["scaled"]
    assert row["verdict"] == "right by differences", done.stdout
    assert row["objective"] == [["returned", 0], ["written", 0]] and row["wengert"]["kernels"]
    assert "there is no port to JAX" in done.stdout


def test_every_benchmark_is_run() -> None:
    from benchmarks.run import APART, in_order

    there = {path.stem.removeprefix("bench_") for path in (ROOT / "benchmarks").glob("bench_*.py")}
    assert {*in_order(), *APART} == there and len(in_order()) == len(set(in_order()))


def test_a_slope_is_compared_with_differences() -> None:
    def f(pair: Any, z: Any) -> Any:
        x, y = pair["x"], pair["y"]
        return np.sum(x * np.sin(y)) + np.real(np.sum(z * z))

    x, y, z = np.linspace(0.1, 1.0, 4), np.array(0.3), np.array([1.0 + 2.0j])
    pair = {"x": x, "y": y}
    right = {"x": np.sin(y) + 0 * x, "y": np.sum(x) * np.cos(y)}, 2 * z
    assert slope_error(f, (pair, z), (0, 1), right) < 1e-9
    assert slope_error(f, (pair, z), (0,), right[0]) < 1e-9
    assert slope_error(f, (pair, z), (0,), {**right[0], "y": right[0]["y"] + 0.1}) > 1e-3
    assert math.isnan(slope_error(f, (pair, z), (0,), {**right[0], "y": np.array(np.nan)}))
    assert slope_error(f, (pair, z), (0,), right) == math.inf


def test_a_figure_without_a_number_is_wrong() -> None:
    from benchmarks.workloads import COLLECTION

    for name, make in COLLECTION.items():
        w = make()
        assert np.isfinite(w.f(*w.args)), name
        assert all(np.isfinite(g).all() and np.any(g) for g in leaves(wg.grad(w.closed(), w.wrt)(*w.active))), name


@pytest.mark.deep("starts processes that take longer than they need to")
def test_a_row_of_a_benchmark_is_compared_before_it_is_timed() -> None:
    """The check of ``benchmarks.alternating`` sees NaN, and what differs; ``benchmarks.rows`` marks a wrong library."""
    script = """
    import numpy as np
    from benchmarks.alternating import Compared, Other, errors, shown
    right, wrong, nan = (lambda: np.ones(2)), (lambda: np.array([1.0, 2.0])), (lambda: np.array([1.0, np.nan]))
    found = errors(Compared({"ours": right, "a": wrong, "b": nan, "c": Other(nan)}, check=lambda x: 0.0))
    assert found["ours"] == 0 and found["a"] == 1.0 and np.isnan(found["b"]) and "c" not in found
    assert "WRONG" in shown(found["a"], 1e-6) and "WRONG" in shown(found["b"], 1e-6) and shown(0.0, 1e-6) == "0e+00"
    assert np.isnan(errors(Compared({"ours": nan}))["ours"])
    assert np.isnan(errors(Compared({"ours": nan, "a": right}))["ours"])
    from benchmarks.processes import is_wrong
    assert is_wrong({"error": float("nan")}) and is_wrong({"error": 0.0, "checksum": float("nan")})
    assert is_wrong({"checksum": 1.0}, {"checksum": 2.0})
    assert not is_wrong({"checksum": 1.0, "error": 1e-7}, {"checksum": 1.0})
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    subprocess.run(command, cwd=ROOT, env=os.environ, check=True, timeout=100)


def test_a_picture_is_well_formed_and_leaves_out_what_is_wrong() -> None:
    from xml.etree import ElementTree

    from benchmarks.picture import picture

    good = {"wengert": {"each_s": 1.0, "right": True}, "jax": {"each_s": 2.0, "right": True}}
    bad = {"wengert": {"each_s": 1.0, "right": True}, "c": {"each_s": 3.0, "right": False}}
    rows = [
        {"name": "a < b", "by": good},
        {"name": "b", "by": bad},
        {"name": "c", "by": {"wengert": {"failed": "why"}}},
    ]
    words = [element.text for element in ElementTree.fromstring(picture("title", rows)).iter() if element.text]
    assert {"a < b", "b", "c (ours: none)", "2", "jax"} <= set(words) and "3" not in words


@pytest.mark.deep("starts a process")
def test_a_slope_by_differences_is_trusted_where_two_steps_agree() -> None:
    script = """
    from math import inf, isinf, nan
    from benchmarks.npbench import steadiest
    error, slope = steadiest([(0.5, 3.0), (0.01, 2.0), (0.001, 2.001), (0.3, 9.0)])
    assert abs(slope - 2.0) < 0.01 and error < 0.02
    error, slope = steadiest([(1e-9, 3.0), (1e-9, -70.0), (1e-9, 4e5)])  # each agrees with itself alone
    assert error > 50
    assert isinf(steadiest([(inf, nan), (inf, nan)])[0])
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    subprocess.run(command, cwd=ROOT, env=os.environ, check=True, timeout=100)

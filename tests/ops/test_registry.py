"""The table of ops is complete: every op has every rule, or says why not, and stands in the table of cases.

The ops of :mod:`wengert.higher` are in the table too, but for the user's primitives, of which each is an op.
"""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import wengert.ops
from tests.ops import linalg_cases, special_cases
from tests.ops.cases import CASES
from tests.ops.check_op import Case, tape_of
from wengert.ops import OPS, UFUNCS
from wengert.ops.kernels import Callback, Kernel, Map
from wengert.ops.op import CONJUGATION, NONE, ZERO, Op, partials_of

ALL = sorted(OPS.values(), key=lambda op: op.name)


def cases_of(op: Op) -> list[Case]:
    return [case for case in (*CASES, *special_cases.CASES, *linalg_cases.CASES) if case.name == op.name]


@pytest.mark.parametrize("op", ALL, ids=lambda op: op.name)
def test_every_op_has_a_case(op: Op) -> None:
    assert cases_of(op), f"{op.name} has no line in tests/ops/cases.py"


@pytest.mark.parametrize("op", ALL, ids=lambda op: op.name)
def test_every_op_says_what_it_computes(op: Op) -> None:
    assert OPS[op.name] is op
    assert isinstance(op.kernel, Kernel)
    assert callable(op.reference) and callable(op.type) and callable(op.cost) and callable(op.batch)
    if isinstance(op.kernel, Map):
        assert op.kernel.function == op.name
        assert op.is_elementwise
    if isinstance(op.kernel, Callback):
        assert op.kernel.why


@pytest.mark.parametrize("op", ALL, ids=lambda op: op.name)
def test_the_kind_of_an_op_is_one(op: Op) -> None:
    """Elementwise, linear, or neither: a second set of rules could only differ from the first."""
    assert op.is_elementwise + op.is_linear + (op.pullback is not None) <= 1
    if op.is_elementwise or op.is_linear:
        assert op.pushforward is None


@pytest.mark.parametrize("op", ALL, ids=lambda op: op.name)
def test_every_operand_has_a_rule(op: Op) -> None:
    for case in cases_of(op):
        n = len(case.operands)
        tape, _, _ = tape_of(case, case.draw(case.rng()))
        is_inexact = any(v.aval.is_inexact for v in tape.outputs) and any(v.aval.is_inexact for v in tape.inputs)
        if op.is_elementwise:
            assert len(partials_of(op, case.kw)) == n
        elif op.is_linear:
            assert op.transpose is not None and (len(op.transpose) == n or op.is_variadic)
        elif is_inexact:
            assert op.pushforward is not None, f"{op.name}: a formula, or ZERO"
            assert op.pullback is not None and (len(op.pullback) == n or op.is_variadic)
            assert (op.pushforward is ZERO) == all(rule is ZERO or rule is NONE for rule in op.pullback)
        else:  # integers, booleans, nothing at all
            assert op.pushforward is None and op.pullback is None


def test_rules_are_formulas_numbers_or_answers() -> None:
    for op in ALL:
        params = [case.kw for case in cases_of(op)] if op.is_elementwise else []
        partials = [rule for kw in params for rule in partials_of(op, kw)]
        for rule in (*partials, *(op.transpose or ()), *(op.pullback or ())):
            assert rule in (ZERO, NONE, CONJUGATION) or callable(rule) or isinstance(rule, int | float)


def test_every_ufunc_is_the_op_of_its_name() -> None:
    for ufunc, op in UFUNCS.items():
        assert op.name == ufunc.__name__.lstrip("_")  # SciPy has private ones: _zeta
        assert OPS[op.name] is op


def test_ops_know_nothing_of_what_comes_after_them() -> None:
    """They import the tape, the ground and each other: not tracing, not differentiation, not code generation."""
    folder = Path(wengert.ops.__file__).parent
    allowed = ("wengert.ops", "wengert.edit", "wengert.tape", "wengert.errors", "wengert.config", "wengert.locks")
    allowed += ("wengert.tree", "wengert._contexts")
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert not name.startswith("wengert") or name.startswith(allowed), f"{path.name} imports {name}"


@pytest.mark.parametrize("ufunc", [np.add, np.tanh, np.where], ids=lambda f: f.__name__)
def test_a_ufunc_is_found_by_itself(ufunc: object) -> None:
    assert (ufunc in UFUNCS) == isinstance(ufunc, np.ufunc)

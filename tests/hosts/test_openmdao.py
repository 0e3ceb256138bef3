"""OpenMDAO's own examples with our partials: total derivatives are those of its complex step, to 1e-12."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import openmdao.api as om
import pytest
from openmdao.test_suite.components import (
    options_feature_function,
    paraboloid_feature,
    polynomial_fit,
    sellar_feature,
    three_bar_truss,
    unit_conv,
)
from openmdao.test_suite.scripts import circuit_analysis
from openmdao.test_suite.test_examples import test_hohmann_transfer as hohmann

import wengert as wg

pytestmark = pytest.mark.filterwarnings("ignore::openmdao.utils.om_warnings.OpenMDAOWarning")

exact = wg.hosts.openmdao.exact
Change = Callable[[type], type]


def complex_step(cls: Any) -> Any:
    """OpenMDAO's complex step in the place of its finite differences."""

    class Stepped(cls):
        def declare_partials(self, of: Any, wrt: Any, *args: Any, method: str = "exact", **kwargs: Any) -> Any:
            kwargs = {k: v for k, v in kwargs.items() if k not in ("form", "step", "step_calc", "minimum_step")}
            method = "cs" if method == "fd" else method
            return super().declare_partials(of, wrt, *args, method=method, **kwargs)

    Stepped.__name__ = cls.__name__
    return Stepped


def alone(component: Any, **values: Any) -> Any:
    """A problem of one component, run at these values."""
    problem = om.Problem(reports=False)
    problem.model.add_subsystem("c", component, promotes=["*"])
    problem.setup(force_alloc_complex=True)
    for name, value in values.items():
        problem.set_val(name, value)
    problem.run_model()
    return problem


def agree(ours: Any, reference: Any, of: Any, wrt: Any, rtol: float = 1e-12) -> None:
    got, wanted = ours.compute_totals(of, wrt), reference.compute_totals(of, wrt)
    assert set(got) == set(wanted)
    for key, value in wanted.items():
        assert np.any(value) or np.size(value) > 0
        np.testing.assert_allclose(got[key], value, rtol=rtol, atol=rtol * max(1.0, np.abs(value).max()), err_msg=key)


# ----------------------------------------------------------------------------------------------- OpenMDAO's examples


def sellar(change: Change, names: tuple[str, str] = ("SellarDis1CS", "SellarDis2CS")) -> Any:
    """The two disciplines of docs, features/core_features/working_with_derivatives, coupled."""
    problem = om.Problem(reports=False)
    model = problem.model
    model.add_subsystem("d1", change(getattr(sellar_feature, names[0]))(), promotes=["x", "z", "y1", "y2"])
    model.add_subsystem("d2", change(getattr(sellar_feature, names[1]))(), promotes=["z", "y1", "y2"])
    model.add_subsystem(
        "obj_cmp", om.ExecComp("obj = x**2 + z[1] + y1 + exp(-y2)", z=np.zeros(2), x=0.0),
        promotes=["obj", "x", "z", "y1", "y2"],
    )  # fmt: skip
    model.add_subsystem("con_cmp1", om.ExecComp("con1 = 3.16 - y1"), promotes=["con1", "y1"])
    model.add_subsystem("con_cmp2", om.ExecComp("con2 = y2 - 24.0"), promotes=["con2", "y2"])
    model.set_input_defaults("x", 1.0)
    model.set_input_defaults("z", np.array([5.0, 2.0]))
    model.nonlinear_solver = om.NewtonSolver(solve_subsystems=False, atol=1e-14, rtol=1e-15, iprint=-1)
    model.linear_solver = om.DirectSolver()
    problem.setup(force_alloc_complex=True)
    problem.run_model()
    return problem


@pytest.mark.parametrize("names", [("SellarDis1CS", "SellarDis2CS"), ("SellarDis1", "SellarDis2")])
def test_sellar(names: tuple[str, str]) -> None:
    agree(sellar(exact, names), sellar(complex_step, names), ["obj", "con1", "con2"], ["x", "z"])


def circuit(change: Change, monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patched:
        for name in ("Resistor", "Diode", "Node"):
            patched.setattr(circuit_analysis, name, change(getattr(circuit_analysis, name)))
        problem = om.Problem(reports=False)
        problem.model.add_subsystem("circuit", circuit_analysis.Circuit(), promotes=[("Vg", "ground")])
        problem.setup(force_alloc_complex=True)
        problem.model.circuit.nonlinear_solver.options.update({"iprint": -1, "maxiter": 50, "atol": 1e-14})
        for name, value in {"ground": 0.0, "circuit.I_in": 0.1, "circuit.n1.V": 10.0, "circuit.n2.V": 0.7}.items():
            problem.set_val(name, value)
        problem.run_model()
    return problem


def test_the_circuit_has_explicit_and_implicit_components(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, reference = circuit(exact, monkeypatch), circuit(lambda cls: cls, monkeypatch)
    np.testing.assert_allclose(ours["circuit.n1.V"], [9.90804735], rtol=1e-6)
    agree(ours, reference, ["circuit.R2.I", "circuit.D1.I", "circuit.n2.V"], ["circuit.I_in", "ground"])


def test_hohmann_transfer() -> None:
    cls = hohmann.TransferOrbitComp
    agree(alone(exact(cls)()), alone(complex_step(cls)()), ["vp", "va"], ["mu", "rp", "ra"])


def test_paraboloid() -> None:
    cls = paraboloid_feature.Paraboloid
    at = {"x": 5.0, "y": -3.0}
    agree(alone(exact(cls)(), **at), alone(complex_step(cls)(), **at), ["f_xy"], ["x", "y"])


@pytest.mark.parametrize("func", [lambda x: np.sin(x) ** 2, lambda x: np.exp(-(x**2)) / (1 + x)])
def test_a_function_that_is_an_option(func: Callable[[Any], Any]) -> None:
    cls = options_feature_function.UnitaryFunctionComp
    agree(alone(exact(cls)(func=func), x=0.7), alone(complex_step(cls)(func=func), x=0.7), ["y"], ["x"])


@pytest.mark.parametrize("suffix", ["C", "F", "K"])
def test_units_are_converted_by_openmdao(suffix: str) -> None:
    def problem(change: Change) -> Any:
        problem = om.Problem(reports=False)
        model = problem.model
        model.add_subsystem("src", change(unit_conv.SrcCompFD)(), promotes_inputs=["x1"])
        model.add_subsystem("tgt", change(getattr(unit_conv, f"TgtComp{suffix}FD"))(), promotes_outputs=["x3"])
        model.connect("src.x2", "tgt.x2")
        problem.setup(force_alloc_complex=True)
        problem.run_model()
        return problem

    agree(problem(exact), problem(complex_step), ["x3"], ["x1"])


def test_a_polynomial_fit_as_an_implicit_component() -> None:
    rng = np.random.default_rng(0)
    values = {"x_cp": np.linspace(-1, 1, 30), "x": np.array([-0.3, 0.1, 0.4])}
    values["y_cp"] = np.cos(2 * values["x_cp"]) + 0.01 * rng.standard_normal(30)

    def problem(change: Change) -> Any:
        made = change(polynomial_fit.PolynomialFit)(N_cp=30, N_predict=3)
        made.nonlinear_solver = om.NewtonSolver(solve_subsystems=False, iprint=-1)
        made.linear_solver = om.DirectSolver()
        return alone(made, **values)

    ours = problem(exact)
    np.testing.assert_allclose(ours["y"], np.cos(2 * values["x"]), atol=0.02)
    agree(ours, problem(lambda cls: cls), ["y", "A"], ["x", "x_cp", "y_cp"], rtol=1e-11)  # a solve of its own each


@pytest.mark.parametrize("name", ["ThreeBarTruss", "ThreeBarTrussVector"])
def test_the_truss_where_complex_steps_are_wrong(name: str) -> None:
    """It takes ``np.abs``, of which a complex step has no derivative; OpenMDAO takes finite differences."""
    cls = getattr(three_bar_truss, name)
    areas, mats = np.array([2.0, 3.0, 4.0]), np.array([1, 2, 3])
    if name == "ThreeBarTruss":
        at = {f"area{k + 1}": areas[k] for k in range(3)} | {f"mat{k + 1}": mats[k] for k in range(3)}
    else:
        at = {"area": areas, "mat": mats}
    wrt = [name for name in at if name.startswith("area")]
    ours = alone(exact(cls)(), **at)
    if name == "ThreeBarTrussVector":  # it looks a traced number up in a dict, which no compiled function can do
        with pytest.warns(wg.PerformanceWarning, match="cannot be a key of a dict"):
            ours.model.run_linearize()
    agree(ours, alone(cls(), **at), ["mass", "stress"], wrt, rtol=1e-4)


class FDPartialComp(om.ExplicitComponent):
    """From docs, approximating_partial_derivatives: written in place, and one input has no part in it."""

    def setup(self) -> None:
        self.add_input("x", shape=(4,))
        self.add_input("y", shape=(2,))
        self.add_input("y2", shape=(2,))
        self.add_output("f", shape=(2,))

    def setup_partials(self) -> None:
        self.declare_partials("f", "y*", method="fd", form="backward", step=1e-6)
        self.declare_partials("f", "x", method="fd", form="central", step=1e-4)

    def compute(self, inputs: Any, outputs: Any) -> None:
        f, x, y = outputs["f"], inputs["x"], inputs["y"]
        f[0] = x[0] + y[0]
        f[1] = np.dot([0, 2, 3, 4], x) + y[1]


def test_outputs_that_are_written_in_place() -> None:
    totals = alone(exact(FDPartialComp)()).compute_totals(["f"], ["x", "y", "y2"])
    np.testing.assert_array_equal(totals["f", "x"], [[1, 0, 0, 0], [0, 2, 3, 4]])
    np.testing.assert_array_equal(totals["f", "y"], np.eye(2))
    np.testing.assert_array_equal(totals["f", "y2"], np.zeros((2, 2)))


# ------------------------------------------------------------------------------------------------------ optimisation


def optimised(problem: Any, **options: Any) -> Any:
    problem.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", tol=1e-9, disp=False)
    problem.setup()
    problem.set_solver_print(level=-1)
    for name, value in options.items():
        problem.set_val(name, value)
    assert problem.run_driver().success
    return problem


@pytest.mark.parametrize("change", [exact, lambda cls: cls])
def test_sellar_is_optimised_to_the_same_point(change: Change) -> None:
    problem = om.Problem(reports=False)
    model = problem.model
    cycle = model.add_subsystem("cycle", om.Group(), promotes=["*"])
    cycle.add_subsystem("d1", change(sellar_feature.SellarDis1)(), promotes=["x", "z", "y1", "y2"])
    cycle.add_subsystem("d2", change(sellar_feature.SellarDis2)(), promotes=["z", "y1", "y2"])
    cycle.nonlinear_solver = om.NonlinearBlockGS(atol=1e-12, rtol=1e-14)
    cycle.linear_solver = om.DirectSolver()
    model.add_subsystem(
        "obj_cmp", om.ExecComp("obj = x**2 + z[1] + y1 + exp(-y2)", z=np.zeros(2), x=0.0), promotes=["*"]
    )
    model.add_subsystem("con_cmp1", om.ExecComp("con1 = 3.16 - y1"), promotes=["*"])
    model.add_subsystem("con_cmp2", om.ExecComp("con2 = y2 - 24.0"), promotes=["*"])
    model.set_input_defaults("x", 1.0)
    model.set_input_defaults("z", np.array([5.0, 2.0]))
    model.add_design_var("x", lower=0, upper=10)
    model.add_design_var("z", lower=0, upper=10)
    model.add_objective("obj")
    model.add_constraint("con1", upper=0)
    model.add_constraint("con2", upper=0)
    optimised(problem)
    np.testing.assert_allclose(problem["z"], [1.977639, 0.0], atol=1e-5)
    np.testing.assert_allclose(problem["x"], 0.0, atol=1e-5)
    np.testing.assert_allclose(problem["obj"], 3.18339395, rtol=1e-6)


class Betz(om.ExplicitComponent):
    """The actuator disc of docs, examples/betz_limit, without its derivatives."""

    def setup(self) -> None:
        self.add_input("a", 0.5)
        self.add_output("Cp", 0.0)
        self.declare_partials("*", "*", method="cs")

    def compute(self, inputs: Any, outputs: Any) -> None:
        a = inputs["a"]
        outputs["Cp"] = 4 * a * (1 - a) ** 2


@pytest.mark.parametrize("as_function", [False, True])
def test_betz_limit(as_function: bool) -> None:
    problem = om.Problem(reports=False)
    function = wg.hosts.openmdao.component(lambda a=0.5: 4 * a * (1 - a) ** 2, outputs="Cp")
    problem.model.add_subsystem("disc", function if as_function else exact(Betz)(), promotes=["*"])
    problem.model.add_design_var("a", lower=0, upper=1)
    problem.model.add_objective("Cp", scaler=-1)
    optimised(problem)
    np.testing.assert_allclose([problem["a"].item(), problem["Cp"].item()], [1 / 3, 16 / 27], rtol=1e-6)


# --------------------------------------------------------------------------------------------------- sparse partials


class Tridiagonal(om.ExplicitComponent):
    """n outputs of three inputs each, and of one that is dense."""

    def initialize(self) -> None:
        self.options.declare("n", 20)
        self.options.declare("leaves_out", False)

    def setup(self) -> None:
        n = self.options["n"]
        self.add_input("x", np.linspace(0.5, 1.5, n))
        self.add_input("d", np.linspace(-1, 1, n))
        self.add_input("scale", 2.0)
        self.add_output("y", np.zeros(n))
        rows = [(i, j) for i in range(n) for j in range(max(i - 1, 0), min(i + 2, n))]
        places = np.array(rows[1:] if self.options["leaves_out"] else rows).T
        self.declare_partials("y", "x", rows=places[0], cols=places[1], method="cs")
        self.declare_partials("y", "d", diagonal=True, method="cs")
        self.declare_partials("y", "scale", method="cs")

    def compute(self, inputs: Any, outputs: Any) -> None:
        x = inputs["x"]
        y = x**2
        y[1:] += np.sin(x[:-1] * x[1:])
        y[:-1] *= np.cos(x[1:])
        outputs["y"] = inputs["scale"] * y + np.exp(inputs["d"])


@pytest.mark.parametrize("n", [2, 3, 20])
def test_declared_rows_and_cols(n: int) -> None:
    agree(alone(exact(Tridiagonal)(n=n)), alone(Tridiagonal(n=n)), ["y"], ["x", "d", "scale"])


def test_columns_that_share_no_row_are_one_direction() -> None:
    from wengert.hosts._openmdao import colours

    n = 50
    rows = np.concatenate([np.arange(n), np.arange(1, n), np.arange(n - 1)])
    cols = np.concatenate([np.arange(n), np.arange(n - 1), np.arange(1, n)])
    found = colours(rows, cols, n)
    assert found.max() == 2
    for colour in range(3):
        taken = rows[found[cols] == colour]
        assert len(set(taken)) == len(taken)
    problem = alone(exact(Tridiagonal)(n=n))
    problem.model.run_linearize()
    sparse = problem.model.c._partials._sparse
    assert len(sparse._seeds["x"]) == 4 + 1  # x has three colours, d one more or shares them; and the check


def test_entries_that_the_declaration_leaves_out_are_an_error() -> None:
    with pytest.raises(wg.errors.StructureError, match=r"rows and cols declared for .* leave out entries"):
        alone(exact(Tridiagonal)(leaves_out=True)).compute_totals("y", "x")


class Sums(om.ExplicitComponent):
    """Few outputs of many inputs: rows that share no column."""

    def setup(self) -> None:
        self.add_input("x", np.linspace(0.5, 1.5, 40))
        self.add_output("y", np.zeros(4))
        self.declare_partials("y", "x", rows=np.repeat(np.arange(4), 10), cols=np.arange(40), method="fd")

    def compute(self, inputs: Any, outputs: Any) -> None:
        outputs["y"] = np.sum(np.sin(inputs["x"].reshape(4, 10)), axis=1)


def test_rows_that_share_no_column_are_one_direction() -> None:
    agree(alone(exact(Sums)()), alone(complex_step(Sums)()), ["y"], ["x"])


# ------------------------------------------------------------------------------------------------- written components


class Mixed(om.ExplicitComponent):
    """Some partials are its own; a discrete input and an attribute choose what is computed."""

    def setup(self) -> None:
        self.power = 2.0
        self.add_discrete_input("kind", "sin")
        self.add_input("x", np.array([0.3, 0.4]))
        self.add_input("c", 1.5)
        self.add_output("y", np.zeros(2))
        self.declare_partials("y", "c")
        self.declare_partials("y", "x", method="cs")

    def compute(self, inputs: Any, outputs: Any, discrete_inputs: Any, discrete_outputs: Any) -> None:
        f = np.sin if discrete_inputs["kind"] == "sin" else np.cos
        outputs["y"] = inputs["c"] * f(inputs["x"]) ** self.power

    def compute_partials(self, inputs: Any, partials: Any, discrete_inputs: Any) -> None:
        f = np.sin if discrete_inputs["kind"] == "sin" else np.cos
        partials["y", "c"] = f(inputs["x"]) ** self.power


def test_discrete_inputs_attributes_and_partials_of_its_own() -> None:
    problem = alone(exact(Mixed)())
    x = np.array([0.3, 0.4])

    def totals() -> Any:
        found = problem.compute_totals("y", ["x", "c"])
        return found["y", "x"], found["y", "c"]

    dx, dc = totals()
    np.testing.assert_allclose(dx, np.diag(3 * np.sin(x) * np.cos(x)), rtol=1e-13)
    np.testing.assert_allclose(dc[:, 0], np.sin(x) ** 2, rtol=1e-13)
    problem.set_val("kind", "cos")
    problem.run_model()
    dx, dc = totals()
    np.testing.assert_allclose(dx, np.diag(-3 * np.sin(x) * np.cos(x)), rtol=1e-13)
    problem.model.c.power = 1.0
    problem.run_model()
    dx, dc = totals()
    np.testing.assert_allclose(dx, np.diag(-1.5 * np.sin(x)), rtol=1e-13)


def test_a_second_setup_with_other_sizes() -> None:
    problem = om.Problem(reports=False)
    problem.model.add_subsystem("c", exact(Tridiagonal)(n=5), promotes=["*"])
    for n in (5, 7):
        problem.model.c.options["n"] = n
        problem.setup()
        problem.run_model()
        assert problem.compute_totals("y", "x")["y", "x"].shape == (n, n)


class Coloured(om.ExplicitComponent):
    def setup(self) -> None:
        self.add_input("x", np.linspace(0.5, 1.5, 6))
        self.add_output("y", np.zeros(6))
        self.declare_coloring(wrt="*", method="cs", show_summary=False)

    def compute(self, inputs: Any, outputs: Any) -> None:
        outputs["y"] = np.sin(inputs["x"])


def test_declared_colorings_are_dense_partials() -> None:
    agree(alone(exact(Coloured)()), alone(Coloured()), ["y"], ["x"])


class Primal(om.ExplicitComponent):
    """Written as OpenMDAO's components for JAX are."""

    def setup(self) -> None:
        self.add_input("x", np.array([0.3, 0.4]))
        self.add_input("y", 2.0)
        self.add_output("z", np.zeros(2))
        self.add_output("s", 0.0)
        self.declare_partials("*", "*", method="cs")

    def compute_primal(self, x: Any, y: Any) -> Any:
        return y * np.sin(x), np.sum(x) * y


def test_components_with_compute_primal() -> None:
    agree(alone(exact(Primal)()), alone(Primal()), ["z", "s"], ["x", "y"])


class Choosing(Betz):
    def compute(self, inputs: Any, outputs: Any) -> None:
        if inputs["a"] > 0.5:
            outputs["Cp"] = inputs["a"] ** 2
        else:
            outputs["Cp"] = np.sin(inputs["a"])


def test_branches_are_taken_at_each_point() -> None:
    problem = alone(exact(Choosing)())
    for at, slope in ((0.75, 1.5), (0.25, np.cos(0.25)), (0.8, 1.6)):
        problem.set_val("a", at)
        problem.run_model()
        np.testing.assert_allclose(problem.compute_totals("Cp", "a")["Cp", "a"], [[slope]], rtol=1e-14)


def test_check_partials_of_openmdao_is_content() -> None:
    problem = alone(exact(Primal)())
    data = problem.check_partials(method="cs", out_stream=None)
    for pair in data["c"].values():
        assert pair["abs error"].forward < 1e-13


def test_totals_by_complex_step_go_through() -> None:
    problem = om.Problem(reports=False)
    problem.model.add_subsystem(
        "c", wg.hosts.openmdao.component(lambda x=0.3: np.sin(x) ** 2, outputs="y"), promotes=["*"]
    )
    problem.model.approx_totals(method="cs")
    problem.setup(force_alloc_complex=True)
    problem.run_model()
    np.testing.assert_allclose(problem.compute_totals("y", "x")["y", "x"], [[np.sin(0.6)]], rtol=1e-13)


def test_what_is_no_component_is_refused() -> None:
    with pytest.raises(wg.errors.ArgumentError, match="exact: component is the class Group"):
        exact(om.Group)


class OfPython(Betz):
    def compute(self, inputs: Any, outputs: Any) -> None:
        from decimal import Decimal

        outputs["Cp"] = float(Decimal(inputs["a"].item()))


def test_what_cannot_be_traced_is_an_error() -> None:
    with pytest.raises(wg.errors.UnsupportedFunctionError, match=r"decimal\.Decimal is not traced"):
        alone(exact(OfPython)()).compute_totals("Cp", "a")


# ---------------------------------------------------------------------------------------------- components of functions


def wave(x=np.linspace(0, 1, 5), speed=2.0, A=np.ones((2, 5))):  # noqa: B008  # an array that is not written
    y = np.sin(speed * x)
    return {"y": y, "energy": speed * np.sum(y**2), "product": A @ y}


def reference(values: Any) -> Any:
    return wg.jacobian(lambda v: wave(**v))(values)


@pytest.mark.parametrize("matrix_free", [False, True])
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_a_function_of_arrays(matrix_free: bool, mode: str) -> None:
    problem = om.Problem(reports=False)
    problem.model.add_subsystem("c", wg.hosts.openmdao.component(wave, matrix_free=matrix_free), promotes=["*"])
    problem.setup(mode=mode)
    values = {"x": np.linspace(0.1, 0.7, 5), "speed": 3.0, "A": np.arange(10.0).reshape(2, 5)}
    for name, value in values.items():
        problem.set_val(name, value)
    problem.run_model()
    for name, value in wave(**values).items():
        np.testing.assert_allclose(problem.get_val(name).ravel(), np.ravel(value), rtol=1e-13)
    wanted = reference(values)
    totals = problem.compute_totals(["y", "energy", "product"], list(values))
    for (of, wrt), block in totals.items():
        np.testing.assert_allclose(block, np.reshape(wanted[of][wrt], block.shape), rtol=1e-13, atol=1e-14)


def test_units_names_and_start_values() -> None:
    component = wg.hosts.openmdao.component(
        lambda length, width: (length * width, length + width),
        inputs={"length": [1.0, 2.0]}, outputs=["area", "half"], units={"length": "cm", "area": "cm**2"},
    )  # fmt: skip
    problem = alone(component)
    problem.set_val("length", [0.01, 0.03], units="m")
    problem.set_val("width", 2.0)
    problem.run_model()
    np.testing.assert_allclose(problem.get_val("area", units="cm**2"), [2.0, 6.0], rtol=1e-14)
    np.testing.assert_allclose(problem.get_val("half"), [3.0, 5.0], rtol=1e-14)


def test_names_that_do_not_fit_are_refused() -> None:
    component = wg.hosts.openmdao.component
    with pytest.raises(wg.errors.ArgumentError, match="inputs has 'y', which is no argument"):
        component(lambda x: x, inputs={"y": 1.0}, outputs="z")
    with pytest.raises(wg.errors.ArgumentError, match="returns no dict; outputs is None"):
        alone(component(lambda x: x))
    with pytest.raises(wg.errors.ArgumentError, match="returns 2 outputs; outputs is 'z'"):
        alone(component(lambda x: (x, x), outputs="z"))
    with pytest.raises(wg.errors.ArgumentError, match="units has 'q'"):
        alone(component(lambda x: x, outputs="z", units={"q": "m"}))


def test_many_inputs_are_optimised_with_few_products() -> None:
    def bumps(x=np.zeros(30)):  # noqa: B008  # an array that is not written
        return {"f": np.sum((x - 1) ** 2 * np.arange(1, 31)) + np.sum(np.log(np.cosh(x[1:] - x[:-1])))}

    problem = om.Problem(reports=False)
    problem.model.add_subsystem("c", wg.hosts.openmdao.component(bumps, matrix_free=True), promotes=["*"])
    problem.model.add_design_var("x")
    problem.model.add_objective("f")
    problem.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", tol=1e-12, disp=False, maxiter=1000)
    problem.setup(mode="rev")
    problem.run_driver()
    np.testing.assert_allclose(problem["x"], np.ones(30), atol=1e-4)

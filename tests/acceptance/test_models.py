"""One model in every form that a tree can have: differentiated, optimised, kept, compared, and read by graphs alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert import graph, nn, optimize

W, B = np.array([[1.0, -2.0, 0.5], [0.25, 1.5, -1.0]]), np.array([0.5, -0.5])
X, Y = np.random.default_rng(0).normal(size=(7, 3)), np.random.default_rng(1).normal(size=(7, 2))


@dataclasses.dataclass
class Plain:
    w: Any
    b: Any
    activation: Callable[..., Any] = np.tanh


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: Any
    b: Any
    name: str = "layer"
    use_bias: bool = True


@dataclasses.dataclass(slots=True)
class Slotted:
    w: Any
    b: Any


class Pair(NamedTuple):
    w: Any
    b: Any


class Registered:
    def __init__(self, w: Any, b: Any) -> None:
        self.w, self.b = w, b


wg.register(Registered, lambda model: ((model.w, model.b), None, ("w", "b")), lambda _, parts: Registered(*parts))


class Called:
    """A node by its ``__call__``."""

    def __init__(self, w: Any, b: Any) -> None:
        self.w, self.b, self.activation = w, b, np.tanh

    def __call__(self, x: Any) -> Any:
        return self.activation(x @ self.w.T + self.b)


CLASSES = [Plain, Frozen, Slotted, Pair, Registered, Called]
FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "dict": lambda w, b: {"w": w, "b": b},
    "list": lambda w, b: [w, b],
    "tuple": lambda w, b: (w, b),
    **{cls.__name__: cls for cls in CLASSES},
    "nested": lambda w, b: {"layers": [Frozen((w, None), Pair(b, []))]},
}
each_form = pytest.mark.parametrize("form", FORMS)


def arrays(model: Any) -> tuple[Any, Any]:
    """Weights and bias, whatever holds them."""
    if isinstance(model, dict):
        return arrays(model["layers"][0]) if "layers" in model else (model["w"], model["b"])
    if isinstance(model, (list, tuple)):
        return model[0], model[1]
    w, b = model.w, model.b
    return (w[0], b.w) if isinstance(w, tuple) else (w, b)


def loss(model: Any, x: Any = X, y: Any = Y) -> Any:
    w, b = arrays(model)
    return np.mean((np.tanh(x @ w.T + b) - y) ** 2)


def model_of(form: str) -> Any:
    return FORMS[form](W.copy(), B.copy())


def same(model: Any, like: Any, expected: tuple[Any, Any], rtol: float = 1e-12) -> None:
    """It has the form of ``like``, its static parts included, and the arrays ``expected``."""
    assert wg.tree.flatten(model)[1] == wg.tree.flatten(like)[1]
    for got, want in zip(arrays(model), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol)


@each_form
def test_gradients_have_the_form_of_the_model(form: str) -> None:
    expected = wg.grad(lambda pair: loss(pair))((W, B))
    model = model_of(form)
    same(wg.grad(loss)(model), model, expected)
    same(wg.jit(wg.grad(loss))(model), model, expected)


OPTIMISERS = {
    "sgd": optimize.sgd(0.1),
    "momentum": optimize.sgd(0.1, 0.9, nesterov=True),
    "adam": optimize.adam(0.1),
    "adamw": optimize.adamw(0.1, mask=lambda params: wg.tree.map(lambda x: x.ndim == 2, params)),
    "lion": optimize.lion(0.1, decay=0.1),
    "rmsprop": optimize.rmsprop(0.1, momentum=0.5),
    "adagrad": optimize.adagrad(0.1),
    "lbfgs": optimize.lbfgs(0.1, 3),
    "chain": optimize.chain(optimize.clip_by_norm(0.1), optimize.clip_by_value(0.05), optimize.sgd(0.5)),
    "decay": optimize.chain(
        optimize.add_decay(0.1, lambda params: wg.tree.map(lambda x: x.ndim == 2, params)), optimize.sgd(0.5)
    ),
    "averaged": optimize.averaged(optimize.sgd(0.1)),
    "every": optimize.every(2, optimize.sgd(0.1)),
}


def three_steps(optimiser: optimize.Optimiser, model: Any) -> Any:
    state, gradient = optimiser.init(model), wg.grad(loss)
    for _ in range(3):
        updates, state = optimiser.update(gradient(model), state, model)
        model = optimize.apply(model, updates)
    return model


@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimisers_take_every_form(name: str) -> None:
    optimiser = OPTIMISERS[name]
    if name == "lbfgs":  # sums over one vector, whose order is that of the leaves
        expected = arrays(three_steps(optimiser, {"w": W, "b": B}))
    else:
        expected = three_steps(optimiser, (W, B))
    for form in FORMS:
        same(three_steps(optimiser, model_of(form)), model_of(form), expected, 1e-9)


@each_form
def test_a_compiled_step_takes_every_form(form: str) -> None:
    optimiser = optimize.adam(0.1)
    expected, model = three_steps(optimiser, (W, B)), model_of(form)
    step = optimize.step(loss, optimiser, keep_finite=True)
    state = step.init(model)
    for _ in range(3):
        model, state, _ = step(model, state, X, Y)
    same(model, model_of(form), expected)


@each_form
def test_a_step_of_a_part_leaves_the_rest(form: str) -> None:
    """The part is named by its path, or picked by any selector."""
    model = model_of(form)
    path = next(path for path, x in nn.paths(model).items() if np.shape(x) == B.shape)
    new = {}
    for way, wrt in {"path": nn.trainable(model, path), "selector": lambda args: arrays(args[0])[1]}.items():
        step = optimize.step(loss, optimize.sgd(0.1), wrt=wrt, donate=False)
        new[way], _, _ = step(model, step.init(model), X, Y)
    expected = B - 0.1 * wg.grad(lambda b: loss((W, b)))(B)
    for way in new:
        same(new[way], model, (W, expected))


@each_form
def test_a_step_split_over_workers_takes_every_form(form: str) -> None:
    model, optimiser = model_of(form), optimize.adam(0.1)
    with ThreadPoolExecutor(2) as executor:
        step = optimize.step(loss, optimiser, executor=executor, parts=2)
        new, _, _ = step(model, step.init(model), X, Y)
    updates, _ = optimiser.update(wg.grad(loss)((W, B)), optimiser.init((W, B)), (W, B))
    same(new, model, optimize.apply((W, B), updates), 1e-9)


@each_form
def test_minimize_takes_every_form(form: str) -> None:
    model = model_of(form)
    low, high = wg.tree.map(lambda x: x - 0.1, model), wg.tree.map(lambda x: x + 0.1, model)
    found = optimize.minimize(loss, model, bounds=(low, high))
    expected = optimize.minimize(loss, (W, B), bounds=((W - 0.1, B - 0.1), (W + 0.1, B + 0.1)))
    same(found.x, model, expected.x, 1e-4)


@each_form
def test_parameters_of_every_form_are_counted_named_and_put_in_one_vector(form: str) -> None:
    model = model_of(form)
    assert nn.count(model) == 8
    named = nn.paths(model)
    assert {x.shape for x in named.values()} == {(2, 3), (2,)}
    if form not in ("list", "tuple", "nested"):  # objects that are no dataclasses hold their attributes by name
        assert list(named) == (["b", "w"] if form == "Called" else ["w", "b"])
    vector, parts = nn.flat(model)
    np.testing.assert_array_equal(vector, np.concatenate([x.ravel() for x in named.values()]))
    same(parts, model, (W, B))
    vector *= 2
    same(parts, model, (2 * W, 2 * B))
    same(nn.mapped(np.add, model, parts), model, (3 * W, 3 * B))
    total = nn.mapped(np.zeros_like, model)
    total = nn.accumulate(wg.grad(loss))(total, model, X, Y)
    same(total, model, wg.grad(lambda pair: loss(pair))((W, B)))


@each_form
def test_a_model_of_every_form_is_kept_in_a_file(form: str, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    model = model_of(form)
    nn.save(tmp_path / "model", model)
    same(nn.load(tmp_path / "model", like=wg.tree.map(np.zeros_like, model)), model, (W, B))
    with pytest.raises(wg.errors.StructureError, match="holds other arrays"):
        nn.load(tmp_path / "model", like=FORMS[form](W, np.zeros(3)))


@dataclasses.dataclass(frozen=True)
class Layer:
    """A layer whose parameters have a form."""

    form: str

    def init(self, rng: Any, *xs: Any, dtype: Any = "float64") -> tuple[Any, Any]:
        return model_of(self.form), {}

    def apply(self, params: Any, state: Any, x: Any, *, train: bool = False) -> tuple[Any, Any]:
        w, b = arrays(params)
        return np.tanh(x @ w.T + b), state


@each_form
def test_layers_with_parameters_of_every_form_are_trained_and_go_on_from_a_checkpoint(
    form: str, tmp_path: Path
) -> None:
    pytest.importorskip("safetensors")
    layer = Layer(form)
    fit = lambda epochs: nn.fit(
        layer,
        *layer.init(0, X),
        (X, Y),
        loss=nn.squared_error,
        optimiser=optimize.adam(0.1),
        epochs=epochs,
        validation=(X, Y),
        patience=9,
        checkpoint=tmp_path,
        progress=False,
    )
    first, second = fit(1), fit(2)
    assert len(second.history) == 2 and second.history[0] == first.history[0]
    assert wg.tree.flatten(second.params)[1] == wg.tree.flatten(model_of(form))[1]


@each_form
def test_graphs_of_layers_with_parameters_of_every_form(form: str) -> None:
    g = graph.empty("x").insert("h", Layer(form), after="x")
    params, state = g.init(0, X)
    assert g.summary(X).endswith("8 parameters")
    y, _ = g.apply(params, state, X)
    np.testing.assert_allclose(y, np.tanh(X @ W.T + B))
    edited = g.insert("t", np.tanh, after="h")
    kept, _ = graph.inherit(edited, 0, (X,), params, state)
    assert kept["h"] is params["h"]
    wider = {"h": FORMS[form](np.zeros((5, 3)), np.zeros(5))}
    fresh, _ = graph.inherit(edited, 0, (X,), wider, state)
    same(fresh["h"], model_of(form), (W, B))


@each_form
def test_gradients_of_graphs_are_trees_of_every_form(form: str) -> None:
    g = graph.empty("x").insert("h", Layer(form), after="x").insert("t", np.tanh, after="h")
    params, state = g.init(0, X)
    (_, state), gradient = g.value_and_grad(lambda y: np.sum(y))(params, state, X)
    expected = wg.grad(lambda pair: np.sum(np.tanh(np.tanh(X @ pair[0].T + pair[1]))))((W, B))
    same(gradient["h"], params["h"], expected)


@each_form
def test_graphs_are_recorded_with_models_of_every_form(form: str) -> None:
    recorded = graph.of(lambda model, x: np.tanh(x @ arrays(model)[0].T), model_of(form), X)
    y, _ = recorded.apply({}, {}, *wg.tree.leaves((model_of(form), X)))
    np.testing.assert_allclose(y, np.tanh(X @ W.T))


@dataclasses.dataclass(frozen=True)
class Scaled:
    """A number of Python's among the arrays is a parameter like them."""

    w: Any
    scale: float = 2.0

    def init(self, rng: Any, *xs: Any, dtype: Any = "float64") -> tuple[Any, Any]:
        return Scaled(W.copy()), {}

    def apply(self, params: Any, state: Any, x: Any, *, train: bool = False) -> tuple[Any, Any]:
        return params.scale * np.tanh(x @ params.w.T), state


@pytest.mark.parametrize("name", [name for name in OPTIMISERS if name not in ("adamw", "decay")])
def test_optimisers_take_models_with_numbers(name: str) -> None:
    loss_of = lambda p: np.mean((p[0] * np.tanh(X @ p[1].T) - Y) ** 2)
    pair, model = (np.array(2.0), W), Scaled(W)
    states = OPTIMISERS[name].init(pair), OPTIMISERS[name].init(model)
    updates, _ = OPTIMISERS[name].update(wg.grad(loss_of)(pair), states[0], pair)
    gradient = wg.grad(lambda model: loss_of((model.scale, model.w)))(model)
    found = optimize.apply(model, OPTIMISERS[name].update(gradient, states[1], model)[0])
    np.testing.assert_allclose(found.scale, 2.0 + updates[0], rtol=1e-12)
    np.testing.assert_allclose(found.w, W + updates[1], rtol=1e-12)


def test_layers_with_numbers_are_summed_up_and_read_by_graphs() -> None:
    model = nn.Chain(Scaled(W), np.tanh)
    table = nn.summary(model, X)
    assert table.parameters == 7 and table.parameter_bytes == 56
    y, _ = model.apply(*model.init(0, X), X)
    np.testing.assert_allclose(y, np.tanh(2 * np.tanh(X @ W.T)))
    g = graph.empty("x").insert("h", Scaled(W), after="x")
    params, state = g.init(0, X)
    assert g.summary(X).endswith("7 parameters")
    kept, _ = graph.inherit(g.insert("t", np.tanh, after="h"), 0, (X,), params, state)
    assert kept["h"] is params["h"]


def test_trees_of_another_structure_are_refused_with_the_path_that_differs() -> None:
    model, other = Plain(W, [B, B]), Plain(W, (B, B))
    optimiser = optimize.adam(0.1)
    for call in (
        lambda: optimiser.update(other, optimiser.init(model), model),
        lambda: nn.mapped(np.add, model, other),
        lambda: optimize.apply(model, other),
        lambda: wg.tree.map(np.add, model, other),
        lambda: optimize.minimize(lambda p: np.sum(p.w), model, bounds=(other, other)),
    ):
        with pytest.raises(
            wg.errors.StructureError, match=r"\.b: expected a (list|tuple) of 2; got a (tuple|list) of 2"
        ):
            call()
    with pytest.raises(wg.errors.StructureError, match="nothing is called 'c' among w, b"):
        optimize.apply(model, {"c": W})
    with pytest.raises(wg.errors.StructureError, match="expected a leaf; got a list of 2"):
        nn.mapped(np.add, {"a": W}, {"a": [W, W]})

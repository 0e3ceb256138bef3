"""Optimisers: what becomes of gradients, as pure functions on trees.

An :class:`Optimiser` is two functions, as in Optax: ``init(params) -> state`` and ``update(gradient, state, params) ->
(updates, state)``. Updates are added to the parameters. State is nested dicts of arrays; float32 stays float32. Several
are put one behind the other by :func:`chain`, each working on the updates of the one before.

A learning rate is a number or a function of the number of steps so far (:mod:`~wengert.optimize.schedules`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from wengert.optimize.trees import mapped, norm, of_arrays, of_reals, parts, zeros_like

Tree = Any
Arrays = Any
Count = int
Rate = float | Callable[[Any], Any]


class Optimiser(NamedTuple):
    """An optimiser is two pure functions: ``init(params) -> state`` and ``update``, which makes steps of gradients.

    ``update(gradient, state, params)`` returns ``(updates, state)``. Params, gradients and updates are trees of real
    arrays of one structure, the state nested dicts of arrays. Updates are added to the parameters, which :func:`apply`
    does. A pair of functions of your own is an optimiser too.

    >>> import numpy as np
    >>> from wengert import optimize
    >>> signs = optimize.Optimiser(lambda params: {}, lambda g, state, params: (-0.1 * np.sign(g), state))
    >>> params = np.array([1.0, 2.0])
    >>> updates, state = signs.update(np.array([3.0, -4.0]), signs.init(params), params)
    >>> optimize.apply(params, updates)
    array([0.9, 2.1])
    """

    init: Callable[[Tree], Tree]
    update: Callable[[Tree, Tree, Tree], tuple[Tree, Tree]]


def _made(
    name: str, init: Callable[[Tree], Tree], update: Callable[[Tree, Tree, Tree], tuple[Tree, Tree]]
) -> Optimiser:
    """Return the optimiser of two functions that take trees of arrays, and a state with the entries of ``init``'s."""
    entries = frozenset(init({}))

    def checked_init(params: Tree) -> Tree:
        return init(of_arrays(f"{name}.init", "params", params))

    def checked_update(gradient: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        of_arrays(f"{name}.update", "gradient", gradient)
        if not isinstance(state, dict) or state.keys() != entries:
            raise wg.expect.refused(f"{name}.update", "state", state, "what its init or its last update returned")
        return update(gradient, state, of_arrays(f"{name}.update", "params", params))

    return Optimiser(checked_init, checked_update)


@wg.expect.checked
def apply(params: Arrays, updates: Arrays) -> Tree:
    """Return the parameters with the updates added; entries of dicts that ``updates`` leaves out are kept.

    Parameters
    ----------
    params : a tree of real arrays.
    updates : a tree of that structure, or a part of it.

    Raises
    ------
    DTypeError : parameters are complex.
    StructureError : ``updates`` has entries that ``params`` has not.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import optimize
    >>> optimize.apply({"w": np.ones(2), "b": np.zeros(1)}, {"w": np.array([0.5, -0.5])})
    {'w': array([1.5, 0.5]), 'b': array([0.])}
    """
    return wg.tree.merge(lambda p, u: p + u, of_reals(params), updates)


@wg.expect.checked
def chain(*optimisers: Optimiser) -> Optimiser:
    """Return the optimiser that applies several one after the other, each to the updates of the one before.

    >>> import numpy as np
    >>> from wengert import optimize
    >>> opt = optimize.chain(optimize.clip_by_value(1.0), optimize.sgd(0.1))
    >>> opt.update(np.array([5.0, 0.5]), opt.init(np.zeros(2)), np.zeros(2))[0]
    array([-0.1 , -0.05])
    """

    def update(gradient: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        new = {}
        for k, optimiser in enumerate(optimisers):
            gradient, new[str(k)] = optimiser.update(gradient, state[str(k)], params)
        return gradient, new

    return _made("chain", lambda params: {str(k): o.init(params) for k, o in enumerate(optimisers)}, update)


def _begin() -> Any:
    """Return the number of steps before the first one."""
    return np.array(0)


def _rate(rate: Rate, count: Any) -> Any:
    return rate(count) if callable(rate) else rate


def _in(dtype: Any, number: Any) -> Any:
    """Return a number in a dtype: one of NumPy's would make float32 into float64."""
    return number if type(number) is float else np.asarray(number).astype(dtype)


def _scaled(rate: Rate, count: Any, direction: Tree) -> Tree:
    """Return what a step of this length in the opposite direction adds."""
    return mapped(lambda d: -_in(d.dtype, _rate(rate, count)) * d, direction)


# -------------------------------------------------------------------------------------------------- gradient descent


@wg.expect.checked
def sgd(rate: Rate, momentum: float = 0.0, nesterov: bool = False) -> Optimiser:
    """Return the optimiser of gradient descent: v ← momentum v + g, step −rate v.

    With ``nesterov`` the step is −rate (g + momentum v).
    Source: Sutskever et al. (2013), On the importance of initialization and momentum in deep learning.

    Parameters
    ----------
    rate : a number, or a function of the number of steps so far (:mod:`~wengert.optimize.schedules`).
    momentum : the share of the last v that is kept; 0 for plain descent, which has no v.
    nesterov : whether the step looks ahead.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import optimize
    >>> opt = optimize.sgd(0.1, momentum=0.5)
    >>> g, params = np.array([1.0, -2.0]), np.zeros(2)
    >>> first, state = opt.update(g, opt.init(params), params)
    >>> second, state = opt.update(g, state, params)
    >>> first, second
    (array([-0.1,  0.2]), array([-0.15,  0.3 ]))
    """

    def init(params: Tree) -> Tree:
        return {"count": _begin(), **({"velocity": zeros_like(params)} if momentum else {})}

    def update(gradient: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        new = {"count": state["count"] + 1}
        direction = gradient
        if momentum:
            new["velocity"] = mapped(lambda v, g: momentum * v + g, state["velocity"], gradient)
            direction = new["velocity"]
            if nesterov:
                direction = mapped(lambda v, g: g + momentum * v, new["velocity"], gradient)
        return _scaled(rate, state["count"], direction), new

    return _made("sgd", init, update)


@wg.expect.checked
def adam(rate: Rate, b1: float = 0.9, b2: float = 0.999, epsilon: float = 1e-8, nesterov: bool = False) -> Optimiser:
    """Return the optimiser Adam: step −rate m̂ / (√v̂ + epsilon), with means m of the gradient and v of its square.

    m ← b1 m + (1 − b1) g, v ← b2 v + (1 − b2) g², m̂ = m / (1 − b1ᵗ), v̂ = v / (1 − b2ᵗ) at step t = 1, 2 ...
    Source: Kingma & Ba (2015), arXiv:1412.6980; ``nesterov``: Dozat (2016), Incorporating Nesterov momentum into Adam.

    Parameters
    ----------
    rate : a number, or a function of the number of steps so far.
    b1, b2 : the shares of the last means that are kept, from 0 to less than 1.
    epsilon : what keeps steps finite where the gradient is 0.
    nesterov : whether m̂ looks ahead.

    Examples
    --------
    The first step has the length ``rate`` in every direction.

    >>> import numpy as np
    >>> from wengert import optimize
    >>> opt, params = optimize.adam(0.1), np.zeros(2)
    >>> opt.update(np.array([1.0, -200.0]), opt.init(params), params)[0].round(6)
    array([-0.1,  0.1])
    """

    def init(params: Tree) -> Tree:
        return {"count": _begin(), "mean": zeros_like(params), "square": zeros_like(params)}

    def update(gradient: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        t = state["count"] + 1
        of_mean, of_square = 1 / (1 - b1**t), 1 / (1 - b2**t)
        length = _rate(rate, state["count"])

        def leaf(g: Any, m: Any, v: Any) -> tuple[Any, Any, Any]:
            m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * (g * g)
            mean = m * _in(g.dtype, of_mean)
            if nesterov:
                mean = b1 * m * _in(g.dtype, 1 / (1 - b1 ** (t + 1))) + (1 - b1) * g * _in(g.dtype, of_mean)
            return -_in(g.dtype, length) * mean / (np.sqrt(v * _in(g.dtype, of_square)) + epsilon), m, v

        updates, mean, square = parts(3, leaf, gradient, state["mean"], state["square"])
        return updates, {"count": t, "mean": mean, "square": square}

    return _made("adam", init, update)


@wg.expect.checked
def adamw(
    rate: Rate,
    b1: float = 0.9,
    b2: float = 0.999,
    epsilon: float = 1e-8,
    decay: float = 1e-2,
    mask: Callable[[Tree], Tree] | Tree | None = None,
) -> Optimiser:
    """Return the optimiser AdamW: :func:`adam`, and −rate · decay · p beside it, which pulls the parameters p to 0.

    Source: Loshchilov & Hutter (2019), Decoupled weight decay regularization, arXiv:1711.05101.

    Parameters
    ----------
    rate, b1, b2, epsilon : as of :func:`adam`.
    decay : the share of the parameters that is taken off, in units of ``rate``.
    mask : which parameters decay, as of :func:`add_decay`.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import optimize
    >>> opt, params = optimize.adamw(0.1, decay=0.5), np.array([2.0, 2.0])
    >>> opt.update(np.array([1.0, 0.0]), opt.init(params), params)[0].round(6)
    array([-0.2, -0.1])
    """
    inner = adam(1.0, b1, b2, epsilon)

    def update(gradient: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        updates, new = inner.update(gradient, state, params)
        updates = _with_decay(updates, params, -decay, mask)
        return mapped(lambda u: _in(u.dtype, _rate(rate, state["count"])) * u, updates), new

    return _made("adamw", inner.init, update)


@wg.expect.checked
def lion(rate: Rate, b1: float = 0.9, b2: float = 0.99, decay: float = 0.0) -> Optimiser:
    """Return the optimiser Lion: step −rate (sign(b1 m + (1 − b1) g) + decay p), and then m ← b2 m + (1 − b2) g.

    Source: Chen et al. (2023), Symbolic discovery of optimization algorithms, arXiv:2302.06675.

    Parameters
    ----------
    rate : a number, or a function of the number of steps so far.
    b1, b2 : how much the mean m counts against the gradient g, in the step and for the next mean.
    decay : of the parameters p, in units of ``rate``.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import optimize
    >>> opt, params = optimize.lion(0.1), np.zeros(2)
    >>> opt.update(np.array([1.0, -200.0]), opt.init(params), params)[0]
    array([-0.1,  0.1])
    """

    def init(params: Tree) -> Tree:
        return {"count": _begin(), "mean": zeros_like(params)}

    def update(gradient: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        direction = mapped(lambda m, g: np.sign(b1 * m + (1 - b1) * g), state["mean"], gradient)
        mean = mapped(lambda m, g: b2 * m + (1 - b2) * g, state["mean"], gradient)
        direction = _with_decay(direction, params, decay, None) if decay else direction
        return _scaled(rate, state["count"], direction), {"count": state["count"] + 1, "mean": mean}

    return _made("lion", init, update)


@wg.expect.checked
def rmsprop(
    rate: Rate, kept: float = 0.9, epsilon: float = 1e-8, momentum: float = 0.0, *, decay: float | None = None
) -> Optimiser:
    """Return the optimiser RMSprop: step −rate g / √(v + epsilon), with a mean v of the gradient's square.

    v ← kept v + (1 − kept) g². Source: Tieleman & Hinton (2012), Lecture 6.5.

    Parameters
    ----------
    rate : a number, or a function of the number of steps so far.
    kept : the share of the last mean that is kept.
    decay : the name that ``kept`` had before; it is of weights alone now.
    epsilon : what keeps steps finite where the gradient is 0.
    momentum : the share of the last step that is added to the next.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import optimize
    >>> opt, params = optimize.rmsprop(0.1, kept=0.75), np.zeros(2)
    >>> opt.update(np.array([1.0, -200.0]), opt.init(params), params)[0].round(6)
    array([-0.2,  0.2])
    """
    kept = _kept("rmsprop", kept, decay)

    def init(params: Tree) -> Tree:
        state = {"count": _begin(), "square": zeros_like(params)}
        return state | ({"velocity": zeros_like(params)} if momentum else {})

    def update(gradient: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        square = mapped(lambda v, g: kept * v + (1 - kept) * (g * g), state["square"], gradient)
        steps = mapped(lambda g, v: g / np.sqrt(v + epsilon), gradient, square)
        new = {"count": state["count"] + 1, "square": square}
        if momentum:
            steps = new["velocity"] = mapped(lambda a, s: momentum * a + s, state["velocity"], steps)
        return _scaled(rate, state["count"], steps), new

    return _made("rmsprop", init, update)


@wg.expect.checked
def adagrad(rate: Rate, begin: float = 0.1, epsilon: float = 1e-7) -> Optimiser:
    """Return the optimiser Adagrad: v ← v + g², step −rate g / √(v + epsilon).

    Source: Duchi et al. (2011), Adaptive subgradient methods for online learning and stochastic optimization.

    Parameters
    ----------
    rate : a number, or a function of the number of steps so far.
    begin : what v begins at.
    epsilon : what keeps steps finite where the gradient is 0 and ``begin`` as well.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import optimize
    >>> opt, params = optimize.adagrad(0.1, begin=0.0), np.zeros(2)
    >>> opt.update(np.array([1.0, -200.0]), opt.init(params), params)[0].round(6)
    array([-0.1,  0.1])
    """

    def init(params: Tree) -> Tree:
        return {"count": _begin(), "square": mapped(lambda x: x + x.dtype.type(begin), zeros_like(params))}

    def update(gradient: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        square = mapped(lambda v, g: v + g * g, state["square"], gradient)
        steps = mapped(lambda g, v: g / np.sqrt(v + epsilon), gradient, square)
        return _scaled(rate, state["count"], steps), {"count": state["count"] + 1, "square": square}

    return _made("adagrad", init, update)


@wg.expect.checked
def lbfgs(rate: Rate = 1.0, memory: Count = 10) -> Optimiser:
    """Return the optimiser L-BFGS: step −rate H g, with the inverse Hessian H as the last ``memory`` steps show it.

    It has no line search, so that it works with batches; :func:`~wengert.optimize.minimize` has one.
    Source: Nocedal & Wright (2006), Numerical optimization, algorithm 7.4.

    Parameters
    ----------
    rate : a number, or a function of the number of steps so far.
    memory : how many steps and changes of the gradient are kept, each as long as all the parameters.

    Examples
    --------
    Of a parabola the second step knows the curvature, 4, and goes to its vertex.

    >>> import numpy as np
    >>> from wengert import optimize
    >>> opt, x = optimize.lbfgs(0.1), np.array([1.0])
    >>> updates, state = opt.update(4 * x, opt.init(x), x)
    >>> x = x + updates
    >>> updates, state = opt.update(4 * x, state, x)
    >>> bool(abs(x + updates / 0.1)[0] < 1e-12)  # at a rate of 1
    True
    """

    def ravelled(tree: Tree) -> Any:
        leaves = [np.ravel(x) for x in wg.tree.leaves(tree)]
        return np.concatenate(leaves) if leaves else np.zeros(0)

    def init(params: Tree) -> Tree:
        x = ravelled(params)
        pairs = np.zeros((memory, x.size), x.dtype)
        return {"count": _begin(), "params": x, "gradient": np.zeros_like(x), "steps": pairs, "changes": pairs.copy()}

    def update(gradient: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        g, x, count = ravelled(gradient), ravelled(params), state["count"]
        s, y = x - state["params"], g - state["gradient"]
        is_good = (count > 0) & (np.sum(s * y) > 1e-10 * np.sum(y * y))
        keep = lambda new, old: np.where(is_good, np.concatenate([old[1:], new[None]]), old)
        steps, changes = keep(s, state["steps"]), keep(y, state["changes"])
        products = np.sum(steps * changes, 1)
        inverse = np.where(products > 0, 1 / np.where(products > 0, products, 1), 0)
        q, alphas = g, []
        for k in reversed(range(memory)):
            alphas.append(inverse[k] * np.sum(steps[k] * q))
            q = q - alphas[-1] * changes[k]
        last = np.sum(changes[-1] ** 2)
        q = q * np.where(last > 0, products[-1] / np.where(last > 0, last, 1), 1)
        for k in range(memory):
            q = q + steps[k] * (alphas[memory - 1 - k] - inverse[k] * np.sum(changes[k] * q))
        leaves, treedef = wg.tree.flatten(gradient)
        found, start = [], 0
        for leaf in leaves:
            found.append(q[start : start + leaf.size].reshape(leaf.shape))
            start += leaf.size
        new = {"count": count + 1, "params": x, "gradient": g, "steps": steps, "changes": changes}
        return _scaled(rate, count, wg.tree.unflatten(treedef, found)), new

    return _made("lbfgs", init, update)


# -------------------------------------------------------------------------------------------- before and behind others


def _stateless(change: Callable[[Tree, Tree], Tree]) -> Optimiser:
    return _made("_stateless", lambda params: {}, lambda gradient, state, params: (change(gradient, params), state))


@wg.expect.checked
def clip_by_norm(most: float) -> Optimiser:
    """Return the optimiser that shortens the whole gradient to the norm ``most`` if it is longer.

    The norm is √Σ g² over all arrays of the tree. It is one of a :func:`chain`, before others.

    >>> import numpy as np
    >>> from wengert import optimize
    >>> clip = optimize.clip_by_norm(1.0)
    >>> clip.update({"a": np.array([3.0]), "b": np.array([4.0])}, {}, {"a": np.zeros(1), "b": np.zeros(1)})[0]
    {'a': array([0.6]), 'b': array([0.8])}
    """

    def change(gradient: Tree, params: Tree) -> Tree:
        length = norm(gradient)
        factor = most / np.where(length > most, length, most)
        return mapped(lambda g: g * _in(g.dtype, factor), gradient)

    return _stateless(change)


@wg.expect.checked
def clip_by_value(most: float) -> Optimiser:
    """Return the optimiser that clips each number of the gradient to ±``most``. It is one of a :func:`chain`.

    >>> import numpy as np
    >>> from wengert import optimize
    >>> optimize.clip_by_value(1.0).update(np.array([-3.0, 0.5]), {}, np.zeros(2))[0]
    array([-1. ,  0.5])
    """
    return _stateless(lambda gradient, params: mapped(lambda g: np.clip(g, -most, most), gradient))


@wg.expect.checked
def add_decay(decay: float, mask: Callable[[Tree], Tree] | Tree | None = None) -> Optimiser:
    """Return the optimiser that adds ``decay`` times the parameters to the gradient. It is one of a :func:`chain`.

    Parameters
    ----------
    decay : behind it an optimiser like :func:`sgd` takes rate · decay of each parameter off.
    mask : a tree of booleans of the parameters' structure, or a function that makes one of them: which of them decay.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import optimize
    >>> params = {"w": np.array([10.0]), "b": np.array([10.0])}
    >>> gradient = {"w": np.array([1.0]), "b": np.array([1.0])}
    >>> optimize.add_decay(0.1, mask={"w": True, "b": False}).update(gradient, {}, params)[0]
    {'w': array([2.]), 'b': array([1.])}
    """
    return _stateless(lambda gradient, params: _with_decay(gradient, params, decay, mask))


def _with_decay(updates: Tree, params: Tree, decay: float, mask: Any) -> Tree:
    if mask is None:
        return mapped(lambda u, p: u + decay * p, updates, params)
    chosen = mask(params) if callable(mask) else mask
    return mapped(lambda u, p, is_chosen: u + decay * p if is_chosen else u, updates, params, chosen)


def _kept(name: str, kept: float, decay: float | None) -> float:
    if decay is None:
        return kept
    wg.expect.outdated(f"optimize.{name}(decay=...)", f"optimize.{name}(kept=...)")
    return decay


@wg.expect.checked
def averaged(optimiser: Optimiser, kept: float = 0.999, *, decay: float | None = None) -> Optimiser:
    """Return ``optimiser`` with ``state["average"]``, the parameters averaged over the last steps.

    a ← kept a + (1 − kept) p.
    Source: Polyak & Juditsky (1992), Acceleration of stochastic approximation by averaging.

    Parameters
    ----------
    optimiser : the steps are its own.
    kept : the share of the last average that is kept; with 1 the average is over all steps evenly.
    decay : the name that ``kept`` had before; it is of weights alone now.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import optimize
    >>> opt, params = optimize.averaged(optimize.sgd(1.0), kept=0.5), np.array([0.0])
    >>> updates, state = opt.update(np.array([-4.0]), opt.init(params), params)
    >>> params + updates, state["average"]
    (array([4.]), array([2.]))
    """
    kept = _kept("averaged", kept, decay)

    def init(params: Tree) -> Tree:
        return {"count": _begin(), "inner": optimiser.init(params), "average": mapped(np.copy, params)}

    def update(gradient: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        updates, inner = optimiser.update(gradient, state["inner"], params)
        count = state["count"] + 1
        share = 1 / (count + 1) if kept == 1 else 1 - kept
        new = mapped(lambda a, p, u: a + _in(a.dtype, share) * (p + u - a), state["average"], params, updates)
        return updates, {"count": count, "inner": inner, "average": new}

    return _made("averaged", init, update)


@wg.expect.checked
def every(steps: Count, optimiser: Optimiser) -> Optimiser:
    """Return ``optimiser`` at each ``steps``-th step, of the mean gradient since the last; nothing changes in between.

    So ``steps`` batches count as one large one.

    Parameters
    ----------
    steps : at least 1.
    optimiser : what becomes of the mean gradient.

    Raises
    ------
    ArgumentError : ``steps`` is less than 1.

    Examples
    --------
    >>> import numpy as np
    >>> from wengert import optimize
    >>> opt, params = optimize.every(2, optimize.sgd(0.1)), np.zeros(1)
    >>> first, state = opt.update(np.array([1.0]), opt.init(params), params)
    >>> second, state = opt.update(np.array([3.0]), state, params)
    >>> first, second
    (array([0.]), array([-0.2]))
    """

    def init(params: Tree) -> Tree:
        return {"count": _begin(), "inner": optimiser.init(params), "total": zeros_like(params)}

    def update(gradient: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        count = state["count"] + 1
        is_last = count % steps == 0
        total = mapped(lambda t, g: t + g, state["total"], gradient)
        updates, inner = optimiser.update(mapped(lambda t: t / steps, total), state["inner"], params)
        new = mapped(lambda now, before: np.where(is_last, now, before), inner, state["inner"])
        cleared = mapped(lambda t: np.where(is_last, 0, t), total)
        chosen = mapped(lambda u: np.where(is_last, u, 0), updates)
        return chosen, {"count": count, "inner": new, "total": cleared}

    return _made("every", init, update)

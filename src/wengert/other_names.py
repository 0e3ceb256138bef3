"""The names that users of JAX, autograd, PyTorch, CasADi and Theano know, and what to write here instead.

They stand in three tables: functions and modules, attributes of arrays, and keyword arguments. A name that is in none
of them is taken for a misspelt one, for which the names that are close to it are offered. This is imported when a name
was not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from wengert.errors import message

_LOOPS = "wg.scan(f, init, xs), wg.fori_loop, wg.while_loop, wg.cond, wg.switch; plain Python loops work too"
_OPTIMISERS = "from wengert import optimize; optimize.step(loss, optimize.adam(1e-3))"
_PLAIN = "np: plain NumPy functions are recorded, import numpy as np"
_CUSTOM = "@wg.primitive above the function, and @f.def_pullback above its rule (ct, y, *xs)"
_LOCAL = "nothing is needed: programs run where they are called; wg.set_threads(n), wg.config.target"

FUNCTIONS = {
    # derivatives
    "jacfwd": 'wg.jacobian(f, mode="forward")(x)',
    "jacrev": 'wg.jacobian(f, mode="reverse")(x)',
    "jacobian_fwd": 'wg.jacobian(f, mode="forward")(x)',
    "elementwise_grad": "wg.grad(lambda x: np.sum(f(x)))(x)",
    "egrad": "wg.grad(lambda x: np.sum(f(x)))(x)",
    "deriv": "wg.grad(f)(x)",
    "derivative": "wg.grad(f)(x)",
    "gradient": "wg.grad(f)(x)",
    "gradients": "wg.grad(f)(x)",
    "multigrad": "wg.grad(f, argnums=(0, 1))(x, y)",
    "multigrad_dict": "wg.grad(f, argnums=(0, 1))(x, y)",
    "grad_and_aux": "wg.grad(f, has_aux=True)(x)",
    "grad_and_value": "wg.value_and_grad(f)(x), the value first",
    "value_and_gradient": "wg.value_and_grad(f)(x)",
    "value_and_jacobian": "wg.jacobian(f)(x), and f(x)",
    "val_and_grad": "wg.value_and_grad(f)(x)",
    "make_vjp": "y, pullback = wg.vjp(f, x)",
    "make_jvp": "y, dy = wg.jvp(f, (x,), (dx,))",
    "make_hvp": "wg.hvp(f, (x,), (v,))",
    "make_ggnvp": "y, push = wg.linearize(f, x); y, pull = wg.vjp(f, x); pull(push(v))",
    "make_jvp_reversemode": "y, dy = wg.jvp(f, (x,), (dx,))",
    "hessian_vector_product": "wg.hvp(f, (x,), (v,))",
    "hessian_tensor_product": "wg.hvp(f, (x,), (v,))",
    "tensor_jacobian_product": "y, pullback = wg.vjp(f, x); pullback(ct)",
    "vhp": "wg.hvp(f, (x,), (v,)): the Hessian is symmetric",
    "vector_jacobian_product": "y, pullback = wg.vjp(f, x); pullback(ct)",
    "Rop": "y, dy = wg.jvp(f, (x,), (dx,))",
    "Lop": "y, pullback = wg.vjp(f, x); pullback(ct)",
    "linear_transpose": "y, pullback = wg.vjp(f, x); pullback(ct), for a linear f its transpose",
    "jtimes": "y, dy = wg.jvp(f, (x,), (dx,)), or wg.vjp for the transpose",
    "backward": "wg.grad(loss)(params): a function is differentiated, not a result",
    "GradientTape": "wg.grad(loss)(params): a function is differentiated, not a result",
    "autograd": "import wengert.autograd, which has the names of the library autograd; wg.grad(loss)(params)",
    "forward_ad": "wg.jvp(f, (x,), (dx,))",
    "func": "wg.grad, wg.vmap, wg.jvp, wg.vjp, wg.jacobian, wg.hessian",
    "functorch": "wg.grad, wg.vmap, wg.jvp, wg.vjp, wg.jacobian, wg.hessian",
    "functional_call": "layer.apply(params, state, x): parameters are arguments here",
    # what is constant
    "no_grad": "wg.stop_gradient(x); outside of wg.grad nothing is recorded",
    "enable_grad": "nothing is needed: wg.grad(f) records f alone",
    "set_grad_enabled": "wg.stop_gradient(x); outside of wg.grad nothing is recorded",
    "inference_mode": "nothing is needed: outside of wg.grad nothing is recorded",
    "detach": "wg.stop_gradient(x)",
    "disconnected_grad": "wg.stop_gradient(x)",
    "zero_grad": "nothing is needed: wg.grad returns gradients, and keeps none",
    "requires_grad": "wg.grad(f, argnums=0): what is differentiated is said by number, or by wrt=",
    # of your own
    "custom_vjp": _CUSTOM,
    "custom_jvp": "@wg.primitive above the function, and @f.def_pushforward above its rule",
    "custom_gradient": _CUSTOM,
    "custom_batching": "@f.def_batch, of a @wg.primitive",
    "custom_root": "wg.implicit(f, solver)",
    "custom_linear_solve": "np.linalg.solve(a, b), or wg.implicit(f, solver)",
    "defvjp": _CUSTOM,
    "defjvp": "@wg.primitive above the function, and @f.def_pushforward above its rule",
    "extend": _CUSTOM,
    "Function": _CUSTOM,
    "pure_callback": "@wg.primitive above the function that is not to be traced",
    "io_callback": "@wg.primitive above the function that is not to be traced",
    # programs
    "function": "wg.jit(f)",
    "njit": "wg.jit(f)",
    "script": "wg.jit(f)",
    "make_jaxpr": "print(wg.trace(f)(x))",
    "make_fx": "wg.trace(f)(x)",
    "symbolic_trace": "wg.trace(f)(x)",
    "eval_shape": "wg.spec_of(f)(wg.spec((3, 4)))",
    "ShapeDtypeStruct": "wg.spec((3, 4), np.float64)",
    "remat": "wg.checkpoint(f)",
    "rematerialize": "wg.checkpoint(f)",
    "clear_caches": "f.clear(), of a jitted f",
    "disable_jit": "f.__wrapped__(x), the function that wg.jit was given",
    "block_until_ready": "nothing is needed: a result is there when the call returns",
    "checkify": "wg.errors.NonFiniteError is raised by nn.fit; assert works in traced functions",
    # batching, devices
    "vectorize": "wg.vmap(f), or np.vectorize as it is",
    "pmap": "wg.vmap(f), and wg.set_threads(n)",
    "xmap": "wg.vmap(f)",
    "shard_map": "wg.vmap(f), and wg.set_threads(n)",
    "soft_pmap": "wg.vmap(f)",
    "device_put": _LOCAL,
    "device_get": _LOCAL,
    "devices": _LOCAL,
    "local_devices": _LOCAL,
    "device": _LOCAL,
    "cuda": _LOCAL,
    "set_num_threads": "wg.set_threads(n)",
    # branches and loops
    "lax": _LOOPS,
    "associative_scan": "np.cumsum, np.cumprod, or wg.scan(f, init, xs)",
    "map": "wg.vmap(f)(xs), or wg.scan for one after the other",
    "select": "np.where(condition, x, y)",
    "dynamic_slice": "x[i : i + n]: slices of traced places are recorded",
    "dynamic_update_slice": "x[i : i + n] = v, on an array made in the function",
    "ifelse": "wg.cond(pred, true_fun, false_fun, x), or np.where",
    "if_else": "wg.cond(pred, true_fun, false_fun, x), or np.where",
    # arrays and modules
    "numpy": _PLAIN,
    "jnp": _PLAIN,
    "tensor": "np.array: arrays are NumPy's",
    "Tensor": "np.ndarray: arrays are NumPy's",
    "as_tensor": "np.asarray: arrays are NumPy's",
    "from_numpy": "nothing is needed: arrays are NumPy's",
    "scipy": "scipy: plain SciPy functions are recorded, import scipy",
    "ones_like": "np.ones_like: arrays are NumPy's",
    "zeros_like": "np.zeros_like: arrays are NumPy's",
    "linspace": "np.linspace: arrays are NumPy's",
    "einsum": "np.einsum: arrays are NumPy's",
    "float0": "nothing is needed: a gradient with respect to an integer is refused",
    "index_update": "x[i] = v, on an array made in the function",
    "random": "from wengert import nn; nn.random.normal(nn.random.key(0), (3,)); or np.random.default_rng(0)",
    "PRNGKey": "nn.random.key(0)",
    "special": "scipy.special, as it is",
    "linalg": "np.linalg and scipy.linalg, as they are",
    "test_util": "wg.check_derivatives(f, x)",
    "check_grads": "wg.check_derivatives(f, x)",
    "gradcheck": "wg.check_derivatives(f, x)",
    "gradgradcheck": "wg.check_derivatives(wg.grad(f), x)",
    "checkgrad": "wg.check_derivatives(f, x)",
    # trees
    "tree_map": "wg.tree.map(f, tree)",
    "tree_util": "wg.tree",
    "tree_leaves": "wg.tree.leaves(tree)",
    "tree_flatten": "leaves, treedef = wg.tree.flatten(tree)",
    "tree_unflatten": "wg.tree.unflatten(treedef, leaves)",
    "tree_structure": "wg.tree.flatten(tree)[1]",
    "tree_multimap": "wg.tree.map(f, tree, *others)",
    "pytree": "wg.tree",
    "register_pytree_node": "wg.register(cls, flatten, unflatten)",
    "register_pytree_node_class": "wg.register(cls, flatten, unflatten)",
    "ravel_pytree": "from wengert import nn; vector, back = nn.flat(tree)",
    "flatten_util": "from wengert import nn; vector, back = nn.flat(tree)",
    # CasADi, Theano
    "MX": "np.ndarray arguments: wg.trace(f)(x) records f, a NumPy function",
    "SX": "np.ndarray arguments: wg.trace(f)(x) records f, a NumPy function",
    "DM": "np.ndarray",
    "dvector": "an argument of a NumPy function: wg.jit(f)(x)",
    "dmatrix": "an argument of a NumPy function: wg.jit(f)(x)",
    "dscalar": "an argument of a NumPy function: wg.jit(f)(x)",
    "shared": "an array that the function captures: it is read at every call",
    "nlpsol": "from wengert import optimize; optimize.minimize(f, x0)",
    "integrator": "from wengert import ode; ode.solve_ivp(f, t_span, y0)",
    "rootfinder": "scipy.optimize.root as it is, or wg.implicit(f, solver)",
    # differential equations
    "odeint": "ode.solve_ivp(lambda t, y: ..., (t0, t1), y0, t_eval=t).y; time comes first in the function",
    "diffeqsolve": "ode.solve_ivp(f, (t0, t1), y0)",
    # optimisers
    "optim": _OPTIMISERS,
    "optimizers": _OPTIMISERS,
    "optax": _OPTIMISERS,
    "Adam": "optimize.adam(rate)",
    "AdamW": "optimize.adamw(rate, decay=0.01)",
    "SGD": "optimize.sgd(rate, momentum=0.9)",
    "RMSprop": "optimize.rmsprop(rate)",
    "Adagrad": "optimize.adagrad(rate)",
    "LBFGS": 'optimize.minimize(f, x0, method="L-BFGS-B"), or optimize.lbfgs()',
    "apply_updates": "optimize.apply(params, updates)",
    "clip_by_global_norm": "optimize.clip_by_norm(most)",
    "clip_grad_norm_": "optimize.chain(optimize.clip_by_norm(most), optimize.adam(rate))",
    "lr_scheduler": "optimize.adam(optimize.schedules.cosine(1e-3, steps))",
    "ema": "optimize.averaged(optimiser)",
    "add_decayed_weights": "optimize.add_decay(0.01)",
    # networks
    "Module": "nn.Layer, or a function of parameters and x",
    "Sequential": "nn.Chain(...)",
    "ModuleList": "a tuple of layers, or nn.Chain(...)",
    "Parameter": "an array: parameters are arguments, layer.init(rng, x) makes them",
    "Linear": "nn.Dense(width): what comes in is seen at init",
    "Conv1d": "nn.Conv(kernel, width): the rank is that of x",
    "Conv2d": "nn.Conv(kernel, width): the rank is that of x",
    "Conv3d": "nn.Conv(kernel, width): the rank is that of x",
    "ConvTranspose2d": "nn.ConvTranspose(kernel, width)",
    "MaxPool2d": "nn.MaxPool(window)",
    "AvgPool2d": "nn.MeanPool(window)",
    "avg_pool": "nn.mean_pool(x, window)",
    "BatchNorm1d": "nn.BatchNorm()",
    "BatchNorm2d": "nn.BatchNorm()",
    "Dropout2d": "nn.Dropout(rate)",
    "ReLU": "nn.relu, a function: nn.Dense(width, nn.relu)",
    "LeakyReLU": "nn.leaky_relu, a function",
    "GELU": "nn.gelu, a function",
    "SiLU": "nn.silu, a function",
    "ELU": "nn.elu, a function",
    "Sigmoid": "nn.sigmoid, a function",
    "Tanh": "np.tanh, a function",
    "Softmax": "nn.softmax, a function",
    "Flatten": "nn.flatten, a function",
    "functional": "nn: nn.relu, nn.conv, nn.cross_entropy",
    "CrossEntropyLoss": "nn.cross_entropy(logits, labels)",
    "MSELoss": "nn.squared_error(prediction, target)",
    "L1Loss": "nn.absolute_error(prediction, target)",
    "BCEWithLogitsLoss": "nn.binary_cross_entropy(logits, labels)",
    "HuberLoss": "nn.huber(prediction, target)",
    "mse_loss": "nn.squared_error(prediction, target)",
    "l1_loss": "nn.absolute_error(prediction, target)",
    "one_hot": "np.eye(n)[labels]; nn.cross_entropy takes the labels themselves",
    "MultiheadAttention": "nn.MultiHeadAttention(heads)",
    "scaled_dot_product_attention": "nn.attention(q, k, v)",
    "dot_product_attention": "nn.attention(q, k, v)",
    "TransformerEncoderLayer": "nn.TransformerBlock(heads)",
    "init": 'nn.initialiser("glorot_uniform"); nn.Dense(width, weights="glorot_uniform")',
    "stax": "from wengert import nn; nn.Chain(nn.Dense(8, nn.relu), nn.Dense(1))",
    "DataLoader": "nn.fit(model, params, state, (x, y), batch_size=32)",
    "manual_seed": "nn.random.key(seed), or np.random.default_rng(seed): each is an argument",
}
"""Each name of another library, and what to write here."""

ARRAYS = {
    "at": "x = x.copy(); x[i] = v: writes are recorded",
    "backward": "wg.grad(loss)(params): a function is differentiated, not a result",
    "grad": "wg.grad(loss)(params): gradients are returned, not stored",
    "grad_fn": "wg.trace(f)(x): the tape says which step made a value",
    "requires_grad": "wg.grad(f, argnums=0): what is differentiated is said by number",
    "requires_grad_": "wg.grad(f, argnums=0): what is differentiated is said by number",
    "retain_grad": "wg.vjp of the part that begins there",
    "register_hook": "@wg.primitive with a rule of yours",
    "is_leaf": "nothing is needed: a function is differentiated with respect to its arguments",
    "detach": "wg.stop_gradient(x)",
    "detach_": "wg.stop_gradient(x)",
    "numpy": "x itself: it is NumPy's",
    "cpu": "x itself: it is in memory",
    "cuda": "x itself: it is in memory",
    "to": "x.astype(dtype); it is in memory already",
    "type_as": "x.astype(y.dtype)",
    "double": "x.astype(np.float64)",
    "float": "x.astype(np.float32)",
    "half": "x.astype(np.float16)",
    "long": "x.astype(np.int64)",
    "block_until_ready": "x itself: it is there when the call returns",
    "clone": "x.copy()",
    "contiguous": "np.ascontiguousarray(x)",
    "permute": "np.transpose(x, axes)",
    "t": "x.T",
    "unsqueeze": "np.expand_dims(x, axis)",
    "expand": "np.broadcast_to(x, shape)",
    "expand_as": "np.broadcast_to(x, y.shape)",
    "dim": "x.ndim",
    "numel": "x.size",
    "unbind": "tuple(x)",
    "chunk": "np.array_split(x, n)",
    "gather": "np.take_along_axis(x, indices, axis)",
    "scatter_add_": "np.add.at(x, i, v)",
    "index_add_": "np.add.at(x, i, v)",
    "masked_fill": "np.where(mask, value, x)",
    "masked_fill_": "x[mask] = value",
    "add_": "x += y",
    "sub_": "x -= y",
    "mul_": "x *= y",
    "div_": "x /= y",
    "zero_": "x[...] = 0",
    "fill_": "x[...] = value",
    "copy_": "x[...] = y",
    "clamp": "np.clip(x, low, high)",
    "abs": "np.abs(x)",
    "exp": "np.exp(x)",
    "log": "np.log(x)",
    "sin": "np.sin(x)",
    "cos": "np.cos(x)",
    "tanh": "np.tanh(x)",
    "sqrt": "np.sqrt(x)",
    "sigmoid": "nn.sigmoid(x), or scipy.special.expit(x)",
    "relu": "nn.relu(x), or np.maximum(x, 0)",
    "softmax": "nn.softmax(x), or scipy.special.softmax(x, axis=-1)",
    "pow": "x**n",
    "norm": "np.linalg.norm(x)",
    "matmul": "x @ y",
    "mm": "x @ y",
    "bmm": "x @ y",
    "eval": "x itself: it is computed already",
    "get_value": "x itself: it is NumPy's",
    "set_value": "x[...] = y",
    "_value": "wg.stop_gradient(x); a look at its number is a guard",
}
"""Each attribute that arrays of others have and NumPy's have not, and what to write here."""

KEYWORDS = {
    "static_argnums": "leave it out: strings and flags are static, and an int is looked at where it must be",
    "static_argnames": "leave it out: strings and flags are static, and an int is looked at where it must be",
    "donate_argnums": "donate=lambda args: args[0]",
    "donate_argnames": "donate=lambda args: args[0]",
    "argnum": "argnums=0",
    "argnames": "argnums=0: arguments are said by number, or by wrt=lambda args: args[0].weights",
    "allow_int": "leave it out: an integer has no derivative; wrt=lambda args: args[0].weights leaves it out",
    "holomorphic": "wg.jacobian(f), which takes complex numbers; wg.grad is for real losses",
    "create_graph": "leave it out: wg.grad(wg.grad(f)) differentiates again",
    "retain_graph": "leave it out: a pullback of wg.vjp may be called many times",
    "allow_unused": "leave it out: the gradient of what is not used is zero",
    "in_dims": "in_axes=0",
    "out_dims": "out_axes=0",
    "randomness": "nn.random.split(key, n), with a key for each example",
    "chunk_size": "leave it out: a batch runs block by block by itself",
    "axis_name": "leave it out: np.sum(result, axis=0), behind wg.vmap",
    "axis_size": "leave it out: the size is that of the arguments",
    "spmd_axis_name": "leave it out: programs run where they are called",
    "device": "leave it out: programs run where they are called",
    "backend": "leave it out: programs run where they are called; wg.config.target",
    "inline": "leave it out: a jitted function is inlined in another by itself",
    "keep_unused": "leave it out: unused arguments cost nothing",
    "fullgraph": "strict=True",
    "dynamic": "leave it out: each shape has a program of its own",
    "nopython": "strict=True",
    "fastmath": "wg.fastmath(f)",
    "parallel": "wg.set_threads(n)",
    "unroll": "leave it out: short bodies are unrolled by themselves",
    "policy": "leave it out: wg.checkpoint(f) keeps the arguments alone; put it around less, to keep more",
    "prevent_cse": "leave it out: what a checkpoint computes again is not shared",
    "concrete": "leave it out: values may be looked at in a checkpoint",
    "use_reentrant": "leave it out: there is one kind of checkpoint",
    "vectorize": "leave it out: rows of a Jacobian are computed together",
    "strategy": 'mode="forward", or mode="reverse"',
    "has_aux": "wg.value_and_grad(f, has_aux=True), wg.grad or wg.vjp; otherwise lambda x: f(x)[0]",
    "dim": "axis=-1",
    "keepdim": "keepdims=True",
    "lr": "rate=1e-3",
    "learning_rate": "rate=1e-3",
    "step_size": "rate=1e-3",
    "weight_decay": "decay=0.01, of adamw and lion, or optimize.add_decay",
    "betas": "b1=0.9, b2=0.999",
    "eps": "epsilon=1e-8",
    "p": "rate=0.5",
    "in_features": "leave it out: it is seen at init",
    "out_features": "width=8",
    "in_channels": "leave it out: it is seen at init",
    "out_channels": "width=8",
    "kernel_size": "kernel=3, or window=2 of a pool",
    "num_heads": "heads=8",
    "num_features": "leave it out: it is seen at init",
    "num_embeddings": "count=1000",
    "embedding_dim": "width=8",
    "hidden_size": "width=8",
    "activation_fn": "activation=nn.relu",
}
"""Each keyword argument of others, and what to write here."""


def unknown_name(module: str, name: str, known: Iterable[str]) -> str:
    """Return the message for a name that a module does not have.

    >>> print(unknown_name("wengert", "jacfwd", ["grad"]))
    module 'wengert' has no attribute 'jacfwd'
      try    wg.jacobian(f, mode="forward")(x)
    >>> print(unknown_name("wengert", "gradd", ["grad", "vjp"]))
    module 'wengert' has no attribute 'gradd'
      try    grad
    """
    return message(f"module {module!r} has no attribute {name!r}", tries=_tries(FUNCTIONS, name, known))


def unknown_attribute(what: str, name: str) -> str | None:
    """Return the message for an attribute of an array that NumPy's arrays have not; None if it is of no others."""
    if name not in ARRAYS:
        return None
    return message(f"{what!r} object has no attribute {name!r}", tries=[ARRAYS[name]])


def unknown_keyword(function: str, name: str, known: Iterable[str]) -> str:
    """Return the message for a keyword argument that a function does not take.

    >>> print(unknown_keyword("vmap", "in_dims", ["in_axes"]))
    vmap() got an unexpected keyword argument 'in_dims'
      try    in_axes=0
    """
    return message(
        f"{function}() got an unexpected keyword argument {name!r}", tries=_tries(KEYWORDS, name, known, "=...")
    )


def _tries(table: dict[str, str], name: str, known: Iterable[str], behind: str = "") -> list[str]:
    if name in table:
        return [table[name]]
    names = {_plain(one): one for one in known}
    return [names[one] + behind for one in get_close_matches(_plain(name), names, n=3, cutoff=0.75)]


def _plain(name: str) -> str:
    """A name without what misspelling changes: capitals and underscores."""
    return re.sub("_", "", name).lower()

"""Odd values for every parameter of every public function, one at a time, and what may come of such a call.

``CALLS`` has one good call of each function. ``odd_calls`` puts each of ``ODD`` in the place of each argument;
``outcome`` calls, and says in one word how it went: "right" and "ours" are what is promised, "foreign" an error from
within (AttributeError, KeyError ...), "bare" a TypeError or ValueError without our words, "hangs" a call that does not
come back. Run as a script, ``python -m tests.acceptance.odd_arguments``, it counts them all.
"""

from __future__ import annotations

import datetime
import inspect
import io
import math
import os
import random
import re
import signal
import sys
import tempfile
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from wengert import edit, graph, nn, ode, optimize
from wengert.errors import InternalError, WengertError
from wengert.graph import search
from wengert.nn import random as nn_random
from wengert.optimize import schedules

# ------------------------------------------------------------------------------------------------------- odd values


class Mine(Exception):
    """What a function of the user's raises, which passes through as it is."""


class Plain:
    """An object without anything."""


class WithKeys:
    """One whose ``__getattr__`` raises KeyError."""

    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)


class FalseArray:
    """One that says it has a shape, and no more."""

    shape = (2, 3)
    ndim = 2


def raising(*_: Any, **__: Any) -> Any:
    raise Mine("of the user")


def _holds_itself() -> list[Any]:
    x: list[Any] = [1.0]
    x.append(x)
    return x


def _nested(depth: int) -> Any:
    x: Any = 1.0
    for _ in range(depth):
        x = [x]
    return x


def _key_of_itself() -> dict[str, Any]:
    x: dict[str, Any] = {}
    x["x"] = x
    return x


def _read_only() -> Any:
    x = np.ones((2, 3))
    x.flags.writeable = False
    return x


_TAPE = wg.trace(lambda x: np.sum(np.sin(x)))(np.ones(3))

ODD: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "0": lambda: 0,
    "-1": lambda: -1,
    "7": lambda: 7,
    "2**40": lambda: 2**40,
    "2**63": lambda: 2**63,
    "-(2**63) - 1": lambda: -(2**63) - 1,
    "10**400": lambda: 10**400,
    "-10**400": lambda: -(10**400),
    "0.5": lambda: 0.5,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "-inf": lambda: -math.inf,
    "1j": lambda: 1j,
    "'text'": lambda: "text",
    "''": lambda: "",
    "b'bytes'": lambda: b"bytes",
    "a long text": lambda: "x" * 10_000,
    "a text with a null": lambda: "a\0b",
    "[]": list,
    "()": lambda: (),
    "{}": dict,
    "set()": lambda: set(),
    "{1, 2}": lambda: {1, 2},
    "[1, 2, 3]": lambda: [1, 2, 3],
    "(1, 2)": lambda: (1, 2),
    "(-1, -2)": lambda: (-1, -2),
    "[1.5, 'a', None]": lambda: [1.5, "a", None],
    "[[1.0], [2.0, 3.0]]": lambda: [[1.0], [2.0, 3.0]],
    "a list that holds itself": _holds_itself,
    "a list 50 deep": lambda: _nested(50),
    "a list 5000 deep": lambda: _nested(5000),
    "a dict that holds itself": _key_of_itself,
    "{'a': 1.0}": lambda: {"a": 1.0},
    "{0: sin}": lambda: {0: np.sin},
    "{1: 2, 'a': 3}": lambda: {1: 2, "a": 3},
    "a deque": lambda: deque([1.0, 2.0]),
    "range(3)": lambda: range(3),
    "(10**10, 10**10)": lambda: (10**10, 10**10),
    "(2**62,)": lambda: (2**62,),
    "(10**400,)": lambda: (10**400,),
    "object()": object,
    "an object": Plain,
    "an object of KeyErrors": WithKeys,
    "an object with a shape": FalseArray,
    "a class": lambda: Plain,
    "float": lambda: float,
    "np.ndarray": lambda: np.ndarray,
    "a module": lambda: np,
    "Ellipsis": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "an exception": lambda: ValueError("x"),
    "a slice": lambda: slice(1, 2),
    "a file": lambda: io.StringIO("x"),
    "a date": lambda: datetime.date(2024, 1, 1),
    "a generator": lambda: (x for x in (1.0, 2.0)),
    "a generator of numbers": lambda: np.random.default_rng(0),
    "a function of nothing": lambda: lambda: 1.0,
    "a function of five": lambda: lambda a, b, c, d, e: a,
    "a function of anything": lambda: lambda *a, **k: a[0] if a else 0.0,
    "a function that raises": lambda: raising,
    "a function that returns None": lambda: lambda *a, **k: None,
    "len": lambda: len,
    "a tape": lambda: _TAPE,
    "a program": lambda: wg.compile(_TAPE),
    "a spec": lambda: wg.spec((2, 3)),
    "a layer": lambda: nn.Dense(3),
    "array of objects": lambda: np.array([None, "a"], dtype=object),
    "array of strings": lambda: np.array(["a", "b"]),
    "array of fields": lambda: np.zeros(3, dtype=[("a", float), ("b", int)]),
    "array of dates": lambda: np.array(["2024-01-01"], dtype="datetime64[D]"),
    "masked array": lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
    "matrix": lambda: np.matrix([[1.0, 2.0]]),
    "0-d array": lambda: np.array(1.5),
    "0-d integer": lambda: np.array(2),
    "empty array": lambda: np.zeros((0, 3)),
    "empty vector": lambda: np.zeros(0),
    "array of 1": lambda: np.ones(1),
    "vector of 7": lambda: np.arange(7.0),
    "array of integers": lambda: np.arange(6).reshape(2, 3),
    "array of booleans": lambda: np.array([True, False, True]),
    "array of NaN": lambda: np.full((2, 3), np.nan),
    "complex array": lambda: np.ones((2, 3)) * 1j,
    "float16 array": lambda: np.ones((2, 3), np.float16),
    "longdouble array": lambda: np.ones((2, 3), np.longdouble),
    "strided array": lambda: np.ones((4, 6))[::2, ::-2],
    "byte-swapped array": lambda: np.ones((2, 3), ">f8"),
    "read-only array": _read_only,
    "array of 7 axes": lambda: np.ones((1,) * 7),
    "NumPy's integer": lambda: np.int8(3),
    "NumPy's number": lambda: np.float32(0.5),
}


# ------------------------------------------------------------------------------------------------------- good calls

Args = tuple[Any, ...]


class Call(NamedTuple):
    """A good call: what is called, and a maker of its arguments, since a call may write or use them up."""

    function: Callable[..., Any]
    arguments: Callable[[], tuple[Args, dict[str, Any]]]
    loops: frozenset[str] = frozenset()
    """Parameters that say how often something is done: what is asked for with 2**40 takes its time."""


def good(function: Callable[..., Any], *args: Any, loops: str = "", **kwargs: Any) -> Call:
    """Arguments that are functions without a name, ``lambda: x``, are made anew for each call: ``fresh`` marks them."""

    def make() -> tuple[Args, dict[str, Any]]:
        return tuple([_made(x) for x in args]), {name: _made(x) for name, x in kwargs.items()}

    return Call(function, make, frozenset(loops.split()))


class fresh(NamedTuple):  # reads as a word in the table
    make: Callable[[], Any]


def _made(x: Any) -> Any:
    return x.make() if type(x) is fresh else x


def _loss(x: Any) -> Any:
    return np.sum(x * x)


def _vector(x: Any) -> Any:
    return x * x


def _of_arrays(x: Any) -> Any:
    if not hasattr(x, "shape") or not hasattr(x, "__mul__"):
        raise Mine
    return x * x


def _pair(c: Any, x: Any) -> Any:
    return c + x, c


def _result_of(f: Any) -> Any:
    """``f(x)``, a function of what a transform's function takes."""

    def call(x: Any) -> Any:
        return f(x)

    return call


@wg.primitive
def _twice(x: Any) -> Any:
    return 2 * x


X1, X2, X3, X4 = np.ones(3), np.ones((2, 4)), np.ones((2, 4, 6)), np.ones((2, 4, 6, 6))
KEY = nn_random.key(0)
LABELS = np.array([0, 1])
CHAIN = nn.Chain(nn.Dense(4, nn.relu), nn.Dense(2))
PARAMS, STATE = CHAIN.init(0, X2)
TREE = {"a": np.ones(2), "b": [np.zeros(3)]}
FOLDER = tempfile.gettempdir()
TAPE = wg.trace(lambda x: np.sum(np.sin(x) * x))(X1)
STEP = TAPE.instrs[0].outs[0]


_UNREAD = edit.replace_value(TAPE, STEP, TAPE.inputs[0])


def _saved() -> str:
    path = _path()
    if not os.path.exists(path):
        nn.save(path, TREE)
    return path


def _path() -> str:
    return os.path.join(FOLDER, f"wengert-odd-arguments-{os.getpid()}.safetensors")


def _to_save() -> str:
    return os.path.join(FOLDER, f"wengert-odd-arguments-{os.getpid()}-written.safetensors")


def saved_files() -> tuple[str, str]:
    """What the calls may have written."""
    return _path(), _to_save()


def _graph() -> Any:
    x = graph.input("x")
    return graph.Graph([x], graph.vertex(nn.Dense(2), "out")(graph.vertex(np.tanh, "h")(x)))


def _method_of_graph(name: str) -> Any:
    return lambda *args: getattr(_graph(), name)(*args)


def _a_class() -> type:
    return type("Registered", (), {})


_WIRE = graph.input("x")

ELEMENTWISE = [
    "celu",
    "elu",
    "gelu",
    "gelu_erf",
    "gelu_sigmoid",
    "gelu_tanh",
    "glu",
    "hard_shrink",
    "hard_sigmoid",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "lisht",
    "log_cosh",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "sigmoid_fast",
    "silu",
    "soft_shrink",
    "softplus",
    "softsign",
    "swish",
    "tanh",
    "tanh_fast",
    "tanhshrink",
    "trelu",
]

CALLS: dict[str, Call] = {
    "grad": good(wg.grad, _loss),
    "grad(f)": good(_result_of(wg.grad(_loss)), X1),
    "grad(f, argnums)(x)": good(lambda argnums: wg.grad(_loss, argnums)(X1), 0),
    "grad(f, wrt)(x)": good(lambda wrt: wg.grad(_loss, wrt=wrt)(X1), lambda args: args[0]),
    "grad(f)(x), any f": good(lambda f: wg.grad(f)(X1), _loss),
    "value_and_grad": good(wg.value_and_grad, _loss),
    "value_and_grad(f)": good(_result_of(wg.value_and_grad(_loss)), X1),
    "vjp": good(wg.vjp, _vector, X1),
    "pullback": good(_result_of(wg.vjp(_vector, X1)[1]), X1),
    "jvp": good(wg.jvp, _vector, (X1,), (X1,)),
    "linearize": good(wg.linearize, _vector, X1),
    "linear map": good(_result_of(wg.linearize(_vector, X1)[1]), X1),
    "jacobian": good(wg.jacobian, _vector),
    "jacobian(f)": good(_result_of(wg.jacobian(_vector)), X1),
    "hessian": good(wg.hessian, _loss),
    "hessian(f)": good(_result_of(wg.hessian(_loss)), X1),
    "jac_for": good(wg.jac_for, _loss),
    "hess_for": good(wg.hess_for, _loss),
    "hessp_for": good(wg.hessp_for, _loss),
    "exact": good(wg.exact),
    "hvp": good(wg.hvp, _loss, (X1,), (X1,)),
    "vmap": good(wg.vmap, _vector),
    "vmap(f)": good(_result_of(wg.vmap(_vector)), X2),
    "vmap(f, in_axes)(x)": good(lambda in_axes: wg.vmap(_vector, in_axes)(X2), 0),
    "vmap(f, out_axes)(x)": good(lambda out_axes: wg.vmap(_vector, 0, out_axes)(X2), 0),
    "cond": good(wg.cond, True, _vector, _vector, X1),
    "switch": good(wg.switch, 0, (_vector, _vector), X1),
    "scan": good(wg.scan, _pair, 0.0, X1, loops="length"),
    "fori_loop": good(wg.fori_loop, 0, 3, lambda i, x: x + i, 0.0, loops="lower upper"),
    "while_loop": good(
        wg.while_loop, lambda x: x < 3, lambda x: x + 1, 0.0, loops="init_val cond_fun body_fun max_steps"
    ),
    "traced cond": good(lambda *a: wg.vjp(lambda x: wg.cond(*a, x), X1), True, _vector, _vector),
    "traced switch": good(lambda *a: wg.vjp(lambda x: wg.switch(*a, x), X1), 0, (_vector, _vector)),
    "traced scan": good(lambda f, init: wg.vjp(lambda x: wg.scan(f, init, x), X1), _pair, 0.0),
    "traced fori_loop": good(
        lambda a, b, f: wg.vjp(lambda x: wg.fori_loop(a, b, f, x), X1), 0, 3, lambda i, x: x + i, loops="a b"
    ),
    "traced while_loop": good(
        lambda c, f: wg.vjp(lambda x: wg.while_loop(c, f, x), 1.0), lambda x: x < 3, lambda x: x + 1, loops="c f"
    ),
    "joined": good(wg.joined, _vector),
    "known_states": good(wg.known_states, lambda y, x: (y + x, y), 0.0, (X1,), X1, 3),
    "known_root": good(wg.known_root, lambda y: y - X1, X1),
    "traced known_root": good(lambda *a: wg.vjp(lambda x: wg.known_root(*a) + x, X1), lambda y: y - X1, X1),
    "implicit": good(wg.implicit, lambda y: y - X1, lambda g, y: y - g(y)),
    "implicit(f)": good(lambda y: wg.implicit(lambda y: y - X1, lambda g, y: y - g(y))(y), X1),
    "checkpoint": good(wg.checkpoint, _vector),
    "checkpoint(f)": good(lambda x: wg.grad(lambda y: np.sum(wg.checkpoint(_vector)(y)))(x), X1),
    "stop_gradient": good(wg.stop_gradient, X1),
    "constant": good(wg.constant, X1),
    "trace": good(wg.trace, _vector),
    "trace(f)": good(_result_of(wg.trace(_vector)), X1),
    "compile": good(wg.compile, TAPE),
    "program": good(_result_of(wg.compile(TAPE)), X1),
    "bind": good(lambda x: wg.compile(TAPE).bind(x), X1),
    "jit": good(wg.jit, _vector),
    "jit(f)": good(_result_of(wg.jit(_vector)), X1),
    "jit(f)(out=)": good(lambda out: wg.jit(_vector)(X1, out=out), fresh(lambda: np.empty(3))),
    "jit(f).program": good(lambda x: wg.jit(_of_arrays).program(x), X1),
    "spec": good(wg.spec, (2, 3), "float32"),
    "spec_of": good(wg.spec_of, _vector),
    "spec_of(f)": good(_result_of(wg.spec_of(_vector)), X1),
    "check": good(wg.check, TAPE),
    "format_tree": good(wg.format_tree, TAPE, 1),
    "primitive": good(wg.primitive, _vector),
    "a primitive": good(_result_of(_twice), X1),
    "def_pullback": good(lambda f: wg.primitive(lambda x: x).def_pullback(f), lambda ct, y, x: ct),
    "not_implemented": good(wg.not_implemented, "reason"),
    "broadcast": good(wg.broadcast, lambda x: x + 1.0, X1),
    "register": good(wg.register, fresh(_a_class), lambda x: ((), None), lambda aux, children: None),
    "check_derivatives": good(wg.check_derivatives, _loss, X1),
    "set_threads": good(wg.set_threads, 1),
    "look": good(wg.look, _loss),
    "timed": good(wg.timed),
    "find_nans": good(wg.find_nans, True),
    "watch": good(wg.watch, "x", X1),
    "profile": good(wg.profile, _loss),
    "smooth": good(wg.smooth, _loss),
    "digits": good(wg.digits, _loss),
    "doctor": good(wg.doctor, False),
    # --------------------------------------------------------------------------------------------------------- edit
    "edit.definitions": good(edit.definitions, TAPE),
    "edit.find": good(edit.find, TAPE, op="sin"),
    "edit.ancestors": good(edit.ancestors, TAPE, STEP),
    "edit.descendants": good(edit.descendants, TAPE, STEP),
    "edit.explain": good(edit.explain, TAPE, STEP),
    "edit.insert_after": good(edit.insert_after, TAPE, STEP, wg.ops.OPS["tanh"], STEP),
    "edit.replace_value": good(edit.replace_value, TAPE, STEP, TAPE.inputs[0]),
    "edit.replace_step": good(edit.replace_step, TAPE, STEP, wg.ops.OPS["tanh"], TAPE.inputs[0]),
    "edit.delete": good(edit.delete, _UNREAD, _UNREAD.instrs[0].outs[0]),
    "edit.merge_common": good(edit.merge_common, TAPE),
    "edit.annotate": good(edit.annotate, TAPE, {STEP: "note"}),
    "edit.play": good(edit.play, TAPE, X1),
    # ----------------------------------------------------------------------------------------------------------- nn
    **{f"nn.{name}": good(getattr(nn, name), X2) for name in ELEMENTWISE},
    "nn.rrelu": good(nn.rrelu, X2, KEY),
    "nn.ctc_loss": good(nn.ctc_loss, np.log(np.full((2, 4, 3), 1 / 3)), np.array([[1, 2], [2, 1]])),
    "nn.attention": good(nn.attention, X3, X3, X3, None),
    "nn.causal_mask": good(nn.causal_mask, 3, 4),
    "nn.rotary": good(nn.rotary, X3),
    "nn.sinusoidal_positions": good(nn.sinusoidal_positions, 3, 4),
    "nn.conv": good(nn.conv, X4, np.ones((3, 4, 3, 3)), np.ones(3)),
    "nn.conv_bias_act": good(nn.conv_bias_act, nn.relu, X4, np.ones((3, 4, 3, 3)), np.ones(3)),
    "nn.conv_transpose": good(nn.conv_transpose, X4, np.ones((4, 3, 3, 3)), np.ones(3)),
    "nn.bias_act": good(nn.bias_act, nn.relu, X2, np.ones(4)),
    "nn.linear": good(nn.linear, X2, np.ones((3, 4)), np.ones(3)),
    "nn.embedding": good(nn.embedding, LABELS, np.eye(3)),
    "nn.from_torch": good(nn.from_torch, PARAMS, STATE, fresh(lambda: nn.to_torch(PARAMS, STATE))),
    "nn.to_torch": good(nn.to_torch, PARAMS, STATE),
    "nn.as_layer": good(nn.as_layer, np.tanh),
    "nn.absolute_error": good(nn.absolute_error, X2, X2),
    "nn.accuracy": good(nn.accuracy, X2, LABELS),
    "nn.binary_cross_entropy": good(nn.binary_cross_entropy, X2, X2),
    "nn.cosine": good(nn.cosine, X2, X2),
    "nn.cross_entropy": good(nn.cross_entropy, X2, LABELS),
    "nn.hinge": good(nn.hinge, X2, X2),
    "nn.huber": good(nn.huber, X2, X2),
    "nn.kl_divergence": good(nn.kl_divergence, X2, X2),
    "nn.squared_error": good(nn.squared_error, X2, X2),
    "nn.alpha_dropout": good(nn.alpha_dropout, X2, KEY, 0.5),
    "nn.batch_norm": good(nn.batch_norm, X2, np.ones(4), np.ones(4), np.ones(4), np.ones(4)),
    "nn.dropout": good(nn.dropout, X2, KEY, 0.5),
    "nn.group_norm": good(nn.group_norm, X4, 2, np.ones(4), np.ones(4)),
    "nn.instance_norm": good(nn.instance_norm, X4, np.ones(4), np.ones(4)),
    "nn.layer_norm": good(nn.layer_norm, X2, np.ones(4), np.ones(4)),
    "nn.log_softmax": good(nn.log_softmax, X2),
    "nn.logsumexp": good(nn.logsumexp, X2),
    "nn.rms_norm": good(nn.rms_norm, X2, np.ones(4)),
    "nn.softmax": good(nn.softmax, X2),
    "nn.adaptive_max_pool": good(nn.adaptive_max_pool, X4, 2),
    "nn.adaptive_mean_pool": good(nn.adaptive_mean_pool, X4, 2),
    "nn.global_max_pool": good(nn.global_max_pool, X4),
    "nn.global_mean_pool": good(nn.global_mean_pool, X4),
    "nn.lp_pool": good(nn.lp_pool, X4, 2.0, 2),
    "nn.max_pool": good(nn.max_pool, X4, 2),
    "nn.mean_pool": good(nn.mean_pool, X4, 2),
    "nn.flatten": good(nn.flatten, X4),
    "nn.fold": good(nn.fold, np.ones((2, 36, 16)), (6, 6), 3),
    "nn.pad": good(nn.pad, X4, 1),
    "nn.pixel_shuffle": good(nn.pixel_shuffle, X4, 2),
    "nn.pixel_unshuffle": good(nn.pixel_unshuffle, X4, 2),
    "nn.unfold": good(nn.unfold, X4, 3),
    "nn.upsample": good(nn.upsample, X4, 2),
    "nn.grid_sample": good(nn.grid_sample, X4, np.zeros((2, 3, 3, 2))),
    "nn.Conv": good(nn.Conv, 3, 4),
    "nn.ConvTranspose": good(nn.ConvTranspose, 3, 4),
    "nn.LPPool": good(nn.LPPool, 2.0, 2),
    "nn.MaxPool": good(nn.MaxPool, 2),
    "nn.MeanPool": good(nn.MeanPool, 2),
    "nn.Upsample": good(nn.Upsample, 2),
    "nn.Bilinear": good(nn.Bilinear, 3),
    "nn.Branch": good(nn.Branch, np.tanh, nn.Dense(2), combine=np.add),
    "nn.Chain": good(nn.Chain, np.tanh, nn.Dense(2)),
    "nn.Dense": good(nn.Dense, 3),
    "nn.Dropout": good(nn.Dropout, 0.5),
    "nn.Embedding": good(nn.Embedding, 3, 2),
    "nn.Maxout": good(nn.Maxout, nn.Dense(2), nn.Dense(2)),
    "nn.Parallel": good(nn.Parallel, np.tanh, np.tanh, combine=np.add),
    "nn.Repeat": good(nn.Repeat, nn.Dense(2), 2, loops="times"),
    "nn.Reshape": good(nn.Reshape, (2, 3)),
    "nn.Scale": good(nn.Scale),
    "nn.SkipConnection": good(nn.SkipConnection, np.tanh),
    "nn.compact": good(nn.compact, lambda x: x),
    "nn.BatchNorm": good(nn.BatchNorm),
    "nn.GroupNorm": good(nn.GroupNorm, 2),
    "nn.InstanceNorm": good(nn.InstanceNorm),
    "nn.LayerNorm": good(nn.LayerNorm),
    "nn.RMSNorm": good(nn.RMSNorm),
    "nn.GRU": good(nn.GRU, 3),
    "nn.LSTM": good(nn.LSTM, 3),
    "nn.RNN": good(nn.RNN, 3),
    "nn.MultiHeadAttention": good(nn.MultiHeadAttention, 2),
    "nn.PositionalEmbedding": good(nn.PositionalEmbedding, 3),
    "nn.TransformerBlock": good(nn.TransformerBlock, 2),
    "nn.Dense.init": good(lambda *a: nn.Dense(3).init(*a), 0, X2),
    "nn.Chain.init": good(lambda *a: CHAIN.init(*a), 0, X2),
    "nn.Chain.apply": good(lambda *a: CHAIN.apply(*a), PARAMS, STATE, X2),
    "nn.Conv.init": good(lambda *a: nn.Conv(3, 4).init(*a), 0, X4),
    "nn.GRU.init": good(lambda *a: nn.GRU(3).init(*a), 0, X3),
    "nn.fit": good(nn.fit, CHAIN, PARAMS, STATE, (X2, LABELS), epochs=1, batch_size=2, progress=False, loops="epochs"),
    "nn.load": good(nn.load, fresh(_saved)),
    "nn.save": good(nn.save, fresh(_to_save), TREE),
    "nn.flops": good(nn.flops, CHAIN, PARAMS, STATE, X2),
    "nn.summary": good(nn.summary, CHAIN, X2),
    "nn.accumulate": good(nn.accumulate, lambda p, x: p),
    "nn.count": good(nn.count, TREE),
    "nn.flat": good(nn.flat, TREE),
    "nn.initialiser": good(nn.initialiser, "glorot_uniform"),
    "nn.mapped": good(nn.mapped, np.add, TREE, TREE),
    "nn.paths": good(nn.paths, TREE),
    "nn.trainable": good(nn.trainable, TREE, "a*"),
    "nn.random.key": good(nn_random.key, 0),
    "nn.random.split": good(nn_random.split, KEY, 2, loops="n"),
    "nn.random.uniform": good(nn_random.uniform, KEY, (2, 3)),
    "nn.random.normal": good(nn_random.normal, KEY, (2, 3)),
    "nn.random.bernoulli": good(nn_random.bernoulli, KEY, 0.5, (2, 3)),
    # ----------------------------------------------------------------------------------------------------- optimize
    "optimize.adagrad": good(optimize.adagrad, 0.1),
    "optimize.adam": good(optimize.adam, 0.1),
    "optimize.adamw": good(optimize.adamw, 0.1),
    "optimize.lbfgs": good(optimize.lbfgs, 0.1),
    "optimize.lion": good(optimize.lion, 0.1),
    "optimize.rmsprop": good(optimize.rmsprop, 0.1),
    "optimize.sgd": good(optimize.sgd, 0.1),
    "optimize.add_decay": good(optimize.add_decay, 0.1),
    "optimize.apply": good(optimize.apply, TREE, TREE),
    "optimize.averaged": good(optimize.averaged, optimize.sgd(0.1)),
    "optimize.chain": good(optimize.chain, optimize.sgd(0.1), optimize.sgd(0.1)),
    "optimize.clip_by_norm": good(optimize.clip_by_norm, 1.0),
    "optimize.clip_by_value": good(optimize.clip_by_value, 1.0),
    "optimize.every": good(optimize.every, 2, optimize.sgd(0.1)),
    "optimize.least_squares": good(optimize.least_squares, lambda x: x - 1.0, X1),
    "optimize.minimize": good(optimize.minimize, _loss, X1),
    "optimize.root": good(optimize.root, lambda x: x - 1.0, X1),
    "optimize.step": good(optimize.step, _loss, optimize.sgd(0.1)),
    "optimize.adam().init": good(lambda params: optimize.adam(0.1).init(params), TREE),
    "optimize.adam().update": good(
        lambda *a: optimize.adam(0.1).update(*a), TREE, fresh(lambda: optimize.adam(0.1).init(TREE)), TREE
    ),
    **{
        f"schedules.{name}": good(getattr(schedules, name), *arguments)
        for name, arguments in {
            "constant": (0.1,),
            "linear": (0.1, 0.2, 3),
            "exponential": (0.1, 0.5),
            "cosine": (0.1, 3),
            "warm_up": (0.1, 3),
            "piecewise": (0.1, {2: 0.5}),
            "one_cycle": (0.1, 10),
        }.items()
    },
    # ---------------------------------------------------------------------------------------------------------- ode
    "ode.solve_ivp": good(ode.solve_ivp, lambda t, y: -y, (0.0, 1.0), np.ones(2), t_eval=np.array([0.5, 1.0])),
    # -------------------------------------------------------------------------------------------------------- graph
    "graph.input": good(graph.input, "x"),
    "graph.vertex": good(graph.vertex, np.tanh, "h"),
    "graph.vertex(f)": good(lambda x: graph.vertex(np.tanh, "h")(x), fresh(lambda: graph.input("x"))),
    "graph.concat": good(graph.concat, fresh(lambda: graph.input("x")), fresh(lambda: graph.input("y"))),
    "graph.Graph": good(lambda inputs, outputs: graph.Graph(inputs, outputs), [_WIRE], _WIRE),
    "graph.empty": good(graph.empty, "x"),
    "graph.of": good(graph.of, lambda x: np.tanh(x) * x, X1),
    "graph.from_chain": good(graph.from_chain, CHAIN),
    "graph.inherit": good(graph.inherit, fresh(_graph), 0, (X2,), {}, {}),
    "graph.ValueAndGrad": good(graph.ValueAndGrad, fresh(_graph), _loss),
    "graph.rule": good(graph.rule, np.tanh, fresh(lambda: [wg.spec((2, 3))])),
    "graph.Constant": good(graph.Constant, X1),
    "graph.Call": good(graph.Call, np.tanh, (X1,)),
    **{
        f"Graph.{name}": good(_method_of_graph(name), *arguments)
        for name, arguments in {
            "init": (0, X2),
            "insert": ("g", np.tanh, "h"),
            "remove": ("h",),
            "replace": ("h", np.sin),
            "rewire": ("out", "x"),
            "rename": ({"h": "g"},),
        }.items()
        if hasattr(graph.Graph, name)
    },
    "search.Choice": good(search.Choice, 1, 2),
    "search.Each": good(search.Each, "n", 1),
    "search.Float": good(search.Float, 0.1, 1.0),
    "search.Integer": good(search.Integer, 1, 4),
    "search.Space": good(search.Space, {"a": search.Integer(1, 3)}),
    "search.When": good(search.When, "a", 1, search.Integer(1, 2)),
    "search.objective": good(search.objective, search.Space({"a": search.Integer(1, 3)}), lambda c: 1.0),
}


# ----------------------------------------------------------------------------------------------------------- calls


class Odd(NamedTuple):
    """A call with one odd value: of the argument ``where``, a name or a number in the order of the call."""

    name: str
    where: str | int
    value: str

    def __str__(self) -> str:
        return f"{self.name}: {self.where} = {self.value}"


def places(call: Call) -> list[str | int]:
    """The arguments of a call that can be odd: those that it has, and those that it leaves at their defaults."""
    args, kwargs = call.arguments()
    try:
        parameters = list(inspect.signature(call.function).parameters.values())
    except ValueError:  # of compiled code
        return list(range(len(args)))
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    by_place = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)][: len(args)]
    return [*range(len(args)), *sorted((named | kwargs.keys()) - set(by_place))]


def odd_calls() -> Iterator[Odd]:
    for name, call in CALLS.items():
        for where in places(call):
            for value in ODD:
                yield Odd(name, where, value)


class TooLong(BaseException):
    """A call has not come back in its time."""


def _too_long(*_: Any) -> None:
    raise TooLong


FOREIGN = (AttributeError, LookupError, RecursionError, ArithmeticError, UnboundLocalError, AssertionError, SystemError)


def outcome(odd: Odd, seconds: float = 20.0) -> tuple[str, BaseException | None]:
    """How a call went, in a word, and what it raised."""
    call = CALLS[odd.name]
    args, kwargs = call.arguments()
    value = ODD[odd.value]()
    if isinstance(odd.where, int):
        args = (*args[: odd.where], value, *args[odd.where + 1 :])
    else:
        kwargs[odd.where] = value
    old = signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        call.function(*args, **kwargs)
    except TooLong as error:
        return ("right" if _is_loop(call, odd) else "hangs"), error
    except Exception as error:  # any: what kind it is of is what is judged
        return _judged(odd, call, error), error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    return "right", None


def _name_of(call: Call, where: str | int) -> str:
    """The name of the parameter."""
    if isinstance(where, str):
        return where
    try:
        names = list(inspect.signature(call.function).parameters)
    except ValueError:
        return ""
    return names[min(where, len(names) - 1)]


def _is_loop(call: Call, odd: Odd) -> bool:
    return _name_of(call, odd.where) in call.loops


def _judged(odd: Odd, call: Call, error: Exception) -> str:
    if isinstance(error, InternalError):
        return "foreign"
    if isinstance(error, WengertError | Mine | MemoryError | OSError):  # ours, the user's, the machine's
        return "ours"
    if re.search("array is too big|is too large|Maximum allowed (dimension|size) exceeded|up to 32 dim", str(error)):
        return "ours"  # NumPy's MemoryError of what no memory could hold
    files = []
    at = error.__traceback__
    while at is not None:
        files.append(at.tb_frame.f_code.co_filename)
        at = at.tb_next
    within = max((k for k, file in enumerate(files) if "/wengert/" in file), default=len(files))
    if __file__ in files[within:]:
        return "ours"  # raised by a function of the user's, which one of ours has called
    text = str(error)
    if isinstance(error, TypeError | ValueError) and (
        _OF_THE_USERS.search(text) or odd.value in ("np.ndarray", "float")
    ):
        return "ours"  # Python's, of how the user's function, or class, is called
    if "IndexError" in (call.function.__doc__ or "") and isinstance(error, IndexError):
        return "ours"  # as its docstring says
    short = odd.name.rpartition(".")[2].partition("(")[0].partition(" ")[0]
    if isinstance(error, FOREIGN):
        return "foreign"
    name = _name_of(call, odd.where)
    first = text.split("\n")[0]
    return "ours" if re.search(rf"\b({re.escape(short)}|{re.escape(name)})\b", first) else "bare"


_OF_THE_USERS = re.compile(r"(<lambda>|raising|_vector|_pair|_loss)\(\) (takes|missing|got)|len\(\)|Plain\(\) takes")


def main(pattern: str = "", part: str = "1", seed: str = "0") -> None:
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    counts: Counter[str] = Counter()
    by_name: Counter[str] = Counter()
    every = [odd for odd in odd_calls() if re.search(pattern, odd.name)]
    for odd in random.Random(int(seed)).sample(every, len(every) // int(part)):
        how, error = outcome(odd)
        counts[how] += 1
        if how not in ("right", "ours"):
            by_name[odd.name] += 1
            text = str(error).partition("\n")[0][:110] if error is not None else ""
            print(f"{how:8} {odd}: {type(error).__name__} {text}", flush=True)
    print(dict(counts), sum(counts.values()), "of", len(CALLS), "calls")
    print(by_name.most_common(200))


if __name__ == "__main__":
    main(*sys.argv[1:])

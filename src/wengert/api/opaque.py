"""A call of a function of any Python values as one step of the tape, which is run with plain values.

Its rules are autograd's, functions of plain values too: so they may call what is not NumPy, and look at numbers. Each
is therefore a step of its own, and has a derivative in turn, taken of the rule at the values that it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.api.derivatives import vjp
from wengert.errors import MissingRuleError
from wengert.higher.primitive import Primitive
from wengert.tracing.looking import is_of_captures
from wengert.tracing.stack import suspended
from wengert.tracing.tracer import Tracer
from wengert.tree.containers import flatten_containers

F = Callable[..., Any]
Arrays = Sequence[Any]

primitive_vjps: dict[F, F] = {}
"""``vjpmaker(argnums, ans, args, kwargs)`` of each primitive, which gives ``vjp(g)``."""

primitive_jvps: dict[F, F] = {}
"""``jvpmaker(argnums, gs, ans, args, kwargs)`` of each primitive, which gives the tangent."""

MOST_CALLS = 1000
_calls: dict[Any, OpaqueCall] = {}


def is_active(x: Tracer) -> bool:
    """Whether a derivative of ``x`` may be taken: it is a float, and made of more than constants."""
    if x.aval.dtype.kind not in "fc" or x._is_constant():
        return False
    return not (x._trace.lifted.captures and is_of_captures(x._trace, x.atom()))


def getval(x: object) -> Any:
    """Return the number or array behind a traced value; of anything else, itself."""
    return x.as_python(x.look("_value")) if type(x) is Tracer else x


def called(f: F, f_raw: F, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ``f_raw`` while a trace is open: as one step, if a derivative may be taken of one of its arguments."""
    leaves, treedef = flatten_containers((args, kwargs))
    active = tuple([k for k, x in enumerate(leaves) if type(x) is Tracer and is_active(x)])
    if not active:
        args, kwargs = treedef.unflatten(map(getval, leaves))
        with suspended():
            return f_raw(*args, **kwargs)
    operands = tuple([k for k, x in enumerate(leaves) if k in active or _is_number(x)])
    settings = [None if k in operands else getval(x) for k, x in enumerate(leaves)]
    types = tuple([_type(leaves[k]) for k in operands])
    key = (f, f in primitive_jvps, treedef, operands, active, types, tuple(map(_key, settings)))
    call = _calls.get(key)
    if call is None:
        if len(_calls) >= MOST_CALLS:
            _calls.clear()
        call = _calls[key] = OpaqueCall(f, f_raw, treedef, operands, active, settings)
    # Numbers as arrays: as numbers of Python's they would be part of the tape, and each call have another.
    given = [leaves[k] for k in operands]
    outs = call.step(*[np.asarray(x) if type(x) in (float, complex) else x for x in given])
    return call.results.unflatten(outs)


def _type(x: Any) -> tuple[tuple[int, ...], Any]:
    of = x.aval if type(x) is Tracer else x
    return (of.shape, of.dtype) if hasattr(of, "dtype") else ((), type(x))


def _is_number(x: object) -> bool:
    if type(x) is Tracer or isinstance(x, np.ndarray | np.generic):
        return x.dtype.kind in "fc"
    return type(x) in (float, complex)


def _key(x: object) -> Any:
    return (type(x), x) if type(x) in (str, bytes, int, bool) else id(x)  # which the call keeps alive


class OpaqueCall:
    """All calls of one primitive whose arguments differ in nothing but numbers."""

    def __init__(
        self, f: F, f_raw: F, treedef: Any, operands: tuple[int, ...], active: tuple[int, ...], settings: Sequence[Any]
    ) -> None:
        self.f, self.f_raw, self.treedef, self.operands, self.settings = f, f_raw, treedef, operands, settings
        self.name = getattr(f_raw, "__name__", "primitive")
        self.results: Any = None
        """The structure of what it returns, known once it has run."""
        args = treedef.unflatten(range(len(settings)))[0]
        self.where = [(n, k) for n, arg in enumerate(args) for k in flatten_containers(arg)[0] if k in active]
        """The arguments, and the leaves in them, of which a derivative may be taken; none are given by keyword."""
        self.argnums = tuple(sorted({n for n, _ in self.where}))
        self.at = [operands.index(k) for _, k in self.where]
        self.step = _step(self.run, self.name, f_raw)
        self._vjp: F | None = None
        self.step.def_pullback(self.pull)
        if f in primitive_jvps:
            self.step.def_pushforward(self.push)

    def arguments(self, values: Arrays) -> Any:
        leaves = list(self.settings)
        for k, x in zip(self.operands, values, strict=True):
            leaves[k] = x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x
        return self.treedef.unflatten(leaves)

    def run(self, *values: Any) -> tuple[Any, ...]:
        args, kwargs = self.arguments(values)
        outs, self.results = flatten_containers(self.f_raw(*args, **kwargs))
        return tuple(outs)

    def pull(self, ct: Any, y: object, *xs: Any) -> list[Any]:
        ys = _several(y)
        cts = [np.zeros(one.shape) if ct is None else ct for ct, one in zip(_several(ct), ys, strict=True)]
        given = self.vjp(*cts, *ys, *xs)
        cotangents: list[Any] = [None] * len(xs)
        for j, g in zip(self.at, given, strict=True):
            cotangents[j] = g
        return cotangents

    @property
    def vjp(self) -> F:
        """The step that pulls back all operands together, made when it is first needed: by two threads, maybe twice."""
        if self._vjp is None:
            self._vjp = self._made_vjp()
        return self._vjp

    def _made_vjp(self) -> F:
        if self.f not in primitive_vjps:
            raise MissingRuleError(f"VJP of {self.name} wrt argnums {self.argnums} not defined")
        n = self.results.num_leaves

        def rule(*values: Any) -> tuple[Any, ...]:
            args, kwargs = self.arguments(values[2 * n :])
            g, ans = self.results.unflatten(values[:n]), self.results.unflatten(values[n : 2 * n])
            gs = dict(zip(self.argnums, primitive_vjps[self.f](self.argnums, ans, args, kwargs)(g), strict=True))
            found = dict[int, Any]()
            for k, arg in enumerate(self.treedef.unflatten(range(len(self.settings)))[0]):
                if k in gs:
                    found.update(zip(flatten_containers(arg)[0], flatten_containers(_dense(gs[k]))[0], strict=True))
            return tuple([_like(values[2 * n + j], found[k]) for (_, k), j in zip(self.where, self.at, strict=True)])

        return differentiable(
            rule, f"vjp of {self.name}", self.f_raw, lambda *v: tuple([v[2 * n + j] for j in self.at])
        )

    def push(self, dxs: Sequence[Any], y: object, *xs: Any) -> Any:
        ys = _several(y)
        moved = [(n, j) for (n, _), j in zip(self.where, self.at, strict=True) if dxs[j] is not None]
        argnums, first, end = tuple(sorted({n for n, _ in moved})), len(moved), len(moved) + len(ys)
        floats = [k for k, one in enumerate(ys) if one.dtype.kind in "fc"]

        def rule(*values: Any) -> tuple[Any, ...]:
            args, kwargs = self.arguments(values[end:])
            moves: list[Any] = [0.0] * len(self.settings)
            for (_, j), dx in zip(moved, values[:first], strict=True):
                moves[self.operands[j]] = dx
            gs = [self.treedef.unflatten(moves)[0][n] for n in argnums]
            ans = self.results.unflatten(values[first:end])
            given = flatten_containers(primitive_jvps[self.f](argnums, gs, ans, args, kwargs))[0]
            return tuple([_like(values[first + k], given[k]) for k in floats])

        step = differentiable(rule, f"jvp of {self.name}", self.f_raw, lambda *v: [v[first + k] for k in floats])
        given = dict(zip(floats, step(*[dxs[j] for _, j in moved], *ys, *xs), strict=True))
        dys = tuple([given.get(k) for k in range(len(ys))])
        return dys if len(ys) > 1 else dys[0]


def _several(x: object) -> tuple[Any, ...]:
    return x if type(x) is tuple else (x,)


def _dense(g: Any) -> Any:
    """A cotangent as autograd's rules give it: an array, or an object that adds itself to one."""
    return g.mut_add(g.vs.zeros()) if hasattr(g, "mut_add") else g


def _like(x: Any, g: Any) -> Any:
    """Return what a rule gave for ``x``, with the shape of that."""
    if g is None:
        return np.zeros(np.shape(x), np.result_type(x))
    if np.iscomplexobj(g) and not np.iscomplexobj(x):
        g = np.real(g)
    return g if np.shape(g) == np.shape(x) else np.broadcast_to(g, np.shape(x))


def _step(f: F, name: str, of: F, type: F | None = None) -> Primitive[..., Any]:
    """``f`` as one op. It is the user's, who wrote ``of``: it may read what changes, so it runs at every call."""

    def step(*values: object) -> tuple[Any, ...]:
        return f(*values)

    step.__name__, step.__module__ = name, getattr(of, "__module__", None) or "__main__"
    return Primitive(step, type, has_fixed_rules=True)


def differentiable(f: F, name: str, of: F, like: F) -> Primitive[..., Any]:
    """Return ``f``, from arrays to a tuple of arrays, as a step that runs with plain values, and whose derivative is
    taken at these. ``like(*values)`` are arrays of the types of its results."""

    def empty(*values: object) -> tuple[Any, ...]:
        return tuple([np.empty(x.shape, x.dtype) for x in like(*values)])

    step = _step(f, name, of, empty)

    @step.def_pullback
    def pull(ct: Any, y: object, *xs: Any) -> list[Any]:
        cts = _several(ct)
        n = len(cts)
        floats = [j for j, x in enumerate(xs) if x.dtype.kind in "fc"]

        def rule(*values: object) -> tuple[Any, ...]:
            xs = values[n:]

            def of_floats(*moving: object) -> tuple[Any, ...]:
                every = dict(enumerate(xs)) | dict(zip(floats, moving, strict=True))
                return f(*every.values())

            return vjp(of_floats, *[xs[j] for j in floats])[1](tuple(values[:n]))

        pulled = differentiable(rule, f"vjp of {name}", of, lambda *v: tuple([v[n + j] for j in floats]))(*cts, *xs)
        cotangents: list[Any] = [None] * len(xs)
        for j, g in zip(floats, pulled, strict=True):
            cotangents[j] = g
        return cotangents

    return step

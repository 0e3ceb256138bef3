"""``wg.primitive``: any Python code as one op, with the user's own rules.

The code runs as a callback inside the program, at every call. So it may read what it likes, and is not watched. Its
rules are NumPy functions; they are traced where they are needed, so they may be differentiated again and batched, and
they read values from the tape, never from the run that was traced. A rule that is missing raises only when it is
needed.

One rule is enough for both modes. If no pushforward is given, it is the transpose of the pullback, which is linear in
the cotangent: the tape of the pullback is recorded, and reverse mode is applied to that. If no rule for batches is
given, a batch is a loop over the examples: the parameter ``maps`` of the op has (size, which operands are batched) for
each ``vmap`` around it, the outermost first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, update_wrapper
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from wengert import tree
from wengert.ad.reverse import vjp
from wengert.attributes import held
from wengert.errors import (
    ConcretizationError,
    DTypeError,
    MissingRuleError,
    ShapeError,
    StructureError,
    UnsupportedFunctionError,
    WengertError,
    message,
)
from wengert.expect import checked
from wengert.ops.elementwise import convert
from wengert.ops.index import element, join
from wengert.ops.kernels import Callback, flops
from wengert.ops.op import Op
from wengert.ops.shape import zeros
from wengert.tape import Atom, Aval, Var, current_builder, splice
from wengert.tracebacks import fold
from wengert.tracing.emit import record, trace_of
from wengert.tracing.interception.intercept import opened
from wengert.tracing.lifting import check_dtype, lift
from wengert.tracing.looking import evaluate
from wengert.tracing.record import Input, in_our_words, record_call
from wengert.tracing.stack import current_trace, recorder_of_none, suspended
from wengert.tracing.trace import Trace
from wengert.tracing.tracer import Tracer


class NotImplementedCotangent:
    """A cotangent that has not been worked out, with the reason; made by :func:`not_implemented`."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


@checked
def not_implemented(reason: str) -> NotImplementedCotangent:
    """Return a placeholder for a cotangent that has not been worked out: MissingRuleError is raised if it is needed.

    Parameters
    ----------
    reason : what the error says.

    Examples
    --------
    >>> import wengert as wg
    >>> @wg.primitive
    ... def scaled(x, table):
    ...     return x * table
    >>> @scaled.def_pullback
    ... def _(ct, y, x, table):
    ...     return ct * table, wg.not_implemented("the table is measured")
    >>> wg.grad(scaled)(2.0, 3.0)
    np.float64(3.0)
    >>> wg.grad(scaled, 1)(2.0, 3.0)
    Traceback (most recent call last):
    wengert.errors.MissingRuleError: ...
    """
    return NotImplementedCotangent(reason)


NUMBERS = ""  # the setting that says which operands are Python's numbers; no keyword has this name


class Setting:
    """A keyword argument as part of an instruction: 1, 1.0 and True are different settings, and so are 0.0 and -0.0."""

    __slots__ = ("key", "name", "value")

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value
        self.key = (name, tree.exact_key(value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Setting) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"{self.name}={self.value!r}"


def keywords(settings: Sequence[Setting]) -> dict[str, Any]:
    return {s.name: s.value for s in settings if s.name != NUMBERS}


P = ParamSpec("P")
R = TypeVar("R")


class Primitives(Protocol):
    """The decorator that :func:`primitive` returns where it is given options alone."""

    def __call__(self, f: Callable[P, R], /) -> Primitive[P, R]: ...


class Primitive(Generic[P, R]):
    """A Python function that is one op on the tape; made by :func:`primitive`.

    It takes arrays and numbers by position and returns an array or number, or a tuple of them. Keyword arguments are
    hashable settings, handed to the function and its rules.
    """

    def __init__(
        self, f: Callable[P, R], type_rule: Callable[..., Any] | None = None, *, has_fixed_rules: bool = False
    ) -> None:
        """``has_fixed_rules``: see :class:`~wengert.ops.op.Op`."""
        update_wrapper(self, f)
        self.__name__: str = getattr(f, "__name__", "primitive")
        self._f: Callable[..., Any] = f
        self._type_rule = type_rule
        self._types: dict[Any, tuple[tuple[Aval, ...], bool]] = {}
        self._pullback: Callable[..., Any] | None = None
        self._pullbacks: dict[int, Callable[..., Any]] = {}
        self._pushforward: Callable[..., Any] | None = None
        self._batch: Callable[..., Any] | None = None
        self._op = Op(
            name=self.__name__,
            reference=self._run,
            type=lambda *avals, out, settings, maps: out,
            kernel=Callback("a primitive of the user's"),
            cost=flops(1),
            pushforward=self._push,
            pullback=(self._pull,),
            batch=self._batched,
            is_variadic=True,
            is_stable=False,
            has_fixed_rules=has_fixed_rules,
            may_vary=not str(getattr(f, "__module__", "")).startswith("wengert."),  # ours depend on operands alone
        )

    def __wengert_parts__(self) -> dict[str, Any]:
        """The rules that this primitive holds, for the search through a compiled function's environment. The function
        is none of them if it runs at every call: it may then read what it likes, and never be followed."""
        parts = {
            "function": None if self._op.may_vary else self._f,
            "pullback": self._pullback,
            "pushforward": self._pushforward,
            "batch": self._batch,
        }
        parts.update({f"pullback of argument {k}": rule for k, rule in self._pullbacks.items()})
        return parts

    # ------------------------------------------------------------------------------------------------- rules

    def def_pullback(self, rule: Callable[..., Any] | None = None, *, argnum: int | None = None) -> Any:
        """Decorator: ``rule(ct, y, *args) -> one cotangent an argument`` (None where it is zero).

        With ``argnum`` the rule returns the cotangent of that argument alone, and runs only if that is needed.
        """
        if rule is None:
            return partial(self.def_pullback, argnum=argnum)
        if argnum is None:
            self._pullback = rule
        else:
            self._pullbacks[argnum] = rule
        return rule

    def def_pushforward(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: ``rule(tangents, y, *args) -> tangent of y``; a tangent that is zero is None."""
        self._pushforward = rule
        return rule

    def def_batch(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: ``rule(batched, *args) -> y``, with the batch as the leading axis of the arguments that
        ``batched`` marks, and of y. Without one, the examples run one after the other."""
        self._batch = rule
        return rule

    # ------------------------------------------------------------------------------------------------- calling

    def __call__(self, *args: P.args, **settings: P.kwargs) -> R:
        if not any(type(x) is Tracer for x in args):
            trace = current_trace()
            if trace is not None and any(type(x) is Tracer for x in tree.flatten((args, settings))[0]):
                raise self._misused(trace, "a traced value is given by keyword, or inside of a container")
            if trace is None or not self._op.may_vary:
                with suspended():
                    try:
                        return self._f(*args, **settings)
                    except Exception as error:  # any: it goes on, with a shorter traceback
                        fold(error)
                        raise
        trace, all_constant = trace_of(args)
        trace = trace or recorder_of_none()
        for k, x in enumerate(args):
            if not isinstance(x, Tracer | np.ndarray | np.generic | bool | int | float | complex):
                raise self._misused(trace, f"argument {k} is a {type(x).__name__}")
        for name, value in settings.items():
            try:
                hash(value)
            except TypeError:
                what = "array" if type(value) is Tracer else type(value).__name__
                raise self._misused(trace, f"the setting {name} is of a kind without a hash, {what}") from None
        frozen = tuple(Setting(name, value) for name, value in sorted(settings.items()))
        weak = tuple([x.weak if type(x) is Tracer else type(x) if type(x) in (int, float) else None for x in args])
        frozen += (Setting(NUMBERS, weak),) if any(weak) else ()
        out, is_tuple = self._infer(trace, args, frozen, all_constant)
        params = {"out": out, "settings": frozen, "maps": ()}
        if all_constant and self._op.may_vary:  # `record` would compute it now, for all calls
            trace = recorder_of_none()
            atoms = trace.builder.emit(self._op, tuple([lift(trace, x) for x in args]), params)
            results = tuple([Tracer(trace, a, a.aval, a.aval.shape == ()) for a in atoms])
            result = results if len(out) > 1 else results[0]
        else:
            result = record(self._op, args, params)
        answer: Any = (result,) if is_tuple and len(out) == 1 else result
        return answer

    def _misused(self, trace: Trace, what: str) -> UnsupportedFunctionError:
        tries = ["arrays and numbers by position, hashable settings by keyword"]
        return UnsupportedFunctionError(message(f"{self.__name__}: {what}", trace.locate(), tries=tries))

    def _untyped(self, trace: Trace, avals: Sequence[Aval]) -> ConcretizationError:
        what = f"{self.__name__}({', '.join(map(str, avals))}) has no values here, so its results are not known"
        names = ", ".join(list(inspect.signature(self._f).parameters)[: len(avals)])
        tries = [f"@wg.primitive(type=lambda {names}: np.empty(shape, dtype)) for {self.__name__}: what it returns"]
        error = ConcretizationError(message(what, trace.locate(), tries=tries))
        error.add_note("The lambda is given empty arrays of the arguments' shapes, instead of values.")
        return error

    def _infer(
        self, trace: Trace, args: Sequence[Any], settings: tuple[Any, ...], all_constant: bool
    ) -> tuple[tuple[Aval, ...], bool]:
        """The types of the results: from the type rule, from an earlier call, or by running the code once."""
        avals = tuple([x.aval if type(x) is Tracer else Aval(np.shape(x), np.asarray(x).dtype) for x in args])
        known = self._types.get((avals, settings))
        if known is None:
            if self._type_rule is not None:
                with suspended():
                    result = self._type_rule(*[np.empty(a.shape, a.dtype) for a in avals], **keywords(settings))
            else:
                value_of = (
                    Tracer.constant if all_constant else lambda x: evaluate(trace, lift(trace, x), is_example=True)
                )
                try:
                    values = [value_of(x) if type(x) is Tracer else x for x in args]
                except ConcretizationError as error:
                    raise self._untyped(trace, avals) from error
                result = self._call(values, settings)
            results = result if isinstance(result, tuple) else (result,)
            for r in results:
                check_dtype(r if isinstance(r, np.ndarray) else np.asarray(r))
            out = tuple([Aval(np.shape(r), np.asarray(r).dtype) for r in results])
            known = self._types[avals, settings] = (out, isinstance(result, tuple))
        return known

    def _call(self, values: Sequence[Any], settings: Any) -> Any:
        """Call the user's code with the arguments it would get untraced: Python numbers, and arrays, here read-only."""
        weak = next((s.value for s in settings if s.name == NUMBERS), (None,) * len(values))
        given = []
        for x, number in zip(values, weak, strict=True):
            if isinstance(x, np.ndarray) and x.ndim:
                x = x.view()
                x.flags.writeable = False
            given.append(x if number is None else number(x))
        with suspended():  # the code is opaque: the arrays that it makes are NumPy's, also while a trace is open
            return self._f(*given, **keywords(settings))

    def _run(self, *xs: Any, out: tuple[Aval, ...], settings: Any, maps: tuple[Any, ...]) -> Any:
        if maps:
            (size, flags), rest = maps[0], maps[1:]
            inner = tuple(Aval(a.shape[1:], a.dtype) for a in out)
            rows = []
            for i in range(size):
                row = self._run(
                    *[x[i] if b else x for x, b in zip(xs, flags, strict=True)], out=inner, settings=settings, maps=rest
                )
                rows.append(row if len(out) > 1 else (row,))
            stacked = tuple(
                np.stack([row[k] for row in rows]) if rows else np.zeros(a.shape, a.dtype) for k, a in enumerate(out)
            )
            return stacked if len(out) > 1 else stacked[0]
        result = self._call(xs, settings)
        results = result if isinstance(result, tuple) else (result,)
        arrays = tuple(np.array(r) for r in results)
        got = tuple(Aval(a.shape, a.dtype) for a in arrays)
        if got != out:
            raise ShapeError(
                message(
                    f"{self.__name__} returned {', '.join(map(str, got))}; for arguments of these types it returned "
                    f"{', '.join(map(str, out))} before",
                    tries=["results whose shape depends on the arguments' shapes alone"],
                )
            )
        return arrays if len(arrays) > 1 else arrays[0]

    # --------------------------------------------------------------------------------- rules, as the engine asks

    def _pull(self, ct: Any, *xs_y: Any, operand: int, out: Any, settings: Any, maps: Any) -> Any:
        xs, y = xs_y[:-1], xs_y[-1]
        if maps:
            return self._pull_mapped(ct, xs, y, operand, out, settings, maps)
        given = traced_rule(self.__name__, self._pullback_of(operand, settings), ct, y, *xs)
        if given is not None:
            self._check_cotangent(operand, given.aval, xs[operand].aval)
        return given

    def _pullback_of(self, k: int, settings: Any) -> Callable[..., Any]:
        """The user's pullback for argument ``k`` alone: the rule of that argument, or its part of the common rule."""

        def pullback(ct: Any, y: Any, *xs: Any) -> Any:
            if k in self._pullbacks:
                given = self._pullbacks[k](ct, y, *xs, **keywords(settings))
            elif self._pullback is not None:
                given = self._one_of(self._pullback(ct, y, *xs, **keywords(settings)), k, len(xs))
            else:
                raise MissingRuleError(
                    message(
                        f"{self.__name__} has no pullback for argument {k}",
                        current_builder().source,
                        tries=[f"@{self.__name__}.def_pullback", "wg.stop_gradient around the argument"],
                    )
                )
            if isinstance(given, NotImplementedCotangent):
                raise MissingRuleError(given.reason)
            return given

        pullback.__name__ = _name_of(self._pullbacks.get(k, self._pullback))  # which errors say
        return pullback

    def _one_of(self, every: Any, k: int, n: int) -> Any:
        if not isinstance(every, tuple | list) or len(every) != n:
            raise StructureError(
                message(
                    f"the pullback of {self.__name__} returned {tree.describe(every)}; expected a tuple of {n} "
                    "cotangents, one for each argument",
                    tries=["None for an argument that has none"],
                )
            )
        return every[k]

    def _check_cotangent(self, k: int, given: Aval, x: Aval) -> None:
        """Raise unless the cotangent of argument ``k`` has the argument's shape, and is real if the argument is."""
        what = f"the pullback of {self.__name__} returned {given} for argument {k}, which is {x}"
        if given.dtype.kind == "c" and x.dtype.kind != "c":
            raise DTypeError(message(what, tries=["np.real of it"]))
        if given.shape != x.shape:
            raise ShapeError(message(what, tries=["np.sum over what was broadcast"]))

    def _checked(self, rule: str, what: str, given: Any, wanted: tuple[Aval, ...]) -> Any:
        """Return the values that a rule gave for the results, or raise if their number or a shape is wrong. A value of
        None is a tangent of zero."""
        several = len(wanted) > 1
        every: Any
        if type(given) is tuple and len(given) == 1 and not several:
            (given,) = given
        every = given if several else (given,)
        if type(every) is not tuple or len(every) != len(wanted) or any(type(g) is tuple for g in every):
            raise StructureError(
                message(
                    f"the {rule} of {self.__name__} returned {tree.describe(given)}; expected {what} for each of "
                    f"{len(wanted)} results",
                    current_builder().source,
                )
            )
        for k, (g, aval) in enumerate(zip(every, wanted, strict=True)):
            if g is None:
                continue
            where = f"the {rule} of {self.__name__} returned {g.aval}"
            where += f" for result {k}, which is {aval}" if several else f" for a result that is {aval}"
            if g.aval.dtype.kind == "c" and aval.dtype.kind != "c":
                raise DTypeError(message(where, current_builder().source, tries=["np.real of it"]))
            if g.aval.shape != aval.shape:
                raise ShapeError(
                    message(where, current_builder().source, tries=[f"np.broadcast_to(..., {aval.shape}) in the rule"])
                )
        return given

    def _pull_mapped(self, ct: Any, xs: Any, y: Any, operand: int, out: Any, settings: Any, maps: Any) -> Any:
        """Pull back each example by itself. The cotangents are stacked, or summed for one that all examples share."""
        (size, flags), rest = maps[0], maps[1:]
        inner = tuple(Aval(a.shape[1:], a.dtype) for a in out)
        several = len(out) > 1
        rows = []
        for i in range(size):
            at = [element(x, 0, i) if b else x for x, b in zip(xs, flags, strict=True)]
            ct_i = tuple(element(c, 0, i) for c in ct) if several else element(ct, 0, i)
            y_i = tuple(element(v, 0, i) for v in y) if several else element(y, 0, i)
            rows.append(self._pull(ct_i, *at, y_i, operand=operand, out=inner, settings=settings, maps=rest))
        kept = [r for r in rows if r is not None]
        if not kept:
            return None
        if flags[operand]:
            return join(rows, 0)
        total = kept[0]
        for r in kept[1:]:
            total = total + r
        return total

    def _push(self, xs: Any, dxs: Any, y: Any, *, out: Any, settings: Any, maps: Any) -> Any:
        if maps:
            raise MissingRuleError(f"forward mode through vmap of {self.__name__}: differentiate first, then map")
        if self._pushforward is not None:
            rule = partial(self._pushforward, **keywords(settings))
            dy = traced_rule(self.__name__, rule, tuple(dxs), y, *xs)
            return self._checked("pushforward", "a tangent", dy, out)
        if self._pullback is None and not self._pullbacks:
            raise MissingRuleError(
                message(
                    f"{self.__name__} has neither a pushforward nor a pullback",
                    current_builder().source,
                    tries=[f"@{self.__name__}.def_pushforward"],
                )
            )
        return self._push_by_transposition(xs, dxs, y, out, settings)

    def _push_by_transposition(self, xs: Any, dxs: Any, y: Any, out: Any, settings: Any) -> Any:
        """J ẋ from ct -> Jᵀ ct alone: that map is linear, so its own pullback is J."""
        ys = y if len(out) > 1 else (y,)
        wanted = [k for k, dx in enumerate(dxs) if dx is not None]

        def pulled(*values: Any) -> Any:
            cts, y_values, x_values = values[: len(ys)], values[len(ys) : 2 * len(ys)], values[2 * len(ys) :]
            ct, y_value = (cts, y_values) if len(out) > 1 else (cts[0], y_values[0])
            given = [self._pullback_of(k, settings)(ct, y_value, *x_values) for k in wanted]
            return tuple(np.zeros(dxs[k].aval.shape) if r is None else r for k, r in zip(wanted, given, strict=True))

        atoms = [*ys, *xs]
        inputs = [Input(a.aval) for a in (*ys, *atoms)]
        recording = record_call(
            pulled, inputs, name=f"pullback of {self.__name__}", concrete=False, why_abstract="a rule is being traced"
        )
        if recording.implicit:
            raise StructureError(message(f"a rule of {self.__name__} reads a value of an enclosing trace"))
        along: list[Any] = []
        for k, given in zip(wanted, recording.tape.out_avals, strict=True):
            self._check_cotangent(k, given, xs[k].aval)
            along.append(convert(dxs[k], dtype=given.dtype))
        joint = vjp(recording.tape, tuple(range(len(ys))), tuple(range(len(wanted))))
        builder = current_builder()
        captures = _take_captures(builder, joint.captures)
        cts = [zeros(a.aval) for a in ys]  # any values: the map is linear, and only its transpose is used
        outs = splice(builder, joint, [*cts, *atoms, *along], captures)
        dys = outs[len(wanted) :]
        return tuple(dys) if len(out) > 1 else dys[0]

    def _batched(self, xs: Any, batched: Any, size: int, *, out: Any, settings: Any, maps: Any) -> Any:
        wide = tuple(Aval((size, *a.shape), a.dtype) for a in out)
        if self._batch is not None and not maps:
            rule = partial(self._batch, tuple(batched), **keywords(settings))
            return self._checked("batch rule", "an array", traced_rule(self.__name__, rule, *xs), wide)
        return self._op(*xs, out=wide, settings=settings, maps=((size, tuple(batched)), *maps))


def _name_of(rule: Callable[..., Any] | None) -> str:
    while isinstance(rule, partial):
        rule = rule.func
    return held(rule, "__name__", type(rule).__name__)


@contextmanager
def explained(name: str, trace: Trace) -> Iterator[None]:
    """Context that adds to an error of what cannot be recorded that it stands in a rule, and how a rule calls foreign
    code. Rules get values of wengert's; the code of a primitive gets NumPy's."""
    try:
        yield
    except (ConcretizationError, UnsupportedFunctionError) as error:
        _say_how(name, error)
        raise
    except WengertError:
        raise
    except Exception as error:  # of whatever class foreign code raises that knows no value of ours
        ours = in_our_words(trace, error)
        if ours is None:
            raise
        if isinstance(ours, ConcretizationError | UnsupportedFunctionError):
            _say_how(name, ours)
        raise ours from error


def _say_how(name: str, error: WengertError) -> None:
    if not getattr(error, "__notes__", None):  # the innermost rule is the one to change
        error.add_note(
            f"This is in a rule of {name}. Unlike the primitive itself, a rule is recorded as NumPy code. What "
            "cannot be recorded, such as an adjoint solver, is a second primitive that the rule calls:\n"
            "    @wg.primitive(type=lambda A, ct: np.empty(ct.shape, ct.dtype))  # what it returns\n"
            "    def adjoint(A, ct): ..."
        )


def traced_rule(name: str, rule: Callable[..., Any], *values: Any) -> Any:
    """Run a rule written in NumPy on atoms of the current builder, and return what it gives as atoms.

    ``values`` are atoms, None, or tuples of these. The steps are recorded with the source of the step at hand.
    """
    builder = current_builder()
    trace = Trace(f"a rule of {name}", concrete=False, why_abstract="a rule is being traced")
    trace.builder = builder
    source = builder.source
    if source is not None and source.of:
        builder.source = source._replace(of=f"{source.of}, by its rule {_name_of(rule)}")

    def present(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(present(v) for v in value)
        if value is None:
            return None
        return Tracer(trace, value, value.aval, value.aval.shape == ())

    def atoms(value: Any) -> Any:
        if value is None or isinstance(value, NotImplementedCotangent):
            return value
        if isinstance(value, tuple | list):
            return tuple(atoms(v) for v in value)
        return lift(trace, value)

    with opened(trace), explained(name, trace):
        result = atoms(rule(*[present(v) for v in values]))
    builder.source = source
    if trace.lifted.implicit:
        raise StructureError(message(f"a rule of {name} reads a value of an enclosing trace"))
    builder.captures.extend(trace.lifted.captures.values())
    return result


def _take_captures(builder: Any, captures: Sequence[Any]) -> list[Atom]:
    taken: list[Atom] = []
    for c in captures:
        var = Var(c.var.aval)
        builder.captures.append(c._replace(var=var))
        taken.append(var)
    return taken


@overload
def primitive(f: Callable[P, R], *, type: Callable[..., Any] | None = None) -> Primitive[P, R]: ...
@overload
def primitive(f: None = None, *, type: Callable[..., Any] | None = None) -> Primitives: ...
@checked
def primitive(f: Callable[..., Any] | None = None, *, type: Callable[..., Any] | None = None) -> Any:
    """Make any Python function one op, opaque to tracing, with rules of your own. It is a decorator.

    ``f.def_pullback``, ``f.def_pushforward`` and ``f.def_batch`` decorate its rules. One pullback is enough for reverse
    and forward mode, second order and batches.

    Parameters
    ----------
    f : takes arrays and numbers by position and returns an array, a number, or a tuple of them. It runs at every call,
        so it may read files, clocks and whatever changes; the arrays that it is given are read-only.
    type : called with empty arrays of the arguments' shapes and dtypes, returns arrays of the results'. Without it the
        function is run once on the values at hand to see what it returns.

    Raises
    ------
    MissingRuleError : a derivative is asked for, and has no rule.
    ShapeError, StructureError : a rule returns something of another shape or structure than it should.
    ConcretizationError, UnsupportedFunctionError : a rule calls code that cannot be recorded. The function itself is
        given NumPy's arrays, but a rule is recorded; foreign code in it has to be a second primitive, with ``type=``.

    Examples
    --------
    >>> import numpy as np, wengert as wg
    >>> @wg.primitive
    ... def kepler(e, M):
    ...     E = M
    ...     for _ in range(50):
    ...         E = M + e * np.sin(E)
    ...     return E
    >>> @kepler.def_pullback
    ... def kepler_pullback(ct, E, e, M):
    ...     rate = ct / (1 - e * np.cos(E))
    ...     return rate * np.sin(E), rate
    >>> round(float(wg.grad(kepler, argnums=1)(0.5, 0.0)), 6)
    2.0
    """
    if f is None:
        return partial(primitive, type=type)
    return Primitive(f, type)

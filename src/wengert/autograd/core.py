"""The two derivatives on which autograd's operators stand, primitives, and their rules."""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import count
from types import MethodType
from typing import Any

import numpy as np

from wengert.api.derivatives import jvp as _jvp
from wengert.api.derivatives import vjp as _vjp
from wengert.api.opaque import called, getval, is_active, primitive_jvps, primitive_vjps
from wengert.autograd.spaces import SparseObject, VSpace, vspace  # noqa: F401  # names of autograd's core
from wengert.tracing.looking import without_own_derivative
from wengert.tracing.stack import current_trace
from wengert.tracing.tracer import Tracer
from wengert.tree.containers import flatten_containers

F = Callable[..., Any]
Argnum = int | Sequence[int]

Tracer._value = property(without_own_derivative)  # type: ignore[attr-defined]  # which nobody but users of autograd asks for

# ------------------------------------------------------------------------------------ functions of many arguments

get_name: F = lambda f: getattr(f, "__name__", "[unknown name]")
get_doc: F = lambda f: getattr(f, "__doc__", "") or ""
func: F = lambda f: f
subvals: F = lambda x, ivs: tuple(({**dict(enumerate(x)), **{k % len(x): v for k, v in ivs}}).values())
subval: F = lambda x, i, v: subvals(x, [(i, v)])


def wraps(fun: F, namestr: str = "{fun}", docstr: str = "{doc}", **kwargs: Any) -> F:
    def decorated(f: Any) -> F:
        f.__name__ = namestr.format(fun=get_name(fun), **kwargs)
        f.__doc__ = docstr.format(fun=get_name(fun), doc=get_doc(fun), **kwargs)
        f.__wrapped__ = fun  # whose steps wengert takes again
        return f

    return decorated


def named_after(fun: F, op: str, argnum: Argnum) -> F:
    """Return a decorator that names what an operator makes of ``fun`` as autograd does."""
    assert type(argnum) in (int, tuple, list), argnum
    doc = "    {op} of function {fun} with respect to argument number {argnum}. Takes the same arguments as {fun}."
    return wraps(fun, "{op}_of_{fun}_wrt_argnum_{argnum}", doc, op=op, argnum=argnum)


def unary_to_nary(unary_operator: F) -> F:
    """Return an operator on functions of one argument as ``operator(fun, argnum)(*args)``, on functions of many."""

    @wraps(unary_operator)
    def nary_operator(fun: F, argnum: Any = 0, *op_args: Any, **op_kwargs: Any) -> F:
        @named_after(fun, get_name(unary_operator), argnum)
        def nary_f(*args: Any, **kwargs: Any) -> Any:
            is_one = isinstance(argnum, int)
            unary_f = lambda x: fun(*subvals(args, [(argnum, x)] if is_one else zip(argnum, x, strict=True)), **kwargs)
            x = args[argnum] if is_one else tuple([args[i] for i in argnum])
            return unary_operator(wraps(fun)(unary_f), x, *op_args, **op_kwargs)

        return nary_f

    return nary_operator


# --------------------------------------------------------------------------------------------- the two derivatives


def differentiable(x: object) -> Any:
    """Return an argument with its arrays of integers as floats, which autograd differentiates with respect to."""
    if type(x) is np.ndarray or type(x) is float:
        return x.astype(float) if type(x) is np.ndarray and x.dtype.kind in "iub" else x
    leaves, treedef = flatten_containers(x)
    for leaf in leaves:
        if isinstance(leaf, int | str | np.integer):
            raise TypeError(f"Can't differentiate w.r.t. type {type(leaf)}")
    return x if treedef.is_leaf() else treedef.unflatten(map(differentiable, leaves))


def depends(ans: object) -> bool:
    """Return whether a result is a traced value, or holds one; warn as autograd does if not."""
    if isbox(ans) or any(map(isbox, flatten_containers(ans)[0])):
        return True
    warnings.warn("Output seems independent of input.", stacklevel=3)
    return False


def _noting(fun: F, constant: list[Any]) -> F:
    """``fun``, with a number in place of a result that does not depend on the argument, which is put in a list."""

    def noting(x: object) -> Any:
        ans = fun(x)
        return ans if depends(ans) else constant.append(ans) or 0.0

    return wraps(fun)(noting)


def make_vjp(fun: F, x: object) -> tuple[F, Any]:
    """Return the function that pulls a cotangent of ``fun(x)`` back, and ``fun(x)``."""
    constant: list[Any] = []
    ans, pullback = _vjp(_noting(fun, constant), differentiable(x))
    return (lambda g: vspace(x).zeros(), constant[-1]) if constant else (lambda g: pullback(g)[0], ans)


def make_jvp(fun: F, x: object) -> F:
    """Return the function of a tangent ``g`` that gives ``fun(x)`` and its tangent."""

    def jvp(g: object) -> tuple[Any, Any]:
        constant: list[Any] = []
        found = _jvp(_noting(fun, constant), (differentiable(x),), (differentiable(g),))
        return (constant[-1], vspace(constant[-1]).zeros()) if constant else found

    return jvp


# --------------------------------------------------------------------------------------------- boxes and primitives


class _BoxType(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isbox(x)

    def register(cls, value_type: type) -> None:
        """Do nothing for numbers, arrays and containers, which are traced anyway, and refuse other types."""
        if not issubclass(value_type, np.ndarray | np.generic | float | complex | list | tuple | dict):
            what = (
                f"Box.register: {value_type.__name__} is no array, number or container of them, which are what wengert "
            )
            raise TypeError(what + "traces; wengert.register makes a class a container")


class Boxed(metaclass=_BoxType):
    """A value that a derivative is being taken of: ``isinstance(x, Box)`` asks for it."""


Box = Boxed


class VJPNode:
    """Reverse mode, for :func:`register_notrace`: the nodes of wengert's graphs are steps of a tape."""


class JVPNode(VJPNode):
    """Forward mode, for :func:`register_notrace`."""


isbox: F = lambda x: type(x) is Tracer and is_active(x)
notrace_primitives: dict[type, set[F]] = defaultdict(set)
register_notrace: F = lambda trace_type, primitive_fun: notrace_primitives[trace_type].add(primitive_fun)


def notrace_primitive(f_raw: F) -> F:
    """Return ``f_raw`` as a function that is given plain values, and whose results are constants."""
    return wraps(f_raw)(lambda *args, **kwargs: f_raw(*map(getval, args), **kwargs))


class primitive:
    """A function that is one step, whose derivatives are those that ``defvjp`` and ``defjvp`` say.

    It may take and return what Python has, and it, and its rules, are run with plain values.

    >>> import numpy as np
    >>> from wengert.autograd import grad
    >>> from wengert.autograd.extend import defvjp, primitive
    >>> @primitive
    ... def logsumexp(x):
    ...     return float(np.log(np.sum(np.exp(x))))
    >>> defvjp(logsumexp, lambda ans, x: lambda g: g * np.exp(x - ans))
    >>> grad(logsumexp)(np.array([0.0, 0.0]))
    array([0.5, 0.5])
    """

    def __init__(self, f_raw: F) -> None:
        self._is_autograd_primitive = True  # as packages ask of what they find in autograd.numpy
        self.fun, self._makers = wraps(f_raw)(self).__wrapped__, dict[int, F | None]()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if current_trace() is None:
            return self.fun(*args, **kwargs)
        if any(self in marked for marked in notrace_primitives.values()):
            leaves, treedef = flatten_containers(args)
            return self.fun(*treedef.unflatten(map(getval, leaves)), **kwargs)
        return called(self, self.fun, args, kwargs)

    __get__ = lambda self, owner, cls=None: self if owner is None else MethodType(self, owner)

    def _deprecated(self, name: str, argnums: Sequence[int], maker: F | None) -> None:
        warnings.warn(f"\nThe {name} method is deprecated: defvjp(f, ...) of autograd.extend", stacklevel=3)
        self._makers.update(dict.fromkeys(argnums, maker))
        defvjp(self, *self._makers.values(), argnums=tuple(self._makers))

    def defvjp(self, maker: F, argnum: int = 0) -> None:
        staged = lambda ans, *xs, **kwargs: lambda g: maker(g, ans, vspace(xs[argnum]), vspace(g), *xs, **kwargs)
        self._deprecated("defvjp", [argnum], staged)

    defgrad = lambda self, maker, argnum=0: self._deprecated("defgrad", [argnum], maker)
    defvjp_is_zero = lambda self, argnums=(0,): self._deprecated("defvjp_is_zero", argnums, None)


# ------------------------------------------------------------------------------------------- the rules of primitives

defjvp_argnums: F = lambda fun, jvpmaker: primitive_jvps.update({fun: jvpmaker})
def_linear: F = lambda fun: defjvp_argnum(fun, lambda n, g, ans, args, kwargs: fun(*subval(args, n, g), **kwargs))


def _replaced(fun: F) -> primitive:
    """A function of NumPy's or SciPy's as a primitive, which stands in its place here from now on.

    Of any other function, which is traced through, autograd does not use a rule either.
    """
    own = primitive(fun)
    for module in [module for name, module in sys.modules.items() if name.startswith("wengert.autograd.")]:
        for key in [key for key, value in vars(module).items() if value is fun]:
            setattr(module, key, own)
    return own


def defvjp_argnums(fun: F, vjpmaker: F) -> None:
    """Define the pullback of a primitive: ``vjpmaker(argnums, ans, args, kwargs)`` gives ``g -> cotangents``.

    A function of NumPy's under its name in ``wengert.autograd.numpy`` becomes a primitive there.
    """
    primitive_vjps[fun if isinstance(fun, primitive) else _replaced(fun)] = vjpmaker


def defvjp_argnum(fun: F, vjpmaker: F) -> None:
    """Define the pullback of a primitive: ``vjpmaker(argnum, ans, args, kwargs)`` gives ``g -> cotangent``."""

    def vjp_argnums(argnums: Sequence[int], *args: Any) -> F:
        vjps = [vjpmaker(argnum, *args) for argnum in argnums]
        return lambda g: [vjp(g) for vjp in vjps]

    defvjp_argnums(fun, vjp_argnums)


def defvjp(fun: F, *vjpmakers: F | None, argnums: Iterable[int] | None = None) -> None:
    """Define the pullbacks of a primitive, one an argument: ``lambda ans, *args: lambda g: ...``; None: zero."""
    makers = dict(zip(count() if argnums is None else argnums, vjpmakers, strict=False))

    def vjp_argnum(argnum: int, ans: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> F:
        if argnum not in makers:
            raise NotImplementedError(f"VJP of {get_name(fun)} wrt argnum {argnum} not defined")
        maker = makers[argnum]
        return (lambda g: None) if maker is None else maker(ans, *args, **kwargs)

    defvjp_argnum(fun, vjp_argnum)


def defjvp_argnum(fun: F, jvpmaker: F) -> None:
    """Define the pushforward of a primitive as a sum of ``jvpmaker(argnum, g, ans, args, kwargs)``."""

    def jvp_argnums(
        argnums: Sequence[int], gs: Sequence[Any], ans: object, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        terms = [jvpmaker(argnum, g, ans, args, kwargs) for argnum, g in zip(argnums, gs, strict=True)]
        return reduce(vspace(ans).add, [g.mut_add(g.vs.zeros()) if isinstance(g, SparseObject) else g for g in terms])

    defjvp_argnums(fun, jvp_argnums)


def defjvp(fun: F, *jvpfuns: F | str | None, argnums: Iterable[int] | None = None) -> None:
    """Define the pushforward of a primitive, a term an argument: ``lambda g, ans, *args: ...``, or ``"same"``."""
    terms = dict(zip(count() if argnums is None else argnums, jvpfuns, strict=False))

    def term(argnum: int, g: object, ans: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if argnum not in terms:
            raise NotImplementedError(f"JVP of {get_name(fun)} wrt argnum {argnum} not defined")
        jvpfun = terms[argnum]
        if jvpfun is None:
            return vspace(ans).zeros()
        return fun(*subval(args, argnum, g), **kwargs) if isinstance(jvpfun, str) else jvpfun(g, ans, *args, **kwargs)

    defjvp_argnum(fun, term)

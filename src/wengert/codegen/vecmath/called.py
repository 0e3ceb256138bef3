"""Scalar functions as code of their own, called by the kernels that would take long to compile with a copy of each, or
that run sooner if calls for several vectors stand side by side.

A callee is compiled once, and kept on disk, for every kernel that calls it. Its symbol says all that there is to know:
``wengert.exp.f8.8.1.exact`` is the exponential of one vector of eight doubles. It computes what the inlined function
does, to the bit but for the sign of a NaN.
"""

from __future__ import annotations

import re

from wengert.codegen.ir import LLVM_TYPES, Function, Value
from wengert.codegen.target import Target
from wengert.codegen.vecmath.table import FUNCTIONS, Weight, apply

TOGETHER = ("sin", "cos")
"""Functions that share most of their work: of one operand, one callee gives both."""

_SYMBOL = re.compile(r"^declare .* @(wengert\.[\w.]+)\(", re.MULTILINE)


def is_called(function: str, dtypes: list[str], out_dtype: str) -> bool:
    """Whether it is long enough for a call, and of floats of one dtype, which registers hand over."""
    is_long = FUNCTIONS[function].weight > Weight.LIGHT
    return is_long and out_dtype[0] == "f" and {*dtypes} == {out_dtype}


def call(function: str, xs: list[Value], is_fast: bool, are_together: bool = False) -> Value:
    """``apply(function, xs)`` by its callee; ``are_together``: that of all of :data:`TOGETHER`, if it is one."""
    x, together = xs[0], are_together and function in TOGETHER
    f, types = x.f, [y.type for y in xs]
    kind = "fast" if is_fast and FUNCTIONS[function].fast is not None else "exact"
    name = "_".join(TOGETHER) if together else function
    symbol = f"wengert.{name}.{x.dtype}.{x.lanes}.{len(xs)}.{kind}"
    returned = f"{{ {x.type}, {x.type} }}" if together else x.type
    f.declarations[symbol] = f"declare {returned} @{symbol}({', '.join(types)}) nounwind willreturn memory(none)"
    given = ", ".join([y.typed for y in xs])
    y = f.pure(f"call {returned} @{symbol}({given})", x.dtype, x.lanes)
    if not together:
        return y
    return f.pure(f"extractvalue {returned} {y.text}, {TOGETHER.index(function)}", x.dtype, x.lanes)


def symbols_in(text: str) -> tuple[str, ...]:
    """The callees that a module calls."""
    return tuple(_SYMBOL.findall(text))


def text_of(symbol: str, name: str, target: Target) -> str:
    """The text of an LLVM module with the callee of ``symbol`` as the function ``name``."""
    _, function, dtype, lanes, arity, kind = symbol.split(".")
    assert dtype in LLVM_TYPES
    f = Function(target)
    xs = [Value(f, f"%x{k}", dtype, int(lanes)) for k in range(int(arity))]
    functions = TOGETHER if function == "_".join(TOGETHER) else (function,)
    return f.of_values(name, xs, [apply(each, xs, dtype, kind == "fast") for each in functions])

"""Planes: represent each complex array by two real ones, so that kernels for real numbers serve complex ones too.

A complex value is *whole*, interleaved as NumPy has it, or it is its two planes, whichever was made first; the other
form is made when it is needed. The planes of a whole array are views of it, and planes are written interleaved where
they are made, if nothing else reads them: so neither way is a copy. A complex step is replaced as follows:

* a scalar function by its formula in real and imaginary parts, :data:`wengert.ops.complex.FORMULAS`;
* a step that moves or adds elements by the same step on each plane;
* a contraction by four contractions of planes, or two if an operand is real and was converted;
* any other step stays, and Python does it on whole arrays.

Planes that nothing reads, half of them where a loss takes a real part, are dropped by the pass that drops dead steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.edit import merge_common
from wengert.ops import complex as formulas
from wengert.ops.complex import Planes, interleave, plane
from wengert.ops.elementwise import real_dtype
from wengert.ops.index import slice_axis
from wengert.ops.shape import broadcast_to, reshape
from wengert.passes.simplify import drop_dead, use_identities
from wengert.tape import Atom, Builder, Instr, Lit, Tape, Var, building


def planes(tape: Tape) -> Tape:
    """Replace complex values by planes wherever there are kernels for those. Linear in the tape."""
    if not any(a.aval.dtype.kind == "c" for instr in tape.instrs for a in (*instr.ins, *instr.outs)):
        return tape
    return drop_dead(merge_common(use_identities(_Splitter(tape).run())))


def _is_complex(a: Atom) -> bool:
    return a.aval.dtype.kind == "c"


class _Splitter:
    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.new: dict[Atom, Atom] = {}  # the new value for each old one that is real, or is not split into planes
        self.split: dict[Atom, Planes] = {}

    def run(self) -> Tape:
        builder = Builder()
        with building(builder):
            for instr in self.tape.instrs:
                builder.source = instr.source
                if any(_is_complex(a) for a in (*instr.ins, *instr.outs)):
                    self._step(instr)
                else:
                    builder.append(instr._replace(ins=tuple([self.new.get(a, a) for a in instr.ins])))
            builder.source = None
            outputs = tuple([self._whole(a) for a in self.tape.outputs])
        return self.tape.replace(instrs=builder.instrs, outputs=outputs)

    # ------------------------------------------------------------------------------------------------- two forms

    def _whole(self, a: Atom) -> Atom:
        if type(a) is Lit or not _is_complex(a):
            return self.new.get(a, a)
        if a not in self.new and a in self.split:
            self.new[a] = interleave(*[broadcast_to(x, shape=a.aval.shape) for x in self.split[a]])
        return self.new.get(a, a)

    def _planes(self, a: Atom) -> Any:
        """Return the planes of a complex value; a real value is its only plane."""
        if not _is_complex(a):
            return self.new.get(a, a)
        if type(a) is Lit:
            parts = real_dtype(a.aval.dtype)
            return Planes(Lit(a.value.real, parts), Lit(a.value.imag, parts))
        if a not in self.split:
            whole = self._whole(a)
            self.split[a] = Planes(plane(whole, offset=0), plane(whole, offset=a.aval.dtype.itemsize // 2))
        return self.split[a]

    def _set(self, v: Var, made: Planes | Atom) -> None:
        """Note ``made``, the new form of the value ``v``, broadcast to its shape if it is not planes."""
        if isinstance(made, Planes):
            self.split[v] = made
        else:
            self.new[v] = broadcast_to(made, shape=v.aval.shape)

    # ------------------------------------------------------------------------------------------------------ steps

    def _step(self, instr: Instr) -> None:
        op, ins, outs, params, _ = instr
        kernel = op.kernel
        if op.is_elementwise and (op.name == "convert" or instr.op.kernel.function in formulas.FORMULAS):
            self._set(outs[0], self._formula(instr))
        elif kernel.is_contraction:
            self._set(outs[0], self._contraction(instr))
        elif kernel.is_fold and kernel.combine == "multiply":
            self._set(outs[0], self._product(instr))
        elif op.is_linear and not op.is_multilinear and not kernel.is_outside:
            self._set(outs[0], self._moved(instr))
        else:
            whole = op(*[self._whole(a) for a in ins], **params)
            for v, y in zip(outs, (whole,) if len(outs) == 1 else whole, strict=True):
                self.new[v] = y

    def _full(self, a: Atom) -> Any:
        """The planes of a complex value in its shape, but for one that is zero; a real value is itself."""
        z = self._planes(a)
        if not isinstance(z, Planes):
            return z
        return Planes(*[x if _is_zero(x) else broadcast_to(x, shape=a.aval.shape) for x in z])

    def _moved(self, instr: Instr) -> Planes:
        op, ins, outs, params, _ = instr
        given = [self._full(a) for a in ins]
        zero = Lit(0, real_dtype(outs[0].aval.dtype))
        made: list[Any] = []
        for k in range(2):
            parts = [x[k] if isinstance(x, Planes) else x for x in given]
            if all(_is_zero(x[k]) for x in given if isinstance(x, Planes)):
                made.append(zero)
                continue
            wide = [broadcast_to(x, shape=a.aval.shape) for x, a in zip(parts, ins, strict=True)]
            made.append(op(*wide, **params))
        return Planes(*made)

    def _formula(self, instr: Instr) -> Any:
        given = [self._planes(a) for a in instr.ins]
        if instr.op.name == "convert":
            return formulas.converted(given[0], instr.params["dtype"])
        return formulas.FORMULAS[instr.op.kernel.function](*given)

    def _contraction(self, instr: Instr) -> Planes:
        op, ins, _, params, _ = instr
        x, y = [self._full(a) for a in ins]

        def product(a: Atom, b: Atom) -> Any:
            wide = [broadcast_to(z, shape=w.aval.shape) for z, w in zip((a, b), ins, strict=True)]
            return op(*wide, **params)

        if _is_zero(y.im):
            return Planes(product(x.re, y.re), product(x.im, y.re))
        if _is_zero(x.im):
            return Planes(product(x.re, y.re), product(x.re, y.im))
        return Planes(product(x.re, y.re) - product(x.im, y.im), product(x.re, y.im) + product(x.im, y.re))

    def _product(self, instr: Instr) -> Planes:
        """The product along axes, folded in halves, so that the order of multiplication depends on the shape alone."""
        (x,), axes = instr.ins, instr.params["axis"]
        z, shape = self._full(x), list(x.aval.shape)
        z = Planes(*[broadcast_to(part, shape=x.aval.shape) for part in z])
        for axis in axes:
            if shape[axis] == 0:
                parts = real_dtype(x.aval.dtype)
                return Planes(Lit(1, parts), Lit(0, parts))
            z = _folded(z, axis)
        return Planes(*[reshape(part, shape=instr.outs[0].aval.shape) for part in z])


def _folded(z: Planes, axis: int) -> Planes:
    """The product along an axis, which keeps length 1: by halves, with elements left over from odd lengths last."""
    odd: list[Planes] = []
    n = z.re.aval.shape[axis]
    while n > 1:
        half = n // 2
        first, second, last = [
            Planes(*[slice_axis(part, axis, start, length) for part in z])
            for start, length in ((0, half), (half, half), (n - 1, 1))
        ]
        if n % 2:
            odd.append(last)
        z, n = formulas.multiply(first, second), half
    for last in odd:
        z = formulas.multiply(z, last)
    return z


def _is_zero(x: Atom) -> bool:
    """Whether a plane is the literal zero that a converted real number has for its imaginary part."""
    return type(x) is Lit and x.value == 0 and not np.signbit(x.value)

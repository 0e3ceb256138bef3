"""Sum products: a product that is read by one sum alone is summed where it is computed.

A loop that adds up products, as a convolution written by its windows is, becomes a batch of products and their sum,
which would be stored as a whole between the two. A contraction can sum over an axis that both operands have: the
product is then never stored, and BLAS takes a batch of thin products as one. What was gathered for it alone is gathered
in the order that BLAS takes without a copy: the axes that are summed last. Linear.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from wengert.ops.index import gather
from wengert.tape import Atom, Aval, Capture, Instr, Tape, Var

Labels = tuple[int, ...]


def sum_products(tape: Tape) -> Tape:
    """Let each product of floats sum over the axes along which one sum reads it, if both operands have them."""
    if not any(instr.op.kernel.is_contraction for instr in tape.instrs):
        return tape
    summing = _Summing(tape)
    instrs = summing.instrs()
    return tape.replace(instrs=instrs, captures=(*tape.captures, *summing.turned))


class _Summing:
    """The steps of a tape, and where in their list are those that may change."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.reads: Counter[Atom] = Counter(a for instr in tape.instrs for a in instr.ins)
        self.reads.update(tape.outputs)
        self.tables: dict[Atom, Capture] = {c.var: c for c in tape.captures if c.is_constant}
        self.turned: list[Capture] = []
        """Tables of indices in another order."""
        self.kept: list[Instr] = []
        self.at: dict[Atom, int] = {}
        """The place in that list of each product, and of all that was gathered."""

    def instrs(self) -> tuple[Instr, ...]:
        for instr in self.tape.instrs:
            kernel = instr.op.kernel
            if kernel.is_fold and kernel.only_adds and self._sums(instr):
                continue
            if instr.op is gather or (kernel.is_contraction and instr.outs[0].aval.dtype.kind in "fc"):
                self.at[instr.outs[0]] = len(self.kept)
            self.kept.append(instr)
        return tuple(self.kept)

    def _sums(self, total: Instr) -> bool:
        """Return whether the product that a sum reads is now its result."""
        (x,) = total.ins
        at = self.at.get(x)
        if at is None or self.reads[x] != 1:
            return False
        product = self.kept[at]
        if not product.op.kernel.is_contraction:
            return False
        a, b, out = [product.params[name] for name in ("a", "b", "out")]
        summed = {out[axis] for axis in total.params["axis"]}
        if not summed <= set(a) & set(b):
            return False
        left = tuple([label for label in out if label not in summed])
        (x, a), (y, b) = self._summed_last(product.ins[0], a, left), self._summed_last(product.ins[1], b, left)
        self.kept[at] = Instr(product.op, (x, y), total.outs, {"a": a, "b": b, "out": left}, product.source)
        self.at[total.outs[0]] = at
        return True

    def _summed_last(self, operand: Atom, labels: Labels, out: Labels) -> tuple[Atom, Labels]:
        """The operand, gathered with the axes last over which is summed, and its labels; as it is if others read it."""
        at = self.at.get(operand)
        if at is None or self.reads[operand] != 1 or self.kept[at].op is not gather:
            return operand, labels
        x, *indices = self.kept[at].ins
        shape = indices[0].aval.shape
        axes = sorted(range(len(shape)), key=lambda k: labels[k] not in out)  # stable
        is_table = all(index.aval.shape == shape and index in self.tables for index in indices)
        if not is_table or axes == sorted(axes) or any(label in out for label in labels[len(shape) :]):
            return operand, labels
        lengths = dict(zip(labels, operand.aval.shape, strict=True))
        labels = (*[labels[k] for k in axes], *labels[len(shape) :])
        made = Var(Aval(tuple([lengths[label] for label in labels]), operand.aval.dtype))
        turned = tuple([self._turned(index, axes) for index in indices])
        self.kept[at] = self.kept[at]._replace(ins=(x, *turned), outs=(made,))
        return made, labels

    def _turned(self, index: Atom, axes: list[int]) -> Var:
        table = self.tables[index]
        array = np.ascontiguousarray(table.array.transpose(axes))
        array.flags.writeable = False
        turned = Var(Aval(array.shape, array.dtype))
        self.turned.append(Capture(turned, array, table.name, True))
        return turned

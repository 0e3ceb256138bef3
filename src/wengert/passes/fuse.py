"""Fuse: maps and the reductions that they feed become one instruction, hence one loop nest and one pass over memory.

A *cluster* is a set of instructions that become one. It has a space, the shape over which its loops run; its values are

* maps over the whole space,
* reductions of them, all along the same axes, or one small contraction, which begins its cluster,
* maps of the reduced values, over the shape that is left; with a contraction, also other operands of these maps.

No value is computed twice: a map whose operand comes from a cluster of another shape, or is read through a view, begins
a cluster of its own. A cluster is *open* until something outside of it reads one of its values; only open clusters grow
or merge, so no value can leave a cluster and come back, and one pass over the tape is enough. Linear.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.ops.fused import fused
from wengert.ops.kernels import NATIVE_DTYPES
from wengert.passes.plan.instructions import is_in_code
from wengert.passes.simplify import drop_dead
from wengert.tape import Atom, Instr, Lit, Tape, Var, key_of, structure

MAX_MEMBERS = 192  # instructions of a cluster: the limit for a kernel's registers and compile time
SMALL = 256  # elements: below, a pass over memory costs no more than a call of a kernel
LONG = 2000  # instructions of a tape whose many clusters must be of few kinds, since each kind is compiled
MAX_FOREIGN = 3  # arrays that a cluster of small ones reads in a long tape; without, each sum of k terms is a kind
MANY_SCALARS = 512  # a tape with more steps on scalars fuses those that take no longer to compile than to plan
A_KERNEL = 50  # steps that are planned in the time that a kernel takes to compile; a function of n flops adds n²/4
SMALL_CONTRACTION = 32 * 32 * 32  # products; above, BLAS is faster than emitted code (benchmarks/bench_contract.py)
SMALL_PRODUCT = 10 * 10 * 10  # the same, where both operands have axes of their own: a matrix times a matrix
CHEAP = 8  # flops: a costlier map is not done in the tiles of a product, of whose code there are several copies
BODY = Tape((), (), (), (), name="fused")

IsNative = Callable[[str, tuple[np.dtype[Any], ...], np.dtype[Any]], bool]
"""``is_native(function, dtypes, dtype)`` tells whether generated code has this scalar function for operands and a
result of these dtypes."""


class Cluster:
    """The numbers of instructions that become one."""

    __slots__ = (
        "axes",
        "foreign",
        "has_contraction",
        "has_edges",
        "is_open",
        "is_product",
        "kept",
        "length",
        "members",
        "space",
    )

    def __init__(self, space: tuple[int, ...], member: int) -> None:
        self.space = space
        self.members = [member]
        self.axes: tuple[int, ...] | None = None
        self.kept: tuple[int, ...] | None = None
        """The shape after reduction; None if nothing has been reduced."""
        self.has_contraction = self.is_product = False
        self.has_edges = False
        """Whether a stencil in it has edges; then nothing is reduced in it."""
        self.length = 0
        """The steps of the stencils in it."""
        self.is_open = True
        self.foreign: set[Any] = set()
        """The arrays that the cluster reads from outside; after a contraction, its own operands are not among them."""

    @property
    def steps(self) -> int:
        return len(self.members) + self.length

    @property
    def is_of_scalars(self) -> bool:
        return not self.space and not self.has_contraction


def fuse(tape: Tape, is_native: IsNative) -> Tape:
    """Turn clusters of maps and reductions into single instructions; dead instructions are dropped."""
    tape = drop_dead(tape)  # else a cluster might lose the reduction that its last values stand behind
    kinds = kinds_of(tape, is_native)
    found = _fused(tape, kinds, False)
    if len(tape.instrs) > LONG and _are_of_many_kinds(found):
        return _fused(tape, kinds, True)
    return found


def _are_of_many_kinds(tape: Tape) -> bool:
    """Whether the small-array kernels of a tape are of too many kinds to compile all. The iterations of a loop share
    a few kinds; the vertices of a graph need not."""
    clusters = [i for i in tape.instrs if i.op.kernel.is_fused and i.outs[0].aval.shape]
    kinds = {(_code_of(i), i.outs[0].aval) for i in clusters if _size(i.outs[0].aval.shape) <= SMALL}
    return len(kinds) * A_KERNEL > len(tape.instrs)


def why_apart(tape: Tape, is_native: IsNative, first: Var, second: Var) -> str:
    """Return the reason for which :func:`fuse` leaves the steps that make two values in different kernels; empty if it
    makes one of them, or if one of the values is not on the tape."""
    tape = drop_dead(tape)
    number = {v: k for k, instr in enumerate(tape.instrs) for v in instr.outs}
    if first not in number or second not in number:
        return ""
    pair = sorted([number[first], number[second]])
    asked = Asked(*pair)
    kinds = kinds_of(tape, is_native)
    for k in pair:
        if not kinds[k]:
            name = tape.instrs[k].op.name
            if tape.instrs[k].op.kernel.is_view:
                return f"{name} is a view of its operand, for which nothing runs"
            return f"{name} is no elementwise step, reduction or small product with native code, so it is done alone"
    found = _fused(tape, kinds, False, asked)
    if len(tape.instrs) > LONG and _are_of_many_kinds(found):
        _fused(tape, kinds, True, asked)
    return asked.why


class Asked:
    """A question to :func:`_fused`: why two instructions, by number, are not in one cluster."""

    def __init__(self, first: int, second: int) -> None:
        self.first, self.second = first, second
        self.why = ""

    def answer(
        self,
        tape: Tape,
        kind: str,
        home: Sequence[Cluster | None],
        chosen: Cluster | None,
        cluster_of: dict[Any, Cluster],
        is_bounded: bool,
    ) -> None:
        """Say why the second did not join the cluster of the first, before that is closed."""
        instr, c = tape.instrs[self.second], home[self.first]
        name = instr.op.name
        assert c is not None
        if chosen is c:
            self.why = ""
            return
        is_reader = any(cluster_of.get(a) is c for a in instr.ins)
        if not c.is_open:
            reader = next(
                (
                    i.op.name
                    for k, i in enumerate(tape.instrs[: self.second])
                    if k > self.first and home[k] is not c and any(cluster_of.get(a) is c for a in i.ins)
                ),
                "another step",
            )
            self.why = f"{reader} reads a value of that kernel before, and so the kernel had to be complete"
        elif kind == "contraction":
            self.why = f"{name} begins a kernel of its own, since its operands must be in memory"
        elif kind == "fold":
            (x,) = instr.ins
            why = _refusal_of_fold(c, x.aval.shape, instr.params["axis"])
            self.why = why or "neither reads an array that the other reads or makes"
        elif instr.op.kernel.reads_beside:
            self.why = "a stencil reads elements beside each other, which must be in memory"
        elif not is_reader:
            same = instr.outs[0].aval.shape == c.space
            why = "the kernels may be split at other steps" if same else "they loop over different shapes"
            self.why = f"neither reads a value of the other, and {why}"
        else:
            why = _refusal_of_map(c, instr.outs[0].aval.shape, instr, cluster_of, is_bounded)
            self.why = why or "steps on single numbers stay apart where a program has very many of them"


def _fused(tape: Tape, kinds: Sequence[str], are_bounded: bool, asked: Asked | None = None) -> Tape:
    """Do as ``fuse`` for a tape without dead instructions. ``are_bounded``: a cluster over small arrays may read few
    arrays from outside, so that clusters are of fewer kinds."""
    cluster_of: dict[Any, Cluster] = {}  # the cluster that makes each value
    home: list[Cluster | None] = [None] * len(tape.instrs)
    recent: dict[Any, Cluster] = {}  # by (operand, shape): the last cluster that ran over the whole of an operand
    scalars = sum(kind == "map" and not i.outs[0].aval.shape for kind, i in zip(kinds, tape.instrs, strict=True))
    has_many_scalars = scalars > MANY_SCALARS

    for k, (kind, instr) in enumerate(zip(kinds, tape.instrs, strict=True)):
        near = [c for c in dict.fromkeys([cluster_of.get(a) for a in instr.ins]) if c is not None and c.is_open]
        chosen: Cluster | None = None
        if kind == "map":
            shape = instr.outs[0].aval.shape
            is_bounded = are_bounded and _size(shape) <= SMALL
            is_beside = instr.op.kernel.reads_beside  # then what it reads must be in memory
            fitting = [c for c in near if not is_beside and _takes_map(c, shape, instr, cluster_of, is_bounded)]
            if has_many_scalars and not shape:
                fitting = [c for c in fitting if c.is_of_scalars]
            chosen = _merged(fitting, shape, home, cluster_of, tape, is_bounded)
            if chosen is None and shape and not is_bounded:
                chosen = _sibling(instr, shape, recent, near)
            if chosen is None:
                chosen = Cluster(shape, k)
            else:
                chosen.members.append(k)
            chosen.length += _steps_within(instr)
            chosen.has_edges |= _has_edges(instr)
            chosen.foreign.update(_foreign(instr, chosen, cluster_of))
        elif kind == "fold":
            (x,), axes = instr.ins, instr.params["axis"]
            c = cluster_of.get(x)
            if c is None:
                c = recent.get((x, x.aval.shape))
            if c is not None and _takes_fold(c, x.aval.shape, axes):
                chosen = c
                chosen.members.append(k)
            else:
                chosen = Cluster(x.aval.shape, k)
            chosen.axes, chosen.kept = axes, instr.outs[0].aval.shape
        elif kind == "contraction":
            chosen = Cluster((), k)
            chosen.has_contraction, chosen.is_product = True, _is_product(instr)
            chosen.axes, chosen.kept = (), instr.outs[0].aval.shape
        if asked is not None and k == asked.second:
            asked.answer(tape, kind, home, chosen, cluster_of, are_bounded)
        for c in near:
            if c is not chosen:
                c.is_open = False
        if chosen is not None:
            home[k] = chosen
            for v in instr.outs:
                cluster_of[v] = chosen
            for a in instr.ins:
                if type(a) is Var and a.aval.shape == chosen.space and chosen.space:
                    recent[a, chosen.space] = chosen
    return _rewritten(tape, home, has_many_scalars)


def kinds_of(tape: Tape, is_native: IsNative) -> list[str]:
    """The kind of each instruction, found once for all that are alike, since a long tape has few different ones."""
    known: dict[Any, str] = {}
    kinds: list[str] = []
    for instr in tape.instrs:
        op, ins, outs, params, _ = instr
        alike = (op, *[a.aval for a in ins], None, *[v.aval for v in outs], *params.items())
        kind = known.get(alike)
        if kind is None:
            kind = known[alike] = kind_of(instr, is_native)
        kinds.append(kind)
    return kinds


def kind_of(instr: Instr, is_native: IsNative) -> str:
    """ "map", "fold", "contraction", or "" for an instruction that is not fused."""
    op, ins, outs, params, _ = instr
    kernel = op.kernel
    if any(a.aval.dtype not in NATIVE_DTYPES for a in (*ins, *outs)):
        return ""
    if kernel.reads_beside:
        return "map"  # it was made of native steps
    if kernel.is_pointwise:
        steps = [instr] if kernel.function else params["body"].instrs
        return "map" if outs[0].aval.size and all(_is_native_map(i, is_native) for i in steps) else ""
    if kernel.is_fold:
        return "fold" if ins[0].aval.size else ""
    if kernel.is_contraction:
        return "contraction" if is_small_contraction(instr) else ""
    return ""


def is_small_contraction(instr: Instr) -> bool:
    """Whether a contraction is emitted for its shape, rather than given to BLAS."""
    most = SMALL_PRODUCT if _is_product(instr) else SMALL_CONTRACTION
    return 0 < math.prod(_lengths(instr).values()) <= most


def _is_product(instr: Instr) -> bool:
    """Whether a contraction is a matrix times a matrix, or several: both operands have axes of their own."""
    params, lengths = instr.params, _lengths(instr)
    a, b = set(params["a"]), set(params["b"])
    return all(any(lengths[k] > 1 for k in group) for group in (a - b, b - a, (a & b) - set(params["out"])))


def _lengths(instr: Instr) -> dict[int, int]:
    (x, y), params = instr.ins, instr.params
    return {**dict(zip(params["a"], x.aval.shape, strict=True)), **dict(zip(params["b"], y.aval.shape, strict=True))}


def _is_cheap(instr: Instr) -> bool:
    return instr.op.cost(*[a.aval for a in instr.ins], **instr.params) <= CHEAP * instr.outs[0].aval.size


def _is_native_map(instr: Instr, is_native: IsNative) -> bool:
    function, dtypes = instr.op.kernel.function, tuple([a.aval.dtype for a in instr.ins])
    return bool(function) and is_native(function, dtypes, instr.outs[0].aval.dtype)


def _takes_map(
    c: Cluster, shape: tuple[int, ...], instr: Instr, cluster_of: dict[Any, Cluster], is_bounded: bool
) -> bool:
    return not _refusal_of_map(c, shape, instr, cluster_of, is_bounded)


def _refusal_of_map(
    c: Cluster, shape: tuple[int, ...], instr: Instr, cluster_of: dict[Any, Cluster], is_bounded: bool
) -> str:
    """The reason for which a map does not join a cluster that makes one of its operands; empty if it may."""
    if c.steps >= MAX_MEMBERS:
        return f"a kernel has at most {MAX_MEMBERS} steps"
    if c.is_product and not _is_cheap(instr):
        return "it is too expensive for the tiles of a product of matrices, of whose code there are several copies"
    if is_bounded and _reads_too_many(c, _foreign(instr, c, cluster_of)):
        return "in a long program kernels of small arrays read few arrays each, so that they are of few kinds"
    mine = [a.aval.shape for a in instr.ins if cluster_of.get(a) is c]
    is_over_space = not c.has_contraction and shape == c.space and all(s == shape for s in mine)
    if c.kept is None:
        return "" if is_over_space else f"one loops over the shape {c.space}, the other over {shape}"
    if c.kept == c.space and not c.has_contraction:  # axes of length 1 were reduced: which is meant cannot be told
        return "only axes of length 1 were reduced"
    if all(s == c.kept for s in mine) and shape == c.kept:
        return ""
    if is_over_space and not any(s == c.kept for s in mine):
        return ""
    return "it needs the result of a reduction at every element, so it must wait until all elements are added up"


def _reads_too_many(c: Cluster, others: set[Any]) -> bool:
    """Whether a bounded cluster would read more arrays than it may, with these ``others``."""
    limit = 1 if c.has_contraction else MAX_FOREIGN
    return len(others) > limit or len(c.foreign | others) > limit


def _steps_within(instr: Instr) -> int:
    return len(instr.params["body"].instrs) if instr.op.kernel.reads_beside else 0


def _has_edges(instr: Instr) -> bool:
    return instr.op.kernel.reads_beside and instr.params["has_edges"]


def _size(shape: tuple[int, ...]) -> int:
    return math.prod(shape)


def _foreign(instr: Instr, c: Cluster, cluster_of: dict[Any, Cluster]) -> set[Any]:
    return {a for a in instr.ins if a.aval.shape and cluster_of.get(a) is not c}


def _takes_fold(c: Cluster, shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    return c.is_open and not _refusal_of_fold(c, shape, axes)


def _refusal_of_fold(c: Cluster, shape: tuple[int, ...], axes: tuple[int, ...]) -> str:
    """The reason for which a reduction does not join an open cluster that loops over its operand; empty if it may."""
    if c.has_contraction:
        return "what follows a contraction in its kernel are maps alone"
    if c.has_edges:
        return "nothing is reduced in a stencil that has edges"
    if c.steps >= MAX_MEMBERS:
        return f"a kernel has at most {MAX_MEMBERS} steps"
    if shape != c.space:
        return f"one loops over the shape {c.space}, the other over {shape}"
    if c.axes not in (None, axes):
        return "the kernel reduces along other axes"
    return "only axes of length 1 were reduced" if c.kept == c.space else ""


def _merged(
    fitting: Sequence[Cluster],
    shape: tuple[int, ...],
    home: list[Cluster | None],
    cluster_of: dict[Any, Cluster],
    tape: Tape,
    is_bounded: bool,
) -> Cluster | None:
    """Choose the cluster that a map of this shape joins, and merge into it those of the others that fit."""
    if not fitting:
        return None
    chosen = next((c for c in fitting if c.kept == shape), fitting[0])
    for c in fitting:
        if c is not chosen and (_runs_beside(c, chosen) or _runs_after(c, chosen)):
            if chosen.is_product and not all(_is_cheap(tape.instrs[k]) for k in c.members):
                continue
            is_too_long = c.steps + chosen.steps >= MAX_MEMBERS
            if is_too_long or (is_bounded and _reads_too_many(chosen, c.foreign)):
                continue
            if chosen.axes is None:
                chosen.axes, chosen.kept = c.axes, c.kept
            chosen.members += c.members  # neither reads a value of the other, since both are open
            for k in c.members:
                home[k] = chosen
                for v in tape.instrs[k].outs:
                    cluster_of[v] = chosen
            chosen.foreign |= c.foreign
            chosen.length += c.length
            chosen.has_edges |= c.has_edges
            c.is_open = False
            c.members = []
    return chosen


def _runs_beside(c: Cluster, chosen: Cluster) -> bool:
    """Whether both are loops over the same space."""
    if c.has_contraction or chosen.has_contraction or c.space != chosen.space:
        return False
    if (c.has_edges or chosen.has_edges) and not c.axes is chosen.axes is None:
        return False
    return c.axes is None or chosen.axes is None or c.axes == chosen.axes


def _runs_after(c: Cluster, chosen: Cluster) -> bool:
    """Whether c maps over the shape that a contraction leaves, so that it can run after it in one kernel.

    After a fold it cannot: the result may be one or a few numbers, and steps on those do not use vector registers.
    """
    is_of_maps = c.kept is None and not c.has_contraction and not c.length
    return chosen.has_contraction and is_of_maps and c.space == chosen.kept


def _sibling(
    instr: Instr, shape: tuple[int, ...], recent: dict[Any, Cluster], near: Sequence[Cluster]
) -> Cluster | None:
    """An open cluster that runs over one of the operands of ``instr`` anyway, and makes none of them."""
    for a in instr.ins:
        c = recent.get((a, shape))
        if (
            c is not None
            and c not in near
            and c.is_open
            and not c.has_contraction
            and c.space == shape
            and c.kept != shape
        ):
            if c.steps + _steps_within(instr) < MAX_MEMBERS and not (_has_edges(instr) and c.axes is not None):
                return c
    return None


def _rewritten(tape: Tape, home: Sequence[Cluster | None], has_many_scalars: bool) -> Tape:
    """Put each cluster at the place of its last member, as one instruction."""
    reads: Counter[Any] = Counter([*tape.outputs, *[a for instr in tape.instrs for a in instr.ins]])
    made: dict[Cluster, Instr] = {}
    for c in dict.fromkeys(home):
        if c is not None and len(c.members) > 1:
            made[c] = _fused_instr([tape.instrs[k] for k in c.members], reads)
    if has_many_scalars:
        _drop_costly(made)
    last = {c: max(c.members) for c in made}
    kept: list[Instr] = []
    for k, (instr, c) in enumerate(zip(tape.instrs, home, strict=True)):
        if c is None or c not in last:
            kept.append(instr)
        elif k == last[c]:
            kept.append(made[c])
    return tape.replace(instrs=tuple(kept))


def _drop_costly(made: dict[Cluster, Instr]) -> None:
    """Leave out the clusters of scalars that would take longer to compile than their steps take to plan one by one.

    Which depends on how many of them are of one kind: it is compiled once.
    """
    kinds: dict[Any, list[Cluster]] = defaultdict(list)
    for c, instr in made.items():
        if c.is_of_scalars:
            kinds[_code_of(instr)].append(c)
    for alike in kinds.values():
        steps = made[alike[0]].params["body"].instrs
        flops = [i.op.cost(*[a.aval for a in i.ins], **i.params) for i in steps]
        if len(alike) * (len(steps) - 1) < A_KERNEL + sum([n * n for n in flops]) // 4:
            for c in alike:
                del made[c]


def _code_of(instr: Instr) -> Any:
    """A key that is equal for fused instructions whose kernels have the same code, but for the places of operands."""
    body = instr.params["body"]
    number: dict[Any, int] = {}

    def of(a: Atom) -> Any:
        if type(a) is Lit and is_in_code(a):
            return a.key
        return number.setdefault(key_of(a), len(number))

    code: list[Any] = []
    for i in body.instrs:
        params = [(k, structure(p) if isinstance(p, Tape) else p) for k, p in i.params.items()]
        code.append((i.op, tuple([of(a) for a in i.ins]), of(i.outs[0]), i.outs[0].aval.dtype, tuple(params)))
    return tuple(code), tuple([of(v) for v in body.outputs])


def _fused_instr(members: Sequence[Instr], reads: Counter[Any]) -> Instr:
    made = {v for i in members for v in i.outs}
    inside: Counter[Any] = Counter([a for i in members for a in i.ins])
    inputs = tuple([a for a in inside if type(a) is Var and a not in made])
    # The result of a small contraction is stored even if no other instruction reads it: that costs nothing, and its
    # kernel is then the same in both cases.
    is_small = members[0].op.kernel.is_contraction and _size(members[0].outs[0].aval.shape) <= SMALL
    stored = set(members[0].outs) if is_small else set()
    outputs = tuple([v for i in members for v in i.outs if reads[v] > inside.get(v, 0) or v in stored])
    body = BODY.replace(inputs=inputs, instrs=tuple(members), outputs=outputs)
    return Instr(fused, inputs, outputs, {"body": body}, members[-1].source)

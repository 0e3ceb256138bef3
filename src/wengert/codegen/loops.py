"""A loop or branch with a small body as one function: LLVM inlines the kernels of the body and optimises the whole.

Carries, intermediate values and small constants lie on the function's stack, which LLVM turns into registers; slices
are read and written in their arrays. A kernel of a body may be such a function itself. :mod:`~wengert.codegen.bodies`
makes a body of a plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from wengert.codegen.ir import Function, Index, Value, least
from wengert.codegen.nests.nest import Nest
from wengert.codegen.specs.spec import Spec
from wengert.codegen.target import Target

INTERRUPTED = "wengert_is_interrupted"
"""The name of the runtime's routine that tells whether a signal's handler raised; the compiler must be given it."""
MORE_ROOM = "wengert_more_room"
"""The name of the runtime's routine that doubles memory: ``more_room(memory, bytes, on_stack)`` returns memory of twice
as many bytes that begins with these, or null if there is none. ``on_stack`` is memory that is not freed."""
FREE = "wengert_free"
STOPPED = -(1 << 31)  # the status of a kernel that was interrupted, as runtime/native/layout.h has it
NO_MEMORY = -5  # the status of one that found no memory, likewise
ITERATIONS = 1 << 16  # the iterations between two checks for an interrupt
FIRST_ITERATIONS, FIRST_BYTES = 32, 1 << 12  # the most whose carries are kept on the stack before memory is asked for

FEW_BYTES = 256  # the most bytes of a carry that is kept on the function's stack
FEW_CONSTANT_BYTES = 64  # the most bytes of a constant that is copied there

COPY = "copy"


class Segment(NamedTuple):
    """A call of a kernel in a body: its operands as (kind of buffer, number, offset), and its sizes. Sizes that are
    None are given at run time, in this order."""

    kernel: Nest | Spec | Scan | While | WhileBack | Switch | Straight | Blocks | str
    places: tuple[tuple[str, int, int], ...]
    sizes: tuple[int | None, ...]
    extent: int | None


class LoweredBody(NamedTuple):
    """The calls that one iteration, or one branch, makes."""

    segments: tuple[Segment, ...]
    arena: int
    """The bytes of all intermediate values."""
    literals: tuple[bytes, ...]
    inputs: tuple[int | None, ...]
    outputs: tuple[int | None, ...]
    """The bytes of each output, as ``inputs`` has those of each input. None: the number is given at run time, before
    the sizes of the segments; an output with None has more than :data:`FEW_BYTES`, and is written over its input."""
    over: tuple[int, ...]
    """The number of the input over which each output is written; or -1."""
    zeroed: tuple[int, ...]
    """The numbers of the outputs that must be zeros when the body begins."""


class Scan(NamedTuple):
    """A loop of a known number of iterations, which does as the runtime's "scan".

    It is called with pointers (constants, first carries, stacks, last carries, stacked results), sizes (length, those
    of the body), and the part of the length to run; parts are run in order."""

    body: LoweredBody
    constants: int
    carries: int
    is_reversed: bool


class While(NamedTuple):
    """A loop that runs while a condition holds.

    It is called with pointers (constants of the condition, constants of the body, first carries, last carries), and the
    sizes of both bodies."""

    condition: LoweredBody
    body: LoweredBody
    of_condition: int
    constants: int
    carries: int


class WhileBack(NamedTuple):
    """The pullback of a :class:`While`, which does as the runtime's "while_back".

    It is called with pointers (constants of the condition, constants of the body, first carries, cotangents of the last
    carries, results), and the sizes of the three bodies. ``back`` takes constants, carries, cotangents and sums, and
    gives sums and cotangents."""

    condition: LoweredBody
    body: LoweredBody
    back: LoweredBody
    of_condition: int
    constants: int
    carries: int
    sums: int


class Switch(NamedTuple):
    """A branch, called with pointers (an int64 that chooses, operands, results), and the sizes of all branches."""

    branches: tuple[LoweredBody, ...]


class Straight(NamedTuple):
    """A body alone: it is called with pointers (inputs, outputs), and the sizes of the body. An output that is written
    over an input has the same pointer, and the caller zeroes those that begin as zeros."""

    body: LoweredBody


class Blocks(NamedTuple):
    """A body that is run on blocks of lanes, of which none depends on another.

    It is called with pointers (operands, results), sizes (the number of lanes; for each operand and result, the bytes
    from one lane to the next; those of the body), and the part of all blocks to run. The last block ends with the last
    lane: it computes some lanes again that the block before has computed."""

    body: LoweredBody
    size: int
    """The lanes of a block; there are no fewer in all."""


Whole = Scan | While | WhileBack | Switch | Straight | Blocks

# ---------------------------------------------------------------------------------------------------------- their code

Text = Callable[[Any, str], str]
"""``text(kernel, name)`` returns the text of an LLVM module with the kernel ``name``."""


def emit(whole: Whole, name: str, target: Target, text: Text) -> str:
    """The text of an LLVM module with the kernel ``name``, to be optimised before it is compiled."""
    return _Writer(name, target, text).module(whole)


def is_to_be_optimised(text: str) -> bool:
    return " alwaysinline " in text


class _Sized(NamedTuple):
    """A body and all its sizes, as numbers or as values that are read at run time."""

    body: LoweredBody
    inputs: list[Index]
    outputs: list[Index]
    segments: list[list[Index]]
    """The sizes and, last, the extent of each segment."""


class _Writer:
    def __init__(self, name: str, target: Target, text: Text) -> None:
        self.f = Function(target)
        self.name = name
        self.text = text
        self._inner: dict[Any, str] = {}
        """The names of the functions in the module, by the kernels that they run."""
        self._functions: list[str] = []
        self._sizes_read = 0
        self._status = ""
        self._cleanup: Callable[[], None] = lambda: None
        """Emits what must be done before the function returns because of an error."""

    def module(self, whole: Whole) -> str:
        f = self.f
        self._status = f.alloca("i32", 1, 4)
        if isinstance(whole, Scan):
            self._scan(whole)
        elif isinstance(whole, While):
            self._while(whole)
        elif isinstance(whole, WhileBack):
            self._while_back(whole)
        elif isinstance(whole, Switch):
            self._switch(whole)
        elif isinstance(whole, Blocks):
            self._blocks(whole)
        else:
            self._straight(whole)
        f.lines.append("  ret i32 0")
        f.start("fail")
        self._cleanup()
        f.lines += [f"  %status = load i32, ptr {self._status}", "  ret i32 %status"]
        return "\n".join([f.kernel(self.name), *self._functions])

    # --------------------------------------------------------------------------------------------------- the kinds

    def _scan(self, scan: Scan) -> None:
        f, body, n, m = self.f, scan.body, scan.constants, scan.carries
        pointers = [self._pointer(k) for k in range(len(body.inputs) + len(body.outputs))]
        length = self._size()
        sized = self._sized(body)
        stacks, last = pointers[n + m : len(body.inputs)], pointers[len(body.inputs) :][:m]
        stacked = pointers[len(body.inputs) + m :]
        begin, end = f.part()
        is_first = begin.eq(0)
        starts = [
            f.pure(f"select {is_first.typed}, ptr {pointers[n + k]}, ptr {last[k]}", "u8", 1).text for k in range(m)
        ]
        constants = [self._constant(p, size) for p, size in zip(pointers[:n], sized.inputs, strict=False)]
        carries = [self._carry(start, p, size) for start, p, size in zip(starts, last, sized.outputs, strict=False)]
        beside = [self._beside(k, carries, sized, n) for k in range(m)]
        run = self._prepared(sized)

        def iteration(i: Value) -> None:
            row = length - 1 - i if scan.is_reversed else i
            slices = [self._moved(p, row, size) for p, size in zip(stacks, sized.inputs[n + m :], strict=True)]
            results = [self._moved(p, row, size) for p, size in zip(stacked, sized.outputs[m:], strict=True)]
            self._zero(sized, [*beside, *results])
            run([*constants, *carries, *slices], [*beside, *results])
            self._advance(carries, beside, sized)
            # The runtime checks between parts of a long loop, but not in a loop within a loop.
            f.when((i & (ITERATIONS - 1)).eq(ITERATIONS - 1), self._leave_if_interrupted)

        f.loop(begin, end, f.constant(1, "i8"), iteration)
        for p, carry, size in zip(last, carries, sized.outputs, strict=False):
            self._copy(p, carry, size)

    def _while(self, loop: While) -> None:
        m, condition, body = loop.carries, self._sized(loop.condition), self._sized(loop.body)
        tests, constants = self._constants([(condition, loop.of_condition), (body, loop.constants)])
        at = loop.of_condition + loop.constants
        first, last = [[self._pointer(at + j * m + k) for k in range(m)] for j in range(2)]
        carries = [self._carry(*x) for x in zip(first, last, body.outputs, strict=True)]
        self._repeat((condition, tests), (body, constants), carries)
        for p, carry, size in zip(last, carries, body.outputs, strict=True):
            self._copy(p, carry, size)

    def _constants(self, of: Sequence[tuple[_Sized, int]]) -> list[list[str]]:
        """The places of the constants of bodies, which stand first among the operands."""
        at, found = 0, list[list[str]]()
        for sized, count in of:
            found.append([self._constant(self._pointer(at + k), sized.inputs[k]) for k in range(count)])
            at += count
        return found

    def _repeat(
        self,
        condition: tuple[_Sized, Sequence[str]],
        body: tuple[_Sized, Sequence[str]],
        carries: Sequence[str],
        each: Callable[[Value], None] | None = None,
    ) -> Value:
        """Emit iterations on ``carries`` while the condition holds, and return their number.

        ``condition`` and ``body`` have their constants beside them. ``each(number)`` emits code at the beginning of
        each iteration."""
        f, (sized, constants) = self.f, body
        beside = [self._beside(k, carries, sized, len(constants)) for k in range(len(carries))]
        flag, count = f.alloca("i8", 1, 1), f.alloca("i64", 1, 8)
        test, run = self._prepared(condition[0]), self._prepared(sized)
        f.effect(f"store i64 0, ptr {count}")
        head, again, look, done = [f.new_label(hint) for hint in ("while", "again", "look", "done")]
        f.branch(head)
        f.start(head)
        with f.scope(is_loop=True):
            self._zero(condition[0], [flag])
            test([*condition[1], *carries], [flag])
            goes_on = f.effect(f"load i8, ptr {flag}", "u1")
            f.branch_if(goes_on.ne(0), again, done)
            f.start(again)
            number = f.effect(f"load i64, ptr {count}", "i8")
            if each is not None:
                each(number)
            self._zero(sized, beside)
            run([*constants, *carries], beside)
            self._advance(carries, beside, sized)
            done_now = number + 1
            f.effect(f"store {done_now.typed}, ptr {count}")
            f.branch_if((done_now & (ITERATIONS - 1)).eq(0), look, head)
            f.start(look)
            self._leave_if_interrupted()
            f.branch(head)
        f.start(done)
        return f.effect(f"load i64, ptr {count}", "i8")

    def _leave_if_interrupted(self) -> None:
        """Emit a return from the function if a signal's handler raised."""
        f = self.f
        f.declarations[INTERRUPTED] = f"declare i32 @{INTERRUPTED}()"
        is_over = f.effect(f"call i32 @{INTERRUPTED}()", "i4").ne(0)
        self._fail_if(is_over, f.constant(STOPPED, "i4"))

    def _fail_if(self, condition: Value, status: Value) -> None:
        f = self.f
        f.effect(f"store {status.typed}, ptr {self._status}")
        fine = f.new_label("fine")
        f.branch_if(condition, "fail", fine)
        f.start(fine)

    def _while_back(self, loop: WhileBack) -> None:
        f, n, m, results = self.f, loop.constants, loop.carries, len(loop.back.outputs)
        condition, body, back = [self._sized(body) for body in (loop.condition, loop.body, loop.back)]
        tests, constants = self._constants([(condition, loop.of_condition), (body, n)])
        at = loop.of_condition + n
        first = [self._pointer(at + k) for k in range(m)]
        given = [self._pointer(at + m + k) for k in range(results - loop.sums)]
        goals = [self._pointer(at + m + len(given) + k) for k in range(results)]
        sizes = [size or 0 for size in loop.body.outputs]  # known, since nothing goes over an input
        offsets = [sum(sizes[:k]) for k in range(m)]
        row = max(1, sum(sizes))
        nbytes = row * max(1, min(FIRST_ITERATIONS, FIRST_BYTES // row))
        on_stack, trail = self._room(nbytes), f.alloca("ptr", 1, 8)
        room = f.alloca("i64", 1, 8)
        f.effect(f"store ptr {on_stack}, ptr {trail}")
        f.effect(f"store i64 {nbytes}, ptr {room}")
        carries = [self._room(size) for size in sizes]
        for carry, start, size in zip(carries, first, sizes, strict=True):
            self._copy(carry, start, size)

        def keep(number: Value) -> None:
            nbytes = f.effect(f"load i64, ptr {room}", "i8")
            f.when(nbytes <= number * row, lambda: self._double(trail, room, on_stack))
            place = self._moved(f.effect(f"load ptr, ptr {trail}", "u8").text, number, row)
            for carry, offset, size in zip(carries, offsets, sizes, strict=True):
                self._copy(self._at(place, offset), carry, size)

        self._cleanup = lambda: self._free(trail, on_stack)
        count = self._repeat((condition, tests), (body, constants), carries, keep)
        moving = [
            self._carry(p, goal, k)
            for p, goal, k in zip(given, goals[loop.sums :], back.outputs[loop.sums :], strict=True)
        ]
        sums = [self._sum(goal, size) for goal, size in zip(goals[: loop.sums], back.outputs, strict=False)]
        memory, first_sum = [*sums, *moving], n + m + len(moving)
        inputs = [first_sum + k if k < loop.sums else n + m + k - loop.sums for k in range(results)]
        beside = [
            memory[k] if loop.back.over[k] == inputs[k] else self._room(loop.back.outputs[k] or 0)
            for k in range(results)
        ]
        run = self._prepared(back)
        kept = f.effect(f"load ptr, ptr {trail}", "u8").text

        def iteration_back(i: Value) -> None:
            place = self._moved(kept, count - 1 - i, row)
            self._zero(back, beside)
            run([*constants, *[self._at(place, offset) for offset in offsets], *moving, *sums], beside)
            self._advance(memory, beside, back)
            f.when((i & (ITERATIONS - 1)).eq(ITERATIONS - 1), self._leave_if_interrupted)

        f.loop(f.constant(0, "i8"), count, f.constant(1, "i8"), iteration_back)
        for goal, place, size in zip(goals, memory, back.outputs, strict=True):
            self._copy(goal, place, size)
        self._cleanup()

    def _sum(self, goal: str, nbytes: Index) -> str:
        """The place of a sum, which begins with zeros."""
        place = self._place(goal, nbytes)
        self._set(place, nbytes)
        return place

    def _double(self, trail: str, room: str, on_stack: str) -> None:
        f = self.f
        f.declarations[MORE_ROOM] = f"declare ptr @{MORE_ROOM}(ptr, i64, ptr)"
        old, nbytes = f.effect(f"load ptr, ptr {trail}", "u8").text, f.effect(f"load i64, ptr {room}", "i8")
        new = f.effect(f"call ptr @{MORE_ROOM}(ptr {old}, {nbytes.typed}, ptr {on_stack})", "u8").text
        self._fail_if(f.effect(f"icmp eq ptr {new}, null", "b1"), f.constant(NO_MEMORY, "i4"))
        f.effect(f"store ptr {new}, ptr {trail}")
        f.effect(f"store {(nbytes * 2).typed}, ptr {room}")

    def _free(self, trail: str, on_stack: str) -> None:
        f = self.f
        f.declarations[FREE] = f"declare void @{FREE}(ptr, ptr)"
        memory = f.effect(f"load ptr, ptr {trail}", "u8").text
        f.effect(f"call void @{FREE}(ptr {memory}, ptr {on_stack})")

    def _switch(self, switch: Switch) -> None:
        f, n = self.f, len(switch.branches)
        which = f.effect(f"load i64, ptr {self._pointer(0)}", "i8")
        inputs = [self._pointer(1 + k) for k in range(len(switch.branches[0].inputs))]
        outputs = [self._pointer(1 + len(inputs) + k) for k in range(len(switch.branches[0].outputs))]
        branches = [self._sized(branch) for branch in switch.branches]
        runs = [self._prepared(branch) for branch in branches]
        labels, done = [f.new_label("branch") for _ in runs], f.new_label("done")
        for k in range(n - 1):  # the index is clipped: the first branch for a smaller one, the last for a larger one
            following = f.new_label("case")
            f.branch_if(which <= k, labels[k], following)
            f.start(following)
        f.branch(labels[-1])
        for branch, label, run in zip(branches, labels, runs, strict=True):
            f.start(label)
            with f.scope():
                self._zero(branch, outputs)
                run(inputs, outputs)
            f.branch(done)
        f.start(done)

    def _straight(self, straight: Straight) -> None:
        body = straight.body
        pointers = [self._pointer(k) for k in range(len(body.inputs) + len(body.outputs))]
        self._prepared(self._sized(body))(pointers[: len(body.inputs)], pointers[len(body.inputs) :])

    def _blocks(self, blocks: Blocks) -> None:
        f, body = self.f, blocks.body
        pointers = [self._pointer(k) for k in range(len(body.inputs) + len(body.outputs))]
        count = self._size()
        steps = [self._size() for _ in pointers]
        sized = self._sized(body)
        run = self._prepared(sized)
        begin, end = f.part()
        last = count - blocks.size

        def one(i: Value) -> None:
            lane = f.index(least(f, i * blocks.size, last))
            here = [self._moved(p, lane, step) for p, step in zip(pointers, steps, strict=True)]
            outputs = here[len(body.inputs) :]
            self._zero(sized, outputs)
            run(here[: len(body.inputs)], outputs)

        f.loop(begin, end, f.constant(1, "i8"), one)

    # ------------------------------------------------------------------------------------------------------- a body

    def _sized(self, body: LoweredBody) -> _Sized:
        """Read the sizes of a body that are given at run time, in the order of
        :func:`~wengert.codegen.bodies.body_of`."""
        inputs, outputs = [[self._size() if n is None else n for n in sizes] for sizes in (body.inputs, body.outputs)]
        known = [(*segment.sizes, segment.extent) for segment in body.segments]
        return _Sized(body, inputs, outputs, [[self._size() if n is None else n for n in sizes] for sizes in known])

    def _prepared(self, sized: _Sized) -> Callable[[Sequence[str], Sequence[str]], None]:
        """Emit the code of a body that is the same in all iterations, and return the function that emits the rest, for
        given inputs and outputs."""
        f, body = self.f, sized.body
        memory = {("arena", 0): self._room(body.arena) if body.arena else "null"}
        for k, data in enumerate(body.literals):
            memory["literal", k] = self._literal(data)
        tables = []
        for segment, numbers in zip(body.segments, sized.segments, strict=True):
            sizes = f.alloca("i64", max(1, len(segment.sizes)), 8)
            for k, number in enumerate(numbers[:-1]):
                place = f.pure(f"getelementptr i64, ptr {sizes}, i64 {k}", "u8", 1).text
                f.effect(f"store {f.index(number).typed}, ptr {place}")
            tables.append((f.alloca("ptr", max(1, len(segment.places)), 8), sizes, f.index(numbers[-1])))

        def run(inputs: Sequence[str], outputs: Sequence[str]) -> None:
            here = {
                **memory,
                **{("input", k): p for k, p in enumerate(inputs)},
                **{("output", k): p for k, p in enumerate(outputs)},
            }
            for segment, (table, sizes, extent) in zip(body.segments, tables, strict=True):
                places = [self._at(here[kind, number], offset) for kind, number, offset in segment.places]
                if segment.kernel == COPY:
                    self._copy_few(places[0], places[1], segment.sizes)
                    continue
                for k, place in enumerate(places):
                    slot = f.pure(f"getelementptr ptr, ptr {table}, i64 {k}", "u8", 1).text
                    f.effect(f"store ptr {place}, ptr {slot}")
                callee = self._callee(segment.kernel)
                status = f.effect(f"call i32 @{callee}(ptr {table}, ptr {sizes}, i64 0, {extent.typed})", "i4")
                self._fail_if(status.ne(0), status)

        return run

    def _callee(self, kernel: Any) -> str:
        """The name of a kernel's function, which the module holds once."""
        if kernel not in self._inner:
            name = self._inner[kernel] = f"{self.name}.{len(self._inner)}"
            for line in self.text(kernel, name).split("\n"):
                self._take(line)
        return self._inner[kernel]

    def _take(self, line: str) -> None:
        """Take over a line of another module."""
        if line.startswith(("declare ", "@")):
            found = re.search(r"@[\w.]+", line)
            assert found is not None
            self.f.declarations[found[0].removeprefix("@")] = line
        elif line.startswith("define "):
            line = re.sub(r"define (internal )?", "define internal ", line.replace(" alwaysinline ", " "))
            self._functions.append(re.sub(r"( alignstack\(\d+\))? #0 \{", " alwaysinline #0 {", line))
        elif not line.startswith(("target ", "attributes ")):
            self._functions.append(line)

    # ------------------------------------------------------------------------------------------------------- memory

    def _pointer(self, k: int) -> str:
        slot = self.f.pure(f"getelementptr ptr, ptr %pointers, i64 {k}", "u8", 1).text
        return self.f.pure(f"load ptr, ptr {slot}", "u8", 1).text

    def _size(self) -> Value:
        slot = self.f.pure(f"getelementptr i64, ptr %sizes, i64 {self._sizes_read}", "u8", 1).text
        self._sizes_read += 1
        return self.f.pure(f"load i64, ptr {slot}", "i8", 1)

    def _room(self, nbytes: int) -> str:
        return self.f.alloca("i8", max(1, nbytes), 64)

    def _literal(self, data: bytes) -> str:
        name = f"{self.name}.literal.{data.hex()}"
        if len(data) > 16:
            name = f"{self.name}.literal{len(self.f.declarations)}"
        text = "".join([f"\\{byte:02X}" for byte in data])
        self.f.declarations[name] = f'@{name} = private constant [{len(data)} x i8] c"{text}", align 64'
        return f"@{name}"

    def _at(self, pointer: str, offset: int) -> str:
        return self.f.pure(f"getelementptr i8, ptr {pointer}, i64 {offset}", "u8", 1).text if offset else pointer

    def _moved(self, pointer: str, row: Value, nbytes: Index) -> str:
        return self.f.pure(f"getelementptr i8, ptr {pointer}, {(row * nbytes).typed}", "u8", 1).text

    def _copy(self, goal: str, source: str, nbytes: Index) -> None:
        if nbytes != 0 and goal != source:
            given = f"ptr {goal}, ptr {source}, {self.f.index(nbytes).typed}, i1 false"
            self._intrinsic("memcpy.p0.p0.i64", "ptr, ptr, i64, i1", given)

    def _zero(self, sized: _Sized, outputs: Sequence[str]) -> None:
        for k in sized.body.zeroed:
            self._set(outputs[k], sized.outputs[k])

    def _set(self, place: str, nbytes: Index) -> None:
        if nbytes != 0:
            given = f"ptr {place}, i8 0, {self.f.index(nbytes).typed}, i1 false"
            self._intrinsic("memset.p0.i64", "ptr, i8, i64, i1", given)

    def _intrinsic(self, name: str, types: str, given: str) -> None:
        self.f.declarations[f"llvm.{name}"] = f"declare void @llvm.{name}({types})"
        self.f.effect(f"call void @llvm.{name}({given})")

    def _constant(self, pointer: str, nbytes: Index) -> str:
        """The place of a constant. A small one is copied to a place where the loop writes nothing, so that LLVM reads
        it once."""
        if not isinstance(nbytes, int) or not 0 < nbytes <= FEW_CONSTANT_BYTES:
            return pointer
        room = self._room(nbytes)
        self._copy(room, pointer, nbytes)
        return room

    def _place(self, last: str, nbytes: Index) -> str:
        """The place of a carry during the loop: on the stack if it is small, else the place ``last`` of its result."""
        return self._room(nbytes) if isinstance(nbytes, int) and nbytes <= FEW_BYTES else last

    def _carry(self, start: str, last: str, nbytes: Index) -> str:
        """The place of a carry during the loop, to which its first value is copied if it is not there already."""
        place = self._place(last, nbytes)
        if place != last:
            self._copy(place, start, nbytes)
        else:
            is_elsewhere = self.f.pure(f"icmp ne ptr {start}, {last}", "b1", 1)
            self.f.when(is_elsewhere, lambda: self._copy(last, start, nbytes))
        return place

    def _beside(self, k: int, carries: Sequence[str], sized: _Sized, first: int) -> str:
        """The place to which an iteration writes a new carry: over the old one if the body allows, else beside it."""
        if sized.body.over[k] == first + k:
            return carries[k]
        return self._room(sized.body.outputs[k] or 0)

    def _advance(self, carries: Sequence[str], beside: Sequence[str], sized: _Sized) -> None:
        for carry, new, size in zip(carries, beside, sized.outputs, strict=False):
            self._copy(carry, new, size)

    def _copy_few(self, source: str, goal: str, sizes: Sequence[int | None]) -> None:
        """Emit a copy with known sizes, as the runtime's "copy" does it: all is read before anything is written."""
        itemsize, ndim, *rows = [s or 0 for s in sizes]
        offsets = [(0, 0)]
        for d in range(ndim):
            extent, here, there = rows[3 * d : 3 * d + 3]
            offsets = [(a + i * here, b + i * there) for a, b in offsets for i in range(extent)]
        kind = f"i{8 * itemsize}"
        read = [self.f.effect(f"load {kind}, ptr {self._at(source, a)}, align 1", "u8").text for a, _ in offsets]
        for x, (_, b) in zip(read, offsets, strict=True):
            self.f.effect(f"store {kind} {x}, ptr {self._at(goal, b)}, align 1")

"""A few kernels, written by hand in LLVM IR, for the tests of the native runtime."""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm

SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_int64),
    ctypes.c_int64,
    ctypes.c_int64,
)

# For i in [begin, end): pointers[1][i] = f(pointers[0][i]). A body defines %y from %x, both double.
LOOP = """
define i32 @{name}(ptr %pointers, ptr %sizes, i64 %begin, i64 %end) {{
entry:
  %xs = load ptr, ptr %pointers
  %second = getelementptr ptr, ptr %pointers, i64 1
  %ys = load ptr, ptr %second
  %is_empty = icmp sge i64 %begin, %end
  br i1 %is_empty, label %done, label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %at_x = getelementptr double, ptr %xs, i64 %i
  %x = load double, ptr %at_x
  {body}
  %at_y = getelementptr double, ptr %ys, i64 %i
  store double %y, ptr %at_y
  %next = add i64 %i, 1
  %is_done = icmp sge i64 %next, %end
  br i1 %is_done, label %done, label %loop
done:
  ret i32 0
}}
"""

SOURCES = {
    "double": LOOP.format(name="double", body="%y = fmul double %x, 2.0"),
    "increment": LOOP.format(name="increment", body="%y = fadd double %x, 1.0"),
    # takes 2 ms an element, and sends this process SIGINT at element 3
    "interrupted": LOOP.format(
        name="interrupted",
        body="""%y = fadd double %x, 1.0
  %slept = call i32 @usleep(i32 2000)
  %is_fourth = icmp eq i64 %i, 3
  %signal = select i1 %is_fourth, i32 2, i32 0
  %raised = call i32 @raise(i32 %signal)""",
    )
    + "declare i32 @usleep(i32)\ndeclare i32 @raise(i32)",
    "nothing": "define i32 @nothing(ptr %p, ptr %s, i64 %b, i64 %e) { ret i32 0 }",
    "fail": "define i32 @fail(ptr %p, ptr %s, i64 %b, i64 %e) { ret i32 7 }",
    # pointers[0], an int64, becomes sizes[0]
    "store_size": """define i32 @store_size(ptr %p, ptr %s, i64 %b, i64 %e) {
  %to = load ptr, ptr %p
  %value = load i64, ptr %s
  store i64 %value, ptr %to
  ret i32 0
}""",
    # pointers[0] += 1, pointers[1] = pointers[0] < sizes[0]; int64 and one byte
    "count_below": """define i32 @count_below(ptr %p, ptr %s, i64 %b, i64 %e) {
  %counter = load ptr, ptr %p
  %second = getelementptr ptr, ptr %p, i64 1
  %flag = load ptr, ptr %second
  %n = load i64, ptr %counter
  %more = add i64 %n, 1
  store i64 %more, ptr %counter
  %limit = load i64, ptr %s
  %is_below = icmp slt i64 %more, %limit
  %byte = zext i1 %is_below to i8
  store i8 %byte, ptr %flag
  ret i32 0
}""",
    # pointers[0], an int64, grows by one, atomically: counts calls
    "count_calls": """define i32 @count_calls(ptr %p, ptr %s, i64 %b, i64 %e) {
  %counter = load ptr, ptr %p
  %old = atomicrmw add ptr %counter, i64 1 seq_cst
  ret i32 0
}""",
    # returns 3 where an element of [begin, end) is negative
    "refuse_negative": LOOP.format(name="refuse_negative", body="%y = fadd double %x, 0.0")
    .replace(
        "%is_done = icmp sge i64 %next, %end\n  br i1 %is_done, label %done, label %loop",
        "%is_done = icmp sge i64 %next, %end\n  %is_bad = fcmp olt double %x, 0.0\n"
        "  br i1 %is_bad, label %bad, label %on\nbad:\n  ret i32 3\non:\n"
        "  br i1 %is_done, label %done, label %loop",
    )
    .replace("[ %next, %loop ]", "[ %next, %on ]"),
}


@cache
def _engine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    module = llvm.parse_assembly("\n".join(SOURCES.values()))
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


def address(name: str) -> int:
    """Where the machine code of a kernel lies; it stays there."""
    return _engine().get_function_address(name)


_alive: list[Any] = []


def python_kernel(f: Callable[[Any, Any, int, int], int]) -> int:
    """The address of a kernel that is a Python function."""
    _alive.append(SIGNATURE(f))
    return ctypes.cast(_alive[-1], ctypes.c_void_p).value or 0

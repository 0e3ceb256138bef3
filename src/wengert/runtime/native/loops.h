// Loops as kernels: the program of a body, run again and again; see loops.cpp.
#pragma once

#include "layout.h"

namespace wengert {

// pointers (constants, first carries, stacks, last carries, stacked results), sizes (address of the body's Executable,
// constants, carries, length, whether it runs backwards); the extent is the length, and parts go in order. The body's
// inputs are constants, carries and slices, its outputs carries and slices; it has kernels, branches and loops alone.
Kernel run_scan;

// pointers (constants of the condition, of the body, first carries, cotangents of the last, results), sizes (addresses
// of the condition's Executable, the body's, and that of one iteration back; constants of the condition, of the body,
// carries, cotangents, sums): runs the loop, keeping its carries, and then its iterations backwards. One iteration back takes
// constants, carries, cotangents and sums, and gives sums and cotangents, which are the results.
Kernel run_while_back;
// Now and then, whether Python wants a loop to end: an error is set then.
int32_t is_interrupted();
// Memory of twice as many bytes that begins with those of `memory`, which is freed unless it is the caller's, on the
// stack; nullptr: there is none, and nothing was freed.
char *more_room(char *memory, int64_t nbytes, const char *on_stack);
void free_room(char *memory, const char *on_stack);
void free_loop_memory(Executable &code);

} // namespace wengert

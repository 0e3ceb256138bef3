// Programs as functions of C; see c_function.cpp.
#pragma once

#include "layout.h"

namespace wengert {

// A capsule that owns what `data` of the functions below is, and its address: (capsule, address). The arrays are those
// that were read-only when the program was made, which steps were done by then. With the GIL held.
PyObject *for_c(PyObject *executable, PyObject *read_only);

// The address of one of the functions that C code calls, by its name; nullptr: there is none.
void *c_function(const char *name);

} // namespace wengert

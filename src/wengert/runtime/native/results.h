// The memory of large results; see results.cpp.
#pragma once

#include <Python.h>

#include <cstddef>

namespace wengert {

struct Operand;

bool make_results_handler();                        // once; false: a Python error is set
bool is_large(const Operand &operand);              // whether its memory is kept
PyObject *new_large_array(const Operand &operand);  // an array that owns its memory, as any of NumPy's
size_t kept_bytes();                                // what dropped results have left

} // namespace wengert

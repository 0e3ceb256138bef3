// The compiled loops of ufuncs as kernels; see ufuncs.cpp.
#pragma once

#include "layout.h"

#include <string_view>

namespace wengert {

// A loop as NumPy has it (PyUFuncGenericFunction), and what it is given with each call.
struct UfuncLoop {
    void *function = nullptr; // nullptr: there is none
    void *data = nullptr;
};

UfuncLoop loop_of(PyObject *ufunc, int64_t number); // the loop of its `types[number]`

// elements: pointers are those of the arguments that lie in memory; sizes (function, data, n arguments, how many of
// them are read, n dimensions, extents, and of each argument: the number of its pointer or -1, its itemsize in the
// loop, the number of its conversion, strides in bytes); the extent is the number of elements.
// stacks: sizes (function, data, n arguments, n core dimensions, n core strides, is checked, how many
// doubles of argument 0 must be finite, core dimensions, of each argument its stride in bytes from one item of the
// stack to the next, core strides as NumPy has them); the extent is the number of items. If it is checked, a floating-point exception "invalid" is a status: so the loops of numpy.linalg
// say that they have failed.
// transforms: the loops of numpy.fft along one axis; pointers (x, y), sizes (function, data, n read, n written, strides
// in bytes along the axis of x and y, what follows, the bits of the factor, is single, n dimensions, extents, strides of
// x, strides of y); the extent is the number of lines. What follows is a sum: 1 the line is completed by the conjugates
// of its first half, 2 its numbers are conjugated, 4 all but the first are reversed.
Kernel *ufunc_kernel(std::string_view name); // nullptr: there is none

} // namespace wengert

// Sorting as kernels; see sorting.cpp.
#pragma once

#include "layout.h"

#include <string_view>

namespace wengert {

// sort_T: pointers (x, values, work), argsort_T: (x, places, work), sizes (n, inner): along an axis of length n, with
// `inner` elements behind each of it; the extent is the number of rows. T is f64, f32, i64, i32 or b1. The work area
// has 4 n numbers of 64 bits.
Kernel *sorting_kernel(std::string_view name); // nullptr: there is none

} // namespace wengert

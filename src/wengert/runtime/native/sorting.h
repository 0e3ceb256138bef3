// Sorting as kernels; see sorting.cpp.
#pragma once

#include "layout.h"

#include <string_view>

namespace wengert {

// sort_T: pointers (x, values), argsort_T: (x, places, work), sizes (n, inner): along an axis of length n, with `inner`
// elements behind each of it; the extent is the number of rows. T is f64, f32, i64, i32 or b1. The work area is that of
// 4 n elements of x. Values are sorted up to n = 160, and booleans of any number.
// argselect_T: as argsort_T, sizes (n, inner, m, ranks), which ascend: the places of these alone; with a NaN among the
// elements, the place of the last for all. T is not b1.
Kernel *sorting_kernel(std::string_view name); // nullptr: there is none

} // namespace wengert

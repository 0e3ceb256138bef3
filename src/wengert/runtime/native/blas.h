// BLAS and LAPACK as kernels; see blas.cpp.
#pragma once

#include "layout.h"

#include <string_view>

namespace wengert {

bool set_routine(std::string_view name, void *address); // before any program runs; false: no such routine is used
Kernel *named_kernel(std::string_view name);            // nullptr: there is none
int64_t work_bytes(std::string_view name, int64_t n);

} // namespace wengert

// Fourier transforms as kernels; see fourier.cpp.
#pragma once

#include "layout.h"

#include <string_view>

namespace wengert {

// Makes the tables for a length by its logarithm; false: it is none that the kernels take.
bool prepare_fourier(int64_t logarithm);
Kernel *fourier_kernel(std::string_view name); // nullptr: there is none

} // namespace wengert

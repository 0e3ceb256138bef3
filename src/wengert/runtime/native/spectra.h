// Spectra of small matrices as kernels; see spectra.cpp.
#pragma once

#include "layout.h"

namespace wengert {

constexpr int MOST_ROWS = 16;

// pointers (A, w, V), sizes (n, batch, lower), n up to MOST_ROWS: A = V diag(w) Vᵀ, of one triangle of A.
Kernel jacobi_f64, jacobi_f32;

} // namespace wengert

// LU factors of small matrices, and what is made of them; see factors.cpp.
#pragma once

namespace wengert {

constexpr int FEW_ROWS = 24; // of more, LAPACK is sooner done

// `lu` holds a matrix by columns, which becomes its factors; `pivots` are LAPACK's: from 1, the row exchanged with each.
void factor_few(double *lu, int *pivots, int n);
void factor_few(float *lu, int *pivots, int n);

// x[n, k], by rows, becomes A⁻¹ x, or A⁻ᵀ x.
void solve_few(const double *lu, const int *pivots, double *x, int n, long k, bool is_transposed);
void solve_few(const float *lu, const int *pivots, float *x, int n, long k, bool is_transposed);

} // namespace wengert

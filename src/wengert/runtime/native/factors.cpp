// LU factors of small matrices with partial pivoting, and triangular solutions by them, without what a call of LAPACK
// takes. Source: Golub & Van Loan, Matrix Computations, algorithms 3.4.1 and 3.1.1; the pivots are LAPACK's.
#include "factors.h"

#include "processors.h"

#include <algorithm>
#include <cmath>

namespace wengert {

namespace {

template <class T> INLINED void less(T *y, const T *x, T factor, long n) { // y -= factor x
    IN_ANY_ORDER
    for (long i = 0; i < n; i++) y[i] -= factor * x[i];
}

template <class T> INLINED void factor(T *lu, int *pivots, int n) {
    for (int k = 0; k < n; k++) {
        T *column = lu + k * n;
        int at = k;
        T largest = std::abs(column[k]);
        for (int i = k + 1; i < n; i++)
            if (std::abs(column[i]) > largest) largest = std::abs(column[i]), at = i;
        pivots[k] = at + 1;
        if (column[at] == 0) continue;
        if (at != k)
            for (int j = 0; j < n; j++) std::swap(lu[j * n + k], lu[j * n + at]);
        const T pivot = column[k];
        for (int i = k + 1; i < n; i++) column[i] /= pivot;
        for (int j = k + 1; j < n; j++) less(lu + j * n + k + 1, column + k + 1, lu[j * n + k], n - k - 1);
    }
}

template <class T> INLINED T product(const T *x, const T *y, int n) {
    T sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

// Of one right-hand side, along the columns of the factors.
template <class T> INLINED void solve_one(const T *lu, const int *pivots, T *x, int n, bool is_transposed) {
    if (is_transposed) {
        for (int k = 0; k < n; k++) x[k] = (x[k] - product(lu + k * n, x, k)) / lu[k * n + k];
        for (int k = n - 1; k >= 0; k--) x[k] -= product(lu + k * n + k + 1, x + k + 1, n - k - 1);
        for (int k = n - 1; k >= 0; k--) std::swap(x[k], x[pivots[k] - 1]);
        return;
    }
    for (int k = 0; k < n; k++) std::swap(x[k], x[pivots[k] - 1]);
    for (int k = 0; k < n; k++) less(x + k + 1, lu + k * n + k + 1, x[k], n - k - 1);
    for (int k = n - 1; k >= 0; k--) {
        x[k] /= lu[k * n + k];
        less(x, lu + k * n, x[k], k);
    }
}

template <class T> INLINED void exchange(T *x, int k, int at, long n_columns) {
    if (at != k) std::swap_ranges(x + k * n_columns, x + (k + 1) * n_columns, x + at * n_columns);
}

// Of several, along their rows.
template <class T> INLINED void solve(const T *lu, const int *pivots, T *x, int n, long m, bool is_transposed) {
    if (m == 1) return solve_one(lu, pivots, x, n, is_transposed);
    if (is_transposed) {
        for (int k = 0; k < n; k++) {
            for (int i = 0; i < k; i++) less(x + k * m, x + i * m, lu[k * n + i], m);
            for (long j = 0; j < m; j++) x[k * m + j] /= lu[k * n + k];
        }
        for (int k = n - 1; k >= 0; k--)
            for (int i = k + 1; i < n; i++) less(x + k * m, x + i * m, lu[k * n + i], m);
        for (int k = n - 1; k >= 0; k--) exchange(x, k, pivots[k] - 1, m);
        return;
    }
    for (int k = 0; k < n; k++) exchange(x, k, pivots[k] - 1, m);
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++) less(x + i * m, x + k * m, lu[k * n + i], m);
    for (int k = n - 1; k >= 0; k--) {
        for (long j = 0; j < m; j++) x[k * m + j] /= lu[k * n + k];
        for (int i = 0; i < k; i++) less(x + i * m, x + k * m, lu[k * n + i], m);
    }
}

} // namespace

#define WENGERT_FACTORS(T)                                                                                             \
    FOR_EACH_PROCESSOR void factor_few(T *lu, int *pivots, int n) { factor<T>(lu, pivots, n); }                        \
    FOR_EACH_PROCESSOR void solve_few(const T *lu, const int *pivots, T *x, int n, long m, bool is_transposed) {       \
        solve<T>(lu, pivots, x, n, m, is_transposed);                                                                  \
    }

WENGERT_FACTORS(double)
WENGERT_FACTORS(float)

} // namespace wengert

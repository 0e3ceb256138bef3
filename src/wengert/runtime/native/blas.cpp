// Kernels that are calls of BLAS and LAPACK, for arrays in C order. The routines' addresses are given once, by Python,
// from scipy.linalg.cython_blas and cython_lapack; whatever library SciPy was built with does the work.
//
// Called like every kernel: from any thread, without the GIL, allocating nothing. What a routine needs beside its
// operands is an operand too, the work area, of `work_bytes`; so the parts of a step that has one are run one after the
// other (its grain is negative).
// A status > 0 is LAPACK's info: the matrix is singular, or not positive definite. Statuses < 0 are named below.
#include "blas.h"

#include "factors.h"
#include "spectra.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <complex>
#include <cstring>
#include <type_traits>

namespace wengert {

namespace {

constexpr int64_t QR_ROWS = 66; // of n + 1 numbers, in the work area of qr: so has ops/linalg/factorisations.py

enum Status : int32_t {
    done = 0,
    no_routine = -1, // set_routines was not given it
    no_layout = -2,  // strides that BLAS does not know
    too_large = -3,  // for the int of this BLAS
    inaccurate = -4, // cofactors by way of the inverse
};

// Row-major C[m, n] is, to BLAS, the column-major matrix Cᵀ; so everything below is written for the transposes.
template <class T> struct Routines {
    void (*gemm)(const char *, const char *, int *, int *, int *, T *, const T *, int *, const T *, int *, T *, T *,
                 int *) = nullptr;
    void (*syrk)(const char *, const char *, int *, int *, T *, const T *, int *, T *, T *, int *) = nullptr;
    void (*gemv)(const char *, int *, int *, T *, const T *, int *, const T *, int *, T *, T *, int *) = nullptr;
    void (*trsm)(const char *, const char *, const char *, const char *, int *, int *, T *, const T *, int *, T *,
                 int *) = nullptr;
    void (*potrf)(const char *, int *, T *, int *, int *) = nullptr;
    void (*getrf)(int *, int *, T *, int *, int *, int *) = nullptr;
    void (*syevd)(const char *, const char *, int *, T *, int *, T *, T *, int *, int *, int *, int *) = nullptr;
    void (*geqrf)(int *, int *, T *, int *, T *, T *, int *, int *) = nullptr;
    void (*orgqr)(int *, int *, int *, T *, int *, const T *, T *, int *, int *) = nullptr; // ungqr of complex numbers
};

template <class T> Routines<T> kept;
template <class T> const Routines<T> &routines() { return kept<T>; }

using Complex = std::complex<double>;
using ComplexOfFloats = std::complex<float>;

template <class T> struct RealOf {
    using type = T;
};
template <class T> struct RealOf<std::complex<T>> {
    using type = T;
};
template <class T> using Real = typename RealOf<T>::type;
template <class T> constexpr bool is_real = std::is_same_v<T, Real<T>>;

bool fits_int(std::initializer_list<int64_t> values) {
    return std::all_of(values.begin(), values.end(), [](int64_t v) { return v >= INT_MIN && v <= INT_MAX; });
}

// -------------------------------------------------------------------------------------------------------- products

// A row-major matrix as BLAS reads it: 'N' where its memory is its transpose in column-major order, 'T' where it is
// itself. An axis of length 1 has whatever stride is convenient.
struct Layout {
    char op = 0; // 0: neither stride is 1
    int64_t leading = 0;

    Layout(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
        if ((column_stride == 1 || columns == 1) && (rows == 1 || row_stride >= columns))
            op = 'N', leading = rows == 1 ? columns : row_stride;
        else if ((row_stride == 1 || rows == 1) && (columns == 1 || column_stride >= rows))
            op = 'T', leading = columns == 1 ? rows : column_stride;
    }
};

enum GemmSize {
    M, N, K, A_ROW, A_COLUMN, B_ROW, B_COLUMN, C_ROW, BATCH, A_BATCH, B_BATCH, C_BATCH, ACCUMULATE, BLOCK_ROWS,
    BLOCK_COLUMNS, A_OUTER, B_OUTER, C_OUTER // the strides from one batch of BATCH products to the next
};

// y[m] = A[m, k] x[k] (+ y): the strides of x and y are free, but not 0 or negative.
template <class T>
int32_t gemv(const Layout &layout, int64_t m, int64_t k, const T *a, const T *x, int64_t x_stride, T *y,
             int64_t y_stride, bool accumulate) {
    if (k == 1) x_stride = 1;
    if (m == 1) y_stride = 1;
    if (x_stride <= 0 || y_stride <= 0) return no_layout;
    if (!fits_int({m, k, layout.leading, x_stride, y_stride})) return too_large;
    const bool is_transposed = layout.op == 'N'; // its memory is Aᵀ[k, m]
    int rows = static_cast<int>(is_transposed ? k : m), columns = static_cast<int>(is_transposed ? m : k);
    int leading = static_cast<int>(layout.leading), x_step = static_cast<int>(x_stride);
    int y_step = static_cast<int>(y_stride);
    T one = 1, beta = accumulate ? T(1) : T(0);
    if (!accumulate) // some BLAS multiply y by 0, and what lies there may be NaN
        for (int64_t i = 0; i < m; i++) y[i * y_stride] = 0;
    routines<T>().gemv(is_transposed ? "T" : "N", &rows, &columns, &one, a, &leading, x, &x_step, &beta, y, &y_step);
    return done;
}

// c[m, m] = a[m, k] aᵀ: one triangle is computed, and copied to the other.
template <class T> void multiply_by_its_transpose(const Layout &layout, int m, int k, const T *a, T *c, int leading) {
    int a_leading = static_cast<int>(layout.leading);
    T one = 1, zero = 0;
    routines<T>().syrk("U", layout.op == 'N' ? "T" : "N", &m, &k, &one, a, &a_leading, &zero, c, &leading);
    constexpr int TILE = 16; // both sides of a tile stay in the nearest cache
    for (int i0 = 0; i0 < m; i0 += TILE)
        for (int j0 = 0; j0 <= i0; j0 += TILE)
            for (int i = i0; i < std::min(i0 + TILE, m); i++)
                for (int j = j0; j < std::min(j0 + TILE, i); j++)
                    c[int64_t(j) * leading + i] = c[int64_t(i) * leading + j];
}

// A block of one product of the batch: c[m, n] = a[m, k] b[k, n].
template <class T>
int32_t multiply(const T *a, const T *b, T *c, int64_t m, int64_t n, const int64_t *sizes) {
    const int64_t k = sizes[K];
    const bool accumulate = sizes[ACCUMULATE] != 0;
    if (k == 0) {
        if (!accumulate)
            for (int64_t i = 0; i < m; i++) std::fill_n(c + i * sizes[C_ROW], n, T(0));
        return done;
    }
    // Which routine is chosen by the whole product, so that a block gets the bits it gets whoever computes it.
    if (sizes[N] == 1) {
        const Layout layout(m, k, sizes[A_ROW], sizes[A_COLUMN]);
        if (layout.op != 0) return gemv(layout, m, k, a, b, sizes[B_ROW], c, sizes[C_ROW], accumulate);
        return no_layout;
    }
    const Layout b_layout(k, n, sizes[B_ROW], sizes[B_COLUMN]);
    if (b_layout.op == 0) return no_layout;
    if (sizes[M] == 1) { // cᵀ = Bᵀ aᵀ
        const Layout transposed(n, k, sizes[B_COLUMN], sizes[B_ROW]);
        return gemv(transposed, n, k, b, a, sizes[A_COLUMN], c, 1, accumulate);
    }
    const Layout a_layout(m, k, sizes[A_ROW], sizes[A_COLUMN]);
    if (a_layout.op == 0 || (m > 1 && sizes[C_ROW] < n)) return no_layout;
    const int64_t c_leading = m == 1 ? n : sizes[C_ROW];
    if (!fits_int({m, n, k, a_layout.leading, b_layout.leading, c_leading})) return too_large;
    const bool is_whole = m == sizes[M] && n == sizes[N];
    if (a == b && is_whole && m == n && sizes[A_ROW] == sizes[B_COLUMN] && sizes[A_COLUMN] == sizes[B_ROW] &&
        !accumulate) {
        multiply_by_its_transpose(a_layout, static_cast<int>(m), static_cast<int>(k), a, c,
                                  static_cast<int>(c_leading));
        return done;
    }
    int rows = static_cast<int>(n), columns = static_cast<int>(m), inner = static_cast<int>(k);
    int lda = static_cast<int>(b_layout.leading), ldb = static_cast<int>(a_layout.leading);
    int ldc = static_cast<int>(c_leading);
    T one = 1, beta = accumulate ? T(1) : T(0);
    routines<T>().gemm(&b_layout.op, &a_layout.op, &rows, &columns, &inner, &one, b, &lda, a, &ldb, &beta, c, &ldc);
    return done;
}

template <class T> int32_t gemm(char *const *pointers, const int64_t *sizes, int64_t begin, int64_t end) {
    const Routines<T> &known = routines<T>();
    if (known.gemm == nullptr || known.gemv == nullptr || known.syrk == nullptr) return no_routine;
    const int64_t m = sizes[M], n = sizes[N];
    if (m == 0 || n == 0) return done;
    const int64_t rows = sizes[BLOCK_ROWS] > 0 ? sizes[BLOCK_ROWS] : m;
    const int64_t columns = sizes[BLOCK_COLUMNS] > 0 ? sizes[BLOCK_COLUMNS] : n;
    const int64_t batch = std::max<int64_t>(1, sizes[BATCH]);
    const int64_t n_across = (n + columns - 1) / columns, n_blocks = (m + rows - 1) / rows * n_across;
    const T *a = reinterpret_cast<const T *>(pointers[0]), *b = reinterpret_cast<const T *>(pointers[1]);
    T *c = reinterpret_cast<T *>(pointers[2]);
    for (int64_t i = begin; i < end; i++) {
        const int64_t item = i / n_blocks, row = i % n_blocks / n_across * rows, column = i % n_across * columns;
        const int64_t outer = item / batch, inner = item % batch;
        const int64_t a_at = outer * sizes[A_OUTER] + inner * sizes[A_BATCH] + row * sizes[A_ROW];
        const int64_t b_at = outer * sizes[B_OUTER] + inner * sizes[B_BATCH] + column * sizes[B_COLUMN];
        const int64_t c_at = outer * sizes[C_OUTER] + inner * sizes[C_BATCH] + row * sizes[C_ROW] + column;
        const int32_t status = multiply(a + a_at, b + b_at, c + c_at, std::min(rows, m - row),
                                        std::min(columns, n - column), sizes);
        if (status != done) return status;
    }
    return done;
}

// -------------------------------------------------------------------------------------------------- factorisations

// pointers (A, L), sizes (n, batch): L Lᵀ = A from the lower triangle of A; the upper triangle of L is zero.
template <class T> int32_t potrf(char *const *pointers, const int64_t *sizes, int64_t begin, int64_t end) {
    if (routines<T>().potrf == nullptr) return no_routine;
    const int64_t n = sizes[0];
    if (!fits_int({n})) return too_large;
    int order = static_cast<int>(n), info = 0;
    for (int64_t item = begin; item < end && n > 0; item++) {
        const T *a = reinterpret_cast<const T *>(pointers[0]) + item * n * n;
        T *lower = reinterpret_cast<T *>(pointers[1]) + item * n * n;
        for (int64_t i = 0; i < n; i++) {
            std::memmove(lower + i * n, a + i * n, (i + 1) * sizeof(T));
            std::fill(lower + i * n + i + 1, lower + (i + 1) * n, T(0));
        }
        routines<T>().potrf("U", &order, lower, &order, &info); // our lower triangle is its upper one
        if (info != 0) return info;
    }
    return done;
}

// A[n, m] of the batch, transposed: what LAPACK calls A.
template <class T> void transpose(const T *a, T *t, int64_t n, int64_t m) {
    constexpr int64_t TILE = 16; // both sides of a tile stay in the nearest cache
    for (int64_t i0 = 0; i0 < n; i0 += TILE)
        for (int64_t j0 = 0; j0 < m; j0 += TILE)
            for (int64_t i = i0; i < std::min(i0 + TILE, n); i++)
                for (int64_t j = j0; j < std::min(j0 + TILE, m); j++) t[j * n + i] = a[i * m + j];
}

// ------------------------------------------------------------------------------------------------------ LU factors
//
// They lie as LAPACK has them, by columns; what is solved lies by rows, so it is, to LAPACK, a row from the right.

template <class T> const T *at(char *memory, int64_t item, int64_t size) {
    return reinterpret_cast<const T *>(memory) + item * size;
}
template <class T> T *to(char *memory, int64_t item, int64_t size) {
    return reinterpret_cast<T *>(memory) + item * size;
}

template <class T> void factor(const T *a, T *lu, int *pivots, int64_t n) {
    if (n == 0) return; // LAPACK says on stderr that a leading dimension of 0 is wrong
    transpose(a, lu, n, n);
    int order = static_cast<int>(n), info = 0; // a zero among the pivots is found by who divides by them
    if constexpr (is_real<T>)
        if (n <= FEW_ROWS) return factor_few(lu, pivots, order);
    routines<T>().getrf(&order, &order, lu, &order, pivots, &info);
}

// pointers (A, factors, pivots), sizes (n, batch)
template <class T> int32_t getrf(char *const *p, const int64_t *sizes, int64_t begin, int64_t end) {
    if (routines<T>().getrf == nullptr) return no_routine;
    const int64_t n = sizes[0];
    if (!fits_int({n})) return too_large;
    for (int64_t item = begin; item < end; item++)
        factor(at<T>(p[0], item, n * n), to<T>(p[1], item, n * n), to<int>(p[2], item, n), n);
    return done;
}

template <class T> int32_t zero_pivot(const T *lu, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (lu[i * n + i] == T(0)) return static_cast<int32_t>(i + 1);
    return done;
}

template <class T> void exchange_rows(T *x, const int *pivots, int64_t n, int64_t k, bool is_backwards) {
    for (int64_t step = 0; step < n; step++) {
        const int64_t i = is_backwards ? n - 1 - step : step, other = pivots[i] - 1;
        if (other != i) std::swap_ranges(x + i * k, x + (i + 1) * k, x + other * k);
    }
}

// x[n, k] becomes A⁻¹ x, or A⁻ᵀ x, A being P L U.
template <class T> void solve(const T *lu, const int *pivots, T *x, int64_t n, int64_t k, bool is_transposed) {
    int order = static_cast<int>(n), columns = static_cast<int>(k);
    if constexpr (is_real<T>)
        if (n <= FEW_ROWS) return solve_few(lu, pivots, x, order, k, is_transposed);
    T one = 1;
    // One right-hand side is a column as well, from the left.
    const char *side = k == 1 ? "L" : "R", *op = (k == 1) == is_transposed ? "T" : "N";
    int *m = k == 1 ? &order : &columns, *of = k == 1 ? &columns : &order;
    const auto divide = [&](const char *triangle, const char *diagonal) {
        routines<T>().trsm(side, triangle, op, diagonal, m, of, &one, lu, &order, x, m);
    };
    if (!is_transposed) exchange_rows(x, pivots, n, k, false);
    is_transposed ? divide("U", "N") : divide("L", "U");
    is_transposed ? divide("L", "U") : divide("U", "N");
    if (is_transposed) exchange_rows(x, pivots, n, k, true);
}

// pointers (factors, pivots, B, X), sizes (n, k, batch, transpose)
template <class T> int32_t getrs(char *const *p, const int64_t *sizes, int64_t begin, int64_t end) {
    if (routines<T>().trsm == nullptr) return no_routine;
    const int64_t n = sizes[0], k = sizes[1];
    if (!fits_int({n, k})) return too_large;
    if (n == 0 || k == 0) return done;
    for (int64_t item = begin; item < end; item++) {
        const T *lu = at<T>(p[0], item, n * n), *b = at<T>(p[2], item, n * k);
        T *x = to<T>(p[3], item, n * k);
        if (const int32_t info = zero_pivot(lu, n); info != done) return info;
        if (x != b) std::memcpy(x, b, n * k * sizeof(T));
        solve(lu, at<int>(p[1], item, n), x, n, k, sizes[3] != 0);
    }
    return done;
}

// By rows A⁻¹, which is by columns A⁻ᵀ = P L⁻ᵀ U⁻ᵀ: of L⁻ᵀ, a triangle, block by block as far as it is not zero.
template <class T> void invert(const T *lu, const int *pivots, T *x, int64_t n) {
    std::fill_n(x, n * n, T(0));
    for (int64_t i = 0; i < n; i++) x[i * n + i] = 1;
    if (n <= FEW_ROWS) return solve(lu, pivots, x, n, n, false);
    int order = static_cast<int>(n);
    T one = 1;
    constexpr int64_t COLUMNS = 48;
    for (int64_t j = 0; j < n; j += COLUMNS) {
        int rows = static_cast<int>(std::min(j + COLUMNS, n)), columns = static_cast<int>(rows - j);
        routines<T>().trsm("L", "L", "T", "U", &rows, &columns, &one, lu, &order, x + j * n, &order);
    }
    routines<T>().trsm("R", "U", "T", "N", &order, &order, &one, lu, &order, x, &order);
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = n - 1; i >= 0; i--) std::swap(x[r * n + i], x[r * n + pivots[i] - 1]);
}

// pointers (factors, pivots, X), sizes (n, batch)
template <class T> int32_t getri(char *const *p, const int64_t *sizes, int64_t begin, int64_t end) {
    if (routines<T>().trsm == nullptr) return no_routine;
    const int64_t n = sizes[0];
    if (!fits_int({n})) return too_large;
    for (int64_t item = begin; item < end; item++) {
        const T *lu = at<T>(p[0], item, n * n);
        if (const int32_t info = zero_pivot(lu, n); info != done) return info;
        invert(lu, at<int>(p[1], item, n), to<T>(p[2], item, n * n), n);
    }
    return done;
}

// The sign and the logarithm of the absolute value of a determinant; of a singular matrix 0 and -inf.
template <class T> void determinant(const T *lu, const int *pivots, int64_t n, T &sign, Real<T> &logarithm) {
    sign = 1;
    logarithm = 0;
    if (zero_pivot(lu, n) != done) {
        sign = 0;
        logarithm = -INFINITY;
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const T pivot = lu[i * n + i];
        const Real<T> size = std::abs(pivot);
        if constexpr (is_real<T>) {
            if ((pivots[i] != i + 1) != (pivot < 0)) sign = -sign;
        } else {
            sign *= (pivots[i] != i + 1 ? -pivot : pivot) / size;
        }
        logarithm += std::log(size);
    }
}

// pointers (factors, pivots, sign, log), sizes (n, batch)
template <class T> int32_t slogdet(char *const *p, const int64_t *sizes, int64_t begin, int64_t end) {
    const int64_t n = sizes[0];
    for (int64_t item = begin; item < end; item++)
        determinant(at<T>(p[0], item, n * n), at<int>(p[1], item, n), n, *to<T>(p[2], item, 1),
                    *to<Real<T>>(p[3], item, 1));
    return done;
}

// A work area: a matrix, another, pivots.
template <class T> struct Work {
    T *matrix, *other;
    int *pivots;

    Work(char *memory, int64_t n, int64_t n_others)
        : matrix(reinterpret_cast<T *>(memory)), other(matrix + n * n),
          pivots(reinterpret_cast<int *>(other + n * n * n_others)) {}
};

// pointers (A, det, work), sizes (n, batch)
template <class T> int32_t det(char *const *p, const int64_t *sizes, int64_t begin, int64_t end) {
    if (routines<T>().getrf == nullptr) return no_routine;
    const int64_t n = sizes[0];
    if (!fits_int({n})) return too_large;
    Work<T> work(p[2], n, 0);
    for (int64_t item = begin; item < end; item++) {
        T sign;
        Real<T> logarithm;
        factor(at<T>(p[0], item, n * n), work.matrix, work.pivots, n);
        determinant(work.matrix, work.pivots, n, sign, logarithm);
        *to<T>(p[1], item, 1) = sign * std::exp(logarithm);
    }
    return done;
}

template <class T> Real<T> greatest_row_sum(const T *a, int64_t n) {
    Real<T> greatest = 0;
    for (int64_t i = 0; i < n; i++) {
        Real<T> sum = 0;
        for (int64_t j = 0; j < n; j++) sum += std::abs(a[i * n + j]);
        if (std::isnan(sum)) return sum;
        greatest = std::max(greatest, sum);
    }
    return greatest;
}

// Up to three rows: cross products of the others.
template <class T> void few_cofactors(const T *a, T *c, int64_t n) {
    if (n == 1) c[0] = 1;
    if (n == 2) c[0] = a[3], c[1] = -a[2], c[2] = -a[1], c[3] = a[0];
    if (n != 3) return;
    for (int i = 0; i < 3; i++) {
        const T *u = a + (i + 1) % 3 * 3, *v = a + (i + 2) % 3 * 3;
        for (int j = 0; j < 3; j++) {
            const int p = (j + 1) % 3, q = (j + 2) % 3;
            c[i * 3 + j] = u[p] * v[q] - u[q] * v[p];
        }
    }
}

// pointers (A, C, work), sizes (n, batch): C = det(A) A⁻ᵀ, if A is well conditioned.
template <class T> int32_t cofactor(char *const *p, const int64_t *sizes, int64_t begin, int64_t end) {
    if (routines<T>().getrf == nullptr || routines<T>().trsm == nullptr) return no_routine;
    const int64_t n = sizes[0];
    if (!fits_int({n})) return too_large;
    Work<T> work(p[2], n, 1);
    for (int64_t item = begin; item < end; item++) {
        const T *a = at<T>(p[0], item, n * n);
        T *c = to<T>(p[1], item, n * n);
        if (n <= 3) {
            few_cofactors(a, c, n);
            continue;
        }
        factor(a, work.matrix, work.pivots, n);
        if (zero_pivot(work.matrix, n) != done) return inaccurate;
        invert(work.matrix, work.pivots, work.other, n);
        T determinant = 1;
        for (int64_t i = 0; i < n; i++) {
            const T pivot = work.matrix[i * n + i];
            determinant *= work.pivots[i] != i + 1 ? -pivot : pivot;
        }
        // As the reference has it: twelve digits of double, five of float.
        const Real<T> most = sizeof(Real<T>) == sizeof(double) ? Real<T>(1e4) : Real<T>(1e2);
        if (!(greatest_row_sum(a, n) * greatest_row_sum(work.other, n) < most)) return inaccurate;
        if (!std::isnormal(std::abs(determinant))) return inaccurate;
        transpose(work.other, c, n, n);
        for (int64_t i = 0; i < n * n; i++) c[i] *= determinant;
    }
    return done;
}

// pointers (A, B, X), sizes (n, k, batch, lower, transpose): A X = B or Aᵀ X = B, from one triangle of A. A zero on
// the diagonal is the status, counted from 1, as LAPACK's trtrs gives it.
template <class T> int32_t trsm(char *const *pointers, const int64_t *sizes, int64_t begin, int64_t end) {
    if (routines<T>().trsm == nullptr) return no_routine;
    const int64_t n = sizes[0], k = sizes[1];
    if (!fits_int({n, k})) return too_large;
    if (n == 0 || k == 0) return done;
    // Xᵀ op(A)ᵀ = Bᵀ; in memory, to BLAS, lie Aᵀ, whose triangle is the other one, Bᵀ and Xᵀ.
    const char *triangle = sizes[3] != 0 ? "U" : "L", *op = sizes[4] != 0 ? "T" : "N";
    int rows = static_cast<int>(k), columns = static_cast<int>(n);
    T one = 1;
    for (int64_t item = begin; item < end; item++) {
        const T *a = reinterpret_cast<const T *>(pointers[0]) + item * n * n;
        const T *b = reinterpret_cast<const T *>(pointers[1]) + item * n * k;
        T *x = reinterpret_cast<T *>(pointers[2]) + item * n * k;
        for (int64_t i = 0; i < n; i++)
            if (a[i * n + i] == T(0)) return static_cast<int32_t>(i + 1);
        if (x != b) std::memcpy(x, b, n * k * sizeof(T));
        routines<T>().trsm("R", triangle, op, "N", &rows, &columns, &one, a, &columns, x, &rows);
    }
    return done;
}

// pointers (A, w, V, work), sizes (n, batch, lower): A = V diag(w) Vᵀ, of one triangle of A, as NumPy calls it.
template <class T> int32_t syevd(char *const *p, const int64_t *sizes, int64_t begin, int64_t end) {
    if (routines<T>().syevd == nullptr) return no_routine;
    const int64_t n = sizes[0];
    const int64_t room = 1 + 6 * n + 2 * n * n, integers = 3 + 5 * n;
    if (!fits_int({n, room})) return too_large;
    int order = static_cast<int>(n), l_work = static_cast<int>(room), l_integers = static_cast<int>(integers), info = 0;
    T *work = reinterpret_cast<T *>(p[3]);
    for (int64_t item = begin; item < end && n > 0; item++) {
        T *v = reinterpret_cast<T *>(p[2]) + item * n * n;
        transpose(reinterpret_cast<const T *>(p[0]) + item * n * n, v, n, n);
        routines<T>().syevd("V", sizes[2] != 0 ? "L" : "U", &order, v, &order, reinterpret_cast<T *>(p[1]) + item * n,
                            work, &l_work, reinterpret_cast<int *>(work + room), &l_integers, &info);
        if (info != 0) return info;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++) std::swap(v[i * n + j], v[j * n + i]);
    }
    return done;
}

// pointers (A, Q, R, work), sizes (n, batch, m, k): A[m, n] = Q[m, k] R[k, n], m ≥ n, and k is n or m.
template <class T> int32_t qr(char *const *p, const int64_t *sizes, int64_t begin, int64_t end) {
    if (routines<T>().geqrf == nullptr || routines<T>().orgqr == nullptr) return no_routine;
    const int64_t n = sizes[0], m = sizes[2], k = sizes[3];
    const int64_t room = QR_ROWS * (n + 1) + n * k + m * n - n;
    if (!fits_int({m, n, room})) return too_large;
    int rows = static_cast<int>(m), columns = static_cast<int>(n), all = static_cast<int>(k), info = 0;
    int l_work = static_cast<int>(room);
    T *a = reinterpret_cast<T *>(p[3]), *factors = a + m * k, *work = factors + n; // k ≥ n
    for (int64_t item = begin; item < end && n > 0; item++) {
        T *q = to<T>(p[1], item, m * k), *r = to<T>(p[2], item, k * n);
        transpose(at<T>(p[0], item, m * n), a, m, n);
        routines<T>().geqrf(&rows, &columns, a, &rows, factors, work, &l_work, &info);
        if (info != 0) return info;
        for (int64_t i = 0; i < k; i++)
            for (int64_t j = 0; j < n; j++) r[i * n + j] = j < i ? T(0) : a[j * m + i];
        routines<T>().orgqr(&rows, &all, &columns, a, &rows, factors, work, &l_work, &info);
        if (info != 0) return info;
        transpose(a, q, k, m);
    }
    return done;
}

// ---------------------------------------------------------------------------------------------------------- tables

struct NamedKernel {
    const char *name;
    Kernel *kernel;
};

constexpr NamedKernel KERNELS[] = {
    {"gemm_f64", gemm<double>},       {"gemm_f32", gemm<float>},       {"potrf_f64", potrf<double>},
    {"potrf_f32", potrf<float>},      {"getrf_f64", getrf<double>},    {"getrf_f32", getrf<float>},
    {"getrs_f64", getrs<double>},     {"getrs_f32", getrs<float>},     {"getri_f64", getri<double>},
    {"getri_f32", getri<float>},      {"slogdet_f64", slogdet<double>}, {"slogdet_f32", slogdet<float>},
    {"det_f64", det<double>},         {"det_f32", det<float>},         {"trsm_f64", trsm<double>},
    {"trsm_f32", trsm<float>},        {"cofactor_f64", cofactor<double>}, {"cofactor_f32", cofactor<float>},
    {"syevd_f64", syevd<double>},     {"jacobi_f64", jacobi_f64},      {"jacobi_f32", jacobi_f32},
    {"qr_f64", qr<double>},           {"qr_c128", qr<Complex>},
#define WENGERT_COMPLEX(suffix, T)                                                                                     \
    {"potrf_" suffix, potrf<T>}, {"getrf_" suffix, getrf<T>}, {"getrs_" suffix, getrs<T>}, {"getri_" suffix, getri<T>}, \
        {"slogdet_" suffix, slogdet<T>}, {"det_" suffix, det<T>}, {"trsm_" suffix, trsm<T>}, {                         \
        "cofactor_" suffix, cofactor<T>                                                                                \
    }
    WENGERT_COMPLEX("c128", Complex), WENGERT_COMPLEX("c64", ComplexOfFloats),
};

template <class T> bool set_in(Routines<T> &routines, std::string_view name, void *address) {
    const auto set = [&](auto &routine) {
        routine = reinterpret_cast<std::remove_reference_t<decltype(routine)>>(address);
        return true;
    };
    if (name == "gemm") return set(routines.gemm);
    if (name == "gemv") return set(routines.gemv);
    if (name == "syrk") return set(routines.syrk);
    if (name == "trsm") return set(routines.trsm);
    if (name == "potrf") return set(routines.potrf);
    if (name == "getrf") return set(routines.getrf);
    if (name == "syevd") return set(routines.syevd);
    if (name == "geqrf") return set(routines.geqrf);
    if (name == "orgqr" || name == "ungqr") return set(routines.orgqr);
    return false;
}

} // namespace

bool set_routine(std::string_view name, void *address) {
    if (name.empty()) return false;
    if (name[0] == 'd') return set_in(kept<double>, name.substr(1), address);
    if (name[0] == 's') return set_in(kept<float>, name.substr(1), address);
    if (name[0] == 'z') return set_in(kept<Complex>, name.substr(1), address);
    return name[0] == 'c' && set_in(kept<ComplexOfFloats>, name.substr(1), address);
}

Kernel *named_kernel(std::string_view name) {
    for (const NamedKernel &known : KERNELS)
        if (name == known.name) return known.kernel;
    return nullptr;
}

int64_t work_bytes(std::string_view name, int64_t n) {
    const int64_t itemsize = name.ends_with("_f32")    ? sizeof(float)
                             : name.ends_with("_c128") ? sizeof(Complex)
                                                       : sizeof(double);
    const auto is = [&](const char *stem) { return name.substr(0, name.find('_')) == stem; };
    if (is("syevd")) return (1 + 6 * n + 2 * n * n) * itemsize + (3 + 5 * n) * static_cast<int64_t>(sizeof(int));
    if (is("det") || is("cofactor")) return n * n * (is("det") ? 1 : 2) * itemsize + n * static_cast<int64_t>(sizeof(int));
    return 0;
}

} // namespace wengert

// Eigenvalues and vectors of small symmetric matrices, eight at a time: cyclic Jacobi rotations, a matrix a lane.
// Source: Golub & Van Loan, Matrix Computations, section 8.5; the rotation in the form without a quotient that may
// overflow. Eigenvalues are right to rounding of the largest (LAPACK's bound), and vectors are orthogonal to rounding;
// their signs are what comes out, and not LAPACK's.
//
// Called like every kernel: from any thread, without the GIL, allocating nothing. A lane that has converged stays as it
// is, so that a matrix has the same bits whichever seven others stand beside it.
#include "spectra.h"

#include "processors.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wengert {

namespace {

constexpr int LANES = 8, MOST_SWEEPS = 40, NOT_CONVERGED = 1;

template <class T> struct Lanes {
    T of[LANES];
};

// One rotation of rows x and y, of every lane: x' = c x - s y, y' = s x + c y.
template <class T> INLINED void rotate(Lanes<T> &x, Lanes<T> &y, const Lanes<T> &c, const Lanes<T> &s) {
    for (int l = 0; l < LANES; l++) {
        const T a = x.of[l], b = y.of[l];
        x.of[l] = c.of[l] * a - s.of[l] * b;
        y.of[l] = s.of[l] * a + c.of[l] * b;
    }
}

// a: the upper triangles, which become diagonal; v: the vectors, as rows. Whether all lanes converged.
template <class T> INLINED bool diagonalise(Lanes<T> *a, Lanes<T> *v, int n) {
    constexpr T EPS = std::numeric_limits<T>::epsilon();
    for (int i = 0; i < n * n; i++)
        for (int l = 0; l < LANES; l++) v[i].of[l] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        Lanes<T> off{}, moves;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
                for (int l = 0; l < LANES; l++) off.of[l] += a[p * n + q].of[l] * a[p * n + q].of[l];
        T any = 0;
        for (int l = 0; l < LANES; l++) {
            moves.of[l] = off.of[l] > EPS * EPS ? T(1) : T(0); // elements are at most 1
            any += moves.of[l];
        }
        if (any == 0) return true;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                Lanes<T> &at = a[p * n + q], &first = a[p * n + p], &second = a[q * n + q], c, s;
                for (int l = 0; l < LANES; l++) { // t = tan of the angle, of size at most 1
                    const T twice = 2 * at.of[l], apart = second.of[l] - first.of[l];
                    const T size = std::abs(apart) + std::sqrt(apart * apart + twice * twice);
                    T t = std::copysign(twice, twice * std::copysign(T(1), apart)) / (size > 0 ? size : T(1));
                    t *= moves.of[l];
                    c.of[l] = 1 / std::sqrt(1 + t * t);
                    s.of[l] = t * c.of[l];
                    first.of[l] -= t * at.of[l];
                    second.of[l] += t * at.of[l];
                    at.of[l] -= moves.of[l] * at.of[l];
                }
                for (int r = 0; r < p; r++) rotate(a[r * n + p], a[r * n + q], c, s);
                for (int r = p + 1; r < q; r++) rotate(a[p * n + r], a[r * n + q], c, s);
                for (int r = q + 1; r < n; r++) rotate(a[p * n + r], a[q * n + r], c, s);
                for (int r = 0; r < n; r++) rotate(v[p * n + r], v[q * n + r], c, s);
            }
    }
    return false;
}

// Loads a triangle into a lane, scaled by a power of two so that the largest element is at most 1; false: not finite.
template <class T> INLINED bool load(const T *x, Lanes<T> *a, int n, int lane, bool is_lower, int &exponent) {
    T largest = 0;
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            const T value = is_lower ? x[j * n + i] : x[i * n + j];
            a[i * n + j].of[lane] = value;
            if (!(std::abs(value) <= std::numeric_limits<T>::max())) return false;
            largest = std::max(largest, std::abs(value));
        }
    exponent = 0;
    if (largest > 0) std::frexp(largest, &exponent);
    const T half = std::ldexp(T(1), -exponent / 2), rest = std::ldexp(T(1), -exponent + exponent / 2);
    for (int i = 0; i < n; i++) // by two factors, of which none overflows
        for (int j = i; j < n; j++) a[i * n + j].of[lane] = a[i * n + j].of[lane] * half * rest;
    return true;
}

template <class T>
INLINED void store(const Lanes<T> *a, const Lanes<T> *v, T *w, T *vectors, int n, int lane, int exponent) {
    int order[MOST_ROWS];
    for (int k = 0; k < n; k++) { // insertion, ascending
        int at = k;
        for (; at > 0 && a[order[at - 1] * (n + 1)].of[lane] > a[k * (n + 1)].of[lane]; at--) order[at] = order[at - 1];
        order[at] = k;
    }
    for (int k = 0; k < n; k++) {
        const T value = a[order[k] * (n + 1)].of[lane];
        w[k] = std::ldexp(value, exponent);
        for (int r = 0; r < n; r++) vectors[r * n + k] = v[order[k] * n + r].of[lane];
    }
}

template <class T> INLINED int32_t jacobi(char *const *pointers, const int64_t *sizes, int64_t begin, int64_t end) {
    const int n = static_cast<int>(sizes[0]);
    const T *x = reinterpret_cast<const T *>(pointers[0]);
    T *w = reinterpret_cast<T *>(pointers[1]), *vectors = reinterpret_cast<T *>(pointers[2]);
    alignas(64) Lanes<T> a[MOST_ROWS * MOST_ROWS], v[MOST_ROWS * MOST_ROWS];
    int exponents[LANES];
    for (int64_t item = begin; item < end; item += LANES) {
        for (int l = 0; l < LANES; l++) {
            const int64_t which = std::min(item + l, end - 1);
            if (!load(x + which * n * n, a, n, l, sizes[2] != 0, exponents[l])) return NOT_CONVERGED;
        }
        if (!diagonalise(a, v, n)) return NOT_CONVERGED;
        for (int l = 0; l < LANES && item + l < end; l++)
            store(a, v, w + (item + l) * n, vectors + (item + l) * n * n, n, l, exponents[l]);
    }
    return 0;
}

} // namespace

FOR_EACH_PROCESSOR int32_t jacobi_f64(char *const *pointers, const int64_t *sizes, int64_t begin, int64_t end) {
    return jacobi<double>(pointers, sizes, begin, end);
}

FOR_EACH_PROCESSOR int32_t jacobi_f32(char *const *pointers, const int64_t *sizes, int64_t begin, int64_t end) {
    return jacobi<float>(pointers, sizes, begin, end);
}

} // namespace wengert

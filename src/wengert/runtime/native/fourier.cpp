// Fourier transforms of complex numbers whose number is a power of two: Stockham's autosort algorithm in radix 4, real
// and imaginary parts apart while it works. Source: Van Loan (1992), Computational Frameworks for the FFT, 1.7.
//
// Called like every kernel: from any thread, without the GIL, allocating nothing; what it needs beside its operands is
// an operand, the work area. The tables of roots of unity are made once for each length, by Python's thread, and stay.
#include "fourier.h"

#include "processors.h"

#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <numbers>
#include <vector>

namespace wengert {

namespace {

constexpr int64_t LONGEST = 16; // 2^16: the tables of longer ones do not stay in the second cache

// The roots w, w², w³ of each butterfly of a pass, one array after the other.
template <class T> struct Pass {
    int64_t m; // butterflies
    std::vector<T> roots;
};

template <class T> struct Table {
    int64_t n = 0;
    bool ends_in_two = false;
    std::vector<Pass<T>> passes; // of radix 4, but the last if it ends in 2
};

template <class T> std::unique_ptr<Table<T>> made(int64_t n) {
    auto table = std::make_unique<Table<T>>();
    table->n = n;
    for (; n >= 4; n /= 4) {
        Pass<T> pass{n / 4, std::vector<T>(6 * (n / 4))};
        for (int64_t p = 0; p < pass.m; p++)
            for (int k = 0; k < 3; k++) {
                const long double angle = -2 * std::numbers::pi_v<long double> * ((k + 1) * p % n) / n;
                pass.roots[(2 * k) * pass.m + p] = static_cast<T>(std::cos(angle));
                pass.roots[(2 * k + 1) * pass.m + p] = static_cast<T>(std::sin(angle));
            }
        table->passes.push_back(std::move(pass));
    }
    table->ends_in_two = n == 2;
    return table;
}

// ---------------------------------------------------------------------------------------------------------- passes
//
// Of x, seen as [4, m, s], the butterflies of the first axis go to y, seen as [m, 4, s]. Written once for each type,
// since a template cannot be compiled for several processors.

#define WENGERT_FFT(T, pass4, first4, last4, last2)                                                                    \
    FOR_EACH_PROCESSOR void pass4(int64_t m, int64_t s, const T *w, const T *__restrict xr, const T *__restrict xi,    \
                                  T *__restrict yr, T *__restrict yi) {                                                \
        for (int64_t p = 0; p < m; p++) {                                                                              \
            const T ar = w[p], ai = w[m + p], br = w[2 * m + p], bi = w[3 * m + p], cr = w[4 * m + p],                 \
                    ci = w[5 * m + p];                                                                                 \
            const T *r0 = xr + s * p, *r1 = r0 + s * m, *r2 = r1 + s * m, *r3 = r2 + s * m;                            \
            const T *i0 = xi + s * p, *i1 = i0 + s * m, *i2 = i1 + s * m, *i3 = i2 + s * m;                            \
            T *yr0 = yr + 4 * s * p, *yi0 = yi + 4 * s * p;                                                            \
            IN_ANY_ORDER                                                                                               \
            for (int64_t q = 0; q < s; q++) {                                                                          \
                const T er = r0[q] + r2[q], ei = i0[q] + i2[q], fr = r0[q] - r2[q], fi = i0[q] - i2[q];                \
                const T gr = r1[q] + r3[q], gi = i1[q] + i3[q], hr = r1[q] - r3[q], hi = i1[q] - i3[q];                \
                const T ur = fr + hi, ui = fi - hr, vr = er - gr, vi = ei - gi, zr = fr - hi, zi = fi + hr;            \
                yr0[q] = er + gr, yi0[q] = ei + gi;                                                                    \
                yr0[q + s] = ur * ar - ui * ai, yi0[q + s] = ur * ai + ui * ar;                                        \
                yr0[q + 2 * s] = vr * br - vi * bi, yi0[q + 2 * s] = vr * bi + vi * br;                                \
                yr0[q + 3 * s] = zr * cr - zi * ci, yi0[q + 3 * s] = zr * ci + zi * cr;                                \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    /* The first, s = 1, from pairs: vectors go over the butterflies. */                                               \
    FOR_EACH_PROCESSOR void first4(int64_t m, const T *__restrict w, const T *__restrict x, int64_t re, int64_t im,    \
                                   T *__restrict yr, T *__restrict yi) {                                               \
        const T *r0 = x + re, *i0 = x + im;                                                                            \
        IN_ANY_ORDER                                                                                                   \
        for (int64_t p = 0; p < m; p++) {                                                                              \
            const T x0 = r0[2 * p], x1 = r0[2 * (p + m)], x2 = r0[2 * (p + 2 * m)], x3 = r0[2 * (p + 3 * m)];          \
            const T y0 = i0[2 * p], y1 = i0[2 * (p + m)], y2 = i0[2 * (p + 2 * m)], y3 = i0[2 * (p + 3 * m)];          \
            const T er = x0 + x2, ei = y0 + y2, fr = x0 - x2, fi = y0 - y2;                                            \
            const T gr = x1 + x3, gi = y1 + y3, hr = x1 - x3, hi = y1 - y3;                                            \
            const T ur = fr + hi, ui = fi - hr, vr = er - gr, vi = ei - gi, zr = fr - hi, zi = fi + hr;                \
            yr[4 * p] = er + gr, yi[4 * p] = ei + gi;                                                                  \
            yr[4 * p + 1] = ur * w[p] - ui * w[m + p], yi[4 * p + 1] = ur * w[m + p] + ui * w[p];                      \
            yr[4 * p + 2] = vr * w[2 * m + p] - vi * w[3 * m + p];                                                     \
            yi[4 * p + 2] = vr * w[3 * m + p] + vi * w[2 * m + p];                                                     \
            yr[4 * p + 3] = zr * w[4 * m + p] - zi * w[5 * m + p];                                                     \
            yi[4 * p + 3] = zr * w[5 * m + p] + zi * w[4 * m + p];                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    /* The last, of one butterfly, to pairs. */                                                                        \
    FOR_EACH_PROCESSOR void last4(int64_t s, T scale, const T *__restrict xr, const T *__restrict xi, T *__restrict y, \
                                  int64_t re, int64_t im) {                                                            \
        T *a = y + re, *b = y + im;                                                                                    \
        IN_ANY_ORDER                                                                                                   \
        for (int64_t q = 0; q < s; q++) {                                                                              \
            const T er = xr[q] + xr[q + 2 * s], ei = xi[q] + xi[q + 2 * s];                                            \
            const T fr = xr[q] - xr[q + 2 * s], fi = xi[q] - xi[q + 2 * s];                                            \
            const T gr = xr[q + s] + xr[q + 3 * s], gi = xi[q + s] + xi[q + 3 * s];                                    \
            const T hr = xr[q + s] - xr[q + 3 * s], hi = xi[q + s] - xi[q + 3 * s];                                    \
            a[2 * q] = (er + gr) * scale, b[2 * q] = (ei + gi) * scale;                                                \
            a[2 * (q + s)] = (fr + hi) * scale, b[2 * (q + s)] = (fi - hr) * scale;                                    \
            a[2 * (q + 2 * s)] = (er - gr) * scale, b[2 * (q + 2 * s)] = (ei - gi) * scale;                            \
            a[2 * (q + 3 * s)] = (fr - hi) * scale, b[2 * (q + 3 * s)] = (fi + hr) * scale;                            \
        }                                                                                                              \
    }                                                                                                                  \
    FOR_EACH_PROCESSOR void last2(int64_t s, T scale, const T *__restrict xr, const T *__restrict xi, T *__restrict y, \
                                  int64_t re, int64_t im) {                                                            \
        T *a = y + re, *b = y + im;                                                                                    \
        IN_ANY_ORDER                                                                                                   \
        for (int64_t q = 0; q < s; q++) {                                                                              \
            a[2 * q] = (xr[q] + xr[q + s]) * scale, b[2 * q] = (xi[q] + xi[q + s]) * scale;                            \
            a[2 * (q + s)] = (xr[q] - xr[q + s]) * scale, b[2 * (q + s)] = (xi[q] - xi[q + s]) * scale;                \
        }                                                                                                              \
    }

WENGERT_FFT(double, pass4_f64, first4_f64, last4_f64, last2_f64)
WENGERT_FFT(float, pass4_f32, first4_f32, last4_f32, last2_f32)

#define WENGERT_FFT_CALLS(T, suffix)                                                                                   \
    inline void pass4(int64_t m, int64_t s, const T *w, const T *xr, const T *xi, T *yr, T *yi) {                      \
        pass4_##suffix(m, s, w, xr, xi, yr, yi);                                                                       \
    }                                                                                                                  \
    inline void first4(int64_t m, const T *w, const T *x, int64_t re, int64_t im, T *yr, T *yi) {                      \
        first4_##suffix(m, w, x, re, im, yr, yi);                                                                      \
    }                                                                                                                  \
    inline void last4(int64_t s, T scale, const T *xr, const T *xi, T *y, int64_t re, int64_t im) {                    \
        last4_##suffix(s, scale, xr, xi, y, re, im);                                                                   \
    }                                                                                                                  \
    inline void last2(int64_t s, T scale, const T *xr, const T *xi, T *y, int64_t re, int64_t im) {                    \
        last2_##suffix(s, scale, xr, xi, y, re, im);                                                                   \
    }

WENGERT_FFT_CALLS(double, f64)
WENGERT_FFT_CALLS(float, f32)

// ------------------------------------------------------------------------------------------------------- transforms

// Of n pairs in C order; `work` has room for four times n.
template <class T>
void transform(const Table<T> &table, const T *x, T *y, T *work, T scale, int64_t re, int64_t im) {
    const int64_t n = table.n;
    T *ar = work, *ai = ar + n, *br = ai + n, *bi = br + n;
    const size_t count = table.passes.size(), inner = table.ends_in_two ? count : count - 1;
    first4(table.passes[0].m, table.passes[0].roots.data(), x, re, im, ar, ai);
    int64_t s = 4;
    for (size_t k = 1; k < inner; k++, s *= 4) {
        pass4(table.passes[k].m, s, table.passes[k].roots.data(), ar, ai, br, bi);
        std::swap(ar, br), std::swap(ai, bi);
    }
    if (table.ends_in_two)
        last2(s, scale, ar, ai, y, re, im);
    else
        last4(s, scale, ar, ai, y, re, im);
}

template <class T> std::array<std::atomic<const Table<T> *>, LONGEST + 1> tables; // by the logarithm of n

// pointers (x, y, work), sizes (log2 n, norm, forward)
template <class T> int32_t fft(char *const *pointers, const int64_t *sizes, int64_t begin, int64_t end) {
    const Table<T> &table = *tables<T>[sizes[0]];
    const int64_t n = table.n, re = sizes[2] != 0 ? 0 : 1, im = 1 - re; // the inverse exchanges the parts
    const T scale = sizes[1] == 0 ? T(1) : sizes[1] == 1 ? static_cast<T>(1 / std::sqrt(double(n))) : T(1) / T(n);
    for (int64_t item = begin; item < end; item++) {
        const T *x = reinterpret_cast<const T *>(pointers[0]) + 2 * n * item;
        T *y = reinterpret_cast<T *>(pointers[1]) + 2 * n * item, *work = reinterpret_cast<T *>(pointers[2]);
        transform(table, x, y, work, scale, re, im);
    }
    return 0;
}

template <class T> void prepare(int64_t logarithm) {
    static std::mutex lock;
    const std::lock_guard guard(lock);
    std::atomic<const Table<T> *> &table = tables<T>[logarithm];
    if (table == nullptr) table = made<T>(int64_t{1} << logarithm).release();
}

} // namespace

bool prepare_fourier(int64_t logarithm) {
    if (logarithm < 3 || logarithm > LONGEST) return false;
    prepare<double>(logarithm);
    prepare<float>(logarithm);
    return true;
}

Kernel *fourier_kernel(std::string_view name) {
    if (name == "fft_f64") return fft<double>;
    return name == "fft_f32" ? fft<float> : nullptr;
}

} // namespace wengert

// The compiled loops of ufuncs, NumPy's, SciPy's and our own (special.cpp), as kernels.
//
// A ufunc keeps a loop for each combination of dtypes, and NumPy itself calls it without the GIL; so may we. It reads
// and writes arguments under any strides, but of its own dtypes alone: what has another dtype is converted in pieces
// that stay in the nearest cache, and so are results that nobody asked for.
#define NO_IMPORT_UFUNC
#include "ufuncs.h"

#include <numpy/ufuncobject.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <complex>
#include <cstring>

namespace wengert {

namespace {

using Function = void(char **, npy_intp const *, npy_intp const *, void *);

constexpr int64_t MOST_ARGUMENTS = 12, MOST_DIMENSIONS = 32, PIECE = 128, LARGEST = 16;
constexpr int32_t INVALID = -5;

// ------------------------------------------------------------------------------------------------------ conversions

template <class From, class To> void convert(const char *from, int64_t step, char *to, int64_t to_step, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        From x;
        std::memcpy(&x, from + i * step, sizeof(From));
        const To y = static_cast<To>(x);
        std::memcpy(to + i * to_step, &y, sizeof(To));
    }
}

using Convert = void(const char *, int64_t, char *, int64_t, int64_t);

// A conversion has the number 1 + 5 (the place of its first dtype in "?bBhHiIlLfdF") + that of its second in "lfdFD":
// codegen/ufuncs.py counts as well. Number 0 says that none is needed.
#define WENGERT_FROM(From)                                                                                             \
    convert<From, int64_t>, convert<From, float>, convert<From, double>, convert<From, std::complex<float>>,           \
        convert<From, std::complex<double>>

constexpr Convert *CONVERSIONS[] = {
    nullptr,
    WENGERT_FROM(bool),
    WENGERT_FROM(int8_t),
    WENGERT_FROM(uint8_t),
    WENGERT_FROM(int16_t),
    WENGERT_FROM(uint16_t),
    WENGERT_FROM(int32_t),
    WENGERT_FROM(uint32_t),
    WENGERT_FROM(int64_t),
    WENGERT_FROM(uint64_t),
    WENGERT_FROM(float),
    WENGERT_FROM(double),
    nullptr, // of complex numbers
    nullptr,
    nullptr,
    nullptr,
    convert<std::complex<float>, std::complex<double>>,
};

// --------------------------------------------------------------------------------------------------------- elements

struct Argument {
    int64_t pointer, itemsize;
    Convert *conversion;
    const int64_t *strides;
};

// A row of elements, all arguments in steps; `at` holds where each begins.
void run_row(Function *function, void *data, const Argument *arguments, int64_t n_arguments, int64_t n_in, char *const *at,
             const npy_intp *steps, int64_t count, bool is_direct) {
    char *given[MOST_ARGUMENTS];
    npy_intp own[MOST_ARGUMENTS];
    if (is_direct) {
        std::copy_n(at, n_arguments, given); // the loop moves them
        const npy_intp n = count;
        function(given, &n, steps, data);
        return;
    }
    alignas(64) char pieces[MOST_ARGUMENTS][PIECE * LARGEST];
    for (int64_t done = 0; done < count; done += PIECE) {
        const npy_intp n = std::min(PIECE, count - done);
        for (int64_t k = 0; k < n_arguments; k++) {
            const Argument &one = arguments[k];
            const bool is_kept = one.pointer >= 0 && one.conversion == nullptr;
            given[k] = is_kept ? at[k] + done * steps[k] : pieces[k];
            own[k] = is_kept ? steps[k] : one.itemsize;
            if (!is_kept && k < n_in) one.conversion(at[k] + done * steps[k], steps[k], pieces[k], one.itemsize, n);
        }
        function(given, &n, own, data);
        for (int64_t k = n_in; k < n_arguments; k++)
            if (arguments[k].pointer >= 0 && arguments[k].conversion != nullptr)
                arguments[k].conversion(pieces[k], arguments[k].itemsize, at[k] + done * steps[k], steps[k], n);
    }
}

int32_t elements(char *const *pointers, const int64_t *sizes, int64_t begin, int64_t end) {
    auto *function = reinterpret_cast<Function *>(sizes[0]);
    auto *data = reinterpret_cast<void *>(sizes[1]);
    const int64_t n_arguments = sizes[2], n_in = sizes[3], ndim = sizes[4];
    const int64_t *extents = sizes + 5, *next = extents + ndim;
    Argument arguments[MOST_ARGUMENTS];
    bool is_direct = true;
    npy_intp steps[MOST_ARGUMENTS];
    for (int64_t k = 0; k < n_arguments; k++) {
        arguments[k] = {next[0], next[1], CONVERSIONS[next[2]], next + 3};
        is_direct = is_direct && next[0] >= 0 && next[2] == 0;
        steps[k] = ndim > 0 ? arguments[k].strides[ndim - 1] : 0;
        next += 3 + ndim;
    }
    const int64_t row = ndim > 0 ? extents[ndim - 1] : 1;
    for (int64_t place = begin; place < end;) {
        const int64_t column = place % row, count = std::min(row - column, end - place);
        char *at[MOST_ARGUMENTS];
        for (int64_t k = 0; k < n_arguments; k++) {
            const Argument &one = arguments[k];
            at[k] = one.pointer >= 0 ? pointers[one.pointer] + column * steps[k] : nullptr;
            int64_t rest = place / row;
            for (int64_t d = ndim - 2; d >= 0 && one.pointer >= 0; d--) {
                at[k] += rest % extents[d] * one.strides[d];
                rest /= extents[d];
            }
        }
        run_row(function, data, arguments, n_arguments, n_in, at, steps, count, is_direct);
        place += count;
    }
    return 0;
}

// ----------------------------------------------------------------------------------------------------------- stacks

int32_t stacks(char *const *pointers, const int64_t *sizes, int64_t begin, int64_t end) {
    auto *function = reinterpret_cast<Function *>(sizes[0]);
    auto *data = reinterpret_cast<void *>(sizes[1]);
    const int64_t n_arguments = sizes[2], n_core = sizes[3], n_strides = sizes[4];
    const bool is_checked = sizes[5] != 0;
    const int64_t n_finite = sizes[6];
    const int64_t *core = sizes + 7, *steps = core + n_core; // then the core strides follow
    npy_intp dimensions[1 + MOST_DIMENSIONS];
    dimensions[0] = 1;
    std::copy_n(core, n_core, dimensions + 1);
    npy_intp strides[MOST_ARGUMENTS + 4 * MOST_ARGUMENTS];
    std::copy_n(steps, n_arguments + n_strides, strides);
    for (int64_t item = begin; item < end; item++) {
        char *given[MOST_ARGUMENTS];
        for (int64_t k = 0; k < n_arguments; k++) given[k] = pointers[k] + item * steps[k];
        const auto *numbers = reinterpret_cast<const double *>(given[0]);
        if (!std::all_of(numbers, numbers + n_finite, [](double x) { return std::isfinite(x); })) return INVALID;
        if (is_checked) std::feclearexcept(FE_INVALID);
        function(given, dimensions, strides, data);
        if (is_checked && std::fetestexcept(FE_INVALID)) {
            std::feclearexcept(FE_INVALID);
            return INVALID;
        }
    }
    return 0;
}

// ------------------------------------------------------------------------------------------------ Fourier transforms

enum Finish : int64_t { MIRROR = 1, CONJUGATE = 2, REVERSE = 4 };

// What is made of a line of n numbers, m of which the loop has written.
template <class T> void finish(char *line, int64_t step, int64_t n, int64_t m, int64_t how) {
    const auto at = [&](int64_t k) -> T * { return reinterpret_cast<T *>(line + k * step); };
    if (how & CONJUGATE)
        for (int64_t k = 0; k < m; k++) at(k)[1] = -at(k)[1];
    if (how & MIRROR)
        for (int64_t k = m; k < n; k++) at(k)[0] = at(n - k)[0], at(k)[1] = -at(n - k)[1];
    if (how & REVERSE) // of real numbers
        for (int64_t i = 1, j = n - 1; i < j; i++, j--) std::swap(*at(i), *at(j));
}

int32_t transforms(char *const *pointers, const int64_t *sizes, int64_t begin, int64_t end) {
    auto *function = reinterpret_cast<Function *>(sizes[0]);
    auto *data = reinterpret_cast<void *>(sizes[1]);
    const int64_t n_in = sizes[2], n_out = sizes[3], how = sizes[6], ndim = sizes[9];
    const bool is_single = sizes[8] != 0;
    const int64_t *extents = sizes + 10, *from = extents + ndim, *to = from + ndim;
    double factor;
    std::memcpy(&factor, sizes + 7, sizeof(factor));
    const float single = static_cast<float>(factor);
    const void *scale = is_single ? static_cast<const void *>(&single) : &factor;
    const npy_intp dimensions[] = {1, n_in, n_out}, steps[] = {0, 0, 0, sizes[4], sizes[5]};
    for (int64_t line = begin; line < end; line++) {
        char *in = pointers[0], *out = pointers[1];
        int64_t rest = line;
        for (int64_t d = ndim - 1; d >= 0; d--) {
            in += rest % extents[d] * from[d];
            out += rest % extents[d] * to[d];
            rest /= extents[d];
        }
        char *given[] = {in, static_cast<char *>(const_cast<void *>(scale)), out};
        function(given, dimensions, steps, data);
        if (how == 0) continue;
        const int64_t whole = how & MIRROR ? n_in : n_out;
        is_single ? finish<float>(out, sizes[5], whole, n_out, how) : finish<double>(out, sizes[5], whole, n_out, how);
    }
    return 0;
}

} // namespace

UfuncLoop loop_of(PyObject *ufunc, int64_t number) {
    const auto *found = reinterpret_cast<const PyUFuncObject *>(ufunc);
    if (number < 0 || number >= found->ntypes || found->functions == nullptr) return {};
    void *data = found->data == nullptr ? nullptr : const_cast<void *>(static_cast<const void *>(found->data[number]));
    return {reinterpret_cast<void *>(found->functions[number]), data};
}

Kernel *ufunc_kernel(std::string_view name) {
    if (name == "elements") return elements;
    if (name == "transforms") return transforms;
    return name == "stacks" ? stacks : nullptr;
}

} // namespace wengert

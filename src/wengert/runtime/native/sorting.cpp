// Sorting, stable, NaN last, as NumPy has it, of keys that are integers in the order of the numbers: few by counting
// those before each, many by radix. Source: Knuth, The Art of Computer Programming 3, sections 5.2 and 5.2.5.
//
// Called like every kernel: from any thread, without the GIL, allocating nothing; the work area is shared by the rows.
#include "sorting.h"

#include "processors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace wengert {

namespace {

template <class T> using Key = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

// An integer that is as much before others as `x` is before other numbers: zeros of either sign are equal, and NaN,
// which are equal too, come last.
template <class T> INLINED Key<T> key_of(T x) {
    if constexpr (std::is_floating_point_v<T>) {
        constexpr Key<T> MOST = std::numeric_limits<Key<T>>::max();
        const auto bits = std::bit_cast<Key<T>>(x + T(0)); // -0.0 becomes 0.0
        return x != x ? MOST : bits < 0 ? bits ^ MOST : bits;
    } else {
        return x;
    }
}

// ------------------------------------------------------------------------------------------------------------ few
//
// In vectors, and without a branch that a number decides.

template <class T> constexpr int64_t FEW = sizeof(T) == 8 ? 256 : 160; // of more, radix is faster
constexpr int64_t BLOCK = 8;

// Of `n` numbers, a multiple of BLOCK, how many go before each: those that are less, and the earlier of equal ones.
template <class T>
INLINED void count(int64_t n, const T *__restrict x, Key<T> *__restrict keys, Key<T> *__restrict before) {
    using K = Key<T>; // whether one goes before another is counted in it too: then all are vectors of one length
    for (int64_t i = 0; i < n; i++) keys[i] = key_of(x[i]), before[i] = 0;
    for (int64_t block = 0; block < n; block += BLOCK) {
        const K *k = keys + block;
        const K a = k[0], b = k[1], c = k[2], d = k[3], e = k[4], f = k[5], g = k[6], h = k[7];
        for (int64_t i = 0; i < block; i++) {
            const K y = keys[i];
            before[i] += K(a < y) + K(b < y) + K(c < y) + K(d < y) + K(e < y) + K(f < y) + K(g < y) + K(h < y);
        }
        for (K i = 0; i < BLOCK; i++) {
            const K y = k[i];
            const auto goes_before = [&](K x, K j) { return K((x < y) | ((x == y) & (j < i))); };
            before[block + i] += goes_before(a, 0) + goes_before(b, 1) + goes_before(c, 2) + goes_before(d, 3) +
                                 goes_before(e, 4) + goes_before(f, 5) + goes_before(g, 6) + goes_before(h, 7);
        }
        for (int64_t i = block + BLOCK; i < n; i++) {
            const K y = keys[i];
            before[i] += K(a <= y) + K(b <= y) + K(c <= y) + K(d <= y) + K(e <= y) + K(f <= y) + K(g <= y) + K(h <= y);
        }
    }
}

// A template cannot be compiled for several processors.
#define WENGERT_PLACES(T)                                                                                              \
    FOR_EACH_PROCESSOR void count_before(int64_t n, const T *x, Key<T> *keys, Key<T> *before) {                        \
        count(n, x, keys, before);                                                                                     \
    }

WENGERT_PLACES(double)
WENGERT_PLACES(float)
WENGERT_PLACES(int64_t)
WENGERT_PLACES(int32_t)

// ----------------------------------------------------------------------------------------------------------- many

template <class T> struct Item {
    using Bits = std::make_unsigned_t<Key<T>>;
    Bits key, place;
};

template <class T> Item<T> item_of(T x, int64_t place) {
    using Bits = typename Item<T>::Bits;
    constexpr Bits SIGN = Bits(1) << (8 * sizeof(T) - 1);
    return {static_cast<Bits>(key_of(x)) ^ SIGN, static_cast<Bits>(place)};
}

// By one byte of the keys after the other, from the last; a byte that all have alike takes no pass. Returns where the
// sorted items are: `items` or `other`.
template <class T> Item<T> *sort_by_radix(Item<T> *items, Item<T> *other, int64_t n) {
    constexpr size_t BYTES = sizeof(items->key);
    std::array<std::array<uint32_t, 256>, BYTES> counts{}; // of up to 2^32 items
    for (int64_t i = 0; i < n; i++)
        for (size_t byte = 0; byte < BYTES; byte++) counts[byte][items[i].key >> (8 * byte) & 255]++;
    for (size_t byte = 0; byte < BYTES; byte++) {
        auto &count = counts[byte];
        if (count[items[0].key >> (8 * byte) & 255] == static_cast<uint64_t>(n)) continue;
        uint32_t before = 0;
        for (uint32_t &c : count) before += std::exchange(c, before);
        for (int64_t i = 0; i < n; i++) other[count[items[i].key >> (8 * byte) & 255]++] = items[i];
        std::swap(items, other);
    }
    return items;
}

// ----------------------------------------------------------------------------------------------------------- rows

// What goes where x[i] goes: itself, or its place.
template <class T, bool of_places> using Out = std::conditional_t<of_places, int64_t, T>;

// For each of `n` numbers, which may be as many as FEW, how many go before it.
template <class T> struct Counts {
    static constexpr int64_t ROOM = FEW<T> + BLOCK;
    alignas(64) T own[ROOM];
    alignas(64) Key<T> keys[ROOM], before[ROOM];

    void count(const T *x, int64_t n, int64_t step) {
        using Limits = std::numeric_limits<T>;
        constexpr T LAST = std::is_floating_point_v<T> ? Limits::quiet_NaN() : Limits::max();
        const int64_t blocks = (n + BLOCK - 1) / BLOCK;
        for (int64_t i = 0; i < BLOCK; i++) own[(blocks - 1) * BLOCK + i] = LAST; // of these, some are overwritten
        for (int64_t i = 0; i < n; i++) own[i] = x[i * step];
        count_before(blocks * BLOCK, own, keys, before);
    }
};

template <class T, bool of_places>
void order_few(const T *x, Out<T, of_places> *y, int64_t n, int64_t step) {
    Counts<T> counts; // with copies of the numbers: `x` and `y` may be one array
    counts.count(x, n, step);
    for (int64_t i = 0; i < n; i++) {
        if constexpr (of_places) y[counts.before[i] * step] = i;
        else y[counts.before[i] * step] = counts.own[i];
    }
}

template <class T> void order_many(const T *x, int64_t *places, void *work, int64_t n, int64_t step) {
    auto *items = static_cast<Item<T> *>(work), *other = items + n;
    for (int64_t i = 0; i < n; i++) items[i] = item_of(x[i * step], i);
    const Item<T> *sorted = sort_by_radix<T>(items, other, n);
    for (int64_t i = 0; i < n; i++) places[i * step] = static_cast<int64_t>(sorted[i].place);
}

// Of booleans it is enough to know how many are false.
template <bool of_places> void order_booleans(const uint8_t *x, Out<uint8_t, of_places> *y, int64_t n, int64_t step) {
    int64_t falses = 0;
    for (int64_t i = 0; i < n; i++) falses += !x[i * step];
    if constexpr (of_places) {
        std::array<int64_t, 2> next{0, falses};
        for (int64_t i = 0; i < n; i++) y[next[x[i * step] != 0]++ * step] = i;
    } else {
        for (int64_t i = 0; i < n; i++) y[i * step] = i >= falses;
    }
}

template <class T, bool of_places>
int32_t order(char *const *pointers, const int64_t *sizes, int64_t begin, int64_t end) {
    const int64_t n = sizes[0], inner = sizes[1];
    for (int64_t row = begin; row < end && n > 0; row++) {
        const int64_t at = row / inner * n * inner + row % inner;
        const T *x = reinterpret_cast<const T *>(pointers[0]) + at;
        auto *y = reinterpret_cast<Out<T, of_places> *>(pointers[1]) + at;
        if constexpr (sizeof(T) == 1) order_booleans<of_places>(x, y, n, inner);
        else if (!of_places || n <= FEW<T>) order_few<T, of_places>(x, y, n, inner);
        else if constexpr (of_places) order_many(x, y, pointers[2], n, inner);
    }
    return 0;
}

// ------------------------------------------------------------------------------------------------------ selecting
//
// By the bits below the first in which keys differ: those that have these bits as the wanted one has are kept, in their
// order, until few are left, or only equal ones.

constexpr int64_t NEARLY_FOUND = 48;

template <class Bits> struct Digits {
    Bits differing = 0;
    int shift = 0;
    std::array<uint32_t, 2048> counts;

    template <class KeyAt> void count(int64_t n, KeyAt key_at) {
        const int width = n < 4096 ? 8 : 11;
        differing = 0;
        for (int64_t i = 0; i < n; i++) differing |= key_at(i) ^ key_at(0);
        shift = std::max(0, static_cast<int>(std::bit_width(differing)) - width);
        mask_ = (Bits(1) << width) - 1;
        std::fill_n(counts.begin(), mask_ + 1, 0);
        for (int64_t i = 0; i < n; i++) counts[of(key_at(i))]++;
    }
    Bits of(Bits key) const { return key >> shift & mask_; }
    // The digits of the key that has `rank` before it, which becomes its rank among those that have them too.
    Bits at(int64_t &rank) const {
        Bits digits = 0;
        for (; rank >= counts[digits]; digits++) rank -= counts[digits];
        return digits;
    }

  private:
    Bits mask_ = 0;
};

template <class T>
void select_many(const T *x, int64_t *places, void *work, int64_t n, int64_t step, int64_t m, const int64_t *ranks) {
    using Bits = typename Item<T>::Bits;
    auto *items = static_cast<Item<T> *>(work);
    auto *keys = reinterpret_cast<Bits *>(items + n);
    for (int64_t i = 0; i < n; i++) keys[i] = item_of(x[i * step], i).key;
    Digits<Bits> first, digits;
    first.count(n, [&](int64_t i) { return keys[i]; });
    for (int64_t j = 0; j < m;) {
        int64_t rank = ranks[j], left = 0;
        const Bits wanted = first.at(rank);
        for (int64_t i = 0; i < n; i++) {
            items[left] = {keys[i], static_cast<Bits>(i)};
            left += first.of(keys[i]) == wanted;
        }
        while (left > NEARLY_FOUND) {
            digits.count(left, [&](int64_t i) { return items[i].key; });
            if (digits.differing == 0) break; // in the order of their places
            const Bits there = digits.at(rank);
            const int64_t many = std::exchange(left, 0);
            for (int64_t i = 0; i < many; i++) {
                const Item<T> item = items[i];
                items[left] = item;
                left += digits.of(item.key) == there;
            }
        }
        if (left <= NEARLY_FOUND)
            std::sort(items, items + left, [](const Item<T> &a, const Item<T> &b) {
                return a.key != b.key ? a.key < b.key : a.place < b.place;
            });
        const int64_t before = ranks[j] - rank; // of those that are left
        for (; j < m && ranks[j] < before + left; j++)
            places[j * step] = static_cast<int64_t>(items[ranks[j] - before].place);
    }
}

template <class T>
void select_few(const T *x, int64_t *places, int64_t n, int64_t step, int64_t m, const int64_t *ranks) {
    Counts<T> counts;
    std::array<int64_t, FEW<T>> order;
    counts.count(x, n, step);
    for (int64_t i = 0; i < n; i++) order[counts.before[i]] = i;
    for (int64_t j = 0; j < m; j++) places[j * step] = order[ranks[j]];
}

// The last NaN, -1 if there is none.
template <class T> int64_t last_nan(const T *x, int64_t n, int64_t step) {
    int64_t last = -1;
    if constexpr (std::is_floating_point_v<T>)
        for (int64_t i = 0; i < n; i++) last = x[i * step] != x[i * step] ? i : last;
    return last;
}

template <class T> int32_t select(char *const *pointers, const int64_t *sizes, int64_t begin, int64_t end) {
    const int64_t n = sizes[0], inner = sizes[1], m = sizes[2], *ranks = sizes + 3;
    for (int64_t row = begin; row < end; row++) {
        const T *x = reinterpret_cast<const T *>(pointers[0]) + row / inner * n * inner + row % inner;
        auto *places = reinterpret_cast<int64_t *>(pointers[1]) + row / inner * m * inner + row % inner;
        const int64_t nan = last_nan(x, n, inner);
        if (nan >= 0)
            for (int64_t j = 0; j < m; j++) places[j * inner] = nan;
        else if (n <= FEW<T>) select_few(x, places, n, inner, m, ranks);
        else select_many(x, places, pointers[2], n, inner, m, ranks);
    }
    return 0;
}

struct NamedKernel {
    const char *name;
    Kernel *kernel;
};

constexpr NamedKernel KERNELS[] = {
    {"sort_f64", order<double, false>},    {"sort_f32", order<float, false>},    {"sort_i64", order<int64_t, false>},
    {"sort_i32", order<int32_t, false>},   {"sort_b1", order<uint8_t, false>},   {"argsort_f64", order<double, true>},
    {"argsort_f32", order<float, true>},   {"argsort_i64", order<int64_t, true>}, {"argsort_i32", order<int32_t, true>},
    {"argsort_b1", order<uint8_t, true>},  {"argselect_f64", select<double>},    {"argselect_f32", select<float>},
    {"argselect_i64", select<int64_t>},    {"argselect_i32", select<int32_t>},
};

} // namespace

Kernel *sorting_kernel(std::string_view name) {
    for (const NamedKernel &known : KERNELS)
        if (name == known.name) return known.kernel;
    return nullptr;
}

} // namespace wengert

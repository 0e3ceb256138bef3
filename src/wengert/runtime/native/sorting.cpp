// Sorting, stable, NaN last, as NumPy has it: by radix, of keys that are integers in the order of the numbers; a few
// elements by insertion. Source: Knuth, The Art of Computer Programming 3, sections 5.2.1 and 5.2.5.
//
// Called like every kernel: from any thread, without the GIL, allocating nothing; the work area is shared by the rows.
#include "sorting.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

namespace wengert {

namespace {

constexpr int64_t FEW = 48; // elements that insertion orders sooner

template <class T>
using Bits =
    std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint8_t>>;

// An integer that is as much before others as `x` is before other numbers: zeros of either sign are equal, and NaN,
// which are equal too, come last.
template <class T> Bits<T> key_of(T x) {
    using B = Bits<T>;
    if constexpr (std::is_floating_point_v<T>) {
        if (x != x) return ~B(0);
        B bits;
        x += T(0); // -0.0 becomes 0.0
        std::memcpy(&bits, &x, sizeof bits);
        constexpr B SIGN = B(1) << (8 * sizeof(T) - 1);
        return bits & SIGN ? ~bits : bits | SIGN;
    } else if constexpr (std::is_signed_v<T>) {
        return static_cast<B>(x) ^ (B(1) << (8 * sizeof(T) - 1));
    } else {
        return static_cast<B>(x);
    }
}

template <class B> struct Item {
    B key;
    int64_t place;
};

template <class B> void insert_each(Item<B> *items, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        const Item<B> item = items[i];
        int64_t j = i;
        for (; j > 0 && item.key < items[j - 1].key; j--) items[j] = items[j - 1];
        items[j] = item;
    }
}

// By one byte of the keys after the other, from the last; a byte that all have alike takes no pass. Returns where the
// sorted items are: `items` or `other`.
template <class B> Item<B> *sort_by_radix(Item<B> *items, Item<B> *other, int64_t n) {
    std::array<std::array<uint32_t, 256>, sizeof(B)> counts{}; // of up to 2^32 items
    for (int64_t i = 0; i < n; i++)
        for (size_t byte = 0; byte < sizeof(B); byte++) counts[byte][items[i].key >> (8 * byte) & 255]++;
    for (size_t byte = 0; byte < sizeof(B); byte++) {
        auto &count = counts[byte];
        if (count[items[0].key >> (8 * byte) & 255] == static_cast<uint64_t>(n)) continue;
        uint32_t before = 0;
        for (uint32_t &c : count) before += std::exchange(c, before);
        for (int64_t i = 0; i < n; i++) other[count[items[i].key >> (8 * byte) & 255]++] = items[i];
        std::swap(items, other);
    }
    return items;
}

template <class T, bool of_places>
int32_t order(char *const *pointers, const int64_t *sizes, int64_t begin, int64_t end) {
    using B = Bits<T>;
    const int64_t n = sizes[0], inner = sizes[1];
    auto *items = reinterpret_cast<Item<B> *>(pointers[2]), *other = items + n;
    for (int64_t row = begin; row < end && n > 0; row++) {
        const int64_t at = row / inner * n * inner + row % inner;
        const T *x = reinterpret_cast<const T *>(pointers[0]) + at;
        for (int64_t i = 0; i < n; i++) items[i] = {key_of(x[i * inner]), i};
        Item<B> *sorted = items;
        n <= FEW ? insert_each(items, n) : void(sorted = sort_by_radix(items, other, n));
        if constexpr (of_places) {
            int64_t *places = reinterpret_cast<int64_t *>(pointers[1]) + at;
            for (int64_t i = 0; i < n; i++) places[i * inner] = sorted[i].place;
        } else { // `x` and the values may be one array
            T *values = reinterpret_cast<T *>(pointers[1]) + at;
            T *kept = reinterpret_cast<T *>(sorted == items ? other : items);
            for (int64_t i = 0; i < n; i++) kept[i] = x[sorted[i].place * inner];
            for (int64_t i = 0; i < n; i++) values[i * inner] = kept[i];
        }
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
    {"argsort_b1", order<uint8_t, true>},
};

} // namespace

Kernel *sorting_kernel(std::string_view name) {
    for (const NamedKernel &known : KERNELS)
        if (name == known.name) return known.kernel;
    return nullptr;
}

} // namespace wengert

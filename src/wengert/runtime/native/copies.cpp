// Copies of a few elements: compiling a kernel for one takes as long as making a million of them.
#include "layout.h"

#include <cstring>

namespace wengert {

namespace {

struct Dimension { // as it stands among the sizes; the strides are in bytes
    int64_t extent, from, to;
};

template <size_t itemsize> void copy(const char *from, char *to, const Dimension *dims, int64_t ndim) {
    if (ndim == 0) {
        std::memcpy(to, from, itemsize);
        return;
    }
    for (int64_t i = 0; i < dims->extent; i++)
        copy<itemsize>(from + i * dims->from, to + i * dims->to, dims + 1, ndim - 1);
}

} // namespace

int32_t copy_few(char *const *pointers, const int64_t *sizes, int64_t, int64_t) {
    const auto *dims = reinterpret_cast<const Dimension *>(sizes + 2);
    switch (sizes[0]) {
    case 1: copy<1>(pointers[0], pointers[1], dims, sizes[1]); break;
    case 2: copy<2>(pointers[0], pointers[1], dims, sizes[1]); break;
    case 4: copy<4>(pointers[0], pointers[1], dims, sizes[1]); break;
    default: copy<8>(pointers[0], pointers[1], dims, sizes[1]);
    }
    return 0;
}

} // namespace wengert

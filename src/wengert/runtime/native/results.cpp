// The memory of large results: what a dropped result leaves is kept for a later one of the same size.
//
// The system clears each page that it gives out, which takes as long as writing a result does, or several times as long
// where the machine is virtual. So a large result is allocated by a handler of NumPy's that keeps blocks. It tells the
// system that it may take their pages whenever memory is short. NumPy calls a handler with the GIL held, so no lock is
// needed.
#include "results.h"
#include "../../native/platform.h"
#include "layout.h"

#include <cstring>

namespace wengert {

namespace {

constexpr size_t KEPT_FROM = size_t(1) << 20, KEPT_MOST = size_t(256) << 20; // bytes: of one result, of all blocks kept
constexpr size_t HEAD = 64, PAGE = 4096; // a block's size stands before the result, which begins a cache line

std::vector<char *> kept; // the oldest first
size_t n_kept_bytes;
PyObject *handler;

size_t &size_of(char *block) { return *reinterpret_cast<size_t *>(block); }

void drop_oldest() {
    n_kept_bytes -= size_of(kept.front());
    free_arena(kept.front());
    kept.erase(kept.begin());
}

void *allocate(void *, size_t nbytes) {
    const size_t size = HEAD + nbytes;
    for (size_t k = kept.size(); k-- > 0;)
        if (size_of(kept[k]) == size) {
            char *block = kept[k];
            n_kept_bytes -= size;
            kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(k));
            return block + HEAD;
        }
    while (!kept.empty()) drop_oldest(); // a program that makes other results holds no more than it would without them
    char *block = size < nbytes ? nullptr : new_arena(size);
    if (block == nullptr) return PyErr_Clear(), nullptr; // NumPy says so
    size_of(block) = size;
    return block + HEAD;
}

void *allocate_zeros(void *context, size_t count, size_t each) {
    void *result = each != 0 && count > SIZE_MAX / each ? nullptr : allocate(context, count * each);
    return result == nullptr ? nullptr : std::memset(result, 0, count * each);
}

void release(void *, void *result, size_t) {
    if (result == nullptr) return;
    char *block = static_cast<char *>(result) - HEAD;
    const size_t size = size_of(block);
    if (size < KEPT_FROM || size > KEPT_MOST) return free_arena(block);
    while (n_kept_bytes + size > KEPT_MOST) drop_oldest();
    const auto begin = reinterpret_cast<uintptr_t>(block) / PAGE * PAGE + PAGE; // not the page with the size
    give_up_pages(reinterpret_cast<void *>(begin), (reinterpret_cast<uintptr_t>(block) + size - begin) / PAGE * PAGE);
    kept.push_back(block);
    n_kept_bytes += size;
}

void *allocate_again(void *context, void *result, size_t nbytes) {
    if (result == nullptr) return allocate(context, nbytes);
    void *other = allocate(context, nbytes);
    if (other == nullptr) return nullptr;
    const size_t old = size_of(static_cast<char *>(result) - HEAD) - HEAD;
    std::memcpy(other, result, old < nbytes ? old : nbytes);
    release(context, result, old);
    return other;
}

PyDataMem_Handler functions = {"wengert", 1, {nullptr, allocate, allocate_zeros, allocate_again, release}};

} // namespace

bool make_results_handler() {
    kept.reserve(KEPT_MOST / KEPT_FROM + 1); // no exception comes out of NumPy's calls
    handler = PyCapsule_New(&functions, "mem_handler", nullptr);
    return handler != nullptr;
}

PyObject *new_large_array(const Operand &operand) {
    PyObject *before = PyDataMem_SetHandler(handler);
    if (before == nullptr) return nullptr;
    const bool is_default = before == PyDataMem_DefaultHandler; // somebody's own handler is theirs to choose
    PyObject *none = is_default ? nullptr : PyDataMem_SetHandler(before);
    Py_XDECREF(none);
    Py_INCREF(operand.descr);
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, operand.descr, static_cast<int>(operand.shape.size()),
                                           operand.shape.data(), nullptr, nullptr, 0, nullptr);
    if (is_default) {
        PyObject *ours = PyDataMem_SetHandler(before);
        if (ours == nullptr) Py_CLEAR(array);
        Py_XDECREF(ours);
    }
    Py_DECREF(before);
    return array;
}

bool is_large(const Operand &operand) { return static_cast<size_t>(operand.nbytes) >= KEPT_FROM; }

size_t kept_bytes() { return n_kept_bytes; }

} // namespace wengert

// The memory of runs: arenas, and the frames that hold them.
//
// A frame is taken by one run and returned after it; the executable keeps a few. Taking and returning exchange one
// pointer atomically, so they need no lock, with or without the GIL.
#include "../../native/platform.h"
#include "layout.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace wengert {

namespace {
constexpr size_t ALIGNMENT = 64;                // a cache line, and the widest vector
constexpr size_t HUGE_PAGE = size_t(2) << 20;   // 2 MB pages spare large arenas most of their TLB misses
constexpr size_t HUGE_FROM = 2 * HUGE_PAGE;
constexpr size_t KEPT_FROM = size_t(4) << 20;   // a smaller arena is kept by every executable

size_t rounded(size_t n, size_t to) { return (n + to - 1) / to * to; }
} // namespace

char *new_arena(size_t nbytes) {
    const size_t alignment = nbytes >= HUGE_FROM ? HUGE_PAGE : ALIGNMENT;
    void *memory = nullptr;
    if (nbytes <= PTRDIFF_MAX - HUGE_PAGE) memory = allocate_aligned(alignment, rounded(nbytes + 1, ALIGNMENT));
    if (memory == nullptr) {
        PyErr_Format(PyExc_MemoryError, "a program's arena of %zu bytes does not fit into memory", nbytes);
        return nullptr;
    }
    if (nbytes >= HUGE_FROM) advise_large_pages(memory, nbytes);
    return static_cast<char *>(memory);
}

void free_arena(char *arena) { free_aligned(arena); }

bool ensure_arena(const Executable &code, Frame &frame) {
    if (frame.arena != nullptr) return true;
    char *arena = new_arena(code.arena_bytes);
    if (arena == nullptr) return false;
    frame.arena = arena;
    frame.bases[0] = nullptr; // an allocator may give the same address again, but a table must be filled once
    set_base(code, frame, 0, arena);
    return true;
}

Frame *new_frame(const Executable &code) {
    const size_t n_inputs = code.inputs.size(), n_outputs = code.outputs.size(), n_bases = code.n_bases();
    const size_t n_temporaries = n_inputs + code.captures.size();
    const size_t head = rounded(sizeof(Frame), 16), values = sizeof(InlineValue) * (n_inputs + n_outputs);
    const size_t n_words = code.n_pointers + 2 * n_bases + n_outputs + n_temporaries;
    char *memory = static_cast<char *>(std::calloc(1, head + values + n_words * sizeof(void *)));
    if (memory == nullptr) {
        PyErr_NoMemory();
        return nullptr;
    }
    Frame *frame = new (memory) Frame{};
    frame->values = reinterpret_cast<InlineValue *>(memory + head);
    char **words = reinterpret_cast<char **>(memory + head + values);
    frame->table = words;
    frame->bases = words + code.n_pointers;
    frame->owners = reinterpret_cast<PyObject **>(frame->bases + n_bases);
    frame->results = frame->owners + n_bases;
    frame->temporaries = frame->results + n_outputs;
    if (!ensure_arena(code, *frame)) {
        free_frame(frame);
        return nullptr;
    }
    for (size_t k = 0; k < code.constants.size(); k++) {
        set_base(code, *frame, code.first_constant() + k, PyArray_BYTES(code.constants[k]));
        frame->owners[code.first_constant() + k] = reinterpret_cast<PyObject *>(code.constants[k]);
    }
    return frame;
}

void free_frame(Frame *frame) {
    if (frame == nullptr) return;
    free_arena(frame->arena);
    std::free(frame);
}

Frame *take_frame(Executable &code) {
    for (auto &slot : code.kept)
        if (slot.load(std::memory_order_relaxed) != nullptr)
            if (Frame *frame = slot.exchange(nullptr, std::memory_order_acquire)) return frame;
    return new_frame(code);
}

void drop_references(const Executable &code, Frame &frame) {
    while (frame.n_temporaries > 0) Py_DECREF(frame.temporaries[--frame.n_temporaries]);
    for (size_t k = 0; k < code.outputs.size(); k++) Py_CLEAR(frame.results[k]);
}

void return_frame(Executable &code, Frame *frame) {
    drop_references(code, *frame);
    if (frame->arena != nullptr && (code.keeps_arena || code.arena_bytes < KEPT_FROM))
        for (auto &slot : code.kept) {
            Frame *expected = nullptr;
            if (slot.compare_exchange_strong(expected, frame, std::memory_order_release, std::memory_order_relaxed))
                return;
        }
    free_frame(frame);
}

} // namespace wengert

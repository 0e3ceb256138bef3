// Finds NaNs and infinities in what the steps of a program have written.
//
// An executable has a list of checks once somebody has asked for them: after which step, which floats. It is made once,
// by Python, and never changed. Whether a run looks is decided by the thread that runs it; the rest of the runtime asks
// one counter, which is 0 as long as nobody wants to know.
#include "finite.h"
#include "processors.h"

#include <algorithm>

namespace wengert {

std::atomic<int> finders{0};

namespace {

constexpr int8_t UNSET = -1;
thread_local int8_t here = UNSET;
std::atomic<int8_t> everywhere{0};

// The bits of a float without its sign are a number that is at least `exponent` for an infinity, and greater for a NaN.
// To add what is missing to the highest bit sets that bit: integer operations alone, which compilers vectorise.
template <typename Word> struct Bits;
template <> struct Bits<uint16_t> { static constexpr uint16_t exponent = 0x7c00; };
template <> struct Bits<uint32_t> { static constexpr uint32_t exponent = 0x7f800000; };
template <> struct Bits<uint64_t> { static constexpr uint64_t exponent = 0x7ff0000000000000; };

// What the bits of n numbers that lie behind one another, each with `missing` added, have together.
template <typename Word> INLINED Word together(const Word *numbers, npy_intp n, Word missing) {
    constexpr Word magnitude = Word(~(Word(1) << (8 * sizeof(Word) - 1)));
    Word found = 0;
    for (npy_intp k = 0; k < n; k++) found |= Word((numbers[k] & magnitude) + missing);
    return found;
}

FOR_EACH_PROCESSOR uint16_t together_2(const uint16_t *p, npy_intp n, uint16_t m) { return together(p, n, m); }
FOR_EACH_PROCESSOR uint32_t together_4(const uint32_t *p, npy_intp n, uint32_t m) { return together(p, n, m); }
FOR_EACH_PROCESSOR uint64_t together_8(const uint64_t *p, npy_intp n, uint64_t m) { return together(p, n, m); }
uint16_t all_together(const uint16_t *p, npy_intp n, uint16_t m) { return together_2(p, n, m); }
uint32_t all_together(const uint32_t *p, npy_intp n, uint32_t m) { return together_4(p, n, m); }
uint64_t all_together(const uint64_t *p, npy_intp n, uint64_t m) { return together_8(p, n, m); }

template <typename Word> bool found_in(const char *memory, npy_intp n, npy_intp stride, bool infinities) {
    constexpr Word highest = Word(1) << (8 * sizeof(Word) - 1);
    const Word missing = Word(highest - Bits<Word>::exponent - (infinities ? 0 : 1));
    if (stride != sizeof(Word) || n < 8) { // few are not worth a call
        Word found = 0;
        for (npy_intp k = 0; k < n; k++)
            found |= together(reinterpret_cast<const Word *>(memory + k * stride), 1, missing);
        return found & highest;
    }
    constexpr npy_intp BLOCK = 8192;
    const auto *numbers = reinterpret_cast<const Word *>(memory);
    for (npy_intp k = 0; k < n; k += BLOCK)
        if (all_together(numbers + k, std::min(BLOCK, n - k), missing) & highest) return true;
    return false;
}

bool found_in(const Floats &floats, const char *memory, size_t axis, bool infinities) {
    const npy_intp n = floats.shape[axis], stride = floats.strides[axis];
    if (axis + 1 == floats.shape.size()) {
        switch (floats.itemsize) {
        case 2: return found_in<uint16_t>(memory, n, stride, infinities);
        case 4: return found_in<uint32_t>(memory, n, stride, infinities);
        default: return found_in<uint64_t>(memory, n, stride, infinities);
        }
    }
    for (npy_intp k = 0; k < n; k++)
        if (found_in(floats, memory + k * stride, axis + 1, infinities)) return true;
    return false;
}

// Axes that lie behind one another become one, so that what is contiguous is one loop.
void join_axes(Floats &floats) {
    std::vector<npy_intp> shape, strides;
    for (size_t k = 0; k < floats.shape.size(); k++) {
        const npy_intp n = floats.shape[k], stride = floats.strides[k];
        if (n == 1) continue;
        if (!shape.empty() && strides.back() == n * stride) {
            shape.back() *= n;
            strides.back() = stride;
        } else {
            shape.push_back(n);
            strides.push_back(stride);
        }
    }
    if (shape.empty()) {
        shape.push_back(1);
        strides.push_back(floats.itemsize);
    }
    floats.shape = std::move(shape);
    floats.strides = std::move(strides);
}

} // namespace

Looking looking() {
    const int8_t mode = here != UNSET ? here : everywhere.load(std::memory_order_relaxed);
    return static_cast<Looking>(mode);
}

Looked::Looked(Looking mode) : before_(here) {
    here = static_cast<int8_t>(mode);
    if (here > 0) finders.fetch_add(1, std::memory_order_relaxed);
}
Looked::~Looked() {
    if (here > 0) finders.fetch_sub(1, std::memory_order_relaxed);
    here = before_;
}

namespace {

PyObject *get_here(PyObject *, void *) { return PyLong_FromLong(here); }
PyObject *get_everywhere(PyObject *, void *) { return PyLong_FromLong(everywhere.load(std::memory_order_relaxed)); }
PyObject *get_mode(PyObject *, void *) { return PyLong_FromLong(static_cast<long>(looking())); }

bool mode_of(PyObject *value, long lowest, int8_t &mode) {
    const long number = value == nullptr ? lowest - 1 : PyLong_AsLong(value);
    if (number == -1 && PyErr_Occurred()) return false;
    if (number < lowest || number > 2) {
        PyErr_SetString(PyExc_ValueError, "a run looks not at all, 0, for NaNs, 1, or for infinities too, 2");
        return false;
    }
    mode = static_cast<int8_t>(number);
    return true;
}

int set_here(PyObject *, PyObject *value, void *) {
    int8_t mode;
    if (!mode_of(value, UNSET, mode)) return -1;
    finders.fetch_add((mode > 0) - (here > 0), std::memory_order_relaxed);
    here = mode;
    return 0;
}

int set_everywhere(PyObject *, PyObject *value, void *) {
    int8_t mode;
    if (!mode_of(value, 0, mode)) return -1;
    const int8_t before = everywhere.exchange(mode, std::memory_order_relaxed);
    finders.fetch_add((mode > 0) - (before > 0), std::memory_order_relaxed);
    return 0;
}

PyGetSetDef finding_getset[] = {
    {"here", get_here, set_here, "how runs of this thread look; -1: as everywhere", nullptr},
    {"everywhere", get_everywhere, set_everywhere, "how runs of threads look that have not said anything", nullptr},
    {"mode", get_mode, nullptr, "how this thread looks", nullptr},
    {}};

PyType_Slot finding_slots[] = {
    {Py_tp_getset, finding_getset},
    {Py_tp_doc, const_cast<char *>("Whether runs look for NaNs: 0 not at all, 1 for NaNs, 2 for infinities too.")},
    {}};

PyType_Spec finding_spec = {"wengert.runtime._native.Finding", sizeof(PyObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, finding_slots};

} // namespace

bool make_finding(PyObject *module) {
    PyObject *type = PyType_FromSpec(&finding_spec);
    PyObject *made = type == nullptr ? nullptr : PyObject_CallNoArgs(type);
    const bool is_made = made != nullptr && PyModule_AddObjectRef(module, "finding", made) == 0;
    Py_XDECREF(made);
    Py_XDECREF(type);
    return is_made;
}

Floats make_floats(char kind, npy_intp itemsize, std::vector<npy_intp> shape, std::vector<npy_intp> strides) {
    Floats floats;
    floats.shape = std::move(shape);
    floats.strides = std::move(strides);
    floats.itemsize = static_cast<int>(itemsize);
    if (kind == 'c') { // pairs of floats
        floats.itemsize /= 2;
        floats.shape.push_back(2);
        floats.strides.push_back(floats.itemsize);
    }
    join_axes(floats);
    return floats;
}

namespace {

constexpr npy_intp CACHED = 1 << 18; // bytes that a part may write, so that they are still in the cache

} // namespace

Parted::Parted(const Check *first, const Check *last, const Step &candidate, char *const *table, Looking mode)
    : first_(first), last_(last), table_(table), mode_(mode) {
    npy_intp bytes = 0; // of one index of the extent
    for (const Check *check = first; check != last; check++) {
        if (check->width == 0) return;
        bytes += check->width * check->floats.itemsize;
    }
    if (candidate.kind != StepKind::kernel || candidate.grain <= 0) return;
    step = &candidate;
    most = std::max<int64_t>(CACHED / bytes / candidate.grain, 1) * candidate.grain;
}

void Parted::look(int64_t begin, int64_t end) {
    if (has_found.load(std::memory_order_relaxed)) return;
    for (const Check *check = first_; check != last_; check++) {
        Floats part = check->floats;
        part.shape[0] = (end - begin) * check->width;
        const char *memory = table_[check->pointer] + check->offset + begin * check->width * part.itemsize;
        if (found_in(part, memory, 0, mode_ == Looking::all)) has_found.store(true, std::memory_order_relaxed);
    }
}

bool is_found(const Check &check, char *const *table, Looking mode) {
    const char *memory = table[check.pointer] + check.offset;
    return found_in(check.floats, memory, 0, mode == Looking::all);
}

} // namespace wengert

// What the parts of the runtime share: the layout of a program's code, of one run's memory, and who owns what.
//
// An *Executable* is immutable code: blocks of steps over numbered memory *bases* (the arena, then inputs, captures,
// constants, outputs). A *Frame* is what one run needs: an arena, and a table with the address of every pointer that
// a step reads or writes. A frame belongs to one run at a time; between runs the executable keeps a few of them, with
// their tables filled in, so that a run writes only the entries whose base has moved.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL wengert_numpy_api
#ifndef WENGERT_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace wengert {

// ---------------------------------------------------------------------------------------------------------- code

// A kernel's whole interface with the code generator. `pointers` are its operands, `sizes` a table of constants,
// [begin, end) a part of its outermost loop. It returns 0, or a status that its step explains. It never allocates.
using Kernel = int32_t(char *const *pointers, const int64_t *sizes, int64_t begin, int64_t end);
static_assert(sizeof(void *) == 8 && sizeof(npy_intp) == 8, "generated code takes pointers and sizes of 64 bits");

// Values of shape () up to this size live in the frame, so that a run neither allocates for them nor moves a pointer.
constexpr npy_intp INLINE_BYTES = 32;

// The layout of an array: what is demanded of an input, what an output is made as.
struct Operand {
    PyArray_Descr *descr = nullptr; // a strong reference, released with the executable
    std::vector<npy_intp> shape;
    std::vector<npy_intp> strides; // of C order where `is_contiguous`
    bool is_contiguous = true;     // else the strides are demanded exactly
    bool is_inline = false;        // of shape () and small: its value is kept in the frame
    bool is_zeroed = false;        // of an output: zeros when a run begins
    int32_t over = -1;             // of an output: the input whose memory it is written into, if that may be written
    npy_intp nbytes = 0;
    npy_intp low = 0, high = 0; // the bytes it covers, from its data pointer: [low, high)
};

enum class StepKind : uint8_t { kernel, guard, callback, loop, branch };

struct Step {
    StepKind kind;
    int32_t detail = -1;  // in the table of the kind: guards, callbacks, loops ...; of a kernel its failure, or -1
    uint32_t pointer = 0; // the first of its pointers in a frame's table
    Kernel *kernel = nullptr;
    const int64_t *sizes = nullptr;
    int64_t extent = 0;
    int64_t grain = 0;       // parts begin and end at multiples of it; 0: never split
    bool is_ordered = false; // parts are run one after the other, by one thread
    uint32_t number = 0;     // among all steps of all blocks, each behind those in its own blocks
};

using Block = std::vector<Step>;

struct Guard {
    uint32_t pointer;
    size_t nbytes;
    const char *expected;
    int64_t position; // which guard of the traced function it is
};

// An array that Python is handed, or that takes its result.
struct View {
    Operand operand;
    uint32_t pointer;
    uint32_t base;
    bool is_copied;
};

struct Callback {
    PyObject *function; // a strong reference
    std::vector<View> ins;
    std::vector<View> outs;
    bool writes = false; // it is given arrays for its results behind its operands, and returns nothing
};

struct Loop { // while the condition holds; the flag is one byte
    uint32_t pointer;
    int32_t condition, body; // blocks
};

struct Branch { // the block that an int64 says; clipped to those there are, as a gather clips
    uint32_t pointer;
    std::vector<int32_t> blocks;
};

// The block that the int64 at `index` says.
inline int32_t chosen(const Branch &branch, const char *index) {
    int64_t k;
    std::memcpy(&k, index, sizeof k);
    const int64_t last = static_cast<int64_t>(branch.blocks.size()) - 1;
    return branch.blocks[k < 0 ? 0 : k > last ? last : k];
}

// Where a base appears in the table of pointers.
struct Use {
    uint32_t pointer;
    int64_t offset;
};

struct Frame;
struct Timing;
struct Check;
struct Parted;

struct Executable {
    size_t arena_bytes = 0;
    bool is_long = false;    // a run gives up the GIL
    bool keeps_arena = true; // from run to run, even if it is large
    std::vector<Operand> inputs, captures, outputs;
    std::vector<size_t> zeroed;                       // the outputs that are zeros when a run begins
    std::vector<size_t> in_shared;                    // by output: where it lies in the memory that small ones share
    size_t shared_bytes = 0;                          // how large that is; 0: each has its own
    std::vector<PyArrayObject *> captured, constants; // strong references
    std::vector<Block> blocks;                        // the first is the program, the others belong to loops, branches
    std::vector<Guard> guards;
    std::vector<Callback> callbacks;
    std::vector<Loop> loops;
    std::vector<Branch> branches;
    std::vector<std::vector<int64_t>> size_tables; // never resized once a step points into one
    std::vector<std::vector<char>> expected;       // of guards; likewise
    std::vector<std::vector<Use>> uses;            // by base
    uint32_t n_pointers = 0;
    size_t commits_at = SIZE_MAX;                  // from this step on a run writes its inputs, and goes on to its end
    PyObject *machine_code = nullptr;              // a strong reference: what keeps the kernels there; may be nullptr

    std::atomic<std::vector<Check> *> checks{nullptr}; // owned; made when somebody looks for NaNs, see finite.h
    PyObject *owner = nullptr;                         // a strong reference: a callable that gives the Program, or None

    std::atomic<uint64_t> runs{0};
    uint32_t n_steps = 0;
    std::atomic<Timing *> timing{nullptr}; // while the steps are timed; see timing.h
    Timing *timings = nullptr;             // owned: all that there were, the newest first
    static constexpr int KEPT_FRAMES = 4;
    std::atomic<char *> loop_memory[KEPT_FRAMES] = {}; // of a body: what its loops work in, see loops.cpp
    std::atomic<Frame *> kept[KEPT_FRAMES] = {}; // free frames; whoever exchanges one out owns it

    size_t first_input() const { return 1; }
    size_t first_capture() const { return 1 + inputs.size(); }
    size_t first_constant() const { return first_capture() + captures.size(); }
    size_t first_output() const { return first_constant() + constants.size(); }
    size_t n_bases() const { return first_output() + outputs.size(); }
};

// --------------------------------------------------------------------------------------------------- one run's memory

struct InlineValue {
    alignas(16) char bytes[INLINE_BYTES];
};

struct Frame {
    char *arena;              // owned; nullptr if given away to a view that outlived its callback
    char **table;             // the address of each pointer of the code
    char **bases;             // the address of each base
    PyObject **owners;        // by base: what keeps its memory alive while the run lasts; borrowed, may be nullptr
    PyObject **results;       // outputs of the run under way; strong references, all nullptr between runs
    PyObject **temporaries;   // copies of inputs that could not be read where they lie; strong references
    size_t n_temporaries;
    InlineValue *values;      // of inputs, then outputs
    bool stands_apart;        // outputs_stand_apart was found true, and no base has moved since
};

// arena.cpp. With the GIL held. nullptr: a Python error is set.
char *new_arena(size_t nbytes);
void free_arena(char *arena);
Frame *new_frame(const Executable &code);
void free_frame(Frame *frame);
Frame *take_frame(Executable &code);
void return_frame(Executable &code, Frame *frame); // drops what the run held
void drop_references(const Executable &code, Frame &frame);
bool ensure_arena(const Executable &code, Frame &frame);

inline void set_base(const Executable &code, Frame &frame, size_t base, char *address) {
    if (frame.bases[base] == address) return;
    frame.bases[base] = address;
    frame.stands_apart = false;
    for (const Use &use : code.uses[base]) frame.table[use.pointer] = address + use.offset;
}

// ------------------------------------------------------------------------------------------------------- operands.cpp

Operand make_operand(PyArray_Descr *descr, std::vector<npy_intp> shape); // steals descr
Operand make_operand(PyArray_Descr *descr, std::vector<npy_intp> shape, std::vector<npy_intp> strides);
void release(Operand &operand);

inline bool same_type(const Operand &operand, PyArrayObject *x) {
    return PyArray_DESCR(x) == operand.descr || PyArray_EquivTypes(PyArray_DESCR(x), operand.descr);
}
bool same_shape(const Operand &operand, PyArrayObject *x);
bool same_strides(const Operand &operand, PyArrayObject *x); // where they matter: not along an axis of length 1
constexpr int READABLE = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;

// The address at which the program reads `x`; of a value of shape () a copy in `value`, of an array that it cannot read
// where it lies a temporary that the frame keeps. `owner` keeps that address alive; nullptr for a value in the frame.
// nullptr: a Python error is set. `x` was checked already if `is_trusted`.
char *read_operand(const Operand &operand, Frame &frame, InlineValue *value, PyObject *x, const char *what, size_t k,
                   bool is_trusted, PyObject *&owner);
bool read_value(const Operand &operand, char *value, PyObject *x, const char *what, size_t k);
PyObject *new_array(const Operand &operand);
// Several small arrays in one allocation: they cost half as much as on their own. Each keeps all of it alive, so it is
// bounded.
constexpr size_t ALONE = SIZE_MAX; // of an output: has memory of its own
void share_memory(Executable &code); // decides which outputs do
PyObject *new_shared_memory(const Executable &code, char *&begin);
PyObject *new_array_in(PyObject *owner, char *memory, const Operand &operand);
bool make_shared_memory_type();
PyObject *new_scalar(const Operand &operand, const char *value);
// Why `x` cannot be an output written where it lies, or nullptr.
const char *unfit_for_output(const Operand &operand, PyObject *x);
bool overlaps(const char *a, const Operand &a_operand, const char *b, const Operand &b_operand);
// Raises TypeError or ValueError: what was expected, what came.
void refuse_operand(const Operand &operand, PyObject *x, const char *what, size_t k, const char *why = nullptr);

// ------------------------------------------------------------------------------------------------------- executor.cpp

enum class Outcome : uint8_t {
    done,
    guard_missed,
    refused, // the outputs that were given do not fit, and nothing ran; a Python error is set
    failed,  // a Python error is set
};

struct Miss {
    const Guard *guard = nullptr;
    const char *seen = nullptr;
};

// Runs the steps over a frame whose bases are all set. With the GIL held; gives it up meanwhile if the code says so.
// `is_fresh`: the outputs were made for this run, so those that begin as zeros are zeros.
Outcome execute(Executable &code, Frame &frame, Miss &miss, bool is_fresh = false);
// The exception of a guard miss, set; `execute` gave guard_missed.
void raise_miss(const Miss &miss);
PyObject *miss_bytes(const Miss &miss);
extern PyObject *guard_miss; // the callable that makes that exception; set once by `setup`

// One run under way, and whether the GIL is given up for it.
struct Run {
    Executable &code;
    Frame &frame;
    Miss &miss;
    PyThreadState *released; // set while the GIL is given up
    int64_t looked_at_ns;
    bool is_committed = false; // it has begun to write its inputs
    Parted *parted = nullptr;  // of the step that is looked at part by part, see finite.h

    void release_gil() { released = PyEval_SaveThread(); }
    void take_gil() {
        PyEval_RestoreThread(released);
        released = nullptr;
    }
};

// Now and then, lets Python handle the signals that came, which it does in its main thread alone. By the thread of the
// run. Whether to go on; if not, a Python error is set.
bool look_for_signals(Run &run);

// --------------------------------------------------------------------------------------------------------- angles.cpp

// Doubles from 2^20 on, modulo π/2: `numbers` holds n of them, and room for 2n more. They become the reduced angles,
// which the next n add what is missing to; the last n become the quadrants, as int64.
void reduce_huge(double *numbers, int64_t n);

// --------------------------------------------------------------------------------------------------------- copies.cpp

// pointers (from, to), sizes (itemsize, ndim, then of each dimension its extent and the strides of both, in bytes)
Kernel copy_few;

// ------------------------------------------------------------------------------------------------------ executable.cpp

struct ExecutableObject {
    PyObject_HEAD
    Executable code;
};

extern PyTypeObject *executable_type, *bound_type, *dispatcher_type, *entry_type; // made once, with the module
bool make_executable_type(PyObject *module);
bool make_bound_type(PyObject *module);
bool make_call_types(PyObject *module);

// Places the operands, runs, and leaves the outputs in frame.results. `captures` and `out` may be nullptr.
// After `failed` a Python error is set.
Outcome run_frame(Executable &code, Frame &frame, PyObject *const *inputs, PyObject *const *captures,
                  PyObject *const *out, bool is_trusted, Miss &miss);
// A kernel may read an input after it wrote an output, so outputs that were given share no memory with what is read, or
// with each other. If they do: false, and a ValueError.
bool outputs_stand_apart(const Executable &code, Frame &frame);
// `x` as a tuple or list of n items, a new reference; nullptr for None. False: a Python error is set.
bool sequence(PyObject *x, size_t n, const char *what, PyObject *&items);
PyObject *const *items_or_null(PyObject *sequence);
PyObject *bind(PyObject *self, PyObject *args, PyObject *kwargs);

// -------------------------------------------------------------------------------------------------------- threads.cpp

int get_threads();
bool set_threads(int n);
// A step whose extent is run in parts, by several threads if it may. The parts' bounds do not matter to the result:
// kernels promise that. STOPPED: a signal's handler raised, and a Python error is set; else the kernel's status.
int32_t run_in_parts(const Step &step, char *const *pointers, Run &run);
constexpr int32_t STOPPED = INT32_MIN; // no kernel's status

inline void count(std::atomic<uint64_t> &counter) {
#ifdef Py_GIL_DISABLED
    counter.fetch_add(1, std::memory_order_relaxed);
#else // under the GIL; a locked instruction would cost more than the rest of a small call's bookkeeping
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
#endif
}

// ---------------------------------------------------------------------------------------------------------- containers

// Items of containers that another thread may be changing: new references, where the GIL does not protect a borrowed.
#ifdef Py_GIL_DISABLED
inline PyObject *list_item(PyObject *list, Py_ssize_t k) {
    PyObject *found = PyList_GetItemRef(list, k);
    if (found == nullptr) PyErr_Clear();
    return found;
}
inline PyObject *dict_item(PyObject *dict, PyObject *key) {
    PyObject *found;
    PyDict_GetItemRef(dict, key, &found);
    return found;
}
inline PyObject *next_key(PyObject *dict, Py_ssize_t &place) {
    PyObject *key = nullptr, *value;
    Py_BEGIN_CRITICAL_SECTION(dict);
    if (PyDict_Next(dict, &place, &key, &value)) Py_INCREF(key);
    Py_END_CRITICAL_SECTION();
    return key;
}
inline PyObject *cell_content(PyObject *cell) { return PyCell_Get(cell); }
#else
inline PyObject *list_item(PyObject *list, Py_ssize_t k) {
    return k < PyList_GET_SIZE(list) ? Py_NewRef(PyList_GET_ITEM(list, k)) : nullptr;
}
inline PyObject *dict_item(PyObject *dict, PyObject *key) { return Py_XNewRef(PyDict_GetItemWithError(dict, key)); }
inline PyObject *next_key(PyObject *dict, Py_ssize_t &place) {
    PyObject *key = nullptr, *value;
    return PyDict_Next(dict, &place, &key, &value) ? Py_NewRef(key) : nullptr;
}
inline PyObject *cell_content(PyObject *cell) { return Py_XNewRef(PyCell_GET(cell)); }
#endif

} // namespace wengert

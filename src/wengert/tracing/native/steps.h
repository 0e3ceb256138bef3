// The extension module wengert.tracing._steps: traced values, and the steps that earlier runs of a function have taken.
//
// A function that is traced at every call mostly takes the steps that it took before. So what an operator, a function of
// NumPy's or an index gave is kept, with all that it was given as its key: the same operation on the same variables is
// answered by the same instructions, and by values that are made like those of before. Python code answers what comes
// for the first time, and whatever cannot be known by its arguments alone.
#pragma once
#include "../../native/context.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

namespace wengert {

// The part of a Trace that is read at every step.
struct TraceState {
    PyObject_HEAD
    PyObject *steps; // None, or the Steps of the function that is traced
    char is_open, is_direct;
};

// A traced array or scalar: see tracer.py, which says what the fields mean.
struct Value {
    PyObject_HEAD
    PyObject *trace, *atom, *aval, *weak, *constant, *base, *lens, *layout, *why_readonly, *lent, *hashed, *told;
    Py_ssize_t version, seen;
    char is_scalar, is_viewed, is_shared, is_reordered;

    Value *root() {
        Value *at = this;
        while (at->base != Py_None) at = reinterpret_cast<Value *>(at->base);
        return at;
    }
};

// What the module was given by `setup`, and Python names.
struct Known {
    PyTypeObject *tracer = nullptr;
    PyTypeObject *ndarray = nullptr, *generic = nullptr, *dtype = nullptr, *literal = nullptr;
    PyObject *hooks = nullptr;     // the module, whose functions answer what is new
    PyObject *layout = nullptr;    // layouts.layout
    PyObject *lift = nullptr;      // lifting.lift
    PyObject *answer = nullptr;    // tracer.answer_function
    PyObject *ufunc = nullptr;     // tracer.answer_ufunc
    PyObject *power = nullptr;     // tracer.power
    PyObject *method = nullptr;    // layouts.in_doubt
    PyObject *ufuncs = nullptr;    // a dict: the ufuncs whose results depend on nothing but their operands
    PyObject *functions = nullptr; // a dict: so do the results of these functions
    PyObject *takers = nullptr;    // a set: the functions, of those, that take arrays as they take traced values
    PyObject *numpy = nullptr;     // a tuple of the ufuncs of the operators
};
extern Known known;
// Where a key comes from: its first word. The operators have their numbers beside.
enum Kind : uint64_t { BINARY = 1, UNARY, POWER, COMPARED, UFUNC, FUNCTION, ITEM, METHOD, VIEW, STEP, BLOCK };

// The fields of a Lens that are read here.
constexpr Py_ssize_t IS_AMBIGUOUS = 4, IS_OF_TRACED_PLACE = 5;
inline bool is_plain(PyObject *lens) {
    return PyTuple_GET_ITEM(lens, IS_AMBIGUOUS) != Py_True && PyTuple_GET_ITEM(lens, IS_OF_TRACED_PLACE) != Py_True;
}

extern uint64_t n_writes, n_looks; // since the process began: whoever changes or reads a value says so

// All that an operation was given, in words: equal words, equal results.
struct Key {
    static constexpr int MOST_WORDS = 160, MOST_OBJECTS = 64, MOST_VALUES = 24;
    uint64_t words[MOST_WORDS];
    PyObject *objects[MOST_OBJECTS]; // that words are the addresses of; borrowed
    Value *values[MOST_VALUES];      // the traced arguments
    PyObject *atoms[MOST_VALUES];    // that the steps may read
    int n_words = 0, n_objects = 0, n_values = 0, n_atoms = 0;
    struct Late { // a word that is known once the trace is
        PyObject *object;
        int word;
    };
    Late late[MOST_VALUES];
    int n_late = 0;
    std::vector<Owned> lifted; // what they became: a literal may be nobody else's
    TraceState *trace = nullptr;
    PyObject *equals = nullptr; // a dict: of equal parameters, the one that came first
    bool takes_arrays = false;
    bool is_known = true; // false: not by its arguments alone

    bool word(uint64_t w) {
        if (n_words == MOST_WORDS) return is_known = false;
        words[n_words++] = w;
        return true;
    }
    bool object(PyObject *x) {
        if (n_objects == MOST_OBJECTS) return is_known = false;
        objects[n_objects++] = x;
        return word(reinterpret_cast<uint64_t>(x));
    }
    bool argument(PyObject *x, int depth = 0);
    bool parameter(PyObject *x);
    bool value(Value *x);
    bool finish(); // false: not known, or an error is set
    uint64_t hash() const {
        uint64_t h = 0x9e3779b97f4a7c15u;
        for (int k = 0; k < n_words; k++) {
            h = (h ^ words[k]) * 0xff51afd7ed558ccdu;
            h ^= h >> 32;
        }
        return h;
    }
};

// An instruction that may come again, and the last run in which it came: in one run it comes once.
struct Entry {
    Owned instr;
    uint64_t run = 0;
};

// How a value is made again.
struct Made {
    Owned atom, aval, weak, layout, lens;
    bool is_scalar, is_reordered;
    int base; // the traced argument that it is a view of; -1: of none
};

// What an operation did: its instructions, and its results.
struct Event {
    std::vector<Entry *> entries;
    std::vector<Made> results;
    enum { ONE, TUPLE, LIST } form = ONE;
};

struct Kept { // the events of one key, in the order in which they come in a run
    std::vector<uint64_t> words;
    std::vector<Owned> objects;
    std::vector<std::unique_ptr<Event>> events;
    uint64_t run = 0;
    size_t next = 0;
};

struct Recorded { // a whole run
    std::vector<PyObject *> words;
    Owned recording;
};

struct Steps {
    PyObject_HEAD
    PyObject *trace;  // of the run that is going on; nullptr between runs
    PyObject *instrs; // its builder's list
    PyObject *stack;  // the open traces of its thread
    uint64_t run;
    std::unordered_multimap<uint64_t, std::unique_ptr<Kept>> *kept;
    std::unordered_map<PyObject *, std::unique_ptr<Entry>> *entries;
    std::unordered_multimap<uint64_t, Recorded> *recordings;
    PyObject *equals;    // see Key
    PyObject *variables; // a dict: (kind, number, aval) -> the variable of an input or of a captured array
    size_t longest;

    Kept *find(const Key &key, uint64_t hash);
    void keep(const Key &key, uint64_t hash, std::unique_ptr<Event> event); // which has happened in this run
    Event *take(const Key &key, uint64_t hash); // and put its instructions into the run; nullptr if there is none, or an error
    Entry *entry(PyObject *instr);
    unsigned long thread; // in which it goes on
    bool is_usable(PyObject *of) const {
        return trace == of && thread == PyThread_get_thread_ident() && stack != nullptr && PyList_GET_SIZE(stack) > 0 &&
               PyList_GET_ITEM(stack, PyList_GET_SIZE(stack) - 1) == of;
    }
};
extern PyTypeObject *steps_type;
inline Steps *steps_of(TraceState *trace) {
    return trace->steps != nullptr && Py_TYPE(trace->steps) == steps_type ? reinterpret_cast<Steps *>(trace->steps) : nullptr;
}

Value *make_value(PyObject *trace, PyObject *atom, PyObject *aval, bool is_scalar);

PyObject *replay(const Key &key, const Event &event);
void commit(Steps *steps, const Key &key, uint64_t hash, Py_ssize_t start, PyObject *result);
PyObject *may_overlap(PyObject *, PyObject *arrays);
PyObject *atom_of_view(Value *x); // borrowed: what a view reads; nullptr with an error

// The results of a known operation, or those of `answer()`, which are kept. nullptr with an error.
template <typename Answer> PyObject *through(Key &key, bool may_keep, const Answer &answer) {
    if (!key.is_known || key.trace == nullptr || !key.finish()) return PyErr_Occurred() ? nullptr : answer();
    Steps *steps = steps_of(key.trace);
    const uint64_t hash = key.hash();
    if (Event *event = steps->take(key, hash)) return replay(key, *event);
    if (PyErr_Occurred()) return nullptr;
    if (!may_keep) return answer();
    const Owned steps_kept(reinterpret_cast<PyObject *>(steps)), trace(reinterpret_cast<PyObject *>(key.trace));
    std::vector<Owned> objects; // the answer may free what the key points to
    for (int k = 0; k < key.n_objects; k++) objects.emplace_back(key.objects[k]);
    for (int k = 0; k < key.n_values; k++) objects.emplace_back(reinterpret_cast<PyObject *>(key.values[k]));
    const uint64_t run = steps->run, writes = n_writes, looks = n_looks;
    const Py_ssize_t start = PyList_GET_SIZE(steps->instrs);
    PyObject *result = answer();
    const bool is_known = steps->run == run && steps->is_usable(trace) && n_writes == writes && n_looks == looks;
    if (result != nullptr && is_known) commit(steps, key, hash, start, result);
    return result;
}

} // namespace wengert

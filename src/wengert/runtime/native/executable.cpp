// The Python type Executable: code made from lists, and run.
//
// Making one is cold (see reading.h); running one is plain C API, without exceptions. The GIL is held, but for the run
// itself (see executor.cpp).
#include "finite.h"
#include "loops.h"
#include "reading.h"
#include "timing.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace wengert {

PyTypeObject *executable_type = nullptr;

namespace {

class Reader {
  public:
    explicit Reader(Executable &code) : code_(code) {}

    void inputs(nb::handle list) {
        nb::object items = items_of(list, "inputs");
        for (size_t k = 0; k < length(items); k++) {
            nb::object spec = items_of(item(items, k), "an input (dtype, shape, strides)", 3);
            code_.inputs.push_back(operand(item(spec, 0), item(spec, 1), item(spec, 2)));
        }
    }

    void outputs(nb::handle list) {
        nb::object items = items_of(list, "outputs");
        for (size_t k = 0; k < length(items); k++) {
            nb::object spec = items_of(item(items, k), "an output (dtype, shape), and whether it begins as zeros");
            if (length(spec) != 2 && length(spec) != 3) throw std::invalid_argument("an output has two or three items");
            code_.outputs.push_back(operand(item(spec, 0), item(spec, 1)));
            code_.outputs.back().is_zeroed = length(spec) == 3 && nb::cast<bool>(item(spec, 2));
            if (code_.outputs.back().is_zeroed) code_.zeroed.push_back(k);
        }
    }

    // Pairs (output, input): the one is written into the memory of the other.
    void donated(nb::handle list) {
        nb::object items = items_of(list, "donated");
        for (size_t k = 0; k < length(items); k++) {
            nb::object pair = items_of(item(items, k), "a donation (output, input)", 2);
            const int64_t output = integer(item(pair, 0)), input = integer(item(pair, 1));
            if (output < 0 || static_cast<size_t>(output) >= code_.outputs.size() || input < 0 ||
                static_cast<size_t>(input) >= code_.inputs.size())
                throw std::invalid_argument("a donation of what there is not");
            Operand &over = code_.outputs[output];
            const Operand &under = code_.inputs[input];
            if (over.is_zeroed || over.nbytes != under.nbytes || over.shape != under.shape)
                throw std::invalid_argument("an output does not fit the memory of the input that is donated to it");
            over.over = static_cast<int32_t>(input);
        }
    }

    void arrays(nb::handle list, std::vector<PyArrayObject *> &into, std::vector<Operand> *operands) {
        nb::object items = items_of(list, "captures and constants");
        for (size_t k = 0; k < length(items); k++) {
            PyObject *x = item(items, k).ptr();
            if (!PyArray_Check(x)) throw std::invalid_argument("captures and constants are arrays");
            auto *array = reinterpret_cast<PyArrayObject *>(x);
            if (operands != nullptr) {
                const npy_intp *dims = PyArray_DIMS(array), *strides = PyArray_STRIDES(array);
                const int ndim = PyArray_NDIM(array);
                operands->push_back(make_operand(dtype(reinterpret_cast<PyObject *>(PyArray_DESCR(array))),
                                                 {dims, dims + ndim}, {strides, strides + ndim}));
            }
            Py_INCREF(x);
            into.push_back(array);
        }
    }

    // The pointers of the whole program get their places in the table as the steps are read.
    void start_steps() { code_.uses.resize(code_.n_bases()); }

    int32_t block(nb::handle list) {
        const size_t number = code_.blocks.size();
        code_.blocks.emplace_back();
        nb::object items = items_of(list, "steps");
        Block steps;
        for (size_t k = 0; k < length(items); k++) {
            steps.push_back(step(item(items, k)));
            steps.back().number = code_.n_steps++;
        }
        code_.blocks[number] = std::move(steps);
        return static_cast<int32_t>(number);
    }

  private:
    uint32_t pointer(nb::handle x, uint32_t *base = nullptr) {
        nb::object pair = items_of(x, "a pointer (base, offset)", 2);
        const int64_t number = integer(item(pair, 0));
        if (number < 0 || number >= static_cast<int64_t>(code_.n_bases()))
            throw std::invalid_argument("a pointer has a base that the program does not have");
        code_.uses[number].push_back({code_.n_pointers, integer(item(pair, 1))});
        if (base != nullptr) *base = static_cast<uint32_t>(number);
        return code_.n_pointers++;
    }

    Step step(nb::handle tuple) {
        nb::object items = items_of(tuple, "a step");
        if (length(items) == 0) throw std::invalid_argument("a step is empty");
        const std::string name = text(item(items, 0));
        const auto expect = [&](size_t n) {
            if (length(items) != n) throw std::invalid_argument("a " + name + " step has another number of items");
        };
        if (name == "kernel") return expect(7), kernel(items);
        if (name == "guard") return expect(5), guard(items);
        if (name == "callback") {
            expect(4);
            return {.kind = StepKind::callback,
                    .detail = callback(item(items, 1), item(items, 2), item(items, 3))};
        }
        if (name == "writing") { // a callback that writes its results where they are to lie
            expect(4);
            const int32_t number = callback(item(items, 1), item(items, 2), item(items, 3));
            code_.callbacks[number].writes = true;
            return {.kind = StepKind::callback, .detail = number};
        }
        if (name == "while") { // ("while", condition steps, pointer of the flag, body steps)
            expect(4);
            Loop loop{pointer(item(items, 2)), block(item(items, 1)), block(item(items, 3))};
            code_.loops.push_back(loop);
            return {.kind = StepKind::loop, .detail = static_cast<int32_t>(code_.loops.size()) - 1};
        }
        if (name == "switch") { // ("switch", pointer of the index, [steps, ...])
            expect(3);
            Branch branch{pointer(item(items, 1)), {}};
            nb::object blocks = items_of(item(items, 2), "the branches of a switch");
            for (size_t k = 0; k < length(blocks); k++) branch.blocks.push_back(block(item(blocks, k)));
            if (branch.blocks.empty()) throw std::invalid_argument("a switch has no branches");
            code_.branches.push_back(std::move(branch));
            return {.kind = StepKind::branch, .detail = static_cast<int32_t>(code_.branches.size()) - 1};
        }
        throw std::invalid_argument("there is no step of kind " + name);
    }

    Step kernel(const nb::object &items) {
        Step step{.kind = StepKind::kernel};
        const uint64_t address = PyLong_AsUnsignedLongLong(item(items, 1).ptr());
        if (address == uint64_t(-1) && PyErr_Occurred()) throw nb::python_error();
        if (address == 0) throw std::invalid_argument("a kernel has no address");
        step.kernel = reinterpret_cast<Kernel *>(address);
        nb::object pointers = items_of(item(items, 2), "a kernel's pointers");
        step.pointer = code_.n_pointers;
        for (size_t k = 0; k < length(pointers); k++) pointer(item(pointers, k));
        std::vector<npy_intp> sizes = integers(item(items, 3), "a kernel's sizes");
        code_.size_tables.emplace_back(sizes.begin(), sizes.end()); // moving the outer vector keeps the inner in place
        step.sizes = code_.size_tables.back().data();
        step.extent = integer(item(items, 4));
        const int64_t grain = integer(item(items, 5));
        if (step.extent < 0 || grain == INT64_MIN) throw std::invalid_argument("a kernel's extent is negative");
        step.grain = std::abs(grain);
        step.is_ordered = grain < 0;
        if (!item(items, 6).is_none()) {
            nb::object failure = items_of(item(items, 6), "on_failure (function, operands, results)", 3);
            step.detail = callback(item(failure, 0), item(failure, 1), item(failure, 2));
        }
        return step;
    }

    Step guard(const nb::object &items) {
        Guard guard{};
        guard.pointer = pointer(item(items, 1));
        char *bytes;
        Py_ssize_t n;
        if (PyBytes_AsStringAndSize(item(items, 3).ptr(), &bytes, &n) < 0) throw nb::python_error();
        if (integer(item(items, 2)) != n) throw std::invalid_argument("a guard expects another number of bytes");
        code_.expected.emplace_back(bytes, bytes + n);
        guard.nbytes = static_cast<size_t>(n);
        guard.expected = code_.expected.back().data();
        guard.position = integer(item(items, 4));
        code_.guards.push_back(guard);
        return {.kind = StepKind::guard, .detail = static_cast<int32_t>(code_.guards.size()) - 1};
    }

    int32_t callback(nb::handle function, nb::handle ins, nb::handle outs) {
        if (!PyCallable_Check(function.ptr())) throw std::invalid_argument("a callback cannot be called");
        code_.callbacks.push_back({Py_NewRef(function.ptr()), {}, {}});
        Callback &made = code_.callbacks.back();
        nb::object views = items_of(ins, "a callback's operands");
        for (size_t k = 0; k < length(views); k++) {
            nb::object spec = items_of(item(views, k), "an operand (pointer, dtype, shape, strides, copy)", 5);
            View view{};
            view.pointer = pointer(item(spec, 0), &view.base);
            view.is_copied = PyObject_IsTrue(item(spec, 4).ptr()) == 1;
            view.operand = operand(item(spec, 1), item(spec, 2), item(spec, 3));
            made.ins.push_back(std::move(view));
        }
        if (outs.is_valid()) {
            views = items_of(outs, "a callback's results");
            for (size_t k = 0; k < length(views); k++) {
                nb::object spec = items_of(item(views, k), "a result (pointer, dtype, shape, strides)", 4);
                View view{};
                view.pointer = pointer(item(spec, 0), &view.base);
                view.operand = operand(item(spec, 1), item(spec, 2), item(spec, 3));
                made.outs.push_back(std::move(view));
            }
        }
        return static_cast<int32_t>(code_.callbacks.size()) - 1;
    }

    Executable &code_;
};


} // namespace

bool sequence(PyObject *x, size_t n, const char *what, PyObject *&items) {
    items = nullptr;
    if (x == nullptr || x == Py_None) return true;
    items = PySequence_Fast(x, what);
    if (items == nullptr) return false;
    if (static_cast<size_t>(PySequence_Fast_GET_SIZE(items)) == n) return true;
    PyErr_Format(PyExc_ValueError, "expected %zu %s, got %zd", n, what, PySequence_Fast_GET_SIZE(items));
    Py_CLEAR(items);
    return false;
}

PyObject *const *items_or_null(PyObject *sequence) {
    return sequence == nullptr ? nullptr : PySequence_Fast_ITEMS(sequence);
}

namespace {

// ------------------------------------------------------------------------------------------------------ Executable

Executable &code_of(PyObject *self) { return reinterpret_cast<ExecutableObject *>(self)->code; }

PyObject *executable_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static const char *names[] = {"arena_bytes", "inputs", "captures", "constants", "outputs", "steps", "is_long",
                                  "keeps_arena", "code", "donated", "commits_at", nullptr};
    PyObject *inputs = nullptr, *captures = nullptr, *constants = nullptr, *outputs = nullptr, *steps = nullptr;
    PyObject *machine_code = nullptr, *donated = nullptr;
    Py_ssize_t arena_bytes = 0, commits_at = -1;
    int is_long = -1, keeps_arena = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$nOOOOOppOOn", const_cast<char **>(names), &arena_bytes, &inputs,
                                     &captures, &constants, &outputs, &steps, &is_long, &keeps_arena, &machine_code,
                                     &donated, &commits_at))
        return nullptr;
    if (inputs == nullptr || captures == nullptr || constants == nullptr || outputs == nullptr || steps == nullptr ||
        is_long < 0) {
        // A keyword cannot be required, behind the |.
        PyErr_SetString(PyExc_TypeError, "all but keeps_arena, code, donated and commits_at are required");
        return nullptr;
    }
    if (arena_bytes < 0) {
        PyErr_SetString(PyExc_ValueError, "arena_bytes is negative");
        return nullptr;
    }
    PyObject *self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    Executable &code = *new (&code_of(self)) Executable;
    const bool is_made = guarded([&] {
        code.arena_bytes = static_cast<size_t>(arena_bytes);
        code.is_long = is_long != 0;
        code.keeps_arena = keeps_arena != 0;
        code.machine_code = Py_XNewRef(machine_code);
        Reader reader(code);
        reader.inputs(inputs);
        reader.arrays(captures, code.captured, &code.captures);
        reader.arrays(constants, code.constants, nullptr);
        reader.outputs(outputs);
        if (donated != nullptr) reader.donated(donated);
        if (commits_at >= 0) code.commits_at = static_cast<size_t>(commits_at);
        share_memory(code);
        reader.start_steps();
        reader.block(steps);
        return true;
    });
    if (!is_made) Py_CLEAR(self);
    return self;
}

int executable_traverse(PyObject *self, visitproc visit, void *arg) {
    for (Callback &callback : code_of(self).callbacks) Py_VISIT(callback.function);
    Py_VISIT(code_of(self).owner);
    Py_VISIT(Py_TYPE(self));
    return 0; // arrays of numbers refer to nothing
}

int executable_clear(PyObject *self) {
    Py_CLEAR(code_of(self).owner);
    for (Callback &callback : code_of(self).callbacks) Py_SETREF(callback.function, Py_NewRef(Py_None));
    return 0;
}

void executable_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Executable &code = code_of(self);
    for (auto &slot : code.kept) free_frame(slot.exchange(nullptr));
    free_loop_memory(code);
    free_timings(code);
    for (std::vector<Operand> *operands : {&code.inputs, &code.captures, &code.outputs})
        for (Operand &operand : *operands) release(operand);
    for (std::vector<PyArrayObject *> *arrays : {&code.captured, &code.constants})
        for (PyArrayObject *array : *arrays) Py_DECREF(array);
    for (Callback &callback : code.callbacks) {
        Py_DECREF(callback.function);
        for (std::vector<View> *views : {&callback.ins, &callback.outs})
            for (View &view : *views) release(view.operand);
    }
    Py_XDECREF(code.owner);
    delete code.checks.load();
    Py_XDECREF(code.machine_code); // last of all: its kernels are not run again
    code.~Executable();
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject *list_of_results(const Executable &code, Frame &frame) {
    const size_t n = code.outputs.size();
    PyObject *list = PyList_New(static_cast<Py_ssize_t>(n));
    if (list == nullptr) return nullptr;
    for (size_t k = 0; k < n; k++) {
        PyList_SET_ITEM(list, k, frame.results[k]);
        frame.results[k] = nullptr;
    }
    return list;
}

constexpr const char *RUN_NAMES[] = {"inputs", "captures", "out"};

PyObject *executable_run(PyObject *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names) {
    PyObject *given[3] = {};
    const Py_ssize_t n_names = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    bool fits = n_args <= 3;
    for (Py_ssize_t k = 0; k < n_args && fits; k++) given[k] = args[k];
    for (Py_ssize_t k = 0; k < n_names && fits; k++) {
        size_t at = 0;
        while (at < 3 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, k), RUN_NAMES[at]) != 0) at++;
        fits = at < 3 && given[at] == nullptr;
        if (fits) given[at] = args[n_args + k];
    }
    if (!fits || given[0] == nullptr) {
        PyErr_SetString(PyExc_TypeError, "run takes inputs, captures=None, out=None");
        return nullptr;
    }
    Executable &code = code_of(self);
    PyObject *inputs = nullptr, *captures = nullptr, *out = nullptr, *list = nullptr;
    if (sequence(given[0], code.inputs.size(), "inputs", inputs) &&
        sequence(given[1], code.captures.size(), "captures", captures) &&
        sequence(given[2], code.outputs.size(), "outputs", out)) {
        if (inputs == nullptr)
            PyErr_SetString(PyExc_TypeError, "inputs is a sequence");
        else if (Frame *frame = take_frame(code)) {
            Miss miss;
            const Outcome outcome = run_frame(code, *frame, items_or_null(inputs), items_or_null(captures),
                                              items_or_null(out), false, miss);
            if (outcome == Outcome::done)
                list = list_of_results(code, *frame);
            else if (outcome == Outcome::guard_missed)
                raise_miss(miss);
            return_frame(code, frame);
        }
    }
    Py_XDECREF(inputs);
    Py_XDECREF(captures);
    Py_XDECREF(out);
    return list;
}

PyObject *get_arena_bytes(PyObject *self, void *) { return PyLong_FromSize_t(code_of(self).arena_bytes); }
PyObject *get_is_long(PyObject *self, void *) { return PyBool_FromLong(code_of(self).is_long); }
PyObject *get_runs(PyObject *self, void *) {
    return PyLong_FromUnsignedLongLong(code_of(self).runs.load(std::memory_order_relaxed));
}
PyObject *get_arrays(const std::vector<PyArrayObject *> &arrays) {
    PyObject *list = PyList_New(static_cast<Py_ssize_t>(arrays.size()));
    for (size_t k = 0; list != nullptr && k < arrays.size(); k++)
        PyList_SET_ITEM(list, k, Py_NewRef(reinterpret_cast<PyObject *>(arrays[k])));
    return list;
}
PyObject *get_captures(PyObject *self, void *) { return get_arrays(code_of(self).captured); }
PyObject *get_constants(PyObject *self, void *) { return get_arrays(code_of(self).constants); }

PyObject *get_address(PyObject *self, void *) {
    return PyLong_FromVoidPtr(&reinterpret_cast<ExecutableObject *>(self)->code);
}

PyObject *get_n_steps(PyObject *self, void *) { return PyLong_FromUnsignedLong(code_of(self).n_steps); }
PyObject *executable_start_timing(PyObject *self, PyObject *) {
    if (!start_timing(code_of(self))) return nullptr;
    Py_RETURN_NONE;
}
PyObject *executable_stop_timing(PyObject *self, PyObject *) {
    stop_timing(code_of(self));
    Py_RETURN_NONE;
}
PyObject *executable_times(PyObject *self, PyObject *) { return times_of(code_of(self)); }

// The checks of the steps, in their order: (step, pointer, dtype, shape, strides, bytes that belong to each index of
// the step's extent, or 0). They are set once.
PyObject *executable_look_at(PyObject *self, PyObject *list) {
    Executable &code = code_of(self);
    const bool is_made = guarded([&] {
        const Block &block = code.blocks[0];
        auto checks = std::make_unique<std::vector<Check>>();
        nb::object items = items_of(list, "checks");
        for (size_t k = 0; k < length(items); k++) {
            nb::object spec = items_of(item(items, k), "a check (step, pointer, dtype, shape, strides, bytes of an index)", 6);
            const int64_t step = integer(item(spec, 0));
            if (step < 0 || static_cast<size_t>(step) >= block.size() ||
                (!checks->empty() && static_cast<size_t>(step) < checks->back().step))
                throw std::invalid_argument("a check of a step that there is not, or out of order");
            nb::object where = items_of(item(spec, 1), "a pointer (base, offset)", 2);
            const int64_t base = integer(item(where, 0));
            if (base < 0 || static_cast<size_t>(base) >= code.n_bases() || code.uses[base].empty())
                throw std::invalid_argument("a check has a base that no step points into");
            const Use &use = code.uses[base].front();
            Operand operand = wengert::operand(item(spec, 2), item(spec, 3), item(spec, 4));
            const char kind = operand.descr->kind;
            const npy_intp itemsize = PyDataType_ELSIZE(operand.descr) / (kind == 'c' ? 2 : 1);
            Check check{static_cast<size_t>(step), use.pointer, integer(item(where, 1)) - use.offset,
                        make_floats(kind, PyDataType_ELSIZE(operand.descr), operand.shape, operand.strides)};
            release(operand);
            if ((kind != 'f' && kind != 'c') || (itemsize != 2 && itemsize != 4 && itemsize != 8))
                throw std::invalid_argument("a check is of floats of at most 8 bytes");
            if (const int64_t bytes = integer(item(spec, 5)); bytes != 0) {
                const Floats &floats = check.floats;
                check.width = bytes / floats.itemsize;
                if (bytes < 0 || floats.shape.size() != 1 || floats.strides[0] != floats.itemsize ||
                    block[check.step].kind != StepKind::kernel || bytes % floats.itemsize != 0 ||
                    check.width * block[check.step].extent != floats.shape[0])
                    throw std::invalid_argument("a check whose floats are not in the order of its step's extent");
            }
            checks->push_back(std::move(check));
        }
        std::vector<Check> *none = nullptr;
        if (code.checks.compare_exchange_strong(none, checks.get())) (void)checks.release(); // else another thread was first
        return true;
    });
    if (!is_made) return nullptr;
    Py_RETURN_NONE;
}

PyObject *get_owner(PyObject *self, void *) {
    return Py_NewRef(code_of(self).owner != nullptr ? code_of(self).owner : Py_None);
}
int set_owner(PyObject *self, PyObject *value, void *) {
    Py_XSETREF(code_of(self).owner, Py_XNewRef(value));
    return 0;
}

PyGetSetDef executable_getset[] = {
    {"owner", get_owner, set_owner, "a callable that gives the Program whose code this is, or None", nullptr},
    {"n_steps", get_n_steps, nullptr, "how many steps it has, those in blocks included", nullptr},
    {"address", get_address, nullptr, "what a loop is given whose body this is", nullptr},
    {"arena_bytes", get_arena_bytes, nullptr, "bytes of memory that a run takes beside its arrays", nullptr},
    {"is_long", get_is_long, nullptr, "whether a run gives up the GIL", nullptr},
    {"runs", get_runs, nullptr, "how many runs began", nullptr},
    {"captures", get_captures, nullptr, "the captured arrays, read where they lie", nullptr},
    {"constants", get_constants, nullptr, "the constant arrays", nullptr},
    {}};

PyMethodDef executable_methods[] = {
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(executable_run)),
     METH_FASTCALL | METH_KEYWORDS, "run(inputs, captures=None, out=None) -> list of the outputs"},
    {"look_at", executable_look_at, METH_O, "look_at(checks): where NaNs are looked for, after which step"},
    {"bind", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(bind)), METH_VARARGS | METH_KEYWORDS,
     "bind(inputs, captures=None, out=None, result=None) -> Bound"},
    {"start_timing", executable_start_timing, METH_NOARGS, "start_timing(): from now on steps are timed"},
    {"stop_timing", executable_stop_timing, METH_NOARGS, "stop_timing(): not any more; the times stay"},
    {"times", executable_times, METH_NOARGS, "times() -> (runs, numbers of each step, events), or None"},
    {}};

PyType_Slot executable_slots[] = {{Py_tp_new, reinterpret_cast<void *>(executable_new)},
                                  {Py_tp_dealloc, reinterpret_cast<void *>(executable_dealloc)},
                                  {Py_tp_traverse, reinterpret_cast<void *>(executable_traverse)},
                                  {Py_tp_clear, reinterpret_cast<void *>(executable_clear)},
                                  {Py_tp_methods, executable_methods},
                                  {Py_tp_getset, executable_getset},
                                  {Py_tp_doc, const_cast<char *>("A program's code: steps over numbered memory.")},
                                  {}};

PyType_Spec executable_spec = {"wengert.runtime._native.Executable", sizeof(ExecutableObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE, executable_slots};

// ------------------------------------------------------------------------------------------------- placing operands

// The input that output `k` is written over, if this call's may be: an array in C order that can be written.
PyObject *donated_to(const Executable &code, size_t k, PyObject *const *inputs) {
    const Operand &operand = code.outputs[k];
    if (operand.over < 0) return nullptr;
    PyObject *x = inputs[operand.over];
    return unfit_for_output(operand, x) == nullptr ? x : nullptr;
}

bool place_outputs(Executable &code, Frame &frame, PyObject *const *inputs, PyObject *const *out) {
    const size_t n = code.outputs.size(), n_inputs = code.inputs.size(), first = code.first_output();
    char *shared = nullptr;
    nb::object memory; // of the results that share theirs
    if (code.shared_bytes > 0 && out == nullptr) {
        memory = nb::steal(new_shared_memory(code, shared));
        if (!memory) return false;
    }
    for (size_t k = 0; k < n; k++) {
        const Operand &operand = code.outputs[k];
        PyObject *x = out == nullptr ? nullptr : out[k];
        if (x == nullptr || x == Py_None) {
            if (operand.is_inline) {
                set_base(code, frame, first + k, frame.values[n_inputs + k].bytes);
                continue;
            }
            if (PyObject *given = out == nullptr ? donated_to(code, k, inputs) : nullptr)
                x = Py_NewRef(given);
            else
                x = memory && code.in_shared[k] != ALONE
                        ? new_array_in(memory.ptr(), shared + code.in_shared[k], operand)
                        : new_array(operand);
            if (x == nullptr) return false;
        } else {
            const char *why = unfit_for_output(operand, x);
            if (why != nullptr) {
                refuse_operand(operand, x, "out", k, why);
                return false;
            }
            Py_INCREF(x);
        }
        frame.results[k] = x;
        set_base(code, frame, first + k, PyArray_BYTES(reinterpret_cast<PyArrayObject *>(x)));
    }
    return true;
}

bool place_reads(Executable &code, Frame &frame, PyObject *const *inputs, PyObject *const *captures, bool is_trusted) {
    for (size_t k = 0; k < code.inputs.size(); k++) {
        const size_t base = code.first_input() + k;
        char *address = read_operand(code.inputs[k], frame, &frame.values[k], inputs[k], "input", k, is_trusted,
                                     frame.owners[base]);
        if (address == nullptr) return false;
        set_base(code, frame, base, address);
    }
    for (size_t k = 0; k < code.captures.size(); k++) {
        PyObject *x = captures == nullptr ? reinterpret_cast<PyObject *>(code.captured[k]) : captures[k];
        const size_t base = code.first_capture() + k;
        char *address =
            read_operand(code.captures[k], frame, nullptr, x, "captured array", k, false, frame.owners[base]);
        if (address == nullptr) return false;
        set_base(code, frame, base, address);
    }
    return true;
}

} // namespace

bool outputs_stand_apart(const Executable &code, Frame &frame) {
    if (frame.stands_apart) return true; // a loop that writes into the same arrays asks once
    const size_t first = code.first_output();
    for (size_t k = 0; k < code.outputs.size(); k++) {
        const char *mine = frame.bases[first + k];
        for (size_t base = 1; base < first + k; base++) {
            const size_t i = base - 1;
            const Operand *other = nullptr;
            if (base < code.first_capture())
                other = &code.inputs[i];
            else if (base < code.first_constant())
                other = &code.captures[base - code.first_capture()];
            else if (base >= first)
                other = &code.outputs[base - first];
            if (other != nullptr && overlaps(mine, code.outputs[k], frame.bases[base], *other)) {
                PyErr_Format(PyExc_ValueError, "out %zu shares memory with an array that the program reads or writes",
                             k);
                return false;
            }
        }
    }
    return frame.stands_apart = true;
}

Outcome run_frame(Executable &code, Frame &frame, PyObject *const *inputs, PyObject *const *captures,
                  PyObject *const *out, bool is_trusted, Miss &miss) {
    if (!place_reads(code, frame, inputs, captures, is_trusted)) return Outcome::failed;
    if (!place_outputs(code, frame, inputs, out) || (out != nullptr && !outputs_stand_apart(code, frame)))
        return out == nullptr ? Outcome::failed : Outcome::refused;
    const Outcome outcome = execute(code, frame, miss, out == nullptr);
    if (outcome != Outcome::done) return outcome;
    for (size_t k = 0; k < code.outputs.size(); k++)
        if (frame.results[k] == nullptr) {
            const char *value = frame.bases[code.first_output() + k];
            if (PyObject *given = out == nullptr ? donated_to(code, k, inputs) : nullptr) {
                std::memcpy(PyArray_BYTES(reinterpret_cast<PyArrayObject *>(given)), value, code.outputs[k].nbytes);
                frame.results[k] = Py_NewRef(given);
                continue;
            }
            frame.results[k] = new_scalar(code.outputs[k], value);
            if (frame.results[k] == nullptr) return Outcome::failed;
        }
    return Outcome::done;
}

bool make_executable_type(PyObject *module) {
    executable_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&executable_spec));
    return executable_type != nullptr &&
           PyModule_AddObjectRef(module, "Executable", reinterpret_cast<PyObject *>(executable_type)) == 0;
}

} // namespace wengert

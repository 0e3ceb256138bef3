// Runs a program's steps over one frame.
//
// The caller owns the frame and holds the GIL. If the code is long the GIL is given up for the run: other threads may
// then write the arrays being read (the caller's affair, as in NumPy), but none can be freed, for whoever called holds
// a reference to each. The GIL is taken back for callbacks, for failures, and now and then to look for a signal.
#include "finite.h"
#include "../../native/platform.h"
#include "timing.h"

#include <cstring>
#include <memory>
#include <new>

namespace wengert {

PyObject *guard_miss = nullptr;

constexpr int64_t SIGNALS_EVERY_NS = 50'000'000;

bool look_for_signals(Run &run) {
    const int64_t now = coarse_clock_ns();
    if (now - run.looked_at_ns < SIGNALS_EVERY_NS || run.is_committed) [[likely]] return true;
    run.looked_at_ns = now;
    const bool was_released = run.released != nullptr;
    if (was_released) run.take_gil();
    const bool goes_on = PyErr_CheckSignals() == 0;
    if (was_released) run.release_gil();
    return goes_on;
}

namespace {

// ------------------------------------------------------------------------------------------------------- callbacks

constexpr char LEASE[] = "wengert.arena";

// A view's memory is the arena's, which the next step overwrites. If Python kept the view, it keeps that arena, and the
// run goes on in another; so a kept view stays valid and constant, and nothing is copied for those that are not kept.
void free_lease(PyObject *capsule) { free_arena(static_cast<char *>(PyCapsule_GetContext(capsule))); }

bool settle_lease(Run &run, PyObject *lease) {
    if (Py_REFCNT(lease) == 1) {
        Py_DECREF(lease);
        return true;
    }
    char *kept = run.frame.arena;
    PyCapsule_SetContext(lease, kept);
    run.frame.arena = nullptr;
    Py_DECREF(lease);
    if (PyErr_Occurred()) return false; // nothing runs on
    if (!ensure_arena(run.code, run.frame)) return false;
    std::memcpy(run.frame.arena, kept, run.code.arena_bytes);
    return true;
}

PyObject *new_view(Run &run, const View &view, PyObject *&lease) {
    const Operand &operand = view.operand;
    Py_INCREF(operand.descr);
    auto *array = reinterpret_cast<PyArrayObject *>(
        PyArray_NewFromDescr(&PyArray_Type, operand.descr, static_cast<int>(operand.shape.size()), operand.shape.data(),
                             operand.strides.data(), run.frame.table[view.pointer], 0, nullptr));
    if (array == nullptr) return nullptr;
    PyObject *owner = view.base == 0 ? nullptr : run.frame.owners[view.base];
    if (view.is_copied || (view.base != 0 && owner == nullptr)) { // a value kept in the frame, or a result under way
        PyObject *copy = PyArray_NewCopy(array, NPY_CORDER);
        Py_DECREF(array);
        return copy;
    }
    if (view.base == 0) {
        if (lease == nullptr) lease = PyCapsule_New(const_cast<char *>(LEASE), LEASE, free_lease);
        owner = lease;
    }
    Py_XINCREF(owner);
    if (owner == nullptr || PyArray_SetBaseObject(array, owner) < 0) {
        Py_DECREF(array);
        return nullptr;
    }
    return reinterpret_cast<PyObject *>(array);
}

// Where a result is to lie, for a function that writes it there and does not keep it.
PyObject *new_place(Run &run, const View &view) {
    const Operand &operand = view.operand;
    Py_INCREF(operand.descr);
    return PyArray_NewFromDescr(&PyArray_Type, operand.descr, static_cast<int>(operand.shape.size()),
                                operand.shape.data(), operand.strides.data(), run.frame.table[view.pointer],
                                NPY_ARRAY_WRITEABLE, nullptr);
}

PyObject *name_of(PyObject *function) {
    PyObject *name = PyObject_GetAttrString(function, "__name__");
    if (name == nullptr) {
        PyErr_Clear();
        name = PyObject_Repr(function);
    }
    return name;
}

// Copies what a callback returned to where the program reads it.
bool store(Run &run, const Callback &callback, const View &view, PyObject *value, size_t k) {
    const Operand &operand = view.operand;
    char *destination = run.frame.table[view.pointer];
    PyArrayObject *array;
    if (PyArray_Check(value) || PyArray_IsScalar(value, Generic)) {
        array = reinterpret_cast<PyArrayObject *>(PyArray_FromAny(value, nullptr, 0, 0, 0, nullptr));
    } else { // a number or a list of them has no dtype of its own
        Py_INCREF(operand.descr);
        array = reinterpret_cast<PyArrayObject *>(
            PyArray_FromAny(value, operand.descr, 0, 0, NPY_ARRAY_FORCECAST, nullptr));
    }
    if (array == nullptr) return false;
    const bool is_same = same_type(operand, array);
    const bool is_swapped = !is_same && PyArray_TYPE(array) == operand.descr->type_num; // NumPy computes in native order
    bool fits = (is_same || is_swapped) && same_shape(operand, array);
    if (!fits) {
        PyObject *name = name_of(callback.function);
        PyObject *what = name == nullptr ? nullptr : PyUnicode_FromFormat("%U: result", name);
        if (what != nullptr)
            refuse_operand(operand, reinterpret_cast<PyObject *>(array), PyUnicode_AsUTF8(what), k);
        Py_XDECREF(what);
        Py_XDECREF(name);
    } else if (is_same && operand.is_contiguous && (PyArray_FLAGS(array) & NPY_ARRAY_C_CONTIGUOUS)) {
        std::memmove(destination, PyArray_BYTES(array), operand.nbytes);
    } else {
        Py_INCREF(operand.descr);
        PyObject *target =
            PyArray_NewFromDescr(&PyArray_Type, operand.descr, static_cast<int>(operand.shape.size()),
                                 operand.shape.data(), operand.strides.data(), destination, NPY_ARRAY_WRITEABLE,
                                 nullptr);
        fits = target != nullptr && PyArray_CopyInto(reinterpret_cast<PyArrayObject *>(target), array) == 0;
        Py_XDECREF(target);
    }
    Py_DECREF(array);
    return fits;
}

bool store_all(Run &run, const Callback &callback, PyObject *result) {
    const size_t n = callback.outs.size();
    if (n == 1) return store(run, callback, callback.outs[0], result, 0);
    if (n == 0) return true;
    PyObject *items = PySequence_Fast(result, "a callback of several results returns a tuple");
    if (items == nullptr) return false;
    bool fits = static_cast<size_t>(PySequence_Fast_GET_SIZE(items)) == n;
    if (!fits) {
        PyObject *name = name_of(callback.function);
        if (name != nullptr)
            PyErr_Format(PyExc_ValueError, "%U: expected %zu results, got %zd", name, n,
                         PySequence_Fast_GET_SIZE(items));
        Py_XDECREF(name);
    }
    for (size_t k = 0; k < n && fits; k++)
        fits = store(run, callback, callback.outs[k], PySequence_Fast_GET_ITEM(items, k), k);
    Py_DECREF(items);
    return fits;
}

// Calls function([status], *views) with the GIL held. Whether it went well; if not, a Python error is set.
bool call_python(Run &run, const Callback &callback, const int32_t *status) {
    const size_t n_extra = status != nullptr, n_read = callback.ins.size() + n_extra;
    const size_t n = n_read + (callback.writes ? callback.outs.size() : 0);
    std::unique_ptr<PyObject *[]> args(new (std::nothrow) PyObject *[n + 1]());
    if (args == nullptr) {
        PyErr_NoMemory();
        return false;
    }
    PyObject *lease = nullptr, *result = nullptr;
    PyObject *function = Py_NewRef(callback.function);
    size_t made = 0;
    if (status != nullptr && (args[0] = PyLong_FromLong(*status)) != nullptr) made = 1;
    while (made < n && made >= n_extra) {
        args[made] = made < n_read ? new_view(run, callback.ins[made - n_extra], lease)
                                   : new_place(run, callback.outs[made - n_read]);
        if (args[made] == nullptr) break;
        made++;
    }
    if (made == n) result = PyObject_Vectorcall(function, args.get(), n, nullptr);
    bool goes_on = result != nullptr && (status != nullptr || callback.writes || store_all(run, callback, result));
    Py_XDECREF(result);
    for (size_t k = 0; k < made; k++) Py_DECREF(args[k]);
    if (lease != nullptr) goes_on = settle_lease(run, lease) && goes_on;
    Py_DECREF(function);
    return goes_on;
}

bool call_back(Run &run, const Callback &callback, const int32_t *status = nullptr) {
    const bool was_released = run.released != nullptr;
    if (was_released) run.take_gil();
    const bool goes_on = call_python(run, callback, status);
    if (was_released) run.release_gil();
    return goes_on;
}

// What Python makes of a kernel that returned a status: it computes the results, if there are any that it is to give,
// or raises an error. Whether the run goes on; if not, an error is set.
COLD bool resort(Run &run, const Step &step, int32_t status) {
    if (step.detail >= 0) {
        const Callback &callback = run.code.callbacks[step.detail];
        const bool computes = !callback.outs.empty(), is_done = call_back(run, callback, computes ? nullptr : &status);
        if (computes || !is_done) return is_done;
    }
    const bool was_released = run.released != nullptr;
    if (was_released) run.take_gil();
    PyErr_Format(PyExc_RuntimeError, "a kernel failed with status %d", static_cast<int>(status));
    if (was_released) run.release_gil();
    return false;
}

// ----------------------------------------------------------------------------------------------------------- steps

template <class Times> Outcome run_block(Run &run, const Block &block, Times &times);

template <class Times>
Outcome run_steps(Run &run, const Step *begin, const Step *end, const Step *commits, Times &times) {
    Frame &frame = run.frame;
    for (const Step *now = begin; now != end; now++) {
        const Step &step = *now;
        if (&step == commits) [[unlikely]] run.is_committed = true;
        switch (step.kind) {
        case StepKind::kernel: {
            char *const *pointers = frame.table + step.pointer;
            const int32_t status = step.grain > 0 && step.extent >= 2 * step.grain
                                       ? run_in_parts(step, pointers, run)
                                       : step.kernel(pointers, step.sizes, 0, step.extent);
            if (status != 0) [[unlikely]]
                if (status == STOPPED || !resort(run, step, status)) return Outcome::failed;
            break;
        }
        case StepKind::guard: {
            const Guard &guard = run.code.guards[step.detail];
            const char *seen = frame.table[guard.pointer];
            if (std::memcmp(seen, guard.expected, guard.nbytes) != 0) {
                run.miss = {&guard, seen};
                return Outcome::guard_missed;
            }
            break;
        }
        case StepKind::callback:
            if (!call_back(run, run.code.callbacks[step.detail])) return Outcome::failed;
            break;
        case StepKind::loop: {
            const Loop &loop = run.code.loops[step.detail];
            for (;;) {
                Outcome outcome = run_block(run, run.code.blocks[loop.condition], times);
                if (outcome != Outcome::done) return outcome;
                if (*frame.table[loop.pointer] == 0) break;
                outcome = run_block(run, run.code.blocks[loop.body], times);
                if (outcome != Outcome::done) return outcome;
                if (!look_for_signals(run)) return Outcome::failed;
            }
            break;
        }
        case StepKind::branch: {
            const Branch &branch = run.code.branches[step.detail];
            const Block &taken = run.code.blocks[chosen(branch, frame.table[branch.pointer])];
            const Outcome outcome = run_block(run, taken, times);
            if (outcome != Outcome::done) return outcome;
            break;
        }
        }
        if (run.released != nullptr && !look_for_signals(run)) [[unlikely]] return Outcome::failed;
        times.step(step.number);
    }
    return Outcome::done;
}

template <class Times> Outcome run_block(Run &run, const Block &block, Times &times) {
    const Step *commits = &block == run.code.blocks.data() && run.code.commits_at < block.size()
                              ? &block[run.code.commits_at]
                              : nullptr;
    return run_steps(run, block.data(), block.data() + block.size(), commits, times);
}

NOT_INLINED Outcome run_timed(Run &run, Timing &timing) {
    Outcome outcome;
    {
        Stamps stamps(timing);
        outcome = run_block(run, run.code.blocks[0], stamps);
    }
    timing.next.set(timing.runs.load(std::memory_order_relaxed) + timing.every.get());
    timing.give_back();
    return outcome;
}

// ------------------------------------------------------------------------------------------------------ NaNs are found

// The Program of the code: a new reference, or None.
PyObject *owner_of(const Executable &code) {
    return code.owner == nullptr ? Py_NewRef(Py_None) : PyObject_CallNoArgs(code.owner);
}

// The checks of the code, which Python makes when they are asked for first; nullptr: there are none, or an error is set.
const std::vector<Check> *checks_of(Executable &code) {
    if (const auto *made = code.checks.load(std::memory_order_acquire)) return made;
    const Looked not_here(Looking::not_at_all);
    PyObject *owner = owner_of(code);
    if (owner == nullptr) return nullptr;
    PyObject *done = owner == Py_None ? Py_NewRef(Py_None) : PyObject_CallMethod(owner, "_make_checks", nullptr);
    Py_DECREF(owner);
    Py_XDECREF(done);
    return done == nullptr ? nullptr : code.checks.load(std::memory_order_acquire);
}

// Copies of the inputs and captured arrays as they are now: a new reference to a list.
PyObject *copies_of_reads(const Executable &code, const Frame &frame) {
    const size_t n_inputs = code.inputs.size(), n = n_inputs + code.captures.size();
    PyObject *list = PyList_New(static_cast<Py_ssize_t>(n));
    for (size_t k = 0; list != nullptr && k < n; k++) {
        const Operand &operand = k < n_inputs ? code.inputs[k] : code.captures[k - n_inputs];
        Py_INCREF(operand.descr);
        PyObject *view = PyArray_NewFromDescr(&PyArray_Type, operand.descr, static_cast<int>(operand.shape.size()),
                                              operand.shape.data(), operand.strides.data(), frame.bases[1 + k], 0, nullptr);
        PyObject *copy = view == nullptr
                             ? nullptr
                             : PyArray_NewCopy(reinterpret_cast<PyArrayObject *>(view), NPY_CORDER);
        Py_XDECREF(view);
        if (copy == nullptr) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(k), copy);
    }
    return list;
}

// Whether the run may go on although something that is not finite was found: Python looks who made it, and raises.
COLD bool is_excused(Run &run, size_t check, Looking mode, PyObject *reads) {
    const bool was_released = run.released != nullptr;
    if (was_released) run.take_gil();
    const Looked not_here(Looking::not_at_all);
    PyObject *given = reads != nullptr ? Py_NewRef(reads) : copies_of_reads(run.code, run.frame);
    PyObject *owner = given == nullptr ? nullptr : owner_of(run.code), *done = nullptr;
    if (owner != nullptr)
        done = owner == Py_None ? Py_NewRef(Py_None)
                                : PyObject_CallMethod(owner, "_found", "Oni", given, static_cast<Py_ssize_t>(check),
                                                      static_cast<int>(mode));
    Py_XDECREF(owner);
    Py_XDECREF(given);
    Py_XDECREF(done);
    if (was_released) run.release_gil();
    return done != nullptr;
}

// Runs the steps as ever, and looks at what they have written, up to the first find that is excused.
Outcome run_looking(Run &run, const std::vector<Check> &checks, Looking mode, PyObject *reads) {
    NoStamps none;
    const Block &block = run.code.blocks[0];
    const Step *begin = block.data(), *end = begin + block.size();
    const Step *commits = run.code.commits_at < block.size() ? begin + run.code.commits_at : nullptr;
    for (size_t k = 0, next; k < checks.size(); k = next) {
        for (next = k + 1; next < checks.size() && checks[next].step == checks[k].step;) next++;
        const Step *step = block.data() + checks[k].step, *after = step + 1;
        Parted parted(&checks[k], checks.data() + next, *step, run.frame.table, mode);
        run.parted = &parted;
        const Outcome outcome = run_steps(run, begin, after, commits, none);
        run.parted = nullptr;
        if (outcome != Outcome::done) return outcome;
        begin = after;
        bool is_any = parted.is_done ? parted.has_found.load() : false;
        for (size_t i = k; !parted.is_done && !is_any && i < next; i++) is_any = is_found(checks[i], run.frame.table, mode);
        if (is_any) {
            if (!is_excused(run, k, mode, reads)) return Outcome::failed;
            break;
        }
    }
    return run_steps(run, begin, end, commits, none);
}

COLD Outcome execute_looking(Executable &code, Run &run, Looking mode, bool is_fresh);

} // namespace

static void clear_outputs(const Executable &code, const Frame &frame, bool is_fresh) {
    for (size_t k : code.zeroed) {
        const Operand &operand = code.outputs[k];
        if (!is_fresh || operand.is_inline)
            std::memset(frame.bases[code.first_output() + k], 0, static_cast<size_t>(operand.nbytes));
    }
}

Outcome execute(Executable &code, Frame &frame, Miss &miss, bool is_fresh) {
    count(code.runs);
    if (!ensure_arena(code, frame)) return Outcome::failed;
    Run run{code, frame, miss, nullptr, coarse_clock_ns()};
    if (finders.load(std::memory_order_relaxed) != 0) [[unlikely]]
        if (const Looking mode = looking(); mode != Looking::not_at_all) return execute_looking(code, run, mode, is_fresh);
    Timing *timing = code.timing.load(std::memory_order_acquire);
    const bool is_timed = timing != nullptr && timing->begins_a_timed_run();
    if (code.is_long) run.release_gil();
    clear_outputs(code, frame, is_fresh);
    NoStamps none;
    const Outcome outcome = is_timed ? run_timed(run, *timing) : run_block(run, code.blocks[0], none);
    if (code.is_long) run.take_gil();
    // A loop of SciPy's may set an error and go on: where scipy.special.errstate says so.
    return outcome == Outcome::done && PyErr_Occurred() ? Outcome::failed : outcome;
}

namespace {

Outcome execute_looking(Executable &code, Run &run, Looking mode, bool is_fresh) {
    const std::vector<Check> *checks = checks_of(code);
    if (checks == nullptr && PyErr_Occurred()) return Outcome::failed;
    PyObject *reads = nullptr; // inputs that the run writes over are copied before
    if (checks != nullptr && code.commits_at != SIZE_MAX) {
        reads = copies_of_reads(code, run.frame);
        if (reads == nullptr) return Outcome::failed;
    }
    if (code.is_long) run.release_gil();
    clear_outputs(code, run.frame, is_fresh);
    NoStamps none;
    const Outcome outcome =
        checks == nullptr ? run_block(run, code.blocks[0], none) : run_looking(run, *checks, mode, reads);
    if (code.is_long) run.take_gil();
    Py_XDECREF(reads);
    return outcome == Outcome::done && PyErr_Occurred() ? Outcome::failed : outcome;
}

} // namespace

PyObject *miss_bytes(const Miss &miss) {
    return PyBytes_FromStringAndSize(miss.seen, static_cast<Py_ssize_t>(miss.guard->nbytes));
}

void raise_miss(const Miss &miss) {
    if (guard_miss == nullptr) {
        PyErr_SetString(PyExc_RuntimeError, "a guard does not hold, and setup(guard_miss=...) was not called");
        return;
    }
    PyObject *seen = miss_bytes(miss);
    if (seen == nullptr) return;
    PyObject *error = PyObject_CallFunction(guard_miss, "LN", static_cast<long long>(miss.guard->position), seen);
    if (error == nullptr) return;
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error)), error);
    Py_DECREF(error);
}

} // namespace wengert

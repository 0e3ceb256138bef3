// The steps of earlier runs: they are found by their keys, taken again, and kept.
#include "steps.h"

#include <algorithm>

namespace wengert {

PyTypeObject *steps_type;
uint64_t n_writes, n_looks;

namespace {

constexpr size_t LEAST_LIMIT = 20'000; // events and instructions; or as many times the longest run:
constexpr size_t RUNS = 8;
constexpr size_t MOST_RECORDINGS = 64;
constexpr size_t MOST_EQUAL = 100'000; // events of one key
constexpr Py_ssize_t MOST_STEPS = 200; // of one operation

struct Names {
    PyObject *outs = PyUnicode_InternFromString("outs"), *effects = PyUnicode_InternFromString("effects");
};
const Names *names;

// The fields of Instr, by number.
constexpr Py_ssize_t OP = 0, INS = 1, OUTS = 2, PARAMS = 3;

uint64_t hash_of(const std::vector<PyObject *> &words) {
    uint64_t h = words.size();
    for (PyObject *word : words) {
        h = (h ^ reinterpret_cast<uint64_t>(word)) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

Steps *self_of(PyObject *self) { return reinterpret_cast<Steps *>(self); }

void forget(Steps *self) {
    // What is freed may run code of Python's, so the tables are empty before anything is.
    decltype(self->kept) kept = self->kept;
    decltype(self->entries) entries = self->entries;
    decltype(self->recordings) recordings = self->recordings;
    self->kept = new std::unordered_multimap<uint64_t, std::unique_ptr<Kept>>;
    self->entries = new std::unordered_map<PyObject *, std::unique_ptr<Entry>>;
    self->recordings = new std::unordered_multimap<uint64_t, Recorded>;
    if (self->variables != nullptr) PyDict_Clear(self->variables);
    if (self->equals != nullptr) PyDict_Clear(self->equals);
    delete kept;
    delete entries;
    delete recordings;
}

} // namespace

Kept *Steps::find(const Key &key, uint64_t hash) {
    const auto [begin, end] = kept->equal_range(hash);
    for (auto at = begin; at != end; ++at) {
        const std::vector<uint64_t> &words = at->second->words;
        if (words.size() == static_cast<size_t>(key.n_words) &&
            std::memcmp(words.data(), key.words, words.size() * sizeof(uint64_t)) == 0)
            return at->second.get();
    }
    return nullptr;
}

void Steps::keep(const Key &key, uint64_t hash, std::unique_ptr<Event> event) {
    Kept *found = find(key, hash);
    if (found == nullptr) {
        auto made = std::make_unique<Kept>();
        made->words.assign(key.words, key.words + key.n_words);
        for (int k = 0; k < key.n_objects; k++) made->objects.emplace_back(key.objects[k]);
        found = kept->emplace(hash, std::move(made))->second.get();
    }
    for (Entry *entry : event->entries) entry->run = run;
    if (found->events.size() >= MOST_EQUAL) return;
    found->events.push_back(std::move(event));
    found->run = run;
    found->next = found->events.size();
}

Entry *Steps::entry(PyObject *instr) {
    auto [at, is_new] = entries->try_emplace(instr);
    if (is_new) at->second = std::make_unique<Entry>(Entry{instr});
    return at->second.get();
}

Event *Steps::take(const Key &key, uint64_t hash) {
    Kept *of = find(key, hash);
    if (of == nullptr) return nullptr;
    if (of->run != run) {
        of->run = run;
        of->next = 0;
    }
    while (of->next < of->events.size()) {
        Event *event = of->events[of->next++].get();
        if (!std::all_of(event->entries.begin(), event->entries.end(), [this](Entry *e) { return e->run != run; })) continue;
        for (Entry *e : event->entries) {
            if (PyList_Append(instrs, e->instr) < 0) return nullptr;
            e->run = run;
        }
        return event;
    }
    return nullptr;
}

PyObject *replay(const Key &key, const Event &event) {
    const auto make = [&](const Made &made) -> PyObject * {
        Value *value = make_value(reinterpret_cast<PyObject *>(key.trace), made.atom, made.aval, made.is_scalar);
        if (value == nullptr) return nullptr;
        Py_XSETREF(value->weak, Py_NewRef(made.weak));
        Py_XSETREF(value->layout, Py_NewRef(made.layout));
        value->is_reordered = made.is_reordered;
        if (made.base >= 0) {
            Value *base = key.values[made.base];
            Py_XSETREF(value->base, Py_NewRef(reinterpret_cast<PyObject *>(base)));
            Py_XSETREF(value->lens, Py_NewRef(made.lens));
            base->is_viewed = true;
        }
        return reinterpret_cast<PyObject *>(value);
    };
    if (event.form == Event::ONE) return make(event.results[0]);
    const auto n = static_cast<Py_ssize_t>(event.results.size());
    Owned results = Owned::stolen(event.form == Event::TUPLE ? PyTuple_New(n) : PyList_New(n));
    if (results == nullptr) return nullptr;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *value = make(event.results[k]);
        if (value == nullptr) return nullptr;
        if (event.form == Event::TUPLE) PyTuple_SET_ITEM(results.get(), k, value);
        else PyList_SET_ITEM(results.get(), k, value);
    }
    return Py_NewRef(results);
}

namespace {

// How a result is made again; false: it cannot be.
bool describe(const Key &key, PyObject *result, const std::vector<PyObject *> &atoms, Made &made) {
    if (Py_TYPE(result) != known.tracer) return false;
    auto *x = reinterpret_cast<Value *>(result);
    if (x->trace != reinterpret_cast<PyObject *>(key.trace) || x->constant != Py_None || PyTuple_GET_SIZE(x->lent) > 0 ||
        PyObject_IsTrue(x->why_readonly) || x->told != Py_None || x->hashed != Py_None || x->is_viewed)
        return false;
    for (int k = 0; k < key.n_values; k++)
        if (reinterpret_cast<PyObject *>(key.values[k]) == result) return false; // an argument itself
    made.base = -1;
    made.lens = made.atom = Py_None;
    if (x->base != Py_None) {
        int n = 0;
        for (int k = 0; k < key.n_values; k++)
            if (reinterpret_cast<PyObject *>(key.values[k]) == x->base) made.base = k, n++;
        if (n != 1 || !is_plain(x->lens)) return false;
        made.lens = x->lens;
    } else {
        const bool is_literal = PyObject_TypeCheck(x->atom, known.literal);
        if (!is_literal && std::find(atoms.begin(), atoms.end(), x->atom) == atoms.end()) return false;
        made.atom = x->atom;
    }
    made.aval = x->aval;
    made.weak = x->weak;
    made.layout = x->layout;
    made.is_scalar = x->is_scalar;
    made.is_reordered = x->is_reordered;
    return true;
}

// The steps from `start` on, if they are all that was done, and read nothing but the key's atoms and each other.
bool steps_since(Steps *steps, const Key &key, Py_ssize_t start, Event &event, std::vector<PyObject *> &atoms) {
    atoms.assign(key.atoms, key.atoms + key.n_atoms);
    for (Py_ssize_t k = start; k < PyList_GET_SIZE(steps->instrs); k++) {
        PyObject *instr = PyList_GET_ITEM(steps->instrs, k);
        const Owned effects = Owned::stolen(PyObject_GetAttr(PyTuple_GET_ITEM(instr, OP), names->effects));
        if (effects == nullptr) return PyErr_Clear(), false;
        if (PyObject_IsTrue(effects)) return false;
        PyObject *ins = PyTuple_GET_ITEM(instr, INS), *outs = PyTuple_GET_ITEM(instr, OUTS);
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ins); i++) {
            PyObject *atom = PyTuple_GET_ITEM(ins, i);
            if (!PyObject_TypeCheck(atom, known.literal) && std::find(atoms.begin(), atoms.end(), atom) == atoms.end()) return false;
        }
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outs); i++) atoms.push_back(PyTuple_GET_ITEM(outs, i));
        event.entries.push_back(steps->entry(instr));
    }
    return true;
}

} // namespace

void commit(Steps *steps, const Key &key, uint64_t hash, Py_ssize_t start, PyObject *result) {
    auto event = std::make_unique<Event>();
    std::vector<PyObject *> atoms;
    if (PyList_GET_SIZE(steps->instrs) - start > MOST_STEPS || !steps_since(steps, key, start, *event, atoms)) return;
    const bool is_tuple = PyTuple_CheckExact(result);
    event->form = is_tuple ? Event::TUPLE : PyList_CheckExact(result) ? Event::LIST : Event::ONE;
    if (event->form == Event::ONE) {
        event->results.resize(1);
        if (!describe(key, result, atoms, event->results[0])) return;
    } else {
        const Py_ssize_t n = PySequence_Fast_GET_SIZE(result);
        event->results.resize(n);
        for (Py_ssize_t k = 0; k < n; k++) {
            if (!describe(key, PySequence_Fast_GET_ITEM(result, k), atoms, event->results[k])) return;
            for (Py_ssize_t other = 0; other < k; other++) // one object in two places
                if (PySequence_Fast_GET_ITEM(result, k) == PySequence_Fast_GET_ITEM(result, other)) return;
        }
    }
    steps->keep(key, hash, std::move(event));
}

// What a view reads is a step too: it depends on the way in which it looks at its base, and on that.
PyObject *atom_of_view(Value *x) {
    const Py_ssize_t version = x->root()->version;
    if (x->atom != Py_None && x->seen == version) return x->atom;
    auto *base = reinterpret_cast<Value *>(x->base);
    PyObject *base_atom = base->base == Py_None ? base->atom : atom_of_view(base);
    if (base_atom == nullptr) return nullptr;
    auto *trace = reinterpret_cast<TraceState *>(x->trace);
    Steps *steps = steps_of(trace);
    Key key;
    key.trace = trace;
    key.word(VIEW);
    key.object(x->lens);
    key.object(base_atom);
    key.atoms[key.n_atoms++] = base_atom;
    const uint64_t hash = key.hash();
    if (Event *event = steps->take(key, hash)) {
        Py_XSETREF(x->atom, Py_NewRef(event->results[0].atom));
        x->seen = version;
        return x->atom;
    }
    if (PyErr_Occurred()) return nullptr;
    const Py_ssize_t start = PyList_GET_SIZE(steps->instrs);
    const Owned atom = Owned::stolen(PyObject_CallMethod(reinterpret_cast<PyObject *>(x), "atom", nullptr));
    if (atom == nullptr) return nullptr;
    auto event = std::make_unique<Event>();
    std::vector<PyObject *> atoms;
    if (steps_since(steps, key, start, *event, atoms) && std::find(atoms.begin(), atoms.end(), atom.get()) != atoms.end()) {
        event->results.resize(1);
        event->results[0].atom = atom;
        steps->keep(key, hash, std::move(event));
    }
    return x->atom;
}

// ------------------------------------------------------------------------------------------------- the class Steps

namespace {

PyObject *new_steps(PyTypeObject *type, PyObject *, PyObject *) {
    PyObject *made = type->tp_alloc(type, 0);
    if (made == nullptr) return nullptr;
    forget(self_of(made));
    self_of(made)->variables = PyDict_New();
    self_of(made)->equals = PyDict_New();
    if (self_of(made)->variables == nullptr || self_of(made)->equals == nullptr) Py_CLEAR(made);
    return made;
}

int traverse(PyObject *object, visitproc visit, void *arg) {
    Steps *self = self_of(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->trace);
    Py_VISIT(self->instrs);
    Py_VISIT(self->stack);
    Py_VISIT(self->variables);
    Py_VISIT(self->equals);
    for (const auto &[hash, kept] : *self->kept) {
        for (const Owned &one : kept->objects) Py_VISIT(one.get());
        for (const auto &event : kept->events)
            for (const Made &made : event->results) {
                Py_VISIT(made.atom.get());
                Py_VISIT(made.aval.get());
                Py_VISIT(made.weak.get());
                Py_VISIT(made.layout.get());
                Py_VISIT(made.lens.get());
            }
    }
    for (const auto &[instr, entry] : *self->entries) Py_VISIT(instr);
    for (const auto &[hash, one] : *self->recordings) Py_VISIT(one.recording.get());
    return 0;
}

int clear(PyObject *object) {
    Steps *self = self_of(object);
    Py_CLEAR(self->trace);
    Py_CLEAR(self->instrs);
    Py_CLEAR(self->stack);
    forget(self);
    Py_CLEAR(self->variables);
    Py_CLEAR(self->equals);
    return 0;
}

void dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    Steps *self = self_of(object);
    clear(object);
    delete self->kept;
    delete self->entries;
    delete self->recordings;
    PyTypeObject *type = Py_TYPE(object);
    type->tp_free(object);
    Py_DECREF(type);
}

// begin(trace, instrs, stack) -> whether the run of `trace` takes steps from here; not if another is going on
PyObject *begin(PyObject *object, PyObject *args) {
    PyObject *trace, *instrs, *stack;
    if (!PyArg_ParseTuple(args, "OO!O!:begin", &trace, &PyList_Type, &instrs, &PyList_Type, &stack)) return nullptr;
    Steps *self = self_of(object);
    if (self->trace != nullptr) Py_RETURN_FALSE;
    if (self->entries->size() + self->kept->size() > std::max(LEAST_LIMIT, RUNS * self->longest)) forget(self);
    self->trace = Py_NewRef(trace);
    self->instrs = Py_NewRef(instrs);
    self->stack = Py_NewRef(stack);
    self->thread = PyThread_get_thread_ident();
    static uint64_t n_runs;
    self->run = ++n_runs;
    Py_RETURN_TRUE;
}

PyObject *end(PyObject *object, PyObject *) {
    Steps *self = self_of(object);
    if (self->instrs != nullptr) self->longest = std::max<size_t>(self->longest, PyList_GET_SIZE(self->instrs));
    Py_CLEAR(self->trace);
    Py_CLEAR(self->instrs);
    Py_CLEAR(self->stack);
    Py_RETURN_NONE;
}

bool key_of_step(Steps *self, Key &key, PyObject *op, PyObject *ins, PyObject *params) {
    key.equals = self->equals;
    key.word(STEP);
    key.object(op);
    const Py_ssize_t n = PyTuple_GET_SIZE(ins);
    key.word(n);
    for (Py_ssize_t k = 0; k < n; k++) key.object(PyTuple_GET_ITEM(ins, k));
    if (!PyDict_Check(params)) return key.is_known = false;
    PyObject *name, *value;
    for (Py_ssize_t at = 0; PyDict_Next(params, &at, &name, &value);) {
        key.object(name);
        key.parameter(value);
    }
    return key.is_known;
}

// step(op, ins, params) -> the results of such a step of an earlier run, which is put into this one; None if there is none
PyObject *step(PyObject *object, PyObject *const *args, Py_ssize_t n_args) {
    Steps *self = self_of(object);
    if (n_args != 3 || self->trace == nullptr || !PyTuple_Check(args[1])) Py_RETURN_NONE;
    Key key;
    if (!key_of_step(self, key, args[0], args[1], args[2])) Py_RETURN_NONE;
    Event *event = self->take(key, key.hash());
    if (event == nullptr) {
        if (PyErr_Occurred()) return nullptr;
        Py_RETURN_NONE;
    }
    return Py_NewRef(PyTuple_GET_ITEM(event->entries[0]->instr.get(), OUTS));
}

// learn(instr): a step that this run was the first to take
PyObject *learn(PyObject *object, PyObject *instr) {
    Steps *self = self_of(object);
    Key key;
    if (self->trace == nullptr ||
        !key_of_step(self, key, PyTuple_GET_ITEM(instr, OP), PyTuple_GET_ITEM(instr, INS), PyTuple_GET_ITEM(instr, PARAMS)))
        Py_RETURN_NONE;
    auto event = std::make_unique<Event>();
    event->entries.push_back(self->entry(instr));
    self->keep(key, key.hash(), std::move(event));
    Py_RETURN_NONE;
}

// variable(kind, number, aval, make) -> the variable of an input, or of a captured array, of an earlier run, or make(aval)
PyObject *variable(PyObject *object, PyObject *const *args, Py_ssize_t n_args) {
    Steps *self = self_of(object);
    if (n_args != 4) return PyErr_SetString(PyExc_TypeError, "variable(kind, number, aval, make)"), nullptr;
    const Owned key = Owned::stolen(PyTuple_Pack(3, args[0], args[1], args[2]));
    if (key == nullptr) return nullptr;
    PyObject *found = PyDict_GetItemWithError(self->variables, key);
    if (found != nullptr) return Py_NewRef(found);
    if (PyErr_Occurred()) return nullptr;
    const Owned made = Owned::stolen(PyObject_CallOneArg(args[3], args[2]));
    if (made == nullptr || PyDict_SetItem(self->variables, key, made) < 0) return nullptr;
    return Py_NewRef(made);
}

// block(owner, atoms, make) -> the atoms that make() gives, a list: steps that depend on `owner`, which never changes, and
// on these atoms alone
PyObject *block(PyObject *object, PyObject *const *args, Py_ssize_t n_args) {
    Steps *self = self_of(object);
    if (n_args != 3 || !PyTuple_Check(args[1])) return PyErr_SetString(PyExc_TypeError, "block(owner, atoms, make)"), nullptr;
    Key key;
    key.word(BLOCK);
    key.object(args[0]);
    const Py_ssize_t n = PyTuple_GET_SIZE(args[1]);
    if (self->trace == nullptr || n > Key::MOST_VALUES) return PyObject_CallNoArgs(args[2]);
    for (Py_ssize_t k = 0; k < n; k++) {
        key.object(PyTuple_GET_ITEM(args[1], k));
        key.atoms[key.n_atoms++] = PyTuple_GET_ITEM(args[1], k);
    }
    const uint64_t hash = key.hash();
    if (Event *event = self->take(key, hash)) {
        PyObject *atoms = PyList_New(static_cast<Py_ssize_t>(event->results.size()));
        for (size_t k = 0; atoms != nullptr && k < event->results.size(); k++)
            PyList_SET_ITEM(atoms, static_cast<Py_ssize_t>(k), Py_NewRef(event->results[k].atom));
        return atoms;
    }
    if (PyErr_Occurred()) return nullptr;
    const Py_ssize_t start = PyList_GET_SIZE(self->instrs);
    Owned made = Owned::stolen(PyObject_CallNoArgs(args[2]));
    if (made == nullptr || !PyList_Check(made.get()) || self->trace == nullptr) return Py_XNewRef(made);
    auto event = std::make_unique<Event>();
    std::vector<PyObject *> atoms;
    if (!steps_since(self, key, start, *event, atoms)) return Py_NewRef(made);
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(made.get()); k++) {
        event->results.emplace_back();
        event->results.back().atom = PyList_GET_ITEM(made.get(), k);
    }
    self->keep(key, hash, std::move(event));
    return Py_NewRef(made);
}

std::vector<PyObject *> words_of_run(Steps *self, PyObject *outputs, PyObject *variables) {
    std::vector<PyObject *> words;
    words.reserve(PyList_GET_SIZE(self->instrs) + PyTuple_GET_SIZE(outputs) + PyTuple_GET_SIZE(variables) + 2);
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(self->instrs); k++) words.push_back(PyList_GET_ITEM(self->instrs, k));
    words.push_back(nullptr);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(outputs); k++) words.push_back(PyTuple_GET_ITEM(outputs, k));
    words.push_back(nullptr);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(variables); k++) words.push_back(PyTuple_GET_ITEM(variables, k));
    return words;
}

// recording(outputs, variables) -> the recording of an earlier run that took the very steps of this one, or None
PyObject *recording(PyObject *object, PyObject *const *args, Py_ssize_t n_args) {
    Steps *self = self_of(object);
    if (n_args != 2 || self->trace == nullptr) Py_RETURN_NONE;
    const std::vector<PyObject *> words = words_of_run(self, args[0], args[1]);
    const auto [begin, end] = self->recordings->equal_range(hash_of(words));
    for (auto at = begin; at != end; ++at)
        if (at->second.words == words) return Py_NewRef(at->second.recording);
    Py_RETURN_NONE;
}

// keep(outputs, variables, recording): for runs to come that take the same steps
PyObject *keep(PyObject *object, PyObject *const *args, Py_ssize_t n_args) {
    Steps *self = self_of(object);
    if (n_args != 3 || self->trace == nullptr) Py_RETURN_NONE;
    if (self->recordings->size() >= MOST_RECORDINGS) {
        std::unordered_multimap<uint64_t, Recorded> old;
        std::swap(old, *self->recordings); // freed when the table is in order again
    }
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(self->instrs); k++) self->entry(PyList_GET_ITEM(self->instrs, k)); // kept alive
    std::vector<PyObject *> words = words_of_run(self, args[0], args[1]);
    const uint64_t hash = hash_of(words);
    self->recordings->emplace(hash, Recorded{std::move(words), args[2]});
    Py_RETURN_NONE;
}

PyObject *sizes(PyObject *object, PyObject *) {
    Steps *self = self_of(object);
    return Py_BuildValue("nnn", static_cast<Py_ssize_t>(self->entries->size()), static_cast<Py_ssize_t>(self->kept->size()),
                         static_cast<Py_ssize_t>(self->recordings->size()));
}

PyCFunction fast(PyObject *(*f)(PyObject *, PyObject *const *, Py_ssize_t)) { return reinterpret_cast<PyCFunction>(f); }

} // namespace

bool add_steps(PyObject *module) {
    names = new Names;
    static PyMethodDef methods[] = {{"begin", begin, METH_VARARGS, nullptr},
                                    {"end", end, METH_NOARGS, nullptr},
                                    {"step", fast(step), METH_FASTCALL, nullptr},
                                    {"learn", learn, METH_O, nullptr},
                                    {"block", fast(block), METH_FASTCALL, nullptr},
                                    {"variable", fast(variable), METH_FASTCALL, nullptr},
                                    {"recording", fast(recording), METH_FASTCALL, nullptr},
                                    {"keep", fast(keep), METH_FASTCALL, nullptr},
                                    {"sizes", sizes, METH_NOARGS, nullptr},
                                    {nullptr, nullptr, 0, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(new_steps)},
                                  {Py_tp_dealloc, reinterpret_cast<void *>(dealloc)},
                                  {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                                  {Py_tp_clear, reinterpret_cast<void *>(clear)},
                                  {Py_tp_methods, methods},
                                  {0, nullptr}};
    static PyType_Spec spec = {"wengert.tracing._steps.Steps", sizeof(Steps), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
    steps_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    // tells the check whether a function is pure that no result depends on this
    const bool is_made = steps_type != nullptr &&
                         PyObject_SetAttrString(reinterpret_cast<PyObject *>(steps_type), "__wengert_cache__", Py_True) == 0;
    return is_made && PyModule_AddObjectRef(module, "Steps", reinterpret_cast<PyObject *>(steps_type)) == 0;
}

} // namespace wengert

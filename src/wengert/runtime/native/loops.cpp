// A loop runs the kernels of its body over a table of pointers of its own, in which only what moves from one iteration
// to the next is written: the slices. A carry lies where it ends; the body writes it in place where its plan says that
// it may, else beside it.
//
// The table, the body's arena and what is written beside stand in one block, which is kept for the next run. No Python,
// no GIL; a block is allocated when a loop runs for the first time, or in more threads than ever.
#include "loops.h"
#include "timing.h"
#include "../../native/platform.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace wengert {

namespace {

constexpr size_t LINE = 64;

size_t in_lines(size_t n) { return (n + LINE - 1) / LINE * LINE; }

struct Layout {
    size_t arena, beside, total; // where they begin, after the table

    Layout(const Executable &code, size_t n_carries) {
        arena = in_lines(code.n_pointers * sizeof(char *));
        beside = arena + in_lines(code.arena_bytes);
        total = beside;
        for (size_t k = 0; k < n_carries; k++) total += in_lines(static_cast<size_t>(code.outputs[k].nbytes));
    }
};

char *take(Executable &code, size_t nbytes) {
    for (auto &kept : code.loop_memory)
        if (char *memory = kept.exchange(nullptr)) return memory;
    return static_cast<char *>(allocate_aligned(LINE, in_lines(nbytes ? nbytes : 1)));
}

void give_back(Executable &code, char *memory) {
    for (auto &kept : code.loop_memory) {
        char *none = nullptr;
        if (kept.compare_exchange_strong(none, memory)) return;
    }
    free_aligned(memory);
}

void set(const Executable &code, char **table, size_t base, char *address) {
    for (const Use &use : code.uses[base]) table[use.pointer] = address + use.offset;
}

// Whether Python wants a loop to end, which it is asked at most every so often: asking may mean to wait for the GIL.
bool wants_to_end() {
    using Clock = std::chrono::steady_clock;
    constexpr auto BETWEEN = std::chrono::milliseconds(50);
    static thread_local Clock::time_point next{};
    const auto now = Clock::now();
    if (now < next) return false;
    next = now + BETWEEN;
    return is_interrupted() != 0;
}

template <class Times> int32_t run(const Executable &code, char **table, const Block &block, Times &times) {
    for (const Step &step : block) {
        int32_t status = 0;
        if (step.kind == StepKind::kernel) {
            status = step.kernel(table + step.pointer, step.sizes, 0, step.extent);
        } else if (step.kind == StepKind::branch) {
            const Branch &branch = code.branches[step.detail];
            status = run(code, table, code.blocks[chosen(branch, table[branch.pointer])], times);
        } else if (step.kind == StepKind::loop) {
            const Loop &loop = code.loops[step.detail];
            while (status == 0) {
                status = run(code, table, code.blocks[loop.condition], times);
                if (status != 0 || *table[loop.pointer] == 0) break;
                status = run(code, table, code.blocks[loop.body], times);
                if (wants_to_end()) return STOPPED;
            }
        } else if (step.kind == StepKind::guard) {
            const Guard &guard = code.guards[step.detail];
            if (std::memcmp(table[guard.pointer], guard.expected, guard.nbytes) != 0) status = GUARD_MISSED;
        } else {
            status = CALLS_PYTHON;
        }
        if (status != 0) return status;
        times.step(step.number);
    }
    return 0;
}

COLD int32_t run_timed(const Executable &code, char **table, Sampler &sampler) {
    int32_t status;
    {
        Stamps stamps(sampler.timing());
        status = run(code, table, code.blocks[0], stamps);
    }
    sampler.again();
    return status;
}

int32_t run_once(const Executable &code, char **table, Sampler &sampler) {
    if (sampler.is_due()) [[unlikely]] return run_timed(code, table, sampler);
    NoStamps none;
    return run(code, table, code.blocks[0], none);
}

} // namespace

static thread_local bool is_python_asked = true;

Unasked::Unasked() { is_python_asked = false; }
Unasked::~Unasked() { is_python_asked = true; }

int32_t is_interrupted() {
    if (!is_python_asked) return 0;
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool is_over = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return is_over;
}

char *more_room(char *memory, int64_t nbytes, const char *on_stack) {
    auto *more = static_cast<char *>(std::malloc(2 * static_cast<size_t>(nbytes)));
    if (more == nullptr) return nullptr;
    std::memcpy(more, memory, static_cast<size_t>(nbytes));
    free_room(memory, on_stack);
    return more;
}

void free_room(char *memory, const char *on_stack) {
    if (memory != on_stack) std::free(memory);
}

void free_loop_memory(Executable &code) {
    for (auto &kept : code.loop_memory) free_aligned(kept.exchange(nullptr));
}

Ready::Ready(Executable &program, size_t n_beside) : code(program), sampler_(program) {
    const Layout layout(code, n_beside);
    memory_ = take(code, layout.total);
    if (memory_ == nullptr) return;
    beside_ = memory_ + layout.beside;
    place(0, memory_ + layout.arena);
    for (size_t k = 0; k < code.constants.size(); k++) place(code.first_constant() + k, PyArray_BYTES(code.constants[k]));
}

Ready::~Ready() {
    if (memory_ != nullptr) give_back(code, memory_);
}

void Ready::place(size_t base, char *address) { set(code, table(), base, address); }
int32_t Ready::run() { return run_once(code, table(), sampler_); }

namespace {

Executable &executable_at(int64_t address) { return *reinterpret_cast<Executable *>(address); }

// Carries, a row for each iteration.
class Trail {
  public:
    explicit Trail(const Executable &body, size_t first, size_t count) {
        for (size_t k = 0; k < count; k++) {
            offsets_.push_back(row_);
            row_ += in_lines(static_cast<size_t>(body.inputs[first + k].nbytes));
        }
        row_ = row_ ? row_ : LINE;
    }
    ~Trail() { free_aligned(memory_); }
    Trail(const Trail &) = delete;
    Trail &operator=(const Trail &) = delete;

    bool reach(size_t count) { // room for so many
        if (count <= room_) return true;
        const size_t more = count < 2 * room_ ? 2 * room_ : count;
        char *memory = static_cast<char *>(allocate_aligned(LINE, more * row_));
        if (memory == nullptr) return false;
        if (memory_ != nullptr) std::memcpy(memory, memory_, room_ * row_);
        free_aligned(memory_);
        memory_ = memory;
        room_ = more;
        return true;
    }
    char *at(size_t iteration, size_t k) { return memory_ + iteration * row_ + offsets_[k]; }

  private:
    std::vector<size_t> offsets_;
    size_t row_ = 0, room_ = 0;
    char *memory_ = nullptr;
};

} // namespace

int32_t run_while_back(char *const *pointers, const int64_t *sizes, int64_t, int64_t) {
    const size_t tests = static_cast<size_t>(sizes[3]), constants = static_cast<size_t>(sizes[4]);
    const size_t carries = static_cast<size_t>(sizes[5]), cts = static_cast<size_t>(sizes[6]);
    const size_t sums = static_cast<size_t>(sizes[7]);
    char *const *of_body = pointers + tests, *const *given = of_body + constants + carries, *const *results = given + cts;
    Ready condition(executable_at(sizes[0]), 0), body(executable_at(sizes[1]), 0);
    Ready back(executable_at(sizes[2]), sums + cts);
    if (!condition.is_ready() || !body.is_ready() || !back.is_ready()) return NO_MEMORY;
    Trail trail(body.code, constants, carries);
    if (!trail.reach(8)) return NO_MEMORY;
    bool goes_on = false;
    for (size_t k = 0; k < tests; k++) condition.input(k, pointers[k]);
    condition.output(0, reinterpret_cast<char *>(&goes_on));
    for (size_t k = 0; k < constants; k++) body.input(k, of_body[k]), back.input(k, of_body[k]);
    for (size_t k = 0; k < carries; k++)
        std::memcpy(trail.at(0, k), of_body[constants + k], static_cast<size_t>(body.code.inputs[constants + k].nbytes));
    size_t count = 0;
    for (;; count++) {
        if (!trail.reach(count + 2)) return NO_MEMORY;
        for (size_t k = 0; k < carries; k++) {
            condition.input(tests + k, trail.at(count, k));
            body.input(constants + k, trail.at(count, k));
            body.output(k, trail.at(count + 1, k));
            if (body.code.outputs[k].is_zeroed)
                std::memset(trail.at(count + 1, k), 0, static_cast<size_t>(body.code.outputs[k].nbytes));
        }
        if (const int32_t status = condition.run(); status != 0) return status;
        if (!goes_on) break;
        if (const int32_t status = body.run(); status != 0) return status;
        if (wants_to_end()) return STOPPED;
    }
    const size_t first_ct = constants + carries, first_sum = first_ct + cts;
    char *beside = back.beside();
    std::vector<char *> apart(sums + cts, nullptr);
    for (size_t k = 0; k < sums + cts; k++) { // results: sums, then cotangents
        const size_t nbytes = static_cast<size_t>(back.code.outputs[k].nbytes);
        const size_t input = k < sums ? first_sum + k : first_ct + k - sums;
        if (k < sums)
            std::memset(results[k], 0, nbytes);
        else
            std::memcpy(results[k], given[k - sums], nbytes);
        back.input(input, results[k]);
        const bool in_place = back.code.outputs[k].over == static_cast<int32_t>(input);
        if (!in_place) apart[k] = beside;
        back.output(k, in_place ? results[k] : beside);
        beside += in_lines(nbytes);
    }
    for (size_t iteration = count; iteration-- > 0;) {
        for (size_t k = 0; k < carries; k++) back.input(constants + k, trail.at(iteration, k));
        for (size_t k = 0; k < sums + cts; k++)
            if (back.code.outputs[k].is_zeroed) std::memset(apart[k], 0, static_cast<size_t>(back.code.outputs[k].nbytes));
        if (const int32_t status = back.run(); status != 0) return status;
        for (size_t k = 0; k < sums + cts; k++)
            if (apart[k] != nullptr) std::memcpy(results[k], apart[k], static_cast<size_t>(back.code.outputs[k].nbytes));
        if (wants_to_end()) return STOPPED;
    }
    return 0;
}

int32_t run_scan(char *const *pointers, const int64_t *sizes, int64_t begin, int64_t end) {
    Executable &code = *reinterpret_cast<Executable *>(sizes[0]);
    const size_t constants = static_cast<size_t>(sizes[1]), carries = static_cast<size_t>(sizes[2]);
    const size_t n_inputs = code.inputs.size(), n_outputs = code.outputs.size(), first = constants + carries;
    const int64_t length = sizes[3];
    char *const *last = pointers + n_inputs, *const *stacked = last + carries;
    const Layout layout(code, carries);
    char *memory = take(code, layout.total);
    if (memory == nullptr) return NO_MEMORY;
    char **table = reinterpret_cast<char **>(memory);
    set(code, table, 0, memory + layout.arena);
    for (size_t k = 0; k < constants; k++) set(code, table, code.first_input() + k, pointers[k]);
    for (size_t k = 0; k < code.constants.size(); k++)
        set(code, table, code.first_constant() + k, PyArray_BYTES(code.constants[k]));
    // A carry is written in place where the body may, else by turns into its result and beside it, so that it is in its
    // result at the end; its first value is read where it is.
    std::vector<char *> now(carries), next(carries), other(carries);
    char *beside = memory + layout.beside;
    for (size_t k = 0; k < carries; k++) {
        const size_t nbytes = static_cast<size_t>(code.outputs[k].nbytes);
        const bool in_place = code.outputs[k].over == static_cast<int32_t>(constants + k);
        const bool is_first = begin == 0 && last[k] != pointers[constants + k];
        now[k] = next[k] = other[k] = last[k];
        if (is_first && (in_place || begin >= end)) std::memcpy(last[k], pointers[constants + k], nbytes);
        if (!in_place) {
            other[k] = beside;
            next[k] = beside;
            if (is_first && begin < end) {
                now[k] = pointers[constants + k];
                if ((end - begin) % 2 != 0) next[k] = last[k];
            }
        }
        beside += in_lines(nbytes);
    }
    Sampler sampler(code);
    int32_t status = 0;
    for (int64_t iteration = begin; iteration < end && status == 0; iteration++) {
        const int64_t row = sizes[4] != 0 ? length - 1 - iteration : iteration;
        for (size_t k = 0; k < carries; k++) {
            set(code, table, code.first_input() + constants + k, now[k]);
            set(code, table, code.first_output() + k, next[k]);
        }
        for (size_t k = first; k < n_inputs; k++)
            set(code, table, code.first_input() + k, pointers[k] + row * code.inputs[k].nbytes);
        for (size_t k = carries; k < n_outputs; k++)
            set(code, table, code.first_output() + k, stacked[k - carries] + row * code.outputs[k].nbytes);
        for (size_t k : code.zeroed) { // no carry is in place and begins as zeros
            char *at = k < carries ? next[k] : stacked[k - carries] + row * code.outputs[k].nbytes;
            std::memset(at, 0, static_cast<size_t>(code.outputs[k].nbytes));
        }
        status = run_once(code, table, sampler);
        if (status != 0) break;
        for (size_t k = 0; k < carries; k++) {
            now[k] = next[k];
            next[k] = now[k] == last[k] ? other[k] : last[k];
        }
        if (wants_to_end()) status = STOPPED;
    }
    for (size_t k = 0; k < carries && status == 0; k++)
        if (now[k] != last[k] && begin < end)
            std::memcpy(last[k], now[k], static_cast<size_t>(code.outputs[k].nbytes));
    give_back(code, memory);
    return status;
}

} // namespace wengert

// A loop runs the kernels of its body over a table of pointers of its own, in which only what moves from one iteration
// to the next is written: the slices. A carry lies where it ends; the body writes it in place where its plan says that
// it may, else beside it.
//
// The table, the body's arena and what is written beside stand in one block, which is kept for the next run. No Python,
// no GIL; a block is allocated when a loop runs for the first time, or in more threads than ever.
#include "loops.h"

#include <cstdlib>
#include <cstring>

namespace wengert {

namespace {

constexpr int32_t NO_MEMORY = -5;
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
    return static_cast<char *>(std::aligned_alloc(LINE, in_lines(nbytes ? nbytes : 1)));
}

void give_back(Executable &code, char *memory) {
    for (auto &kept : code.loop_memory) {
        char *none = nullptr;
        if (kept.compare_exchange_strong(none, memory)) return;
    }
    std::free(memory);
}

void set(const Executable &code, char **table, size_t base, char *address) {
    for (const Use &use : code.uses[base]) table[use.pointer] = address + use.offset;
}

// Now and then, whether Python wants the loop to end: an error is set then.
bool is_interrupted() {
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool is_over = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return is_over;
}

int32_t run(const Executable &code, char **table, const Block &block) {
    constexpr int64_t TURNS = 1 << 16; // between two looks
    for (const Step &step : block) {
        int32_t status = 0;
        if (step.kind == StepKind::kernel) {
            status = step.kernel(table + step.pointer, step.sizes, 0, step.extent);
        } else if (step.kind == StepKind::branch) {
            const Branch &branch = code.branches[step.detail];
            status = run(code, table, code.blocks[chosen(branch, table[branch.pointer])]);
        } else if (step.kind == StepKind::loop) {
            const Loop &loop = code.loops[step.detail];
            for (int64_t turn = 1; status == 0; turn++) {
                status = run(code, table, code.blocks[loop.condition]);
                if (status != 0 || *table[loop.pointer] == 0) break;
                status = run(code, table, code.blocks[loop.body]);
                if (turn % TURNS == 0 && is_interrupted()) return STOPPED;
            }
        }
        if (status != 0) return status;
    }
    return 0;
}

} // namespace

void free_loop_memory(Executable &code) {
    for (auto &kept : code.loop_memory) std::free(kept.exchange(nullptr));
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
    char *beside = memory + layout.beside;
    for (size_t k = 0; k < carries; k++) {
        const size_t nbytes = static_cast<size_t>(code.outputs[k].nbytes);
        if (begin == 0 && last[k] != pointers[constants + k]) std::memcpy(last[k], pointers[constants + k], nbytes);
        set(code, table, code.first_input() + constants + k, last[k]);
        const bool in_place = code.outputs[k].over == static_cast<int32_t>(constants + k);
        set(code, table, code.first_output() + k, in_place ? last[k] : beside);
        beside += in_lines(nbytes);
    }
    int32_t status = 0;
    for (int64_t turn = begin; turn < end && status == 0; turn++) {
        const int64_t row = sizes[4] != 0 ? length - 1 - turn : turn;
        for (size_t k = first; k < n_inputs; k++)
            set(code, table, code.first_input() + k, pointers[k] + row * code.inputs[k].nbytes);
        for (size_t k = carries; k < n_outputs; k++)
            set(code, table, code.first_output() + k, stacked[k - carries] + row * code.outputs[k].nbytes);
        for (size_t k : code.zeroed) { // no carry is in place and begins as zeros
            char *at = memory + layout.beside;
            for (size_t j = 0; j < k && k < carries; j++) at += in_lines(static_cast<size_t>(code.outputs[j].nbytes));
            if (k >= carries) at = stacked[k - carries] + row * code.outputs[k].nbytes;
            std::memset(at, 0, static_cast<size_t>(code.outputs[k].nbytes));
        }
        status = run(code, table, code.blocks[0]);
        if (status != 0) break;
        beside = memory + layout.beside;
        for (size_t k = 0; k < carries; k++) {
            const size_t nbytes = static_cast<size_t>(code.outputs[k].nbytes);
            if (code.outputs[k].over != static_cast<int32_t>(constants + k)) std::memcpy(last[k], beside, nbytes);
            beside += in_lines(nbytes);
        }
    }
    give_back(code, memory);
    return status;
}

} // namespace wengert

// Loops as kernels: the program of a body, run again and again; see loops.cpp.
#pragma once

#include "layout.h"
#include "timing.h"

namespace wengert {

// pointers (constants, first carries, stacks, last carries, stacked results), sizes (address of the body's Executable,
// constants, carries, length, whether it runs backwards); the extent is the length, and parts go in order. The body's
// inputs are constants, carries and slices, its outputs carries and slices; it has kernels, branches and loops alone.
Kernel run_scan;

// pointers (constants of the condition, of the body, first carries, cotangents of the last, results), sizes (addresses
// of the condition's Executable, the body's, and that of one iteration back; constants of the condition, of the body,
// carries, cotangents, sums): runs the loop, keeping its carries, and then its iterations backwards. One iteration back takes
// constants, carries, cotangents and sums, and gives sums and cotangents, which are the results.
Kernel run_while_back;
// Now and then, whether Python wants a loop to end: an error is set then.
int32_t is_interrupted();
// Memory of twice as many bytes that begins with those of `memory`, which is freed unless it is the caller's, on the
// stack; nullptr: there is none, and nothing was freed.
char *more_room(char *memory, int64_t nbytes, const char *on_stack);
void free_room(char *memory, const char *on_stack);
void free_loop_memory(Executable &code);

// While one lives, loops in this thread do not ask Python whether they are to end: that may take the GIL.
class Unasked {
  public:
    Unasked();
    ~Unasked();
    Unasked(const Unasked &) = delete;
    Unasked &operator=(const Unasked &) = delete;
};

// Statuses of a run that no kernel gives, but for the first.
constexpr int32_t NO_MEMORY = -5;
constexpr int32_t GUARD_MISSED = INT32_MIN + 1, CALLS_PYTHON = INT32_MIN + 2;

// A program, ready to run in this thread: a block of memory, and its table of pointers in it. No Python, no GIL.
class Ready {
  public:
    Ready(Executable &program, size_t n_beside);
    ~Ready();
    Ready(const Ready &) = delete;
    Ready &operator=(const Ready &) = delete;

    bool is_ready() const { return memory_ != nullptr; } // else there is no memory
    void input(size_t k, char *address) { place(code.first_input() + k, address); }
    void capture(size_t k, char *address) { place(code.first_capture() + k, address); }
    void output(size_t k, char *address) { place(code.first_output() + k, address); }
    char *beside() { return beside_; } // room for n outputs that are not written over their inputs
    int32_t run();

    Executable &code;

  private:
    char **table() { return reinterpret_cast<char **>(memory_); }
    void place(size_t base, char *address);
    char *memory_ = nullptr, *beside_ = nullptr;
    Sampler sampler_;
};

} // namespace wengert

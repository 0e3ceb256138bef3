// What systems and compilers have under different names: memory, clocks, threads, the stack, the code that is loaded.
//
// POSIX systems and Windows, GCC, Clang and MSVC. Nothing else in the C++ asks which it is, but for the instructions of
// a kind of processor (runtime/native/processors.h). It runs under Linux in all tests; elsewhere it is only compiled:
// `make portable`.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#if defined(_WIN32)
#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>
#include <malloc.h>
#undef near // which are words of ours, and of no use to anybody
#undef far
#undef small
#else
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#endif
#endif

#if defined(_MSC_VER)
#include <atomic>
#include <intrin.h>
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define NOT_INLINED __declspec(noinline)
#define COLD __declspec(noinline)
#define ALWAYS_INLINED __forceinline
#else
#define NOT_INLINED [[gnu::noinline]]
#define COLD [[gnu::cold, gnu::noinline]] // seldom runs: it stands apart from what does
#define ALWAYS_INLINED [[gnu::always_inline]] inline
#endif

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED [[gnu::visibility("default")]]
#endif

#if defined(__APPLE__)
extern "C" double lgamma_r(double, int *); // which Apple's math.h shows to those alone who define _REENTRANT
#endif

namespace wengert {

// ------------------------------------------------------------------------------------------------------------ memory

// Memory at a multiple of `alignment`, a power of two; null if there is none. It is freed by free_aligned alone.
inline void *allocate_aligned(size_t alignment, size_t nbytes) {
#if defined(_WIN32)
    return _aligned_malloc(nbytes, alignment);
#else
    void *memory = nullptr;
    return posix_memalign(&memory, alignment, nbytes) == 0 ? memory : nullptr;
#endif
}

inline void free_aligned(void *memory) {
#if defined(_WIN32)
    _aligned_free(memory);
#else
    std::free(memory);
#endif
}

// Advice: the memory is better off in large pages. All is right without it.
inline void advise_large_pages([[maybe_unused]] void *memory, [[maybe_unused]] size_t nbytes) {
#if defined(MADV_HUGEPAGE)
    madvise(memory, nbytes, MADV_HUGEPAGE);
#endif
}

// Advice: the system may take these whole pages where memory is short; they then read as anything until written.
inline void give_up_pages([[maybe_unused]] void *memory, [[maybe_unused]] size_t nbytes) {
#if defined(MADV_FREE)
    madvise(memory, nbytes, MADV_FREE);
#endif
}

// ------------------------------------------------------------------------------------------------------------ clocks

// Nanoseconds of a clock that only goes forward.
inline uint64_t clock_ns() {
#if defined(_WIN32)
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    const auto n = static_cast<uint64_t>(count.QuadPart), a_second = static_cast<uint64_t>(frequency.QuadPart);
    return n / a_second * 1'000'000'000 + n % a_second * 1'000'000'000 / a_second;
#else
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
#endif
}

// The same, to some milliseconds, and read in a few nanoseconds.
inline int64_t coarse_clock_ns() {
#if defined(_WIN32)
    return static_cast<int64_t>(GetTickCount64()) * 1'000'000;
#elif defined(CLOCK_MONOTONIC_COARSE)
    timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
#else
    return static_cast<int64_t>(clock_ns());
#endif
}

// ----------------------------------------------------------------------------------------------------------- threads

// The number by which the system knows the calling thread, as threading.get_native_id has it.
inline uint64_t thread_number() {
#if defined(_WIN32)
    return GetCurrentThreadId();
#elif defined(__linux__)
    return static_cast<uint64_t>(syscall(SYS_gettid));
#elif defined(__APPLE__)
    uint64_t number = 0;
    pthread_threadid_np(nullptr, &number);
    return number;
#else
    return reinterpret_cast<uint64_t>(pthread_self());
#endif
}

// The number of processors that this process may use; at least 1.
inline int n_processors() {
#if defined(_WIN32)
    DWORD_PTR ours = 0, all = 0;
    int n = 0;
    if (GetProcessAffinityMask(GetCurrentProcess(), &ours, &all) != 0)
        for (; ours != 0; ours &= ours - 1) n++;
    return n > 0 ? n : 1;
#elif defined(__linux__)
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
#else
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? static_cast<int>(n) : 1;
#endif
}

// Have `forget` called in each forked child, where only the calling thread lives. False where that cannot be.
inline bool call_in_forked_child([[maybe_unused]] void (*forget)()) {
#if defined(_WIN32)
    return true; // there are none
#else
    return pthread_atfork(nullptr, nullptr, forget) == 0;
#endif
}

// Write a pointer that other threads may be reading: they see the old one or the new one, and all that was written before.
template <typename P> void store_released(P &place, P value) {
#if defined(_MSC_VER) && !defined(__clang__)
    std::atomic_ref<P>(place).store(value, std::memory_order_release);
#else
    __atomic_store_n(&place, value, __ATOMIC_RELEASE);
#endif
}

// ---------------------------------------------------------------------------------------------------------- numbers

// log |Γ(z)|, in any thread: C's own function writes a global variable on POSIX systems.
inline double log_gamma_of(double z) {
#if defined(_WIN32)
    return std::lgamma(z);
#else
    int sign;
    return ::lgamma_r(z, &sign);
#endif
}

struct Wide {
    uint64_t high, low;
};

// The 128 bits of a · b + c, which always fit.
inline Wide multiply_add(uint64_t a, uint64_t b, uint64_t c) {
#if defined(__SIZEOF_INT128__)
    __extension__ using Product = unsigned __int128;
    const Product p = Product(a) * b + c;
    return {uint64_t(p >> 64), uint64_t(p)};
#else
    const uint64_t a0 = a & 0xFFFFFFFF, a1 = a >> 32, b0 = b & 0xFFFFFFFF, b1 = b >> 32;
    const uint64_t p00 = a0 * b0, p01 = a0 * b1 + (p00 >> 32), p10 = a1 * b0 + (p01 & 0xFFFFFFFF);
    const uint64_t low = p10 << 32 | (p00 & 0xFFFFFFFF), sum = low + c;
    return {a1 * b1 + (p01 >> 32) + (p10 >> 32) + (sum < low), sum};
#endif
}

// -------------------------------------------------------------------------------------------- the code that is loaded

// Where Python has a function of that name; null if it shows none.
inline void *function_of_python(const char *name, [[maybe_unused]] const void *anything_of_python) {
#if defined(_WIN32)
    HMODULE python = nullptr;
    constexpr DWORD how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    if (!GetModuleHandleExA(how, static_cast<const char *>(anything_of_python), &python)) return nullptr;
    return reinterpret_cast<void *>(GetProcAddress(python, name));
#else
    return dlsym(RTLD_DEFAULT, name);
#endif
}

// The library or executable that an address lies in: where it begins, and its path. `base` is null for none.
struct Image {
    const void *base = nullptr;
    char path[1024] = "";
};

inline Image image_of(const void *address) {
    Image found;
#if defined(_WIN32)
    HMODULE image = nullptr;
    constexpr DWORD how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    if (!GetModuleHandleExA(how, static_cast<const char *>(address), &image)) return found;
    found.base = image;
    GetModuleFileNameA(image, found.path, sizeof found.path);
#else
    Dl_info info{};
    if (dladdr(address, &info) == 0) return found;
    found.base = info.dli_fbase;
    for (size_t k = 0; info.dli_fname != nullptr && info.dli_fname[k] != 0 && k + 1 < sizeof found.path; k++) {
        found.path[k] = info.dli_fname[k];
        found.path[k + 1] = 0;
    }
#endif
    return found;
}

// The folder of the extension modules that come with Python, as it stands in their paths.
#if defined(_WIN32)
constexpr const char *folder_of_pythons_modules = "\\DLLs\\";
#else
constexpr const char *folder_of_pythons_modules = "/lib-dynload/";
#endif

#if defined(_WIN32)
// Where the function begins that an address lies in. A function in several pieces is known by its first.
inline void *function_around(DWORD64 address) {
#if defined(_M_X64) || defined(__x86_64__)
    DWORD64 base = 0;
    PRUNTIME_FUNCTION entry = RtlLookupFunctionEntry(address, &base, nullptr);
    if (entry == nullptr) return nullptr;
    for (;;) {
        // The header of UNWIND_INFO: version and flags, the size of the prologue, the number of codes, a register. An
        // entry for the function's first piece follows the codes, of which there are an even number, if flag 4 is set.
        const auto *info = reinterpret_cast<const unsigned char *>(base + entry->UnwindData);
        if ((info[0] >> 3 & 4) == 0) return reinterpret_cast<void *>(base + entry->BeginAddress);
        const size_t n_codes = (info[2] + size_t(1)) & ~size_t(1);
        entry = reinterpret_cast<PRUNTIME_FUNCTION>(const_cast<unsigned char *>(info + 4 + 2 * n_codes));
    }
#else
    (void)address;
    return nullptr;
#endif
}
#endif

// Call `goes_on(function)` for each function that is running in this thread, from the innermost, while it says so.
// `function` is where its code begins; null where that is not known.
template <typename F> void each_running_function(F goes_on) {
#if defined(_WIN32)
    void *callers[256];
    const USHORT n = RtlCaptureStackBackTrace(0, 256, callers, nullptr);
    for (USHORT k = 0; k < n; k++)
        if (!goes_on(function_around(reinterpret_cast<DWORD64>(callers[k]) - 1))) return;
#else
    const auto step = [](_Unwind_Context *context, void *asked) {
        void *const at = reinterpret_cast<void *>(_Unwind_GetIP(context) - 1);
        return (*static_cast<F *>(asked))(_Unwind_FindEnclosingFunction(at)) ? _URC_NO_REASON : _URC_END_OF_STACK;
    };
    _Unwind_Backtrace(step, &goes_on);
#endif
}

} // namespace wengert

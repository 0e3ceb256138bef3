// How a function is compiled for each kind of processor, and the one that runs it chosen when it is first called. Only
// what the compiler vectorises gains.
#pragma once

#include "../../native/platform.h"

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif
#define INLINED ALWAYS_INLINED // into the function of each processor, which a template cannot be

#if defined(__GNUC__) && !defined(__clang__)
#define IN_ANY_ORDER _Pragma("GCC ivdep") // what a loop writes is apart, and it reads none of it
#else
#define IN_ANY_ORDER
#endif

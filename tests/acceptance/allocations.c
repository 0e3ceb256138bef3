/* Counts what is allocated, from outside: preloaded before the C library. The counter is read by name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

long allocations = 0; /* since the process began; its threads may race, which tests avoid */

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static int (*real_memalign)(void **, size_t, size_t);
static void *(*real_aligned)(size_t, size_t);

/* dlsym itself allocates a little before it can say where calloc is. */
static char early[4096];
static size_t used = 0;

static void find(void) {
    if (real_malloc)
        return;
    real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    real_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    real_memalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    real_aligned = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
    real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
}

void *malloc(size_t n) {
    find();
    allocations++;
    return real_malloc(n);
}

void *calloc(size_t n, size_t size) {
    if (!real_calloc) {
        void *p = early + used;
        used += (n * size + 15) & ~(size_t)15;
        return p;
    }
    allocations++;
    return real_calloc(n, size);
}

void *realloc(void *p, size_t n) {
    find();
    allocations++;
    return real_realloc(p, n);
}

int posix_memalign(void **p, size_t alignment, size_t n) {
    find();
    allocations++;
    return real_memalign(p, alignment, n);
}

void *aligned_alloc(size_t alignment, size_t n) {
    find();
    allocations++;
    return real_aligned(alignment, n);
}

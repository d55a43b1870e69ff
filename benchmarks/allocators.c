#include "allocators.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "bare_jemalloc.h"
#include "ferry/ferry.h"
#include "plain_jemalloc.h"

static ferry_heap *heap;

static const char *open_ferry(void) {
    return ferry_heap_create(&(ferry_heap_options){.name = "benchmark"}, &heap) ? ferry_error_detail() : NULL;
}

static void close_ferry(void) {
    ferry_heap_destroy(heap);
    heap = NULL;
}

static void *take_ferry(size_t bytes) {
    return ferry_heap_malloc(heap, bytes);
}

static const char *open_arena(void) {
    return bare_jemalloc_open() ? NULL : "jemalloc makes no arena with the library's options";
}

/* A sanitizer, or a library that is preloaded, may have put its own in the place of the C library's. */
static const char *open_glibc(void) {
    Dl_info info;
    if (dladdr((const void *)(size_t)malloc, &info) && info.dli_fname && strstr(info.dli_fname, "libc.so"))
        return NULL;
    return "this process's malloc is not the C library's";
}

static void close_glibc(void) {
    malloc_trim(0);
}

static struct {
    void *library;
    void *(*take)(size_t bytes);
    void (*give)(void *block);
    void (*collect)(bool force);
} mimalloc;

/* It stays loaded: threads that used it may end later. */
static const char *open_mimalloc(void) {
    static const char *const names[] = {"libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !mimalloc.library; i++)
        mimalloc.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!mimalloc.library)
        return "there is no libmimalloc.so.2 or .3";
    *(void **)&mimalloc.take = dlsym(mimalloc.library, "mi_malloc");
    *(void **)&mimalloc.give = dlsym(mimalloc.library, "mi_free");
    *(void **)&mimalloc.collect = dlsym(mimalloc.library, "mi_collect");
    return mimalloc.take && mimalloc.give && mimalloc.collect ? NULL : "libmimalloc lacks a function";
}

static void close_mimalloc(void) {
    mimalloc.collect(true);
}

static void *take_mimalloc(size_t bytes) {
    return mimalloc.take(bytes);
}

static void give_mimalloc(void *block) {
    mimalloc.give(block);
}

static const struct allocator others[ALLOCATORS_OF_CUDA] = {
    [ALLOCATOR_FERRY] = {.name = "ferry",
                         .kind = BLOCKS_MANAGED,
                         .fresh = true,
                         .open = open_ferry,
                         .close = close_ferry,
                         .take = take_ferry,
                         .give = ferry_free},
    [ALLOCATOR_ARENA] = {.name = "jemalloc arena",
                         .fresh = true,
                         .open = open_arena,
                         .close = bare_jemalloc_close,
                         .take = bare_jemalloc_take,
                         .give = bare_jemalloc_give,
                         .leave = bare_jemalloc_leave},
    [ALLOCATOR_JEMALLOC] = {.name = "jemalloc",
                            .open = plain_jemalloc_open,
                            .close = plain_jemalloc_close,
                            .take = plain_jemalloc_take,
                            .give = plain_jemalloc_give},
    [ALLOCATOR_GLIBC] =
        {.name = "glibc", .fresh = true, .open = open_glibc, .close = close_glibc, .take = malloc, .give = free},
    [ALLOCATOR_MIMALLOC] = {.name = "mimalloc",
                            .open = open_mimalloc,
                            .close = close_mimalloc,
                            .take = take_mimalloc,
                            .give = give_mimalloc},
};

const struct allocator *allocator_get(size_t which) {
    return which < ALLOCATORS_OF_CUDA ? &others[which] : &cuda_allocators[which - ALLOCATORS_OF_CUDA];
}

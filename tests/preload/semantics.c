/* Says on its output what the family does where the standards leave it a choice: the same, with the library and
 * without. */
#include <errno.h>
#include <malloc.h>

#include "preloaded.h"

static const size_t sizes[] = {0, 1, 4000, 5000, 2 * MIB};

static void say(const char *what, size_t argument, void *block) {
    const int error = block == NULL ? errno : 0;
    printf("%s %zu: %s, errno %d\n", what, argument, block == NULL ? "none" : "a block", error);
    errno = 0;
    free(block);
}

static void say_code(const char *what, size_t argument, int code) {
    printf("%s %zu: %d\n", what, argument, code);
}

static void alignments(void) {
    const size_t wanted[] = {0, 1, 2, 3, 4, 7, 8, 16, 24, 100, 4096, 3000000, (size_t)1 << 22, (SIZE_MAX >> 1) + 2};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *block = NULL;
        const int code = posix_memalign(&block, opaque_size(wanted[i]), 100);
        say_code("posix_memalign", wanted[i], code);
        free(block);
        block = NULL;
        say_code("posix_memalign, 2 MiB", wanted[i], posix_memalign(&block, opaque_size(wanted[i]), 2 * MIB));
        free(block);
        say("memalign", wanted[i], opaque(memalign(opaque_size(wanted[i]), 100)));
        say("memalign, 2 MiB", wanted[i], opaque(memalign(opaque_size(wanted[i]), 2 * MIB)));
    }
}

static void nothing(void) {
    for (int i = 0; i < 5; i++) {
        errno = 0;
        void *block = opaque(malloc(sizes[i]));
        say("realloc to 0 of", sizes[i], opaque(realloc(block, opaque_size(0))));
        block = opaque(malloc(sizes[i]));
        say("reallocarray to 0 of", sizes[i], opaque(reallocarray(block, opaque_size(0), 3)));
        say("malloc", sizes[i], opaque(malloc(sizes[i])));
        say("calloc of 0", sizes[i], opaque(calloc(0, sizes[i])));
        say("aligned_alloc", sizes[i], opaque(aligned_alloc(64, opaque_size(sizes[i]))));
        say("valloc", sizes[i], opaque(valloc(sizes[i])));
        say("pvalloc", sizes[i], opaque(pvalloc(sizes[i])));
    }
    say("realloc of nothing to 0", 0, opaque(realloc(NULL, opaque_size(0))));
    printf("malloc_usable_size of nothing: %zu\n", malloc_usable_size(NULL));
}

static void too_much(void) {
    const size_t wanted[] = {SIZE_MAX, SIZE_MAX - 4095, SIZE_MAX / 2 + 1, (size_t)1 << 56};
    for (int i = 0; i < 4; i++) {
        errno = 0;
        void *block = opaque(malloc(10));
        say("malloc", wanted[i], opaque(malloc(opaque_size(wanted[i]))));
        say("calloc", wanted[i], opaque(calloc(opaque_size(wanted[i]), 2)));
        say("realloc", wanted[i], opaque(realloc(opaque(block), opaque_size(wanted[i]))));
        say("reallocarray", wanted[i], opaque(reallocarray(opaque(block), opaque_size(wanted[i]), 7)));
        say("aligned_alloc", wanted[i], opaque(aligned_alloc(4096, opaque_size(wanted[i]))));
        say("memalign", wanted[i], opaque(memalign(1 << 20, opaque_size(wanted[i]))));
        say("valloc", wanted[i], opaque(valloc(opaque_size(wanted[i]))));
        say("pvalloc", wanted[i], opaque(pvalloc(opaque_size(wanted[i]))));
        void *untouched = NULL;
        say_code("posix_memalign", wanted[i], posix_memalign(&untouched, 64, opaque_size(wanted[i])));
        free(block);
    }
}

int main(void) {
    alignments();
    nothing();
    too_much();
    return 0;
}

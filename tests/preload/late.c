/* What allocates and frees while the process ends: handlers, destructors, threads that nobody waits for. */
#include <pthread.h>

#include "preloaded.h"

static unsigned char *kept, *kept_longer;
static _Atomic int ended; /* of what is to run at the end */

static void use(size_t bytes) {
    unsigned char *block = opaque(malloc(bytes));
    if (block == NULL) {
        _exit(3);
    }
    fill(block, bytes, 1);
    block = opaque(realloc(block, bytes + 2 * MIB));
    if (block == NULL || !is_filled(block, bytes, 1)) {
        _exit(4);
    }
    free(block);
}

static void at_exit(void) {
    use(2 * MIB);
    free(kept);
    kept = NULL;
    atomic_fetch_add(&ended, 1);
}

static void *allocate_on(void *argument) {
    for (;;) {
        unsigned char *block = opaque(calloc(1, 2 * MIB + 12345));
        if (block == NULL || block[2 * MIB] != 0) {
            _exit(5);
        }
        block[2 * MIB] = 1;
        free(block);
        free(opaque(malloc(100)));
    }
    return argument;
}

/* Of the program's destructors the last; the library that was opened late has run its own. */
__attribute__((destructor)) static void destroy(void) {
    use(3 * MIB);
    if (kept_longer == NULL || !is_filled(kept_longer, 2 * MIB, 7) || atomic_load(&ended) != 1) {
        _exit(6);
    }
    free(kept_longer);
}

int main(int argc, char **argv) {
    unsigned char *(*late_block)(void) = NULL;
    REQUIRE(argc > 1);
    kept = opaque(malloc(2 * MIB));
    kept_longer = opaque(malloc(2 * MIB));
    REQUIRE(kept != NULL && kept_longer != NULL);
    fill(kept_longer, 2 * MIB, 7);
    CHECK(is_managed(kept) == expect_managed(2 * MIB));
    REQUIRE(atexit(at_exit) == 0);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL);
    *(void **)&late_block = dlsym(library, "late_block");
    REQUIRE(late_block != NULL);
    CHECK(is_managed(late_block()) == expect_managed(64 * MIB));
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, &detached, allocate_on, NULL) == 0);
    }
    return test_finish();
}

/* Random calls of the family by many threads, which hand one another their blocks; each block says who filled it. */
#include <malloc.h>
#include <pthread.h>

#include "preloaded.h"

enum { THREADS = 6, SLOTS = 64, STEPS = 4000, SHORT_THREADS = 10000 };
enum { HEAD = 3000, TAIL = 500 }; /* bytes of a block that are filled */

/* What the model knows of a block. */
struct held {
    unsigned char *block;
    size_t bytes, alignment;
    unsigned seed;
};

static pthread_mutex_t exchange_lock = PTHREAD_MUTEX_INITIALIZER;
static struct held exchange[SLOTS]; /* exchange_lock */

static size_t random_bytes(test_random *random) {
    const int64_t kind = test_random_int(random, 0, 99);
    const int64_t most = kind < 50 ? 512 : kind < 80 ? 20000 : kind < 98 ? 400000 : 3 << 20;
    return (size_t)test_random_int(random, 0, most);
}

static size_t at_most(size_t bytes, size_t most) {
    return bytes < most ? bytes : most;
}

/* The beginning, and the end where that is another part. */
static void fill_ends(const struct held *held) {
    fill(held->block, at_most(held->bytes, HEAD), held->seed);
    if (held->bytes >= HEAD + TAIL) {
        fill(held->block + held->bytes - TAIL, TAIL, held->seed);
    }
}

static void check(const struct held *held) {
    CHECK(is_filled(held->block, at_most(held->bytes, HEAD), held->seed));
    CHECK(held->bytes < HEAD + TAIL || is_filled(held->block + held->bytes - TAIL, TAIL, held->seed));
    CHECK(malloc_usable_size(held->block) >= held->bytes);
}

static void allocate(struct held *held, test_random *random) {
    *held = (struct held){.bytes = random_bytes(random), .alignment = 1, .seed = (unsigned)test_random_next(random)};
    switch (test_random_int(random, 0, 3)) {
    case 0:
        held->block = opaque(calloc(1, held->bytes));
        CHECK(held->block != NULL && is_zero(held->block, held->bytes));
        break;
    case 1:
        held->alignment = (size_t)8 << test_random_int(random, 0, 12);
        held->block = opaque(memalign(held->alignment, held->bytes));
        break;
    default:
        held->block = opaque(malloc(held->bytes));
    }
    REQUIRE(held->block != NULL);
    CHECK((uintptr_t)held->block % held->alignment == 0);
    fill_ends(held);
}

static void resize(struct held *held, test_random *random) {
    const size_t bytes = random_bytes(random) + 1, old = at_most(held->bytes, bytes);
    check(held);
    held->block = opaque(realloc(held->block, bytes));
    REQUIRE(held->block != NULL);
    CHECK(is_filled(held->block, at_most(old, HEAD), held->seed));
    held->bytes = bytes;
    fill_ends(held);
}

static void swap_with_others(struct held *held, size_t slot) {
    pthread_mutex_lock(&exchange_lock);
    const struct held mine = *held;
    *held = exchange[slot];
    exchange[slot] = mine;
    pthread_mutex_unlock(&exchange_lock);
}

static void release(struct held *held) {
    check(held);
    free(held->block);
    held->block = NULL;
}

static void *work(void *seed) {
    test_random random = {(uintptr_t)seed};
    static __thread struct held mine[SLOTS];
    for (int step = 0; step < STEPS; step++) {
        const size_t slot = (size_t)test_random_int(&random, 0, SLOTS - 1);
        struct held *held = &mine[slot];
        const int64_t what = test_random_int(&random, 0, 9);
        if (held->block == NULL) {
            allocate(held, &random);
        } else if (what < 4) {
            release(held);
        } else if (what < 7) {
            resize(held, &random);
        } else {
            swap_with_others(held, slot);
        }
    }
    for (int i = 0; i < SLOTS; i++) {
        if (mine[i].block != NULL) {
            release(&mine[i]);
        }
    }
    return NULL;
}

static void threads_that_exchange_blocks(void) {
    pthread_t threads[THREADS];
    const uintptr_t seed = (uintptr_t)test_seed(17);
    for (uintptr_t i = 0; i < THREADS; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, work, (void *)(seed + i)) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < SLOTS; i++) {
        if (exchange[i].block != NULL) {
            release(&exchange[i]);
        }
    }
}

static pthread_key_t key;

/* Runs as the thread ends, after the library has been told so or before. */
static void free_at_end(void *block) {
    CHECK(is_filled(block, 100, 6));
    free(block);
    free(opaque(malloc(2000)));
}

static void *live_shortly(void *argument) {
    const uintptr_t i = (uintptr_t)argument;
    unsigned char *block = opaque(malloc(i % 64 == 0 ? 2 * MIB : 100 + i % 9000));
    if (block == NULL) {
        return NULL;
    }
    fill(block, 100, 6);
    pthread_setspecific(key, block);
    return argument;
}

static void many_short_threads(void) {
    REQUIRE(pthread_key_create(&key, free_at_end) == 0);
    for (uintptr_t i = 1; i <= SHORT_THREADS; i++) {
        pthread_t thread;
        void *answer = NULL;
        REQUIRE(pthread_create(&thread, NULL, live_shortly, (void *)i) == 0);
        pthread_join(thread, &answer);
        CHECK(answer == (void *)i);
    }
    pthread_key_delete(key);
}

/* malloc and free are no cancellation points, whatever the first large block of a process sets in motion. */
static void *be_cancelled_outside(void *argument) {
    _Atomic int *reached = argument;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    unsigned char *block = opaque(malloc(2 * MIB));
    atomic_store(reached, 1);
    block = opaque(realloc(block, 5 * MIB));
    atomic_store(reached, 2);
    free(opaque(calloc(1, 3 * MIB)));
    free(block);
    atomic_store(reached, 3);
    pthread_testcancel();
    atomic_store(reached, 4);
    return argument;
}

static void a_thread_that_is_cancelled(void) {
    _Atomic int reached = 0;
    pthread_t thread;
    void *answer = NULL;
    REQUIRE(pthread_create(&thread, NULL, be_cancelled_outside, &reached) == 0);
    pthread_join(thread, &answer);
    CHECK(answer == PTHREAD_CANCELED);
    CHECK_INT(atomic_load(&reached), 3);
}

int main(void) {
    RUN(a_thread_that_is_cancelled); /* the first to have a large block */
    RUN(threads_that_exchange_blocks);
    RUN(many_short_threads);
    return test_finish();
}

/* The process's kernels: each is made once however many threads ask, and a failure is not remembered. */
#include "kernels/kernel_table.h"

#include <pthread.h>
#include <time.h>

#include "tests/test.h"

#define THREADS 8
#define KEYS 300

static atomic_int makes, being_made, failures_left;

/* The table does not look into kernels: any address will do. */
static ferry_status make(const void *context, ferry_kernel **out) {
    CHECK_INT(atomic_fetch_add(&being_made, 1), 0);
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    atomic_fetch_add(&makes, 1);
    atomic_fetch_sub(&being_made, 1);
    if (atomic_fetch_sub(&failures_left, 1) > 0)
        return ferry_error(FERRY_COMPILE, "this one fails");
    *out = (ferry_kernel *)(uintptr_t)context;
    return FERRY_OK;
}

static void *get_one(void *key) {
    ferry_kernel *kernel = NULL;
    ferry_status status = kernel_table_get(*(uint64_t *)key, make, key, &kernel);
    CHECK((status == FERRY_OK) == (kernel == key));
    return (void *)(uintptr_t)status;
}

static int run_threads(uint64_t *key) {
    pthread_t threads[THREADS];
    int failed = 0;
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, get_one, key) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *status;
        pthread_join(threads[i], &status);
        failed += (uintptr_t)status != FERRY_OK;
    }
    return failed;
}

static void racing_threads_make_one_kernel(void) {
    static uint64_t key = 1;
    atomic_store(&makes, 0);
    CHECK_INT(run_threads(&key), 0);
    CHECK_INT(atomic_load(&makes), 1);
}

static void a_failure_is_its_makers_alone(void) {
    static uint64_t key = 2;
    atomic_store(&makes, 0);
    atomic_store(&failures_left, 3);
    CHECK_INT(run_threads(&key), 3);
    CHECK_INT(atomic_load(&makes), 4);
    CHECK_INT(run_threads(&key), 0);
    CHECK_INT(atomic_load(&makes), 4);
}

static ferry_status make_at_once(const void *context, ferry_kernel **out) {
    *out = (ferry_kernel *)(uintptr_t)context;
    return FERRY_OK;
}

static void keys_do_not_meet(void) {
    static char kernels[KEYS];
    for (uint64_t pass = 0; pass < 2; pass++) {
        for (uint64_t i = 0; i < KEYS; i++) {
            ferry_kernel *kernel = NULL;
            CHECK_OK(kernel_table_get(100 + (i << 12), pass ? make : make_at_once, &kernels[i], &kernel));
            CHECK(kernel == (void *)&kernels[i]);
        }
    }
}

int main(void) {
    RUN(racing_threads_make_one_kernel);
    RUN(a_failure_is_its_makers_alone);
    RUN(keys_do_not_meet);
    return test_finish();
}

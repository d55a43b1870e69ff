/* What the record counts, by itself, from many threads and from signals' handlers. */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "preload/shim.h"
#include "record_story.h"

static void open_record(unsigned sampled_every) {
    record_open(story_folder, MIB, sampled_every);
    REQUIRE(record != NULL);
}

static uint64_t sum_lifetimes(const ferry_run_heap *heap) {
    uint64_t sum = 0;
    for (int i = 0; i < FERRY_RUN_CLASSES; i++)
        sum += heap->lifetimes[i];
    return sum;
}

static void each_block_is_counted_once(void) {
    open_record(0);
    const ferry_run_heap *heap = &record->heaps[FERRY_RUN_PLAIN];
    allocate(0, MIB, site(0));
    allocate(1024, 3 * MIB, site(1));
    record_allocation(page(4096), 2 * MIB, FERRY_RUN_MANAGED, record_now(), site(0));
    CHECK_UINT(heap->allocations, 2);
    CHECK_UINT(heap->allocated_bytes, 4 * MIB);
    CHECK_UINT(heap->live_bytes, 4 * MIB);
    CHECK_UINT(record->heaps[FERRY_RUN_MANAGED].live_bytes, 2 * MIB);
    CHECK_UINT(heap->sizes[20].allocations, 1);
    CHECK_UINT(heap->sizes[22].bytes, 3 * MIB);
    CHECK(release(0));
    CHECK(!release(0));
    CHECK(!release(7));
    CHECK_UINT(heap->frees, 1);
    CHECK_UINT(heap->live_bytes, 3 * MIB);
    CHECK_UINT(heap->peak_bytes, 4 * MIB);
    CHECK_UINT(sum_lifetimes(heap), 1);
    CHECK_UINT(record->nsites, 2);
    CHECK_UINT(record->sites[0].allocations, 2);
    CHECK_UINT(record->sites[0].live_bytes, 2 * MIB);
    CHECK_UINT(record->sites[0].peak_bytes, 3 * MIB);
}

static void an_address_is_warm_the_second_time(void) {
    open_record(0);
    const ferry_run_heap *heap = &record->heaps[FERRY_RUN_PLAIN];
    for (int i = 0; i < 3; i++) {
        allocate(5, MIB, site(0));
        CHECK(release(5));
    }
    CHECK_UINT(heap->warm_blocks, 2);
    CHECK_UINT(heap->warm_bytes, 2 * MIB);
    CHECK_UINT(heap->peak_bytes, MIB);
}

static void a_free_that_went_unseen_is_made_up_for(void) {
    open_record(0);
    const ferry_run_heap *heap = &record->heaps[FERRY_RUN_PLAIN];
    record_allocation(page(5), MIB, FERRY_RUN_MANAGED, record_now(), site(0));
    allocate(5, 2 * MIB, site(1));
    CHECK_UINT(record->heaps[FERRY_RUN_MANAGED].frees, 1);
    CHECK_UINT(record->heaps[FERRY_RUN_MANAGED].live_bytes, 0);
    CHECK_UINT(heap->live_bytes, 2 * MIB);
    CHECK_UINT(heap->warm_blocks, 1);
    CHECK_UINT(record->sites[0].live_bytes, 0);
}

static void lifetimes_are_in_classes_of_microseconds(void) {
    open_record(0);
    allocate(1, MIB, site(0));
    const struct timespec pause = {.tv_nsec = 3000000};
    nanosleep(&pause, NULL);
    CHECK(release(1));
    const ferry_run_heap *heap = &record->heaps[FERRY_RUN_PLAIN];
    uint64_t shorter = 0; /* than 2048 us */
    for (int i = 0; i <= 11; i++)
        shorter += heap->lifetimes[i];
    CHECK_UINT(shorter, 0);
    CHECK_UINT(sum_lifetimes(heap), 1);
}

enum { THREADS = 8, ROUNDS = 20000, THREAD_SITES = 97 };

static void *churn(void *argument) {
    const size_t mine = (size_t)(uintptr_t)argument;
    for (size_t i = 0; i < ROUNDS; i++) {
        const size_t number = (mine * ROUNDS + i % 64) * 300;
        allocate(number, MIB + i, site(i % THREAD_SITES));
        if (i % 2 == 0)
            record_beyond_limit(1);
        release(number);
    }
    return NULL;
}

static void sums_are_exact_over_threads(void) {
    open_record(0);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, churn, (void *)(uintptr_t)i) == 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    const ferry_run_heap *heap = &record->heaps[FERRY_RUN_PLAIN];
    const uint64_t bytes = THREADS * (ROUNDS * (uint64_t)MIB + (uint64_t)ROUNDS * (ROUNDS - 1) / 2);
    CHECK_UINT(heap->allocations, THREADS * ROUNDS);
    CHECK_UINT(heap->frees, THREADS * ROUNDS);
    CHECK_UINT(heap->allocated_bytes, bytes);
    CHECK_UINT(heap->live_bytes, 0);
    CHECK_UINT(heap->warm_blocks, THREADS * (ROUNDS - 64));
    CHECK(heap->peak_bytes >= MIB && heap->peak_bytes <= THREADS * (MIB + ROUNDS));
    CHECK_UINT(sum_lifetimes(heap), THREADS * ROUNDS);
    CHECK_UINT(record->beyond_limit_blocks, THREADS * ROUNDS / 2);
    uint64_t sited = 0, sited_bytes = 0, used = 0;
    for (uint32_t i = 0; i < record->nsites; i++) {
        sited += record->sites[i].allocations;
        sited_bytes += record->sites[i].bytes;
        used += record->sites[i].allocations > 0;
        CHECK_UINT(record->sites[i].live_bytes, 0);
    }
    CHECK_UINT(used, THREAD_SITES);
    CHECK_UINT(sited, THREADS * ROUNDS);
    CHECK_UINT(sited_bytes, bytes);
    const ferry_run_sample *latest = &record->samples[record->nsamples - 1];
    CHECK_UINT(latest->live_bytes[FERRY_RUN_PLAIN], 0);
}

static atomic_uint interruptions;

static void on_alarm(int number) {
    (void)number;
    allocate(1 << 20, MIB, site(2000));
    CHECK(release(1 << 20));
    atomic_fetch_add(&interruptions, 1);
}

static void a_handler_may_interrupt_any_of_it(void) {
    open_record(0);
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const struct itimerval often = {.it_interval = {.tv_usec = 50}, .it_value = {.tv_usec = 50}}, never = {0};
    REQUIRE(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
    size_t rounds = 0;
    while (atomic_load(&interruptions) < 500) {
        allocate(rounds % 64, MIB, site(rounds % 5));
        CHECK(release(rounds % 64));
        rounds++;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    const ferry_run_heap *heap = &record->heaps[FERRY_RUN_PLAIN];
    CHECK_UINT(heap->allocations, rounds + atomic_load(&interruptions));
    CHECK_UINT(heap->frees, heap->allocations);
    CHECK_UINT(heap->live_bytes, 0);
}

static void a_full_table_still_counts(void) {
    enum { SITES = 3000 };
    open_record(0);
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < SITES; i++)
            allocate(i, MIB, site(i));
    uint64_t sited = 0;
    CHECK_UINT(record->nsites, FERRY_RUN_SITES);
    for (int i = 0; i < FERRY_RUN_SITES; i++) {
        sited += record->sites[i].allocations;
        CHECK_UINT(record->sites[i].allocations, 2);
    }
    CHECK_UINT(record->unsited, 2 * SITES - sited);
    CHECK_UINT(record->heaps[FERRY_RUN_PLAIN].allocations, 2 * SITES);
}

__attribute__((noinline)) static void allocate_here(size_t number) {
    record_allocation(page(number), MIB, FERRY_RUN_PLAIN, record_now(),
                      __builtin_extract_return_addr(__builtin_return_address(0)));
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

__attribute__((noinline)) static void inner_function(size_t number) {
    allocate_here(number);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void outer_function(size_t number) {
    inner_function(number);
    __asm__ volatile("" ::: "memory");
}

static void one_of_so_many_has_its_stack_taken(void) {
    open_record(3);
    for (size_t i = 0; i < 9; i++)
        outer_function(i);
    REQUIRE(record->nsites == 2);
    const ferry_run_site *alone = &record->sites[0], *sampled = &record->sites[1];
    CHECK_UINT(alone->allocations, 6);
    CHECK_UINT(sampled->allocations, 3);
    CHECK_UINT(alone->frames[0], sampled->frames[0]);
    CHECK_UINT(alone->frames[1], 0);
    CHECK(sampled->frames[1] != 0);
    CHECK_THAT(strncmp(alone->text, "inner_function+0x", 17) == 0, "%s", alone->text);
    CHECK_THAT(strncmp(sampled->text, "inner_function+0x", 17) == 0, "%s", sampled->text);
    CHECK_THAT(strstr(sampled->text, " < outer_function+0x") != NULL, "%s", sampled->text);
    CHECK_THAT(strstr(sampled->text, " < main+0x") != NULL, "%s", sampled->text);
    /* Four functions of this program, and its name once in front of the C library's. */
    const char *file = strstr(sampled->text, " in test_run_record_counts");
    CHECK_THAT(file != NULL && file > strstr(sampled->text, "outer_function"), "%s", sampled->text);
    CHECK(shim_enter()); /* the writer has left it */
    shim_leave();
}

int main(void) {
    TELL(each_block_is_counted_once);
    TELL(an_address_is_warm_the_second_time);
    TELL(a_free_that_went_unseen_is_made_up_for);
    TELL(lifetimes_are_in_classes_of_microseconds);
    TELL(sums_are_exact_over_threads);
    TELL(a_handler_may_interrupt_any_of_it);
    TELL(a_full_table_still_counts);
    TELL(one_of_so_many_has_its_stack_taken);
    return test_finish();
}

/* Movement as stories on the simulator: what each step moves, as the library counts it and as the pages say. */
#include "alloc/core.h"
#include "tests/alloc/story.h"

#define MIB ((size_t)1 << 20)

static bool all_bytes(const ferry_view *view, unsigned char value) {
    const unsigned char *data = view->data;
    const size_t n = (size_t)view->shape[0];
    return n == 0 || (data[0] == value && memcmp(data, data + 1, n - 1) == 0);
}

static void input_crosses_once_and_result_once(void) {
    const ferry_view x = story_array(NULL, 5 * MIB, 1), y = story_untouched(NULL, 5 * MIB);
    story_reset();
    const ferry_operand operands[] = {{.view = &x, .access = FERRY_READ}, {.view = &y, .access = FERRY_WRITE}};
    CHECK_OK(story_kernel(operands, 2, 7, NULL));
    ferry_stats counts = story_counts();
    CHECK_UINT(counts.bytes_to_device, 5 * MIB);
    CHECK_UINT(counts.prefetched_bytes_to_device, 5 * MIB);
    CHECK_UINT(counts.bytes_to_host, 0);
    CHECK_UINT(counts.discarded_bytes, 0);
    CHECK_UINT(counts.prefetches_issued, 2);
    CHECK_UINT(counts.prefetches_skipped, 0);
    CHECK_UINT(counts.launches, 1);
    CHECK_INT(ferry_view_place(&x), 0);
    CHECK_INT(ferry_view_place(&y), 0);
    CHECK_INT(backend_sim_page_place(x.data), 0);
    story_reset();
    CHECK_OK(story_kernel(operands, 2, 8, NULL));
    counts = story_counts();
    CHECK_UINT(counts.prefetches_issued, 0);
    CHECK_UINT(counts.prefetches_skipped, 2);
    story_reset();
    CHECK_OK(ferry_host_acquire(&y, FERRY_READ));
    CHECK(all_bytes(&y, 8));
    STORY_MOVED(0, 5 * MIB);
    CHECK_INT(ferry_view_place(&y), FERRY_PLACE_HOST);
    CHECK_OK(ferry_host_acquire(&y, FERRY_READ));
    STORY_MOVED(0, 0);
    /* Overwritten by the host: nothing comes back of x, and x crosses again, rightly. */
    CHECK_OK(ferry_host_acquire(&x, FERRY_WRITE));
    counts = story_counts();
    CHECK_UINT(counts.discarded_bytes, 5 * MIB);
    memset(x.data, 2, 5 * MIB);
    story_reset();
    CHECK_OK(story_use(&x, FERRY_READ, 0, NULL));
    STORY_MOVED(5 * MIB, 0);
    REQUIRE_OK(ferry_stats_get(&counts));
    CHECK_UINT(counts.redundant_bytes, 0);
    CHECK_UINT(backend_sim_totals().cpu_faults, 0);
    CHECK_UINT(backend_sim_totals().gpu_faults, 0);
    CHECK_UINT(backend_sim_unsynchronised(), 0);
    ferry_free(x.data);
    ferry_free(y.data);
}

static void slice_moves_its_own_pages(void) {
    const ferry_view x = story_array(NULL, 10 * BLOCK, 1);
    const ferry_view slice = story_slice(&x, 3 * BLOCK + 5 * PAGE, 4 * BLOCK + 7 * PAGE);
    story_reset();
    CHECK_OK(story_use(&slice, FERRY_READ, 0, NULL));
    STORY_MOVED(BLOCK + 2 * PAGE, 0);
    CHECK_INT(ferry_view_place(&x), FERRY_PLACE_MIXED);
    CHECK_INT(ferry_view_place(&slice), 0);
    /* The whole lacks the rest only. */
    CHECK_OK(story_use(&x, FERRY_READ, 0, NULL));
    STORY_MOVED(9 * BLOCK - 2 * PAGE, 0);
    CHECK_OK(ferry_host_acquire(&slice, FERRY_READ));
    STORY_MOVED(0, BLOCK + 2 * PAGE);
    CHECK_OK(ferry_host_acquire(&x, FERRY_READ));
    STORY_MOVED(0, 9 * BLOCK - 2 * PAGE);
    CHECK(all_bytes(&x, 1));
    /* Part of a page is the page. */
    const ferry_view bytes = story_slice(&x, 100, 200);
    CHECK_OK(story_use(&bytes, FERRY_READ, 0, NULL));
    CHECK_UINT(story_counts().redundant_bytes, PAGE);
    ferry_free(x.data);
}

static void ragged_edges_keep_their_neighbours(void) {
    const ferry_view x = story_array(NULL, 100 * PAGE, 1);
    const ferry_view middle = story_slice(&x, 10 * PAGE + 100, 20 * PAGE + 300);
    story_reset();
    CHECK_OK(story_use(&middle, FERRY_WRITE, 9, NULL));
    ferry_stats counts = story_counts();
    CHECK_UINT(counts.bytes_to_device, 2 * PAGE);
    CHECK_UINT(counts.discarded_bytes, 9 * PAGE);
    CHECK_OK(ferry_host_acquire(&x, FERRY_READ));
    const unsigned char *data = x.data;
    CHECK(data[10 * PAGE + 99] == 1 && data[10 * PAGE + 100] == 9 && data[20 * PAGE + 299] == 9 &&
          data[20 * PAGE + 300] == 1);
    ferry_free(x.data);
    /* Within one page there is nothing to discard. */
    const ferry_view y = story_array(NULL, 3 * PAGE, 1);
    const ferry_view inside = story_slice(&y, PAGE + 1, 2 * PAGE - 1);
    story_reset();
    CHECK_OK(story_use(&inside, FERRY_WRITE, 9, NULL));
    STORY_MOVED(PAGE, 0);
    ferry_free(y.data);
    /* Behind the last byte of a storage there is nobody. */
    const ferry_view z = story_array(NULL, 3 * PAGE + 5, 1);
    story_reset();
    CHECK_OK(story_use(&z, FERRY_WRITE, 9, NULL));
    counts = story_counts();
    CHECK_UINT(counts.discarded_bytes, 4 * PAGE);
    CHECK_UINT(counts.bytes_to_device, 0);
    CHECK_OK(ferry_host_acquire(&z, FERRY_READ));
    CHECK(all_bytes(&z, 9));
    ferry_free(z.data);
}

/* Of the host's writes, too. */
static void host_overwrites_a_part(void) {
    const ferry_view x = story_array(NULL, 50 * PAGE, 1);
    CHECK_OK(story_use(&x, FERRY_WRITE, 5, NULL));
    const ferry_view part = story_slice(&x, 10 * PAGE - 10, 20 * PAGE + 10);
    story_reset();
    CHECK_OK(ferry_host_acquire(&part, FERRY_WRITE));
    const ferry_stats counts = story_counts();
    CHECK_UINT(counts.bytes_to_host, 2 * PAGE);
    CHECK_UINT(counts.discarded_bytes, 10 * PAGE);
    memset(part.data, 6, (size_t)part.shape[0]);
    CHECK_OK(ferry_host_acquire(&x, FERRY_READ));
    const unsigned char *data = x.data;
    CHECK(data[0] == 5 && data[10 * PAGE - 11] == 5 && data[10 * PAGE - 10] == 6 && data[20 * PAGE + 9] == 6 &&
          data[20 * PAGE + 10] == 5 && data[50 * PAGE - 1] == 5);
    ferry_free(x.data);
}

static void gaps_of_a_strided_write_survive(void) {
    const size_t steps[] = {100, PAGE, PAGE + 8, 3 * PAGE, 5 * PAGE + 16};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        for (size_t run = 50; run <= steps[i]; run = run * 3 + 1) {
            const size_t n = 200 * PAGE / steps[i];
            const ferry_view x = story_array(NULL, 200 * PAGE + steps[i], 1);
            const ferry_view runs = story_runs(&x, 7, n, run, steps[i]);
            CHECK_OK(story_use(&runs, FERRY_WRITE, 9, NULL));
            CHECK_OK(ferry_host_acquire(&x, FERRY_READ));
            const unsigned char *data = x.data;
            size_t wrong = 0;
            for (size_t at = 0; at < (size_t)x.shape[0]; at++) {
                const bool written = at >= 7 && (at - 7) / steps[i] < n && (at - 7) % steps[i] < run;
                wrong += data[at] != (written ? 9 : 1);
            }
            CHECK_THAT(wrong == 0, "%zu bytes are wrong after runs of %zu every %zu", wrong, run, steps[i]);
            ferry_free(x.data);
        }
    }
}

static void in_place_keeps_its_contents(void) {
    const ferry_view x = story_array(NULL, 20 * PAGE, 3);
    story_reset();
    CHECK_OK(story_use(&x, FERRY_READWRITE, 4, NULL));
    STORY_MOVED(20 * PAGE, 0);
    CHECK_OK(ferry_host_acquire(&x, FERRY_READWRITE));
    CHECK(all_bytes(&x, 4));
    STORY_MOVED(0, 20 * PAGE);
    /* The same by two operands. */
    const ferry_operand both[] = {{.view = &x, .access = FERRY_WRITE}, {.view = &x, .access = FERRY_READ}};
    CHECK_OK(ferry_acquire(both, 2, NULL));
    STORY_MOVED(20 * PAGE, 0);
    CHECK_OK(ferry_complete(both, 2, NULL));
    CHECK_OK(ferry_host_acquire(&x, FERRY_READ));
    CHECK(all_bytes(&x, 4));
    ferry_free(x.data);
}

/* After many passes nothing of an operand in place changes any more, and it is looked at as a whole. */
static void of_a_whole_in_place_only_what_left_comes_back(void) {
    const ferry_view x = story_array(NULL, 20 * PAGE, 3);
    const size_t firsts[] = {0, 1, 9, 19};
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        for (int pass = 0; pass < 10; pass++) {
            CHECK_OK(story_use(&x, FERRY_READ, 0, NULL));
        }
        const ferry_view page = story_slice(&x, firsts[i] * PAGE, (firsts[i] + 1) * PAGE);
        CHECK_OK(ferry_host_acquire(&page, FERRY_READ));
        story_reset();
        CHECK_OK(story_use(&x, FERRY_READ, 0, NULL));
        STORY_MOVED(PAGE, 0);
    }
    ferry_free(x.data);
}

/* y[5:] = f(y[:-5]): what is written is read as well. */
static void overlapping_operands_keep_what_is_read(void) {
    const ferry_view x = story_array(NULL, 20 * PAGE, 3);
    const ferry_view head = story_slice(&x, 0, 10 * PAGE), tail = story_slice(&x, 5 * PAGE, 20 * PAGE);
    const ferry_operand operands[] = {{.view = &tail, .access = FERRY_WRITE}, {.view = &head, .access = FERRY_READ}};
    story_reset();
    CHECK_OK(ferry_acquire(operands, 2, NULL));
    STORY_MOVED(20 * PAGE, 0);
    CHECK_OK(ferry_complete(operands, 2, NULL));
    CHECK_OK(ferry_host_acquire(&x, FERRY_READ));
    CHECK(all_bytes(&x, 3));
    /* Side by side on one page: nothing of the reader's is lost. */
    const ferry_view left = story_slice(&x, 0, PAGE + 100), right = story_slice(&x, PAGE + 100, 4 * PAGE);
    const ferry_operand neighbours[] = {{.view = &left, .access = FERRY_READ}, {.view = &right, .access = FERRY_WRITE}};
    CHECK_OK(ferry_acquire(neighbours, 2, NULL));
    CHECK_OK(ferry_complete(neighbours, 2, NULL));
    CHECK_OK(ferry_host_acquire(&left, FERRY_READ));
    CHECK(all_bytes(&left, 3));
    ferry_free(x.data);
}

static void tiny_arrays_stay_at_home(void) {
    const ferry_view x = story_array(NULL, 100, 3);
    story_reset();
    CHECK_OK(story_use(&x, FERRY_READ, 0, NULL));
    STORY_MOVED(100, 0);
    CHECK_OK(story_use(&x, FERRY_WRITE, 5, NULL));
    STORY_MOVED(0, 100);
    CHECK_OK(story_use(&x, FERRY_READWRITE, 6, NULL));
    ferry_stats counts = story_counts();
    CHECK_UINT(counts.bytes_to_device, 100);
    CHECK_UINT(counts.remote_bytes_to_device, 100);
    CHECK_UINT(counts.remote_bytes_to_host, 100);
    CHECK_UINT(counts.prefetches_issued, 0);
    CHECK_INT(ferry_view_place(&x), FERRY_PLACE_HOST);
    CHECK_OK(ferry_host_acquire(&x, FERRY_READ));
    CHECK(all_bytes(&x, 6));
    CHECK_OK(ferry_prefetch(&x, 0, NULL));
    CHECK_INT(ferry_view_place(&x), FERRY_PLACE_HOST);
    CHECK_INT(backend_sim_page_place(x.data), FERRY_PLACE_HOST);
    ferry_free(x.data);
}

static void without_a_policy_faults_move(void) {
    ferry_heap *heap = NULL;
    REQUIRE_OK(ferry_heap_create(&(ferry_heap_options){"plain", FERRY_POLICY_NONE}, &heap));
    const ferry_view x = story_array(heap, 4 * MIB, 1), y = story_untouched(heap, 4 * MIB);
    const ferry_operand operands[] = {{.view = &x, .access = FERRY_READ}, {.view = &y, .access = FERRY_WRITE}};
    story_reset();
    CHECK_OK(story_kernel(operands, 2, 7, NULL));
    const ferry_stats counts = story_counts();
    CHECK_UINT(counts.bytes_to_device, 4 * MIB);
    CHECK_UINT(counts.prefetched_bytes_to_device, 0);
    CHECK_UINT(counts.prefetches_issued, 0);
    CHECK_OK(ferry_sync(NULL));
    CHECK(backend_sim_totals().gpu_faults > 0);
    CHECK_OK(ferry_host_acquire(&y, FERRY_READ));
    CHECK(all_bytes(&y, 7));
    CHECK_UINT(story_counts().bytes_to_host, 4 * MIB);
    /* By hand, prefetching is possible all the same. */
    CHECK_OK(ferry_prefetch(&y, 0, NULL));
    CHECK_UINT(story_counts().prefetched_bytes_to_device, 4 * MIB);
    ferry_heap_destroy(heap);
}

static void prefetch_by_hand(void) {
    const ferry_view x = story_array(NULL, 10 * PAGE, 1);
    CHECK_INT(ferry_view_place(&x), FERRY_PLACE_HOST);
    story_reset();
    CHECK_OK(ferry_prefetch(&x, 0, NULL));
    STORY_MOVED(10 * PAGE, 0);
    CHECK_INT(ferry_view_place(&x), 0);
    CHECK_OK(ferry_prefetch(&x, 0, NULL));
    STORY_MOVED(0, 0);
    CHECK_OK(ferry_prefetch(&x, FERRY_PLACE_HOST, NULL));
    STORY_MOVED(0, 10 * PAGE);
    CHECK_INT(ferry_view_place(&x), FERRY_PLACE_HOST);
    CHECK(all_bytes(&x, 1));
    CHECK_STATUS(ferry_prefetch(&x, 77, NULL), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_prefetch(&x, FERRY_PLACE_NOWHERE, NULL), FERRY_INVALID_ARGUMENT);
    ferry_free(x.data);
    CHECK_OK(ferry_trim());
    const ferry_view y = story_untouched(NULL, 10 * PAGE);
    CHECK_INT(ferry_view_place(&y), FERRY_PLACE_NOWHERE);
    ferry_free(y.data);
}

/* The library is not told of everything: pages that the host filled silently must not be lost. */
static void silent_host_writes_cross(void) {
    CHECK_OK(ferry_trim());
    const ferry_view x = story_untouched(NULL, 30 * PAGE);
    memset((char *)x.data + 10 * PAGE, 8, 5 * PAGE);
    story_reset();
    CHECK_OK(story_use(&x, FERRY_READ, 0, NULL));
    STORY_MOVED(5 * PAGE, 0);
    const ferry_view part = story_slice(&x, 10 * PAGE, 15 * PAGE);
    CHECK_OK(ferry_host_acquire(&part, FERRY_READ));
    CHECK(all_bytes(&part, 8));
    ferry_free(x.data);
}

static void free_in_flight_is_safe(void) {
    for (int i = 0; i < 50; i++) {
        const ferry_view x = story_array(NULL, 40 * PAGE, 1);
        CHECK_OK(story_use(&x, FERRY_WRITE, 2, NULL));
        ferry_free(x.data);
        const ferry_view y = story_array(NULL, 40 * PAGE, 9);
        CHECK_OK(ferry_sync(NULL));
        CHECK(all_bytes(&y, 9));
        ferry_free(y.data);
    }
}

static void recycled_blocks_do_not_cross(void) {
    CHECK_OK(ferry_trim());
    const ferry_view x = story_array(NULL, 4 * MIB, 1);
    CHECK_OK(story_use(&x, FERRY_READWRITE, 2, NULL));
    CHECK_OK(ferry_sync(NULL));
    ferry_free(x.data);
    story_reset();
    const ferry_view y = story_untouched(NULL, 4 * MIB);
    CHECK(y.data == x.data);
    CHECK_OK(story_use(&y, FERRY_WRITE, 3, NULL));
    STORY_MOVED(0, 0);
    CHECK_OK(ferry_host_acquire(&y, FERRY_READ));
    CHECK(all_bytes(&y, 3));
    STORY_MOVED(0, 4 * MIB);
    ferry_free(y.data);
    /* calloc finds the block on the device or at home, and clears it. */
    const ferry_view z = story_array(NULL, 4 * MIB, 1);
    CHECK_OK(story_use(&z, FERRY_READWRITE, 2, NULL));
    CHECK_OK(ferry_sync(NULL));
    ferry_free(z.data);
    story_reset();
    ferry_view cleared = z;
    cleared.data = ferry_calloc(4, MIB);
    CHECK(all_bytes(&cleared, 0));
    STORY_MOVED(0, 0);
    ferry_free(cleared.data);
}

static void redundant_crossings_are_counted(void) {
    const ferry_view x = story_array(NULL, 10 * PAGE, 1);
    story_reset();
    CHECK_OK(story_use(&x, FERRY_READ, 0, NULL));
    CHECK_OK(ferry_host_acquire(&x, FERRY_READ));
    CHECK_UINT(story_counts().redundant_bytes, 0);
    CHECK_OK(story_use(&x, FERRY_READ, 0, NULL));
    CHECK_UINT(story_counts().redundant_bytes, 10 * PAGE);
    CHECK_OK(ferry_host_acquire(&x, FERRY_READ));
    CHECK_UINT(story_counts().redundant_bytes, 10 * PAGE);
    CHECK_OK(ferry_host_acquire(&x, FERRY_READWRITE));
    CHECK_OK(story_use(&x, FERRY_READ, 0, NULL));
    CHECK_UINT(story_counts().redundant_bytes, 0);
    CHECK_OK(ferry_stats_reset());
    ferry_stats stats;
    REQUIRE_OK(ferry_stats_get(&stats));
    CHECK_UINT(stats.redundant_bytes, 0);
    CHECK_UINT(stats.bytes_to_device, 0);
    CHECK_UINT(stats.launches, 0);
    CHECK_UINT(stats.modelled_ns, 0);
    CHECK(stats.live_bytes > 0 && stats.peak_bytes == stats.live_bytes);
    ferry_free(x.data);
}

static void realloc_brings_contents_along(void) {
    ferry_view x = story_array(NULL, 10 * PAGE, 1);
    CHECK_OK(story_use(&x, FERRY_WRITE, 6, NULL));
    x.data = ferry_realloc(x.data, 20 * PAGE);
    REQUIRE(x.data != NULL);
    CHECK(all_bytes(&x, 6));
    ferry_free(x.data);
}

static void bad_operands_move_nothing(void) {
    const ferry_view x = story_array(NULL, 10 * PAGE, 1);
    ferry_view bad = x;
    int64_t outside[4] = {0};
    story_reset();
    bad.shape[0] = 11 * PAGE;
    ferry_operand operands[] = {{.view = &x, .access = FERRY_READ}, {.view = &bad, .access = FERRY_READ}};
    CHECK_STATUS(ferry_acquire(operands, 2, NULL), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_complete(operands, 2, NULL), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_host_acquire(&bad, FERRY_READ), FERRY_INVALID_ARGUMENT);
    bad = x;
    bad.readonly = true;
    operands[1].access = FERRY_WRITE;
    CHECK_STATUS(ferry_acquire(operands, 2, NULL), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_host_acquire(&bad, FERRY_READWRITE), FERRY_INVALID_ARGUMENT);
    operands[1].access = (ferry_access)0;
    CHECK_STATUS(ferry_acquire(operands, 2, NULL), FERRY_INVALID_ARGUMENT);
    operands[1].access = (ferry_access)4;
    CHECK_STATUS(ferry_acquire(operands, 2, NULL), FERRY_INVALID_ARGUMENT);
    bad = (ferry_view){outside, FERRY_INT64, 1, false, {4}, {8}};
    operands[1].access = FERRY_READ;
    CHECK_STATUS(ferry_acquire(operands, 2, NULL), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_prefetch(&bad, 0, NULL), FERRY_INVALID_ARGUMENT);
    CHECK_OK(ferry_host_acquire(&bad, FERRY_READWRITE));
    CHECK_OK(ferry_prefetch(&bad, FERRY_PLACE_HOST, NULL));
    CHECK_INT(ferry_view_place(&bad), FERRY_PLACE_HOST);
    STORY_MOVED(0, 0);
    CHECK_INT(ferry_view_place(&x), FERRY_PLACE_HOST);
    /* Of nothing, wherever it is. */
    bad.shape[0] = 0;
    CHECK_OK(ferry_acquire(operands, 2, NULL));
    STORY_MOVED(10 * PAGE, 0);
    CHECK_OK(ferry_complete(operands, 2, NULL));
    CHECK_OK(ferry_acquire(NULL, 0, NULL));
    CHECK_OK(ferry_complete(NULL, 0, NULL));
    ferry_view freed = x;
    CHECK_OK(ferry_sync(NULL));
    ferry_view endless = x;
    endless.shape[0] = (int64_t)1 << 40;
    CHECK_INT(ferry_view_place(&endless), FERRY_PLACE_HOST);
    ferry_free(x.data);
    operands[0].view = &freed;
    CHECK_STATUS(ferry_acquire(operands, 1, NULL), FERRY_INVALID_ARGUMENT);
}

static void many_runs_become_one_call(void) {
    const ferry_view x = story_array(NULL, 64 * BLOCK, 1);
    const ferry_view columns = story_runs(&x, 0, 60, 3 * PAGE, BLOCK);
    story_reset();
    CHECK_OK(story_use(&columns, FERRY_READ, 0, NULL));
    const ferry_stats counts = story_counts();
    CHECK_UINT(counts.bytes_to_device, 180 * PAGE);
    CHECK_UINT(counts.prefetches_issued, 60);
    ferry_free(x.data);
}

int main(void) {
    setenv("FERRY_BACKEND", "sim", 1);
    REQUIRE_OK(ferry_init(NULL));
    CHECK_STRING(ferry_backend_name(), "sim");
    RUN(input_crosses_once_and_result_once);
    RUN(slice_moves_its_own_pages);
    RUN(ragged_edges_keep_their_neighbours);
    RUN(host_overwrites_a_part);
    RUN(gaps_of_a_strided_write_survive);
    RUN(in_place_keeps_its_contents);
    RUN(of_a_whole_in_place_only_what_left_comes_back);
    RUN(overlapping_operands_keep_what_is_read);
    RUN(tiny_arrays_stay_at_home);
    RUN(without_a_policy_faults_move);
    RUN(prefetch_by_hand);
    RUN(silent_host_writes_cross);
    RUN(free_in_flight_is_safe);
    RUN(recycled_blocks_do_not_cross);
    RUN(redundant_crossings_are_counted);
    RUN(realloc_brings_contents_along);
    RUN(bad_operands_move_nothing);
    RUN(many_runs_become_one_call);
    return test_finish();
}

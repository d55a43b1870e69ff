/* The residency table against an array with one state per page. */
#include "alloc/residency.h"
#include "tests/test.h"

#define BLOCKS 5
#define PAGES (BLOCKS * PAGES_PER_BLOCK)

static page_state blocks[BLOCKS], pages[PAGES], expected[PAGES];
static struct residency table = {.blocks = blocks, .pages = pages};

static page_state random_state(test_random *random) {
    const ferry_place place = (ferry_place)test_random_int(random, FERRY_PLACE_NOWHERE, 2);
    return (page_state)(state_of_place(place) | (test_random_int(random, 0, 3) * STATE_CROSSED_TO_DEVICE));
}

/* Whole blocks often, for that is the common case in a program. */
static void random_range(test_random *random, size_t *first, size_t *end) {
    const size_t unit = test_random_int(random, 0, 2) == 0 ? PAGES_PER_BLOCK : 1;
    const int64_t units = (int64_t)(PAGES / unit);
    const int64_t low = test_random_int(random, 0, units - 1);
    const int64_t most = unit == 1 && test_random_int(random, 0, 1) == 0 && low + 30 < units ? low + 30 : units;
    *first = (size_t)low * unit;
    *end = (size_t)test_random_int(random, low + 1, most) * unit;
}

static bool is_uniform(size_t first, size_t end) {
    for (size_t page = first; page < end; page++) {
        if (expected[page] != expected[first]) {
            return false;
        }
    }
    return true;
}

static void check_runs(size_t first, size_t end) {
    CHECK_UINT(residency_is_uniform(&table, first, end), is_uniform(first, end));
    while (first < end) {
        size_t want = first;
        while (want < end && expected[want] == expected[first]) {
            want++;
        }
        const struct residency_run run = residency_run_at(&table, first, end);
        CHECK_UINT(run.first_page, first);
        CHECK_UINT(run.state, expected[first]);
        if (!CHECK_UINT(run.end_page, want)) {
            return;
        }
        first = run.end_page;
    }
}

/* A block whose pages agree must say so itself, or large arrays would cost a look per page for ever. */
static void check_gathered(void) {
    for (size_t block = 0; block < BLOCKS; block++) {
        bool uniform = true;
        for (size_t i = 1; i < PAGES_PER_BLOCK; i++) {
            uniform = uniform && expected[block * PAGES_PER_BLOCK + i] == expected[block * PAGES_PER_BLOCK];
        }
        CHECK_INT(blocks[block] != STATE_MIXED, uniform);
    }
}

static void set(size_t first, size_t end, page_state state) {
    residency_set(&table, first, end, state);
    for (size_t i = first; i < end; i++) {
        expected[i] = state;
    }
}

static void clear(size_t first, size_t end, page_state flags) {
    residency_clear_flags(&table, first, end, flags);
    for (size_t i = first; i < end; i++) {
        expected[i] &= (page_state)~flags;
    }
}

static void table_is_an_array_of_pages(void) {
    test_random random = {test_seed(2)};
    for (int i = 0; i < 20000; i++) {
        size_t first, end;
        random_range(&random, &first, &end);
        if (test_random_int(&random, 0, 3) == 0) {
            clear(first, end, (page_state)(test_random_int(&random, 1, 3) * STATE_CROSSED_TO_DEVICE));
        } else {
            set(first, end, random_state(&random));
        }
        if (i % 16 == 0) {
            check_runs(0, PAGES);
            check_gathered();
        }
        random_range(&random, &first, &end);
        check_runs(first, end);
    }
}

static void zero_is_nowhere(void) {
    CHECK_INT(state_place(0), FERRY_PLACE_NOWHERE);
    for (ferry_place place = FERRY_PLACE_NOWHERE; place < RESIDENCY_MAX_DEVICES; place++) {
        CHECK_INT(state_place(state_of_place(place)), place);
        CHECK_INT(state_place((page_state)(state_of_place(place) | STATE_CROSSED)), place);
        CHECK((state_of_place(place) & (STATE_CROSSED | STATE_MIXED)) == 0);
    }
}

int main(void) {
    RUN(zero_is_nowhere);
    RUN(table_is_an_array_of_pages);
    return test_finish();
}

/*
 * Order between streams: random programs of acquires, launches and completes on several streams at once, against what
 * the fake backend's clocks say came before what.
 */
#include "alloc/core.h"
#include "alloc/stream.h"
#include "tests/alloc/fake.h"
#include "tests/test.h"

#define STREAMS 6 /* more than a storage has slots for readers */
#define ARRAYS 3
#define BYTES ((size_t)3 * FERRY_PAGE_BYTES)
#define USES 4096

static ferry_stream *streams[STREAMS];

struct past_use {
    struct fake_work work;
    ferry_access access;
};

static struct array {
    ferry_view view;
    struct past_use uses[USES]; /* completed ones */
    size_t nuses;
} arrays[ARRAYS];

static void make_array(struct array *array) {
    const int64_t shape = (int64_t)BYTES;
    void *block = ferry_malloc(BYTES);
    REQUIRE(block != NULL);
    REQUIRE_OK(ferry_view_make(block, FERRY_UINT8, 1, &shape, &array->view));
    array->nuses = 0;
}

static bool conflicts(ferry_access a, ferry_access b) {
    return ((a | b) & FERRY_WRITE) != 0;
}

static void check_order(const struct array *array, size_t nuses, ferry_access access, const struct fake_work *work) {
    for (size_t i = 0; i < nuses; i++) {
        const struct past_use *past = &array->uses[i];
        CHECK_THAT(!conflicts(past->access, access) || fake_before(&past->work, work) || fake_ended(&past->work),
                   "access %d on stream %d does not wait for access %d on stream %d", (int)access, work->stream,
                   (int)past->access, past->work.stream);
    }
}

/* A launch on its way: acquired, maybe launched, not completed. */
struct launch {
    bool active;
    int stream;
    struct array *array;
    ferry_access access;
    size_t uses_before; /* those it has to come after */
};

static void acquire(test_random *random, struct launch *launch) {
    *launch = (struct launch){
        true, (int)test_random_int(random, 0, STREAMS - 1), &arrays[test_random_int(random, 0, ARRAYS - 1)],
        (ferry_access)(test_random_int(random, 0, 2) == 0 ? test_random_int(random, 1, 3) : 1), 0};
    launch->uses_before = launch->array->nuses;
    const ferry_operand operand = {.view = &launch->array->view, .access = launch->access};
    CHECK_OK(ferry_acquire(&operand, 1, streams[launch->stream]));
}

static void complete(struct launch *launch) {
    const struct fake_work work = fake_launch(streams[launch->stream]);
    check_order(launch->array, launch->uses_before, launch->access, &work);
    const ferry_operand operand = {.view = &launch->array->view, .access = launch->access};
    CHECK_OK(ferry_complete(&operand, 1, streams[launch->stream]));
    REQUIRE(launch->array->nuses < USES);
    launch->array->uses[launch->array->nuses++] = (struct past_use){work, launch->access};
    launch->active = false;
}

static bool all_ended(const struct array *array, ferry_access access) {
    for (size_t i = 0; i < array->nuses; i++) {
        if (conflicts(array->uses[i].access, access) && !fake_ended(&array->uses[i].work)) {
            return false;
        }
    }
    return true;
}

static void touch_on_host(struct array *array, ferry_access access) {
    CHECK_OK(ferry_host_acquire(&array->view, access));
    CHECK_THAT(all_ended(array, access), "the host may touch what a kernel still uses");
}

/* Frees the array in flight: while its kernels run, nothing that is allocated may lie where it lay. */
static void free_and_make(struct array *array) {
    char *former = array->view.data;
    void *fresh[4];
    ferry_free(former);
    for (int i = 0; i < 4; i++) {
        fresh[i] = ferry_malloc(BYTES);
        CHECK_THAT(fresh[i] != former || all_ended(array, FERRY_READWRITE), "a block that a kernel uses was recycled");
    }
    for (int i = 0; i < 4; i++) {
        ferry_free(fresh[i]);
    }
    make_array(array);
}

static bool is_held(const struct launch *launches, int n, const struct array *array) {
    for (int i = 0; i < n; i++) {
        if (launches[i].active && launches[i].array == array) {
            return true;
        }
    }
    return false;
}

static void random_programs_are_ordered(void) {
    enum { LAUNCHES = 4 };
    test_random random = {test_seed(4)};
    struct launch launches[LAUNCHES] = {0};
    for (int i = 0; i < 20000; i++) {
        struct launch *launch = &launches[test_random_int(&random, 0, LAUNCHES - 1)];
        struct array *array = &arrays[test_random_int(&random, 0, ARRAYS - 1)];
        const int64_t action = test_random_int(&random, 0, 99);
        if (action < 80) {
            launch->active ? complete(launch) : acquire(&random, launch);
        } else if (action < 88) {
            fake_finish(streams[test_random_int(&random, 0, STREAMS - 1)]);
        } else if (is_held(launches, LAUNCHES, array)) {
            continue;
        } else if (action < 94) {
            touch_on_host(array, (ferry_access)test_random_int(&random, 1, 3));
        } else {
            free_and_make(array);
        }
    }
    for (int i = 0; i < LAUNCHES; i++) {
        if (launches[i].active) {
            complete(&launches[i]);
        }
    }
}

/* ferry_stream_sync waits for one stream; NULL is the library's own. */
static void one_stream_is_waited_for(void) {
    ferry_stream *own = NULL;
    movement_lock();
    REQUIRE_OK(stream_resolve(NULL, &own));
    movement_unlock();
    const struct fake_work other = fake_launch(streams[0]), mine = fake_launch(own);
    CHECK_OK(ferry_stream_sync(NULL));
    CHECK(fake_ended(&mine));
    CHECK(!fake_ended(&other));
    CHECK_OK(ferry_stream_sync(streams[0]));
    CHECK(fake_ended(&other));
}

/* Seven readers on six streams, then a writer; then readers of what it wrote. */
static void readers_run_together_and_writers_alone(void) {
    struct array *array = &arrays[0];
    touch_on_host(array, FERRY_WRITE);
    struct launch launch;
    struct fake_work first[STREAMS];
    const ferry_operand read = {.view = &array->view, .access = FERRY_READ};
    for (int i = 0; i < STORAGE_READERS; i++) {
        CHECK_OK(ferry_acquire(&read, 1, streams[i]));
        first[i] = fake_launch(streams[i]);
        CHECK_OK(ferry_complete(&read, 1, streams[i]));
        for (int j = 0; j < i; j++) {
            CHECK_THAT(!fake_before(&first[j], &first[i]), "reader %d waits for reader %d", i, j);
        }
        array->uses[array->nuses++] = (struct past_use){first[i], FERRY_READ};
    }
    for (int i = 0; i < STREAMS; i++) {
        launch = (struct launch){true, i, array, FERRY_READ, array->nuses};
        CHECK_OK(ferry_acquire(&read, 1, streams[i]));
        complete(&launch);
    }
    const ferry_operand write = {.view = &array->view, .access = FERRY_WRITE};
    launch = (struct launch){true, 2, array, FERRY_WRITE, array->nuses};
    CHECK_OK(ferry_acquire(&write, 1, streams[2]));
    complete(&launch);
    for (int i = 0; i < STREAMS; i++) {
        launch = (struct launch){true, i, array, FERRY_READ, array->nuses};
        CHECK_OK(ferry_acquire(&read, 1, streams[i]));
        complete(&launch);
    }
    touch_on_host(array, FERRY_READ);
    touch_on_host(array, FERRY_WRITE);
}

/* Acquires of many streams before the first complete: none knew of the others. */
static void late_completes_are_not_lost(ferry_access last) {
    struct array *array = &arrays[1];
    touch_on_host(array, FERRY_WRITE);
    CHECK_OK(ferry_prefetch(&array->view, 0, NULL));
    touch_on_host(array, FERRY_READ);
    struct launch launches[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        const ferry_access access = i == 0 ? last : FERRY_READ;
        launches[i] = (struct launch){true, i, array, access, array->nuses};
        CHECK_OK(ferry_acquire(&(ferry_operand){.view = &array->view, .access = access}, 1, streams[i]));
    }
    for (int i = STREAMS - 1; i >= 0; i--) {
        complete(&launches[i]);
    }
    fake_finish(streams[0]);
    touch_on_host(array, FERRY_WRITE);
    free_and_make(array);
}

static void late_readers_are_not_lost(void) {
    late_completes_are_not_lost(FERRY_READ);
}

static void late_writer_forgets_no_reader(void) {
    late_completes_are_not_lost(FERRY_WRITE);
    late_completes_are_not_lost(FERRY_READWRITE);
}

static void late_writer_forgets_no_reader_when_freed(void) {
    struct array *array = &arrays[2];
    const ferry_operand write = {.view = &array->view, .access = FERRY_WRITE},
                        read = {.view = &array->view, .access = FERRY_READ};
    CHECK_OK(ferry_acquire(&write, 1, streams[0]));
    CHECK_OK(ferry_complete(&write, 1, streams[0]));
    fake_finish(streams[0]);
    struct launch writer = {true, 0, array, FERRY_WRITE, array->nuses};
    CHECK_OK(ferry_acquire(&write, 1, streams[0]));
    struct launch reader = {true, 1, array, FERRY_READ, array->nuses};
    CHECK_OK(ferry_acquire(&read, 1, streams[1]));
    complete(&reader);
    complete(&writer);
    free_and_make(array);
}

int main(void) {
    core_use_backend(fake_backend());
    for (int i = 0; i < STREAMS; i++) {
        REQUIRE_OK(ferry_stream_create(0, &streams[i]));
    }
    for (int i = 0; i < ARRAYS; i++) {
        make_array(&arrays[i]);
    }
    RUN(readers_run_together_and_writers_alone);
    RUN(late_readers_are_not_lost);
    RUN(late_writer_forgets_no_reader);
    RUN(late_writer_forgets_no_reader_when_freed);
    RUN(one_stream_is_waited_for);
    RUN(random_programs_are_ordered);
    return test_finish();
}

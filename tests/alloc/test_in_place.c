/*
 * Launches whose operands are in place take a short way. It leaves everything as the long way does, which a launch
 * takes that names a view without elements as well: random programs run twice, once each way. And what a completion
 * records is what it is given, whatever was acquired.
 */
#include "alloc/core.h"
#include "alloc/region.h"
#include "ferry/site.h"
#include "tests/alloc/fake.h"
#include "tests/test.h"

#define PAGE FERRY_PAGE_BYTES
#define PAGES 12 /* too small for sites to learn from, or for the link's costs */
#define BYTES (PAGES * PAGE)
#define SETTLING 8 /* launches after which no further pass is counted */
#define ARRAYS 4
#define STREAMS 2
#define STEPS 30000

static ferry_view bytes_at(void *data, size_t bytes) {
    return (ferry_view){data, FERRY_UINT8, 1, false, {(int64_t)bytes}, {1}};
}

static ferry_view array(size_t bytes) {
    const ferry_view view = bytes_at(ferry_malloc(bytes), bytes);
    REQUIRE(view.data != NULL);
    return view;
}

static struct storage *storage_of(const ferry_view *view) {
    struct storage_place place;
    REQUIRE(storage_find(view->data, &place));
    return place.storage;
}

static void launch(const ferry_view *view, ferry_access access, ferry_stream *stream) {
    const ferry_operand operand = {.view = view, .access = access, .passes = 1};
    CHECK_OK(ferry_acquire(&operand, 1, stream));
    CHECK_OK(ferry_complete(&operand, 1, stream));
}

static void launch_often(const ferry_view *view, int launches, ferry_stream *stream) {
    for (int i = 0; i < launches; i++) {
        launch(view, FERRY_READWRITE, stream);
    }
    fake_moves(NULL);
}

static void settle(const ferry_view *view, ferry_stream *stream) {
    launch_often(view, SETTLING, stream);
}

static void they_are_counted_and_remembered(void) {
    const ferry_view x = array(BYTES), y = array(BYTES);
    ferry_stats before, after;
    settle(&x, NULL);
    settle(&y, NULL);
    const ferry_operand operands[] = {{.view = &x, .access = FERRY_READ, .passes = 3},
                                      {.view = &y, .access = FERRY_WRITE, .passes = 1}};
    const uint64_t gone_over = storage_of(&x)->memories.history.bytes_now, calls = fake_calls();
    REQUIRE_OK(ferry_stats_get(&before));
    CHECK_OK(ferry_acquire(operands, 2, NULL));
    CHECK_UINT(fake_calls(), calls);
    CHECK_OK(ferry_complete(operands, 2, NULL));
    REQUIRE_OK(ferry_stats_get(&after));
    CHECK_UINT(after.prefetches_skipped - before.prefetches_skipped, 2);
    CHECK_UINT(after.launches - before.launches, 1);
    CHECK_UINT(storage_of(&x)->memories.history.bytes_now - gone_over, 3 * BYTES);
    ferry_free(x.data);
    ferry_free(y.data);
}

/* What was found of a storage's pages does not outlive a change of one of them, nor one of the storage. */
static void every_change_is_seen(void) {
    const ferry_view x = array(BYTES);
    const backend_move *moves;
    settle(&x, NULL);
    for (size_t page = 0; page < PAGES; page++) {
        const ferry_view part = bytes_at((char *)x.data + page * PAGE, PAGE);
        CHECK_OK(ferry_host_acquire(&part, FERRY_READ));
        fake_moves(NULL);
        launch(&x, FERRY_READ, NULL);
        REQUIRE(fake_moves(&moves) == 1);
        CHECK(moves[0].address == part.data);
        CHECK_UINT(moves[0].bytes, PAGE);
        settle(&x, NULL);
    }
    ferry_free(x.data);
    const ferry_view longer = array(2 * BYTES);
    CHECK_OK(ferry_host_acquire(&longer, FERRY_WRITE));
    fake_moves(NULL);
    launch(&longer, FERRY_READ, NULL);
    CHECK_UINT(fake_moves(NULL), 1);
    ferry_free(longer.data);
}

static bool is_recorded(const ferry_view *view, const ferry_stream *stream, ferry_access access) {
    const struct storage *storage = storage_of(view);
    bool found = (access & FERRY_WRITE) != 0 && storage->writer.stream == stream;
    for (int i = 0; i < STORAGE_READERS && (access & FERRY_WRITE) == 0; i++) {
        found = found || storage->readers[i].stream == stream;
    }
    return found;
}

/* Each completion follows an acquire of x, which must not matter. */
static void completions_record_what_they_are_given(void) {
    ferry_stream *stream = NULL;
    REQUIRE_OK(ferry_stream_create(0, &stream));
    ferry_view x = array(BYTES), y = array(BYTES), tiny = array(100);
    for (int settled = 0; settled < 2; settled++) {
        const ferry_view kept = x;
        ferry_operand operands[] = {{.view = &x, .access = FERRY_READ}};
        launch_often(&x, settled != 0 ? SETTLING : 1, NULL);
        launch_often(&y, settled != 0 ? SETTLING : 1, NULL);
        CHECK_OK(ferry_sync(NULL));
        /* The operand names another view, */
        CHECK_OK(ferry_acquire(operands, 1, stream));
        operands[0] = (ferry_operand){.view = &y, .access = FERRY_WRITE};
        CHECK_OK(ferry_complete(operands, 1, stream));
        CHECK(is_recorded(&y, stream, FERRY_WRITE));
        CHECK(!is_recorded(&kept, stream, FERRY_READ));
        /* or the view another array, from the middle on, or backwards, */
        operands[0] = (ferry_operand){.view = &x, .access = FERRY_READ};
        CHECK_OK(ferry_acquire(operands, 1, stream));
        x = bytes_at((char *)y.data + BYTES / 2, PAGE);
        CHECK_OK(ferry_complete(operands, 1, stream));
        CHECK(is_recorded(&y, stream, FERRY_READ));
        CHECK(!is_recorded(&kept, stream, FERRY_READ));
        x = bytes_at((char *)y.data + BYTES - 1, BYTES);
        x.strides[0] = -1;
        operands[0].access = FERRY_WRITE;
        CHECK_OK(ferry_complete(operands, 1, stream));
        CHECK(!is_recorded(&y, stream, FERRY_READ)); /* the writer follows the readers */
        /* or another thread's acquire has come between. */
        x = kept;
        operands[0].access = FERRY_READ;
        CHECK_OK(ferry_acquire(operands, 1, stream));
        launch(&tiny, FERRY_READ, NULL);
        CHECK_OK(ferry_complete(operands, 1, stream));
        CHECK(is_recorded(&x, stream, FERRY_READ));
        CHECK_OK(ferry_sync(NULL));
        const ferry_view both[] = {x, y};
        for (int i = 0; i < 2; i++) {
            ferry_free(both[i].data);
        }
        x = array(BYTES), y = array(BYTES);
    }
    const ferry_operand shared = {.view = &tiny, .access = FERRY_WRITE};
    CHECK_OK(ferry_complete(&shared, 1, stream));
    CHECK(is_recorded(&tiny, stream, FERRY_WRITE));
    ferry_free(x.data);
    ferry_free(y.data);
    ferry_free(tiny.data);
    ferry_stream_destroy(stream);
}

/* An array that has ended is nobody's, one in its place is the new owner's; the others are recorded all the same. */
static void completions_after_a_free(void) {
    ferry_stream *stream = NULL;
    REQUIRE_OK(ferry_stream_create(0, &stream));
    for (int settled = 0; settled < 2; settled++) {
        ferry_view x = array(BYTES), y = array(BYTES);
        const ferry_operand operands[] = {{.view = &x, .access = FERRY_READ}, {.view = &y, .access = FERRY_READ}};
        launch_often(&x, settled != 0 ? SETTLING : 1, NULL);
        launch_often(&y, settled != 0 ? SETTLING : 1, NULL);
        CHECK_OK(ferry_sync(NULL));
        CHECK_OK(ferry_acquire(operands, 2, stream));
        CHECK_OK(ferry_sync(stream)); /* so that nothing waits */
        ferry_free(x.data);
        CHECK_STATUS(ferry_complete(operands, 2, stream), FERRY_INVALID_ARGUMENT);
        CHECK(is_recorded(&y, stream, FERRY_READ));
        const ferry_view next = array(BYTES);
        if (next.data == x.data) {
            CHECK(!is_recorded(&next, stream, FERRY_READ));
            CHECK_OK(ferry_complete(operands, 2, stream));
            CHECK(is_recorded(&next, stream, FERRY_READ));
        }
        void *moved = ferry_realloc(y.data, 4 * BYTES);
        REQUIRE(moved != NULL);
        CHECK_STATUS(ferry_complete(operands, 2, stream),
                     next.data == x.data && moved == y.data ? FERRY_OK : FERRY_INVALID_ARGUMENT);
        CHECK_OK(ferry_sync(stream));
        ferry_free(moved);
        ferry_free(next.data);
    }
    /* A region that has gone, and memory that never was ferry's. */
    ferry_heap *heap = NULL;
    REQUIRE_OK(ferry_heap_create(&(ferry_heap_options){0}, &heap));
    const ferry_view x = bytes_at(ferry_heap_malloc(heap, BYTES), BYTES);
    settle(&x, stream);
    const ferry_operand operand = {.view = &x, .access = FERRY_READ, .passes = 1};
    CHECK_OK(ferry_acquire(&operand, 1, stream));
    ferry_heap_destroy(heap);
    CHECK_STATUS(ferry_complete(&operand, 1, stream), FERRY_INVALID_ARGUMENT);
    static char foreign[100];
    const ferry_view elsewhere = bytes_at(foreign, sizeof foreign);
    CHECK_STATUS(ferry_complete(&(ferry_operand){.view = &elsewhere, .access = FERRY_READ}, 1, stream),
                 FERRY_INVALID_ARGUMENT);
    ferry_stream_destroy(stream);
}

/* Wherever it begins, a view without elements uses nothing; an access that is none is told of. */
static void completions_of_nothing(void) {
    ferry_stream *stream = NULL;
    REQUIRE_OK(ferry_stream_create(0, &stream));
    const ferry_view x = array(BYTES);
    const ferry_view empty[] = {
        bytes_at(x.data, 0), bytes_at(NULL, 0), {x.data, FERRY_UINT8, 2, false, {5, 0}, {1, 1}}};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        const ferry_operand operand = {.view = &empty[i], .access = FERRY_WRITE};
        CHECK_OK(ferry_acquire(&operand, 1, stream));
        CHECK_OK(ferry_complete(&operand, 1, stream));
        CHECK(!is_recorded(&x, stream, FERRY_WRITE));
    }
    for (int access = -1; access < 6; access++) {
        const ferry_operand operand = {.view = &x, .access = (ferry_access)access};
        CHECK_STATUS(ferry_complete(&operand, 1, stream),
                     access >= 1 && access <= 3 ? FERRY_OK : FERRY_INVALID_ARGUMENT);
    }
    ferry_free(x.data);
    ferry_stream_destroy(stream);
}

/* One program's arrays and streams. */
struct world {
    bool long_way;
    ferry_view arrays[ARRAYS];
    ferry_stream *streams[STREAMS];
    ferry_stats counted; /* in the latest step */
};

struct part {
    size_t array, first_byte, bytes;
    ferry_operand operand; /* without its view */
};

/* What both worlds do. */
struct deed {
    enum kind { LAUNCH, HOST, SYNC, ANEW, ADVICE, EXPORT, EXPORT_END, KINDS } kind;
    struct part uses[3];
    size_t n, stream;
    ferry_policy thread_policy;
    ferry_site site;
};

static ferry_policy random_policy(test_random *random) {
    return test_random_int(random, 0, 9) != 0 ? FERRY_POLICY_DEFAULT : (ferry_policy)test_random_int(random, 0, 4);
}

static struct part random_use(test_random *random) {
    struct part use = {(size_t)test_random_int(random, 0, ARRAYS - 1), 0, BYTES, {0}};
    if (test_random_int(random, 0, 3) == 0) {
        use.first_byte = (size_t)test_random_int(random, 0, BYTES - 1);
        use.bytes = (size_t)test_random_int(random, 1, (int64_t)(BYTES - use.first_byte));
    }
    use.operand = (ferry_operand){.access = (ferry_access)test_random_int(random, 1, 3),
                                  .passes = (int)test_random_int(random, 0, 3),
                                  .policy = random_policy(random)};
    return use;
}

/* Mostly launches, so that arrays come to rest on the device. */
static struct deed random_deed(test_random *random) {
    struct deed deed = {.kind = test_random_int(random, 0, 19) != 0 ? LAUNCH
                                                                    : (enum kind)test_random_int(random, 0, KINDS - 1),
                        .n = (size_t)test_random_int(random, 1, 3),
                        .stream = (size_t)test_random_int(random, 0, STREAMS - 1),
                        .thread_policy = random_policy(random),
                        .site = (ferry_site)test_random_int(random, 1, 5)};
    for (size_t i = 0; i < deed.n; i++) {
        deed.uses[i] = random_use(random);
    }
    return deed;
}

/* At home, wherever the block's last owner left it. */
static ferry_view array_at_home(void) {
    const ferry_view view = array(BYTES);
    CHECK_OK(ferry_host_acquire(&view, FERRY_WRITE));
    return view;
}

static void do_launch(const struct world *world, const struct deed *deed) {
    const ferry_view nothing = bytes_at(NULL, 0);
    ferry_view views[3];
    ferry_operand operands[4];
    size_t n = 0;
    for (; n < deed->n; n++) {
        const struct part *use = &deed->uses[n];
        views[n] = bytes_at((char *)world->arrays[use->array].data + use->first_byte, use->bytes);
        operands[n] = use->operand;
        operands[n].view = &views[n];
    }
    if (world->long_way) {
        operands[n++] = (ferry_operand){.view = &nothing, .access = FERRY_READ, .passes = 1};
    }
    CHECK_OK(ferry_acquire(operands, n, world->streams[deed->stream]));
    CHECK_OK(ferry_complete(operands, n, world->streams[deed->stream]));
}

static void do_deed(struct world *world, const struct deed *deed) {
    const struct part *use = &deed->uses[0];
    ferry_view *view = &world->arrays[use->array];
    const ferry_view part = bytes_at((char *)view->data + use->first_byte, use->bytes);
    switch (deed->kind) {
    case HOST:
        CHECK_OK(ferry_host_acquire(&part, use->operand.access));
        break;
    case SYNC:
        CHECK_OK(ferry_sync(NULL));
        break;
    case ANEW:
        CHECK_OK(ferry_sync(NULL));
        ferry_free(view->data);
        *view = array_at_home();
        break;
    case ADVICE:
        CHECK_OK(ferry_advise(view, &(ferry_advice){use->operand.policy, use->operand.passes}));
        break;
    case EXPORT:
        CHECK_OK(ferry_export_begin(view));
        break;
    case EXPORT_END:
        ferry_export_end(view);
        break;
    default:
        do_launch(world, deed);
        break;
    }
}

static void step(struct world *world, const struct deed *deed) {
    ferry_stats before, after;
    ferry_site_set(deed->site);
    ferry_thread_policy_set(deed->thread_policy);
    REQUIRE_OK(ferry_stats_get(&before));
    do_deed(world, deed);
    REQUIRE_OK(ferry_stats_get(&after));
#define COUNTED(name, text) world->counted.name = after.name - before.name;
    FERRY_STATS_LIST(COUNTED)
#undef COUNTED
}

static void compare_memories(const struct memories *a, const struct memories *b) {
    CHECK_UINT(a->history.bytes_now, b->history.bytes_now);
    CHECK_UINT(a->history.passes, b->history.passes);
    CHECK_UINT(a->history.ending, b->history.ending);
    CHECK_UINT(a->used_at, b->used_at);
    CHECK_UINT(a->crossed_to_device, b->crossed_to_device);
    CHECK_UINT(a->crossed_to_host, b->crossed_to_host);
    CHECK_INT(a->latest, b->latest);
    CHECK_INT(a->used, b->used);
    CHECK_INT(a->born_on_device, b->born_on_device);
    CHECK_INT(a->policy, b->policy);
    CHECK_INT(a->outlook.passes, b->outlook.passes);
    CHECK_INT(a->verdict.action, b->verdict.action);
}

/* Which of a world's streams; -1: none. */
static int index_of(const struct world *world, const ferry_stream *stream) {
    int index = -1;
    for (int i = 0; i < STREAMS; i++) {
        index = world->streams[i] == stream ? i : index;
    }
    return index;
}

static void compare_arrays(const struct world *a, const struct world *b, size_t at) {
    struct storage_place x, y;
    REQUIRE(storage_find(a->arrays[at].data, &x) && storage_find(b->arrays[at].data, &y));
    CHECK_INT(index_of(a, x.storage->writer.stream), index_of(b, y.storage->writer.stream));
    for (int i = 0; i < STORAGE_READERS; i++) {
        CHECK_INT(index_of(a, x.storage->readers[i].stream), index_of(b, y.storage->readers[i].stream));
    }
    if (x.storage->fresh || y.storage->fresh) {
        CHECK_INT(x.storage->fresh, y.storage->fresh);
        return;
    }
    compare_memories(&x.storage->memories, &y.storage->memories);
    for (size_t page = 0; page < PAGES; page++) {
        CHECK_UINT(residency_state(&x.region->residency, region_page(x.region, x.base) + page),
                   residency_state(&y.region->residency, region_page(y.region, y.base) + page));
    }
}

static void make_world(struct world *world, bool long_way) {
    world->long_way = long_way;
    for (int i = 0; i < STREAMS; i++) {
        REQUIRE_OK(ferry_stream_create(0, &world->streams[i]));
    }
    for (int i = 0; i < ARRAYS; i++) {
        world->arrays[i] = array_at_home();
    }
}

static void both_ways_are_one(void) {
    test_random random = {test_seed(61)};
    struct world worlds[2];
    int idle = 0;
    for (int i = 0; i < 2; i++) {
        make_world(&worlds[i], i != 0);
    }
    const long failures = atomic_load(&test_failures);
    for (int i = 0; i < STEPS && atomic_load(&test_failures) == failures; i++) {
        const struct deed deed = random_deed(&random);
        step(&worlds[0], &deed);
        step(&worlds[1], &deed);
#define COMPARE(name, text) CHECK_UINT(worlds[0].counted.name, worlds[1].counted.name);
        FERRY_STATS_LIST(COMPARE)
#undef COMPARE
        for (size_t at = 0; at < ARRAYS; at++) {
            compare_arrays(&worlds[0], &worlds[1], at);
        }
        idle += deed.kind == LAUNCH && worlds[0].counted.prefetches_skipped == deed.n;
    }
    CHECK_THAT(idle > STEPS / 10, "%d of %d steps were launches in place", idle, STEPS);
    CHECK_OK(ferry_sync(NULL));
    ferry_thread_policy_set(FERRY_POLICY_DEFAULT);
    ferry_site_set(0);
}

int main(void) {
    core_use_backend(fake_backend());
    RUN(they_are_counted_and_remembered);
    RUN(every_change_is_seen);
    RUN(completions_record_what_they_are_given);
    RUN(completions_after_a_free);
    RUN(completions_of_nothing);
    RUN(both_ways_are_one);
    return test_finish();
}

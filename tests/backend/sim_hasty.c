/* The host that does not wait: what is noticed, what is not, and what is told of it. */
#include "tests/backend/sim_case.h"

static uint32_t load(const uint32_t *address) {
    return *(const volatile uint32_t *)address;
}

static void store(uint32_t *address) {
    *(volatile uint32_t *)address = 1;
}

/* The page of `base` that the earliest touch not taken yet was in; -1: there is none. */
static int taken(const uint32_t *base) {
    const void *address;
    if (!machine->take_unsynchronised(&address))
        return -1;
    return (int)(((uintptr_t)address - (uintptr_t)base) / PAGE);
}

static void the_earliest_comes_first(void) {
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    fill(x, BLOCK / 4, 0);
    CHECK_INT(taken(x), -1);
    touch(x, 8 * PAGE, FERRY_WRITE, stream);
    load(x + 5 * PAGE_COUNT + 3);
    store(x + 2 * PAGE_COUNT);
    load(x + 5 * PAGE_COUNT + 4); /* once a page */
    CHECK_INT(taken(x), 5);
    load(x + 7 * PAGE_COUNT);
    CHECK_INT(taken(x), 2);
    CHECK_INT(taken(x), 7);
    CHECK_INT(taken(x), -1);
    touch(x, 8 * PAGE, FERRY_WRITE, stream);
    load(x + 5 * PAGE_COUNT); /* used again, told again */
    CHECK_OK(machine->stream_sync(stream));
    load(x + 6 * PAGE_COUNT);
    CHECK_INT(taken(x), 5);
    CHECK_INT(taken(x), -1);
    CHECK_UINT(backend_sim_unsynchronised(), 4);
}

/* More than anybody takes: the earliest are kept, all are counted. */
static void the_earliest_are_kept(void) {
    enum { MANY = 200, KEPT = 64 };
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    touch(x, MANY * PAGE, FERRY_WRITE, stream);
    load(x);
    CHECK_INT(taken(x), 0); /* so that the ring does not begin at its beginning */
    for (int i = 1; i < MANY; i++)
        load(x + (size_t)i * PAGE_COUNT);
    for (int i = 1; i <= KEPT; i++)
        CHECK_INT(taken(x), i);
    CHECK_INT(taken(x), -1);
    CHECK_UINT(backend_sim_unsynchronised(), MANY);
}

/* A kernel that has not run yet would load what the host has stored since. */
static void stores_under_a_reader_are_noticed(void) {
    if (!backend_sim_tells_stores())
        SKIP("this system cannot tell stores from loads");
    uint32_t *x = machine_reserve(BLOCK, true), *y = x + 64 * PAGE_COUNT;
    backend_stream *stream = machine_stream(0);
    fill(x, BLOCK / 4, 0);
    machine_add(y, x, 1, 32 * PAGE_COUNT, stream);
    CHECK_UINT(load(x + 3 * PAGE_COUNT), 3 * PAGE_COUNT);
    CHECK_INT(taken(x), -1);
    store(x + 3 * PAGE_COUNT); /* loaded from before */
    store(x + 4 * PAGE_COUNT); /* not */
    store(x + 3 * PAGE_COUNT + 1);
    store(x + 40 * PAGE_COUNT); /* nobody's */
    CHECK_INT(taken(x), 3);
    CHECK_INT(taken(x), 4);
    CHECK_INT(taken(x), -1);
    CHECK_OK(machine->stream_sync(stream));
    CHECK_UINT(load(y + 3 * PAGE_COUNT), 2); /* and so it is */
    store(x + 5 * PAGE_COUNT);
    CHECK_INT(taken(x), -1);
}

/* The same of pages that the device holds: the first touch brings them home, and may be a store or not. */
static void stores_to_what_a_device_reads_are_noticed(void) {
    if (!backend_sim_tells_stores())
        SKIP("this system cannot tell stores from loads");
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *first = machine_stream(0), *second = machine_stream(0);
    fill(x, BLOCK / 4, 0);
    CHECK_OK(machine_move(x, 64 * PAGE, 0, BACKEND_PREFETCH, first));
    touch(x, 32 * PAGE, FERRY_READ, first);
    touch(x, 48 * PAGE, FERRY_READ, second);
    counted();
    load(x);
    load(x + PAGE_COUNT);
    CHECK_INT(taken(x), -1);
    store(x + PAGE_COUNT);      /* at home by now */
    store(x + 20 * PAGE_COUNT); /* not yet */
    store(x + 60 * PAGE_COUNT); /* read by nobody */
    CHECK_UINT(counted().cpu_faults, 3);
    CHECK_INT(taken(x), 1);
    CHECK_INT(taken(x), 20);
    CHECK_INT(taken(x), -1);
    CHECK_OK(machine->stream_sync(first));
    store(x + 21 * PAGE_COUNT); /* the second still reads it */
    CHECK_INT(taken(x), 21);
    CHECK_OK(machine->stream_sync(second));
    store(x + 22 * PAGE_COUNT);
    CHECK_INT(taken(x), -1);
}

/* Who notices nothing tells nothing. */
static void untracked_haste_is_not_told(void) {
    uint32_t *x = machine_reserve(BLOCK, true);
    backend_stream *stream = machine_stream(0);
    machine_add(x, x, 1, PAGE_COUNT, stream);
    store(x);
    CHECK_INT(taken(x), -1);
    CHECK(!backend_sim_tells_stores());
}

/* The same rules, page by page and naively, against random programs. */
enum { PAGES = 512, STREAMS = 3, STEPS = 4000, GROUP = 16, MOST = 100000 };

enum notice { NOTHING, STORES, ALL };

struct page {
    ferry_place place;
    int writers, readers;
    enum notice notice;
};

struct use {
    int stream, first, end;
    bool only_read, homed;
};

static struct page model[2][PAGES]; /* of the region that is not host-homed, and of the one that is */
static uint32_t *bases[2];
static struct use uses[STEPS];
static int use_count;
static backend_stream *streams[STREAMS];
static int expected[MOST], expected_count, expected_from;
static test_random source;
static uint64_t seed;

static int pick(int low, int high) {
    return (int)test_random_int(&source, low, high);
}

static enum notice needed(const struct page *p) {
    if (p->place >= 0 || p->writers)
        return ALL;
    return p->readers && backend_sim_tells_stores() ? STORES : NOTHING;
}

static void lower(struct page *p) {
    p->notice = p->notice < needed(p) ? p->notice : needed(p);
}

static void queue(int stream, bool homed, int first, int end, bool only_read) {
    for (int i = first; i < end; i++) {
        struct page *p = &model[homed][i];
        *(only_read ? &p->readers : &p->writers) += 1;
        if (!only_read)
            p->notice = ALL;
        else if (p->notice == NOTHING && backend_sim_tells_stores())
            p->notice = STORES;
    }
    if (first < end)
        uses[use_count++] = (struct use){stream, first, end, only_read, homed};
}

static void random_kernel(bool homed) {
    int first = pick(0, PAGES - 1), end = pick(first + 1, PAGES < first + 60 ? PAGES : first + 60);
    int skip = pick(0, 3) ? 0 : pick(1, 500), cut = pick(0, 3) ? 0 : pick(1, 500), stream = pick(0, STREAMS - 1);
    ferry_access access = (ferry_access)pick(FERRY_READ, FERRY_READWRITE);
    touch(bases[homed] + (size_t)first * PAGE_COUNT + skip,
          ((size_t)(end - first) * PAGE_COUNT - (size_t)(skip + cut)) * 4, access, streams[stream]);
    for (int i = first; i < end; i++) {
        struct page *p = &model[homed][i];
        p->place = !homed ? 0 : p->place == FERRY_PLACE_NOWHERE ? FERRY_PLACE_HOST : p->place;
        p->notice = !homed ? ALL : p->notice;
    }
    queue(stream, homed, first + (skip != 0), end - (cut != 0), access == FERRY_READ);
}

static void random_move(bool homed) {
    int first = pick(0, PAGES - 1), end = pick(first + 1, PAGES < first + 60 ? PAGES : first + 60);
    ferry_place to = pick(0, 1) ? 0 : FERRY_PLACE_HOST;
    bool discard = pick(0, 4) == 0;
    int stream = pick(0, STREAMS - 1);
    REQUIRE_OK(machine_move(bases[homed] + (size_t)first * PAGE_COUNT, (size_t)(end - first) * PAGE, to,
                            discard ? BACKEND_DISCARD_PREFETCH : BACKEND_PREFETCH, streams[stream]));
    for (int i = first; i < end; i++) {
        struct page *p = &model[homed][i];
        p->place = to;
        p->notice = to >= 0 ? ALL : p->notice;
    }
    if (discard)
        queue(stream, homed, first, end, false);
    for (int i = first; i < end; i++)
        lower(&model[homed][i]);
}

static void expect(bool homed, int page) {
    REQUIRE(expected_count < MOST);
    expected[expected_count++] = (homed ? PAGES : 0) + page;
}

/* A touch where all are noticed. */
static void expect_home(bool homed, int page) {
    struct page *p = &model[homed][page];
    int group = page / GROUP * GROUP;
    if (p->writers)
        expect(homed, page);
    for (int i = group; i < group + GROUP; i++) {
        struct page *q = &model[homed][i];
        if (q->place >= 0 && p->place >= 0 && i != page)
            q->place = FERRY_PLACE_HOST;
    }
    p->place = FERRY_PLACE_HOST;
    for (int i = group; i < group + GROUP; i++)
        lower(&model[homed][i]);
    if (p->notice == ALL)
        p->notice = NOTHING;
}

static void random_host(bool homed) {
    int page = pick(0, PAGES - 1);
    bool stores = pick(0, 1);
    uint32_t *address = bases[homed] + (size_t)page * PAGE_COUNT + pick(0, (int)PAGE_COUNT - 1);
    struct page *p = &model[homed][page];
    if (stores)
        store(address);
    else
        load(address);
    if (p->notice == ALL)
        expect_home(homed, page);
    if (stores && p->notice == STORES) {
        expect(homed, page);
        p->notice = NOTHING;
    }
    if (p->place == FERRY_PLACE_NOWHERE)
        p->place = FERRY_PLACE_HOST;
}

static void random_sync(bool homed) {
    (void)homed;
    int stream = pick(0, STREAMS - 1), kept = 0;
    CHECK_OK(machine->stream_sync(streams[stream]));
    for (int u = 0; u < use_count; u++) {
        const struct use *use = &uses[u];
        if (use->stream != stream) {
            uses[kept++] = *use;
            continue;
        }
        for (int i = use->first; i < use->end; i++) {
            struct page *p = &model[use->homed][i];
            *(use->only_read ? &p->readers : &p->writers) -= 1;
            lower(p);
        }
    }
    use_count = kept;
}

static void check_told(void) {
    CHECK_UINT(backend_sim_unsynchronised(), (uint64_t)expected_count);
    for (; expected_from < expected_count; expected_from++) {
        int wanted = expected[expected_from];
        REQUIRE(CHECK_INT(taken(bases[wanted >= PAGES]), wanted % PAGES));
    }
    CHECK_INT(taken(bases[0]), -1);
}

static void haste_agrees_with_the_model(void) {
    void (*const actions[])(bool) = {random_kernel, random_move, random_host, random_host,
                                     random_host,   random_host, random_host, random_sync};
    source.state = seed;
    for (int s = 0; s < STREAMS; s++)
        streams[s] = machine_stream(0);
    for (int r = 0; r < 2; r++) {
        bases[r] = machine_reserve(PAGES * PAGE, r == 1);
        for (int i = 0; i < PAGES; i++)
            model[r][i].place = FERRY_PLACE_NOWHERE;
    }
    for (int step = 0; step < STEPS; step++) {
        actions[pick(0, 7)](pick(0, 2) != 0);
        check_told();
    }
    CHECK_THAT(expected_count > STEPS / 100, "only %d hasty touches were tried", expected_count);
}

int main(void) {
    seed = test_seed(71);
    STORY(the_earliest_comes_first, "");
    STORY(the_earliest_are_kept, "");
    STORY(stores_under_a_reader_are_noticed, "");
    STORY(stores_to_what_a_device_reads_are_noticed, "");
    STORY(haste_agrees_with_the_model, "");
    CHECK_INT(sim_child(untracked_haste_is_not_told, &test_failures, "FERRY_SIM_TOUCH=off"), 0);
    return test_finish();
}

/*
 * Random moves, kernels and host accesses against an oracle that knows each page by itself: contents, places and every
 * counter agree after every step.
 */
#include "tests/backend/sim_case.h"

enum { PAGES = 1536, DEVICES = 3, STEPS = 3000 };

struct oracle {
    uint32_t *base;
    bool homed;
    ferry_place place[PAGES];
    uint32_t
        value[PAGES]; /* of every element; pages whose contents a discard spoiled are written before they are read */
    bool spoiled[PAGES];
};

static struct oracle oracles[2];
static backend_measure expected;
static backend_stream *streams[DEVICES];
static test_random source;

static int pick(int low, int high) {
    return (int)test_random_int(&source, low, high);
}

/* A short or a long run of pages. */
static void pick_run(int *first, int *count) {
    *first = pick(0, PAGES - 1);
    int limit = pick(0, 3) ? 40 : PAGES;
    *count = pick(1, PAGES - *first < limit ? PAGES - *first : limit);
}

static uint32_t *page_at(const struct oracle *o, int page) {
    return o->base + (size_t)page * PAGE_COUNT;
}

static void expect_move(struct oracle *o, int page, ferry_place to, backend_move_kind kind) {
    ferry_place from = o->place[page];
    o->place[page] = to;
    if (kind == BACKEND_DISCARD_PREFETCH)
        o->spoiled[page] = true;
    if (kind == BACKEND_DISCARD_PREFETCH || from == to || from == FERRY_PLACE_NOWHERE)
        return;
    if (to == FERRY_PLACE_HOST) {
        expected.bytes_to_host += PAGE;
        expected.prefetched_bytes_to_host += PAGE;
    } else if (from == FERRY_PLACE_HOST) {
        expected.bytes_to_device += PAGE;
        expected.prefetched_bytes_to_device += PAGE;
    } else {
        expected.bytes_between_devices += PAGE;
    }
}

static void random_move(struct oracle *o) {
    int first, count;
    pick_run(&first, &count);
    ferry_place to = pick(FERRY_PLACE_HOST, DEVICES - 1);
    backend_move_kind kind = pick(0, 2) ? BACKEND_PREFETCH : BACKEND_DISCARD_PREFETCH;
    REQUIRE_OK(machine_move(page_at(o, first), (size_t)count * PAGE, to, kind, streams[to < 0 ? 0 : to]));
    for (int i = first; i < first + count; i++)
        expect_move(o, i, to, kind);
}

static void expect_remote(struct oracle *o, int page, uint64_t bytes, ferry_access access, int device) {
    if (o->place[page] == device)
        return;
    if (o->place[page] >= 0) {
        expected.bytes_between_devices += access == FERRY_READWRITE ? 2 * bytes : bytes;
        return;
    }
    o->place[page] = FERRY_PLACE_HOST;
    expected.remote_bytes_to_device += access & FERRY_READ ? bytes : 0;
    expected.remote_bytes_to_host += access & FERRY_WRITE ? bytes : 0;
}

static void expect_fault(struct oracle *o, int page, int device, int *faulted_block) {
    if (o->place[page] == device)
        return;
    if (*faulted_block != page / (int)(BLOCK / PAGE))
        expected.gpu_faults++;
    *faulted_block = page / (int)(BLOCK / PAGE);
    expected.bytes_to_device += o->place[page] == FERRY_PLACE_HOST ? PAGE : 0;
    expected.bytes_between_devices += o->place[page] >= 0 ? PAGE : 0;
    o->place[page] = device;
}

/* Declares an access to bytes from within the first page to within the last. */
static void random_touch(struct oracle *o) {
    int first, count, device = pick(0, DEVICES - 1), faulted = -1;
    pick_run(&first, &count);
    size_t skip = (size_t)pick(0, PAGE / 2 - 1), cut = (size_t)pick(0, PAGE / 2 - 1);
    ferry_access access = (ferry_access)pick(FERRY_READ, FERRY_READWRITE);
    touch((char *)page_at(o, first) + skip, (size_t)count * PAGE - skip - cut, access, streams[device]);
    for (int i = first; i < first + count; i++) {
        uint64_t bytes = PAGE - (i == first ? skip : 0) - (i == first + count - 1 ? cut : 0);
        if (o->homed)
            expect_remote(o, i, bytes, access, device);
        else
            expect_fault(o, i, device, &faulted);
    }
    REQUIRE_OK(machine->stream_sync(streams[device]));
}

/* What of the aligned `count` pages around one is on the device comes home. */
static void expect_home(struct oracle *o, int page, int count, ferry_place device) {
    for (int i = page / count * count; i < page / count * count + count; i++)
        if (o->place[i] == device) {
            o->place[i] = FERRY_PLACE_HOST;
            expected.bytes_to_host += PAGE;
        }
}

static int count_home(const struct oracle *o, int page, int count) {
    int home = 0;
    for (int i = page / count * count; i < page / count * count + count; i++)
        home += o->place[i] == FERRY_PLACE_HOST;
    return home;
}

/* 64 KiB, and of the 128 KiB … 2 MiB around them the largest part that is then at home by more than 51 %. */
static void expect_host(struct oracle *o, int page) {
    ferry_place device = o->place[page];
    if (device < 0) {
        o->place[page] = FERRY_PLACE_HOST;
        return;
    }
    expected.cpu_faults++;
    expect_home(o, page, 16, device);
    for (int count = 512; count > 16; count /= 2)
        if (100 * count_home(o, page, count) > 51 * count) {
            expect_home(o, page, count, device);
            return;
        }
}

static void sync_all(void) {
    for (int d = 0; d < DEVICES; d++)
        REQUIRE_OK(machine->stream_sync(streams[d]));
}

static void random_host_access(struct oracle *o) {
    sync_all();
    for (int n = pick(1, 20); n > 0; n--) {
        int page = pick(0, PAGES - 1);
        volatile uint32_t *x = page_at(o, page);
        expect_host(o, page);
        if (o->spoiled[page] || pick(0, 1)) {
            o->value[page] = (uint32_t)test_random_next(&source);
            o->spoiled[page] = false;
            for (size_t i = 0; i < PAGE_COUNT; i++)
                x[i] = o->value[page];
        } else {
            CHECK_UINT(x[pick(0, (int)PAGE_COUNT - 1)], o->value[page]);
        }
    }
}

static bool agree(const backend_measure *got) {
    return CHECK_UINT(got->bytes_to_device, expected.bytes_to_device) &&
           CHECK_UINT(got->bytes_to_host, expected.bytes_to_host) &&
           CHECK_UINT(got->prefetched_bytes_to_device, expected.prefetched_bytes_to_device) &&
           CHECK_UINT(got->prefetched_bytes_to_host, expected.prefetched_bytes_to_host) &&
           CHECK_UINT(got->bytes_between_devices, expected.bytes_between_devices) &&
           CHECK_UINT(got->gpu_faults, expected.gpu_faults) && CHECK_UINT(got->cpu_faults, expected.cpu_faults) &&
           CHECK_UINT(got->remote_bytes_to_device, expected.remote_bytes_to_device) &&
           CHECK_UINT(got->remote_bytes_to_host, expected.remote_bytes_to_host);
}

static void check_places(const struct oracle *o, int step) {
    unsigned char present[PAGES];
    int wrong = -1;
    REQUIRE_OK(machine->observe(o->base, PAGES, present));
    for (int i = 0; i < PAGES && wrong < 0; i++)
        if (place_of(page_at(o, i)) != o->place[i] || present[i] != (o->place[i] == FERRY_PLACE_HOST))
            wrong = i;
    REQUIRE(CHECK_THAT(wrong < 0, "step %d: page %d is in another place", step, wrong));
}

static void check_contents(const struct oracle *o) {
    sync_all();
    for (int i = 0; i < PAGES; i++) {
        uint32_t want = o->spoiled[i] ? 0xdbdbdbdb : o->value[i];
        CHECK_UINT(device_view(page_at(o, i))[i % (int)PAGE_COUNT], want);
    }
}

static void prepare(uint64_t seed) {
    source.state = seed;
    for (int d = 0; d < DEVICES; d++)
        streams[d] = machine_stream(d);
    for (int r = 0; r < 2; r++) {
        oracles[r].homed = r == 0;
        oracles[r].base = machine_reserve(PAGES * PAGE, oracles[r].homed);
        for (int i = 0; i < PAGES; i++)
            oracles[r].place[i] = FERRY_PLACE_NOWHERE;
    }
}

static uint64_t seed;

static void the_machine_agrees_with_the_oracle(void) {
    void (*const actions[])(struct oracle *) = {random_move, random_move, random_touch, random_host_access};
    prepare(seed);
    for (int step = 0; step < STEPS; step++) {
        struct oracle *o = &oracles[pick(0, 1)];
        actions[pick(0, 3)](o);
        backend_measure got = backend_sim_totals();
        REQUIRE(agree(&got));
        if (step % 64 == 0)
            check_places(o, step);
    }
    check_places(&oracles[0], STEPS);
    check_places(&oracles[1], STEPS);
    check_contents(&oracles[0]);
    check_contents(&oracles[1]);
    CHECK_UINT(backend_sim_unsynchronised(), 0);
}

int main(void) {
    seed = test_seed(20250);
    STORY(the_machine_agrees_with_the_oracle, "FERRY_SIM_DEVICES=3 FERRY_SIM_POISON=1");
    return test_finish();
}

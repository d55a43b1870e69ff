#include "tests/alloc/fake.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SPACE_BYTES ((size_t)64 << 30)
#define REGIONS 1024
#define KEPT_MOVES 64

struct backend_stream {
    int index, device;
    uint64_t queued, done;
    uint64_t clock[FAKE_STREAMS];
};

struct backend_event {
    struct fake_work work; /* at 0: never recorded */
};

struct fake_settings fake_settings;
_Atomic int fake_move_status;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t calls;
static struct backend_stream slots[FAKE_STREAMS];
static bool taken[FAKE_STREAMS];
static backend_move kept[KEPT_MOVES];
static size_t nmoves, ntouches;
static char *space, *first, *next;
static struct range { char *begin, *end; } regions[REGIONS]; /* begin NULL: free */

static void enter(void) {
    atomic_fetch_add(&calls, 1);
    pthread_mutex_lock(&lock);
}

static ferry_status leave(void) {
    pthread_mutex_unlock(&lock);
    return FERRY_OK;
}

uint64_t fake_calls(void) {
    return atomic_load(&calls);
}

static ferry_status fake_open(void) {
    enter();
    if (space == NULL) {
        space = mmap(NULL, SPACE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        next = first = (char *)(((uintptr_t)space + FERRY_BLOCK_BYTES - 1) / FERRY_BLOCK_BYTES * FERRY_BLOCK_BYTES);
    }
    return leave();
}

static int fake_device_count(void) {
    return fake_settings.devices == 0 ? 1 : fake_settings.devices;
}

static ferry_status fake_device_get(int device, ferry_device_info *out) {
    (void)device;
    enter();
    *out = (ferry_device_info){.name = "fake",
                               .total_bytes = (size_t)1 << 40,
                               .free_bytes = (size_t)1 << 40,
                               .concurrent_managed_access = !fake_settings.separate};
    return leave();
}

/* The region that overlaps a range, or without a range a free slot. */
static struct range *find_region(const char *begin, const char *end) {
    for (int i = 0; i < REGIONS; i++) {
        if (begin == end ? regions[i].begin == NULL : begin < regions[i].end && regions[i].begin < end) {
            return &regions[i];
        }
    }
    return NULL;
}

/* Going round, so that addresses come back as late as can be: a stale pointer faults. NULL: no room. */
static char *find_room(size_t bytes) {
    bool wrapped = false;
    char *at = next;
    for (;;) {
        const struct range *taken_by = at + bytes <= space + SPACE_BYTES ? find_region(at, at + bytes) : NULL;
        if (taken_by != NULL) {
            at = taken_by->end;
        } else if (at + bytes <= space + SPACE_BYTES) {
            next = at + bytes;
            return at;
        } else if (wrapped) {
            return NULL;
        } else {
            wrapped = true;
            at = first;
        }
    }
}

static ferry_status fake_reserve(size_t bytes, bool host_homed, void **out) {
    (void)host_homed;
    enter();
    struct range *slot = find_region(NULL, NULL);
    char *at = slot == NULL ? NULL : find_room(bytes);
    if (at == NULL) {
        leave();
        return ferry_error(FERRY_OUT_OF_MEMORY, "the fake backend has no room for %zu bytes", bytes);
    }
    if (!fake_settings.inaccessible) {
        mprotect(at, bytes, PROT_READ | PROT_WRITE);
    }
    madvise(at, bytes, MADV_DONTFORK);
    *slot = (struct range){at, at + bytes};
    *out = at;
    return leave();
}

static ferry_status fake_release(void *base, size_t bytes) {
    enter();
    *find_region(base, (char *)base + 1) = (struct range){NULL, NULL};
    mmap(base, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return leave();
}

static ferry_status fake_move(const backend_move *moves, size_t n, backend_stream *stream) {
    const ferry_status status = (ferry_status)atomic_load(&fake_move_status);
    if (status != FERRY_OK) {
        atomic_fetch_add(&calls, 1);
        return ferry_error(status, "the fake backend does not move");
    }
    enter();
    for (size_t i = 0; i < n; i++) {
        kept[nmoves++ % KEPT_MOVES] = moves[i];
    }
    stream->clock[stream->index] = ++stream->queued;
    return leave();
}

size_t fake_moves(const backend_move **moves) {
    pthread_mutex_lock(&lock);
    const size_t n = nmoves;
    nmoves = 0;
    pthread_mutex_unlock(&lock);
    if (moves != NULL) {
        *moves = kept;
    }
    return n;
}

static ferry_status fake_stream_create(int device, backend_stream **out) {
    enter();
    for (int i = 0; i < FAKE_STREAMS; i++) {
        if (!taken[i]) {
            taken[i] = true;
            /* Numbers go on, so that work of the slot's former stream stays ended. */
            slots[i].index = i;
            slots[i].device = device;
            *out = &slots[i];
            return leave();
        }
    }
    leave();
    return ferry_error(FERRY_BACKEND, "the fake backend has %d streams", FAKE_STREAMS);
}

static ferry_status fake_stream_wrap(int device, void *native, backend_stream **out) {
    (void)native;
    return fake_stream_create(device, out);
}

/* Does not wait, as CUDA does not. */
static void fake_stream_destroy(backend_stream *stream) {
    enter();
    taken[stream->index] = false;
    leave();
}

static void *fake_stream_native(backend_stream *stream) {
    atomic_fetch_add(&calls, 1);
    return stream;
}

/* Lock held. */
static void finish(backend_stream *stream) {
    for (int i = 0; i < FAKE_STREAMS; i++) {
        const uint64_t until = i == stream->index ? stream->queued : stream->clock[i];
        slots[i].done = slots[i].done < until ? until : slots[i].done;
    }
}

static ferry_status fake_stream_sync(backend_stream *stream) {
    enter();
    finish(stream);
    return leave();
}

static void join(uint64_t *clock, const uint64_t *other) {
    for (int i = 0; i < FAKE_STREAMS; i++) {
        clock[i] = clock[i] < other[i] ? other[i] : clock[i];
    }
}

static ferry_status fake_stream_wait(backend_stream *stream, backend_event *event) {
    enter();
    join(stream->clock, event->work.clock);
    return leave();
}

static ferry_status fake_event_create(int device, backend_event **out) {
    (void)device;
    atomic_fetch_add(&calls, 1);
    *out = calloc(1, sizeof **out);
    return *out == NULL ? FERRY_OUT_OF_MEMORY : FERRY_OK;
}

static void fake_event_destroy(backend_event *event) {
    atomic_fetch_add(&calls, 1);
    free(event);
}

/* Lock held. */
static struct fake_work queue_work(backend_stream *stream) {
    stream->clock[stream->index] = ++stream->queued;
    struct fake_work work = {.stream = stream->index, .at = stream->queued};
    join(work.clock, stream->clock);
    return work;
}

static ferry_status fake_event_record(backend_event *event, backend_stream *stream) {
    enter();
    event->work = queue_work(stream);
    return leave();
}

bool fake_ended(const struct fake_work *work) {
    pthread_mutex_lock(&lock);
    const bool ended = slots[work->stream].done >= work->at;
    pthread_mutex_unlock(&lock);
    return ended;
}

static ferry_status fake_event_query(backend_event *event, bool *done) {
    atomic_fetch_add(&calls, 1);
    *done = event->work.at == 0 || fake_ended(&event->work);
    return FERRY_OK;
}

static ferry_status fake_event_sync(backend_event *event) {
    enter();
    finish(&slots[event->work.stream]);
    return leave();
}

struct fake_work fake_launch(const ferry_stream *stream) {
    pthread_mutex_lock(&lock);
    const struct fake_work work = queue_work(stream->native);
    pthread_mutex_unlock(&lock);
    return work;
}

void fake_finish(const ferry_stream *stream) {
    pthread_mutex_lock(&lock);
    finish(stream->native);
    pthread_mutex_unlock(&lock);
}

bool fake_before(const struct fake_work *earlier, const struct fake_work *later) {
    return later->clock[earlier->stream] >= earlier->at;
}

static ferry_status refuse(void) {
    atomic_fetch_add(&calls, 1);
    return ferry_error(FERRY_UNSUPPORTED, "the fake backend has no kernels and measures nothing");
}

static ferry_status fake_kernel_load(const void *image, size_t bytes, const char *name, ferry_host_kernel host,
                                     backend_kernel **out) {
    (void)image, (void)bytes, (void)name, (void)host, (void)out;
    return refuse();
}

static ferry_status fake_touch(const backend_touch *touches, size_t n, backend_stream *stream) {
    (void)touches, (void)stream;
    enter();
    ntouches += n;
    return leave();
}

size_t fake_touches(void) {
    pthread_mutex_lock(&lock);
    const size_t n = ntouches;
    ntouches = 0;
    pthread_mutex_unlock(&lock);
    return n;
}

static ferry_status fake_trace_read(backend_measure *out) {
    (void)out;
    return refuse();
}

static uint64_t fake_now_ns(void) {
    return 0;
}

static const backend table = {
    .name = "fake",
    .open = fake_open,
    .device_count = fake_device_count,
    .device_get = fake_device_get,
    .reserve = fake_reserve,
    .release = fake_release,
    .move = fake_move,
    .stream_create = fake_stream_create,
    .stream_wrap = fake_stream_wrap,
    .stream_destroy = fake_stream_destroy,
    .stream_native = fake_stream_native,
    .stream_sync = fake_stream_sync,
    .stream_wait = fake_stream_wait,
    .event_create = fake_event_create,
    .event_destroy = fake_event_destroy,
    .event_record = fake_event_record,
    .event_query = fake_event_query,
    .event_sync = fake_event_sync,
    .kernel_load = fake_kernel_load,
    .touch = fake_touch,
    .trace_start = refuse,
    .trace_read = fake_trace_read,
    .trace_stop = refuse,
    .now_ns = fake_now_ns,
};

const backend *fake_backend(void) {
    return &table;
}

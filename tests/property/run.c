#include <stdlib.h>
#include <unistd.h>

#include "alloc/backend_sim.h"
#include "alloc/core.h"
#include "kernel.h"
#include "policies.h"
#include "tests/test.h"
#include "views.h"

/* A failure goes to the process that started this one, which may want to try again with fewer steps. */
void fail(const struct world *world, const char *format, ...) {
    char text[1500];
    const struct program *program = world->program;
    const char *kind = world->at < program->nsteps ? step_name(program->steps[world->at].kind) : "end";
    int n = snprintf(text, sizeof text, "step %zu (%s): ", world->at, kind);
    va_list args;
    va_start(args, format);
    n += vsnprintf(text + n, sizeof text - (size_t)n, format, args);
    va_end(args);
    say(world, "FAILS: %s", text);
    n = n < (int)sizeof text ? n : (int)sizeof text - 1;
    _exit(write(world->result, text, (size_t)n) == n ? 1 : 2);
}

void say(const struct world *world, const char *format, ...) {
    if (!world->verbose) {
        return;
    }
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%4zu  ", world->at);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

void skip(const struct world *world, const char *format, ...) {
    char text[1500];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const size_t length = n < (int)sizeof text ? (size_t)n : sizeof text - 1;
    _exit(write(world->result, text, length) == (ssize_t)length ? TEST_SKIPPED : 2);
}

void expect_ok(const struct world *world, ferry_status status, const char *what) {
    if (status != FERRY_OK) {
        fail(world, "%s: %s: %s", what, ferry_status_name(status), ferry_error_detail());
    }
}

bool went_well(const struct world *world, ferry_status status, const char *what) {
    if (!world->program->rules.faults) {
        expect_ok(world, status, what);
    } else if (status != FERRY_OK) {
        say(world, "%s fails: %s", what, ferry_error_detail());
    }
    return status == FERRY_OK;
}

static void toggle_trace(struct world *world) {
    if (world->program->rules.cuda) {
        return;
    }
    say(world, "trace %s", world->tracing ? "stop" : "start");
    const ferry_status status = world->tracing ? ferry_trace_stop() : ferry_trace_start();
    world->traced_from = backend_sim_totals();
    /* A stop that failed has stopped. */
    world->tracing = status == FERRY_OK ? !world->tracing : false;
    (void)went_well(world, status, "ferry_trace_start or _stop");
}

static void step_stream(struct world *world, const struct step *step) {
    const int device = (int)(step->random % (uint64_t)world->devices);
    if (step->stream == 0) {
        return;
    }
    say(world, "stream %d is destroyed and made anew on device %d", step->stream, device);
    ferry_stream_destroy(world->streams[step->stream]);
    world->streams[step->stream] = NULL;
    (void)went_well(world, ferry_stream_create(device, &world->streams[step->stream]), "ferry_stream_create");
}

static void step_sync(struct world *world, const struct step *step) {
    ferry_stream *stream = step->random % 2 ? NULL : world->streams[step->stream];
    say(world, "sync %s", stream == NULL ? "everything" : "one stream");
    (void)went_well(world, ferry_sync(stream), "ferry_sync");
}

static void run_other(struct world *world, const struct step *step) {
    switch (step->kind) {
    case STEP_SYNC:
        step_sync(world, step);
        break;
    case STEP_TRIM:
        say(world, "trim");
        (void)went_well(world, ferry_trim(), "ferry_trim");
        break;
    case STEP_RESET:
        say(world, "reset the counters");
        (void)went_well(world, ferry_stats_reset(), "ferry_stats_reset");
        account_reset(world);
        break;
    case STEP_TRACE:
        toggle_trace(world);
        break;
    case STEP_STREAM:
        step_stream(world, step);
        break;
    case STEP_FAULT:
        say(world, "call %d of the backend from here fails", (int)(step->random % 12) + 1);
        backend_faulty_arm(step->random % 12 + 1);
        break;
    default:
        break;
    }
}

static void run_step(struct world *world, const struct step *step) {
    static void (*const functions[STEP_KINDS])(struct world *, const struct step *) = {
        [STEP_ALLOCATE] = step_allocate,     [STEP_FREE] = step_free,           [STEP_REALLOCATE] = step_reallocate,
        [STEP_HOST_WRITE] = step_host_write, [STEP_HOST_READ] = step_host_read, [STEP_RAW_WRITE] = step_raw,
        [STEP_RAW_READ] = step_raw,          [STEP_LAUNCH] = step_launch,       [STEP_ASSIGN] = step_assign,
        [STEP_PREFETCH] = step_prefetch,     [STEP_HEAP] = step_heap,           [STEP_READERS] = step_readers,
        [STEP_REPLACE] = step_replace,       [STEP_ADVISE] = step_advise,       [STEP_THREAD] = step_thread,
    };
    (functions[step->kind] != NULL ? functions[step->kind] : run_other)(world, step);
    if (recorder_recording()->npages > 0 && world->program->rules.accounts) {
        fail(world, "%zu pages were moved by a step that uses nothing", recorder_recording()->npages);
    }
    recorder_clear();
    account_check(world);
}

static void after_step(struct world *world, const struct step *step) {
    for (int i = 0; i <= SLOTS; i++) {
        slot_forget_use(&world->slots[i]);
    }
    places_check(world, &world->slots[step->slot], step->random);
    places_check(world, &world->slots[step->operands[0].slot], step->random);
    world->nlaunched = 0;
}

/* Programs on the device share one start of the library, and so have a heap of their own for the default one. */
static void start_library(struct world *world) {
    const ferry_heap_options heap = policy_heap_options(world, 0, world->program->seed);
    if (world->program->rules.cuda) {
        expect_ok(world, ferry_heap_create(&heap, &world->heaps[0]), "ferry_heap_create");
        (void)ferry_thread_policy_set(FERRY_POLICY_DEFAULT);
        return;
    }
    core_use_backend(recorder(world->program->rules.faults ? backend_faulty(&backend_sim) : &backend_sim));
    expect_ok(world, ferry_init(&(ferry_options){.policy = heap.policy}), "ferry_init");
}

static void start(struct world *world) {
    ferry_device_info info;
    start_library(world);
    expect_ok(world, ferry_device_get(0, &info), "ferry_device_get");
    world->hints = info.concurrent_managed_access;
    world->devices = ferry_device_count();
    world->kernel = kernel_make(world);
    for (int i = 1; i < HEAPS; i++) {
        const ferry_heap_options options = policy_heap_options(world, i, world->program->seed >> 3 * i);
        expect_ok(world, ferry_heap_create(&options, &world->heaps[i]), "ferry_heap_create");
    }
    for (int i = 1; i < STREAMS; i++) {
        expect_ok(world, ferry_stream_create(i % world->devices, &world->streams[i]), "ferry_stream_create");
    }
    account_reset(world);
}

static void read_slot(struct world *world, struct slot *slot, const ferry_view *view) {
    expect_ok(world, ferry_host_acquire(view, FERRY_READ), "ferry_host_acquire");
    slot_verify(world, slot, view);
    account_step(world, HOST_SIDE, FERRY_PLACE_HOST);
    places_check(world, slot, world->program->seed);
}

/* Everything is still there, and can be read: first what need not be read by turns for it. */
static void read_everything(struct world *world, bool by_turns) {
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &world->slots[i];
        const int64_t count = (int64_t)slot->bytes;
        ferry_view view;
        if (slot->live) {
            expect_ok(world, ferry_view_make(slot->block, FERRY_UINT8, 1, &count, &view), "ferry_view_make");
            slot_use(slot, &view, FERRY_READ);
            if (slot_reads_by_turns(slot, HOST_SIDE) == by_turns) {
                read_slot(world, slot, &view);
            }
            slot_forget_use(slot);
        }
    }
    account_check(world);
}

/* Of everything that is defined; the host has acquired it. FNV-1a. */
static uint64_t digest(const struct world *world) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < SLOTS; i++) {
        const struct slot *slot = &world->slots[i];
        hash = (hash ^ (slot->live ? slot->bytes + 1 : 0)) * UINT64_C(0x100000001b3);
        for (size_t at = 0; slot->live && at < slot->bytes; at++) {
            const unsigned char known = slot->mask[at];
            hash = (hash ^ (known == 0xff ? (unsigned char)slot->block[at] : 0x100)) * UINT64_C(0x100000001b3);
        }
    }
    return hash;
}

/* Once nothing is alive nothing is counted as alive, and every region can be given back. */
static void free_everything(struct world *world) {
    ferry_stats stats;
    for (int i = 0; i < SLOTS; i++) {
        if (world->slots[i].live) {
            free_slot(&world->slots[i]);
        }
    }
    expect_ok(world, ferry_sync(NULL), "ferry_sync");
    expect_ok(world, ferry_trim(), "ferry_trim");
    expect_ok(world, ferry_stats_get(&stats), "ferry_stats_get");
    if (stats.live_bytes != 0) {
        fail(world, "%" PRIu64 " bytes live when everything has been freed", stats.live_bytes);
    }
    if (!world->program->rules.faults && stats.reserved_bytes != 0) {
        fail(world, "%" PRIu64 " bytes stay reserved when everything has been freed", stats.reserved_bytes);
    }
    for (int i = 1; i < STREAMS; i++) {
        ferry_stream_destroy(world->streams[i]);
    }
    for (int i = 0; i < HEAPS; i++) {
        ferry_heap_destroy(world->heaps[i]);
    }
    ferry_kernel_destroy(world->kernel);
}

uint64_t world_play(const struct program *program, bool verbose, int result) {
    static struct world world;
    world = (struct world){.program = program, .verbose = verbose, .result = result};
    start(&world);
    for (world.at = 0; world.at < program->nsteps; world.at++) {
        run_step(&world, &program->steps[world.at]);
        after_step(&world, &program->steps[world.at]);
    }
    backend_faulty_arm(0);
    read_everything(&world, false);
    world.relaxed = true;
    read_everything(&world, true);
    const uint64_t contents = digest(&world);
    free_everything(&world);
    return contents;
}

void world_run(const struct program *program, bool verbose, int result) {
    char text[32];
    const int n = snprintf(text, sizeof text, "%016" PRIx64, world_play(program, verbose, result));
    _exit(write(result, text, (size_t)n) == n ? 0 : 2);
}

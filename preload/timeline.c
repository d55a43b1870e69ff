#include "timeline.h"

#include <stdatomic.h>
#include <stddef.h>

#include "counters.h"
#include "storage.h"

#define FIRST_INTERVAL_NS 1000
/* Samples that a thinning frees at least: it looks at all of them. */
enum { ROOM = 64 };

/* Changes that the thread at work has not seen to yet; it began with the first. */
static _Atomic unsigned pending;

void timeline_begin(ferry_run_record *of) {
    atomic_store(&pending, 0);
    of->nsamples = 0;
    of->sample_every_ns = FIRST_INTERVAL_NS;
}

static ferry_run_sample sample_now(const ferry_run_record *of, uint64_t now_ns) {
    ferry_run_sample sample = {.time_ns = now_ns > of->began_ns ? now_ns - of->began_ns : 0};
    for (int i = 0; i < FERRY_RUN_HOMES; i++) {
        sample.live_bytes[i] = counter_get(&of->heaps[i].live_bytes);
        sample.peak_bytes += sample.live_bytes[i];
    }
    return sample;
}

static void merge(ferry_run_sample *into, const ferry_run_sample *later) {
    for (int i = 0; i < FERRY_RUN_HOMES; i++) {
        into->live_bytes[i] = later->live_bytes[i];
    }
    if (later->peak_bytes > into->peak_bytes) {
        into->peak_bytes = later->peak_bytes;
    }
}

/* No two samples are nearer than the interval, so that of any two neighbours one is left when it has doubled. */
static void thin(ferry_run_record *of) {
    do {
        uint32_t kept = 1;
        of->sample_every_ns *= 2;
        for (uint32_t i = 1; i < of->nsamples; i++) {
            const ferry_run_sample sample = of->samples[i];
            if (sample.time_ns - of->samples[kept - 1].time_ns >= of->sample_every_ns) {
                of->samples[kept++] = sample;
            } else {
                merge(&of->samples[kept - 1], &sample);
            }
        }
        of->nsamples = kept;
    } while (of->nsamples > FERRY_RUN_SAMPLES - ROOM);
}

static void take_sample(ferry_run_record *of, uint64_t now_ns) {
    const ferry_run_sample sample = sample_now(of, now_ns);
    if (of->nsamples == FERRY_RUN_SAMPLES) {
        thin(of);
    }
    ferry_run_sample *latest = of->nsamples == 0 ? NULL : &of->samples[of->nsamples - 1];
    /* Of threads that come at once the later may have looked at the clock first. */
    if (latest != NULL && sample.time_ns < latest->time_ns + of->sample_every_ns) {
        merge(latest, &sample);
    } else {
        of->samples[of->nsamples] = sample;
        of->nsamples++;
    }
}

void timeline_note(ferry_run_record *of, uint64_t now_ns) {
    unsigned seen = 1;
    if (!storage_reserve(offsetof(ferry_run_record, sites)) || atomic_fetch_add(&pending, 1) != 0) {
        return;
    }
    do {
        take_sample(of, now_ns);
    } while (!atomic_compare_exchange_strong(&pending, &seen, 0));
}

#include "stream.h"

#include <pthread.h>
#include <stdlib.h>

#include "caller.h"
#include "core.h"
#include "finding.h"
#include "hot.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t no_waiters = PTHREAD_COND_INITIALIZER; /* of some stream */
static ferry_stream *streams;
static uint64_t asking_round = 1; /* a new stream has been asked in none */

/* Per device, made on first use. */
static struct device_streams { ferry_stream *compute, *transfers; } * own_streams;

bool movement_try_lock(void) {
    return pthread_mutex_trylock(&lock) == 0;
}

HOT void movement_lock(void) {
    pthread_mutex_lock(&lock);
}

HOT void movement_unlock(void) {
    pthread_mutex_unlock(&lock);
}

static ferry_stream *pooled(void) {
    for (ferry_stream *stream = streams; stream != NULL; stream = stream->next) {
        if (stream->native == NULL) {
            return stream;
        }
    }
    ferry_stream *stream = calloc(1, sizeof *stream);
    if (stream != NULL) {
        stream->next = streams;
        streams = stream;
    }
    return stream;
}

static ferry_status create_locked(int device, void *wrapped_native, bool wrapped, ferry_stream **out) {
    if (device < 0 || device >= core.devices) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "there is no device %d; devices are 0 to %d", device,
                           core.devices - 1);
    }
    ferry_stream *stream = pooled();
    if (stream == NULL) {
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a stream's record");
    }
    backend_event *event = NULL;
    ferry_status status = core.backend->event_create(device, &event);
    if (status != FERRY_OK) {
        return status;
    }
    status = wrapped ? core.backend->stream_wrap(device, wrapped_native, &stream->native)
                     : core.backend->stream_create(device, &stream->native);
    if (status != FERRY_OK) {
        core.backend->event_destroy(event);
        return status;
    }
    stream->device = device;
    stream->wrapped = wrapped;
    stream->event = event;
    stream->event_at = 0;
    *out = stream;
    return FERRY_OK;
}

static ferry_status create(int device, void *native, bool wrapped, ferry_stream **out) {
    const ferry_status started = core_start_device();
    if (started != FERRY_OK) {
        return started;
    }
    movement_lock();
    const ferry_status status = create_locked(device, native, wrapped, out);
    movement_unlock();
    return status;
}

ferry_status ferry_stream_create(int device, ferry_stream **out) {
    return create(device, NULL, false, out);
}

ferry_status ferry_stream_wrap(int device, void *native, ferry_stream **out) {
    return create(device, native, true, out);
}

static ferry_status own_stream(int device, bool transfers, ferry_stream **out) {
    if (own_streams == NULL) {
        own_streams = calloc((size_t)core.devices, sizeof *own_streams);
        if (own_streams == NULL) {
            return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for the streams' table");
        }
    }
    ferry_stream **slot = transfers ? &own_streams[device].transfers : &own_streams[device].compute;
    if (*slot == NULL) {
        const ferry_status status = create_locked(device, NULL, false, slot);
        if (status != FERRY_OK) {
            return status;
        }
    }
    *out = *slot;
    return FERRY_OK;
}

HOT ferry_status stream_resolve(ferry_stream *stream, ferry_stream **out) {
    if (stream == NULL && own_streams != NULL) {
        stream = own_streams[0].compute;
    }
    *out = stream;
    return stream == NULL ? own_stream(0, false, out) : FERRY_OK;
}

ferry_status stream_for_transfers(int device, ferry_stream **out) {
    return own_stream(device, true, out);
}

void *ferry_stream_native(ferry_stream *stream) {
    ferry_stream *resolved = NULL;
    if (core_start_device() != FERRY_OK) {
        return NULL;
    }
    movement_lock();
    const ferry_status status = stream_resolve(stream, &resolved);
    movement_unlock();
    return status == FERRY_OK ? core.backend->stream_native(resolved->native) : NULL;
}

int ferry_stream_device(const ferry_stream *stream) {
    return stream == NULL ? 0 : stream->device;
}

HOT uint64_t stream_issue(ferry_stream *stream) {
    return ++stream->issued;
}

static void note_finished(ferry_stream *stream, uint64_t until) {
    if (!stream_has_finished(stream, until)) {
        atomic_store_explicit(&stream->finished, until, memory_order_release);
    }
}

/* Makes the stream's event stand for work up to `until` at least. */
static ferry_status record(ferry_stream *stream, uint64_t until) {
    if (stream->event_at >= until) {
        return FERRY_OK;
    }
    const ferry_status status = core.backend->event_record(stream->event, stream->native);
    if (status == FERRY_OK) {
        stream->event_at = stream->issued;
    }
    return status;
}

void stream_begin_round(void) {
    asking_round++;
}

bool stream_poll(ferry_stream *stream, uint64_t until) {
    if (stream_has_finished(stream, until)) {
        return true;
    }
    if (stream->asked_in == asking_round) {
        return false;
    }
    stream->asked_in = asking_round;
    /* An event that stands for less is asked first: recording it anew each time would put the answer off for ever. */
    if (stream->event_at <= atomic_load(&stream->finished) && record(stream, until) != FERRY_OK) {
        return false;
    }
    bool done = false;
    if (core.backend->event_query(stream->event, &done) == FERRY_OK && done) {
        note_finished(stream, stream->event_at);
    }
    return stream_has_finished(stream, until);
}

/* Waits for all that is queued, the caller's own launches, which have no numbers, included. Lock held, and let go while
 * waiting: a stream is not destroyed under its waiters. */
static ferry_status sync_native(ferry_stream *stream) {
    const uint64_t issued = stream->issued;
    backend_stream *native = stream->native;
    stream->waiters++;
    movement_unlock();
    const ferry_status status = core.backend->stream_sync(native);
    movement_lock();
    if (--stream->waiters == 0) {
        pthread_cond_broadcast(&no_waiters);
    }
    if (status == FERRY_OK) {
        note_finished(stream, issued);
    }
    return status;
}

void ferry_stream_destroy(ferry_stream *stream) {
    if (stream == NULL || core_forked()) {
        return;
    }
    movement_lock();
    (void)sync_native(stream);
    while (stream->waiters > 0) {
        pthread_cond_wait(&no_waiters, &lock);
    }
    atomic_store(&stream->finished, stream->issued);
    core.backend->event_destroy(stream->event);
    core.backend->stream_destroy(stream->native);
    stream->event = NULL;
    stream->native = NULL;
    movement_unlock();
}

ferry_status stream_wait_on_host(ferry_stream *stream, uint64_t until) {
    return stream_has_finished(stream, until) ? FERRY_OK : sync_native(stream);
}

ferry_status stream_wait_for(ferry_stream *stream, ferry_stream *other, uint64_t until) {
    if (stream == other || stream_has_finished(other, until)) {
        return FERRY_OK;
    }
    const ferry_status status = record(other, until);
    return status == FERRY_OK ? core.backend->stream_wait(stream->native, other->event) : status;
}

ferry_status stream_wait_for_all(void) {
    ferry_status first = FERRY_OK;
    for (ferry_stream *stream = streams; stream != NULL; stream = stream->next) {
        if (stream->native != NULL) {
            const ferry_status status = sync_native(stream);
            first = first == FERRY_OK ? status : first;
        }
    }
    return first;
}

void stream_sync_all(void) {
    movement_lock();
    (void)stream_wait_for_all();
    movement_unlock();
}

static ferry_status sync_resolved(ferry_stream *stream) {
    ferry_stream *resolved = NULL;
    const ferry_status status = stream_resolve(stream, &resolved);
    return status == FERRY_OK ? sync_native(resolved) : status;
}

static ferry_status sync(ferry_stream *stream, bool all, ferry_site site) {
    struct strict_crossing finding;
    movement_lock();
    ferry_status status = all ? stream_wait_for_all() : sync_resolved(stream);
    observe_begin_round();
    status = status == FERRY_OK ? finding_of_touch(site, &finding) : status;
    movement_unlock();
    return finding_tell(status, &finding);
}

ferry_status ferry_sync(ferry_stream *stream) {
    const ferry_status started = core_start();
    return started != FERRY_OK || core_forked() ? started : sync(stream, stream == NULL, CALLER_SITE());
}

ferry_status ferry_stream_sync(ferry_stream *stream) {
    const ferry_status started = core_start_device();
    return started != FERRY_OK || core_forked() ? started : sync(stream, false, CALLER_SITE());
}

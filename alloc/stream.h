/*
 * Streams as the library counts them: work that the library knows of is numbered, so that "is the kernel that uses this
 * block done?" is a comparison in most cases, and an event is recorded only when somebody has to ask the device.
 *
 * The movement lock guards everything here and in uses, residency and deferred frees. `finished` may be read without
 * it.
 */
#ifndef FERRY_ALLOC_STREAM_H
#define FERRY_ALLOC_STREAM_H

#include "storage.h"

struct ferry_stream {
    int device;
    bool wrapped;              /* the native stream is the caller's */
    backend_stream *native;    /* NULL in the pool */
    int waiters;               /* threads that wait for it without the lock */
    uint64_t issued;           /* number of the latest work */
    _Atomic uint64_t finished; /* all work up to it has ended */
    backend_event *event;      /* recorded after `event_at`, 0: not recorded, or known to be done */
    uint64_t event_at;
    uint64_t asked_in;  /* the round in which the device was last asked */
    ferry_stream *next; /* of all, in creation order; records are never freed, they are pooled */
};

void movement_lock(void);
bool movement_try_lock(void);
void movement_unlock(void);

/* The stream itself, or for NULL the library's own stream of device 0. Lock held. */
ferry_status stream_resolve(ferry_stream *stream, ferry_stream **out);

/* The library's stream for moves from `device` to the host. Lock held. */
ferry_status stream_for_transfers(int device, ferry_stream **out);

/* Numbers the work just queued. Lock held. */
uint64_t stream_issue(ferry_stream *stream);

static inline bool stream_has_finished(const ferry_stream *stream, uint64_t until) {
    return atomic_load_explicit(&stream->finished, memory_order_acquire) >= until;
}

/* Asks the device, without waiting, whether work up to `until` has ended. Lock held. */
bool stream_poll(ferry_stream *stream, uint64_t until);

/* Begins a round: each stream's device is asked at most once in it, however many blocks wait for the stream. Lock held.
 */
void stream_begin_round(void);

/* Waits on the host. Lock held, and let go while waiting. */
ferry_status stream_wait_on_host(ferry_stream *stream, uint64_t until);

/* Makes later work of `stream` wait for the other's work up to `until`. Lock held. */
ferry_status stream_wait_for(ferry_stream *stream, ferry_stream *other, uint64_t until);

/* Waits for every stream, for the library's own ends. No lock. */
void stream_sync_all(void);

/* Waits for every stream. Lock held, and let go while waiting. */
ferry_status stream_wait_for_all(void);

/* Uses: lock held. */

/* Whether what comes next on the stream comes after the use, without its waiting for anything. */
static inline bool use_precedes(const struct use *use, const ferry_stream *stream) {
    return use->stream == NULL || use->stream == stream || stream_has_finished(use->stream, use->until);
}

/* Whether use_wait_on_stream would have nothing to do. */
static inline bool use_needs_no_wait(const struct storage *storage, ferry_access access, const ferry_stream *stream) {
    bool precede = use_precedes(&storage->writer, stream);
    for (int i = 0; i < STORAGE_READERS && (access & FERRY_WRITE) != 0; i++) {
        precede = precede && use_precedes(&storage->readers[i], stream);
    }
    return precede;
}

void use_record(struct storage *storage, ferry_access access, ferry_stream *stream, uint64_t until);
/* Makes `stream` wait for the uses that an access must come after. */
ferry_status use_wait_on_stream(struct storage *storage, ferry_access access, ferry_stream *stream);
/* The same for the host. */
ferry_status use_wait_on_host(struct storage *storage, ferry_access access);
/* Whether every use is known to have ended, without asking the device. */
bool use_has_ended(const struct storage *storage);
/* Whether some use has not ended; forgets those that have. Polls the device. */
bool use_pending(struct storage *storage);

#endif

#include "core.h"
#include "hot.h"
#include "stream.h"

static bool has_ended(const struct use *use) {
    return use->stream == NULL || stream_has_finished(use->stream, use->until);
}

/* A slot for a reader on `stream`: its own, one whose work has ended, else NULL. */
static struct use *reader_slot(struct storage *storage, const ferry_stream *stream) {
    struct use *ended = NULL;
    for (int i = 0; i < STORAGE_READERS; i++) {
        struct use *use = &storage->readers[i];
        if (use->stream == stream) {
            return use;
        }
        ended = ended == NULL && has_ended(use) ? use : ended;
    }
    return ended;
}

/*
 * Lets a use stand for another one that it takes the place of: what follows it on its stream, and so its end as others
 * see it, comes after the other's. Mostly the acquire has seen to that; it has not when the other was recorded since.
 * When the device refuses, the other is waited for here, and a device that refuses that too has no kernels left.
 */
static void stand_for(const struct use *use, const struct use *other) {
    if (!use_precedes(other, use->stream) && stream_wait_for(use->stream, other->stream, other->until) != FERRY_OK) {
        (void)core.backend->stream_sync(other->stream->native);
    }
}

static void record_writer(struct storage *storage, const struct use *use) {
    stand_for(use, &storage->writer);
    for (int i = 0; i < STORAGE_READERS; i++) {
        stand_for(use, &storage->readers[i]);
        storage->readers[i] = (struct use){0};
    }
    storage->writer = *use;
}

static void record_reader(struct storage *storage, const struct use *use) {
    struct use *slot = reader_slot(storage, use->stream);
    if (slot == NULL) {
        slot = &storage->readers[0];
        stand_for(use, slot);
    }
    *slot = *use;
}

HOT void use_record(struct storage *storage, ferry_access access, ferry_stream *stream, uint64_t until) {
    const struct use use = {stream, until};
    if ((access & FERRY_WRITE) != 0) {
        record_writer(storage, &use);
    } else {
        record_reader(storage, &use);
    }
    atomic_store_explicit(&storage->busy, true, memory_order_release);
}

static ferry_status wait_for_readers(struct storage *storage, ferry_stream *stream) {
    for (int i = 0; i < STORAGE_READERS; i++) {
        const struct use *use = &storage->readers[i];
        const ferry_status status = has_ended(use) ? FERRY_OK : stream_wait_for(stream, use->stream, use->until);
        if (status != FERRY_OK) {
            return status;
        }
    }
    return FERRY_OK;
}

ferry_status use_wait_on_stream(struct storage *storage, ferry_access access, ferry_stream *stream) {
    ferry_status status = FERRY_OK;
    if (!has_ended(&storage->writer)) {
        status = stream_wait_for(stream, storage->writer.stream, storage->writer.until);
    }
    if (status != FERRY_OK) {
        return status;
    }
    return (access & FERRY_WRITE) != 0 ? wait_for_readers(storage, stream) : FERRY_OK;
}

ferry_status use_wait_on_host(struct storage *storage, ferry_access access) {
    struct use uses[1 + STORAGE_READERS] = {storage->writer};
    const int n = (access & FERRY_WRITE) != 0 ? 1 + STORAGE_READERS : 1;
    for (int i = 1; i < n; i++) {
        uses[i] = storage->readers[i - 1];
    }
    for (int i = 0; i < n; i++) {
        const ferry_status status = has_ended(&uses[i]) ? FERRY_OK : stream_wait_on_host(uses[i].stream, uses[i].until);
        if (status != FERRY_OK) {
            return status;
        }
    }
    return FERRY_OK;
}

bool use_has_ended(const struct storage *storage) {
    bool ended = has_ended(&storage->writer);
    for (int i = 0; i < STORAGE_READERS; i++) {
        ended = ended && has_ended(&storage->readers[i]);
    }
    return ended;
}

bool use_pending(struct storage *storage) {
    bool pending = storage->writer.stream != NULL && !stream_poll(storage->writer.stream, storage->writer.until);
    for (int i = 0; i < STORAGE_READERS && !pending; i++) {
        const struct use *use = &storage->readers[i];
        pending = use->stream != NULL && !stream_poll(use->stream, use->until);
    }
    if (!pending) {
        storage->writer = (struct use){0};
        for (int i = 0; i < STORAGE_READERS; i++) {
            storage->readers[i] = (struct use){0};
        }
        atomic_store_explicit(&storage->busy, false, memory_order_release);
    }
    return pending;
}

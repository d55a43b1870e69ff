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

void use_record(struct storage *storage, ferry_access access, ferry_stream *stream, uint64_t until) {
    const struct use use = {stream, until};
    if ((access & FERRY_WRITE) != 0) {
        /* The writer waited for everybody else, so its end implies theirs. */
        storage->writer = use;
        for (int i = 0; i < STORAGE_READERS; i++) {
            storage->readers[i] = (struct use){0};
        }
    } else {
        struct use *slot = reader_slot(storage, stream);
        *(slot != NULL ? slot : &storage->readers[0]) = use;
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
    if ((access & FERRY_WRITE) != 0) {
        return wait_for_readers(storage, stream);
    }
    /* With no slot left, this reader comes after the one whose slot it will take, and then stands for both. */
    const struct use *first = &storage->readers[0];
    return reader_slot(storage, stream) == NULL ? stream_wait_for(stream, first->stream, first->until) : FERRY_OK;
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

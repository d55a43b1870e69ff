#include "sim_queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static uint64_t issued;

/* Threads that find a stream's front running elsewhere sleep here. Nothing managed is touched under the mutex. */
static pthread_mutex_t progress_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress_made = PTHREAD_COND_INITIALIZER;
static _Atomic uint64_t progress;

struct sim_operation *sim_operation_create(enum sim_operation_kind kind, size_t extra_bytes) {
    struct sim_operation *operation = malloc(sizeof *operation + extra_bytes);
    if (!operation) {
        ferry_error(FERRY_OUT_OF_MEMORY, "no memory for an operation of %zu bytes", sizeof *operation + extra_bytes);
        return NULL;
    }
    memset(operation, 0, sizeof *operation);
    operation->kind = kind;
    return operation;
}

struct sim_operation *sim_operation_spans(enum sim_operation_kind kind, size_t spans) {
    struct sim_operation *operation = sim_operation_create(kind, spans * sizeof(struct sim_span));
    if (operation)
        operation->spans = (struct sim_span *)(void *)operation->extra;
    return operation;
}

uint64_t sim_queue_number(void) {
    return issued;
}

void sim_queue_push(backend_stream *stream, struct sim_operation *operation) {
    operation->number = ++issued;
    operation->next = NULL;
    if (stream->head)
        stream->tail->next = operation;
    else
        stream->head = operation;
    stream->tail = operation;
    sim.pending++;
}

/* Returns the record when nobody refers to it any more. */
static struct sim_record *drop(struct sim_record *record) {
    return record && --record->references == 0 ? record : NULL;
}

void sim_record_release(struct sim_record *record) {
    sigset_t saved;
    sim_lock(&saved);
    struct sim_record *last = drop(record);
    sim_unlock(&saved);
    free(last);
}

/* The part that needs no lock. */
static void perform(const struct sim_operation *operation) {
    if (operation->kind == SIM_KERNEL)
        operation->host(&operation->grid, operation->args);
    if (operation->kind == SIM_DISCARD && sim.config.poison)
        for (size_t i = 0; i < operation->span_count; i++)
            memset(sim_span_alias(&operation->spans[i]), SIM_POISON, sim_span_bytes(&operation->spans[i]));
}

static struct sim_record *complete(struct sim_operation *operation) {
    for (size_t i = 0; i < operation->span_count; i++)
        sim_span_unpend(&operation->spans[i]);
    if (operation->kind == SIM_RECORD)
        operation->record->done = true;
    sim.pending--;
    atomic_fetch_add(&progress, 1);
    return drop(operation->record);
}

static void tell_progress(void) {
    pthread_mutex_lock(&progress_mutex);
    pthread_cond_broadcast(&progress_made);
    pthread_mutex_unlock(&progress_mutex);
}

/* Called and returns with the lock held, and gives it up in between, as the next two do. */
static void run_front(backend_stream *stream, sigset_t *saved) {
    struct sim_operation *operation = stream->head;
    stream->running = operation;
    stream->head = operation->next;
    sim_unlock(saved);
    perform(operation);
    sim_lock(saved);
    struct sim_record *unused = complete(operation);
    stream->running = NULL;
    sim_unlock(saved);
    tell_progress();
    free(unused);
    free(operation);
    sim_lock(saved);
}

static void await_progress(sigset_t *saved) {
    uint64_t seen = atomic_load(&progress);
    sim_unlock(saved);
    pthread_mutex_lock(&progress_mutex);
    while (atomic_load(&progress) == seen)
        pthread_cond_wait(&progress_made, &progress_mutex);
    pthread_mutex_unlock(&progress_mutex);
    sim_lock(saved);
}

/* The stream whose front has to go next, so that the given stream's can. A record that is not done is queued or running
 * on its stream. */
static backend_stream *runnable(backend_stream *stream) {
    while (!stream->running && stream->head->kind == SIM_WAIT && !stream->head->record->done)
        stream = stream->head->record->stream;
    return stream;
}

static void step(backend_stream *stream, sigset_t *saved) {
    stream = runnable(stream);
    if (stream->running)
        await_progress(saved);
    else
        run_front(stream, saved);
}

static bool has_until(const backend_stream *stream, uint64_t number) {
    const struct sim_operation *front = stream->running ? stream->running : stream->head;
    return front && front->number <= number;
}

void sim_queue_run(backend_stream *stream, uint64_t number) {
    sigset_t saved;
    sim_lock(&saved);
    while (has_until(stream, number))
        step(stream, &saved);
    sim_unlock(&saved);
}

static backend_stream *any_until(uint64_t number) {
    backend_stream *stream = sim.streams;
    while (stream && !has_until(stream, number))
        stream = stream->next;
    return stream;
}

void sim_queue_run_all(void) {
    sigset_t saved;
    backend_stream *stream;
    sim_lock(&saved);
    uint64_t number = issued;
    while ((stream = any_until(number)))
        step(stream, &saved);
    sim_unlock(&saved);
}

void sim_queue_finish(struct sim_record *record) {
    sigset_t saved;
    sim_lock(&saved);
    while (!record->done)
        step(record->stream, &saved);
    sim_unlock(&saved);
}

void sim_queue_advance(struct sim_record *record) {
    sigset_t saved;
    sim_lock(&saved);
    backend_stream *stream = record->done ? NULL : runnable(record->stream);
    if (stream && !stream->running)
        run_front(stream, &saved);
    sim_unlock(&saved);
}

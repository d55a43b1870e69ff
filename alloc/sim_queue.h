/*
 * Streams as queues of operations. Placement is settled when a call is issued; operations are performed, in stream
 * order and on the calling thread, when somebody waits, so that tests see everything in flight that can be. Every
 * operation has a number in the order of issue; a wait depends on an earlier number, hence nothing waits in a circle.
 */
#ifndef FERRY_ALLOC_SIM_QUEUE_H
#define FERRY_ALLOC_SIM_QUEUE_H

#include "sim_machine.h"

enum sim_operation_kind {
    SIM_KERNEL,  /* runs a host function */
    SIM_USE,     /* ends the use of the spans by the kernel before it */
    SIM_DISCARD, /* spoils the spans' contents, if that is wanted */
    SIM_RECORD,  /* completes a record */
    SIM_WAIT     /* waits for one */
};

/* One recording of an event. Guarded by the machine's lock. */
struct sim_record {
    int references; /* the event's while it is its latest, and one for each operation */
    bool done;
    uint64_t time_ns, seen_ns; /* on the stream, and when the host can know */
    backend_stream *stream;    /* valid until done */
};

struct sim_operation {
    struct sim_operation *next;
    uint64_t number;
    enum sim_operation_kind kind;
    ferry_host_kernel host;
    ferry_grid grid;
    void **args;
    struct sim_record *record;
    size_t span_count;
    struct sim_span *spans; /* each counts in its pages' `writers`, or `readers` */
    _Alignas(max_align_t) unsigned char extra[];
};

struct backend_stream {
    int device;
    uint64_t line_ns;     /* when the work issued so far ends */
    uint64_t launched_ns; /* when, on the host's line, the latest kernel was launched */
    uint64_t seen_ns;     /* when the host can know that it has ended */
    bool gone_over;       /* what it uses has been declared: what is declared again, it goes over again */
    struct sim_operation *head, *tail;
    struct sim_operation *running; /* taken from the head by some thread; the next one has to wait for it */
    backend_stream *next;
};

struct backend_event {
    struct sim_record *record; /* NULL: never recorded */
};

/* NULL, with the error set, when memory is exhausted. */
struct sim_operation *sim_operation_create(enum sim_operation_kind kind, size_t extra_bytes);
/* An operation with room for `spans` of them; span_count is 0. */
struct sim_operation *sim_operation_spans(enum sim_operation_kind kind, size_t spans);

/* With the lock held. Takes over the operation. */
void sim_queue_push(backend_stream *stream, struct sim_operation *operation);
uint64_t sim_queue_number(void); /* of the latest operation issued */

/* Without the lock: perform operations until … */
void sim_queue_run(backend_stream *stream, uint64_t number); /* … none of the stream's is left up to this number */
void sim_queue_run_all(void);                                /* … none is left that has been issued before the call */
void sim_queue_finish(struct sim_record *record);            /* … it is done */
void sim_queue_advance(struct sim_record *record); /* … one has been performed towards it; waits for nobody */

void sim_record_release(struct sim_record *record); /* without the lock; NULL is a no-op */

#endif

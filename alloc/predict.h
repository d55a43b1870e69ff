/*
 * The predictor: how often devices will go over a storage's bytes before the host touches them, and what the host does
 * then. Pure functions on what is remembered of one storage.
 *
 * An *epoch* runs from one touch by the host to the next. A *pass* is one launch's way over the bytes.
 */
#ifndef FERRY_ALLOC_PREDICT_H
#define FERRY_ALLOC_PREDICT_H

#include <stddef.h>

#include "ferry/movement.h"
#include "outlook.h"

#define UNSEEN_MOST 4

/* What is remembered of a storage. All zeros: nothing. */
struct history {
    uint64_t bytes_now; /* that devices went over since the host's last touch of any of it */
    uint16_t passes;    /* of the latest epoch that ended; 0: none has, and nothing was learnt elsewhere */
    uint16_t advised;   /* by the user; 0: not */
    uint8_t ending;     /* enum ending, of that epoch */
    bool from_site;     /* `passes` and `ending` are those of earlier blocks of the site */
    uint8_t unseen;     /* how often the host was found to have touched it without saying so; UNSEEN_MOST: or more */
};

/* Where an expectation comes from; for explanations. */
enum source { SOURCE_ACCESS, SOURCE_INPUTS, SOURCE_HINT, SOURCE_ADVICE, SOURCE_HISTORY, SOURCE_SITE, SOURCE_OVERDUE };

struct outlook {
    unsigned passes; /* from now on, this launch's included, until the host touches the bytes */
    enum ending next;
    enum source source;
};

/* What a launch is about to do to a run of pages. */
struct coming_use {
    ferry_access access;
    unsigned passes;       /* of this launch, at least 1 */
    unsigned passed;       /* over these pages since the host's last touch */
    bool inputs_on_device; /* most of what the launch reads will be on the device, or it reads nothing */
};

struct outlook predict(const struct history *history, const struct coming_use *use);

/* Passes over the whole storage in this epoch, by the bytes gone over. */
unsigned history_passes_now(const struct history *history, size_t storage_bytes);

/* A launch went over `bytes` of the storage, `passes` times. */
static inline void history_device_pass(struct history *history, size_t bytes, unsigned passes) {
    uint64_t gone_over;
    if (__builtin_mul_overflow((uint64_t)bytes, (uint64_t)passes, &gone_over) ||
        __builtin_add_overflow(history->bytes_now, gone_over, &history->bytes_now)) {
        history->bytes_now = UINT64_MAX / 2;
    }
}

/* The host touched some of it: pages over which devices had gone `passes` times (0: not at all). `ending` says what it
 * did. */
void history_host_touch(struct history *history, unsigned passes, enum ending ending);

/* Passes as the records hold them. */
static inline unsigned clamp_passes(unsigned passes) {
    return passes < UINT16_MAX ? passes : UINT16_MAX;
}

#endif

/*
 * A backend without a device, for tests of the core: anonymous memory, streams whose work ends when the test says so,
 * and an account of what happened before what. Regions are handed out side by side, the easier to confuse them.
 */
#ifndef FERRY_TESTS_ALLOC_FAKE_H
#define FERRY_TESTS_ALLOC_FAKE_H

#include "alloc/backend.h"
#include "alloc/stream.h"

#define FAKE_STREAMS 64

/* Work on a stream: the `at`-th, coming after `clock[i]` pieces of stream i's. */
struct fake_work {
    int stream;
    uint64_t at;
    uint64_t clock[FAKE_STREAMS];
};

/* Set before the start. */
extern struct fake_settings {
    int devices;       /* 0 counts as 1 */
    bool separate;     /* no concurrent managed access */
    bool inaccessible; /* the host may not touch managed memory at all */
} fake_settings;

/* What `move` answers, without doing anything when it is not FERRY_OK. */
extern _Atomic int fake_move_status;

const backend *fake_backend(void);

/* Calls of any function of the table. */
uint64_t fake_calls(void);

/* Moves since the last look, the latest 64 of them kept in order. */
size_t fake_moves(const backend_move **moves);

/* Ranges that a call's touches declared since the last look. */
size_t fake_touches(void);

struct fake_work fake_launch(const ferry_stream *stream);
/* Ends all that has been queued on the stream, and what it waits for. */
void fake_finish(const ferry_stream *stream);
bool fake_ended(const struct fake_work *work);
bool fake_before(const struct fake_work *earlier, const struct fake_work *later);

#endif

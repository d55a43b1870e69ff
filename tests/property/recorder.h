/* A backend that does what another one does, and notes page by page what its moves did. */
#ifndef FERRY_TESTS_PROPERTY_RECORDER_H
#define FERRY_TESTS_PROPERTY_RECORDER_H

#include "alloc/backend.h"

struct recorded_page {
    char *page;
    ferry_place before, to; /* before: the simulator's truth */
    backend_move_kind kind;
};

struct recording {
    struct recorded_page *pages;
    size_t npages, room;
    const char *complaint; /* a precondition of the contract that a call broke; NULL: none */
};

const backend *recorder(const backend *inner);

/* Since the latest call of recorder_clear. */
const struct recording *recorder_recording(void);
void recorder_clear(void);

#endif

/* A text that grows and is cut where its buffer ends. */
#ifndef FERRY_ALLOC_SENTENCE_H
#define FERRY_ALLOC_SENTENCE_H

#include "ferry/movement.h"

struct sentence {
    char *text; /* ends in a zero at any time, but for a buffer of no bytes */
    size_t bytes, used;
};

void sentence_begin(struct sentence *sentence, char *text, size_t bytes);
void sentence_add(struct sentence *sentence, const char *format, ...) FERRY_PRINTF(2, 3);

/* "device 0" or "the host". */
void sentence_add_place(struct sentence *sentence, ferry_place place);

#endif

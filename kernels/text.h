/* Text that grows. */
#ifndef FERRY_KERNELS_TEXT_H
#define FERRY_KERNELS_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "ferry/status.h"

/* Starts zeroed; `data` is terminated once anything was appended, and the caller's to free. */
typedef struct text_buffer {
    char *data;
    size_t length, capacity;
    bool failed; /* memory ran out: what follows is dropped */
} text_buffer;

void text_append(text_buffer *t, const char *bytes, size_t n);
void text_format(text_buffer *t, const char *format, ...) FERRY_PRINTF(2, 3);

/* FERRY_OUT_OF_MEMORY when something is missing. */
ferry_status text_status(const text_buffer *t);

#endif

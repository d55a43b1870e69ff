#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for n more bytes and the end. */
static bool reserve(text_buffer *t, size_t n) {
    if (t->failed)
        return false;
    if (t->length + n < t->capacity)
        return true;
    size_t capacity = 2 * (t->length + n + 1);
    char *data = realloc(t->data, capacity);
    if (data == NULL) {
        t->failed = true;
        return false;
    }
    t->data = data;
    t->capacity = capacity;
    return true;
}

void text_append(text_buffer *t, const char *bytes, size_t n) {
    if (!reserve(t, n))
        return;
    memcpy(t->data + t->length, bytes, n);
    t->length += n;
    t->data[t->length] = '\0';
}

void text_format(text_buffer *t, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n >= 0 && reserve(t, (size_t)n)) {
        vsnprintf(t->data + t->length, (size_t)n + 1, format, again);
        t->length += (size_t)n;
    }
    va_end(again);
}

ferry_status text_status(const text_buffer *t) {
    return t->failed ? ferry_error(FERRY_OUT_OF_MEMORY, "no memory for a kernel's source") : FERRY_OK;
}

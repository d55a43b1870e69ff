/* Arrays that only grow. */
#ifndef FERRY_ALLOC_BUFFER_H
#define FERRY_ALLOC_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* The rare half of what follows, out of line: it would cost the other one its registers. */
__attribute__((noinline)) static bool buffer_grow(void **items, size_t item_bytes, size_t *room) {
    const size_t wanted = *room == 0 ? 64 : 2 * *room;
    void *more = realloc(*items, wanted * item_bytes);
    if (more == NULL) {
        return false;
    }
    *items = more;
    *room = wanted;
    return true;
}

/* Makes room for one item more than `count` in an array of *room items; false, and nothing changed, without memory. */
static inline bool buffer_reserve(void **items, size_t item_bytes, size_t count, size_t *room) {
    return count < *room || buffer_grow(items, item_bytes, room);
}

#endif

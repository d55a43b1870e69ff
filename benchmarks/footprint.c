#include "footprint.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BITS 12
#define CHUNK_BITS 21
#define WORDS (((size_t)1 << (CHUNK_BITS - PAGE_BITS)) / 64)
#define SLOTS ((size_t)16384) /* a power of two */

size_t footprint_anonymous(void) {
    char line[256];
    size_t kib = 0;
    bool found = false;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, "Anonymous: %zu kB", &kib) == 1;
    if (file)
        fclose(file);
    return found ? kib << 10 : SIZE_MAX;
}

/* Chunks of 2 MiB by their number, in a table with open addressing, at most half full. */
struct chunk {
    uintptr_t number; /* 0: the slot is free; no block is in the lowest chunk */
    uint64_t pages[WORDS];
};

struct footprint_pages {
    size_t used, pages;
    struct chunk chunks[SLOTS];
};

static struct chunk *find(struct footprint_pages *pages, uintptr_t number) {
    size_t at = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (SLOTS - 1);
    while (pages->chunks[at].number && pages->chunks[at].number != number)
        at = (at + 1) & (SLOTS - 1);
    return &pages->chunks[at];
}

/* All of its memory is there from the beginning, so that it does not grow while an allocator's does. */
struct footprint_pages *footprint_pages_create(void) {
    struct footprint_pages *pages = malloc(sizeof *pages);
    if (pages)
        explicit_bzero(pages, sizeof *pages);
    return pages;
}

void footprint_pages_destroy(struct footprint_pages *pages) {
    free(pages);
}

static bool add_page(struct footprint_pages *pages, uintptr_t page) {
    struct chunk *chunk = find(pages, page >> (CHUNK_BITS - PAGE_BITS));
    size_t within = page & (64 * WORDS - 1);
    uint64_t bit = (uint64_t)1 << within % 64;
    if (!chunk->number && 2 * ++pages->used > SLOTS)
        return false;
    pages->pages += !(chunk->pages[within / 64] & bit);
    chunk->number = page >> (CHUNK_BITS - PAGE_BITS);
    chunk->pages[within / 64] |= bit;
    return true;
}

bool footprint_pages_add(struct footprint_pages *pages, const void *block, size_t bytes) {
    uintptr_t last = ((uintptr_t)block + bytes - 1) >> PAGE_BITS;
    for (uintptr_t page = (uintptr_t)block >> PAGE_BITS; page <= last; page++)
        if (!add_page(pages, page))
            return false;
    return true;
}

size_t footprint_pages_bytes(const struct footprint_pages *pages) {
    return pages->pages << PAGE_BITS;
}

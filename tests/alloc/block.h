/* Blocks whose contents say which they are: a block that overlaps another, or is lost on the way, shows. */
#ifndef FERRY_TESTS_ALLOC_BLOCK_H
#define FERRY_TESTS_ALLOC_BLOCK_H

#include "alloc/region.h"
#include "ferry/memory.h"
#include "tests/test.h"
#include <stdlib.h>

struct block {
    unsigned char *at; /* NULL: none */
    size_t bytes;
    uint64_t pattern;
};

/* Allocates in `heap` by malloc, calloc or aligned_alloc, and fills. at is NULL when there was no room. */
static inline void block_make(struct block *block, ferry_heap *heap, size_t bytes, test_random *random);
static inline void block_realloc(struct block *block, size_t bytes, test_random *random);
/* Contents, usable size, address lookup. */
static inline void block_check(const struct block *block);
static inline void block_free(struct block *block);

/* 0 bytes up to 4 MiB, all magnitudes alike. */
static inline size_t block_random_bytes(test_random *random);

/* All of small blocks, the first and last bytes of each page of large ones. */
static inline bool is_marked(size_t at, size_t bytes) {
    return bytes < 16384 || at % FERRY_PAGE_BYTES < 2 || at % FERRY_PAGE_BYTES > FERRY_PAGE_BYTES - 3 || at + 3 > bytes;
}

static inline size_t next_marked(size_t at, size_t bytes) {
    at++;
    while (at < bytes && !is_marked(at, bytes)) {
        at = at % FERRY_PAGE_BYTES < FERRY_PAGE_BYTES - 2 && at / FERRY_PAGE_BYTES < (bytes - 3) / FERRY_PAGE_BYTES
                 ? at / FERRY_PAGE_BYTES * FERRY_PAGE_BYTES + FERRY_PAGE_BYTES - 2
                 : at + 1;
    }
    return at;
}

static inline unsigned char mark(uint64_t pattern, size_t at) {
    return (unsigned char)((pattern + at * 2654435761u) >> 13);
}

static inline void block_fill(const struct block *block) {
    for (size_t at = 0; at < block->bytes; at = next_marked(at, block->bytes)) {
        block->at[at] = mark(block->pattern, at);
    }
}

/* Marks lie elsewhere in a block of another size, hence the size that it was filled with. */
static inline void check_marks(const unsigned char *at, size_t filled_bytes, size_t bytes, uint64_t pattern) {
    for (size_t i = 0; i < bytes; i = next_marked(i, filled_bytes)) {
        if (!CHECK_UINT(at[i], mark(pattern, i))) {
            return;
        }
    }
}

static inline void check_place(const struct block *block) {
    void *base = NULL;
    size_t bytes = 0;
    CHECK(ferry_usable_size(block->at) >= block->bytes);
    CHECK((uintptr_t)block->at % 16 == 0 || block->bytes < 16);
    const unsigned char *last = block->at + (block->bytes == 0 ? 0 : block->bytes - 1);
    CHECK(region_find(block->at) != NULL && region_find(block->at) == region_find(last));
    if (CHECK_OK(ferry_storage_find(last, &base, &bytes)) && block->bytes >= FERRY_PAGE_BYTES) {
        CHECK(base == block->at);
        CHECK_UINT(bytes, block->bytes);
        CHECK((uintptr_t)base % FERRY_PAGE_BYTES == 0);
    }
}

static inline void check_zero(const unsigned char *at, size_t bytes) {
    CHECK_THAT(bytes == 0 || (at[0] == 0 && memcmp(at, at + 1, bytes - 1) == 0), "%zu bytes of calloc are not zero",
               bytes);
}

static inline void block_make(struct block *block, ferry_heap *heap, size_t bytes, test_random *random) {
    const int64_t how = test_random_int(random, 0, 7);
    block->bytes = bytes;
    block->pattern = test_random_next(random);
    if (how == 0) {
        block->at = ferry_heap_calloc(heap, 1, bytes);
        if (block->at != NULL) {
            check_zero(block->at, bytes);
        }
    } else if (how == 1) {
        const size_t alignment = (size_t)1 << test_random_int(random, 0, 21);
        block->at = ferry_heap_aligned_alloc(heap, alignment, bytes);
        CHECK((uintptr_t)block->at % alignment == 0);
    } else {
        block->at = ferry_heap_malloc(heap, bytes);
    }
    if (block->at != NULL) {
        check_place(block);
        block_fill(block);
    }
}

static inline void block_realloc(struct block *block, size_t bytes, test_random *random) {
    unsigned char *moved = ferry_realloc(block->at, bytes);
    if (moved == NULL) {
        return;
    }
    check_marks(moved, block->bytes, block->bytes < bytes ? block->bytes : bytes, block->pattern);
    *block = (struct block){moved, bytes, test_random_next(random)};
    check_place(block);
    block_fill(block);
}

static inline void block_check(const struct block *block) {
    check_place(block);
    check_marks(block->at, block->bytes, block->bytes, block->pattern);
}

static inline void block_free(struct block *block) {
    block_check(block);
    ferry_free(block->at);
    block->at = NULL;
}

static inline size_t block_random_bytes(test_random *random) {
    const size_t most = (size_t)1 << test_random_int(random, 0, 22);
    const size_t bytes = (size_t)test_random_int(random, 0, (int64_t)most);
    return test_random_int(random, 0, 3) == 0 ? bytes / FERRY_PAGE_BYTES * FERRY_PAGE_BYTES : bytes;
}

#endif

/* The malloc family one by one: what it promises, with what is large and what is small. */
#include <errno.h>
#include <malloc.h>

#include "preloaded.h"

static const size_t sizes[] = {0,    1,      15,      16,  100,     4095,        4096,    4097,
                               8192, 100000, MIB - 1, MIB, MIB + 1, 3 * MIB + 5, 16 * MIB};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void check_block(void *block, size_t bytes, size_t alignment) {
    REQUIRE(block != NULL);
    CHECK_THAT((uintptr_t)block % alignment == 0, "%p is not aligned to %zu", block, alignment);
    CHECK_THAT(malloc_usable_size(block) >= bytes, "%zu of %zu bytes", malloc_usable_size(block), bytes);
    CHECK_THAT(is_managed(block) == expect_managed(bytes), "%zu bytes: managed %d", bytes, is_managed(block));
    fill(block, malloc_usable_size(block), 3);
    CHECK(is_filled(block, malloc_usable_size(block), 3));
}

static void every_size(void) {
    for (int i = 0; i < SIZES; i++) {
        void *block = opaque(malloc(sizes[i])), *other = opaque(malloc(sizes[i]));
        const size_t alignment = sizes[i] < 16 ? 8 : 16;
        check_block(block, sizes[i], alignment);
        check_block(other, sizes[i], alignment);
        CHECK(block != other);
        free(block);
        free(other);
    }
    CHECK_UINT(malloc_usable_size(NULL), 0);
}

static void every_alignment(void) {
    for (size_t alignment = sizeof(void *); alignment <= 64 * MIB; alignment *= 2) {
        for (int i = 0; i < SIZES; i += 3) {
            void *block = NULL;
            CHECK_INT(posix_memalign(&block, alignment, sizes[i]), 0);
            REQUIRE(opaque(block) != NULL);
            CHECK((uintptr_t)block % alignment == 0);
            CHECK(malloc_usable_size(block) >= sizes[i]);
            /* Managed memory is aligned to 2 MiB at most. */
            CHECK(is_managed(block) == (expect_managed(sizes[i]) && alignment <= 2 * MIB));
            fill(block, sizes[i], 5);
            block = opaque(realloc(block, sizes[i] + 2 * MIB));
            REQUIRE(block != NULL);
            CHECK(is_filled(block, sizes[i], 5));
            free(block);
        }
    }
}

static void *aligned_blocks[16];

static void aligned_forms(void) {
    const size_t bytes[] = {0, 24, 5000, 2 * MIB};
    for (int i = 0; i < 4; i++) {
        void *blocks[] = {opaque(aligned_alloc(64, opaque_size(bytes[i]))), opaque(memalign(256, bytes[i])),
                          opaque(memalign(opaque_size(48), bytes[i])), opaque(valloc(bytes[i])),
                          opaque(pvalloc(bytes[i]))};
        const size_t alignments[] = {64, 256, 64, 4096, 4096};
        for (int j = 0; j < 5; j++) {
            REQUIRE(blocks[j] != NULL);
            CHECK((uintptr_t)blocks[j] % alignments[j] == 0);
            CHECK(malloc_usable_size(blocks[j]) >= bytes[i]);
            fill(blocks[j], malloc_usable_size(blocks[j]), 1);
            aligned_blocks[j] = blocks[j];
        }
        CHECK(malloc_usable_size(blocks[4]) >= (bytes[i] + 4095) / 4096 * 4096);
        for (int j = 0; j < 5; j++) {
            free(aligned_blocks[j]);
        }
    }
}

static void bad_alignments(void) {
    void *block = &block;
    CHECK_INT(posix_memalign(&block, 0, 10), EINVAL);
    CHECK_INT(posix_memalign(&block, opaque_size(24), 10), EINVAL);
    CHECK_INT(posix_memalign(&block, opaque_size(4), 2 * MIB), EINVAL);
    CHECK_INT(posix_memalign(&block, 64, opaque_size(SIZE_MAX - 10)), ENOMEM);
    CHECK_INT(posix_memalign(&block, 4096, opaque_size((size_t)PTRDIFF_MAX + 1)), ENOMEM);
    CHECK(block == &block);
    CHECK(opaque(memalign(opaque_size(SIZE_MAX), 10)) == NULL);
    CHECK_INT(errno, EINVAL);
}

static void fails(void *block) {
    CHECK(opaque(block) == NULL);
    CHECK_INT(errno, ENOMEM);
    errno = 0;
}

static void sizes_that_cannot_be(void) {
    const size_t huge[] = {SIZE_MAX,    SIZE_MAX - 1,   SIZE_MAX - 4096, (size_t)PTRDIFF_MAX + 1,
                           PTRDIFF_MAX, (size_t)1 << 50};
    errno = 0;
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        fails(malloc(opaque_size(huge[i])));
        fails(calloc(opaque_size(huge[i]), 1));
        fails(realloc(NULL, opaque_size(huge[i])));
        fails(aligned_alloc(64, opaque_size(huge[i])));
        fails(memalign(8192, opaque_size(huge[i])));
        fails(valloc(opaque_size(huge[i])));
        fails(pvalloc(opaque_size(huge[i])));
    }
    fails(calloc(opaque_size(SIZE_MAX / 2), 3));
    fails(calloc(opaque_size((size_t)1 << 33), opaque_size((size_t)1 << 33)));
    fails(reallocarray(NULL, opaque_size(SIZE_MAX / 4), 5));
    CHECK(opaque(calloc(0, opaque_size(SIZE_MAX))) != NULL);
}

/* Where the pages have been written to, by us or a device, and where nobody has touched them. */
static void zeros(void) {
    const size_t bytes[] = {1, 100, 5000, 300000, MIB, 5 * MIB + 3};
    for (int round = 0; round < 30; round++) {
        const size_t n = bytes[round % 6];
        unsigned char *block = opaque(calloc(n, 1));
        REQUIRE(block != NULL);
        CHECK(is_managed(block) == expect_managed(n));
        CHECK_THAT(is_zero(block, n), "%zu bytes, round %d", n, round);
        memset(block, 0xee, malloc_usable_size(block));
        free(opaque(block));
        block = opaque(malloc(n));
        memset(block, 0xdd, n);
        free(opaque(block));
    }
}

static void use(void *block, size_t bytes, ferry_access access) {
    ferry_status (*acquire)(const ferry_operand *, size_t, ferry_stream *) = NULL;
    ferry_status (*complete)(const ferry_operand *, size_t, ferry_stream *) = NULL;
    *(void **)&acquire = preloaded("ferry_acquire");
    *(void **)&complete = preloaded("ferry_complete");
    const ferry_view view = {block, FERRY_UINT8, 1, false, {(int64_t)bytes}, {1}};
    const ferry_operand operand = {.view = &view, .access = access};
    CHECK_INT(acquire(&operand, 1, NULL), FERRY_OK);
    CHECK_INT(complete(&operand, 1, NULL), FERRY_OK);
}

static void zeros_where_a_device_has_been(void) {
    if (!expect_managed(4 * MIB)) {
        return;
    }
    const ferry_access accesses[] = {FERRY_READ, FERRY_READWRITE, FERRY_WRITE};
    for (int round = 0; round < 12; round++) {
        const size_t bytes = (size_t)(round % 4 + 1) * MIB;
        void *block = opaque(malloc(bytes));
        memset(block, 0xcc, bytes);
        use(block, bytes, accesses[round % 3]);
        free(opaque(block));
        block = opaque(calloc(1, bytes));
        CHECK(is_zero(block, bytes));
        use(block, bytes, FERRY_READWRITE);
        CHECK(is_zero(block, bytes));
        free(opaque(block));
    }
}

static void resizing_keeps_contents(void) {
    for (int i = 0; i < SIZES; i++) {
        for (int j = 0; j < SIZES; j++) {
            const size_t kept = sizes[i] < sizes[j] ? sizes[i] : sizes[j];
            void *block = opaque(malloc(sizes[i]));
            fill(block, sizes[i], (unsigned)i);
            void *moved = opaque(realloc(block, sizes[j]));
            if (sizes[j] == 0) {
                CHECK(moved == NULL);
                continue;
            }
            REQUIRE(moved != NULL);
            CHECK_THAT(is_filled(moved, kept, (unsigned)i), "%zu to %zu", sizes[i], sizes[j]);
            CHECK(malloc_usable_size(moved) >= sizes[j]);
            fill(moved, malloc_usable_size(moved), 9);
            free(moved);
        }
    }
}

static void resizing_to_nothing_frees(void) {
    for (int i = 0; i < 2000; i++) {
        void *block = opaque(malloc(8 * MIB));
        REQUIRE(block != NULL);
        errno = 4711;
        CHECK(opaque(realloc(block, opaque_size(0))) == NULL);
        CHECK_INT(errno, 4711);
        block = opaque(malloc(100));
        CHECK(opaque(reallocarray(block, 0, 8)) == NULL);
    }
    void *block = opaque(realloc(NULL, opaque_size(0)));
    CHECK(block != NULL);
    free(block);
}

static void resizing_that_fails_keeps_the_block(void) {
    const size_t bytes[] = {10, 5000, 2 * MIB};
    for (int i = 0; i < 3; i++) {
        void *block = opaque(malloc(bytes[i]));
        fill(block, bytes[i], 8);
        fails(realloc(block, opaque_size(SIZE_MAX - 4096)));
        fails(realloc(block, opaque_size((size_t)1 << 50)));
        fails(reallocarray(opaque(block), opaque_size(SIZE_MAX / 2), 4));
        CHECK(is_filled(block, bytes[i], 8));
        CHECK(is_managed(block) == expect_managed(bytes[i]));
        free(block);
    }
}

static void freeing_keeps_errno(void) {
    for (int i = 0; i < SIZES; i++) {
        void *block = opaque(malloc(sizes[i]));
        errno = 4711;
        free(block);
        CHECK_INT(errno, 4711);
    }
    free(NULL);
    CHECK_INT(errno, 4711);
}

static void succeeding_keeps_errno(void) {
    errno = 4711;
    for (int i = 0; i < SIZES; i++) {
        void *block = opaque(calloc(1, sizes[i]));
        block = opaque(realloc(block, sizes[i] + MIB));
        CHECK_INT(errno, 4711);
        free(block);
    }
}

int main(int argc, char **argv) {
    RUN_CHOSEN(every_size);
    RUN_CHOSEN(every_alignment);
    RUN_CHOSEN(aligned_forms);
    RUN_CHOSEN(bad_alignments);
    RUN_CHOSEN(sizes_that_cannot_be);
    RUN_CHOSEN(zeros);
    RUN_CHOSEN(zeros_where_a_device_has_been);
    RUN_CHOSEN(resizing_keeps_contents);
    RUN_CHOSEN(resizing_to_nothing_frees);
    RUN_CHOSEN(resizing_that_fails_keeps_the_block);
    RUN_CHOSEN(freeing_keeps_errno);
    RUN_CHOSEN(succeeding_keeps_errno);
    return test_finish();
}

/* Nothing of the library's own lies in managed memory: here the host may not touch it at all. */
#include "alloc/core.h"
#include "alloc/deferred.h"
#include "alloc/heap.h"
#include "tests/alloc/block.h"
#include "tests/alloc/fake.h"

static void use(void *data, size_t bytes) {
    const ferry_view view = {data, FERRY_UINT8, 1, false, {(int64_t)bytes}, {1}};
    const ferry_operand operand = {.view = &view, .access = FERRY_READWRITE};
    CHECK_OK(ferry_acquire(&operand, 1, NULL));
    CHECK_OK(ferry_complete(&operand, 1, NULL));
    CHECK_OK(ferry_host_acquire(&view, FERRY_READ));
    (void)ferry_view_place(&view);
}

static void allocator_touches_no_managed_byte(void) {
    enum { BLOCKS = 300 };
    static void *blocks[BLOCKS];
    test_random random = {test_seed(9)};
    ferry_heap *heap = NULL;
    REQUIRE_OK(ferry_heap_create(NULL, &heap));
    for (int i = 0; i < 30000; i++) {
        void **block = &blocks[test_random_int(&random, 0, BLOCKS - 1)];
        if (*block != NULL) {
            CHECK(ferry_usable_size(*block) > 0);
            ferry_free(*block);
            *block = NULL;
            continue;
        }
        const size_t bytes = block_random_bytes(&random) + 1;
        *block = test_random_int(&random, 0, 4) == 0
                     ? ferry_aligned_alloc((size_t)1 << test_random_int(&random, 0, 21), bytes)
                     : ferry_heap_malloc(i % 2 == 0 ? heap : NULL, bytes);
        REQUIRE(*block != NULL);
        void *base;
        size_t found;
        CHECK_OK(ferry_storage_find((char *)*block + bytes - 1, &base, &found));
        if (i % 7 == 0) {
            use(*block, bytes);
        }
        if (i % 5000 == 0) {
            CHECK_OK(ferry_trim());
        }
    }
    for (int i = 0; i < BLOCKS; i++) {
        ferry_free(blocks[i]);
    }
    ferry_heap_destroy(heap);
    CHECK_OK(ferry_trim());
    CHECK_UINT(region_reserved_bytes(), 0);
}

int main(void) {
    fake_settings.inaccessible = true;
    core_use_backend(fake_backend());
    REQUIRE_OK(ferry_init(&(ferry_options){.limit_bytes = (size_t)4 << 30}));
    RUN(allocator_touches_no_managed_byte);
    return test_finish();
}

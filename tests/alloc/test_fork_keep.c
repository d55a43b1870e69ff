/* What a forked child has of its parent's managed memory: nothing, or a copy of what lived. On the simulator. */
#include "ferry/ferry.h"
#include "forks.h"

enum { BLOCKS = 24 };
static unsigned char *blocks[BLOCKS];
static size_t bytes_of[BLOCKS];
static uint64_t live_bytes;
static ferry_heap *heap;

static void fill(unsigned char *block, size_t bytes, int seed) {
    for (size_t i = 0; i < bytes; i++) {
        block[i] = (unsigned char)((size_t)seed + i + i / 253);
    }
}

static bool is_filled(const unsigned char *block, size_t bytes, int seed) {
    for (size_t i = 0; i < bytes; i++) {
        if (block[i] != (unsigned char)((size_t)seed + i + i / 253)) {
            return false;
        }
    }
    return true;
}

static void blocks_are_filled(int more) {
    for (int i = 0; i < BLOCKS; i++) {
        CHECK_THAT(is_filled(blocks[i], bytes_of[i], i + more), "block %d of %zu bytes", i, bytes_of[i]);
    }
}

/* Crosses to a device, which writes nothing. */
static void use(unsigned char *block, size_t bytes, ferry_access access) {
    const ferry_view view = {block, FERRY_UINT8, 1, false, {(int64_t)bytes}, {1}};
    const ferry_operand operand = {.view = &view, .access = access};
    CHECK_OK(ferry_acquire(&operand, 1, NULL));
    CHECK_OK(ferry_complete(&operand, 1, NULL));
}

/* Of two heaps, with gaps between; a third of them where the device is. */
static void allocate(void) {
    static const size_t sizes[] = {40, 3000, 4096, 70000, 300000, 2 << 20};
    for (int i = 0; i < BLOCKS; i++) {
        bytes_of[i] = sizes[i % 6] + (size_t)i;
        void *gap = ferry_malloc((size_t)100000 * (size_t)(i % 3));
        blocks[i] = ferry_heap_malloc(i % 4 == 1 ? heap : NULL, bytes_of[i]);
        REQUIRE(blocks[i] != NULL && gap != NULL);
        fill(blocks[i], bytes_of[i], i);
        if (i % 3 == 0 && bytes_of[i] >= 4096) {
            use(blocks[i], bytes_of[i], i % 2 == 0 ? FERRY_READ : FERRY_READWRITE);
        }
        ferry_free(gap);
    }
    ferry_stats stats;
    REQUIRE_OK(ferry_stats_get(&stats));
    live_bytes = stats.live_bytes;
    CHECK(live_bytes > 0);
}

static void release(void) {
    for (int i = 0; i < BLOCKS; i++) {
        ferry_free(blocks[i]);
    }
}

static ferry_fork_account account_here(void) {
    ferry_fork_account account;
    memset(&account, 0xaa, sizeof account);
    ferry_fork_account_get(&account);
    return account;
}

static void nothing_is_accounted(void) {
    const ferry_fork_account account = account_here();
    CHECK_UINT(account.lost_blocks, 0);
    CHECK_UINT(account.lost_bytes, 0);
    CHECK_UINT(account.kept_bytes, 0);
}

static void child_has_lost_all(void) {
    const ferry_fork_account account = account_here();
    CHECK_UINT(account.lost_blocks, BLOCKS);
    CHECK_UINT(account.lost_bytes, live_bytes);
    CHECK_UINT(account.kept_bytes, 0);
    release();
}

static void grandchild_has_kept_all(void) {
    CHECK_UINT(account_here().kept_bytes, live_bytes);
    blocks_are_filled(1);
    release();
}

static void child_has_kept_all(void) {
    const ferry_fork_account account = account_here();
    CHECK_UINT(account.lost_blocks, 0);
    CHECK_UINT(account.lost_bytes, 0);
    CHECK_UINT(account.kept_bytes, live_bytes);
    blocks_are_filled(0);
    for (int i = 0; i < BLOCKS; i++) {
        fill(blocks[i], bytes_of[i], i + 1);
    }
    in_child(grandchild_has_kept_all);
    blocks_are_filled(1);
    release();
}

static void children_without_a_copy(void) {
    allocate();
    nothing_is_accounted();
    in_child(child_has_lost_all);
    nothing_is_accounted();
    blocks_are_filled(0);
    release();
}

static void children_with_a_copy(void) {
    allocate();
    ferry_fork_keep(SIZE_MAX);
    for (int i = 0; i < 3; i++) {
        in_child(child_has_kept_all);
        nothing_is_accounted();
        blocks_are_filled(0);
    }
    ferry_fork_keep(0);
    in_child(child_has_lost_all);
    release();
}

static void bounds(void) {
    allocate();
    ferry_fork_keep((size_t)live_bytes);
    in_child(child_has_kept_all);
    ferry_fork_keep((size_t)live_bytes - 1);
    in_child(child_has_lost_all);
    ferry_fork_keep(0);
    release();
}

/* Freed ones are not copied, and what is allocated there later is. */
static void recycled_ones(void) {
    for (int round = 0; round < 3; round++) {
        allocate();
        ferry_fork_keep(SIZE_MAX);
        in_child(child_has_kept_all);
        ferry_fork_keep(0);
        release();
        /* What a device is still at is freed when it has ended. */
        CHECK_OK(ferry_sync(NULL));
        CHECK_OK(ferry_trim());
        in_child(nothing_is_accounted);
    }
}

int main(void) {
    in_child(nothing_is_accounted);
    REQUIRE_OK(ferry_heap_create(NULL, &heap));
    in_child(nothing_is_accounted);
    RUN(children_without_a_copy);
    RUN(children_with_a_copy);
    RUN(bounds);
    RUN(recycled_ones);
    ferry_heap_destroy(heap);
    return test_finish();
}

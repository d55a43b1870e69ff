/* What an acquire asks of the backend, and that a refusal leaves everything as it was. */
#include "alloc/core.h"
#include "tests/alloc/fake.h"
#include "tests/test.h"

#define PAGE FERRY_PAGE_BYTES

static ferry_view bytes_at(void *data, size_t bytes) {
    return (ferry_view){data, FERRY_UINT8, 1, false, {(int64_t)bytes}, {1}};
}

static ferry_view array(size_t bytes) {
    const ferry_view view = bytes_at(ferry_malloc(bytes), bytes);
    REQUIRE(view.data != NULL);
    CHECK_OK(ferry_host_acquire(&view, FERRY_READWRITE));
    fake_moves(NULL);
    return view;
}

static void check_move(const backend_move *move, const void *address, size_t bytes, ferry_place to,
                       backend_move_kind kind) {
    CHECK(move->address == address);
    CHECK_UINT(move->bytes, bytes);
    CHECK_INT(move->to, to);
    CHECK_INT(move->kind, kind);
}

static void one_batch_of_whole_ranges(void) {
    const ferry_view x = array(20 * PAGE), y = array(20 * PAGE);
    const ferry_view part = bytes_at((char *)y.data + PAGE + 1, 5 * PAGE);
    const ferry_operand operands[] = {{.view = &x, .access = FERRY_READ}, {.view = &part, .access = FERRY_WRITE}};
    const backend_move *moves;
    const uint64_t calls = fake_calls();
    CHECK_OK(ferry_acquire(operands, 2, NULL));
    CHECK(fake_calls() > calls);
    REQUIRE(fake_moves(&moves) == 4);
    check_move(&moves[0], x.data, 20 * PAGE, 0, BACKEND_PREFETCH);
    check_move(&moves[1], (char *)y.data + PAGE, PAGE, 0, BACKEND_PREFETCH);
    check_move(&moves[2], (char *)y.data + 2 * PAGE, 4 * PAGE, 0, BACKEND_DISCARD_PREFETCH);
    check_move(&moves[3], (char *)y.data + 6 * PAGE, PAGE, 0, BACKEND_PREFETCH);
    /* In place: the backend hears nothing. */
    const uint64_t before = fake_calls();
    CHECK_OK(ferry_acquire(operands, 2, NULL));
    CHECK_UINT(fake_calls(), before);
    CHECK_OK(ferry_complete(operands, 2, NULL));
    CHECK_UINT(fake_touches(), 2);
    CHECK_OK(ferry_host_acquire(&x, FERRY_WRITE));
    REQUIRE(fake_moves(&moves) == 1);
    check_move(&moves[0], x.data, 20 * PAGE, FERRY_PLACE_HOST, BACKEND_DISCARD_PREFETCH);
    ferry_free(x.data);
    ferry_free(y.data);
}

/* Named by several operands, a page is moved once. */
static void pages_are_named_once(void) {
    const ferry_view x = array(10 * PAGE);
    const ferry_view head = bytes_at(x.data, 6 * PAGE), tail = bytes_at((char *)x.data + 3 * PAGE, 7 * PAGE);
    const ferry_operand operands[] = {{.view = &head, .access = FERRY_READ},
                                      {.view = &tail, .access = FERRY_READ},
                                      {.view = &x, .access = FERRY_READ}};
    const backend_move *moves;
    CHECK_OK(ferry_acquire(operands, 3, NULL));
    REQUIRE(fake_moves(&moves) == 1);
    check_move(&moves[0], x.data, 10 * PAGE, 0, BACKEND_PREFETCH);
    ferry_free(x.data);
    /* Two writers of neighbouring parts of a page. */
    const ferry_view y = array(4 * PAGE);
    const ferry_view left = bytes_at(y.data, PAGE + 100), right = bytes_at((char *)y.data + PAGE + 100, 2 * PAGE);
    const ferry_operand writers[] = {{.view = &left, .access = FERRY_WRITE}, {.view = &right, .access = FERRY_WRITE}};
    CHECK_OK(ferry_acquire(writers, 2, NULL));
    const size_t n = fake_moves(&moves);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            CHECK((char *)moves[i].address + moves[i].bytes <= (char *)moves[j].address ||
                  (char *)moves[j].address + moves[j].bytes <= (char *)moves[i].address);
        }
    }
    ferry_free(y.data);
}

/* As while a stream is captured into a graph. */
static void refusal_leaves_everything(void) {
    const ferry_view x = array(10 * PAGE);
    const ferry_operand operand = {.view = &x, .access = FERRY_READWRITE};
    ferry_stats before, after;
    REQUIRE_OK(ferry_stats_get(&before));
    atomic_store(&fake_move_status, FERRY_UNSUPPORTED);
    CHECK_STATUS(ferry_acquire(&operand, 1, NULL), FERRY_UNSUPPORTED);
    CHECK_INT(ferry_view_place(&x), FERRY_PLACE_HOST);
    CHECK_STATUS(ferry_prefetch(&x, 0, NULL), FERRY_UNSUPPORTED);
    CHECK_INT(ferry_view_place(&x), FERRY_PLACE_HOST);
    REQUIRE_OK(ferry_stats_get(&after));
    CHECK_MEMORY(&after, &before, sizeof before);
    atomic_store(&fake_move_status, FERRY_OK);
    CHECK_OK(ferry_acquire(&operand, 1, NULL));
    CHECK_INT(ferry_view_place(&x), 0);
    CHECK_OK(ferry_complete(&operand, 1, NULL));
    /* What is in place needs no move. */
    atomic_store(&fake_move_status, FERRY_UNSUPPORTED);
    CHECK_OK(ferry_acquire(&operand, 1, NULL));
    CHECK_OK(ferry_complete(&operand, 1, NULL));
    /* The way home fails: the belief stays. */
    CHECK_STATUS(ferry_host_acquire(&x, FERRY_READ), FERRY_UNSUPPORTED);
    CHECK_INT(ferry_view_place(&x), 0);
    void *block = ferry_realloc(x.data, 20 * PAGE);
    CHECK(block == NULL);
    atomic_store(&fake_move_status, FERRY_OK);
    ferry_free(x.data);
}

/* Regions lie side by side here; a range never spans two. */
static void adjacent_blocks_are_one_range(void) {
    const ferry_view x = array(64 * FERRY_BLOCK_BYTES);
    const backend_move *moves;
    for (size_t i = 0; i < 64; i += 2) {
        const ferry_view block = bytes_at((char *)x.data + i * FERRY_BLOCK_BYTES, FERRY_BLOCK_BYTES);
        CHECK_OK(ferry_prefetch(&block, 0, NULL));
    }
    CHECK_UINT(fake_moves(&moves), 32);
    CHECK_INT(ferry_view_place(&x), FERRY_PLACE_MIXED);
    CHECK_OK(ferry_prefetch(&x, 0, NULL));
    CHECK_UINT(fake_moves(&moves), 32);
    CHECK_INT(ferry_view_place(&x), 0);
    CHECK_OK(ferry_prefetch(&x, FERRY_PLACE_HOST, NULL));
    CHECK_UINT(fake_moves(&moves), 1);
    ferry_free(x.data);
}

int main(void) {
    core_use_backend(fake_backend());
    RUN(one_batch_of_whole_ranges);
    RUN(pages_are_named_once);
    RUN(refusal_leaves_everything);
    RUN(adjacent_blocks_are_one_range);
    return test_finish();
}

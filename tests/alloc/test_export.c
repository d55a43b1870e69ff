/* Memory in the hands of others: nothing they write is lost, and nothing that crosses is called redundant. */
#include "story.h"

#include "ferry/strict.h"
#include "ferry/torch.h"

enum { BYTES = 4 * BLOCK };

/* What another library's kernel does: it writes by the device's address, and tells nobody. */
static void other_writes(const ferry_view *view, unsigned char value) {
    memset(ferry_device_pointer(view->data), value, ferry_view_bytes(view));
}

static bool holds(const ferry_view *view, unsigned char value) {
    const unsigned char *bytes = view->data;
    const size_t n = ferry_view_bytes(view);
    size_t i = 0;
    while (i < n && bytes[i] == value) {
        i++;
    }
    return i == n;
}

/* The device reads, the host reads, the device reads: redundant bytes of the third. */
static uint64_t redundant_bytes_of_a_third_read(const ferry_view *view) {
    REQUIRE_OK(story_use(view, FERRY_READ, 0, NULL));
    REQUIRE_OK(ferry_host_acquire(view, FERRY_READ));
    story_reset();
    REQUIRE_OK(story_use(view, FERRY_READ, 0, NULL));
    return story_counts().redundant_bytes;
}

static void no_crossing_of_an_export_is_redundant(void) {
    const ferry_view view = story_array(NULL, BYTES, 1);
    const ferry_view part = story_slice(&view, 3 * BLOCK, 3 * BLOCK + 5);
    CHECK_UINT(redundant_bytes_of_a_third_read(&view), BYTES);
    /* Of any view, for the whole block, as often as it is exported. */
    REQUIRE_OK(ferry_export_begin(&part));
    REQUIRE_OK(ferry_export_begin(&view));
    CHECK_UINT(redundant_bytes_of_a_third_read(&view), 0);
    ferry_export_end(&part);
    CHECK_UINT(redundant_bytes_of_a_third_read(&view), 0);
    ferry_export_end(&view);
    /* What was known at the end may have been overwritten before it. */
    REQUIRE_OK(ferry_host_acquire(&view, FERRY_READ));
    story_reset();
    REQUIRE_OK(story_use(&view, FERRY_READ, 0, NULL));
    CHECK_UINT(story_counts().redundant_bytes, 0);
    CHECK_UINT(redundant_bytes_of_a_third_read(&view), BYTES);
    ferry_export_end(&view);
    CHECK_UINT(redundant_bytes_of_a_third_read(&view), BYTES);
    ferry_free(view.data);
}

/* The host's second look brings home what the other wrote between the two. */
static void what_the_other_writes_crosses_again(void) {
    const ferry_view view = story_array(NULL, BYTES, 1);
    REQUIRE_OK(ferry_export_begin(&view));
    for (unsigned char value = 2; value < 5; value++) {
        REQUIRE_OK(story_use(&view, FERRY_READ, 0, NULL));
        REQUIRE_OK(ferry_sync(NULL));
        other_writes(&view, value);
        story_reset();
        REQUIRE_OK(ferry_host_acquire(&view, FERRY_READ));
        CHECK(holds(&view, value));
        const ferry_stats counts = story_counts();
        CHECK_UINT(counts.bytes_to_host, BYTES);
        CHECK_UINT(counts.redundant_bytes, 0);
    }
    ferry_export_end(&view);
    ferry_free(view.data);
}

/* Whoever overwrites an array throws its contents away; an export's are kept, since the other may be reading them. */
static void contents_of_an_export_are_not_discarded(void) {
    const ferry_view view = story_array(NULL, BYTES, 1);
    REQUIRE_OK(story_use(&view, FERRY_READ, 0, NULL));
    REQUIRE_OK(ferry_export_begin(&view));
    story_reset();
    REQUIRE_OK(ferry_host_acquire(&view, FERRY_WRITE));
    CHECK(holds(&view, 1));
    const ferry_operand operand = {.view = &view, .access = FERRY_WRITE};
    REQUIRE_OK(ferry_acquire(&operand, 1, NULL));
    REQUIRE_OK(ferry_complete(&operand, 1, NULL));
    REQUIRE_OK(ferry_host_acquire(&view, FERRY_READ));
    CHECK(holds(&view, 1));
    CHECK_UINT(story_counts().discarded_bytes, 0);
    ferry_export_end(&view);
    REQUIRE_OK(story_use(&view, FERRY_WRITE, 7, NULL));
    CHECK_UINT(story_counts().discarded_bytes, BYTES);
    REQUIRE_OK(ferry_host_acquire(&view, FERRY_READ));
    CHECK(holds(&view, 7));
    ferry_free(view.data);
}

static void exporting_waits_for_readers_too(void) {
    const ferry_view view = story_array(NULL, BYTES, 1);
    REQUIRE_OK(story_use(&view, FERRY_WRITE, 9, NULL));
    REQUIRE_OK(ferry_export_begin(&view));
    CHECK_INT(*(unsigned char *)ferry_device_pointer(view.data), 9);
    ferry_export_end(&view);
    ferry_free(view.data);
}

/* The host touches it, and the next use knows; ends the export and frees the block. */
static void check_noticed_at_once(const ferry_view *view) {
    if (strcmp(backend_sim_touch_tracking(), "off") != 0) {
        memset(view->data, 3, BYTES);
        story_reset();
        REQUIRE_OK(story_use(view, FERRY_READ, 0, NULL));
        CHECK_UINT(story_counts().observed_bytes, BYTES);
    }
    ferry_export_end(view);
    ferry_free(view->data);
}

/* The host's touches are noticed at the first use after them, however seldom they have been before. */
static void touches_of_an_export_are_noticed_at_once(void) {
    const ferry_view view = story_array(NULL, BYTES, 1);
    REQUIRE_OK(ferry_export_begin(&view));
    for (int i = 0; i < 20; i++) {
        REQUIRE_OK(story_use(&view, FERRY_READ, 0, NULL));
        REQUIRE_OK(ferry_sync(NULL));
    }
    check_noticed_at_once(&view);
}

/* Also when launches had found it in place, and nobody has waited for anything since but the export. */
static void touches_of_a_settled_export_are_noticed_at_once(void) {
    const ferry_view view = story_array(NULL, BYTES, 1);
    for (int i = 0; i < 20; i++) {
        REQUIRE_OK(story_use(&view, FERRY_READ, 0, NULL));
    }
    REQUIRE_OK(ferry_export_begin(&view));
    check_noticed_at_once(&view);
}

static void an_export_ends_with_its_block(void) {
    ferry_heap *heap;
    REQUIRE_OK(ferry_heap_create(NULL, &heap));
    const ferry_view view = story_array(heap, BYTES, 1);
    REQUIRE_OK(ferry_export_begin(&view));
    ferry_free(view.data);
    const ferry_view next = story_array(heap, BYTES, 2);
    CHECK(next.data == view.data);
    CHECK_UINT(redundant_bytes_of_a_third_read(&next), BYTES);
    ferry_heap_destroy(heap);
}

static void what_needs_no_export(void) {
    double local[4];
    ferry_view view;
    REQUIRE_OK(ferry_view_make(local, FERRY_FLOAT64, 1, (const int64_t[]){4}, &view));
    CHECK_OK(ferry_export_begin(&view));
    ferry_export_end(&view);
    const ferry_view tiny = story_array(NULL, 100, 1);
    CHECK_OK(ferry_export_begin(&tiny));
    ferry_export_end(&tiny);
    ferry_view beyond = story_array(NULL, BYTES, 1);
    beyond.shape[0] = 0;
    CHECK_OK(ferry_export_begin(&beyond));
    ferry_export_end(&beyond);
    beyond.shape[0] = BYTES + 1;
    CHECK_STATUS(ferry_export_begin(&beyond), FERRY_INVALID_ARGUMENT);
    ferry_free(beyond.data);
    ferry_free(tiny.data);
}

/* PyTorch's blocks are on their device from the start. */
static void blocks_for_pytorch_live_on_their_device(void) {
    const ssize_t sizes[] = {0, 1, 4096, 100000, BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *block = ferry_torch_malloc(sizes[i], 0, NULL);
        REQUIRE(block != NULL);
        const ferry_view view = {.data = block, .dtype = FERRY_UINT8, .ndim = 1, .shape = {1}, .strides = {1}};
        CHECK_INT(ferry_view_place(&view), 0);
        other_writes(&view, 5);
        REQUIRE_OK(ferry_host_acquire(&view, FERRY_READ));
        CHECK_INT(*block, 5);
        ferry_torch_free(block, sizes[i], 0, NULL);
    }
    void *block = ferry_torch_malloc(BYTES, 0, NULL);
    const ferry_view view = {.data = block, .dtype = FERRY_UINT8, .ndim = 1, .shape = {BYTES}, .strides = {1}};
    CHECK_UINT(redundant_bytes_of_a_third_read(&view), 0);
    /* What the last one left at home stays there. */
    REQUIRE_OK(ferry_host_acquire(&view, FERRY_READ));
    ferry_torch_free(block, BYTES, 0, NULL);
    story_reset();
    void *again = ferry_torch_malloc(BYTES, 0, NULL);
    STORY_MOVED(0, 0);
    ferry_torch_free(again, BYTES, 0, NULL);
}

static void what_pytorch_cannot_have(void) {
    CHECK(ferry_torch_malloc(-1, 0, NULL) == NULL);
    CHECK(ferry_torch_malloc(100, 77, NULL) == NULL);
    CHECK(ferry_torch_malloc(PTRDIFF_MAX, 0, NULL) == NULL);
    ferry_torch_free(NULL, 0, 0, NULL);
}

int main(void) {
    setenv("FERRY_BACKEND", "sim", 1);
    REQUIRE_OK(ferry_init(NULL));
    RUN(no_crossing_of_an_export_is_redundant);
    RUN(what_the_other_writes_crosses_again);
    RUN(contents_of_an_export_are_not_discarded);
    RUN(exporting_waits_for_readers_too);
    RUN(touches_of_an_export_are_noticed_at_once);
    RUN(touches_of_a_settled_export_are_noticed_at_once);
    RUN(an_export_ends_with_its_block);
    RUN(what_needs_no_export);
    RUN(blocks_for_pytorch_live_on_their_device);
    RUN(what_pytorch_cannot_have);
    return test_finish();
}

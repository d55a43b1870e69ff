/* What the host touches without a word: it is found out, soon, and asking for it is bounded. */
#include "alloc/observe.h"
#include "tests/alloc/story.h"

#define BYTES (64 * PAGE)

/* Rounds until a storage is asked about again, at the latest. */
#define ROUNDS (OBSERVE_ROUNDS_MAX + 1)

static ferry_heap *heap;

static ferry_view on_device(size_t bytes) {
    const ferry_view view = story_array(heap, bytes, 1);
    CHECK_OK(story_use(&view, FERRY_READ, 0, NULL));
    CHECK_OK(ferry_sync(NULL));
    CHECK_INT(ferry_view_place(&view), 0);
    story_reset();
    return view;
}

/* A launch, and the host waits for it. */
static void use_and_wait(const ferry_view *view) {
    CHECK_OK(story_use(view, FERRY_READ, 0, NULL));
    CHECK_OK(ferry_sync(NULL));
}

/* Pages of the view that the library believes elsewhere than they are. */
static int wrong_beliefs(const ferry_view *view) {
    int wrong = 0;
    for (size_t at = 0; at < (size_t)view->shape[0]; at += PAGE) {
        const ferry_view page = story_slice(view, at, at + PAGE);
        wrong += ferry_view_place(&page) != backend_sim_page_place(page.data);
    }
    return wrong;
}

static void touch(const ferry_view *view, size_t first, size_t end, unsigned char value) {
    memset((char *)view->data + first, value, end - first);
}

/* The first question after the touch finds it, and the launch that asked brings the pages back. */
static void touched_arrays_are_found(void) {
    for (int quiet = 0; quiet < 20; quiet += 6) {
        const ferry_view view = on_device(BYTES);
        for (int i = 0; i < quiet; i++) {
            use_and_wait(&view);
        }
        touch(&view, 0, BYTES, 9);
        CHECK_INT(wrong_beliefs(&view), BYTES / PAGE);
        int rounds = 0;
        while (wrong_beliefs(&view) > 0 && rounds <= ROUNDS) {
            use_and_wait(&view);
            rounds++;
        }
        CHECK_THAT(rounds <= ROUNDS, "%d quiet rounds, then not found in %d", quiet, rounds);
        CHECK_INT(ferry_view_place(&view), 0);
        const ferry_stats counts = story_counts();
        CHECK_UINT(counts.observed_bytes, BYTES);
        CHECK_UINT(counts.bytes_to_device, BYTES);
        CHECK_UINT(counts.redundant_bytes, 0); /* the host may have written them */
        ferry_free(view.data);
    }
}

/* When some of the pages have come home, those and no others are corrected, as soon as one of them is asked about. */
static void touched_parts_are_found(void) {
    const ferry_view view = on_device(BYTES);
    touch(&view, 0, 16 * PAGE, 9);
    touch(&view, 32 * PAGE, 48 * PAGE, 9);
    int rounds = 0;
    while (wrong_beliefs(&view) > 0 && rounds < 40 * ROUNDS) {
        CHECK_INT(wrong_beliefs(&view), 32);
        use_and_wait(&view);
        rounds++;
    }
    CHECK_INT(wrong_beliefs(&view), 0);
    CHECK_UINT(story_counts().observed_bytes, 32 * PAGE);
    ferry_free(view.data);
}

/* What the host wrote meanwhile is what the next reader finds, asked or not. */
static void contents_are_right_meanwhile(void) {
    const ferry_view view = on_device(BYTES);
    for (int round = 0; round < 3 * ROUNDS; round++) {
        touch(&view, 0, BYTES, (unsigned char)round);
        CHECK_OK(story_use(&view, round % 3 == 0 ? FERRY_READWRITE : FERRY_READ, 200, NULL));
        CHECK_OK(ferry_host_acquire(&view, FERRY_READ));
        const unsigned char want = (unsigned char)(round % 3 == 0 ? 200 : round), *bytes = view.data;
        CHECK(bytes[0] == want && memcmp(bytes, bytes + 1, BYTES - 1) == 0);
        CHECK_OK(ferry_prefetch(&view, 0, NULL));
        CHECK_OK(ferry_sync(NULL));
    }
    ferry_free(view.data);
}

/* Rounds until the next question, this one's included. */
static int rounds_to_question(const ferry_view *view) {
    for (int rounds = 1; rounds <= 4 * ROUNDS; rounds++) {
        use_and_wait(view);
        const uint64_t asked = story_counts().observations;
        if (asked > 0) {
            CHECK_UINT(asked, 1);
            return rounds;
        }
    }
    return -1;
}

/* Ever more seldom when nothing is found, and as often as at first when something is. */
static void questions_become_rare(void) {
    const int passed_over[] = {1, 3, 7, 7, 7};
    const ferry_view view = on_device(BYTES);
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < sizeof passed_over / sizeof *passed_over; i++) {
            CHECK_INT(rounds_to_question(&view), passed_over[i] + 1);
        }
        touch(&view, 0, BYTES, 9);
        int rounds = 0;
        while (story_counts().observed_bytes == 0 && rounds <= ROUNDS) {
            use_and_wait(&view);
            rounds++;
        }
        CHECK_INT(rounds, OBSERVE_ROUNDS_MAX + 1);
        CHECK_INT(rounds_to_question(&view), 1); /* none passed over */
    }
    ferry_free(view.data);
}

/* Pages that nobody is known to have touched are asked about in stretches of 4096, whatever the answers are. */
static void questions_about_pages_never_placed_count(void) {
    const size_t stretch_bytes = 4096 * PAGE, sizes[] = {BYTES, stretch_bytes, stretch_bytes + BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ferry_heap *fresh = NULL; /* whose blocks nobody has had before */
        REQUIRE_OK(ferry_heap_create(&(ferry_heap_options){.policy = FERRY_POLICY_PREFETCH}, &fresh));
        const ferry_view view = story_untouched(fresh, sizes[i]);
        for (size_t at = 0; at < sizes[i]; at += 2 * PAGE) {
            touch(&view, at, at + 1, 9);
        }
        story_reset();
        CHECK_OK(story_use(&view, FERRY_READ, 0, NULL));
        ferry_stats counts = story_counts();
        CHECK_UINT(counts.observations, (sizes[i] + stretch_bytes - 1) / stretch_bytes);
        CHECK_UINT(counts.bytes_to_device, sizes[i] / 2);
        CHECK_UINT(counts.observed_bytes, 0);            /* no device had them */
        CHECK_OK(story_use(&view, FERRY_READ, 0, NULL)); /* placed now */
        CHECK_UINT(story_counts().observations, 0);
        CHECK_OK(ferry_sync(NULL));
        ferry_heap_destroy(fresh);
    }
}

/* Where nobody waits the host has had no chance to come by, or so it seems: there a launch in many asks. */
static void launches_in_a_row_hardly_ask(void) {
    const ferry_view view = on_device(BYTES);
    const int launches = 20 * OBSERVE_LAUNCHES_MAX;
    for (int i = 0; i < launches; i++) {
        CHECK_OK(story_use(&view, FERRY_READ, 0, NULL));
    }
    const uint64_t asked = story_counts().observations;
    CHECK_THAT(asked <= (uint64_t)launches / OBSERVE_LAUNCHES_MAX + 1, "%ju questions in %d launches", (uintmax_t)asked,
               launches);
    CHECK_OK(ferry_sync(NULL));
    ferry_free(view.data);
}

/* Nobody asks where no answer would change anything. */
static void idle_questions_are_not_asked(void) {
    const ferry_view view = on_device(BYTES), home = story_array(heap, BYTES, 1), tiny = story_array(heap, 100, 1);
    const ferry_policy policies[] = {FERRY_POLICY_REMOTE, FERRY_POLICY_NONE};
    story_reset();
    for (int i = 0; i < 2 * ROUNDS; i++) {
        const ferry_operand operands[] = {{.view = &view, .access = FERRY_READ, .policy = policies[i % 2]},
                                          {.view = &home, .access = FERRY_READ, .policy = policies[i % 2]},
                                          {.view = &tiny, .access = FERRY_READ}};
        CHECK_OK(story_kernel(operands, 3, 0, NULL));
        CHECK_OK(ferry_sync(NULL));
    }
    CHECK_UINT(story_counts().observations, 0);
    ferry_free(view.data);
    ferry_free(home.data);
    ferry_free(tiny.data);
}

/* A block that ends is asked about a last time, for those that follow it; small ones are not worth it. */
static void endings_ask_little(void) {
    for (size_t bytes = 8 * PAGE; bytes <= 32 * PAGE; bytes *= 2) {
        const ferry_view view = on_device(bytes);
        touch(&view, 0, bytes, 9);
        ferry_free(view.data);
        const ferry_stats counts = story_counts();
        const bool remembered = bytes >= 64 << 10;
        CHECK_UINT(counts.observations, remembered ? 2 : 0); /* about one page, and then about all */
        CHECK_UINT(counts.observed_bytes, remembered ? bytes : 0);
    }
}

/* A launch names one storage twice, and its first operand has planned the pages' way to another device, which is no
 * touch by the host; nor are the pages brought again by the second. */
static void plans_are_not_taken_for_touches(void) {
    ferry_stream *other = NULL;
    REQUIRE_OK(ferry_stream_create(1, &other));
    for (int quiet = 0; quiet < ROUNDS; quiet++) {
        const ferry_view view = on_device(BYTES);
        for (int i = 0; i < quiet; i++) {
            use_and_wait(&view);
        }
        touch(&view, 0, BYTES, 9);
        const ferry_operand operands[] = {{.view = &view, .access = FERRY_READ, .policy = FERRY_POLICY_REMOTE},
                                          {.view = &view, .access = FERRY_READ, .policy = FERRY_POLICY_PREFETCH}};
        story_reset();
        CHECK_OK(story_kernel(operands, 2, 0, other));
        CHECK(story_counts().prefetches_issued <= 1);
        CHECK_OK(ferry_sync(NULL));
        CHECK_INT(wrong_beliefs(&view), 0);
        ferry_free(view.data);
    }
    ferry_stream_destroy(other);
}

int main(void) {
    REQUIRE_OK(ferry_init(&(ferry_options){.backend = "sim", .policy = FERRY_POLICY_AUTO}));
    if (strcmp(backend_sim_touch_tracking(), "off") == 0) {
        SKIP("the simulator cannot see the host's touches");
    }
    REQUIRE_OK(ferry_heap_create(&(ferry_heap_options){.policy = FERRY_POLICY_PREFETCH}, &heap));
    RUN(touched_arrays_are_found);
    RUN(touched_parts_are_found);
    RUN(contents_are_right_meanwhile);
    RUN(questions_become_rare);
    RUN(questions_about_pages_never_placed_count);
    RUN(launches_in_a_row_hardly_ask);
    RUN(idle_questions_are_not_asked);
    RUN(endings_ask_little);
    RUN(plans_are_not_taken_for_touches);
    ferry_heap_destroy(heap);
    return test_finish();
}

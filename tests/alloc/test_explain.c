/* Explanations: the place, the reason, and no byte more than there is room for. */
#include "ferry/site.h"
#include "tests/alloc/story.h"

#define BYTES (4 * BLOCK)

static char text[500];

static const char *explain(const ferry_view *view) {
    memset(text, 0, sizeof text);
    CHECK_OK(ferry_explain(view, text, sizeof text));
    return text;
}

#define CHECK_SAYS(view, words)                                                                                        \
    CHECK_THAT(strstr(explain(view), (words)) != NULL, "\"%s\" says nothing of \"%s\"", text, (words))

/* Born where nothing has been learnt yet. */
static ferry_view newborn(size_t bytes) {
    static ferry_site site;
    (void)ferry_site_set(++site);
    const ferry_view view = story_untouched(NULL, bytes);
    (void)ferry_site_set(0);
    return view;
}

static ferry_view newborn_of_host(size_t bytes) {
    const ferry_view view = newborn(bytes);
    CHECK_OK(ferry_host_acquire(&view, FERRY_WRITE));
    memset(view.data, 1, bytes);
    return view;
}

static void use_once(const ferry_view *view, ferry_access access, int passes) {
    const ferry_operand operand = {.view = view, .access = access, .passes = passes};
    CHECK_OK(story_kernel(&operand, 1, 7, NULL));
}

static void places_are_named(void) {
    const ferry_view view = newborn(BYTES), half = story_slice(&view, 0, BYTES / 2);
    CHECK_SAYS(&view, "never touched");
    CHECK_OK(ferry_host_acquire(&view, FERRY_WRITE));
    CHECK_SAYS(&view, "on the host");
    CHECK_OK(ferry_prefetch(&half, 0, NULL));
    CHECK_SAYS(&view, "in several places");
    CHECK_SAYS(&half, "on device 0");
    CHECK_OK(ferry_prefetch(&view, 0, NULL));
    CHECK_SAYS(&view, "on device 0");
    ferry_free(view.data);
}

static void reasons_are_given(void) {
    ferry_view view = newborn(BYTES);
    CHECK_SAYS(&view, "nobody has acquired it yet");
    CHECK_OK(ferry_host_acquire(&view, FERRY_WRITE));
    use_once(&view, FERRY_READ, 1);
    CHECK_SAYS(&view, "on the host");
    CHECK_SAYS(&view, "1 pass of a device");
    CHECK_OK(ferry_host_acquire(&view, FERRY_READ));
    use_once(&view, FERRY_READ, 1);
    CHECK_SAYS(&view, "as last time");
    CHECK_SAYS(&view, "before the host reads it");
    CHECK_OK(ferry_advise(&view, &(ferry_advice){.passes = 16}));
    CHECK_OK(ferry_host_acquire(&view, FERRY_WRITE));
    use_once(&view, FERRY_READ, 1);
    CHECK_SAYS(&view, "on device 0");
    CHECK_SAYS(&view, "as advised");
    CHECK_SAYS(&view, "16 passes");
    ferry_free(view.data);
}

/* Costs and expectations are those that were compared. */
static void both_costs_are_told(void) {
    ferry_view view = newborn_of_host(BYTES);
    use_once(&view, FERRY_READ, 0);
    CHECK_SAYS(&view, "many passes");
    CHECK_SAYS(&view, " ms");
    CHECK_SAYS(&view, "so many does the launch make");
    ferry_free(view.data);
}

/* The second block that a place allocates is expected to be used as the first was. */
static void places_in_the_program_are_reasons(void) {
    const ferry_site here = ferry_site_label("here");
    for (int i = 0; i < 2; i++) {
        (void)ferry_site_set(here);
        const ferry_view view = story_array(NULL, BYTES, 1);
        (void)ferry_site_set(0);
        use_once(&view, FERRY_READ, 1);
        CHECK_SAYS(&view, i == 0 ? "nothing else is known" : "as with the block allocated here before");
        CHECK_OK(ferry_host_acquire(&view, FERRY_READ));
        ferry_free(view.data);
    }
}

static void policies_are_reasons(void) {
    const ferry_view view = newborn_of_host(BYTES), tiny = newborn_of_host(100);
    CHECK_OK(ferry_advise(&view, &(ferry_advice){.policy = FERRY_POLICY_PREFETCH}));
    use_once(&view, FERRY_READ, 1);
    CHECK_SAYS(&view, "prefetch");
    use_once(&tiny, FERRY_READ, 1);
    CHECK_SAYS(&tiny, "on the host");
    CHECK_SAYS(&tiny, "under 4 KiB");
    ferry_free(view.data);
    ferry_free(tiny.data);
}

/* For every room the text is a beginning of the whole, ends with a zero, and what lies behind it is left alone. */
static void text_fits_its_room(void) {
    char whole[sizeof text], part[sizeof text];
    ferry_view view = newborn_of_host(BYTES);
    use_once(&view, FERRY_READ, 1);
    memcpy(whole, explain(&view), sizeof whole);
    const size_t length = strlen(whole);
    REQUIRE(length > 20 && length + 2 < sizeof whole);
    for (size_t room = 0; room <= length + 2; room++) {
        memset(part, 0x5a, sizeof part);
        CHECK_OK(ferry_explain(&view, part, room));
        const size_t written = room == 0 ? 0 : room <= length ? room - 1 : length;
        CHECK_MEMORY(part, whole, written);
        CHECK(room == 0 || part[written] == '\0');
        CHECK_INT(part[room], 0x5a);
    }
    CHECK_OK(ferry_explain(&view, NULL, 0));
    ferry_free(view.data);
}

static void strangers_are_refused(void) {
    char own[10];
    ferry_view view = newborn_of_host(PAGE), foreign = view, beyond = view;
    foreign.data = own;
    foreign.shape[0] = sizeof own;
    beyond.shape[0] += 1;
    strcpy(text, "as it was");
    CHECK_STATUS(ferry_explain(&foreign, text, sizeof text), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_explain(&beyond, text, sizeof text), FERRY_INVALID_ARGUMENT);
    const ferry_view empty = story_slice(&view, 0, 0);
    CHECK(ferry_explain(&empty, text, sizeof text) != FERRY_OK);
    CHECK_STRING(text, "as it was");
    ferry_free(view.data);
}

int main(void) {
    REQUIRE_OK(ferry_init(&(ferry_options){.backend = "sim", .policy = FERRY_POLICY_AUTO}));
    RUN(places_are_named);
    RUN(reasons_are_given);
    RUN(both_costs_are_told);
    RUN(places_in_the_program_are_reasons);
    RUN(policies_are_reasons);
    RUN(text_fits_its_room);
    RUN(strangers_are_refused);
    return test_finish();
}

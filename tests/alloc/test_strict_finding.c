/* Strict mode's findings: the sentence, the handler, the failure. */
#include <pthread.h>

#include "alloc/strict.h"
#include "tests/test.h"

#define MIB ((size_t)1 << 20)

static struct strict_crossing example(void) {
    return (struct strict_crossing){.address = (const void *)(uintptr_t)0x7f0000000000,
                                    .storage_bytes = 1024 * MIB,
                                    .bytes = 64 * MIB,
                                    .to = 0,
                                    .born = ferry_site_label("load"),
                                    .before = ferry_site_label("warm_up"),
                                    .now = ferry_site_label("step")};
}

static void check_sentence(ferry_finding_kind kind, const struct strict_crossing *what, const char *want) {
    char text[1024];
    strict_sentence(kind, what, text, sizeof text);
    CHECK_STRING(text, want);
}

static void redundant_crossings_are_told_whole(void) {
    struct strict_crossing what = example();
    check_sentence(FERRY_FINDING_REDUNDANT, &what,
                   "64.0 MiB of the 1.00 GiB array at 0x7f0000000000 (allocated in load) would cross to device 0 again "
                   "in step: the same bytes crossed in warm_up, and nobody has written them since");
    what.bytes = what.storage_bytes;
    what.to = FERRY_PLACE_HOST;
    what.born = what.before = what.now = 0;
    check_sentence(FERRY_FINDING_REDUNDANT, &what,
                   "all of the 1.00 GiB array at 0x7f0000000000 would cross to the host again: the same bytes crossed, "
                   "and nobody has written them since");
}

static void unsynchronised_touches_are_told_whole(void) {
    struct strict_crossing what = example();
    what.bytes = 4096;
    what.to = FERRY_PLACE_HOST;
    check_sentence(FERRY_FINDING_UNSYNCHRONISED, &what,
                   "the host touched 4.00 KiB of the 1.00 GiB array at 0x7f0000000000 (allocated in load) while a "
                   "kernel launched in warm_up could be using it: ferry_host_acquire or ferry_sync comes first; this "
                   "was noticed in step");
    what.born = what.before = what.now = 0;
    check_sentence(FERRY_FINDING_UNSYNCHRONISED, &what,
                   "the host touched 4.00 KiB of the 1.00 GiB array at 0x7f0000000000 while a kernel could be using "
                   "it: ferry_host_acquire or ferry_sync comes first");
    what.storage_bytes = 0;
    what.bytes = 1;
    check_sentence(FERRY_FINDING_UNSYNCHRONISED, &what,
                   "the host touched 1 byte at 0x7f0000000000 while a kernel could be using it: ferry_host_acquire or "
                   "ferry_sync comes first");
}

static void check_size(size_t bytes, const char *want) {
    char text[256], begin[64];
    const struct strict_crossing what = {.storage_bytes = SIZE_MAX, .bytes = bytes};
    strict_sentence(FERRY_FINDING_REDUNDANT, &what, text, sizeof text);
    snprintf(begin, sizeof begin, "%s of the 16384 PiB", want);
    CHECK_THAT(strncmp(text, begin, strlen(begin)) == 0, "%zu bytes: \"%s\" does not begin with \"%s\"", bytes, text,
               begin);
}

static void sizes_have_three_figures(void) {
    check_size(1, "1 byte");
    check_size(1023, "1023 bytes");
    check_size(1024, "1.00 KiB");
    check_size(10 * 1024, "10.0 KiB");
    check_size(100 * 1024, "100 KiB");
    check_size(MIB - 1, "1.00 MiB");
    check_size(1500 * MIB, "1.46 GiB");
}

/* Whatever the room, the text ends in it. */
static void sentences_are_cut(void) {
    const struct strict_crossing what = example();
    char whole[1024], text[1024];
    strict_sentence(FERRY_FINDING_REDUNDANT, &what, whole, sizeof whole);
    for (size_t bytes = 0; bytes <= strlen(whole) + 2; bytes++) {
        memset(text, '#', sizeof text);
        strict_sentence(FERRY_FINDING_REDUNDANT, &what, text, bytes);
        CHECK(text[bytes] == '#');
        if (bytes > 0) {
            const size_t length = strlen(whole) < bytes ? strlen(whole) : bytes - 1;
            CHECK_UINT(strlen(text), length);
            CHECK_MEMORY(text, whole, length);
        }
    }
}

struct heard {
    int times;
    ferry_finding last;
    char text[1024];
};

static void hear(const ferry_finding *finding, void *context) {
    struct heard *heard = context;
    heard->times++;
    heard->last = *finding;
    snprintf(heard->text, sizeof heard->text, "%s", finding->text);
}

static void the_handler_hears_every_finding(void) {
    const struct strict_crossing what = example();
    struct heard heard = {0};
    ferry_on_finding(hear, &heard);
    CHECK_STATUS(strict_redundant(&what), FERRY_REDUNDANT);
    CHECK_STRING(ferry_error_detail(), heard.text);
    CHECK_INT(heard.last.kind, FERRY_FINDING_REDUNDANT);
    CHECK(heard.last.address == what.address);
    CHECK_UINT(heard.last.storage_bytes, what.storage_bytes);
    CHECK_UINT(heard.last.bytes, what.bytes);
    CHECK_INT(heard.last.to, what.to);
    CHECK_UINT(heard.last.born, what.born);
    CHECK_UINT(heard.last.before, what.before);
    CHECK_UINT(heard.last.now, what.now);
    CHECK_STATUS(strict_unsynchronised(&what), FERRY_UNSYNCHRONISED);
    CHECK_INT(heard.last.kind, FERRY_FINDING_UNSYNCHRONISED);
    CHECK_STRING(ferry_error_detail(), heard.text);
    CHECK_INT(heard.times, 2);
    ferry_on_finding(NULL, NULL);
    CHECK_STATUS(strict_redundant(&what), FERRY_REDUNDANT);
    CHECK_INT(heard.times, 2);
}

/* A handler that looks at the array finds something itself. */
static void find_another(const ferry_finding *finding, void *context) {
    const struct strict_crossing nested = {.address = finding->address, .storage_bytes = 1, .bytes = 1};
    ++*(int *)context;
    CHECK_STATUS(strict_redundant(&nested), FERRY_REDUNDANT);
    ferry_on_finding(find_another, context);
}

static void a_handler_may_call_the_library(void) {
    const struct strict_crossing what = example();
    int times = 0;
    ferry_on_finding(find_another, &times);
    CHECK_STATUS(strict_redundant(&what), FERRY_REDUNDANT);
    CHECK(strstr(ferry_error_detail(), "1.00 GiB") != NULL);
    CHECK_INT(times, 1);
    CHECK_STATUS(strict_redundant(&what), FERRY_REDUNDANT);
    CHECK_INT(times, 2);
    ferry_on_finding(NULL, NULL);
}

/* The handler and its context are never mixed up, whoever sets them meanwhile. */
static int first_context, second_context;
static _Atomic bool done;

static void want_first(const ferry_finding *finding, void *context) {
    (void)finding;
    CHECK(context == &first_context);
}

static void want_second(const ferry_finding *finding, void *context) {
    (void)finding;
    CHECK(context == &second_context);
}

static void *change(void *unused) {
    while (!atomic_load(&done)) {
        ferry_on_finding(want_first, &first_context);
        ferry_on_finding(want_second, &second_context);
    }
    return unused;
}

static void the_handler_may_be_changed_at_any_time(void) {
    const struct strict_crossing what = {.storage_bytes = 2, .bytes = 1};
    pthread_t other;
    REQUIRE(pthread_create(&other, NULL, change, NULL) == 0);
    for (int i = 0; i < 20000; i++) {
        (void)strict_redundant(&what);
    }
    atomic_store(&done, true);
    pthread_join(other, NULL);
    ferry_on_finding(NULL, NULL);
}

static void it_is_off_until_switched_on(void) {
    CHECK(!strict_on());
    strict_set(true);
    CHECK(strict_on());
    strict_set(false);
}

int main(void) {
    RUN(redundant_crossings_are_told_whole);
    RUN(unsynchronised_touches_are_told_whole);
    RUN(sizes_have_three_figures);
    RUN(sentences_are_cut);
    RUN(the_handler_hears_every_finding);
    RUN(a_handler_may_call_the_library);
    RUN(the_handler_may_be_changed_at_any_time);
    RUN(it_is_off_until_switched_on);
    return test_finish();
}

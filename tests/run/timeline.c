/* The samples cover a whole life, however long and however busy, on a clock of the test's own. */
#include "preload/timeline.h"

#include "record_story.h"

#define MOST_UNEVEN_NS UINT64_C(1000000000)

static void change(uint64_t at_ns, uint64_t live_bytes) {
    record->heaps[FERRY_RUN_MANAGED].live_bytes = live_bytes;
    timeline_note(record, record->began_ns + at_ns);
}

static void open_record(void) {
    record_open(story_folder, MIB, 0);
    REQUIRE(record != NULL);
}

static void are_in_order(void) {
    for (uint32_t i = 1; i < record->nsamples; i++)
        CHECK(record->samples[i].time_ns >= record->samples[i - 1].time_ns + record->sample_every_ns);
}

static uint64_t most(void) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < record->nsamples; i++)
        bytes = record->samples[i].peak_bytes > bytes ? record->samples[i].peak_bytes : bytes;
    return bytes;
}

static void a_few_changes_are_all_there(void) {
    open_record();
    for (uint64_t i = 0; i < 100; i++)
        change(i * 5000, i * MIB);
    CHECK_UINT(record->nsamples, 100);
    CHECK_UINT(record->samples[37].time_ns, 37 * 5000);
    CHECK_UINT(record->samples[37].live_bytes[FERRY_RUN_MANAGED], 37 * MIB);
    CHECK_UINT(record->samples[37].live_bytes[FERRY_RUN_PLAIN], 0);
}

static void changes_of_a_moment_share_a_sample(void) {
    open_record();
    change(0, MIB);
    change(10, 9 * MIB);
    change(20, 2 * MIB);
    REQUIRE(record->nsamples == 1);
    CHECK_UINT(record->samples[0].time_ns, 0);
    CHECK_UINT(record->samples[0].live_bytes[FERRY_RUN_MANAGED], 2 * MIB);
    CHECK_UINT(record->samples[0].peak_bytes, 9 * MIB);
}

/* After each change there are enough, from the first moment to the latest, and the peak is among them. */
static void any_life_is_covered(void) {
    test_random random = {test_seed(5)};
    open_record();
    uint64_t at_ns = 0, events = 0;
    for (int phase = 0; phase < 12; phase++) {
        const int64_t step = phase % 3 == 0 ? 2000 : phase % 3 == 1 ? 100000 : (int64_t)MOST_UNEVEN_NS;
        for (int i = 0; i < 3000; i++, events++) {
            change(at_ns, events == 1234 ? 5000 * MIB : (events % 7) * MIB);
            at_ns += (uint64_t)test_random_int(&random, 1000 + step / 2, step + 1000);
            CHECK(record->nsamples >= (events < 512 ? events + 1 : 512));
        }
    }
    are_in_order();
    CHECK_UINT(record->samples[0].time_ns, 0);
    const ferry_run_sample *latest = &record->samples[record->nsamples - 1];
    CHECK(latest->time_ns + record->sample_every_ns + MOST_UNEVEN_NS + 1000 >= at_ns);
    CHECK_UINT(latest->live_bytes[FERRY_RUN_MANAGED], ((events - 1) % 7) * MIB);
    CHECK_UINT(most(), 5000 * MIB);
}

static void an_even_life_is_halved_when_full(void) {
    open_record();
    const uint64_t first_ns = record->sample_every_ns;
    for (uint64_t i = 0; i < FERRY_RUN_SAMPLES; i++)
        change(i * first_ns, i);
    CHECK_UINT(record->nsamples, FERRY_RUN_SAMPLES);
    change(FERRY_RUN_SAMPLES * first_ns, 1);
    CHECK_UINT(record->sample_every_ns, 2 * first_ns);
    CHECK_UINT(record->nsamples, FERRY_RUN_SAMPLES / 2 + 1);
    CHECK_UINT(record->samples[100].time_ns, 200 * first_ns);
    CHECK_UINT(record->samples[100].peak_bytes, 201);
}

int main(void) {
    TELL(a_few_changes_are_all_there);
    TELL(changes_of_a_moment_share_a_sample);
    TELL(any_life_is_covered);
    TELL(an_even_life_is_halved_when_full);
    return test_finish();
}

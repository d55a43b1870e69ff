/* The table of sites: programs that repeat themselves, told as stories. */
#include <pthread.h>

#include "alloc/site_table.h"
#include "tests/test.h"

#define MIB ((size_t)1 << 20)

static const struct site_outlook temporary = {.passes = 2, .next = ENDING_NOTHING};
static const struct site_outlook result = {.passes = 1, .next = ENDING_READ};

static bool predicts(const struct site_outlook *outlook, const struct site_outlook *want) {
    return outlook->known && outlook->passes == want->passes && outlook->next == want->next;
}

static struct site_outlook birth(ferry_site site, size_t bytes, struct site_key *key) {
    struct site_outlook outlook;
    *key = site_born(site, bytes, &outlook);
    return outlook;
}

/* One round of a loop: temporaries that die unseen, then a result that the host reads. How many were foreseen. */
static int round_of(ferry_site site, size_t bytes, int temporaries) {
    int foreseen = 0;
    for (int i = 0; i <= temporaries; i++) {
        const struct site_outlook *truth = i < temporaries ? &temporary : &result;
        struct site_key key;
        const struct site_outlook outlook = birth(site, bytes, &key);
        foreseen += predicts(&outlook, truth);
        if (i == temporaries) {
            site_host_read(key);
        }
        site_learn(key, truth);
    }
    return foreseen;
}

/* In its first round from the third block on, but for the result. */
static void a_loop_is_known_after_its_first_round(void) {
    site_table_clear();
    CHECK_INT(round_of(17, MIB, 9), 7);
    for (int round = 1; round < 20; round++) {
        CHECK_INT(round_of(17, MIB, 9), 10);
    }
}

static void sizes_of_one_class_are_alike(void) {
    site_table_clear();
    CHECK_INT(round_of(17, 1024 * MIB, 1), 0);
    CHECK_INT(round_of(17, 1024 * MIB + 10 * MIB, 1), 2);
    CHECK_INT(round_of(17, 1300 * MIB, 1), 0);
    CHECK_INT(round_of(18, 1024 * MIB, 1), 0);
}

/* A block lives and ends; what was foreseen of it. */
static struct site_outlook life(ferry_site site, const struct site_outlook *truth) {
    struct site_key key;
    const struct site_outlook outlook = birth(site, MIB, &key);
    site_learn(key, truth);
    return outlook;
}

/* Of the next one, whose ordinal is new. */
static struct site_outlook foreseen_after(const struct site_outlook *const *seen, size_t n) {
    struct site_key key;
    site_table_clear();
    for (size_t i = 0; i < n; i++) {
        life(23, seen[i]);
    }
    return birth(23, MIB, &key);
}

static void a_new_ordinal_is_taken_to_be_as_the_last_two(void) {
    const struct site_outlook *const both[] = {&temporary, &temporary};
    CHECK(!foreseen_after(both, 0).known);
    CHECK(!foreseen_after(both, 1).known);
    const struct site_outlook outlook = foreseen_after(both, 2);
    CHECK(predicts(&outlook, &temporary));
}

static void two_that_disagree_tell_nothing(void) {
    const struct site_outlook *const change[] = {&temporary, &result, &result};
    CHECK(!foreseen_after(change, 2).known);
    const struct site_outlook changed = foreseen_after(change, 3);
    CHECK(predicts(&changed, &result));
    const struct site_outlook *const exception[] = {&temporary, &temporary, &result, &temporary};
    CHECK(!foreseen_after(exception, 3).known);
    const struct site_outlook forgiven = foreseen_after(exception, 4);
    CHECK(predicts(&forgiven, &temporary));
}

/* Those of another size class, or of another site, are not among the two. */
static void only_blocks_alike_agree(void) {
    struct site_key key;
    site_table_clear();
    life(23, &temporary);
    life(24, &temporary);
    site_learn((birth(23, 8 * MIB, &key), key), &temporary);
    CHECK(!birth(23, MIB, &key).known);
    CHECK(!birth(24, MIB, &key).known);
    CHECK(!birth(23, 8 * MIB, &key).known);
}

static void what_the_ordinal_did_goes_first(void) {
    const struct site_outlook filled = {.passes = 3, .next = ENDING_OVERWRITE};
    struct site_key key;
    site_table_clear();
    life(23, &filled);
    life(23, &temporary);
    life(23, &temporary);
    birth(23, MIB, &key);
    site_host_read(key);
    struct site_outlook outlook = birth(23, MIB, &key);
    CHECK(predicts(&outlook, &filled));
    outlook = birth(23, MIB, &key);
    CHECK(predicts(&outlook, &temporary));
}

/* A round longer than the one before: its first ordinals are as they were then, the new ones as the last two. */
static void a_longer_round_begins_as_the_one_before(void) {
    const struct site_outlook first = {.passes = 5, .next = ENDING_OVERWRITE};
    struct site_key key;
    site_table_clear();
    for (int round = 0; round < 2; round++) {
        struct site_outlook outlook = life(23, &first);
        CHECK_INT(predicts(&outlook, &first), round > 0);
        outlook = life(23, &temporary);
        CHECK_INT(predicts(&outlook, &temporary), round > 0);
        outlook = birth(23, MIB, &key);
        CHECK_INT(predicts(&outlook, &result), round > 0);
        site_host_read(key);
        site_learn(key, &result);
    }
    const struct site_outlook *const known[] = {&first, &temporary, &result};
    for (int i = 0; i < 10; i++) {
        const struct site_outlook outlook = life(23, &temporary);
        CHECK_THAT(predicts(&outlook, i < 3 ? known[i] : &temporary), "block %d", i);
    }
}

/* Temporaries of one size, the result of another: its reading begins a new round for both. */
static void a_read_concerns_every_size_of_the_site(void) {
    site_table_clear();
    for (int round = 0; round < 4; round++) {
        struct site_key input, scratch, output;
        const struct site_outlook first = birth(5, MIB, &input), second = birth(5, MIB, &scratch);
        const struct site_outlook third = birth(5, 8 * MIB, &output);
        const struct site_outlook filled = {.passes = 3, .next = ENDING_OVERWRITE};
        CHECK_INT(predicts(&first, &filled), round > 0);
        CHECK_INT(predicts(&second, &temporary), round > 0);
        CHECK_INT(predicts(&third, &result), round > 0);
        site_host_read(output);
        site_learn(input, &filled);
        site_learn(scratch, &temporary);
        site_learn(output, &result);
    }
}

static void late_ordinals_share_one_memory(void) {
    site_table_clear();
    struct site_key keys[100];
    for (int i = 0; i < 100; i++) {
        CHECK(!birth(9, MIB, &keys[i]).known);
    }
    for (unsigned i = 1; i < 100; i++) {
        CHECK_INT(keys[i].memory == keys[i - 1].memory, i > SITE_LAST_ORDINAL);
        CHECK(keys[i].any == keys[0].any && keys[i].any != keys[i].memory);
    }
    site_learn(keys[99], &result);
    struct site_key key;
    const struct site_outlook outlook = birth(9, MIB, &key);
    CHECK(predicts(&outlook, &result));
}

static void nothing_is_remembered_of_no_site(void) {
    struct site_key key;
    CHECK(!birth(0, MIB, &key).known);
    CHECK_UINT(key.memory, 0);
    CHECK_UINT(key.any, 0);
    CHECK_UINT(key.head, 0);
    site_host_read(key);
    site_learn(key, &result);
    CHECK(!birth(0, MIB, &key).known);
}

static void an_unknown_ending_teaches_passes_only(void) {
    site_table_clear();
    const struct site_outlook unseen = {.passes = UINT16_MAX, .next = ENDING_UNKNOWN};
    struct site_key key;
    birth(3, MIB, &key);
    site_learn(key, &result);
    site_learn(key, &unseen);
    site_host_read(key);
    const struct site_outlook outlook = birth(3, MIB, &key);
    CHECK(outlook.known);
    CHECK_UINT(outlook.passes, UINT16_MAX);
    CHECK_UINT(outlook.next, ENDING_READ);
}

/* A sequence of outcomes, and what is predicted after each. */
static void check_sequence(const char *seen, const char *predicted) {
    struct site_prediction prediction = {0};
    char got[32] = "";
    for (size_t i = 0; seen[i] != 0; i++) {
        prediction = site_predict(prediction, (uint16_t)seen[i]);
        got[i] = (char)prediction.value;
    }
    CHECK_STRING(got, predicted);
}

static void one_exception_is_forgiven(void) {
    check_sequence("A", "A");
    check_sequence("AB", "AB");
    check_sequence("ABB", "ABB");
    check_sequence("AAB", "AAA");
    check_sequence("AAABA", "AAAAA");
    check_sequence("AAABAAABA", "AAAAAAAAA");
    check_sequence("AABABABAB", "AAAAAAAAA");
    check_sequence("AAABB", "AAAAB");
    check_sequence("AAAAAAAABB", "AAAAAAAAAB");
    check_sequence("AAABCCCA", "AAAACCCC");
}

/* Against the rule said another way: two equal outcomes in a row are always believed afterwards. */
static void what_happened_twice_is_believed(void) {
    test_random random = {test_seed(7)};
    struct site_prediction prediction = {0};
    uint16_t last = 0;
    for (int i = 0; i < 100000; i++) {
        const uint16_t seen = (uint16_t)test_random_int(&random, 1, 3);
        const struct site_prediction before = prediction;
        prediction = site_predict(prediction, seen);
        CHECK(prediction.value == seen || prediction.value == before.value);
        CHECK(seen != last || prediction.value == seen);
        CHECK(prediction.trust == 1 || prediction.trust == 2);
        last = seen;
    }
}

/* How many of so many births are predicted to be left alone by the host; what becomes of them then. */
static int looks(int births, enum ending truth) {
    int looked = 0;
    for (int i = 0; i < births; i++) {
        struct site_key key;
        const struct site_outlook outlook = birth(17, MIB, &key);
        const bool seen = outlook.next == ENDING_NOTHING;
        looked += seen;
        site_learn(
            key, &(struct site_outlook){.passes = 1, .next = (uint8_t)(seen ? truth : ENDING_UNKNOWN), .blind = !seen});
        site_host_read(key);
    }
    return looked;
}

/* The host's reading at home leaves no trace: it goes on being expected, and is looked for ever less often. */
static void what_cannot_be_seen_is_looked_for(void) {
    site_table_clear();
    life(17, &result);
    life(17, &result);
    CHECK_INT(looks(15, ENDING_READ), 0);
    CHECK_INT(looks(1, ENDING_READ), 1);
    CHECK_INT(looks(31, ENDING_READ), 0);
    CHECK_INT(looks(1, ENDING_READ), 1);
    CHECK_INT(looks(63 + 1 + 127 + 1 + 127 + 1, ENDING_READ), 3);
    /* It comes no longer: twice is believed. */
    CHECK_INT(looks(127, ENDING_NOTHING), 0);
    CHECK_INT(looks(100, ENDING_NOTHING), 100);
}

static void size_classes_are_quarters(void) {
    CHECK_UINT(site_size_class(1024 * MIB), site_size_class(1034 * MIB));
    CHECK(site_size_class(1024 * MIB) != site_size_class(1280 * MIB));
    CHECK(site_size_class(1024 * MIB - 1) != site_size_class(1024 * MIB));
    CHECK_UINT(site_size_class(SIZE_MAX), 255);
    unsigned before = 0;
    for (size_t bytes = 0; bytes < 5000; bytes++) {
        const unsigned class = site_size_class(bytes);
        CHECK(class >= before);
        before = class;
    }
}

/* More sites than there is room for: no key, nothing known, no harm; and one still in use is seldom forgotten. */
static void a_full_table_forgets_the_idle(void) {
    site_table_clear();
    round_of(42, MIB, 3);
    int without = 0, foreseen = 0, rounds = 0;
    for (ferry_site site = 1000; site < 51000; site++) {
        struct site_key key;
        struct site_outlook outlook;
        key = site_born(site, MIB, &outlook);
        without += key.memory == 0;
        CHECK(!outlook.known || key.memory != 0 || key.any != 0);
        site_learn(key, &result);
        if (site % 64 == 0) {
            foreseen += round_of(42, MIB, 3);
            rounds++;
        }
    }
    CHECK_THAT(foreseen >= rounds * 4 * 9 / 10, "%d of %d foreseen", foreseen, rounds * 4);
    CHECK(without > 0);
    /* Later ones are still learnt. */
    round_of(7, 64 * MIB, 1);
    round_of(7, 64 * MIB, 1);
    round_of(7, 64 * MIB, 1);
    CHECK_INT(round_of(7, 64 * MIB, 1), 2);
}

/* Keys whose words others have taken teach nobody. */
static void old_keys_do_no_harm(void) {
    enum { OLD = 50, OTHERS = 1500 };
    struct site_key old[OLD], key;
    site_table_clear();
    for (unsigned i = 0; i < OLD; i++) {
        birth(i + 1, MIB, &old[i]);
    }
    site_table_clear();
    for (int round = 0; round < 2; round++) {
        for (ferry_site site = 1000; site < 1000 + OTHERS; site++) {
            CHECK(!birth(site, MIB, &key).known);
            site_host_read(key);
        }
        for (unsigned i = 0; i < OLD; i++) {
            site_learn(old[i], &result);
            site_host_read(old[i]);
        }
    }
    CHECK(!birth(1, MIB, &key).known);
}

enum { THREADS = 4, ROUNDS = 20000 };
static pthread_barrier_t together;

/* Every thread in a loop of its own at one site: each counts its own births. */
static void *loop(void *foreseen) {
    pthread_barrier_wait(&together);
    for (int round = 0; round < ROUNDS; round++) {
        *(long *)foreseen += round_of(99, MIB, 9);
    }
    return NULL;
}

static void threads_in_one_loop_agree(void) {
    site_table_clear();
    pthread_t threads[THREADS];
    long foreseen[THREADS] = {0};
    REQUIRE(pthread_barrier_init(&together, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, loop, &foreseen[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_THAT(foreseen[i] >= 10L * (ROUNDS - 10), "%ld of %d foreseen", foreseen[i], 10 * ROUNDS);
    }
    pthread_barrier_destroy(&together);
}

/* Any calls at all from several threads, on keys of each other's: for the sanitizers. */
static _Atomic uint64_t passed_on;
static _Atomic uint32_t passed_on_any;

static void *noise(void *seed) {
    test_random random = {*(const uint64_t *)seed};
    for (int i = 0; i < 100000; i++) {
        struct site_key key, other;
        birth((ferry_site)test_random_int(&random, 1, 3000), MIB, &key);
        const uint64_t handed = atomic_exchange(&passed_on, (uint64_t)key.head << 32 | key.memory);
        other = (struct site_key){.memory = (uint32_t)handed,
                                  .any = atomic_exchange(&passed_on_any, key.any),
                                  .head = (uint32_t)(handed >> 32)};
        const struct site_outlook seen = {.passes = (uint16_t)test_random_next(&random),
                                          .next = (uint8_t)test_random_int(&random, 0, 3)};
        site_learn(other, &seen);
        if (i % 7 == 0) {
            site_host_read(other);
        }
    }
    return NULL;
}

static void threads_may_do_anything(void) {
    pthread_t threads[THREADS];
    uint64_t seeds[THREADS];
    for (int i = 0; i < THREADS; i++) {
        seeds[i] = (uint64_t)i;
        REQUIRE(pthread_create(&threads[i], NULL, noise, &seeds[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

int main(void) {
    RUN(a_loop_is_known_after_its_first_round);
    RUN(sizes_of_one_class_are_alike);
    RUN(a_new_ordinal_is_taken_to_be_as_the_last_two);
    RUN(two_that_disagree_tell_nothing);
    RUN(only_blocks_alike_agree);
    RUN(what_the_ordinal_did_goes_first);
    RUN(a_longer_round_begins_as_the_one_before);
    RUN(a_read_concerns_every_size_of_the_site);
    RUN(late_ordinals_share_one_memory);
    RUN(nothing_is_remembered_of_no_site);
    RUN(an_unknown_ending_teaches_passes_only);
    RUN(one_exception_is_forgiven);
    RUN(what_happened_twice_is_believed);
    RUN(what_cannot_be_seen_is_looked_for);
    RUN(size_classes_are_quarters);
    RUN(a_full_table_forgets_the_idle);
    RUN(old_keys_do_no_harm);
    RUN(threads_in_one_loop_agree);
    RUN(threads_may_do_anything);
    return test_finish();
}

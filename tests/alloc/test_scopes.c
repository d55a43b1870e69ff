/* Whose policy counts: the operand's, the thread's, the array's, the heap's; and what an advice is. */
#include <pthread.h>

#include "ferry/site.h"
#include "tests/alloc/story.h"

#define BYTES (3 * PAGE)

/* Reads the view once; `policy` is the operand's. */
static void read_once(const ferry_view *view, ferry_policy policy) {
    const ferry_operand operand = {.view = view, .access = FERRY_READ, .passes = 1, .policy = policy};
    CHECK_OK(story_kernel(&operand, 1, 0, NULL));
    CHECK_OK(ferry_sync(NULL));
}

/* What is read ends where the policy wants it. Three pages, once: auto leaves them at home. */
static ferry_place place_under(ferry_policy policy) {
    return policy == FERRY_POLICY_PREFETCH ? 0 : FERRY_PLACE_HOST;
}

static void check_scopes(ferry_heap *heap, ferry_policy array, ferry_policy thread, ferry_policy operand) {
    const ferry_policy scopes[] = {operand, thread, array, ferry_heap_policy(heap)};
    const ferry_view view = story_array(heap, BYTES, 1);
    int narrowest = 0;
    while (scopes[narrowest] == FERRY_POLICY_DEFAULT) {
        narrowest++;
    }
    CHECK_OK(ferry_advise(&view, &(ferry_advice){.policy = array}));
    CHECK_INT(ferry_thread_policy_set(thread), FERRY_POLICY_DEFAULT);
    read_once(&view, operand);
    CHECK_INT(ferry_thread_policy_set(FERRY_POLICY_DEFAULT), thread);
    const ferry_place found = ferry_view_place(&view);
    CHECK_THAT(found == place_under(scopes[narrowest]), "operand %s, thread %s, array %s, heap %s: at %d",
               ferry_policy_name(operand), ferry_policy_name(thread), ferry_policy_name(array),
               ferry_policy_name(scopes[3]), found);
    CHECK_INT(backend_sim_page_place(view.data), found);
    ferry_free(view.data);
}

static void narrowest_scope_counts(void) {
    for (int at = FERRY_POLICY_AUTO; at <= FERRY_POLICY_REMOTE; at++) {
        ferry_heap *heap = NULL;
        REQUIRE_OK(ferry_heap_create(&(ferry_heap_options){.policy = (ferry_policy)at}, &heap));
        for (int scopes = 0; scopes < 5 * 5 * 5; scopes++) {
            check_scopes(heap, (ferry_policy)(scopes % 5), (ferry_policy)(scopes / 5 % 5), (ferry_policy)(scopes / 25));
        }
        ferry_heap_destroy(heap);
    }
}

static void *other_thread(void *argument) {
    *(ferry_policy *)argument = ferry_thread_policy_set(FERRY_POLICY_PREFETCH);
    return NULL;
}

static void threads_have_policies_of_their_own(void) {
    pthread_t thread;
    ferry_policy before = FERRY_POLICY_NONE;
    CHECK_INT(ferry_thread_policy_set(FERRY_POLICY_REMOTE), FERRY_POLICY_DEFAULT);
    REQUIRE(pthread_create(&thread, NULL, other_thread, &before) == 0);
    pthread_join(thread, NULL);
    CHECK_INT(before, FERRY_POLICY_DEFAULT);
    CHECK_INT(ferry_thread_policy_set(FERRY_POLICY_DEFAULT), FERRY_POLICY_REMOTE);
}

/* The host's acquires follow the scopes, too: under none the host's own faults bring the pages. */
static void host_follows_its_thread(void) {
    const ferry_view view = story_array(NULL, BYTES, 1);
    REQUIRE_OK(ferry_prefetch(&view, 0, NULL));
    REQUIRE_OK(ferry_sync(NULL));
    CHECK_INT(ferry_thread_policy_set(FERRY_POLICY_NONE), FERRY_POLICY_DEFAULT);
    const uint64_t faults = backend_sim_totals().cpu_faults;
    CHECK_OK(ferry_host_acquire(&view, FERRY_READ));
    CHECK_INT(backend_sim_page_place(view.data), 0);
    CHECK_INT(*(volatile unsigned char *)view.data, 1);
    CHECK(backend_sim_totals().cpu_faults > faults);
    CHECK_INT(ferry_thread_policy_set(FERRY_POLICY_DEFAULT), FERRY_POLICY_NONE);
    ferry_free(view.data);
}

/* By hand everything moves, whatever the policy. */
static void prefetch_by_hand_moves(void) {
    for (int policy = FERRY_POLICY_AUTO; policy <= FERRY_POLICY_NONE; policy++) {
        const ferry_view view = story_array(NULL, BYTES, 1);
        CHECK_OK(ferry_advise(&view, &(ferry_advice){.policy = (ferry_policy)policy}));
        CHECK_INT(ferry_thread_policy_set((ferry_policy)policy), FERRY_POLICY_DEFAULT);
        CHECK_OK(ferry_prefetch(&view, 0, NULL));
        CHECK_INT(ferry_view_place(&view), 0);
        CHECK_OK(ferry_prefetch(&view, FERRY_PLACE_HOST, NULL));
        CHECK_INT(ferry_view_place(&view), FERRY_PLACE_HOST);
        CHECK_INT(ferry_thread_policy_set(FERRY_POLICY_DEFAULT), policy);
        ferry_free(view.data);
    }
}

static void advice_moves_nothing(void) {
    const ferry_view view = story_array(NULL, BYTES, 1);
    story_reset();
    CHECK_OK(ferry_advise(&view, &(ferry_advice){.policy = FERRY_POLICY_PREFETCH, .passes = FERRY_PASSES_MANY}));
    STORY_MOVED(0, 0);
    CHECK_INT(ferry_view_place(&view), FERRY_PLACE_HOST);
    ferry_free(view.data);
}

/* Under auto a launch that goes over an array once uses it across the bus, unless more passes are announced. */
static void announced_passes_decide(void) {
    const int passes[] = {1, FERRY_PASSES_MANY};
    for (int i = 0; i < 2; i++) {
        (void)ferry_site_set((ferry_site)i + 1); /* nothing is learnt from the other */
        const ferry_view view = story_array(NULL, 4 * BLOCK, 1);
        (void)ferry_site_set(0);
        CHECK_OK(ferry_advise(&view, &(ferry_advice){.passes = passes[i]}));
        read_once(&view, FERRY_POLICY_AUTO);
        CHECK_INT(ferry_view_place(&view), passes[i] == 1 ? FERRY_PLACE_HOST : 0);
        ferry_free(view.data);
    }
}

/* Every advice replaces the one before, and part of a storage stands for the whole. */
static void advice_is_replaced(void) {
    const ferry_view view = story_array(NULL, BYTES, 1), part = story_slice(&view, PAGE, PAGE + 10);
    CHECK_OK(ferry_advise(&view, &(ferry_advice){.policy = FERRY_POLICY_PREFETCH}));
    CHECK_OK(ferry_advise(&part, &(ferry_advice){.policy = FERRY_POLICY_REMOTE}));
    read_once(&view, FERRY_POLICY_DEFAULT);
    CHECK_INT(ferry_view_place(&view), FERRY_PLACE_HOST);
    CHECK_OK(ferry_advise(&part, &(ferry_advice){.policy = FERRY_POLICY_PREFETCH}));
    read_once(&view, FERRY_POLICY_DEFAULT);
    CHECK_INT(ferry_view_place(&view), 0);
    ferry_free(view.data);
}

/* The next owner of the block has not been advised. */
static void advice_goes_with_its_storage(void) {
    const ferry_view view = story_array(NULL, BYTES, 1);
    CHECK_OK(ferry_advise(&view, &(ferry_advice){.policy = FERRY_POLICY_PREFETCH, .passes = FERRY_PASSES_MANY}));
    ferry_free(view.data);
    const ferry_view next = story_array(NULL, BYTES, 1);
    CHECK(next.data == view.data);
    read_once(&next, FERRY_POLICY_DEFAULT);
    CHECK_INT(ferry_view_place(&next), FERRY_PLACE_HOST);
    ferry_free(next.data);
}

static void bad_advice_is_refused(void) {
    char own[10];
    ferry_view view = story_array(NULL, BYTES, 1), foreign = view, beyond = view, empty = story_slice(&view, 0, 0);
    foreign.data = own;
    foreign.shape[0] = sizeof own;
    beyond.shape[0] += 1;
    CHECK_OK(ferry_advise(&view, &(ferry_advice){.policy = FERRY_POLICY_REMOTE}));
    CHECK_STATUS(ferry_advise(&view, &(ferry_advice){.passes = -1}), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_advise(&view, &(ferry_advice){.policy = (ferry_policy)17}), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_advise(&foreign, &(ferry_advice){0}), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_advise(&beyond, &(ferry_advice){0}), FERRY_INVALID_ARGUMENT);
    CHECK_OK(ferry_advise(&empty, &(ferry_advice){0}));
    read_once(&view, FERRY_POLICY_DEFAULT);
    CHECK_INT(ferry_view_place(&view), FERRY_PLACE_HOST);
    ferry_free(view.data);
}

static void tiny_blocks_take_no_advice(void) {
    const ferry_view tiny = story_array(NULL, 100, 1);
    CHECK_OK(ferry_advise(&tiny, &(ferry_advice){.policy = FERRY_POLICY_PREFETCH, .passes = 16}));
    read_once(&tiny, FERRY_POLICY_PREFETCH);
    CHECK_INT(ferry_view_place(&tiny), FERRY_PLACE_HOST);
    ferry_free(tiny.data);
}

int main(void) {
    REQUIRE_OK(ferry_init(&(ferry_options){.backend = "sim", .policy = FERRY_POLICY_AUTO}));
    RUN(narrowest_scope_counts);
    RUN(threads_have_policies_of_their_own);
    RUN(host_follows_its_thread);
    RUN(prefetch_by_hand_moves);
    RUN(advice_moves_nothing);
    RUN(announced_passes_decide);
    RUN(advice_is_replaced);
    RUN(advice_goes_with_its_storage);
    RUN(bad_advice_is_refused);
    RUN(tiny_blocks_take_no_advice);
    return test_finish();
}

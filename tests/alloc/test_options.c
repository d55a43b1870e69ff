/* What the environment and ferry_options mean, and statuses. */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "alloc/core.h"
#include "alloc/options.h"
#include "tests/alloc/fake.h"
#include "tests/alloc/forks.h"
#include "tests/test.h"

static void sizes(void) {
    static const struct {
        const char *text;
        size_t bytes;
    } good[] = {
        {"0", 0},
        {"1", 1},
        {"500000", 500000},
        {"64M", (size_t)64 << 20},
        {"64m", (size_t)64 << 20},
        {"1.5G", (size_t)3 << 29},
        {"2K", 2048},
        {"2KB", 2048},
        {"2KiB", 2048},
        {"2kib", 2048},
        {"3 GiB", (size_t)3 << 30},
        {"1T", (size_t)1 << 40},
        {"7B", 7},
        {"0.5K", 512},
        {"4096T", (size_t)4096 << 40},
        {"1e6", 1000000},
    };
    static const char *const bad[] = {"",    " ",   "M",     "-1",  "-1K", "64X",  "64MM",      "64MiBB", "64Ki B",
                                      "nan", "inf", "1e300", "x64", "64Q", "1,5G", "10000000T", "64iB",   "64M5"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        size_t bytes = 17;
        CHECK_OK(ferry_size_parse(good[i].text, &bytes));
        CHECK_UINT(bytes, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t bytes = 17;
        CHECK_THAT(ferry_size_parse(bad[i], &bytes) == FERRY_INVALID_ARGUMENT, "'%s' is taken for %zu", bad[i], bytes);
        CHECK_UINT(bytes, 17);
        CHECK(strstr(ferry_error_detail(), bad[i]) != NULL);
    }
}

static void policies(void) {
    ferry_policy policy = FERRY_POLICY_NONE;
    for (int i = FERRY_POLICY_AUTO; i <= FERRY_POLICY_NONE; i++) {
        CHECK_OK(ferry_policy_find(ferry_policy_name((ferry_policy)i), &policy));
        CHECK_INT(policy, i);
    }
    CHECK_STATUS(ferry_policy_find("Prefetch", &policy), FERRY_NOT_FOUND);
    CHECK_STATUS(ferry_policy_find("", &policy), FERRY_NOT_FOUND);
    CHECK(strstr(ferry_error_detail(), "prefetch") != NULL && strstr(ferry_error_detail(), "none") != NULL);
    CHECK_INT(policy, FERRY_POLICY_NONE);
    CHECK_STRING(ferry_policy_name(FERRY_POLICY_PREFETCH), "prefetch");
    CHECK_STRING(ferry_policy_name(FERRY_POLICY_DEFAULT), "default");
    CHECK(ferry_policy_name((ferry_policy)99) != NULL && ferry_policy_name((ferry_policy)-1) != NULL);
}

static void clear_environment(void) {
    unsetenv("FERRY_BACKEND");
    unsetenv("FERRY_POLICY");
    unsetenv("FERRY_LIMIT");
    unsetenv("FERRY_OVERSUBSCRIBE");
    unsetenv("FERRY_STRICT");
}

static void environment(void) {
    ferry_options out = {0};
    clear_environment();
    CHECK_OK(options_resolve(NULL, &out));
    CHECK_STRING(out.backend, "auto");
    CHECK_INT(out.policy, FERRY_POLICY_AUTO);
    CHECK_UINT(out.limit_bytes, 0);
    CHECK(!out.oversubscribe && !out.strict);
    setenv("FERRY_BACKEND", "sim", 1);
    setenv("FERRY_POLICY", "none", 1);
    setenv("FERRY_LIMIT", "64M", 1);
    setenv("FERRY_OVERSUBSCRIBE", "1", 1);
    setenv("FERRY_STRICT", "1", 1);
    CHECK_OK(options_resolve(NULL, &out));
    CHECK_STRING(out.backend, "sim");
    CHECK_INT(out.policy, FERRY_POLICY_NONE);
    CHECK_UINT(out.limit_bytes, 64 << 20);
    CHECK(out.oversubscribe && out.strict);
    CHECK_OK(
        options_resolve(&(ferry_options){.backend = "cuda", .policy = FERRY_POLICY_PREFETCH, .limit_bytes = 5}, &out));
    CHECK_STRING(out.backend, "cuda");
    CHECK_INT(out.policy, FERRY_POLICY_PREFETCH);
    CHECK_UINT(out.limit_bytes, 5);
    setenv("FERRY_OVERSUBSCRIBE", "0", 1);
    CHECK_OK(options_resolve(NULL, &out));
    setenv("FERRY_STRICT", "0", 1);
    CHECK_OK(options_resolve(NULL, &out));
    CHECK(!out.oversubscribe && !out.strict);
    CHECK_OK(options_resolve(&(ferry_options){.strict = true}, &out));
    CHECK(out.strict);
}

static void bad_values_name_their_variable(void) {
    ferry_options out = {.limit_bytes = 3};
    clear_environment();
    setenv("FERRY_LIMIT", "lots", 1);
    CHECK_STATUS(options_resolve(NULL, &out), FERRY_INVALID_ARGUMENT);
    CHECK(strstr(ferry_error_detail(), "FERRY_LIMIT") != NULL && strstr(ferry_error_detail(), "lots") != NULL);
    CHECK_UINT(out.limit_bytes, 3);
    /* What nobody asks for is not read. */
    CHECK_OK(options_resolve(&(ferry_options){.limit_bytes = 9}, &out));
    clear_environment();
    setenv("FERRY_POLICY", "magic", 1);
    CHECK_STATUS(options_resolve(NULL, &out), FERRY_NOT_FOUND);
    CHECK(strstr(ferry_error_detail(), "FERRY_POLICY") != NULL && strstr(ferry_error_detail(), "magic") != NULL);
    clear_environment();
    CHECK_STATUS(options_resolve(&(ferry_options){.policy = (ferry_policy)99}, &out), FERRY_INVALID_ARGUMENT);
}

static void ram_is_some(void) {
    CHECK(options_ram_bytes() > (size_t)1 << 20);
    CHECK(options_ram_bytes() <= (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE));
}

/* A start decides for the whole process, so each is tried in a child. */
static void unknown_backend(void) {
    CHECK_STATUS(ferry_init(&(ferry_options){.backend = "abacus"}), FERRY_INVALID_ARGUMENT);
    CHECK(strstr(ferry_error_detail(), "abacus") != NULL && strstr(ferry_error_detail(), "sim") != NULL);
    CHECK(!ferry_owns("nothing of ours"));
    setenv("FERRY_BACKEND", "abacus", 1);
    CHECK(ferry_backend_name() == NULL);
    CHECK_INT(ferry_device_count(), 0);
    CHECK_UINT(ferry_limit(), 0);
    errno = 0;
    CHECK(ferry_malloc(10) == NULL);
    CHECK_INT(errno, ENOMEM);
    CHECK(strstr(ferry_error_detail(), "abacus") != NULL);
    CHECK(ferry_heap_default() == NULL);
    ferry_free(NULL);
    ferry_stats stats;
    CHECK_STATUS(ferry_stats_get(&stats), FERRY_INVALID_ARGUMENT);
    /* A start that failed may be tried again. */
    setenv("FERRY_BACKEND", "sim", 1);
    CHECK_OK(ferry_init(NULL));
    CHECK_STRING(ferry_backend_name(), "sim");
}

static void second_start(void) {
    core_use_backend(fake_backend());
    CHECK_OK(ferry_init(&(ferry_options){.limit_bytes = 1 << 24, .policy = FERRY_POLICY_NONE}));
    CHECK_UINT(ferry_limit(), 1 << 24);
    CHECK_INT(ferry_heap_policy(NULL), FERRY_POLICY_NONE);
    CHECK_INT(ferry_heap_policy(ferry_heap_default()), FERRY_POLICY_NONE);
    CHECK_OK(ferry_init(NULL));
    CHECK_STATUS(ferry_init(&(ferry_options){.limit_bytes = 1 << 24}), FERRY_INVALID_ARGUMENT);
    CHECK_UINT(ferry_limit(), 1 << 24);
    ferry_device_info info;
    CHECK_OK(ferry_device_get(0, &info));
    CHECK_STATUS(ferry_device_get(1, &info), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_device_get(-1, &info), FERRY_INVALID_ARGUMENT);
    ferry_heap *heap = NULL;
    CHECK_STATUS(ferry_heap_create(&(ferry_heap_options){"x", (ferry_policy)9}, &heap), FERRY_INVALID_ARGUMENT);
    CHECK(heap == NULL);
    CHECK_OK(ferry_heap_create(&(ferry_heap_options){"x", FERRY_POLICY_PREFETCH}, &heap));
    CHECK_INT(ferry_heap_policy(heap), FERRY_POLICY_PREFETCH);
    ferry_heap_destroy(heap);
    ferry_heap_destroy(NULL);
    ferry_heap_destroy(ferry_heap_default());
    ferry_free(ferry_malloc(10));
}

static void allocate(void) {
    ferry_free(ferry_malloc(10));
}

/* The n-th call of the backend fails, until the start succeeds; after each failure it may be tried again. */
static void start_survives_failures(void) {
    core_use_backend(backend_faulty(fake_backend()));
    uint64_t nth = 1;
    for (; nth < 100; nth++) {
        backend_faulty_arm(nth);
        if (ferry_init(NULL) == FERRY_OK) {
            break;
        }
        CHECK(*ferry_error_detail() != '\0');
    }
    CHECK(nth > 2 && nth < 100);
    backend_faulty_arm(0);
    /* Handlers of forks must not have been set twice. */
    in_child(allocate);
    void *block = ferry_malloc(10000);
    CHECK(block != NULL);
    ferry_free(block);
}

static void starts(void) {
    clear_environment();
    in_child(unknown_backend);
    clear_environment();
    in_child(second_start);
    in_child(start_survives_failures);
}

static void *fail_elsewhere(void *argument) {
    CHECK_STRING(ferry_error_detail(), "");
    ferry_error(FERRY_SHAPE, "of the other %s", (const char *)argument);
    CHECK_STRING(ferry_error_detail(), "of the other thread");
    return NULL;
}

static void errors_belong_to_threads(void) {
    errno = 42;
    CHECK_INT(ferry_error(FERRY_CAST, "mine, %d", 7), FERRY_CAST);
    CHECK_INT(errno, 42);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, fail_elsewhere, "thread") == 0);
    pthread_join(thread, NULL);
    CHECK_STRING(ferry_error_detail(), "mine, 7");
    /* A detail that quotes the one before it. */
    ferry_error(FERRY_CAST, "again: %s", ferry_error_detail());
    CHECK_STRING(ferry_error_detail(), "again: mine, 7");
}

static void long_details_are_cut(void) {
    static char text[100000];
    memset(text, 'x', sizeof text - 1);
    ferry_error(FERRY_COMPILE, "%s", text);
    const size_t length = strlen(ferry_error_detail());
    CHECK(length > 1000 && length < sizeof text);
}

static void statuses_have_names(void) {
    CHECK_STRING(ferry_status_name(FERRY_OK), "OK");
    CHECK_STRING(ferry_status_name(FERRY_LIMIT), "LIMIT");
    CHECK_STRING(ferry_status_name((ferry_status)12345), "UNKNOWN");
    CHECK_STRING(ferry_status_name((ferry_status)-1), "UNKNOWN");
    CHECK(*ferry_status_text(FERRY_LIMIT) != '\0');
    CHECK(*ferry_status_text((ferry_status)-1) != '\0');
}

int main(void) {
    RUN(errors_belong_to_threads);
    RUN(long_details_are_cut);
    RUN(statuses_have_names);
    RUN(sizes);
    RUN(policies);
    RUN(environment);
    RUN(bad_values_name_their_variable);
    RUN(ram_is_some);
    RUN(starts);
    return test_finish();
}

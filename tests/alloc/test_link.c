/* The costs of links: measured once, found again by the next process, and right or not there on disk. */
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sys/stat.h>

#include "alloc/core.h"
#include "alloc/link.h"
#include "alloc/link_file.h"
#include "tests/alloc/fake.h"
#include "tests/alloc/forks.h"
#include "tests/scratch.h"

#define THREADS 8
#define FIELDS (sizeof(ferry_link_costs) / sizeof(double))

static char folder[SCRATCH_BYTES];

/* A backend that measures what it is told to. */
static backend table;
static _Atomic int measured;
static _Atomic(ferry_status) measure_status;
static _Atomic int level; /* of the next figures: they all are about this */
static const char *identity = "device A, driver 1, machine X";

/* Thirteen different figures. */
static ferry_link_costs costs_at(int at) {
    ferry_link_costs costs;
    double value = at;
#define SET(name, text) costs.name = value += 1.0 / 64;
    FERRY_LINK_LIST(SET)
#undef SET
    return costs;
}

static bool same_costs(const ferry_link_costs *a, const ferry_link_costs *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

static ferry_status measure(int device, ferry_link_costs *out) {
    (void)device;
    atomic_fetch_add(&measured, 1);
    const ferry_status status = atomic_load(&measure_status);
    if (status != FERRY_OK) {
        return ferry_error(status, "the link was to fail");
    }
    *out = costs_at(atomic_load(&level));
    return FERRY_OK;
}

static ferry_status identify(int device, char *text, size_t bytes) {
    snprintf(text, bytes, "%s, number %d", identity, device);
    return FERRY_OK;
}

static void start(void) {
    fake_settings.devices = 3;
    table = *fake_backend();
    table.link_measure = measure;
    table.link_identity = identify;
    atomic_store(&level, 5);
    core_use_backend(&table);
    REQUIRE_OK(ferry_init(NULL));
}

static int files(void) {
    char command[400];
    int n = -1;
    snprintf(command, sizeof command, "ls '%s' 2>/dev/null | wc -l", folder);
    FILE *pipe = popen(command, "r");
    REQUIRE(pipe != NULL && fscanf(pipe, "%d", &n) == 1);
    pclose(pipe);
    return n;
}

static void clear_folder(void) {
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'/*", folder);
    REQUIRE(system(command) == 0);
}

static void check_in_use(int device, int at) {
    ferry_link_costs got, want = costs_at(at);
    CHECK_OK(ferry_link_get(device, &got));
    CHECK_THAT(same_costs(&got, &want), "device %d: %g is in use, not %g", device, got.to_device_ns, want.to_device_ns);
}

/* The figures that nobody measured: those of a forked child, or where measuring fails. */
static bool is_built_in(const ferry_link_costs *costs) {
    const double gib = 1073741824.0 / 1e6; /* ms for a GiB */
    return fabs(costs->to_device_ns_per_byte * gib - 21.6) < 1e-9 &&
           fabs(costs->to_host_ns_per_byte * gib - 90) < 1e-9 &&
           fabs(costs->remote_both_ns_per_byte * gib - 25.5) < 1e-9 && link_plausible(costs);
}

/* Stories, each in a process of its own. */

static void first_call_measures_once(void) {
    start();
    check_in_use(0, 5);
    atomic_store(&level, 6);
    check_in_use(0, 5);
    CHECK_INT(measured, 1);
    check_in_use(2, 6);
    CHECK_INT(measured, 2);
    CHECK(link_costs(0) == link_costs(0));
    CHECK_INT(files(), 2);
}

static void next_process_measures_nothing(void) {
    start();
    check_in_use(2, 6);
    check_in_use(0, 5);
    CHECK_INT(measured, 0);
    check_in_use(1, 5);
    CHECK_INT(measured, 1);
}

static void other_identity_is_another_link(void) {
    identity = "device A, driver 2, machine X";
    start();
    atomic_store(&level, 7);
    check_in_use(0, 7);
    CHECK_INT(measured, 1);
}

static void calibration_replaces(void) {
    start();
    const ferry_link_costs *earlier = link_costs(0);
    ferry_link_costs got, old = costs_at(5), new = costs_at(9);
    atomic_store(&level, 9);
    CHECK_OK(ferry_calibrate(0, &got));
    CHECK(same_costs(&got, &new));
    CHECK(same_costs(earlier, &old));
    check_in_use(0, 9);
    CHECK_OK(ferry_calibrate(0, NULL));
    CHECK_INT(measured, 2);
}

static void calibration_is_for_the_next_process_too(void) {
    start();
    check_in_use(0, 9);
    CHECK_INT(measured, 0);
}

static void failed_calibration_changes_nothing(void) {
    start();
    ferry_link_costs out = costs_at(1), same = costs_at(1);
    atomic_store(&level, 4);
    atomic_store(&measure_status, FERRY_BACKEND);
    CHECK_STATUS(ferry_calibrate(0, &out), FERRY_BACKEND);
    CHECK(same_costs(&out, &same));
    check_in_use(0, 9);
}

static void nonsense_is_not_used(void) {
    start();
    atomic_store(&level, -5);
    CHECK_STATUS(ferry_calibrate(1, NULL), FERRY_BACKEND);
    CHECK(is_built_in(link_costs(1)));
}

static void what_cannot_be_measured_costs_what_pcie_5_does(void) {
    start();
    atomic_store(&measure_status, FERRY_BACKEND);
    ferry_link_costs costs;
    CHECK_OK(ferry_link_get(1, &costs));
    CHECK(is_built_in(&costs));
    CHECK(is_built_in(link_costs(1)));
    CHECK_INT(measured, 1); /* not tried again and again */
    atomic_store(&measure_status, FERRY_OK);
    CHECK_OK(ferry_calibrate(1, NULL));
    check_in_use(1, 5);
}

static void known_costs_are_not_measured(void) {
    start();
    CHECK(is_built_in(link_costs_known(0)));
    CHECK(is_built_in(link_costs_known(0)));
    CHECK_INT(measured, 0);
    check_in_use(0, 5);
    CHECK(link_costs_known(0) == link_costs(0));
    CHECK_INT(measured, 1);
}

static void known_costs_are_read_from_disk(void) {
    start();
    const ferry_link_costs want = costs_at(5);
    CHECK(same_costs(link_costs_known(0), &want));
    CHECK_INT(measured, 0);
}

static void spoil_files(void) {
    char command[400];
    snprintf(command, sizeof command, "for f in '%s'/*; do sed -i '$d' \"$f\"; done", folder);
    REQUIRE(system(command) == 0);
}

static void damaged_file_is_measured_again(void) {
    spoil_files();
    start();
    atomic_store(&level, 8);
    check_in_use(0, 8);
    CHECK_INT(measured, 1);
}

static void and_mended(void) {
    start();
    check_in_use(0, 8);
    CHECK_INT(measured, 0);
}

static void without_identity_nothing_is_kept(void) {
    start();
    table.link_identity = NULL;
    clear_folder();
    check_in_use(0, 5);
    CHECK_OK(ferry_calibrate(0, NULL));
    CHECK_INT(files(), 0);
}

static void without_hints_nothing_is_measured(void) {
    fake_settings.separate = true;
    start();
    CHECK(is_built_in(link_costs(0)));
    CHECK_STATUS(ferry_calibrate(0, NULL), FERRY_UNSUPPORTED);
    CHECK_INT(measured, 0);
}

static void backends_need_not_measure(void) {
    start();
    table.link_measure = NULL;
    CHECK(is_built_in(link_costs(0)));
    CHECK_STATUS(ferry_calibrate(0, NULL), FERRY_UNSUPPORTED);
}

/* Below a file no folder can be made, not even by root. */
static void unwritable_cache_is_told_by_calibration_only(void) {
    setenv("FERRY_CACHE", "/proc/version/below", 1);
    start();
    check_in_use(0, 5);
    atomic_store(&level, 6);
    ferry_link_costs out = costs_at(1), same = costs_at(1);
    CHECK_STATUS(ferry_calibrate(0, &out), FERRY_IO);
    CHECK(same_costs(&out, &same));
    check_in_use(0, 6);
    unsetenv("FERRY_CACHE");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    CHECK_STATUS(ferry_calibrate(0, NULL), FERRY_IO);
    check_in_use(1, 6);
}

static void devices_that_do_not_exist(void) {
    start();
    ferry_link_costs out = costs_at(1), same = costs_at(1);
    const int devices[] = {-1, 3, INT_MAX, INT_MIN};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        CHECK_STATUS(ferry_link_get(devices[i], &out), FERRY_INVALID_ARGUMENT);
        CHECK_STATUS(ferry_calibrate(devices[i], &out), FERRY_INVALID_ARGUMENT);
    }
    CHECK(same_costs(&out, &same));
    CHECK_INT(measured, 0);
}

static void movement_lock_may_be_held(void) {
    start();
    movement_lock();
    const ferry_link_costs want = costs_at(5);
    CHECK(same_costs(link_costs(0), &want));
    movement_unlock();
}

static void forked_child_asks_nobody(void) {
    const uint64_t calls = fake_calls();
    const ferry_link_costs want = costs_at(5);
    ferry_link_costs costs;
    CHECK(same_costs(link_costs(0), &want));
    CHECK(is_built_in(link_costs(1)));
    CHECK(is_built_in(link_costs_known(1)));
    CHECK_OK(ferry_link_get(1, &costs));
    CHECK(is_built_in(&costs));
    CHECK_STATUS(ferry_calibrate(1, NULL), FERRY_UNSUPPORTED);
    CHECK_INT(measured, 1);
    CHECK_UINT(fake_calls(), calls);
}

static void forks(void) {
    start();
    check_in_use(0, 5);
    in_child(forked_child_asks_nobody);
}

/* All figures of one table are about its first one. */
static void *read_whole_tables(void *unused) {
    (void)unused;
    for (int i = 0; i < 2000; i++) {
        const ferry_link_costs *costs = link_costs(0);
        const ferry_link_costs want = costs_at((int)costs->to_device_ns);
        CHECK(same_costs(costs, &want));
    }
    return NULL;
}

static void threads_measure_once_and_see_whole_tables(void) {
    start();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, read_whole_tables, NULL) == 0);
    }
    for (int i = 0; i < 50; i++) {
        atomic_store(&level, 100 + i);
        CHECK_OK(ferry_calibrate(0, NULL));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_THAT(measured == 50 || measured == 51, "measured %d times", (int)measured);
    check_in_use(0, 149);
}

/* The file by itself. */

static bool stored(const char *whose) {
    ferry_link_costs found;
    return link_file_load(whose, &found);
}

static void files_that_are_damaged_are_none(void) {
    char path[PATH_MAX], bytes[5000], copy[5000];
    const ferry_link_costs costs = costs_at(5);
    CHECK(!stored("mine"));
    REQUIRE_OK(link_file_store("mine", &costs));
    CHECK(stored("mine"));
    REQUIRE_OK(link_file_path("mine", path, sizeof path));
    const size_t n = scratch_read(path, bytes, sizeof bytes);
    for (size_t i = 0; i < n; i++) {
        memcpy(copy, bytes, n);
        copy[i] ^= 1;
        scratch_write(path, copy, n);
        CHECK_THAT(!stored("mine"), "byte %zu changed, and nobody noticed", i);
        scratch_write(path, bytes, i);
        CHECK_THAT(!stored("mine"), "cut to %zu bytes, and nobody noticed", i);
    }
    memcpy(copy, bytes, n);
    memset(copy + n, '\n', sizeof copy - n);
    scratch_write(path, copy, n + 1);
    CHECK(!stored("mine"));
    scratch_write(path, copy, sizeof copy);
    CHECK(!stored("mine"));
    copy[n] = '\0';
    scratch_write(path, copy, n + 1);
    CHECK(!stored("mine"));
    scratch_write(path, bytes, n);
    CHECK(stored("mine"));
}

/* What another link's file says is not about this one, wherever it lies. */
static void files_know_their_owner(void) {
    char mine[PATH_MAX], other[PATH_MAX], bytes[5000];
    const ferry_link_costs costs = costs_at(5);
    REQUIRE_OK(link_file_store("mine", &costs));
    REQUIRE_OK(link_file_path("mine", mine, sizeof mine));
    REQUIRE_OK(link_file_path("other", other, sizeof other));
    CHECK(strcmp(mine, other) != 0);
    scratch_write(other, bytes, scratch_read(mine, bytes, sizeof bytes));
    CHECK(stored("mine"));
    CHECK(!stored("other"));
}

static void costs_that_cannot_be_are_none(void) {
    const double wrong[] = {-1e-9, -INFINITY, INFINITY, NAN, 1e13};
    for (size_t field = 0; field < FIELDS; field++) {
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            ferry_link_costs costs = costs_at(5);
            memcpy((double *)&costs + field, &wrong[i], sizeof(double));
            CHECK_THAT(!link_plausible(&costs), "field %zu is %g, and that is plausible", field, wrong[i]);
            REQUIRE_OK(link_file_store("wrong", &costs));
            CHECK_THAT(!stored("wrong"), "field %zu is %g, and was read", field, wrong[i]);
        }
    }
    ferry_link_costs free_crossing = costs_at(5), free_call = costs_at(5);
    free_crossing.remote_read_ns_per_byte = 0;
    free_call.remote_ns = 0;
    CHECK(!link_plausible(&free_crossing));
    CHECK(link_plausible(&free_call));
}

static void numbers_come_back_to_the_bit(void) {
    test_random random = {test_seed(20)};
    for (int i = 0; i < 100; i++) {
        ferry_link_costs costs, found;
        double *fields = (double *)&costs;
        for (size_t field = 0; field < FIELDS; field++) {
            fields[field] = ldexp(0.5 + test_random_unit(&random) / 2, (int)test_random_int(&random, -60, 39));
        }
        REQUIRE_OK(link_file_store("random", &costs));
        if (CHECK(link_file_load("random", &found))) {
            CHECK_MEMORY(&found, &costs, sizeof costs);
        }
    }
}

int main(void) {
    scratch_make(folder);
    setenv("FERRY_CACHE", folder, 1);
    in_child(first_call_measures_once);
    in_child(next_process_measures_nothing);
    in_child(other_identity_is_another_link);
    in_child(calibration_replaces);
    in_child(calibration_is_for_the_next_process_too);
    in_child(failed_calibration_changes_nothing);
    clear_folder();
    in_child(nonsense_is_not_used);
    in_child(what_cannot_be_measured_costs_what_pcie_5_does);
    in_child(known_costs_are_not_measured);
    in_child(known_costs_are_read_from_disk);
    in_child(damaged_file_is_measured_again);
    in_child(and_mended);
    in_child(without_identity_nothing_is_kept);
    in_child(without_hints_nothing_is_measured);
    in_child(backends_need_not_measure);
    in_child(unwritable_cache_is_told_by_calibration_only);
    in_child(devices_that_do_not_exist);
    in_child(movement_lock_may_be_held);
    clear_folder();
    in_child(forks);
    clear_folder();
    in_child(threads_measure_once_and_see_whole_tables);
    clear_folder();
    RUN(files_that_are_damaged_are_none);
    RUN(files_know_their_owner);
    RUN(costs_that_cannot_be_are_none);
    RUN(numbers_come_back_to_the_bit);
    scratch_remove(folder);
    return test_finish();
}

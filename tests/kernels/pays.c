/* When a launch pays: the decision by itself, the measurements on whatever backend there is, and the answer. */
#include "ferry/pays.h"

#include <time.h>

#include "kernels/pays_file.h"
#include "kernels/pays_measure.h"
#include "tests/scratch.h"

static void lines_go_through_what_was_measured(void) {
    const pays_line line = pays_line_through(1000, 700, 5000, 2700);
    CHECK(line.fixed_ns == 200 && line.element_ns == 0.5);
    const pays_line noise = pays_line_through(1000, 900, 5000, 800);
    CHECK(noise.element_ns == 0 && noise.fixed_ns == 900);
    const pays_line steep = pays_line_through(1000, 100, 5000, 5000);
    CHECK(steep.fixed_ns == 0 && steep.element_ns > 1);
}

/* From the answer on the device takes nine tenths of the host's time at most, just before it more. */
static void check_meeting(pays_line host, pays_line device) {
    const size_t from = pays_from(host, device);
    for (size_t n = from > 1 ? from - 1 : 1; n <= from + 1; n++) {
        const double host_ns = host.fixed_ns + (double)n * host.element_ns;
        const double device_ns = device.fixed_ns + (double)n * device.element_ns;
        CHECK_THAT((n >= from) == (device_ns <= 0.9 * host_ns + 1e-6), "%zu elements: %g ns, the host %g", n, device_ns,
                   host_ns);
    }
}

static void a_launch_pays_where_the_lines_meet(void) {
    test_random random = {test_seed(3)};
    for (int i = 0; i < 1000; i++) {
        const pays_line host = {(double)test_random_int(&random, 0, 500),
                                (double)test_random_int(&random, 300, 20000) / 1000};
        const pays_line device = {(double)test_random_int(&random, 600, 30000),
                                  (double)test_random_int(&random, 1, 260) / 1000};
        check_meeting(host, device);
    }
    CHECK_UINT(pays_from((pays_line){500, 1}, (pays_line){400, 0.5}), 1);
}

static void a_launch_may_never_pay(void) {
    CHECK_UINT(pays_from((pays_line){100, 0.5}, (pays_line){9000, 0.5}), SIZE_MAX);
    CHECK_UINT(pays_from((pays_line){100, 0.5}, (pays_line){50, 0.5}), SIZE_MAX);
    CHECK_UINT(pays_from((pays_line){0, 0}, (pays_line){0, 0}), SIZE_MAX);
    CHECK_UINT(pays_from((pays_line){0, 1e-300}, (pays_line){9000, 0}), SIZE_MAX);
}

static void both_directions_cross_at_once(void) {
    const ferry_link_costs costs = {
        .remote_read_ns_per_byte = 2, .remote_write_ns_per_byte = 3, .remote_both_ns_per_byte = 4};
    CHECK(pays_crossing_ns(&costs, 8, 8) == 32);
    CHECK(pays_crossing_ns(&costs, 16, 8) == 48);
    CHECK(pays_crossing_ns(&costs, 8, 1) == 18);
    CHECK(pays_crossing_ns(&costs, 1, 8) == 25);
}

/* A host's loop that takes a time of its own for each element, and counts. */
typedef struct slow_loop {
    int runs;
    int64_t element_ns;
    bool ordinary; /* values that it saw */
} slow_loop;

static void run_slowly(char *const *operands, int64_t n, void *context) {
    slow_loop *s = context;
    const double *a = (const double *)operands[0], *b = (const double *)operands[1];
    struct timespec start, now;
    s->runs++;
    for (int64_t i = 0; i < n; i++) {
        s->ordinary &= a[i] > 0 && a[i] < 1 && b[i] > 0 && b[i] < 1;
        ((double *)operands[2])[i] = a[i] * b[i];
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < n * s->element_ns);
}

static void loops_and_launches_are_timed(void) {
    op_loop types;
    slow_loop slow = {.element_ns = 20, .ordinary = true};
    pays_line line;
    double ns = 0;
    REQUIRE_OK(op_resolve(FERRY_OP_MULTIPLY, (const ferry_dtype[]){FERRY_FLOAT64, FERRY_FLOAT64}, 2, &types));
    CHECK_OK(pays_measure_host(&types, 2, run_slowly, &slow, &line));
    CHECK(slow.runs > 2 && slow.ordinary);
    CHECK_THAT(line.fixed_ns >= 0 && line.element_ns >= 0 &&
                   line.fixed_ns + 16384 * line.element_ns >= 16384 * 20 * 0.99,
               "%g ns and %g ns per element are too few", line.fixed_ns, line.element_ns);
    CHECK_OK(pays_measure_launch(0, &ns));
    CHECK(ns > 0);
    CHECK_STATUS(pays_measure_launch(ferry_device_count(), &ns), FERRY_INVALID_ARGUMENT);
}

static void files_are_of_one_machine_and_name(void) {
    pays_line line = {12.5, 0.1}, found = {0, 0};
    double other = 7;
    CHECK(!pays_file_load("a machine", "log float64", &found, sizeof found));
    pays_file_store("a machine", "log float64", &line, sizeof line);
    CHECK(!pays_file_load("a machine", "log float32", &found, sizeof found));
    CHECK(!pays_file_load("another", "log float64", &found, sizeof found));
    CHECK(!pays_file_load("a machine", "log float64", &other, sizeof other) && other == 7);
    CHECK(pays_file_load("a machine", "log float64", &found, sizeof found));
    CHECK(found.fixed_ns == 12.5 && found.element_ns == 0.1);
}

static bool on_device(void) {
    return strcmp(ferry_backend_name(), "sim") != 0;
}

/* A loop as slow as this pays soon; what was measured is not measured again. */
static void the_answer_is_kept(void) {
    slow_loop slow = {.element_ns = 50, .ordinary = true};
    size_t first = 0, second = 0;
    CHECK_OK(ferry_op_pays(FERRY_OP_MULTIPLY, FERRY_FLOAT64, 0, run_slowly, &slow, &first));
    const int runs = slow.runs;
    CHECK_OK(ferry_op_pays(FERRY_OP_MULTIPLY, FERRY_FLOAT64, 0, run_slowly, &slow, &second));
    CHECK_INT(slow.runs, runs);
    CHECK_UINT(second, first);
    if (on_device())
        CHECK_THAT(runs > 0 && first > 0 && first < 100000, "after %d runs a launch pays from %zu on", runs, first);
    else
        CHECK_THAT(runs == 0 && first == SIZE_MAX, "after %d runs the simulator pays from %zu on", runs, first);
}

static void bad_questions_are_refused(void) {
    slow_loop slow = {.ordinary = true};
    size_t elements = 77;
    CHECK_STATUS(ferry_op_pays(FERRY_OP_COUNT, FERRY_FLOAT64, 0, run_slowly, &slow, &elements), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_op_pays(FERRY_OP_ADD, FERRY_DTYPE_COUNT, 0, run_slowly, &slow, &elements),
                 FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_op_pays(FERRY_OP_ADD, FERRY_FLOAT32, 0, NULL, &slow, &elements), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_op_pays(FERRY_OP_ADD, FERRY_FLOAT32, -1, run_slowly, &slow, &elements), FERRY_INVALID_ARGUMENT);
    CHECK_STATUS(ferry_op_pays(FERRY_OP_ADD, FERRY_COMPLEX64, 0, run_slowly, &slow, &elements), FERRY_DTYPE);
    CHECK_STATUS(ferry_op_pays(FERRY_OP_LOG, FERRY_INT32, 0, run_slowly, &slow, &elements), FERRY_DTYPE);
    CHECK_UINT(elements, 77);
    CHECK_INT(slow.runs, 0);
}

int main(void) {
    char folder[SCRATCH_BYTES];
    if (ferry_backend_name() == NULL)
        SKIP("%s", ferry_error_detail());
    scratch_make(folder);
    setenv("FERRY_CACHE", folder, 1);
    RUN(lines_go_through_what_was_measured);
    RUN(a_launch_pays_where_the_lines_meet);
    RUN(a_launch_may_never_pay);
    RUN(both_directions_cross_at_once);
    RUN(loops_and_launches_are_timed);
    RUN(files_are_of_one_machine_and_name);
    RUN(bad_questions_are_refused);
    RUN(the_answer_is_kept);
    scratch_remove(folder);
    return test_finish();
}

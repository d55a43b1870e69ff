/* What the benchmark writes into arrays is what it later says that they hold. */
#include "benchmarks/content.h"

#include <math.h>

#include "benchmarks/pool.h"
#include "tests/test.h"

#define LARGE ((size_t)(1 << 21) + 3) /* past POOL_LEAST_BYTES: the threads' work */

static const size_t sizes[] = {512, 1000, 8192, LARGE};

static void holds(const struct content *content, const double *array) {
    double sum = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < content->n; i++) {
        wrong += array[i] != content_value(content, i);
        sum += array[i];
    }
    CHECK_UINT(wrong, 0);
    CHECK(sum == content_sum(content));
    CHECK(content_read(content, array) == sum);
}

static double probe_sum(const struct content *content) {
    double sum = 0;
    for (size_t k = 0; k < CONTENT_PROBES; k++)
        sum += content_value(content, content_probe_index(content->n, k));
    return sum;
}

static void negate(double *array, size_t n) {
    for (size_t i = 0; i < n; i++)
        array[i] = -array[i];
}

static void content_keeps_step(void) {
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t n = sizes[s];
        double *array = calloc(n, sizeof *array);
        struct content content = content_new(n, false);
        for (int round = 0; round < 3; round++) {
            content_overwrite(&content, array);
            holds(&content, array);
            content_update(&content, array);
            holds(&content, array);
            negate(array, n);
            content_negate(&content);
            content_update(&content, array);
            holds(&content, array);
            CHECK(content_probe(&content, array) == probe_sum(&content));
        }
        free(array);
    }
}

static void overwriting_changes_every_element(void) {
    enum { N = 4096 };
    static double before[N], after[N];
    struct content content = content_new(N, false);
    size_t same = 0;
    content_overwrite(&content, before);
    for (int round = 0; round < 2000; round++) /* shifts repeat in between */
        content_overwrite(&content, after);
    content_overwrite(&content, before);
    for (size_t i = 0; i < N; i++)
        same += before[i] == after[i];
    CHECK_UINT(same, 0);
    holds(&content, before);
}

static void elements_are_positive_and_differ(void) {
    enum { N = 4096 };
    static double array[N];
    struct content content = content_new(N, false);
    size_t alike = 0;
    content_overwrite(&content, array);
    for (size_t i = 0; i < N; i++) {
        CHECK(array[i] >= 1 && array[i] < 8);
        alike += i > 0 && array[i] == array[i - 1];
    }
    CHECK_UINT(alike, 0);
}

static void many_updates_stay_bounded(void) {
    enum { N = 1000 };
    static double array[N];
    struct content content = content_new(N, false);
    content_overwrite(&content, array);
    for (int round = 0; round < 5000; round++)
        content_update(&content, array);
    CHECK(content.offset >= 0 && content.offset <= 65);
    holds(&content, array);
}

static void logarithms_add_up(void) {
    size_t n = LARGE;
    double want = 0;
    static double array[LARGE];
    struct content content = content_new(n, false);
    content_overwrite(&content, array);
    for (size_t i = 0; i < n; i++)
        want += log(array[i]);
    CHECK(fabs(content_log_sum(&content) - want) <= 1e-9 * want);
    content_update(&content, array);
    CHECK(content_log_sum(&content) > want * (1 + 1e-6));
}

/* A page has at least one element that was written, and reading finds them. */
static void sparse_loops_touch_every_page(void) {
    enum { N = 10000 };
    static double array[N];
    struct content content = content_new(N, true);
    content_overwrite(&content, array);
    for (size_t page = 0; page < N; page += 512) {
        double sum = 0;
        for (size_t i = page; i < page + 512 && i < N; i++)
            sum += array[i];
        CHECK(sum > 0);
    }
    CHECK(array[N - 1] == content_value(&content, N - 1));
    CHECK(content_read(&content, array) > 0);
}

static void probes_and_tenth_lie_inside(void) {
    for (size_t n = 512; n < 5000; n += 7) {
        size_t begin, end;
        content_tenth(n, &begin, &end);
        CHECK(begin < end && end <= n && (end - begin) * 10 >= n && (end - begin) * 10 < n + 10);
        CHECK(content_probe_index(n, CONTENT_PROBES - 1) < n);
        CHECK(content_probe_index(n, 1) > content_probe_index(n, 0));
    }
}

static double count(void *context, size_t begin, size_t end) {
    unsigned char *seen = context;
    for (size_t i = begin; i < end; i++)
        seen[i]++;
    return (double)(end - begin);
}

static void pool_gives_each_element_once(void) {
    static unsigned char seen[3 * LARGE];
    for (size_t n = LARGE - 2; n <= 3 * LARGE; n += LARGE - 1) {
        size_t wrong = 0;
        memset(seen, 0, sizeof seen);
        CHECK(pool_run(count, seen, n) == (double)n);
        for (size_t i = 0; i < sizeof seen; i++)
            wrong += seen[i] != (i < n);
        CHECK_UINT(wrong, 0);
        pool_close(); /* it starts again */
    }
}

int main(void) {
    RUN(content_keeps_step);
    RUN(overwriting_changes_every_element);
    RUN(elements_are_positive_and_differ);
    RUN(many_updates_stay_bounded);
    RUN(logarithms_add_up);
    RUN(sparse_loops_touch_every_page);
    RUN(probes_and_tenth_lie_inside);
    RUN(pool_gives_each_element_once);
    pool_close();
    return test_finish();
}

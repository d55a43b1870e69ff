#include "content.h"

#include <math.h>
#include <stdint.h>

#include "pool.h"

#define UNIT 0x1p-20
#define PAGE_DOUBLES 512
#define SHIFTS 1024 /* before they repeat */

static double pattern(size_t i) {
    return 1 + (double)(((uint32_t)i * 2654435761u + 12345u) >> 12) * UNIT;
}

void content_tenth(size_t n, size_t *begin, size_t *end) {
    *begin = n / 20 * 9;
    *end = *begin + (n + 9) / 10;
}

size_t content_probe_index(size_t n, size_t probe) {
    return n / (2 * CONTENT_PROBES) + probe * (n / CONTENT_PROBES);
}

struct content content_new(size_t n, bool sparse) {
    return (struct content){.n = n, .sign = 1, .sparse = sparse};
}

double content_value(const struct content *content, size_t i) {
    size_t begin, end;
    content_tenth(content->n, &begin, &end);
    return content->sign * (pattern(i) + content->shift) + (i >= begin && i < end ? content->offset : 0);
}

void content_negate(struct content *content) {
    content->sign = -content->sign;
    content->offset = -content->offset;
}

/* A loop over [begin, end), and what it needs. */
struct loop {
    double *array;
    const double *source;
    double shift;
    size_t first;
    bool loads, stores;
    const struct content *content;
};

static double fill(void *context, size_t begin, size_t end) {
    const struct loop *loop = context;
    double *array = loop->array, shift = loop->shift;
    for (size_t i = begin; i < end; i++)
        array[i] = pattern(i) + shift;
    return 0;
}

static double add_shift(void *context, size_t begin, size_t end) {
    const struct loop *loop = context;
    double *array = loop->array + loop->first;
    for (size_t i = begin; i < end; i++)
        array[i] += loop->shift;
    return 0;
}

/* Four sums, so that the additions need not wait for one another. */
static double add_up(void *context, size_t begin, size_t end) {
    const double *source = ((const struct loop *)context)->source;
    double a = 0, b = 0, c = 0, d = 0;
    size_t i = begin;
    for (; i + 4 <= end; i += 4) {
        a += source[i];
        b += source[i + 1];
        c += source[i + 2];
        d += source[i + 3];
    }
    for (; i < end; i++)
        a += source[i];
    return a + b + c + d;
}

static void touch_written(const struct content *content, double *array, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i += PAGE_DOUBLES)
        array[i] = content_value(content, i);
    if (end > begin)
        array[end - 1] = content_value(content, end - 1);
}

void content_overwrite(struct content *content, double *array) {
    double shift = content->shift + UNIT * 4096;
    struct loop loop = {.array = array, .shift = shift < SHIFTS * UNIT * 4096 ? shift : 0};
    content->shift = loop.shift;
    content->sign = 1;
    content->offset = 0;
    if (content->sparse)
        touch_written(content, array, 0, content->n);
    else
        pool_run(fill, &loop, content->n);
}

void content_update(struct content *content, double *array) {
    size_t begin, end;
    content_tenth(content->n, &begin, &end);
    double step = content->offset < 64 ? 0.125 : -64;
    struct loop loop = {.array = array, .shift = step, .first = begin};
    content->offset += step;
    if (content->sparse)
        touch_written(content, array, begin, end);
    else
        pool_run(add_shift, &loop, end - begin);
}

double content_read(const struct content *content, const double *array) {
    struct loop loop = {.source = array};
    double sum = 0;
    if (!content->sparse)
        return pool_run(add_up, &loop, content->n);
    for (size_t i = 0; i < content->n; i += PAGE_DOUBLES)
        sum += array[i];
    return sum + array[content->n - 1];
}

double content_probe(const struct content *content, const double *array) {
    double sum = 0;
    for (size_t k = 0; k < CONTENT_PROBES; k++)
        sum += array[content_probe_index(content->n, k)];
    return sum;
}

void content_add(struct content *content, double *array) {
    double step = content->shift < 64 ? 0.125 : -64;
    struct loop loop = {.array = array, .shift = content->sign * step};
    content->shift += step;
    if (content->sparse)
        touch_written(content, array, 0, content->n);
    else
        pool_run(add_shift, &loop, content->n);
}

/* Volatile, since nobody asks for what is loaded, nor needs what is stored. */
static double touch_pages(void *context, size_t begin, size_t end) {
    const struct loop *loop = context;
    volatile double *array = loop->array;
    double value = 1;
    for (size_t i = begin; i < end; i += PAGE_DOUBLES) {
        if (loop->loads)
            value = array[i];
        if (loop->stores)
            array[i] = value;
    }
    return 0;
}

void content_touch(double *array, size_t n, bool loads, bool stores) {
    struct loop loop = {.array = array, .loads = loads, .stores = stores};
    pool_run(touch_pages, &loop, n);
}

static double add_patterns(void *context, size_t begin, size_t end) {
    (void)context;
    double sum = 0;
    for (size_t i = begin; i < end; i++)
        sum += pattern(i);
    return sum;
}

static double add_logarithms(void *context, size_t begin, size_t end) {
    const struct content *content = ((const struct loop *)context)->content;
    double sum = 0;
    for (size_t i = begin; i < end; i++)
        sum += log(content_value(content, i));
    return sum;
}

double content_sum(const struct content *content) {
    static size_t known_n;
    static double known_sum;
    size_t begin, end;
    if (known_n != content->n) {
        known_sum = pool_run(add_patterns, NULL, content->n);
        known_n = content->n;
    }
    content_tenth(content->n, &begin, &end);
    return content->sign * (known_sum + (double)content->n * content->shift) + (double)(end - begin) * content->offset;
}

double content_log_sum(const struct content *content) {
    static struct content known;
    static double known_sum;
    struct loop loop = {.content = content};
    bool same = known.n == content->n && known.shift == content->shift && known.sign == content->sign &&
                known.offset == content->offset;
    if (!same) {
        known_sum = pool_run(add_logarithms, &loop, content->n);
        known = *content;
    }
    return known_sum;
}

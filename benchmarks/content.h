/*
 * What the benchmark's arrays hold: numbers without a pattern that the device could profit from, of which the host can
 * say at any time what the i-th has to be. Element i is sign * (pattern(i) + shift), and in the middle tenth that plus
 * offset; pattern(i) in [1, 2). All are multiples of 2^-20, so that everything here is exact.
 */
#ifndef FERRY_BENCHMARKS_CONTENT_H
#define FERRY_BENCHMARKS_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

struct content {
    size_t n;
    double shift, sign, offset;
    bool sparse; /* loops touch one element a page: for models in which only places matter */
};

#define CONTENT_PROBES 16 /* elements of a sample, evenly spread */

/* What the host does with an array; each call keeps `content` in step with it. */
struct content content_new(size_t n, bool sparse);
void content_overwrite(struct content *content, double *array); /* every element changes */
void content_update(struct content *content, double *array);    /* the middle tenth: [begin, end) of content_tenth */
double content_read(const struct content *content, const double *array); /* the sum of all elements */
double content_probe(const struct content *content, const double *array);
void content_add(struct content *content, double *array); /* something to every element; for contents without offset */

/* Loads, stores or both one element of every page, as a host does that needs the array, without its work. What was
 * loaded is stored again; a store alone leaves numbers of no meaning. */
void content_touch(double *array, size_t n, bool loads, bool stores);

void content_tenth(size_t n, size_t *begin, size_t *end);
size_t content_probe_index(size_t n, size_t probe);

/* What a device did to the array: a change of sign. */
void content_negate(struct content *content);

double content_value(const struct content *content, size_t i);
/* Sums over all elements: of the elements, exactly, and of their logarithms. Remembered while they stay the same. Not
 * thread-safe. */
double content_sum(const struct content *content);
double content_log_sum(const struct content *content);

#endif

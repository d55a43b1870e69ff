/* The byte ranges that a view's elements lie in. */
#ifndef FERRY_ALLOC_EXTENTS_H
#define FERRY_ALLOC_EXTENTS_H

#include "ferry/view.h"

/*
 * Walks the ranges of a view, each a run of bytes without a hole of a page or more. The view's axes, made positive and
 * sorted by stride, fall into inner ones, whose elements follow one another closely and make up a run, and outer ones,
 * which repeat it.
 */
struct extents {
    char *base;       /* lowest element */
    size_t run_bytes; /* of every run; 0 for a view of no elements */
    bool dense;       /* the view covers every byte of a run */
    int naxes;        /* outer axes, longest stride first */
    int64_t counts[FERRY_MAX_DIMS], strides[FERRY_MAX_DIMS], at[FERRY_MAX_DIMS];
    bool done;
};

/* At most EXTENTS_MAX runs: beyond it, axes are merged and the runs include foreign bytes. */
#define EXTENTS_MAX 4096

/* The bytes of a view in C order without gaps, which most are and whose one run they are; 0 for others. */
size_t extents_contiguous_bytes(const ferry_view *view);

void extents_begin(struct extents *extents, const ferry_view *view);

/* The half-open range from the lowest element's first byte to the highest one's end; both NULL for a view of no
 * elements. */
void extents_bounds(const struct extents *extents, char **low, char **high);

/* The next run; false when there is none. */
bool extents_next(struct extents *extents, char **begin, char **end);

#endif

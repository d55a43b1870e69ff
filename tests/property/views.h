/* Views made from recipes, and their elements one by one: the slow, obvious way. */
#ifndef FERRY_TESTS_PROPERTY_VIEWS_H
#define FERRY_TESTS_PROPERTY_VIEWS_H

#include "ferry/ferry.h"

/* A view of some of the `bytes` bytes at `data`, the same for the same recipe; a `written` one repeats no element. */
ferry_view recipe_view(uint64_t recipe, void *data, size_t bytes, bool written);

/* The last axis of a view, again and again: rows in C order. Zero the struct, but for the view. */
struct rows {
    const ferry_view *view;
    int64_t index[FERRY_MAX_DIMS];
    bool done;
};

struct row {
    ptrdiff_t offset; /* of its first element from the view's data pointer */
    int64_t count, stride;
};

bool rows_next(struct rows *rows, struct row *row);

/* Elements in C order, each as an unsigned number. `data` stands for the view's data pointer. */
void view_gather(const ferry_view *view, const char *data, uint64_t *values);
void view_scatter(const ferry_view *view, char *data, const uint64_t *values);

/* "uint32 (12, 5) strides (80, -4)" */
void view_describe(const ferry_view *view, char *text, size_t bytes);

#endif

#include "coverage.h"

#include <stdlib.h>

#include "tests/test.h"
#include "views.h"

#define PAGE ((size_t)4096)

static unsigned char *mark_bytes(const ferry_view *view, const char *block, size_t bytes) {
    const size_t item = ferry_dtype_size(view->dtype);
    unsigned char *marks = calloc(bytes + 1, 1);
    struct rows rows = {.view = view};
    struct row row;
    REQUIRE(marks != NULL);
    while (rows_next(&rows, &row)) {
        ptrdiff_t at = (const char *)view->data + row.offset - block;
        for (int64_t i = 0; i < row.count; i++, at += row.stride) {
            memset(marks + at, 1, item);
        }
    }
    return marks;
}

/* Bytes first … end of the block, which is one run of the view's, to the pages that they lie on. */
static void cover_run(struct page_cover *covers, size_t first, size_t end) {
    for (size_t page = first / PAGE; page * PAGE < end; page++) {
        const size_t low = first > page * PAGE ? first - page * PAGE : 0;
        const size_t high = end < (page + 1) * PAGE ? end - page * PAGE : PAGE;
        struct page_cover *cover = &covers[page];
        cover->low = (uint32_t)(cover->touched && cover->low < low ? cover->low : low);
        cover->high = (uint32_t)high;
        cover->touched = true;
    }
}

/* The runs one after another; whether they are without holes. */
static bool cover_runs(struct page_cover *covers, const unsigned char *marks, size_t bytes) {
    size_t first = 0, end = 0; /* of the run that is being followed */
    bool dense = true;
    for (size_t at = 0; at < bytes;) {
        const unsigned char *next = memchr(marks + at, 1, bytes - at);
        if (next == NULL) {
            break;
        }
        const size_t begin = (size_t)(next - marks);
        const unsigned char *hole = memchr(next, 0, bytes + 1 - begin);
        if (end > 0 && begin - end >= PAGE) {
            cover_run(covers, first, end);
        } else if (end > 0) {
            dense = false;
        }
        first = end > 0 && begin - end < PAGE ? first : begin;
        end = at = (size_t)(hole - marks);
    }
    cover_run(covers, first, end);
    return dense;
}

struct page_cover *coverage_of(const ferry_view *view, const char *block, size_t bytes) {
    const size_t pages = (bytes + PAGE - 1) / PAGE;
    struct page_cover *covers = calloc(pages + 1, sizeof *covers);
    unsigned char *marks = mark_bytes(view, block, bytes);
    REQUIRE(covers != NULL);
    const bool dense = cover_runs(covers, marks, bytes);
    for (size_t i = 0; i < pages; i++) {
        const size_t left = bytes - i * PAGE;
        covers[i].whole = dense && covers[i].low == 0 && covers[i].high == (left < PAGE ? left : PAGE);
    }
    free(marks);
    return covers;
}

size_t coverage_bytes(const struct page_cover *covers, size_t pages) {
    size_t bytes = 0;
    for (size_t i = 0; i < pages; i++) {
        bytes += covers[i].touched ? covers[i].high - covers[i].low : 0;
    }
    return bytes;
}

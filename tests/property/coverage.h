/* Which bytes of a block a view covers, byte by byte: the slow, obvious way. */
#ifndef FERRY_TESTS_PROPERTY_COVERAGE_H
#define FERRY_TESTS_PROPERTY_COVERAGE_H

#include "ferry/ferry.h"

/* Bytes low … high of a page are the view's; holes of less than a page count as part of what they interrupt. */
struct page_cover {
    bool touched;
    bool whole; /* every byte of the page that the block has, of a view with no such holes */
    uint32_t low, high;
};

/* One per page of the block, to be freed. */
struct page_cover *coverage_of(const ferry_view *view, const char *block, size_t bytes);

/* Bytes covered in all. */
size_t coverage_bytes(const struct page_cover *covers, size_t pages);

#endif

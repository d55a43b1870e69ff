#include "views.h"

#include "tests/test.h"

#define PAGE 4096

static int64_t between(test_random *random, int64_t low, int64_t high) {
    return test_random_int(random, low, high < low ? low : high);
}

static ferry_view flat(void *data, int64_t item, int64_t count) {
    const ferry_dtype dtype = item == 8 ? FERRY_UINT64 : item == 4 ? FERRY_UINT32 : FERRY_UINT8;
    ferry_view view;
    REQUIRE_OK(ferry_view_make(data, dtype, 1, &count, &view));
    return view;
}

static void slice(ferry_view *view, int n, const ferry_slice *slices) {
    REQUIRE_OK(ferry_view_slice(view, n, slices, view));
}

static void slice_flat(ferry_view *view, int64_t start, int64_t stop, int64_t step) {
    slice(view, 1, &(ferry_slice){start, stop, step});
}

/* Rows of some length; what is left over falls away. */
static void fold(ferry_view *view, test_random *random, int64_t longest) {
    const int64_t n = view->shape[0], columns = between(random, 1, n < longest ? n : longest);
    const int64_t shape[] = {n / columns, columns};
    slice_flat(view, 0, shape[0] * shape[1], 1);
    REQUIRE_OK(ferry_view_reshape(view, 2, shape, view));
}

static void some_columns(ferry_view *view, test_random *random) {
    const int64_t first = between(random, 0, view->shape[1] - 1), end = between(random, first + 1, view->shape[1]);
    slice(view, 2, (ferry_slice[]){{FERRY_SLICE_NONE, FERRY_SLICE_NONE, 1}, {first, end, 1}});
}

static void part(ferry_view *view, test_random *random) {
    const int64_t first = between(random, 0, view->shape[0] - 1);
    slice_flat(view, first, between(random, first + 1, view->shape[0]), 1);
}

static void whole_pages(ferry_view *view, test_random *random, int64_t item) {
    const int64_t per_page = PAGE / item, pages = view->shape[0] / per_page;
    if (pages > 0) {
        const int64_t first = between(random, 0, pages - 1), end = between(random, first + 1, pages);
        slice_flat(view, first * per_page, end == pages ? view->shape[0] : end * per_page, 1);
    }
}

static void backwards(ferry_view *view, test_random *random) {
    part(view, random);
    slice_flat(view, FERRY_SLICE_NONE, FERRY_SLICE_NONE, -between(random, 1, 3));
}

/* Every byte of it, seen as columns. */
static void transposed(ferry_view *view, test_random *random) {
    fold(view, random, 700);
    REQUIRE_OK(ferry_view_transpose(view, NULL, view));
}

static void flipped(ferry_view *view, test_random *random) {
    fold(view, random, 5000);
    some_columns(view, random);
    slice(view, 2, (ferry_slice[]){{FERRY_SLICE_NONE, FERRY_SLICE_NONE, -1}, {FERRY_SLICE_NONE, FERRY_SLICE_NONE, -2}});
}

/* Rows that begin half a row after one another. */
static void windows(ferry_view *view, test_random *random, int64_t item) {
    const int64_t n = view->shape[0], length = between(random, 1, n < 600 ? n : 600), hop = (length + 1) / 2;
    const int64_t rows = (n - length) / hop + 1;
    view->ndim = 2;
    view->shape[0] = rows, view->shape[1] = length;
    view->strides[0] = hop * item, view->strides[1] = item;
}

static void repeated(ferry_view *view, test_random *random) {
    part(view, random);
    const int64_t shape[] = {between(random, 1, view->shape[0] > 10000 ? 2 : 5), view->shape[0]};
    REQUIRE_OK(ferry_view_broadcast(view, 2, shape, view));
}

static void shape_view(ferry_view *view, test_random *random, int64_t item, bool written) {
    switch (between(random, 0, written ? 11 : 13)) {
    case 0:
    case 1:
    case 2:
        break;
    case 3:
    case 4:
        part(view, random);
        break;
    case 5:
        whole_pages(view, random, item);
        break;
    case 6:
        slice_flat(view, between(random, 0, view->shape[0] / 2), FERRY_SLICE_NONE, between(random, 2, 9));
        break;
    case 7:
        slice_flat(view, between(random, 0, view->shape[0] / 2), FERRY_SLICE_NONE,
                   (PAGE * between(random, 1, 5) + between(random, 0, 9) * item) / item);
        break;
    case 8:
        backwards(view, random);
        break;
    case 9:
        fold(view, random, between(random, 0, 1) ? 300 : 9000);
        some_columns(view, random);
        break;
    case 10:
        transposed(view, random);
        break;
    case 11:
        flipped(view, random);
        break;
    case 12:
        windows(view, random, item);
        break;
    default:
        repeated(view, random);
    }
}

ferry_view recipe_view(uint64_t recipe, void *data, size_t bytes, bool written) {
    static const int64_t items[] = {1, 4, 8};
    test_random random = {recipe};
    int64_t item = items[test_random_int(&random, 0, 2)];
    item = bytes > 64 * PAGE ? 8 : bytes < 16 ? 1 : item;
    ferry_view view = flat(data, item, (int64_t)bytes / item);
    if (view.shape[0] > 0 && test_random_int(&random, 0, 40) != 0) {
        shape_view(&view, &random, item, written);
    } else if (view.shape[0] > 0) {
        slice_flat(&view, 0, 0, 1);
    }
    return view;
}

bool rows_next(struct rows *rows, struct row *row) {
    const ferry_view *view = rows->view;
    if (rows->done || ferry_view_size(view) == 0) {
        return false;
    }
    const int last = view->ndim - 1;
    *row = (struct row){0, last < 0 ? 1 : view->shape[last], last < 0 ? 0 : view->strides[last]};
    for (int i = 0; i < last; i++) {
        row->offset += rows->index[i] * view->strides[i];
    }
    int axis = last - 1;
    while (axis >= 0 && ++rows->index[axis] == view->shape[axis]) {
        rows->index[axis--] = 0;
    }
    rows->done = axis < 0;
    return true;
}

static uint64_t load(const char *at, size_t item) {
    uint64_t value = 0;
    memcpy(&value, at, item); /* the low bytes: little-endian */
    return value;
}

void view_gather(const ferry_view *view, const char *data, uint64_t *values) {
    const size_t item = ferry_dtype_size(view->dtype);
    struct rows rows = {.view = view};
    struct row row;
    while (rows_next(&rows, &row)) {
        const char *at = data + row.offset;
        for (int64_t i = 0; i < row.count; i++, at += row.stride) {
            *values++ = item == 8 ? load(at, 8) : item == 4 ? load(at, 4) : load(at, 1);
        }
    }
}

void view_scatter(const ferry_view *view, char *data, const uint64_t *values) {
    const size_t item = ferry_dtype_size(view->dtype);
    struct rows rows = {.view = view};
    struct row row;
    while (rows_next(&rows, &row)) {
        char *at = data + row.offset;
        for (int64_t i = 0; i < row.count; i++, at += row.stride, values++) {
            memcpy(at, values, item);
        }
    }
}

static size_t describe_numbers(char *text, size_t room, const char *before, const int64_t *numbers, int n) {
    size_t at = (size_t)snprintf(text, room, "%s(", before);
    for (int i = 0; i < n && at < room; i++) {
        at += (size_t)snprintf(text + at, room - at, "%s%" PRId64, i == 0 ? "" : ", ", numbers[i]);
    }
    at += at < room ? (size_t)snprintf(text + at, room - at, ")") : 0;
    return at < room ? at : room;
}

void view_describe(const ferry_view *view, char *text, size_t bytes) {
    size_t at = describe_numbers(text, bytes, ferry_dtype_name(view->dtype), view->shape, view->ndim);
    describe_numbers(text + at, bytes - at, " strides ", view->strides, view->ndim);
}

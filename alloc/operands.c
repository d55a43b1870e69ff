#include "operands.h"

#include "buffer.h"
#include "extents.h"
#include "hot.h"
#include "options.h"
#include "stream.h"

/* Whether a view that begins in the place and ends at `high` leaves it. Tiny storages share pages: there the region
 * bounds it. */
static bool reaches_beyond(const struct storage_place *place, const char *high) {
    return place->region->tiny ? region_find(high - 1) != place->region : high > place->base + place->bytes;
}

/* Whether all between the bounds is the view's. */
static bool find_bounds(const ferry_view *view, char **low, char **high) {
    const size_t bytes = extents_contiguous_bytes(view);
    if (bytes > 0) {
        *low = view->data;
        *high = *low + bytes;
        return true;
    }
    struct extents extents;
    extents_begin(&extents, view);
    extents_bounds(&extents, low, high);
    return false;
}

/* The storage that the bounds lie in. */
HOT static inline ferry_status find_place(const ferry_view *view, const char *low, const char *high,
                                          struct storage_place *place) {
    if (low == NULL) {
        return FERRY_OK;
    }
    if (!storage_find(low, place)) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "the view at %p does not lie in ferry's memory", view->data);
    }
    if (reaches_beyond(place, high)) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "the view at %p reaches beyond its block of %zu bytes", view->data,
                           place->bytes);
    }
    return FERRY_OK;
}

ferry_status operands_find_view(const ferry_view *view, char **low, char **high, struct storage_place *place) {
    (void)find_bounds(view, low, high);
    return find_place(view, *low, *high, place);
}

static bool is_access(ferry_access access) {
    return access >= FERRY_READ && access <= FERRY_READWRITE;
}

HOT static ferry_status find(struct operand *operand, const ferry_operand *given) {
    const ferry_view *view = given->view;
    if (!is_access(given->access)) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "%d is no access", (int)given->access);
    }
    if (given->passes < 0 || !options_is_policy(given->policy)) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "an operand of %d passes and policy %d", given->passes,
                           (int)given->policy);
    }
    if (view->readonly && (given->access & FERRY_WRITE) != 0) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "the view at %p is read-only", view->data);
    }
    operand->given = given;
    operand->contiguous = find_bounds(view, &operand->low, &operand->high);
    return find_place(view, operand->low, operand->high, &operand->place);
}

/* The one buffer. */
static struct operand *many;
static size_t many_room;

HOT ferry_status operands_find(struct operands *operands, const ferry_operand *given, size_t n) {
    operands->n = n;
    operands->items = operands->few;
    if (n > OPERANDS_FEW) {
        while (many_room < n) {
            if (!buffer_reserve((void **)&many, sizeof *many, many_room, &many_room)) {
                return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for %zu operands", n);
            }
        }
        operands->items = many;
    }
    ferry_status status = FERRY_OK;
    for (size_t i = 0; i < n && status == FERRY_OK; i++) {
        status = find(&operands->items[i], &given[i]);
    }
    return status;
}

/* In a tiny region, whose storages may lie on two pages, each page has a record, and that of the page where the storage
 * begins is what its free looks at. */
struct page_range {
    size_t first, last;
};

static struct page_range tiny_pages(const struct operand *operand) {
    const struct region *region = operand->place.region;
    const size_t first = region_page(region, operand->low), last = region_page(region, operand->high - 1);
    return (struct page_range){first > 0 ? first - 1 : 0, last};
}

static ferry_status visit_tiny(const struct operand *operand, ferry_stream *stream, storage_visit visit) {
    const struct page_range pages = tiny_pages(operand);
    ferry_status status = FERRY_OK;
    for (size_t page = pages.first; page <= pages.last && status == FERRY_OK; page++) {
        status = visit(&operand->place.region->storages[page], operand->given->access, stream);
    }
    return status;
}

ferry_status operands_visit(const struct operands *operands, ferry_stream *stream, storage_visit visit) {
    ferry_status status = FERRY_OK;
    for (size_t i = 0; i < operands->n && status == FERRY_OK; i++) {
        const struct operand *operand = &operands->items[i];
        if (operand->low == NULL) {
            continue;
        }
        status = operand->place.region->tiny ? visit_tiny(operand, stream, visit)
                                             : visit(operand->place.storage, operand->given->access, stream);
    }
    return status;
}

static void record_tiny(const struct operand *operand, ferry_stream *stream, uint64_t number) {
    const struct page_range pages = tiny_pages(operand);
    for (size_t page = pages.first; page <= pages.last; page++) {
        use_record(&operand->place.region->storages[page], operand->given->access, stream, number);
    }
}

static void record(const struct operand *operand, ferry_stream *stream, uint64_t number) {
    if (operand->low == NULL) {
        return;
    }
    if (operand->place.region->tiny) {
        record_tiny(operand, stream, number);
    } else {
        use_record(operand->place.storage, operand->given->access, stream, number);
    }
}

void operands_record(const struct operands *operands, ferry_stream *stream, uint64_t number) {
    for (size_t i = 0; i < operands->n; i++) {
        record(&operands->items[i], stream, number);
    }
}

static bool is_empty(const ferry_view *view) {
    for (int i = 0; i < view->ndim; i++) {
        if (view->shape[i] == 0) {
            return true;
        }
    }
    return false;
}

/* What lies in a tiny region, or nowhere. */
static ferry_status record_other(const ferry_operand *given, ferry_stream *stream, uint64_t number) {
    struct operand operand;
    const ferry_status status = find(&operand, given);
    if (status == FERRY_OK) {
        record(&operand, stream, number);
    }
    return status;
}

HOT ferry_status operands_record_given(const ferry_operand *given, size_t n, ferry_stream *stream, uint64_t number) {
    ferry_status first = FERRY_OK;
    for (size_t i = 0; i < n; i++) {
        const void *data = given[i].view->data;
        if (is_empty(given[i].view)) {
            continue;
        }
        const struct region *region = region_find(data);
        struct storage *storage = region == NULL || region->tiny ? NULL : storage_around(region, data);
        if (storage != NULL && is_access(given[i].access)) {
            use_record(storage, given[i].access, stream, number);
        } else {
            const ferry_status status = record_other(&given[i], stream, number);
            first = first == FERRY_OK ? status : first;
        }
    }
    return first;
}

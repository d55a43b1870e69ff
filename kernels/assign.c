#include "elementwise.h"
#include "ferry/site.h"

/* The device copies what lies on a device; elements of dst that overlap one another need the host's order. */
static bool belongs_on_device(const ferry_view *dst, const ferry_view *src) {
    return ferry_view_size(dst) > 0 && ferry_view_size(src) > 0 && ferry_owns(dst->data) && ferry_owns(src->data) &&
           ferry_view_place(src) >= 0 && !ferry_view_self_overlap(dst);
}

/* Drops leading axes of one element that dst does not have, which an assignment takes and an operation does not. */
static ferry_status drop_extra_axes(const ferry_view *src, int ndim, ferry_view *out) {
    static const int64_t zeros[FERRY_MAX_DIMS];
    int extra = 0;
    while (src->ndim - extra > ndim && src->shape[extra] == 1)
        extra++;
    return ferry_view_index(src, extra, zeros, out);
}

static ferry_status assign(const ferry_view *dst, const ferry_view *src, ferry_stream *stream) {
    ferry_status status = elementwise_check_view(dst, "the destination");
    if (status == FERRY_OK)
        status = elementwise_check_view(src, "the source");
    if (status != FERRY_OK)
        return status;
    if (!belongs_on_device(dst, src))
        return ferry_assign_host(dst, src);
    if (!ferry_dtype_can_cast(src->dtype, dst->dtype, FERRY_CAST_SAME_KIND))
        return ferry_error(FERRY_CAST, "%s does not cast to %s by the same-kind rule", ferry_dtype_name(src->dtype),
                           ferry_dtype_name(dst->dtype));
    ferry_view stripped;
    status = drop_extra_axes(src, dst->ndim, &stripped);
    if (status != FERRY_OK)
        return status;
    return elementwise_copy(dst, &stripped, stream);
}

ferry_status ferry_assign(const ferry_view *dst, const ferry_view *src, ferry_stream *stream) {
    const ferry_site before = ferry_site_enter(__builtin_return_address(0));
    const ferry_status status = assign(dst, src, stream);
    ferry_site_set(before);
    return status;
}

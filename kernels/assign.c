#include "elementwise.h"
#include "plan.h"

/* The device copies what lies on a device; elements of dst that overlap one another need the host's order. */
static bool belongs_on_device(const ferry_view *dst, const ferry_view *src) {
    return ferry_view_size(dst) > 0 && ferry_view_size(src) > 0 && ferry_owns(dst->data) && ferry_owns(src->data) &&
           ferry_view_place(src) >= 0 && !ferry_view_self_overlap(dst);
}

ferry_status ferry_assign(const ferry_view *dst, const ferry_view *src, ferry_stream *stream) {
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
    return elementwise_run(PLAN_COPY, NULL, &src, 1, dst, stream);
}

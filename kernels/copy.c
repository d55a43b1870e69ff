#include <string.h>

#include "elementwise.h"
#include "plan.h"

ferry_status elementwise_copy(const ferry_view *to, const ferry_view *from, ferry_stream *stream) {
    return elementwise_run(&(elementwise_call){.op = PLAN_COPY, .in = &from, .nin = 1, .out = to, .stream = stream});
}

ferry_status elementwise_fill(const ferry_view *out, int64_t value, ferry_stream *stream) {
    ferry_array scalar;
    ferry_status status = ferry_array_create(NULL, FERRY_INT64, 0, NULL, &scalar);
    if (status != FERRY_OK)
        return status;
    status = ferry_host_acquire(&scalar.view, FERRY_WRITE);
    if (status == FERRY_OK) {
        memcpy(scalar.view.data, &value, sizeof value);
        status = elementwise_copy(out, &scalar.view, stream);
    }
    ferry_array_release(&scalar);
    return status;
}

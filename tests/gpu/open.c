/* Opening the backend itself: usable, or refused with a reason, with no device and no driver too. */
#include "alloc/backend.h"
#include "tests/test.h"

int main(void) {
    ferry_status status = backend_cuda.open();
    if (status == FERRY_OK) {
        CHECK(backend_cuda.device_count() > 0);
    } else {
        CHECK_STATUS(status, FERRY_UNSUPPORTED);
        CHECK(ferry_error_detail()[0] != '\0');
        CHECK_INT(backend_cuda.device_count(), 0);
    }
    return test_finish();
}

/* An array that the host fills, a kernel reads, and the host reads the result of: nothing is copied by hand. */
#include <stdio.h>

#include "ferry/ferry.h"

int main(void) {
    int64_t n = 1000000;
    ferry_array x, y;
    if (ferry_array_create(NULL, FERRY_FLOAT64, 1, &n, &x) || ferry_array_create(NULL, FERRY_FLOAT64, 1, &n, &y))
        return fprintf(stderr, "%s\n", ferry_error_detail()), 1;
    for (int64_t i = 0; i < n; i++)
        ((double *)x.view.data)[i] = (double)(i + 1);
    const ferry_view *in[] = {&x.view};
    if (ferry_apply(FERRY_OP_LOG, in, 1, &y.view, NULL) || ferry_host_acquire(&y.view, FERRY_READ))
        return fprintf(stderr, "%s\n", ferry_error_detail()), 1;
    printf("log(%lld) = %.15g on %s\n", (long long)n, ((double *)y.view.data)[n - 1], ferry_backend_name());
    ferry_array_release(&x);
    ferry_array_release(&y);
    return 0;
}

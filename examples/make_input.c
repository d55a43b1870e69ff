/* make_input FILE COUNT: writes COUNT float64 values between 1 and 2 as a NumPy file. */
#include <stdio.h>
#include <stdlib.h>

#include "ferry/ferry.h"

static void fill(double *values, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        values[i] = 1.0 + (double)i / (double)count;
}

static ferry_status write_values(const char *path, int64_t count) {
    ferry_array array = {0};
    ferry_status status = ferry_array_create(NULL, FERRY_FLOAT64, 1, &count, &array);
    if (status)
        return status;
    fill(array.view.data, count);
    status = ferry_npy_save(path, &array.view);
    ferry_array_release(&array);
    return status;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: make_input FILE COUNT\n");
        return 2;
    }
    if (write_values(argv[1], strtoll(argv[2], NULL, 10))) {
        fprintf(stderr, "make_input: %s: %s\n", argv[1], ferry_error_detail());
        return 1;
    }
    return 0;
}

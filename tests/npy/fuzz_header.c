/*
 * Mutated .npy headers: whatever the bytes, the parser ends, stays inside its buffer (which the address sanitizer
 * checks), and either gives a description that makes sense or a status with a detail. What it accepts, the writer's
 * spelling of it must be parsed back to the same.
 */
#include "tests/test.h"
#include "views/npy.h"

#define ROUNDS 300000
#define LONGEST 512

static const char *const SEEDS[] = {
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }                    \n",
    "{'descr': '|b1', 'fortran_order': True, 'shape': (), }\n",
    "{\"shape\":(18446744073709551616L,2,),\"descr\":\">c16\",\"fortran_order\":True}",
    "{'descr': [('a', '<f8'), ('b', '|S4')], 'fortran_order': False, 'shape': (0,)}",
    "{'descr':'<u2','fortran_order':False,'shape':(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
};

static const char ALPHABET[] = "{}()[]'\":,.+-_<>=|?\\ \t\n\f0123456789LbiufcOSUVMmTrueFalsdescrfotanhp";

static size_t mutate_once(test_random *random, char *text, size_t length) {
    size_t at = (size_t)test_random_int(random, 0, length ? (int64_t)length - 1 : 0);
    switch (test_random_int(random, 0, 5)) {
    case 0: /* replace */
        if (length)
            text[at] = ALPHABET[test_random_int(random, 0, (int64_t)sizeof ALPHABET - 2)];
        return length;
    case 1: /* any byte */
        if (length)
            text[at] = (char)test_random_int(random, 0, 255);
        return length;
    case 2: /* remove */
        if (length)
            memmove(text + at, text + at + 1, length - at - 1);
        return length ? length - 1 : 0;
    case 3: /* insert */
        if (length == LONGEST)
            return length;
        memmove(text + at + 1, text + at, length - at);
        text[at] = ALPHABET[test_random_int(random, 0, (int64_t)sizeof ALPHABET - 2)];
        return length + 1;
    case 4: /* cut */
        return at;
    default: { /* copy a piece over another */
        size_t from = (size_t)test_random_int(random, 0, length ? (int64_t)length - 1 : 0);
        size_t n = (size_t)test_random_int(random, 0, 16);
        size_t room = length - (at > from ? at : from);
        memmove(text + at, text + from, n < room ? n : room);
        return length;
    }
    }
}

static void check_sense(const ferry_npy_info *info) {
    int64_t bytes = (int64_t)ferry_dtype_size(info->dtype);
    CHECK(bytes > 0 && info->ndim >= 0 && info->ndim <= FERRY_MAX_DIMS);
    for (int i = 0; i < info->ndim; i++)
        CHECK(info->shape[i] >= 0 && !__builtin_mul_overflow(bytes, info->shape[i], &bytes));
    CHECK_INT(info->data_bytes, bytes);
}

static void check_round_trip(const ferry_npy_info *info) {
    ferry_view view = {.dtype = info->dtype, .ndim = info->ndim};
    memcpy(view.shape, info->shape, sizeof view.shape);
    char text[NPY_WRITTEN_HEADER_LIMIT];
    size_t length = npy_header_format(&view, info->fortran_order, text);
    CHECK_UINT(length % 64, 0);
    ferry_npy_info again;
    REQUIRE_OK(npy_header_parse("x.npy", text + 10, length - 10, &again));
    CHECK(again.dtype == info->dtype && again.ndim == info->ndim && again.fortran_order == info->fortran_order);
    CHECK_MEMORY(again.shape, info->shape, (size_t)info->ndim * sizeof *info->shape);
}

static bool fuzz_round(test_random *random) {
    char text[LONGEST];
    const char *seed = SEEDS[test_random_int(random, 0, (int64_t)(sizeof SEEDS / sizeof *SEEDS) - 1)];
    size_t length = strlen(seed);
    memcpy(text, seed, length);
    for (int64_t n = test_random_int(random, 0, 6); n > 0; n--)
        length = mutate_once(random, text, length);
    char *exact = malloc(length ? length : 1); /* so that a step past the end is seen */
    REQUIRE(exact);
    memcpy(exact, text, length);
    ferry_npy_info info;
    ferry_status status = npy_header_parse("x.npy", exact, length, &info);
    free(exact);
    if (status == FERRY_OK) {
        check_sense(&info);
        check_round_trip(&info);
    } else {
        CHECK(status == FERRY_FORMAT || status == FERRY_DTYPE || status == FERRY_SHAPE);
        CHECK(strncmp(ferry_error_detail(), "x.npy: ", 7) == 0);
    }
    return status == FERRY_OK;
}

int main(void) {
    test_random random = {test_seed(20240229)};
    long accepted = 0;
    for (int i = 0; i < ROUNDS; i++)
        accepted += fuzz_round(&random);
    /* Mutations that leave nothing valid would test only the first error. */
    CHECK(accepted > ROUNDS / 50);
    return test_finish();
}

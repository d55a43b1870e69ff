/* The parser of .npy headers: what NumPy accepts, and what must be refused with the right status and a sentence. */
#include <unistd.h>

#include "tests/test.h"
#include "views/npy.h"

static ferry_status parse(const char *text, ferry_npy_info *out) {
    return npy_header_parse("x.npy", text, strlen(text), out);
}

static void check_refused(const char *text, ferry_status want) {
    ferry_npy_info info = {.ndim = -7};
    ferry_status got = parse(text, &info);
    CHECK_THAT(got == want, "%s: %s, not %s", text, ferry_status_name(got), ferry_status_name(want));
    CHECK_THAT(got == FERRY_OK || strncmp(ferry_error_detail(), "x.npy: ", 7) == 0, "%s: the detail is \"%s\"", text,
               ferry_error_detail());
    CHECK_THAT(got == FERRY_OK || info.ndim == -7, "%s: the result was written", text);
}

static void plain_header(void) {
    ferry_npy_info info;
    CHECK_OK(parse("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }            \n", &info));
    CHECK_INT(info.dtype, FERRY_FLOAT64);
    CHECK(!info.swapped && !info.fortran_order);
    CHECK_INT(info.ndim, 2);
    CHECK_INT(info.shape[0], 3);
    CHECK_INT(info.shape[1], 4);
    CHECK_INT(info.data_bytes, 96);
}

static void spellings(void) {
    static const char *const same[] = {
        "{\"shape\":(2,3),\"descr\":\">i4\",\"fortran_order\":True}",
        "  {'fortran_order' : True,'shape' : ( 2L , 3L , ) , 'descr' : \">i4\" , }  \n",
        "{\n'descr':\t'>i4',\r\n'fortran_order':True,\f'shape':(2,\n3)}",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        ferry_npy_info info;
        CHECK_OK(parse(same[i], &info));
        CHECK_INT(info.dtype, FERRY_INT32);
        CHECK(info.swapped && info.fortran_order);
        CHECK_INT(info.ndim, 2);
        CHECK_INT(info.data_bytes, 24);
    }
}

static ferry_status parse_shape(const char *shape, ferry_npy_info *out) {
    char text[2048];
    snprintf(text, sizeof text, "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }\n", shape);
    return parse(text, out);
}

static void shapes(void) {
    ferry_npy_info info;
    CHECK_OK(parse_shape("()", &info));
    CHECK_INT(info.ndim, 0);
    CHECK_INT(info.data_bytes, 8);
    CHECK_OK(parse_shape("(0,)", &info));
    CHECK_INT(info.data_bytes, 0);
    CHECK_OK(parse_shape("(1152921504606846975,)", &info)); /* 2^60 - 1 */
    CHECK_INT(info.data_bytes, INT64_MAX - 7);
    CHECK_STATUS(parse_shape("(1152921504606846976,)", &info), FERRY_SHAPE);
    CHECK_STATUS(parse_shape("(4294967296, 4294967296)", &info), FERRY_SHAPE);
    CHECK_STATUS(parse_shape("(0, 4294967296, 4294967296)", &info), FERRY_SHAPE);
    CHECK_STATUS(parse_shape("(99999999999999999999,)", &info), FERRY_SHAPE);
    CHECK_STATUS(parse_shape("(-1,)", &info), FERRY_SHAPE);
}

static void dimensions_are_bounded(void) {
    ferry_npy_info info;
    char text[256] = "(";
    for (int i = 0; i < FERRY_MAX_DIMS; i++)
        strcat(text, "1,");
    strcat(text, ")");
    CHECK_OK(parse_shape(text, &info));
    CHECK_INT(info.ndim, FERRY_MAX_DIMS);
    strcpy(text + strlen(text) - 1, "1)");
    CHECK_STATUS(parse_shape(text, &info), FERRY_SHAPE);
}

static void bad_shapes(void) {
    static const char *const bad[] = {"3",     "(3)",    "[3]",   "(,)",    "(3,,4)", "(3 4)",
                                      "(03,)", "(0x3,)", "(+3,)", "(3.0,)", "(1_0,)", "(True,)",
                                      "(3,",   "('3',)", "(3,)(", "(3LL,)", "None"};
    ferry_npy_info info;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_THAT(parse_shape(bad[i], &info) == FERRY_FORMAT, "%s is accepted", bad[i]);
}

static void malformed(void) {
    check_refused("", FERRY_FORMAT);
    check_refused("{}", FERRY_FORMAT);
    check_refused("{'descr': '<f8', 'fortran_order': False}", FERRY_FORMAT);
    check_refused("{'descr': '<f8', 'fortran_order': False, 'shape': ()", FERRY_FORMAT);
    check_refused("{'descr': '<f8' 'fortran_order': False, 'shape': ()}", FERRY_FORMAT);
    check_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (), 'more': 1}", FERRY_FORMAT);
    check_refused("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': ()}", FERRY_FORMAT);
    check_refused("{'descr': '<f8', 'fortran_order': false, 'shape': ()}", FERRY_FORMAT);
    check_refused("{'descr': '<f8', 'fortran_order': 0, 'shape': ()}", FERRY_FORMAT);
    check_refused("{'descr': '<f8', 'fortran_order': False, 'shape': ()} x", FERRY_FORMAT);
    check_refused("{'fortran_order': False, 'shape': (), 'descr': '<f8}", FERRY_FORMAT);
    check_refused("{'de\\x73cr': '<f8', 'fortran_order': False, 'shape': ()}", FERRY_FORMAT);
    check_refused("{descr: '<f8', 'fortran_order': False, 'shape': ()}", FERRY_FORMAT);
    check_refused("['descr', '<f8']", FERRY_FORMAT);
    check_refused("{'descr': "
                  "'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff', "
                  "'fortran_order': False, 'shape': ()}",
                  FERRY_FORMAT);
    ferry_npy_info info;
    const char nul[] = "{'descr': '<f8', 'fortran_order': False, 'shape': ()}\0";
    CHECK_STATUS(npy_header_parse("x.npy", nul, sizeof nul, &info), FERRY_FORMAT);
}

static void dtypes(void) {
    static const struct {
        const char *descr;
        ferry_dtype dtype;
        bool swapped; /* on a little-endian machine */
    } cases[] = {
        {"<f8", FERRY_FLOAT64, false}, {">f8", FERRY_FLOAT64, true},    {"=f8", FERRY_FLOAT64, false},
        {"|f8", FERRY_FLOAT64, false}, {"f8", FERRY_FLOAT64, false},    {"|b1", FERRY_BOOL, false},
        {"?", FERRY_BOOL, false},      {"|?", FERRY_BOOL, false},       {">b1", FERRY_BOOL, false},
        {"|i1", FERRY_INT8, false},    {">u1", FERRY_UINT8, false},     {"<i2", FERRY_INT16, false},
        {">u2", FERRY_UINT16, true},   {">i4", FERRY_INT32, true},      {"<u4", FERRY_UINT32, false},
        {"<i8", FERRY_INT64, false},   {">u8", FERRY_UINT64, true},     {"<f2", FERRY_FLOAT16, false},
        {">f4", FERRY_FLOAT32, true},  {"<c8", FERRY_COMPLEX64, false}, {">c16", FERRY_COMPLEX128, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ferry_dtype dtype = FERRY_DTYPE_COUNT;
        bool swapped = false;
        CHECK_OK(npy_descr_parse("x.npy", cases[i].descr, &dtype, &swapped));
        CHECK_THAT(dtype == cases[i].dtype, "%s is %s", cases[i].descr, ferry_dtype_name(dtype));
        CHECK_THAT(swapped == cases[i].swapped, "%s: swapped is %d", cases[i].descr, swapped);
    }
}

static void other_dtypes(void) {
    static const struct {
        const char *descr, *word;
    } cases[] = {{"|O", "objects"},    {"|O8", "objects"},        {"|S5", "byte strings"}, {"<U10", "Unicode"},
                 {"<M8[ns]", "dates"}, {"<m8[s]", "differences"}, {"|V16", "raw"},         {"<f16", "floats"},
                 {"<c32", "complex"},  {"<i3", "integers"},       {"<f08", "floats"},      {"f", "floats"},
                 {"", "not known"},    {"<", "not known"},        {"x8", "not known"},     {"<f8 ", "floats"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ferry_dtype dtype;
        bool swapped;
        ferry_status got = npy_descr_parse("x.npy", cases[i].descr, &dtype, &swapped);
        CHECK_THAT(got == FERRY_DTYPE, "'%s': %s", cases[i].descr, ferry_status_name(got));
        CHECK_THAT(strstr(ferry_error_detail(), cases[i].word), "'%s': %s", cases[i].descr, ferry_error_detail());
    }
    check_refused("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': ()}", FERRY_DTYPE);
    check_refused("{'descr': ('<f8', (2,)), 'fortran_order': False, 'shape': ()}", FERRY_DTYPE);
}

static ferry_status read_bytes(const void *bytes, size_t n, int64_t file_bytes, ferry_npy_info *out) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    REQUIRE(write(ends[1], bytes, n) == (ssize_t)n);
    close(ends[1]);
    ferry_status status = npy_header_read("x.npy", ends[0], file_bytes, out);
    close(ends[0]);
    return status;
}

/* Every version, and every cut of each. */
static void versions_and_cuts(void) {
    static const char dict[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}\n";
    for (int major = 1; major <= 3; major++) {
        char file[128] = NPY_MAGIC;
        size_t prefix = major == 1 ? 10 : 12, total = prefix + sizeof dict - 1;
        file[6] = (char)major;
        file[8] = sizeof dict - 1;
        memcpy(file + prefix, dict, sizeof dict - 1);
        ferry_npy_info info;
        CHECK_OK(read_bytes(file, total, (int64_t)total + 20, &info));
        CHECK_INT(info.data_offset, total);
        CHECK_OK(read_bytes(file, total, -1, &info));
        CHECK_STATUS(read_bytes(file, total, (int64_t)total + 19, &info), FERRY_FORMAT);
        for (size_t cut = 0; cut < total; cut++) {
            CHECK_STATUS(read_bytes(file, cut, (int64_t)cut, &info), FERRY_FORMAT);
            CHECK_STATUS(read_bytes(file, cut, -1, &info), FERRY_FORMAT);
        }
    }
}

static void bad_prefixes(void) {
    ferry_npy_info info;
    CHECK_STATUS(read_bytes("", 0, 0, &info), FERRY_FORMAT);
    CHECK(strstr(ferry_error_detail(), "empty"));
    CHECK_STATUS(read_bytes("PK\3\4......", 10, 10, &info), FERRY_FORMAT);
    CHECK(strstr(ferry_error_detail(), ".npz"));
    CHECK_STATUS(read_bytes(NPY_MAGIC "\x04\x00\x00\x00", 10, 10, &info), FERRY_FORMAT);
    CHECK(strstr(ferry_error_detail(), "4.0"));
    CHECK_STATUS(read_bytes(NPY_MAGIC "\x01\x01\x00\x00", 10, 10, &info), FERRY_FORMAT);
    /* Four GiB of header promised by twelve bytes: refused with nothing allocated, in a file and in a pipe. */
    CHECK_STATUS(read_bytes(NPY_MAGIC "\x02\x00\xff\xff\xff\xff", 12, 12, &info), FERRY_FORMAT);
    CHECK_STATUS(read_bytes(NPY_MAGIC "\x02\x00\xff\xff\xff\xff", 12, -1, &info), FERRY_FORMAT);
}

static void swapping(void) {
    unsigned char data[] = {1, 2, 3, 4, 5, 6, 7, 8};
    npy_swap(data, 2, 4);
    CHECK_MEMORY(data, "\2\1\4\3\6\5\10\7", 8);
    npy_swap(data, 4, 2);
    CHECK_MEMORY(data, "\3\4\1\2\7\10\5\6", 8);
    npy_swap(data, 8, 1);
    CHECK_MEMORY(data, "\6\5\10\7\2\1\4\3", 8);
    CHECK_UINT(npy_number_bytes(FERRY_COMPLEX128), 8);
    CHECK_UINT(npy_number_bytes(FERRY_COMPLEX64), 4);
    CHECK_UINT(npy_number_bytes(FERRY_FLOAT64), 8);
}

int main(void) {
    RUN(plain_header);
    RUN(spellings);
    RUN(shapes);
    RUN(dimensions_are_bounded);
    RUN(bad_shapes);
    RUN(malformed);
    RUN(dtypes);
    RUN(other_dtypes);
    RUN(versions_and_cuts);
    RUN(bad_prefixes);
    RUN(swapping);
    return test_finish();
}

/* The cuda backend's question to the host's page table, on memory that no device has anything to do with. */
#include <sys/mman.h>

#include "alloc/backend.h"
#include "tests/test.h"

#define PAGES ((size_t)1000)

static char *map(void) {
    char *pages = mmap(NULL, PAGES * FERRY_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    madvise(pages, PAGES * FERRY_PAGE_BYTES, MADV_NOHUGEPAGE);
    return pages;
}

static void touched_pages_are_told_from_others(void) {
    char *pages = map();
    unsigned char present[PAGES + 1];
    bool touched[PAGES] = {false};
    test_random random = {test_seed(7)};
    for (int i = 0; i < 300; i++) {
        size_t page = (size_t)test_random_int(&random, 0, PAGES - 1);
        pages[page * FERRY_PAGE_BYTES + (size_t)test_random_int(&random, 0, FERRY_PAGE_BYTES - 1)] = 1;
        touched[page] = true;
    }
    for (int i = 0; i < 100; i++) {
        size_t first = (size_t)test_random_int(&random, 0, PAGES - 1);
        size_t n = (size_t)test_random_int(&random, 1, (int64_t)(PAGES - first)), wrong = 0;
        memset(present, 0x55, sizeof present);
        REQUIRE_OK(backend_cuda.observe(pages + first * FERRY_PAGE_BYTES, n, present));
        for (size_t k = 0; k < n; k++)
            wrong += present[k] != touched[first + k];
        CHECK_THAT(wrong == 0, "%zu of %zu pages are wrong", wrong, n);
        CHECK_UINT(present[n], 0x55);
    }
    munmap(pages, PAGES * FERRY_PAGE_BYTES);
}

static void what_is_not_mapped_is_an_error(void) {
    char *pages = map();
    unsigned char present[PAGES];
    munmap(pages + 2 * FERRY_PAGE_BYTES, (PAGES - 2) * FERRY_PAGE_BYTES);
    CHECK_OK(backend_cuda.observe(pages, 2, present));
    CHECK_STATUS(backend_cuda.observe(pages, 3, present), FERRY_BACKEND);
    munmap(pages, 2 * FERRY_PAGE_BYTES);
}

int main(void) {
    RUN(touched_pages_are_told_from_others);
    RUN(what_is_not_mapped_is_an_error);
    return test_finish();
}

/* The host's acquire fails at each call of the backend in turn: what a kernel writes afterwards is not lost. */
#include "alloc/core.h"
#include "ferry/ferry.h"
#include "tests/test.h"

enum { ELEMENTS = 4 * 4096 };

static void fill(const ferry_grid *grid, void *const *args) {
    unsigned char *out = *(unsigned char **)args[0];
    (void)grid;
    memset(out, *(const unsigned char *)args[1], ELEMENTS);
}

static void launch(ferry_kernel *kernel, const ferry_view *view, unsigned char value) {
    const ferry_arg args[] = {{.operand = {.view = view, .access = FERRY_WRITE}}, {.value = &value, .bytes = 1}};
    CHECK_OK(ferry_launch(kernel, (ferry_grid){0}, args, 2, NULL));
}

static void check_contents(const ferry_view *view, unsigned char value) {
    const unsigned char *bytes = view->data;
    size_t wrong = 0;
    CHECK_OK(ferry_host_acquire(view, FERRY_READ));
    for (size_t i = 0; i < ELEMENTS; i++) {
        wrong += bytes[i] != value;
    }
    CHECK_UINT(wrong, 0);
}

/* Whether the acquire still failed. */
static bool fail_at(uint64_t call, ferry_kernel *kernel, const ferry_view *view) {
    launch(kernel, view, 1);
    CHECK_OK(ferry_sync(NULL));
    backend_faulty_arm(call);
    const bool failed = ferry_host_acquire(view, FERRY_WRITE) != FERRY_OK;
    backend_faulty_arm(0);
    launch(kernel, view, (unsigned char)(2 + call));
    check_contents(view, (unsigned char)(2 + call));
    return failed;
}

static void what_is_written_after_a_failure_stays(void) {
    ferry_kernel *kernel = NULL;
    ferry_array array;
    const int64_t shape[] = {ELEMENTS};
    uint64_t call = 1;
    REQUIRE_OK(ferry_kernel_load(NULL, 0, "fill", fill, &kernel));
    REQUIRE_OK(ferry_array_create(NULL, FERRY_UINT8, 1, shape, &array));
    while (fail_at(call, kernel, &array.view)) {
        call++;
    }
    CHECK_THAT(call > 2, "only %d calls could fail", (int)call - 1);
    ferry_array_release(&array);
    ferry_kernel_destroy(kernel);
}

int main(void) {
    setenv("FERRY_SIM_POISON", "1", 1);
    core_use_backend(backend_faulty(&backend_sim));
    RUN(what_is_written_after_a_failure_stays);
    return test_finish();
}

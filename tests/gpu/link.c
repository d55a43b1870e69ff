/*
 * What the link is measured to cost, whatever the machine: possible figures, soon; then from a file without measuring,
 * in this process and the next; and what the page tables say of pages here and there.
 *
 * With arguments it is that next process: the folder, and a file with the figures to be found.
 */
#include <cuda_runtime_api.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc/core.h"
#include "alloc/link.h"
#include "tests/gpu/gpu.h"
#include "tests/scratch.h"

#define PAGES_PER_MIB (MIB / FERRY_PAGE_BYTES)
#define PAGES (4 * PAGES_PER_MIB)

static char folder[SCRATCH_BYTES];

/* The backend itself, and how often it measures. */
static backend counted;
static int measured;

static ferry_status measure(int device, ferry_link_costs *out) {
    measured++;
    return backend_cuda.link_measure(device, out);
}

static void start(void) {
    counted = backend_cuda;
    counted.link_measure = measure;
    core_use_backend(&counted);
    gpu_start();
    if (!core.hints)
        SKIP("there is a device without concurrent managed access");
}

static void print_costs(const ferry_link_costs *costs) {
#define PRINT(name, text)                                                                                              \
    if (strstr(#name, "per_byte"))                                                                                     \
        fprintf(stderr, "%-30s %10.3f ms/GiB\n", #name, costs->name * 1073741824.0 / 1e6);                             \
    else                                                                                                               \
        fprintf(stderr, "%-30s %10.3f us\n", #name, costs->name / 1e3);
    FERRY_LINK_LIST(PRINT)
#undef PRINT
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

static void check_costs(const ferry_link_costs *costs) {
    CHECK(link_plausible(costs));
#define CHECK_PER_BYTE(name, text)                                                                                     \
    if (strstr(#name, "per_byte"))                                                                                     \
        CHECK_THAT(costs->name > 0, "%s is %g", #name, costs->name);
    FERRY_LINK_LIST(CHECK_PER_BYTE)
#undef CHECK_PER_BYTE
    double one_way = larger(costs->remote_read_ns_per_byte, costs->remote_write_ns_per_byte);
    CHECK_THAT(costs->remote_both_ns_per_byte >= 0.9 * one_way, "both ways %g, one way %g",
               costs->remote_both_ns_per_byte, one_way);
    CHECK_THAT(costs->device_ns_per_byte < costs->remote_read_ns_per_byte, "on the device %g, across the bus %g",
               costs->device_ns_per_byte, costs->remote_read_ns_per_byte);
}

static size_t device_bytes_free(void) {
    ferry_device_info info;
    REQUIRE_OK(counted.device_get(0, &info));
    return info.free_bytes;
}

/* The first time also loads the kernel; nothing is left behind then and later. */
static void measuring_is_soon_done_and_leaves_nothing(void) {
    ferry_link_costs costs;
    size_t free_bytes = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t begin = counted.now_ns();
        if (!CHECK_OK(counted.link_measure(0, &costs)))
            return;
        uint64_t ns = counted.now_ns() - begin;
        fprintf(stderr, "measured in %.1f ms\n", (double)ns / 1e6);
        CHECK_THAT(ns < 2000000000u, "measuring took %.3f s", (double)ns / 1e9);
        check_costs(&costs);
        if (i == 1)
            free_bytes = device_bytes_free();
    }
    print_costs(&costs);
    CHECK(device_bytes_free() + 32 * MIB >= free_bytes);
}

static void write_costs(const char *path, const ferry_link_costs *costs) {
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    CHECK_UINT(fwrite(costs, sizeof *costs, 1, file), 1);
    fclose(file);
}

static void run_again(char *path) {
    char again[] = "again";
    pid_t child;
    char *arguments[] = {again, folder, path, NULL};
    REQUIRE(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_THAT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the next process ended with 0x%x", (unsigned)status);
}

static void costs_are_kept(void) {
    ferry_link_costs first, second;
    char path[300];
    measured = 0;
    REQUIRE_OK(ferry_link_get(0, &first));
    CHECK_INT(measured, 1);
    check_costs(&first);
    CHECK_OK(ferry_link_get(0, &second));
    CHECK_INT(measured, 1);
    CHECK_MEMORY(&second, &first, sizeof first);
    snprintf(path, sizeof path, "%s/figures", folder);
    write_costs(path, &first);
    run_again(path);
}

static int next_process(const char *path) {
    ferry_link_costs want, got;
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL);
    REQUIRE(fread(&want, sizeof want, 1, file) == 1);
    fclose(file);
    CHECK_OK(ferry_link_get(0, &got));
    CHECK_INT(measured, 0);
    CHECK_MEMORY(&got, &want, sizeof want);
    return test_finish();
}

/* A measurement does not end a capture that goes on elsewhere. */
static void captures_go_on(void) {
    if (getenv("FERRY_TEST_SANITIZED") != NULL) {
        return; /* the sanitizer's own calls end a capture */
    }
    cudaStream_t stream;
    cudaGraph_t graph = NULL;
    ferry_link_costs costs;
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    CHECK_OK(counted.link_measure(0, &costs));
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess && graph != NULL);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
}

static void identities_name_the_device(void) {
    char text[512], again[512];
    ferry_device_info info;
    REQUIRE_OK(counted.device_get(0, &info));
    REQUIRE_OK(counted.link_identity(0, text, sizeof text));
    REQUIRE_OK(counted.link_identity(0, again, sizeof again));
    fprintf(stderr, "%s\n", text);
    CHECK_STRING(again, text);
    CHECK(strstr(text, info.name) != NULL && strchr(text, '\n') == NULL);
    CHECK_STATUS(counted.link_identity(0, text, 20), FERRY_INVALID_ARGUMENT);
}

/* How many of the pages the host has. */
static size_t present(const char *region, size_t first, size_t n) {
    unsigned char answer[PAGES];
    size_t count = 0;
    memset(answer, 0xff, sizeof answer);
    REQUIRE_OK(counted.observe(region + first * FERRY_PAGE_BYTES, n, answer));
    for (size_t i = 0; i < n; i++) {
        CHECK(answer[i] <= 1);
        count += answer[i];
    }
    return count;
}

static void place(char *region, ferry_place to, backend_stream *stream) {
    backend_move move = {.address = region, .bytes = PAGES * FERRY_PAGE_BYTES, .to = to, .kind = BACKEND_PREFETCH};
    REQUIRE_OK(counted.move(&move, 1, stream));
    REQUIRE_OK(counted.stream_sync(stream));
}

static void observe_region(char *region, backend_stream *stream) {
    size_t half = PAGES / 2; /* a block of the driver's */
    CHECK_UINT(present(region, 0, PAGES), 0);
    memset(region, 1, half * FERRY_PAGE_BYTES);
    CHECK_UINT(present(region, 0, half), half);
    CHECK_UINT(present(region, half, half), 0);
    place(region, 0, stream);
    CHECK_UINT(present(region, 0, PAGES), 0);
    CHECK_INT(((volatile char *)region)[FERRY_PAGE_BYTES],
              1); /* one touch brings that page, and may bring some around it */
    CHECK_UINT(present(region, 1, 1), 1);
    CHECK_THAT(present(region, 0, PAGES) < half, "one touch brought %zu pages", present(region, 0, PAGES));
    place(region, FERRY_PLACE_HOST, stream);
    CHECK_UINT(present(region, 0, PAGES), PAGES);
}

static void page_tables_tell_where_pages_are(void) {
    backend_stream *stream;
    void *region;
    REQUIRE_OK(counted.stream_create(0, &stream));
    REQUIRE_OK(counted.reserve(PAGES * FERRY_PAGE_BYTES, true, &region));
    observe_region(region, stream);
    CHECK_OK(counted.release(region, PAGES * FERRY_PAGE_BYTES));
    counted.stream_destroy(stream);
}

int main(int argc, char **argv) {
    if (argc == 1)
        scratch_make(folder);
    setenv("FERRY_CACHE", argc == 1 ? folder : argv[1], 1);
    if (argc > 2) {
        start();
        return next_process(argv[2]);
    }
    start();
    RUN(measuring_is_soon_done_and_leaves_nothing);
    RUN(costs_are_kept);
    RUN(captures_go_on);
    RUN(identities_name_the_device);
    RUN(page_tables_tell_where_pages_are);
    scratch_remove(folder);
    return test_finish();
}

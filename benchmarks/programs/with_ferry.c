#include "with_ferry.h"

#include <stdlib.h>
#include <string.h>

#define KERNELS_MAX 8

/* Kernels live until the end, as nvcc's do. */
static ferry_kernel *kernels[KERNELS_MAX];
static int nkernels;

const char *version_name(void) {
    return "ferry";
}

const char *version_backend(void) {
    return ferry_backend_name();
}

/* The link's costs, which are measured once per machine, and the library's stream are there before anything is timed.
 */
void version_start(void) {
    ferry_link_costs costs;
    CHECK(ferry_init(NULL));
    CHECK(ferry_link_get(0, &costs));
    CHECK(ferry_sync(NULL));
    (void)ferry_stream_native(NULL);
}

void version_end(void) {
    ferry_stats stats;
    CHECK(ferry_stats_get(&stats));
    report_count("bytes_to_device", stats.bytes_to_device);
    report_count("bytes_to_host", stats.bytes_to_host);
    report_count("remote_bytes_to_device", stats.remote_bytes_to_device);
    report_count("remote_bytes_to_host", stats.remote_bytes_to_host);
    report_count("redundant_bytes", stats.redundant_bytes);
    report_count("peak_bytes", stats.peak_bytes);
    CHECK(ferry_sync(NULL));
    while (nkernels > 0)
        ferry_kernel_destroy(kernels[--nkernels]);
}

#ifdef PROGRAM_IMAGE

/* What nvcc has made of the kernels, as it did for the explicit version: the same code runs in both. */
__asm__(".section .rodata\n"
        ".balign 16\n"
        "program_image: .incbin \"" PROGRAM_IMAGE "\"\n"
        "program_image_end:\n"
        ".previous\n");
extern const char program_image[] __attribute__((visibility("hidden")));
extern const char program_image_end[] __attribute__((visibility("hidden")));

static ferry_kernel *kernel_new(const char *name, ferry_host_kernel host) {
    ferry_kernel *kernel = NULL;
    CHECK(ferry_kernel_load(program_image, (size_t)(program_image_end - program_image), name, host, &kernel));
    return kernel;
}

#else

#include "program_text.h"

/* The files that the program's kernels are made of, one text. */
static char *source_text(void) {
    char *text = calloc(1, sizeof text_macros + sizeof text_shapes + sizeof text_kernels + 1);
    if (text == NULL)
        fail("no memory for the kernels' source");
    memcpy(text, text_macros, sizeof text_macros);
    memcpy(text + sizeof text_macros, text_shapes, sizeof text_shapes);
    memcpy(text + sizeof text_macros + sizeof text_shapes, text_kernels, sizeof text_kernels);
    return text;
}

static ferry_kernel *kernel_new(const char *name, ferry_host_kernel host) {
    ferry_kernel *kernel = NULL;
    char *source = source_text();
    CHECK(ferry_kernel_compile(source, name, &kernel));
    CHECK(ferry_kernel_set_host(kernel, host));
    free(source);
    return kernel;
}

#endif

ferry_kernel *kernel_open(const char *name, ferry_host_kernel host) {
    if (nkernels == KERNELS_MAX)
        fail("more kernels than can be kept");
    return kernels[nkernels++] = kernel_new(name, host);
}

ferry_array array_new(ferry_dtype dtype, int64_t n) {
    ferry_array array;
    CHECK(ferry_array_create(NULL, dtype, 1, &n, &array));
    return array;
}

ferry_array array_on_device(ferry_dtype dtype, int64_t n) {
    ferry_array array = array_new(dtype, n);
    CHECK(ferry_advise(&array.view, &(ferry_advice){.policy = FERRY_POLICY_PREFETCH}));
    return array;
}

ferry_array array_of_kernels(ferry_dtype dtype, int64_t n) {
    ferry_array array = array_on_device(dtype, n);
    CHECK(ferry_prefetch(&array.view, 0, NULL));
    CHECK(ferry_sync(NULL));
    return array;
}

static void touch(void *context, int64_t first, int64_t last) {
    memset((char *)context + first, 0, (size_t)(last - first));
}

ferry_array array_touched(ferry_dtype dtype, int64_t n) {
    ferry_array array = array_new(dtype, n);
    in_parallel((int64_t)ferry_view_bytes(&array.view), touch, array.view.data);
    return array;
}

ferry_array array_at_home(ferry_dtype dtype, int64_t n) {
    ferry_array array = array_touched(dtype, n);
    CHECK(ferry_advise(&array.view, &(ferry_advice){.policy = FERRY_POLICY_REMOTE}));
    return array;
}

ferry_array array_first(const ferry_array *array, int64_t n) {
    const ferry_slice first = {.start = 0, .stop = n, .step = 1};
    ferry_array part = {.owner = NULL};
    CHECK(ferry_view_slice(&array->view, 1, &first, &part.view));
    return part;
}

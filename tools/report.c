#include <stdio.h>
#include <string.h>

#include "report.h"
#include "tool.h"

#define SHAPE_TEXT 64

static const char *const STEP_NAMES[] = {
#define STEP_NAME(constant, name, text) name,
    STEP_LIST(STEP_NAME)
#undef STEP_NAME
};

static const char *const STEP_TEXTS[] = {
#define STEP_TEXT(constant, name, text) text,
    STEP_LIST(STEP_TEXT)
#undef STEP_TEXT
};

void report_file_set(report_file *file, const char *path, const ferry_view *view) {
    *file = (report_file){.path = path, .dtype = view->dtype, .ndim = view->ndim, .bytes = ferry_view_bytes(view)};
    memcpy(file->shape, view->shape, sizeof file->shape);
}

size_t report_input_bytes(const report *r) {
    size_t bytes = 0;
    for (int i = 0; i < r->ninputs; i++)
        bytes += r->inputs[i].bytes;
    return bytes;
}

/* As Python writes a tuple; a long one is cut. */
static void shape_text(const report_file *file, char text[SHAPE_TEXT]) {
    int at = snprintf(text, SHAPE_TEXT, "(");
    for (int i = 0; i < file->ndim && at < SHAPE_TEXT - 28; i++)
        at += snprintf(text + at, (size_t)(SHAPE_TEXT - at), i ? ", %lld" : "%lld", (long long)file->shape[i]);
    bool cut = at >= SHAPE_TEXT - 28;
    snprintf(text + at, (size_t)(SHAPE_TEXT - at), cut ? ", ...)" : file->ndim == 1 ? ",)" : ")");
}

static int width(const report *r, int least, void (*text)(const report_file *, char[SHAPE_TEXT])) {
    int most = least;
    for (int i = 0; i <= r->ninputs; i++) {
        const report_file *file = i < r->ninputs ? &r->inputs[i] : &r->output;
        char shape[SHAPE_TEXT];
        if (text)
            text(file, shape);
        int length = (int)strlen(text ? shape : file->path);
        most = length > most ? length : most;
    }
    return most;
}

static void print_file(const report_file *file, const char *role, int path_width, int shape_width) {
    char shape[SHAPE_TEXT], size[SIZE_TEXT];
    shape_text(file, shape);
    size_text((double)file->bytes, size);
    printf("  %-6s  %-*s  %-10s  %-*s  %10s\n", role, path_width, file->path, ferry_dtype_name(file->dtype),
           shape_width, shape, size);
}

static void print_files(const report *r) {
    int path_width = width(r, 0, NULL), shape_width = width(r, 0, shape_text);
    for (int i = 0; i < r->ninputs; i++)
        print_file(&r->inputs[i], "input", path_width, shape_width);
    print_file(&r->output, "output", path_width, shape_width);
}

/* The bytes that a step is about, for its rate. */
static size_t step_bytes(const report *r, step s) {
    return s == STEP_READ || s == STEP_COMPUTE ? report_input_bytes(r) : r->output.bytes;
}

static bool is_modelled(const report *r, step s) {
    return r->modelled && (s == STEP_COMPUTE || s == STEP_HOME);
}

/* Without prefetch the result comes home as the writing touches it. */
static uint64_t modelled_step_ns(const report *r, step s) {
    return r->modelled_ns[s] + (s == STEP_HOME ? r->modelled_ns[STEP_WRITE] : 0);
}

static void print_step(const report *r, step s) {
    uint64_t ns = is_modelled(r, s) ? modelled_step_ns(r, s) : r->step_ns[s];
    char rate[SIZE_TEXT] = "";
    if (ns > 0)
        snprintf(rate, sizeof rate, "%.2f GB/s", (double)step_bytes(r, s) / (double)ns);
    printf("  %-8s  %10.6f s  %12s   %s%s\n", STEP_NAMES[s], (double)ns / 1e9, rate, STEP_TEXTS[s],
           is_modelled(r, s) ? " (modelled time)" : "");
}

static void print_steps(const report *r) {
    for (int i = 0; i < STEP_COUNT; i++)
        print_step(r, (step)i);
    printf("  %-8s  %10.6f s  %12s   %s\n", "in all", (double)r->wall_ns / 1e9, "",
           r->modelled ? "by this machine's clock, the simulation included"
                       : "from the first read to the file's closing");
}

static void print_crossing(const char *direction, uint64_t crossed, size_t bytes, const char *what) {
    char label[SIZE_TEXT], crossed_text[SIZE_TEXT], bytes_text[SIZE_TEXT];
    if (bytes == 0)
        snprintf(label, sizeof label, "%s -", direction);
    else
        snprintf(label, sizeof label, "%s %.2fx", direction, (double)crossed / (double)bytes);
    grouped_text(crossed, crossed_text);
    grouped_text(bytes, bytes_text);
    printf("  %-16s  %18s bytes for %s of %s\n", label, crossed_text, bytes_text, what);
}

static void print_count(uint64_t count, const char *what) {
    char text[SIZE_TEXT];
    grouped_text(count, text);
    printf("  %-16s  %18s %s\n", "", text, what);
}

static void print_remote(const ferry_stats *s) {
    if (s->remote_bytes_to_device + s->remote_bytes_to_host == 0)
        return;
    print_count(s->remote_bytes_to_device, "of them loaded across the bus by the kernel");
    print_count(s->remote_bytes_to_host, "of them stored across the bus by the kernel");
}

static void print_faults(const report *r) {
    char device[SIZE_TEXT], host[SIZE_TEXT];
    if (!r->stats.measured)
        return;
    grouped_text(r->stats.gpu_faults, device);
    grouped_text(r->stats.cpu_faults, host);
    printf("  %-16s  %18s faults on the device, %s on the host\n", "", device, host);
}

static void print_source(const report *r) {
    if (!r->stats.measured)
        printf("\n  The library's own account, not measured: %s.\n", r->unmeasured);
    else if (r->modelled)
        puts("\n  Measured by the simulator, page by page.");
    else
        puts("\n  Measured by CUPTI.");
}

static void print_crossings(const report *r) {
    char prefetches[2 * SIZE_TEXT], skipped[SIZE_TEXT];
    grouped_text(r->stats.prefetches_skipped, skipped);
    snprintf(prefetches, sizeof prefetches, "prefetches, %s skipped", skipped);
    print_crossing("to device", r->stats.bytes_to_device, report_input_bytes(r), "input");
    print_crossing("to host", r->stats.bytes_to_host, r->output.bytes, "output");
    print_remote(&r->stats);
    print_count(r->stats.redundant_bytes, "redundant bytes");
    print_count(r->stats.discarded_bytes, "discarded bytes, placed without crossing");
    print_count(r->stats.prefetches_issued, prefetches);
    print_faults(r);
}

static void print_title(const report *r) {
    bool says = strncmp(r->device.name, "simulated", 9) == 0;
    printf("%s on %s%s, policy %s%s\n\n", ferry_op_name(r->op), r->modelled && !says ? "simulated " : "",
           r->device.name, r->policy, r->modelled ? "; modelled time" : "");
}

void report_print(const report *r) {
    print_title(r);
    print_files(r);
    putchar('\n');
    print_steps(r);
    putchar('\n');
    print_crossings(r);
    print_source(r);
}
